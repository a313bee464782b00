//! `NavigateThroughPoses`: has another navigator pass several goals.

use std::sync::Arc;

use crate::bt::{Context, Input, Ports, Text, Thrown};
use crate::msg::Goals;
use crate::msg::action as actions;
use crate::nav::action_leaf::ActionNode;

/// Sends goals to a navigator.
#[derive(Debug)]
pub struct NavigateThroughPoses {
    goals: Input<Arc<Goals>>,
    behavior_tree: Input<Text>,
}

impl ActionNode for NavigateThroughPoses {
    type Action = actions::NavigateThroughPoses;
    const ID: &'static str = "NavigateThroughPoses";
    const DOC: &'static str = "Has a navigator drive through several goals.";
    const SERVER: &'static str = "navigate_through_poses";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            goals: ports.input("goals").doc("Where to, in order.").bind(),
            behavior_tree: ports
                .input("behavior_tree")
                .doc("The tree file to use; empty: the navigator's own.")
                .bind(),
        }
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::NavigateThroughPosesGoal, Thrown> {
        Ok(actions::NavigateThroughPosesGoal {
            poses: self.goals.require(cx)?.0.clone(),
            behavior_tree: super::string(&self.behavior_tree, cx),
        })
    }
}
