//! `ConcatenatePaths`: joins two paths.

use std::sync::Arc;

use crate::bt::{Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, Output, Ports, Tick};
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
            first: ports.input("input_path1").doc("First path.").bind(),
            second: ports.input("input_path2").doc("Second path.").bind(),
            joined: ports.output("output_path").doc("Joined path.").bind(),
        }
    }
}

impl Behavior for ConcatenatePaths {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let first = self.first.optional(cx)?.unwrap_or_default();
        let second = self.second.optional(cx)?.unwrap_or_default();
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
    fn test_concatenate_paths_action() {
        let mut bench =
            Bench::new("<ConcatenatePaths input_path1=\"{a}\" input_path2=\"{b}\" output_path=\"{out}\"/>");
        assert_eq!(bench.tick(), Failure, "both are empty");
        let path = |start: i32| {
            let poses = (start..start + 3).map(|x| Pose::planar(f64::from(x), 0.0, 0.0));
            Arc::new(Path::through(Header::in_frame("map"), poses))
        };
        bench.set("b", path(3));
        assert_eq!(bench.tick(), Success);
        assert_eq!(&*bench.object::<Path>("out").unwrap().header.frame_id, "map");
        bench.set("a", path(0));
        assert_eq!(bench.tick(), Success);
        let xs: Vec<f64> = bench
            .object::<Path>("out")
            .unwrap()
            .poses
            .iter()
            .map(|pose| pose.pose.position.x)
            .collect();
        assert_eq!(xs, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    }
}
