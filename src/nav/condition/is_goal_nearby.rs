//! `IsGoalNearby`: checks whether the remaining path is short. A node of Nav2's main branch.

use std::sync::Arc;

use super::verdict;
use crate::bt::{Behavior, Context, Input, Node, NodeKind, NodeStatus, PortRange, Ports, Tick};
use crate::msg::{Path, Point};
use crate::nav::frames::{FramePorts, robot_in};
use crate::nav::goal_watch::same;

/// Measures the remaining path.
#[derive(Debug)]
pub struct IsGoalNearby {
    path: Input<Arc<Path>>,
    threshold: Input<f64>,
    search: Input<f64>,
    frames: FramePorts,
}

/// The position from which the search for the closest pose continues. A path that crosses itself is then not cut short.
#[derive(Default)]
pub(in crate::nav) struct Progress {
    path: Option<Arc<Path>>,
    index: usize,
}

impl Progress {
    /// The closest pose of the path, within `search` metres along the path from the last match; of the whole path if
    /// `search` is infinite.
    pub(in crate::nav) fn closest(
        &mut self,
        path: &Arc<Path>,
        search: f64,
        closest: impl FnOnce(&Path, std::ops::Range<usize>) -> Option<usize>,
    ) -> Option<usize> {
        let end = path.poses.len();
        if !search.is_finite() {
            return closest(path, 0..end);
        }
        let path_again = Some(Arc::clone(path));
        if !same(&self.path, &path_again) {
            self.index = 0;
        }
        self.path = path_again;
        let start = self.index.min(end.saturating_sub(1));
        let index = closest(path, start..end_within(path, start, search))?;
        self.index = index;
        Some(index)
    }
}

/// One past the last pose that is at most `distance` metres after pose `start` along the path.
pub(in crate::nav) fn end_within(path: &Path, start: usize, distance: f64) -> usize {
    let mut driven = 0.0;
    for (offset, pair) in path
        .poses
        .iter()
        .skip(start)
        .zip(path.poses.iter().skip(start + 1))
        .enumerate()
    {
        driven += crate::msg::distance_xy(&pair.0.pose.position, &pair.1.pose.position);
        if driven > distance {
            return start + offset + 1;
        }
    }
    path.poses.len()
}

/// The index of the pose closest to a point, by distance only.
fn closest_to(point: Point) -> impl FnOnce(&Path, std::ops::Range<usize>) -> Option<usize> {
    move |path, range| path.closest_index_in(range, &point)
}

impl Node for IsGoalNearby {
    const ID: &'static str = "IsGoalNearby";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str =
        "SUCCESS if the remaining path is shorter than proximity_threshold. FAILURE for an empty path.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            path: ports.input("path").doc("Path that the robot follows.").bind(),
            threshold: ports
                .input("proximity_threshold")
                .range(PortRange::above(0.0))
                .unit("m")
                .default("1.0")
                .doc("Maximum remaining length, along the path.")
                .bind(),
            search: ports
                .input("max_robot_pose_search_dist")
                .unit("m")
                .default("-1.0")
                .doc("Length of the search along the path from the last match; negative: the whole path.")
                .bind(),
            frames: FramePorts::bind(ports),
        }
    }
}

impl Behavior for IsGoalNearby {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let path = self.path.optional(cx)?;
        let Some(path) = path.filter(|path| !path.is_empty()) else {
            return Ok(NodeStatus::Failure);
        };
        let threshold = self.threshold.require(cx)?;
        let search = self.search.require(cx)?;
        let search = if search < 0.0 { f64::INFINITY } else { search };
        let Some(robot) = robot_in(cx, Some(&path.header.frame_id), &self.frames.base)? else {
            return Ok(NodeStatus::Failure);
        };
        let progress = cx.state::<Progress>();
        let index = progress.closest(&path, search, closest_to(robot.pose.position));
        Ok(verdict(
            index.is_some_and(|index| path.length_from(index) < threshold),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::msg::{Header, Pose};
    use crate::nav::testing::Bench;

    #[test]
    fn test_is_goal_nearby() {
        let mut bench = Bench::new("<IsGoalNearby path=\"{path}\" proximity_threshold=\"1.5\"/>");
        assert_eq!(bench.tick(), Failure, "no path");
        let poses = [0.0, 1.0, 2.0, 3.0].map(|x| Pose::planar(x, 0.0, 0.0));
        bench.set("path", Arc::new(Path::through(Header::in_frame("map"), poses)));
        assert_eq!(bench.tick(), Failure, "no transform");
        for (x, status) in [(0.0, Failure), (1.2, Failure), (2.1, Success), (3.0, Success)] {
            bench.transform("map", "base_link", Pose::planar(x, 0.0, 0.0));
            assert_eq!(bench.tick(), status, "{x}");
        }
    }

    #[test]
    fn with_a_search_distance_a_path_that_returns_is_not_cut_short() {
        let poses = [
            (0.0, 0.0),
            (1.0, 0.0),
            (2.0, 0.0),
            (2.0, 1.0),
            (1.0, 1.0),
            (0.0, 1.0),
            (0.0, 0.1),
        ];
        let path = Path::through(
            Header::in_frame("map"),
            poses.map(|(x, y)| Pose::planar(x, y, 0.0)),
        );
        for (search, status) in [("-1.0", Success), ("2.0", Failure)] {
            let mut bench = Bench::new(&format!(
                "<IsGoalNearby path=\"{{path}}\" max_robot_pose_search_dist=\"{search}\"/>"
            ));
            bench.set("path", Arc::new(path.clone()));
            bench.transform("map", "base_link", Pose::planar(0.0, 0.08, 0.0));
            assert_eq!(bench.tick(), status, "{search}");
        }
    }
}
