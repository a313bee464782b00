//! `ConcatenatePaths`: one path behind another.

use std::sync::Arc;

use crate::bt::{Behavior, Context, Input, Node, NodeKind, NodeStatus, Output, Ports, Tick};
use crate::msg::{Header, Path};

/// Joins two paths.
#[derive(Debug)]
pub struct ConcatenatePaths {
    first: Input<Arc<Path>>,
    second: Input<Arc<Path>>,
    joined: Output<Arc<Path>>,
}

impl Node for ConcatenatePaths {
    const ID: &'static str = "ConcatenatePaths";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Joins two paths. FAILURE if both are empty.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            first: ports.input("input_path1").doc("The path to begin with.").bind(),
            second: ports.input("input_path2").doc("The path that follows.").bind(),
            joined: ports.output("output_path").doc("Both in one.").bind(),
        }
    }
}

impl Behavior for ConcatenatePaths {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let first = self.first.get(cx).unwrap_or_default();
        let second = self.second.get(cx).unwrap_or_default();
        if first.is_empty() && second.is_empty() {
            return Ok(NodeStatus::Failure);
        }
        let header = if first.header == Header::default() {
            second.header.clone()
        } else {
            first.header.clone()
        };
        let poses = first.poses.iter().chain(&second.poses).cloned().collect();
        self.joined.set(cx, Arc::new(Path { header, poses }))?;
        Ok(NodeStatus::Success)
    }
}
