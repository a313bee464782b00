//! `Inverter`: success for failure.

use crate::bt::{Behavior, Context, HaltReason, Node, NodeKind, NodeStatus, Ports, Tick};

/// Turns its child's result around.
#[derive(Debug)]
pub struct Inverter;

impl Node for Inverter {
    const ID: &'static str = "Inverter";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str =
        "SUCCESS where its child fails, FAILURE where it succeeds. RUNNING and SKIPPED pass.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for Inverter {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        cx.set_status(NodeStatus::Running);
        let status = match cx.tick_child(0)? {
            NodeStatus::Success => NodeStatus::Failure,
            NodeStatus::Failure => NodeStatus::Success,
            other => return Ok(other),
        };
        cx.halt_child(0, HaltReason::ParentFinished);
        Ok(status)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::inverter;
    use crate::bt::testing::{Scene, leaf};

    #[test]
    fn results_turn_around() {
        Scene::new(inverter(leaf("a", "SFR-"))).check(
            "= a
             F S
             S F
             R R
             - -",
        );
    }
}
