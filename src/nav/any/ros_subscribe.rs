//! `RosSubscribe`: reads the newest or the next message of any topic.

use serde_json::Value as JsonValue;

use super::fields::{MessageOut, note, refuse_others};
use super::topic_ports::{OpenTopic, TopicFault, TopicPorts};
use crate::bt::{Behavior, Context, Input, Node, NodeKind, NodeStatus, Ports, Text, Tick, Time};
use crate::nav::World;
use crate::nav::endpoint::world;
use crate::nav::link::Part;
use crate::nav::values::Milliseconds;

/// Subscribes to a topic with the type named in the tree.
#[derive(Debug)]
pub struct RosSubscribe {
    topic: TopicPorts,
    mode: Input<Text>,
    timeout: Input<Milliseconds>,
    message: MessageOut,
}

#[derive(Default)]
struct SubscriptionState {
    topic: OpenTopic,
    /// Number of messages at the activation.
    count: u64,
    since: Time,
}

impl Node for RosSubscribe {
    const ID: &'static str = "RosSubscribe";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Writes the newest message of any topic, or waits for the next. Fields of the \
        message are attributes: message.data=\"{key}\". RUNNING until there is a message. Messages of more than \
        256 KiB are not read.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = Self {
            topic: TopicPorts::bind(ports),
            mode: ports
                .input("mode")
                .default("latest")
                .doc("latest: an earlier message is accepted, even from an earlier navigation, as for the state \
                    of a machine; if no tree has had the topic for ten seconds, only a latched one. fresh: \
                    waits for a message that arrives after the activation, as for a command; a latched topic \
                    sends its last message at each subscription, and that one arrives, too.")
                .bind(),
            timeout: ports
                .input("timeout")
                .unit("ms")
                .doc("Maximum waiting time; then FAILURE. Default: no limit.")
                .bind(),
            message: MessageOut::bind(ports, Part::Message, "message"),
        };
        refuse_others(ports, &["message"]);
        if let Some(word) = node.mode.literal()
            && !matches!(&**word, "latest" | "fresh")
        {
            let fault = format!("mode: `{word}` is not one of latest, fresh");
            ports.problem_of("mode", fault);
        }
        node
    }
}

impl RosSubscribe {
    fn open(&self, cx: &mut Context<'_>) -> Result<(), TopicFault> {
        let before = cx.state::<SubscriptionState>().topic.id;
        self.topic.open(
            cx,
            |state: &mut SubscriptionState| &mut state.topic,
            World::subscribe,
        )?;
        if cx.state::<SubscriptionState>().topic.id != before {
            self.wait_for_next(cx)?;
        }
        Ok(())
    }

    /// The messages of the topic that have arrived by now are not fresh.
    fn wait_for_next(&self, cx: &mut Context<'_>) -> Result<(), TopicFault> {
        let topic = cx.state::<SubscriptionState>().topic.id;
        let world: &World = cx.resource().ok_or("the tree runs without a robot")?;
        let count = topic
            .and_then(|topic| world.sample(topic))
            .map_or(0, |sample| sample.count);
        cx.state::<SubscriptionState>().count = count;
        Ok(())
    }

    fn wait(&self, cx: &mut Context<'_>, since: Time) -> Tick {
        // A topic with another type will not deliver a message.
        if let Err(fault) = self.open(cx) {
            note(cx, &fault.text)?;
            return Ok(NodeStatus::Failure);
        }
        let Some(timeout) = self.timeout.if_set(cx)? else {
            return Ok(NodeStatus::Running);
        };
        if cx.now().since(since) < timeout.into() {
            return Ok(NodeStatus::Running);
        }
        note(cx, "no message arrived in time")?;
        Ok(NodeStatus::Failure)
    }
}

impl Behavior for RosSubscribe {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        if cx.status() != NodeStatus::Running {
            if let Err(fault) = self.open(cx).and_then(|()| self.wait_for_next(cx)) {
                note(cx, &fault.text)?;
                return Ok(NodeStatus::Failure);
            }
            cx.state::<SubscriptionState>().since = cx.now();
        }
        let state = cx.state::<SubscriptionState>();
        let (topic, count, since) = (state.topic.id, state.count, state.since);
        let fresh = self.mode.as_str(cx) == Some("fresh");
        let world: &World = world!(cx);
        let sample = topic.and_then(|topic| world.sample(topic));
        let payload = sample
            .filter(|sample| !fresh || sample.count > count)
            .and_then(|sample| sample.payload.clone());
        let Some(payload) = payload else {
            return self.wait(cx, since);
        };
        let Some(message) = payload.get::<JsonValue>() else {
            note(cx, "the message is not JSON")?;
            return Ok(NodeStatus::Failure);
        };
        match self.message.write(cx, message)? {
            Ok(()) => Ok(NodeStatus::Success),
            Err(fault) => {
                note(cx, &fault)?;
                Ok(NodeStatus::Failure)
            }
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
    use crate::bt::NodeStatus::{Failure, Running, Success};
    use crate::bt::Text;
    use crate::nav::testing::Bench;
    use serde_json::json;

    fn bench(attributes: &str) -> Bench {
        Bench::new(&format!(
            "<RosSubscribe topic_name=\"load\" message_type=\"std_msgs/msg/Float64\" message.data=\"{{load}}\" {attributes}/>"
        ))
    }

    #[test]
    fn latest_accepts_an_earlier_message() {
        let mut bench = bench("");
        assert_eq!(bench.run(5), Running);
        bench.publish("load", json!({"data": 1.5}));
        assert_eq!(bench.tick(), Success);
        assert_eq!(bench.get::<f64>("load"), Some(1.5));
        assert_eq!(bench.tick(), Success);
    }

    #[test]
    fn fresh_waits_for_a_new_message_in_each_activation() {
        let mut bench = bench("mode=\"fresh\"");
        bench.publish("load", json!({"data": 1.5}));
        assert_eq!(bench.run(5), Running);
        for load in [2.5, 3.5] {
            bench.publish("load", json!({"data": load}));
            assert_eq!(bench.tick(), Success);
            assert_eq!(bench.get::<f64>("load"), Some(load));
            assert_eq!(bench.run(3), Running);
        }
    }

    #[test]
    fn fresh_waits_for_a_new_message_of_another_topic() {
        let node = |topic: &str| {
            format!(
                "<RosSubscribe topic_name=\"{topic}\" message_type=\"std_msgs/msg/Float64\" mode=\"fresh\"/>"
            )
        };
        let mut bench = Bench::new(&format!(
            "<ParallelAll>{}{}{}</ParallelAll>",
            node("{topic}"),
            node("a"),
            node("b")
        ));
        bench.set("topic", Text::from("a"));
        assert_eq!(bench.tick(), Running);
        // `b` has more messages than `a`, and then `a` more than `b`.
        for (messages, topic) in [(3, "b"), (9, "a")] {
            for _ in 0..messages {
                bench.publish(topic, json!({"data": 1.0}));
                bench.set("topic", Text::from("silent"));
                assert_eq!(bench.tick(), Running);
            }
            bench.set("topic", Text::from(topic));
            assert_eq!(bench.run(3), Running, "they came before");
        }
        bench.set("topic", Text::from("b"));
        assert_eq!(bench.run(3), Running);
        bench.publish("b", json!({"data": 2.0}));
        assert_eq!(bench.tick(), Success);
    }

    #[test]
    fn a_topic_with_another_type_is_not_waited_for() {
        let mut bench = bench("");
        assert_eq!(bench.run(3), Running);
        bench.foreign_type("load", Some("std_msgs/msg/Bool"));
        assert_eq!(bench.tick(), Failure);
        assert_eq!(
            bench.notes(),
            ["the topic `load` has the type std_msgs/msg/Bool here, not std_msgs/msg/Float64"]
        );
        assert_eq!(bench.tick(), Failure, "known from the start");
    }

    #[test]
    fn waiting_ends_at_the_timeout() {
        let mut bench = bench("timeout=\"100\"");
        assert_eq!(bench.run(9), Running);
        assert_eq!(bench.run(3), Failure);
        assert_eq!(bench.notes(), ["no message arrived in time"]);
    }
}
