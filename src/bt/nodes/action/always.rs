//! `AlwaysSuccess` and `AlwaysFailure`: return a constant.

use crate::bt::{Behavior, Context, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, Ports, Tick};

/// Succeeds.
#[derive(Debug)]
pub struct AlwaysSuccess;

impl Node for AlwaysSuccess {
    const ID: &'static str = "AlwaysSuccess";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Always returns SUCCESS.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for AlwaysSuccess {
    fn tick(&self, _cx: &mut Context<'_>) -> Tick {
        Ok(NodeStatus::Success)
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::always(Outcomes::SUCCESS)
    }
}

/// Fails.
#[derive(Debug)]
pub struct AlwaysFailure;

impl Node for AlwaysFailure {
    const ID: &'static str = "AlwaysFailure";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Always returns FAILURE.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for AlwaysFailure {
    fn tick(&self, _cx: &mut Context<'_>) -> Tick {
        Ok(NodeStatus::Failure)
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::always(Outcomes::FAILURE)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::leaf;
    use crate::bt::testing::Scene;

    #[test]
    fn constants_are_constant() {
        Scene::new(leaf("AlwaysSuccess")).check("=\n S\n S");
        Scene::new(leaf("AlwaysFailure")).check("=\n F\n F");
    }
}
