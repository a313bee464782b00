//! Topics and transforms.

use std::time::Duration;

use navtree::goal::GoalOptions;
use navtree::msg::{BatteryState, BehaviorTreeLog, BehaviorTreeStatusChange, Header, Path, Pose};
use navtree::nav::{Event, Form, Link, Payload, TopicId, TopicSpec};
use navtree::ros::{Endpoints, GoalTrackerThread, Ros};

use crate::harness::{Peer, alone, eventually};

fn topic(name: &str, type_name: &str, transient_local: bool) -> TopicSpec {
    TopicSpec {
        name: name.into(),
        type_name: type_name.into(),
        depth: 1,
        reliable: true,
        transient_local,
        form: Form::Plain,
    }
}

fn receive(link: &mut impl Link, wanted: TopicId) -> Payload {
    eventually("a message", || {
        let mut events = Vec::new();
        link.receive(&mut events);
        events.into_iter().find_map(|event| match event {
            Event::Message { topic, payload, .. } if topic == wanted => Some(payload),
            _ => None,
        })
    })
}

#[test]
fn topics_and_transforms() {
    alone("topics::topics_and_transforms", || {
        let peer = Peer::start("topics.py");
        let ros = Ros::start("tested", "/").unwrap();
        ros.listen_to_transforms().unwrap();
        let goal_tracker =
            GoalTrackerThread::start(ros.handle(), ros.clock(), "", GoalOptions::default()).unwrap();
        let endpoints = Endpoints::new(goal_tracker.handle(), ros.transforms(), ros.parameters(), None);
        let mut link = endpoints.link(Duration::from_secs(1));

        let text = topic("text", "std_msgs/msg/String", true);
        let id = link.subscribe(&text).unwrap();
        assert_eq!(
            receive(&mut link, id).get::<String>().map(String::as_str),
            Some("latched")
        );
        // A link that is opened later receives the latched message.
        let mut other = endpoints.link(Duration::from_secs(1));
        let same = other.subscribe(&text).unwrap();
        assert_eq!(same, id);
        assert!(receive(&mut other, same).get::<String>().is_some());

        let battery = link
            .subscribe(&topic("battery", "sensor_msgs/msg/BatteryState", false))
            .unwrap();
        let message = receive(&mut link, battery);
        let message = message.get::<BatteryState>().unwrap();
        assert!(message.percentage == 0.5 && message.voltage.is_nan());

        let found = eventually("a transform", || link.transform("map", "laser", None).ok());
        assert_eq!(found.transform.translation.x, 2.5);

        // Published repeatedly: the publisher may not exist yet, and the peer may not have discovered it.
        let log = link
            .advertise(&topic(
                "behavior_tree_log",
                "nav2_msgs/msg/BehaviorTreeLog",
                false,
            ))
            .unwrap();
        let path = link
            .advertise(&topic("path", "nav_msgs/msg/Path", false))
            .unwrap();
        let change = BehaviorTreeStatusChange {
            node_name: "Spin".to_owned(),
            uid: 3,
            previous_status: "IDLE".to_owned(),
            current_status: "RUNNING".to_owned(),
            ..BehaviorTreeStatusChange::default()
        };
        let poses = [Pose::planar(1.0, 0.0, 0.0), Pose::planar(2.0, 0.0, 0.0)];
        let is_publishing = std::sync::atomic::AtomicBool::new(true);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while is_publishing.load(std::sync::atomic::Ordering::Relaxed) {
                    link.publish(
                        log,
                        Payload::new(BehaviorTreeLog {
                            event_log: vec![change.clone()],
                            ..BehaviorTreeLog::default()
                        }),
                    );
                    link.publish(path, Payload::new(Path::through(Header::in_frame("map"), poses)));
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
            peer.receive("good");
            is_publishing.store(false, std::sync::atomic::Ordering::Relaxed);
        });
    });
}
