//! Action and service clients and servers.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, SystemTime};

use navtree::bt::HaltReason;
use navtree::goal::{Command, GoalOptions, Notice, Outcome, ServerId, TerminalStatus, Ticket};
use navtree::msg::Action;
use navtree::msg::action::{Spin, SpinFeedback, SpinGoal, SpinResult};
use navtree::msg::service::{TriggerRequest, TriggerResponse};
use navtree::nav::{EndpointKind, Event, Form, Link, LinkError, Payload};
use navtree::ros::{
    ActionHandler, ActionServer, Endpoints, GoalRequest, GoalTrackerThread, Ros, RosLink, ServerGoal,
};

use crate::harness::{Peer, TIMEOUT, alone, eventually};

struct Rig {
    link: RosLink,
    goal_tracker: GoalTrackerThread,
    notices: Vec<Notice<Payload>>,
    tickets: u64,
    /// Dropped last.
    _ros: Ros,
}

impl Rig {
    fn new() -> Self {
        let ros = Ros::start("tested", "/").unwrap();
        let goal_tracker =
            GoalTrackerThread::start(ros.handle(), ros.clock(), "", GoalOptions::default()).unwrap();
        let endpoints = Endpoints::new(
            goal_tracker.handle(),
            ros.transforms(),
            ros.parameters(),
            Some(Duration::from_secs(5)),
        );
        Self {
            link: endpoints.link(Duration::from_millis(100)),
            goal_tracker,
            notices: Vec::new(),
            tickets: 0,
            _ros: ros,
        }
    }

    fn start(&mut self, server: ServerId, payload: Payload) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.link.submit(&mut vec![Command::Start {
            ticket,
            server,
            leaf: Arc::from("tree/spin"),
            payload,
            options: options(),
        }]);
        ticket
    }

    fn spin(&mut self, server: ServerId, target_yaw: f32) -> Ticket {
        self.start(
            server,
            Payload::new(SpinGoal {
                target_yaw,
                ..SpinGoal::default()
            }),
        )
    }

    fn call(&mut self, server: ServerId, payload: Payload) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.link.submit(&mut vec![Command::Call {
            ticket,
            server,
            leaf: Arc::from("tree/call"),
            payload,
            options: options(),
        }]);
        ticket
    }

    fn wait_for<T>(&mut self, what: &str, mut pick: impl FnMut(&Notice<Payload>) -> Option<T>) -> T {
        eventually(what, || {
            let mut events = Vec::new();
            self.link.receive(&mut events);
            self.notices
                .extend(events.into_iter().filter_map(|event| match event {
                    Event::Notice(notice) => Some(notice),
                    Event::Message { .. } => None,
                }));
            self.notices.iter().find_map(&mut pick)
        })
    }

    fn outcome(&mut self, wanted: Ticket) -> Outcome<Payload> {
        self.wait_for("an outcome", |notice| match notice {
            Notice::Finished { ticket, outcome, .. } if *ticket == wanted => Some(outcome.clone()),
            _ => None,
        })
    }

    fn accepted(&mut self, wanted: Ticket) {
        self.wait_for("acceptance", |notice| match notice {
            Notice::Accepted { ticket, .. } if *ticket == wanted => Some(()),
            Notice::Finished { ticket, outcome, .. } if *ticket == wanted => {
                panic!("not accepted, but: {outcome:?}")
            }
            _ => None,
        });
    }

    fn halt(&mut self, ticket: Ticket) {
        let reason = HaltReason::Preempted;
        self.link.submit(&mut vec![Command::Halt { ticket, reason }]);
    }

    fn settle(&self) {
        eventually("settled", || self.link.is_settled(Ticket(1)).then_some(()));
    }
}

fn options() -> GoalOptions {
    GoalOptions {
        response_timeout: Duration::from_secs(20),
        // A peer that starts on a busy machine may take several seconds.
        absent_timeout: Duration::from_secs(20),
        ..GoalOptions::default()
    }
}

#[test]
fn g3_g6_our_client_against_rclpy_servers() {
    alone("actions::g3_g6_our_client_against_rclpy_servers", || {
        let mut rig = Rig::new();
        let spin = rig
            .link
            .open(EndpointKind::Action, "spin", Spin::TYPE, Form::Plain)
            .unwrap();
        // All spellings and forms of a name are one server to the GoalTracker.
        for (name, form) in [
            ("spin", Form::Plain),
            ("/spin", Form::Plain),
            ("spin", Form::Json),
        ] {
            let again = rig.link.open(EndpointKind::Action, name, Spin::TYPE, form);
            assert_eq!(again.unwrap(), spin);
        }
        rig.link.hear(spin);
        assert!(matches!(
            rig.link
                .open(EndpointKind::Action, "spin", "no_msgs/action/No", Form::Plain),
            Err(LinkError::UnknownInterface(_))
        ));
        assert!(matches!(
            rig.link
                .open(EndpointKind::Action, "not good", Spin::TYPE, Form::Plain),
            Err(LinkError::BadName(_))
        ));

        // The goal is requested before the server exists.
        let first = rig.spin(spin, 1.0);
        let mut peer = Peer::start("action_server.py");
        rig.accepted(first);
        rig.wait_for("feedback", |notice| match notice {
            Notice::Feedback { payload, .. } => {
                assert!(payload.get::<SpinFeedback>().unwrap().angular_distance_traveled > 0.0);
                Some(())
            }
            _ => None,
        });
        let Outcome::Succeeded(payload) = rig.outcome(first) else {
            panic!("not succeeded")
        };
        assert_eq!(payload.get::<SpinResult>().unwrap().error_code, 7);

        let refused = rig.spin(spin, 3.0);
        assert!(matches!(rig.outcome(refused), Outcome::Rejected));

        // The latency from a halt to the server's cancel callback.
        let mut latencies = Vec::new();
        for _ in 0..20 {
            let ticket = rig.spin(spin, 2.0);
            rig.accepted(ticket);
            let asked = SystemTime::now();
            rig.halt(ticket);
            let received: u64 = peer.receive("cancel ").parse().unwrap();
            let asked = asked.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
            latencies.push(Duration::from_nanos(received.saturating_sub(asked)));
            rig.settle();
        }
        latencies.sort_unstable();
        println!(
            "cancel latency: least {:?}, median {:?}, worst {:?}",
            latencies[0], latencies[10], latencies[19]
        );
        // Other tests run at the same time, and the peer is a Python process; both add to the latency.
        assert!(latencies[0] < Duration::from_millis(20), "{latencies:?}");

        // Accepted half a second after the halt of its leaf. A goal that is halted before it was sent is never sent.
        let late = rig.spin(spin, 4.0);
        peer.receive("requested 4.0");
        rig.halt(late);
        peer.receive("canceled 4.0");
        rig.settle();

        // JSON, on a separate endpoint.
        let json = rig
            .link
            .open(EndpointKind::Action, "spin", Spin::TYPE, Form::Json)
            .unwrap();
        let ticket = rig.start(json, Payload::new(serde_json::json!({ "target_yaw": 1.0 })));
        let Outcome::Succeeded(payload) = rig.outcome(ticket) else {
            panic!("not succeeded")
        };
        assert_eq!(payload.get::<serde_json::Value>().unwrap()["error_code"], 7);
        let bad = rig.start(json, Payload::new(serde_json::json!({ "target_yaw": "far" })));
        assert!(matches!(rig.outcome(bad), Outcome::SendFailed));

        // Services, in both forms.
        let trigger = rig
            .link
            .open(
                EndpointKind::Service,
                "trigger",
                "std_srvs/srv/Trigger",
                Form::Plain,
            )
            .unwrap();
        let ticket = rig.call(trigger, Payload::new(TriggerRequest {}));
        let Outcome::Response(payload) = rig.outcome(ticket) else {
            panic!("no response")
        };
        assert_eq!(payload.get::<TriggerResponse>().unwrap().message, "triggered");
        let set_bool = rig
            .link
            .open(
                EndpointKind::Service,
                "set_bool",
                "std_srvs/srv/SetBool",
                Form::Json,
            )
            .unwrap();
        let ticket = rig.call(set_bool, Payload::new(serde_json::json!({ "data": true })));
        let Outcome::Response(payload) = rig.outcome(ticket) else {
            panic!("no response")
        };
        assert_eq!(payload.get::<serde_json::Value>().unwrap()["success"], true);

        // The server disappears while it has a goal.
        let orphan = rig.spin(spin, 2.0);
        rig.accepted(orphan);
        peer.send("go");
        assert!(matches!(rig.outcome(orphan), Outcome::ServerGone));
        assert_eq!(rig.goal_tracker.handle().view().counters.abandoned, 0);
        peer.kill();
    });
}

/// A spin server that treats each angle as the peer expects.
struct SpinHandler {
    goals: Vec<ServerGoal<Spin>>,
}

impl ActionHandler<Spin> for SpinHandler {
    fn goal(&mut self, request: GoalRequest<Spin>) {
        let yaw = request.goal().target_yaw;
        if yaw == 3.0 {
            return;
        }
        // Another thread decides, as in a server whose decision is slow.
        if yaw == 1.0 {
            std::thread::spawn(move || {
                let mut started = None;
                request.execute(|goal| started = Some(goal)).unwrap();
                let goal = started.unwrap();
                for angular_distance_traveled in [0.5, 1.0] {
                    goal.feedback(&SpinFeedback {
                        angular_distance_traveled,
                    })
                    .unwrap();
                }
                // Feedback and result are not ordered on the wire.
                std::thread::sleep(Duration::from_millis(300));
                let result = SpinResult {
                    error_code: 9,
                    error_msg: "turned".to_owned(),
                    ..SpinResult::default()
                };
                goal.finish(TerminalStatus::Succeeded, result).unwrap();
            });
            return;
        }
        let keep = |goal| {
            if yaw == 2.0 {
                self.goals.push(goal);
            }
        };
        request.execute(keep).unwrap();
    }

    fn cancel(&mut self, id: navtree::goal::GoalId) {
        if let Some(index) = self.goals.iter().position(|goal| goal.id() == id) {
            let goal = self.goals.remove(index);
            assert!(goal.is_canceling());
            goal.finish(TerminalStatus::Canceled, SpinResult::default())
                .unwrap();
        }
    }
}

#[test]
fn our_action_server_against_rclpy_client() {
    alone("actions::our_action_server_against_rclpy_client", || {
        let ros = Ros::start("tested", "/").unwrap();
        let clock = ros.clock().clone();
        let server = ros
            .handle()
            .with_node_blocking(TIMEOUT, move |node| {
                let handler = SpinHandler { goals: Vec::new() };
                ActionServer::<Spin>::serve(node, "spin", &clock, Duration::from_secs(10), handler)
            })
            .unwrap()
            .unwrap();
        let peer = Peer::start("action_client.py");
        peer.receive("good");
        peer.end();
        assert!(server.active().is_empty());
    });
}

#[test]
fn g8_the_goal_tracker_ends_all_waits_before_its_own_end() {
    alone(
        "actions::g8_the_goal_tracker_ends_all_waits_before_its_own_end",
        || {
            let ros = Ros::start("tested", "/").unwrap();
            // The end of the thread is requested with fewer, as many and more tasks than it handles at once.
            for before in 0..40 {
                let goal_tracker =
                    GoalTrackerThread::start(ros.handle(), ros.clock(), "", GoalOptions::default()).unwrap();
                let (release, held) = channel::<()>();
                goal_tracker.handle().send(move || {
                    let _ = held.recv();
                });
                for _ in 0..before {
                    goal_tracker.handle().send(|| {});
                }
                let (sender, ended) = channel();
                let dropping = std::thread::spawn(move || {
                    let _ = sender.send(());
                    drop(goal_tracker);
                    let _ = sender.send(());
                });
                ended.recv_timeout(TIMEOUT).unwrap();
                std::thread::yield_now();
                drop(release);
                ended.recv_timeout(TIMEOUT).unwrap();
                dropping.join().unwrap();
            }
        },
    );
}
