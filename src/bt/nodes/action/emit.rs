//! `Emit`: sends an event to the nodes that wait for it.

use crate::bt::{
    Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, Ports, Text, Tick, Value,
};

/// Sends an event.
#[derive(Debug)]
pub struct Emit {
    event: Input<Text>,
    data: Input<Value>,
}

impl Node for Emit {
    const ID: &'static str = "Emit";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Sends an event. In the next tick, and only there, every Signal of the tree with a \
        matching pattern receives it. SUCCESS. A Sequence of RosSubscribe with mode=\"fresh\" and this node \
        converts a message on a topic to an event.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = Self {
            event: ports
                .input::<Text>("event")
                .required()
                .doc("Name of the event: words separated by dots, for example battery.low.")
                .bind(),
            data: ports.input::<Value>("data").doc("Data of the event.").bind(),
        };
        if node.event.literal().is_some_and(|name| name.is_empty()) {
            ports.problem_of("event", "port `event` is empty: set the name of the event");
        }
        node
    }
}

impl Behavior for Emit {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let event = self.event.require(cx)?;
        let data = if self.data.is_set() {
            self.data.require(cx)?
        } else {
            Value::Empty
        };
        cx.emit(event, data);
        Ok(NodeStatus::Success)
    }

    /// A receiver of the event acts.
    fn acts(&self) -> bool {
        false
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::always(Outcomes::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{leaf, node};
    use crate::bt::testing::{self, Running, Scene};

    #[test]
    fn a_signal_receives_it_only_in_the_next_tick() {
        let signal = node("Signal")
            .port("pattern", "door.*")
            .port("else", "SUCCESS")
            .port("event", "{event}")
            .port("data", "{data}")
            .child(testing::leaf("child", "S"));
        let emit = leaf("Emit").port("event", "door.open").port("data", "2");
        let tree = node("Sequence").children([signal, testing::leaf("now", "SFF"), emit]);
        let mut run = Running::new(Scene::new(tree).compile().unwrap(), false);
        run.check(
            "= child now
             S .  S
             F S  F event=door.open data=2
             F .  F",
        );
    }

    #[test]
    fn an_event_is_dropped_at_the_end_of_the_run() {
        let signal = node("Signal")
            .port("pattern", "*")
            .port("else", "SUCCESS")
            .child(testing::leaf("child", "S"));
        let tree = node("Sequence").children([signal, leaf("Emit").port("event", "over")]);
        let mut run = Running::new(Scene::new(tree).compile().unwrap(), false);
        run.check(
            "= child
             S .
             halt
             S .
             S S",
        );
    }

    #[test]
    fn an_event_without_a_name_is_refused() {
        assert!(Scene::new(leaf("Emit").port("event", "")).compile().is_err());
    }
}
