//! `TruncatePathLocal`: writes the part of a path around the robot.

use std::ops::Range;
use std::sync::Arc;

use crate::bt::{
    Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, Output, PortRange, Ports, Thrown, Tick,
};
use crate::msg::{Path, Pose, PoseStamped, angle_between, distance_xy};
use crate::nav::condition::{Progress, end_within};
use crate::nav::frames::{FramePort, robot_in};

/// Cuts a path to a window around the pose closest to the robot.
#[derive(Debug)]
pub struct TruncatePathLocal {
    path: Input<Arc<Path>>,
    forward: Input<f64>,
    backward: Input<f64>,
    base: FramePort,
    pose: Input<Arc<PoseStamped>>,
    angular_weight: Input<f64>,
    search: Input<f64>,
    output: Output<Arc<Path>>,
}

impl Node for TruncatePathLocal {
    const ID: &'static str = "TruncatePathLocal";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Cuts a path to a window around the robot. Distances are measured along the path. \
        FAILURE without the robot's pose.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = Self {
            path: ports.input("input_path").doc("Path to cut.").needed().bind(),
            forward: ports
                .input("distance_forward")
                .unit("m")
                .default("8.0")
                .doc("Length of the window ahead of the robot; negative: no limit.")
                .bind(),
            backward: ports
                .input("distance_backward")
                .range(PortRange::at_least(0.0))
                .unit("m")
                .default("4.0")
                .doc("Length of the window behind the robot.")
                .bind(),
            base: FramePort::base_once(ports, "robot_frame"),
            pose: ports
                .input("pose")
                .doc("Pose of the robot. Default: from its transform.")
                .bind(),
            angular_weight: ports
                .input("angular_distance_weight")
                .unit("m/rad")
                .default("0.0")
                .doc("Weight of the heading difference in the search for the closest pose.")
                .bind(),
            search: ports
                .input("max_robot_pose_search_dist")
                .unit("m")
                .default("inf")
                .doc("Length of the search along the path from the last match.")
                .bind(),
            output: ports.output("output_path").doc("Window of the path.").bind(),
        };
        // Nav2 waits this long for a transform. navtree does not wait.
        ports
            .input::<f64>("transform_tolerance")
            .unit("s")
            .default("0.2")
            .doc("No effect: a tick does not wait for a transform.")
            .bind();
        node
    }
}

/// The pose of a path that is closest, including headings.
fn closest(path: &Path, range: Range<usize>, pose: &Pose, weight: f64) -> Option<usize> {
    let away = |index: usize| {
        let other = &path.poses.get(index)?.pose;
        let turn = weight * angle_between(pose.yaw(), other.yaw());
        Some(distance_xy(&pose.position, &other.position).hypot(turn))
    };
    range
        .filter_map(|index| Some((index, away(index)?)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(index, _)| index)
}

/// The first pose that is at most `distance` metres before pose `end` along the path.
fn start_within(path: &Path, end: usize, distance: f64) -> usize {
    let mut driven = 0.0;
    for index in (0..end).rev() {
        driven += distance_xy(
            &path.poses[index].pose.position,
            &path.poses[index + 1].pose.position,
        );
        if driven > distance {
            return index + 1;
        }
    }
    0
}

impl TruncatePathLocal {
    fn robot(&self, cx: &mut Context<'_>, path: &Path) -> Result<Option<Pose>, Thrown> {
        if let Some(pose) = self.pose.optional(cx)? {
            return Ok(Some(pose.pose));
        }
        let robot = robot_in(cx, Some(&path.header.frame_id), &self.base)?;
        Ok(robot.map(|robot| robot.pose))
    }
}

impl Behavior for TruncatePathLocal {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let path = self.path.optional(cx)?.unwrap_or_default();
        let forward = self.forward.require(cx)?;
        let backward = self.backward.require(cx)?;
        let weight = self.angular_weight.require(cx)?;
        let search = self.search.require(cx)?;
        let Some(robot) = self.robot(cx, &path)? else {
            return Ok(NodeStatus::Failure);
        };
        let index = cx
            .state::<Progress>()
            .closest(&path, search, |path, range| closest(path, range, &robot, weight));
        let Some(index) = index else {
            self.output.set(cx, path)?;
            return Ok(NodeStatus::Success);
        };
        let forward = if forward < 0.0 { f64::INFINITY } else { forward };
        let window = start_within(&path, index, backward)..end_within(&path, index, forward);
        let cut = Path {
            header: path.header.clone(),
            poses: path.poses.get(window).unwrap_or_default().to_vec(),
        };
        self.output.set(cx, Arc::new(cut))?;
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
    use crate::msg::Header;
    use crate::nav::testing::Bench;
    use std::f64::consts::{FRAC_PI_2, PI};

    /// East, north, west, then south across the first segment.
    fn crossing() -> Path {
        let poses = [
            (0.0, 0.0, 0.0),
            (1.0, 0.0, 0.0),
            (2.0, 0.0, FRAC_PI_2),
            (2.0, 1.0, PI),
            (1.0, 1.0, -FRAC_PI_2),
            (1.0, 0.0, -FRAC_PI_2),
            (1.0, -1.0, -FRAC_PI_2),
        ];
        Path::through(
            Header::in_frame("map"),
            poses.map(|(x, y, yaw)| Pose::planar(x, y, yaw)),
        )
    }

    fn bench(attributes: &str) -> Bench {
        let mut bench = Bench::new(&format!(
            "<TruncatePathLocal input_path=\"{{path}}\" output_path=\"{{cut}}\" distance_forward=\"1.0\" \
             distance_backward=\"1.0\" {attributes}/>"
        ));
        bench.set("path", Arc::new(crossing()));
        bench
    }

    fn cut(bench: &mut Bench, x: f64, y: f64, yaw: f64) -> Vec<(f64, f64)> {
        bench.set(
            "pose",
            Arc::new(PoseStamped::in_frame("map", Pose::planar(x, y, yaw))),
        );
        assert_eq!(bench.tick(), Success);
        let cut = bench.object::<Path>("cut").unwrap();
        cut.poses
            .iter()
            .map(|pose| (pose.pose.position.x, pose.pose.position.y))
            .collect()
    }

    #[test]
    fn test_truncate_path_local_action_chooses_by_heading() {
        let mut bench = bench("pose=\"{pose}\" angular_distance_weight=\"0.2\"");
        assert_eq!(
            cut(&mut bench, 1.0, 0.0, 0.0),
            [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0)]
        );
        assert_eq!(
            cut(&mut bench, 1.0, 0.0, -FRAC_PI_2),
            [(1.0, 1.0), (1.0, 0.0), (1.0, -1.0)]
        );
        assert_eq!(cut(&mut bench, 0.0, 0.0, 0.0), [(0.0, 0.0), (1.0, 0.0)]);
        assert_eq!(cut(&mut bench, 1.0, -1.0, -FRAC_PI_2), [(1.0, 0.0), (1.0, -1.0)]);
    }

    #[test]
    fn test_truncate_path_local_action_follows_the_path_with_a_search_distance() {
        let mut bench = bench("pose=\"{pose}\" max_robot_pose_search_dist=\"3.0\"");
        assert_eq!(cut(&mut bench, 1.0, 0.0, 0.0).len(), 3);
        assert_eq!(cut(&mut bench, 2.0, 0.0, 0.0)[1], (2.0, 0.0));
        assert_eq!(cut(&mut bench, 2.0, 1.0, 0.0)[1], (2.0, 1.0));
        let second = cut(&mut bench, 1.0, 0.0, 0.0);
        assert_eq!(
            second,
            [(1.0, 1.0), (1.0, 0.0), (1.0, -1.0)],
            "the second crossing, not the first"
        );
    }

    #[test]
    fn test_truncate_path_local_action_empty_path_and_no_pose() {
        let mut bench = bench("robot_frame=\"base\"");
        assert_eq!(bench.tick(), Failure, "neither pose nor transform");
        bench.transform("map", "base", Pose::default());
        assert_eq!(bench.tick(), Success);
        bench.set(
            "path",
            Arc::new(Path {
                header: Header::in_frame("map"),
                poses: Vec::new(),
            }),
        );
        assert_eq!(bench.tick(), Success);
        assert!(bench.object::<Path>("cut").unwrap().is_empty());
        bench.set(
            "path",
            Arc::new(Path {
                header: Header::in_frame("nowhere"),
                ..crossing()
            }),
        );
        assert_eq!(bench.tick(), Failure);
    }

    #[test]
    fn test_truncate_path_local_action_without_a_frame_takes_the_parameter() {
        let mut bench = bench("");
        assert_eq!(bench.tick(), Failure, "there is no base_link");
        bench.transform("map", "base_link", Pose::default());
        assert_eq!(bench.tick(), Success);
        assert_eq!(bench.object::<Path>("cut").unwrap().poses.len(), 2);
    }
}
