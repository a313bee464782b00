//! `Inverter`: exchanges success and failure.

use crate::bt::{Behavior, Context, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, Ports, Tick};

/// Inverts the result of its child.
#[derive(Debug)]
pub struct Inverter;

impl Node for Inverter {
    const ID: &'static str = "Inverter";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str =
        "SUCCESS if its child fails, FAILURE if it succeeds. RUNNING and SKIPPED are passed on.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for Inverter {
    fn resets_child(&self) -> bool {
        true
    }

    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        cx.set_status(NodeStatus::Running);
        Ok(match cx.tick_only_child()? {
            NodeStatus::Success => NodeStatus::Failure,
            NodeStatus::Failure => NodeStatus::Success,
            other => other,
        })
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::around(children, |child| {
            let mut outcomes = child.without(Outcomes::COMPLETED);
            if child.contains(Outcomes::SUCCESS) {
                outcomes = outcomes | Outcomes::FAILURE;
            }
            if child.contains(Outcomes::FAILURE) {
                outcomes = outcomes | Outcomes::SUCCESS;
            }
            outcomes
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::inverter;
    use crate::bt::testing::{Scene, leaf};

    #[test]
    fn success_and_failure_are_exchanged() {
        Scene::new(inverter(leaf("a", "SFR-"))).check(
            "= a
             F S
             S F
             R R
             - -",
        );
    }
}
