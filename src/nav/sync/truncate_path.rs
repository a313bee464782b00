//! `TruncatePath`: removes the end of a path.

use std::sync::Arc;

use crate::bt::{
    Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, Output, PortRange, Ports, Tick,
};
use crate::msg::{Path, Quaternion, distance_xy};

/// Cuts a path short of its goal.
#[derive(Debug)]
pub struct TruncatePath {
    path: Input<Arc<Path>>,
    distance: Input<f64>,
    output: Output<Arc<Path>>,
}

impl Node for TruncatePath {
    const ID: &'static str = "TruncatePath";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Removes the part of a path that is closer to its end than the given distance. At \
        least two poses remain, and the last one faces the old end.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            path: ports.input("input_path").doc("Path to cut.").needed().bind(),
            distance: ports
                .input("distance")
                .range(PortRange::at_least(0.0))
                .unit("m")
                .default("1.0")
                .doc("Distance to the end, in a straight line.")
                .bind(),
            output: ports.output("output_path").doc("Shortened path.").bind(),
        }
    }
}

impl Behavior for TruncatePath {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let path = self.path.optional(cx)?.unwrap_or_default();
        let distance = self.distance.require(cx)?;
        let Some(end) = path.poses.last().map(|pose| pose.pose.position) else {
            self.output.set(cx, path)?;
            return Ok(NodeStatus::Success);
        };
        let mut count = path.poses.len();
        while count > 2 && distance_xy(&path.poses[count - 1].pose.position, &end) < distance {
            count -= 1;
        }
        let mut shorter = Path {
            header: path.header.clone(),
            poses: path.poses[..count].to_vec(),
        };
        if let Some(last) = shorter.poses.last_mut() {
            let at = last.pose.position;
            last.pose.orientation = Quaternion::from_yaw((end.y - at.y).atan2(end.x - at.x));
        }
        self.output.set(cx, Arc::new(shorter))?;
        Ok(NodeStatus::Success)
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::synchronous()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::NodeStatus::Success;
    use crate::msg::{Header, Pose};
    use crate::nav::testing::Bench;

    #[test]
    fn test_truncate_path_action() {
        let mut bench =
            Bench::new("<TruncatePath input_path=\"{path}\" output_path=\"{short}\" distance=\"1.0\"/>");
        assert_eq!(bench.tick(), Success, "an empty path stays empty");
        let poses = [(0.0, 0.0), (0.5, 0.0), (0.9, 0.0), (1.5, 0.5)];
        let path = Path::through(
            Header::in_frame("map"),
            poses.map(|(x, y)| Pose::planar(x, y, 0.0)),
        );
        bench.set("path", Arc::new(path));
        assert_eq!(bench.tick(), Success);
        let short = bench.object::<Path>("short").unwrap();
        assert_eq!(short.poses.len(), 2);
        assert!((short.poses[1].pose.yaw() - 0.463).abs() < 0.001);
    }
}
