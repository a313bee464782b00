//! `RosPublish`: publishes a message on any topic.

use super::fields::{MessageIn, note, refuse_others, type_name};
use super::topic_ports::{OpenTopic, TopicFault, TopicPorts};
use crate::bt::{Behavior, Context, Node, NodeKind, NodeStatus, Ports, Tick};
use crate::nav::World;
use crate::nav::endpoint::world;
use crate::nav::link::{Part, Payload};

/// Publishes a message with the type named in the tree.
#[derive(Debug)]
pub struct RosPublish {
    topic: TopicPorts,
    message: MessageIn,
}

impl Node for RosPublish {
    const ID: &'static str = "RosPublish";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Publishes a message on any topic. Fields of the message are attributes: \
        message.header.frame_id=\"map\". The message is dropped if its publisher exists only more than 2 s later.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        refuse_others(ports, &["message"]);
        Self {
            topic: TopicPorts::bind(ports),
            message: MessageIn::bind(ports, Part::Message, "message"),
        }
    }
}

impl RosPublish {
    fn open(&self, cx: &mut Context<'_>) -> Result<(), TopicFault> {
        self.topic
            .open(cx, |topic: &mut OpenTopic| topic, World::advertise)
    }
}

impl Behavior for RosPublish {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let opened = self.open(cx);
        let name = type_name(cx, &self.topic.type_name);
        let message = opened
            .map_err(|fault| fault.text)
            .and_then(|()| self.message.build(cx, &name));
        match (message, cx.state::<OpenTopic>().id) {
            (Ok(message), Some(topic)) => {
                world!(cx).publish(topic, Payload::new(message));
                Ok(NodeStatus::Success)
            }
            (Err(fault), _) => {
                note(cx, &fault)?;
                Ok(NodeStatus::Failure)
            }
            (Ok(_), None) => Ok(NodeStatus::Failure),
        }
    }

    fn attach(&self, cx: &mut Context<'_>) {
        if let Some(name) = self.topic.attach(cx, |cx| self.open(cx)) {
            self.message.check(cx, &name);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::bt::Text;
    use crate::nav::link::Part;
    use crate::nav::testing::Bench;
    use serde_json::{Value, json};

    #[test]
    fn a_message_is_published_in_the_tick() {
        let mut bench = Bench::new(
            "<RosPublish topic_name=\"sound\" message_type=\"std_msgs/msg/String\" qos=\"latched\" \
             message.data=\"{what}\"/>",
        );
        bench.interfaces([(Part::Message, "std_msgs/msg/String", json!({"data": ""}))]);
        assert_eq!(bench.tick(), Failure, "the entry has not been written");
        bench.set("what", Text::from("beep"));
        assert_eq!(bench.tick(), Success);
        assert_eq!(bench.published::<Value>("sound"), [json!({"data": "beep"})]);
        let spec = &bench.topics()[0];
        assert!(spec.transient_local && spec.reliable && spec.depth == 1);
        assert_eq!(bench.topics().len(), 1);
    }

    #[test]
    fn a_pose_accepts_the_text_form_of_nav2() {
        let point = json!({"x": 0.0, "y": 0.0, "z": 0.0});
        let orientation = json!({"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0});
        let template = json!({
            "header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""},
            "pose": {"position": point, "orientation": orientation}
        });
        for (attribute, frame) in [
            ("message=\"0;map;1;2;0;0;0;0;1\"", "map"),
            ("message.pose.position=\"1;2;0\"", ""),
        ] {
            let mut bench = Bench::new(&format!(
                "<RosPublish topic_name=\"goal\" message_type=\"geometry_msgs/msg/PoseStamped\" {attribute}/>"
            ));
            bench.interfaces([(Part::Message, "geometry_msgs/msg/PoseStamped", template.clone())]);
            assert!(bench.faults().is_empty());
            assert_eq!(bench.tick(), Success);
            let sent = &bench.published::<Value>("goal")[0];
            assert_eq!(sent["header"]["frame_id"], frame);
            assert_eq!(sent["pose"]["position"], json!({"x": 1.0, "y": 2.0, "z": 0.0}));
        }
    }

    #[test]
    fn a_topic_fails_while_others_publish_it_with_another_type() {
        let mut bench = Bench::new(
            "<RosPublish topic_name=\"sound\" message_type=\"std_msgs/msg/String\" message=\"json:{}\"/>",
        );
        assert_eq!(bench.tick(), Success);
        bench.foreign_type("sound", Some("std_msgs/msg/Bool"));
        assert_eq!(bench.tick(), Failure);
        assert_eq!(
            bench.notes(),
            ["the topic `sound` has the type std_msgs/msg/Bool here, not std_msgs/msg/String"]
        );
        assert_eq!(bench.published::<Value>("sound").len(), 1);
        bench.foreign_type("sound", None);
        assert_eq!(bench.tick(), Success);
    }

    #[test]
    #[should_panic(expected = "is not one of")]
    fn a_quality_that_does_not_exist_is_refused_at_load() {
        Bench::new("<RosPublish topic_name=\"a\" message_type=\"b\" qos=\"fast\"/>");
    }
}
