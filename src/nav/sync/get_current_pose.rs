//! `GetCurrentPose`: reads the pose of the robot.

use std::sync::Arc;

use crate::bt::{Behavior, Context, Node, NodeEffects, NodeKind, NodeStatus, Output, Ports, Tick};
use crate::msg::PoseStamped;
use crate::nav::frames::FramePorts;

/// Reads the robot's transform.
#[derive(Debug)]
pub struct GetCurrentPose {
    frames: FramePorts,
    pose: Output<Arc<PoseStamped>>,
}

impl Node for GetCurrentPose {
    const ID: &'static str = "GetCurrentPose";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Writes the pose of the robot. FAILURE without its transform.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            frames: FramePorts::bind(ports),
            pose: ports.output("current_pose").doc("Pose of the robot.").bind(),
        }
    }
}

impl Behavior for GetCurrentPose {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let Some(robot) = self.frames.robot(cx)? else {
            return Ok(NodeStatus::Failure);
        };
        self.pose.set(cx, Arc::new(robot))?;
        Ok(NodeStatus::Success)
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::synchronous()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::msg::Pose;
    use crate::nav::testing::Bench;

    #[test]
    fn test_get_current_pose_action() {
        let mut bench = Bench::new("<GetCurrentPose current_pose=\"{pose}\"/>");
        assert_eq!(bench.tick(), Failure);
        bench.transform("map", "base_link", Pose::planar(1.0, 2.0, 0.0));
        assert_eq!(bench.tick(), Success);
        let pose = bench.object::<PoseStamped>("pose").unwrap();
        assert_eq!(
            (pose.pose, &*pose.header.frame_id),
            (Pose::planar(1.0, 2.0, 0.0), "map")
        );
    }
}
