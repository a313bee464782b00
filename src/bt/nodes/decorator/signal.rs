//! `Signal`: ticks the child when an event has arrived.

use crate::bt::nodes::outcomes_of;
use crate::bt::{
    Behavior, Context, Event, Input, Node, NodeEffects, NodeKind, NodeStatus, Output, Ports, Text, Tick,
    Value, matches,
};

/// Ticks the child for each matching event.
#[derive(Debug)]
pub struct Signal {
    pattern: Input<Text>,
    otherwise: Input<NodeStatus>,
    event: Output<Text>,
    data: Output<Value>,
}

impl Node for Signal {
    const ID: &'static str = "Signal";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child once for each event that has arrived since the previous tick and \
        whose name matches the pattern, with the event's data on the blackboard. Continues to tick the child \
        until it completes. Without an event, returns the status of 'else'. FAILURE as soon as the child fails; \
        further events of that tick are lost.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            pattern: ports
                .input::<Text>("pattern")
                .required()
                .doc(
                    "Pattern for names of events: a.b, or a.* for all that begin with a., or ? for any one \
                    character.",
                )
                .bind(),
            otherwise: ports
                .input::<NodeStatus>("else")
                .default("FAILURE")
                .doc("Result while no event has arrived; RUNNING waits for one.")
                .bind(),
            event: ports.output::<Text>("event").doc("Name of the event.").bind(),
            data: ports.output::<Value>("data").doc("Data of the event.").bind(),
        }
    }
}

impl Behavior for Signal {
    fn resets_child(&self) -> bool {
        true
    }

    /// `memory.mark` is the number of the last handled event.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        if cx.child_status(0) == NodeStatus::Running {
            let status = cx.tick_only_child()?;
            if status != NodeStatus::Success {
                return Ok(status);
            }
            // Events that arrived while the child was running are dropped.
            cx.memory().mark = cx
                .events()
                .last()
                .map_or(0, |event| event.number)
                .max(cx.memory().mark);
            return Ok(status);
        }
        let mut result = self.otherwise.require(cx)?;
        while let Some(Event { number, name, data }) = self.next(cx) {
            cx.memory().mark = number;
            cx.set_status(NodeStatus::Running);
            self.event.set(cx, name)?;
            self.data.set(cx, data)?;
            result = cx.tick_only_child()?;
            if matches!(result, NodeStatus::Running | NodeStatus::Failure) {
                break;
            }
            cx.halt_child(0, crate::bt::HaltReason::ParentFinished);
        }
        Ok(result)
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::around(children, |child| child | outcomes_of(&self.otherwise)).at_times()
    }
}

impl Signal {
    fn next(&self, cx: &mut Context<'_>) -> Option<Event> {
        let handled = cx.memory().mark;
        let pattern = self.pattern.as_str(cx)?;
        cx.events()
            .iter()
            .find(|event| event.number > handled && matches(pattern, &event.name))
            .cloned()
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::Value;
    use crate::bt::builder::{NodeBuilder, node};
    use crate::bt::testing::{Running, Scene, leaf};

    fn run(child: NodeBuilder, otherwise: &str) -> Running {
        let tree = node("Signal")
            .port("pattern", "a.*")
            .port("else", otherwise)
            .port("event", "{event}")
            .port("data", "{data}")
            .child(child);
        Running::new(Scene::new(tree).compile().unwrap(), false)
    }

    #[test]
    fn the_child_is_ticked_once_per_matching_event() {
        let mut run = run(leaf("child", "S"), "FAILURE");
        run.check(
            "= child
             F .",
        );
        run.tree.emit("b.x", Value::Int(1));
        run.tree.emit("a.x", Value::Int(2));
        run.tree.emit("a.y", Value::Int(3));
        run.check(
            "= child
             S SS event=a.y data=3
             F .",
        );
    }

    #[test]
    fn a_running_child_is_ticked_without_an_event() {
        let mut run = run(leaf("child", "RRS"), "RUNNING");
        run.check(
            "= child
             R .",
        );
        run.tree.emit("a.x", Value::Int(1));
        run.check(
            "= child
             R R data=1",
        );
        run.tree.emit("a.y", Value::Int(2));
        run.check(
            "= child
             R R data=1
             S S data=1
             R .",
        );
    }

    #[test]
    fn a_halt_stops_the_child_and_an_event_is_handled_once() {
        let mut run = run(leaf("child", "R"), "RUNNING");
        run.tree.emit("a.x", Value::Empty);
        run.check(
            "= child
             R R
             halt !child
             R .",
        );
    }
}
