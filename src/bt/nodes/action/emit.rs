//! `Emit`: an event for the nodes that wait for one.

use crate::bt::{
    Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, Ports, Text, Tick, Value,
};

/// Says that something happened.
#[derive(Debug)]
pub struct Emit {
    event: Input<Text>,
    data: Input<Value>,
}

impl Node for Emit {
    const ID: &'static str = "Emit";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Emits an event, which every Signal of the tree sees whose pattern matches, in the next \
        tick and in no later one. SUCCESS. A message on a topic becomes an event by a Sequence of RosSubscribe, with \
        mode=\"fresh\", and this.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = Self {
            event: ports
                .input::<Text>("event")
                .required()
                .doc("the name of the event: words with dots between, battery.low")
                .bind(),
            data: ports.input::<Value>("data").doc("what it carries").bind(),
        };
        if node.event.literal().is_some_and(|name| name.is_empty()) {
            ports.problem_of("event", "port `event` is empty: it names the event");
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

    /// Whoever hears the event acts.
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
    fn a_signal_sees_it_in_the_next_tick_and_in_no_later_one() {
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
    fn a_run_that_is_over_leaves_no_event_to_the_next_one() {
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
