//! `NavigateToPose`: sends a goal to another navigator.

use std::sync::Arc;

use crate::bt::{Context, Input, Ports, Text};
use crate::msg::PoseStamped;
use crate::msg::action as actions;
use crate::nav::action_node::{ActionNode, Refusal};

/// Sends a goal to a navigator.
#[derive(Debug)]
pub struct NavigateToPose {
    goal: Input<Arc<PoseStamped>>,
    behavior_tree: Input<Text>,
}

impl ActionNode for NavigateToPose {
    type Action = actions::NavigateToPose;
    const ID: &'static str = "NavigateToPose";
    const DOC: &'static str = "Sends a goal to a navigator and waits for its result.";
    const SERVER: &'static str = "navigate_to_pose";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            goal: ports.input("goal").doc("Goal pose.").needed().bind(),
            behavior_tree: ports
                .input("behavior_tree")
                .doc("Tree file; empty: the default of the navigator.")
                .bind(),
        }
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::NavigateToPoseGoal, Refusal> {
        Ok(actions::NavigateToPoseGoal {
            pose: self.goal.require(cx)?.as_ref().clone(),
            behavior_tree: super::string(&self.behavior_tree, cx)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::actions::NavigateToPose;
    use super::*;
    use crate::bt::NodeStatus::Success;
    use crate::msg::Pose;
    use crate::nav::testing::{Bench, Plan};

    #[test]
    fn test_navigate_to_pose_action_tick() {
        let mut bench = Bench::new("<NavigateToPose goal=\"{goal}\" behavior_tree=\"other.xml\"/>");
        bench.action::<NavigateToPose>("navigate_to_pose", |_| Plan::success());
        let pose = PoseStamped::in_frame("map", Pose::planar(1.0, 2.0, 3.0));
        bench.set("goal", Arc::new(pose.clone()));
        for sent in 1..3 {
            assert_eq!(bench.run(10), Success);
            let goals = bench.goals::<NavigateToPose>("navigate_to_pose");
            assert_eq!(goals.len(), sent);
            assert_eq!(
                (&goals[0].pose, goals[0].behavior_tree.as_str()),
                (&pose, "other.xml")
            );
            bench.halt();
        }
    }
}
