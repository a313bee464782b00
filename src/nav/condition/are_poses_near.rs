//! `ArePosesNear`: checks whether two poses are close to each other.

use std::sync::Arc;

use super::verdict;
use crate::bt::{Behavior, Context, Input, Node, NodeKind, NodeStatus, PortRange, Ports, Tick};
use crate::msg::{FrameId, PoseStamped, distance_xy};
use crate::nav::endpoint::world;
use crate::nav::frames::{FramePort, in_frame};

/// Compares two poses.
#[derive(Debug)]
pub struct ArePosesNear {
    reference: Input<Arc<PoseStamped>>,
    target: Input<Arc<PoseStamped>>,
    frame: FramePort,
    tolerance: Input<f64>,
}

impl Node for ArePosesNear {
    const ID: &'static str = "ArePosesNear";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS if the distance of two poses on the plane is at most the tolerance.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            reference: ports.input("ref_pose").doc("First pose.").needed().bind(),
            target: ports.input("target_pose").doc("Second pose.").needed().bind(),
            frame: FramePort::global(ports),
            tolerance: ports
                .input("tolerance")
                .range(PortRange::at_least(0.0))
                .unit("m")
                .default("0.5")
                .doc("Maximum distance.")
                .bind(),
        }
    }
}

impl Behavior for ArePosesNear {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let (Some(reference), Some(target)) = (self.reference.optional(cx)?, self.target.optional(cx)?)
        else {
            return Ok(NodeStatus::Failure);
        };
        let tolerance = self.tolerance.require(cx)?;
        let distance = if reference.header.frame_id == target.header.frame_id {
            distance_xy(&reference.pose.position, &target.pose.position)
        } else {
            let frame = match self.frame.get(cx) {
                Some(frame) => frame,
                None => FrameId::from(&*world!(cx).settings.global_frame),
            };
            let (Some(reference), Some(target)) =
                (in_frame(cx, &reference, &frame)?, in_frame(cx, &target, &frame)?)
            else {
                return Ok(NodeStatus::Failure);
            };
            distance_xy(&reference.pose.position, &target.pose.position)
        };
        Ok(verdict(distance <= tolerance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::msg::Pose;
    use crate::nav::testing::Bench;

    #[test]
    fn test_are_poses_near() {
        let mut bench = Bench::new("<ArePosesNear ref_pose=\"{a}\" target_pose=\"{b}\"/>");
        let pose = |frame: &str, x, y| Arc::new(PoseStamped::in_frame(frame, Pose::planar(x, y, 0.0)));
        bench.set("a", pose("map", 1.0, 1.0));
        assert_eq!(bench.tick(), Failure, "one of them was never written");
        for (x, y, status) in [(0.0, 0.0, Failure), (1.0, 1.0, Success), (1.1, 1.1, Success)] {
            bench.set("b", pose("map", x, y));
            assert_eq!(bench.tick(), status, "{x} {y}");
        }
        bench.set("b", pose("odom", 1.0, 1.0));
        assert_eq!(bench.tick(), Failure, "no transform");
        bench.transform("map", "odom", Pose::planar(0.2, 0.0, 0.0));
        assert_eq!(bench.tick(), Success);
        bench.transform("map", "odom", Pose::planar(2.0, 0.0, 0.0));
        assert_eq!(bench.tick(), Failure);
    }
}
