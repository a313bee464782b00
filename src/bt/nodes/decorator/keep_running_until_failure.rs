//! `KeepRunningUntilFailure`: runs the child repeatedly until it fails.

use crate::bt::{Behavior, Context, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, Ports, Tick};

/// Runs its child repeatedly, once per tick.
#[derive(Debug)]
pub struct KeepRunningUntilFailure;

impl Node for KeepRunningUntilFailure {
    const ID: &'static str = "KeepRunningUntilFailure";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "RUNNING, whatever its child returns, until the child fails: FAILURE.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for KeepRunningUntilFailure {
    fn resets_child(&self) -> bool {
        true
    }

    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        cx.set_status(NodeStatus::Running);
        Ok(if cx.tick_only_child()? == NodeStatus::Failure {
            NodeStatus::Failure
        } else {
            NodeStatus::Running
        })
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::around(children, |child| child.and(Outcomes::FAILURE) | Outcomes::RUNNING)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::keep_running_until_failure;
    use crate::bt::testing::{Scene, leaf};

    #[test]
    fn only_a_failure_ends_it() {
        Scene::new(keep_running_until_failure(leaf("a", "SR-SF"))).check(
            "= a
             R S
             R R
             R -
             R S
             F F",
        );
    }
}
