//! `NavigateToPose`: has another navigator drive to a goal.

use std::sync::Arc;

use crate::bt::{Context, Input, Ports, Text, Thrown};
use crate::msg::PoseStamped;
use crate::msg::action as actions;
use crate::nav::action_leaf::ActionNode;

/// Sends a goal to a navigator.
#[derive(Debug)]
pub struct NavigateToPose {
    goal: Input<Arc<PoseStamped>>,
    behavior_tree: Input<Text>,
}

impl ActionNode for NavigateToPose {
    type Action = actions::NavigateToPose;
    const ID: &'static str = "NavigateToPose";
    const DOC: &'static str = "Has a navigator drive to a goal.";
    const SERVER: &'static str = "navigate_to_pose";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            goal: ports.input("goal").doc("Where to.").bind(),
            behavior_tree: ports
                .input("behavior_tree")
                .doc("The tree file to use; empty: the navigator's own.")
                .bind(),
        }
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::NavigateToPoseGoal, Thrown> {
        Ok(actions::NavigateToPoseGoal {
            pose: self.goal.require(cx)?.as_ref().clone(),
            behavior_tree: super::string(&self.behavior_tree, cx),
        })
    }
}
