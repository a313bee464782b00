//! `RosSubscribe`: the newest message of any topic, or the next.

use serde_json::Value as JsonValue;

use super::fields::{MessageOut, note, type_name};
use super::ros_publish::TopicPorts;
use crate::bt::{Behavior, Context, HaltReason, Input, Node, NodeKind, NodeStatus, Ports, Text, Tick, Time};
use crate::nav::World;
use crate::nav::endpoint::{report_fault, world};
use crate::nav::link::{Part, TopicId, TopicSpec};
use crate::nav::values::Milliseconds;

/// Listens to a topic whose type the tree names.
#[derive(Debug)]
pub struct RosSubscribe {
    topic: TopicPorts,
    mode: Input<Text>,
    timeout: Input<Milliseconds>,
    message: MessageOut,
}

#[derive(Default)]
struct State {
    topic: Option<TopicId>,
    spec: Option<TopicSpec>,
    /// Messages that there were when the node was activated.
    count: u64,
    since: Time,
}

impl Node for RosSubscribe {
    const ID: &'static str = "RosSubscribe";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Writes the newest message of any topic, or waits for the next. Its fields are attributes: \
        message.data=\"{key}\". RUNNING until there is one.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = Self {
            topic: TopicPorts::bind(ports),
            mode: ports
                .input("mode")
                .default("latest")
                .doc("latest: a message that came before will do; fresh: one that came after the activation is waited for.")
                .bind(),
            timeout: ports
                .input("timeout")
                .unit("ms")
                .doc("How long to wait; then FAILURE. Absent: for ever.")
                .bind(),
            message: MessageOut::bind(ports, Part::Message, "message"),
        };
        if let Some(word) = node.mode.literal()
            && !matches!(&**word, "latest" | "fresh")
        {
            let fault = format!("mode: `{word}` is none of latest, fresh");
            ports.problem(fault);
        }
        node
    }
}

impl RosSubscribe {
    /// Subscribes, if what the ports name has changed.
    fn open(&self, cx: &mut Context<'_>) -> Result<(), String> {
        let Some(spec) = self.topic.spec(cx) else {
            return Err("topic_name, message_type or qos is not written yet".to_owned());
        };
        let spec = spec?;
        if cx.state::<State>().spec.as_ref() == Some(&spec) {
            return Ok(());
        }
        let world: &mut World = cx.resource().ok_or("the tree runs without a robot")?;
        let topic = world.subscribe(&spec).map_err(|error| error.to_string())?;
        let state = cx.state::<State>();
        state.topic = Some(topic);
        state.spec = Some(spec);
        Ok(())
    }

    fn wait(&self, cx: &mut Context<'_>, since: Time) -> Tick {
        let Ok(timeout) = self.timeout.get(cx) else {
            return Ok(NodeStatus::Running);
        };
        if cx.now().since(since) < timeout.into() {
            return Ok(NodeStatus::Running);
        }
        note(cx, "no message came in time")?;
        Ok(NodeStatus::Failure)
    }
}

impl Behavior for RosSubscribe {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        if cx.status() != NodeStatus::Running {
            if let Err(fault) = self.open(cx) {
                note(cx, &fault)?;
                return Ok(NodeStatus::Failure);
            }
            let now = cx.now();
            let topic = cx.state::<State>().topic;
            let world: &World = world!(cx);
            let count = topic
                .and_then(|topic| world.sample(topic))
                .map_or(0, |sample| sample.count);
            let state = cx.state::<State>();
            state.count = count;
            state.since = now;
        }
        let state = cx.state::<State>();
        let (topic, count, since) = (state.topic, state.count, state.since);
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

    fn halt(&self, _cx: &mut Context<'_>, _reason: HaltReason) {}

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
    use crate::bt::NodeStatus::{Failure, Running, Success};
    use crate::nav::testing::Bench;
    use serde_json::json;

    fn bench(attributes: &str) -> Bench {
        Bench::new(&format!(
            "<RosSubscribe topic_name=\"load\" message_type=\"std_msgs/msg/Float64\" message.data=\"{{load}}\" {attributes}/>"
        ))
    }

    #[test]
    fn the_latest_message_will_do() {
        let mut bench = bench("");
        assert_eq!(bench.run(5), Running);
        bench.publish("load", json!({"data": 1.5}));
        assert_eq!(bench.tick(), Success);
        assert_eq!(bench.get::<f64>("load"), Some(1.5));
        assert_eq!(bench.tick(), Success);
    }

    #[test]
    fn a_fresh_one_is_waited_for_in_each_activation() {
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
    fn waiting_has_an_end() {
        let mut bench = bench("timeout=\"100\"");
        assert_eq!(bench.run(9), Running);
        assert_eq!(bench.run(3), Failure);
        assert_eq!(bench.notes(), ["no message came in time"]);
    }
}
