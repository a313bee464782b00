//! `RosPublish`: a message on any topic.

use super::fields::{MessageIn, note, type_name};
use super::qos::Quality;
use crate::bt::{Behavior, Context, Input, Node, NodeKind, NodeStatus, Ports, Text, Tick};
use crate::nav::World;
use crate::nav::endpoint::{report_fault, world};
use crate::nav::link::{Form, Part, Payload, TopicId, TopicSpec};

/// Publishes a message whose type the tree names.
#[derive(Debug)]
pub struct RosPublish {
    topic: TopicPorts,
    message: MessageIn,
}

/// The ports that name a topic.
#[derive(Debug)]
pub(super) struct TopicPorts {
    name: Input<Text>,
    pub(super) type_name: Input<Text>,
    qos: Input<Text>,
}

impl TopicPorts {
    pub(super) fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            name: ports.input("topic_name").doc("The topic.").required().bind(),
            type_name: ports
                .input("message_type")
                .doc("The interface: std_msgs/msg/String.")
                .required()
                .bind(),
            qos: Quality::bind(ports),
        }
    }

    /// The topic; `None` where a port cannot be read yet.
    pub(super) fn spec(&self, cx: &Context<'_>) -> Option<Result<TopicSpec, String>> {
        let (name, type_name) = (self.name.get(cx).ok()?, self.type_name.get(cx).ok()?);
        let quality = match Quality::parse(&self.qos.get(cx).ok()?) {
            Ok(quality) => quality,
            Err(fault) => return Some(Err(fault)),
        };
        Some(Ok(TopicSpec {
            name,
            type_name,
            depth: quality.depth,
            reliable: quality.reliable,
            transient_local: quality.transient_local,
            form: Form::Json,
        }))
    }
}

#[derive(Default)]
struct State {
    topic: Option<TopicId>,
    spec: Option<TopicSpec>,
}

impl Node for RosPublish {
    const ID: &'static str = "RosPublish";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Publishes a message on any topic. Its fields are attributes: \
        message.header.frame_id=\"map\".";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            topic: TopicPorts::bind(ports),
            message: MessageIn::bind(ports, Part::Message, "message"),
        }
    }
}

impl RosPublish {
    /// Opens the topic, if what the ports name has changed.
    fn open(&self, cx: &mut Context<'_>) -> Result<(), String> {
        let Some(spec) = self.topic.spec(cx) else {
            return Err("topic_name, message_type or qos is not written yet".to_owned());
        };
        let spec = spec?;
        if cx.state::<State>().spec.as_ref() == Some(&spec) {
            return Ok(());
        }
        let world: &mut World = cx.resource().ok_or("the tree runs without a robot")?;
        let topic = world.advertise(&spec).map_err(|error| error.to_string())?;
        *cx.state() = State {
            topic: Some(topic),
            spec: Some(spec),
        };
        Ok(())
    }
}

impl Behavior for RosPublish {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let opened = self.open(cx);
        let name = type_name(cx, &self.topic.type_name);
        let message = opened.and_then(|()| self.message.build(cx, &name));
        match (message, cx.state::<State>().topic) {
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
        // Names on the blackboard may be written later: no fault yet.
        if self.topic.spec(cx).is_none() {
            return;
        }
        if let Err(fault) = self.open(cx) {
            report_fault(cx, &fault);
            return;
        }
        let name = type_name(cx, &self.topic.type_name);
        self.message.check(cx, &name);
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
        assert_eq!(bench.tick(), Failure, "nothing was written yet");
        bench.set("what", Text::from("beep"));
        assert_eq!(bench.tick(), Success);
        assert_eq!(bench.published::<Value>("sound"), [json!({"data": "beep"})]);
        let spec = &bench.topics()[0];
        assert!(spec.transient_local && spec.reliable && spec.depth == 1);
        assert_eq!(bench.topics().len(), 1);
    }

    #[test]
    #[should_panic(expected = "is none of")]
    fn a_quality_that_does_not_exist_is_refused_at_load() {
        Bench::new("<RosPublish topic_name=\"a\" message_type=\"b\" qos=\"fast\"/>");
    }
}
