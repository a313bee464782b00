//! `GetPoseFromPath`: reads one pose of a path.

use std::sync::Arc;

use crate::bt::{Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, Output, Ports, Tick};
use crate::msg::{Path, PoseStamped};

/// Reads a pose by its index.
#[derive(Debug)]
pub struct GetPoseFromPath {
    path: Input<Arc<Path>>,
    index: Input<i32>,
    pose: Output<Arc<PoseStamped>>,
}

impl Node for GetPoseFromPath {
    const ID: &'static str = "GetPoseFromPath";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Writes one pose of a path. FAILURE if the index is out of range.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            path: ports.input("path").doc("Path to read.").needed().bind(),
            index: ports
                .input("index")
                .default("0")
                .doc("Index of the pose; a negative index counts from the end, -1 is the last pose.")
                .bind(),
            pose: ports.output("pose").doc("Selected pose.").bind(),
        }
    }
}

impl Behavior for GetPoseFromPath {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let Some(path) = self.path.optional(cx)? else {
            return Ok(NodeStatus::Failure);
        };
        let index = i64::from(self.index.require(cx)?);
        let from_start = if index < 0 {
            index + i64::try_from(path.poses.len()).unwrap_or(i64::MAX)
        } else {
            index
        };
        let pose = usize::try_from(from_start)
            .ok()
            .and_then(|index| path.poses.get(index));
        let Some(pose) = pose else {
            return Ok(NodeStatus::Failure);
        };
        let mut pose = pose.clone();
        if pose.header.frame_id.is_empty() {
            pose.header.frame_id = path.header.frame_id.clone();
        }
        self.pose.set(cx, Arc::new(pose))?;
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
    use crate::msg::{Header, Pose};
    use crate::nav::testing::Bench;

    #[test]
    fn test_get_pose_from_path_action() {
        for (index, x) in [
            (0, Some(1.0)),
            (-1, Some(3.0)),
            (-3, Some(1.0)),
            (3, None),
            (-4, None),
        ] {
            let mut bench = Bench::new(&format!(
                "<GetPoseFromPath path=\"{{path}}\" index=\"{index}\" pose=\"{{pose}}\"/>"
            ));
            assert_eq!(bench.tick(), Failure);
            let mut path = Path::through(
                Header::in_frame(""),
                [1.0, 2.0, 3.0].map(|x| Pose::planar(x, 0.0, 0.0)),
            );
            path.header.frame_id = "map".into();
            bench.set("path", Arc::new(path));
            assert_eq!(bench.tick(), if x.is_some() { Success } else { Failure });
            let pose = bench.object::<PoseStamped>("pose");
            assert_eq!(pose.as_ref().map(|pose| pose.pose.position.x), x);
            assert!(pose.is_none_or(|pose| &*pose.header.frame_id == "map"));
        }
    }
}
