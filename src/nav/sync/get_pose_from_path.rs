//! `GetPoseFromPath`: one pose of a path.

use std::sync::Arc;

use crate::bt::{Behavior, Context, Input, Node, NodeKind, NodeStatus, Output, Ports, Tick};
use crate::msg::{Path, PoseStamped};

/// Picks a pose by its index.
#[derive(Debug)]
pub struct GetPoseFromPath {
    path: Input<Arc<Path>>,
    index: Input<i32>,
    pose: Output<Arc<PoseStamped>>,
}

impl Node for GetPoseFromPath {
    const ID: &'static str = "GetPoseFromPath";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Writes one pose of a path. FAILURE if there is no such pose.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            path: ports.input("path").doc("The path.").bind(),
            index: ports
                .input("index")
                .default("0")
                .doc("Which pose; negative numbers count from the end, -1 is the last.")
                .bind(),
            pose: ports.output("pose").doc("The pose.").bind(),
        }
    }
}

impl Behavior for GetPoseFromPath {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let Ok(path) = self.path.get(cx) else {
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
}
