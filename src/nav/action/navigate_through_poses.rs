//! `NavigateThroughPoses`: sends several goals to another navigator.

use std::sync::Arc;

use crate::bt::{Context, Input, Ports, Text};
use crate::msg::Goals;
use crate::msg::action as actions;
use crate::nav::action_node::{ActionNode, Refusal};

/// Sends goals to a navigator.
#[derive(Debug)]
pub struct NavigateThroughPoses {
    goals: Input<Arc<Goals>>,
    behavior_tree: Input<Text>,
}

impl ActionNode for NavigateThroughPoses {
    type Action = actions::NavigateThroughPoses;
    const ID: &'static str = "NavigateThroughPoses";
    const DOC: &'static str = "Sends several goals to a navigator and waits for its result.";
    const SERVER: &'static str = "navigate_through_poses";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            goals: ports.input("goals").doc("Goal poses, in order.").needed().bind(),
            behavior_tree: ports
                .input("behavior_tree")
                .doc("Tree file; empty: the default of the navigator.")
                .bind(),
        }
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::NavigateThroughPosesGoal, Refusal> {
        Ok(actions::NavigateThroughPosesGoal {
            poses: self.goals.require(cx)?.0.clone(),
            behavior_tree: super::string(&self.behavior_tree, cx)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::actions::NavigateThroughPoses;
    use super::*;
    use crate::bt::NodeStatus::Success;
    use crate::msg::{Pose, PoseStamped};
    use crate::nav::testing::{Bench, Plan};

    #[test]
    fn test_navigate_through_poses_action_tick() {
        let mut bench = Bench::new("<NavigateThroughPoses goals=\"{goals}\"/>");
        bench.action::<NavigateThroughPoses>("navigate_through_poses", |_| Plan::success());
        let poses = vec![PoseStamped::in_frame("map", Pose::planar(1.0, 2.0, 3.0))];
        bench.set("goals", Arc::new(Goals(poses.clone())));
        assert_eq!(bench.run(10), Success);
        assert_eq!(
            bench.goals::<NavigateThroughPoses>("navigate_through_poses")[0].poses,
            poses
        );
    }
}
