//! `ForceSuccess` and `ForceFailure`: return a fixed result when the child completes.

use crate::bt::{Behavior, Context, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, Ports, Tick};

/// Succeeds when its child has completed.
#[derive(Debug)]
pub struct ForceSuccess;

impl Node for ForceSuccess {
    const ID: &'static str = "ForceSuccess";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "SUCCESS when its child completes with any result. RUNNING and SKIPPED are passed \
        on.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for ForceSuccess {
    fn resets_child(&self) -> bool {
        true
    }

    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        force(cx, NodeStatus::Success)
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::around(children, |child| {
            child.without(Outcomes::COMPLETED) | Outcomes::SUCCESS
        })
    }
}

/// Fails when its child has completed.
#[derive(Debug)]
pub struct ForceFailure;

impl Node for ForceFailure {
    const ID: &'static str = "ForceFailure";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "FAILURE when its child completes with any result. RUNNING and SKIPPED are passed \
        on.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for ForceFailure {
    fn resets_child(&self) -> bool {
        true
    }

    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        force(cx, NodeStatus::Failure)
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::around(children, |child| {
            child.without(Outcomes::COMPLETED) | Outcomes::FAILURE
        })
    }
}

#[inline]
fn force(cx: &mut Context<'_>, forced: NodeStatus) -> Tick {
    cx.set_status(NodeStatus::Running);
    let status = cx.tick_only_child()?;
    Ok(if status.is_completed() { forced } else { status })
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{force_failure, force_success};
    use crate::bt::testing::{Scene, leaf};

    #[test]
    fn only_results_of_completed_children_are_replaced() {
        Scene::new(force_success(leaf("a", "FSR-"))).check(
            "= a
             S F
             S S
             R R
             - -",
        );
        Scene::new(force_failure(leaf("a", "FSR-"))).check(
            "= a
             F F
             F S
             R R
             - -",
        );
    }
}
