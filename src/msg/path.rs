//! `nav_msgs/Path` and its lengths and indices.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::geometry::{Point, Pose, PoseStamped};
use super::header::Header;
use super::planar::distance_xy;

/// A sequence of poses to drive along. Shared as `Arc<Path>`.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Path {
    /// Frame and time of the path. Poses may have their own frames; Nav2's do not.
    pub header: Header,
    /// The poses, in driving order.
    pub poses: Vec<PoseStamped>,
}

impl Path {
    /// The ROS type.
    pub const ROS_TYPE: &'static str = "nav_msgs/msg/Path";

    /// A path through `poses`, all with `header`.
    pub fn through(header: Header, poses: impl IntoIterator<Item = Pose>) -> Self {
        Self {
            poses: poses
                .into_iter()
                .map(|pose| PoseStamped {
                    header: header.clone(),
                    pose,
                })
                .collect(),
            header,
        }
    }

    /// Whether the path has no pose.
    pub fn is_empty(&self) -> bool {
        self.poses.is_empty()
    }

    /// Length of the whole path, metres.
    pub fn length(&self) -> f64 {
        self.length_from(0)
    }

    /// Length from pose `index` to the end, metres; 0 beyond the end.
    pub fn length_from(&self, index: usize) -> f64 {
        self.length_between(index..self.poses.len())
    }

    /// Length from the first to the last pose of `range`, metres. `range` is clamped to the path.
    pub fn length_between(&self, range: Range<usize>) -> f64 {
        self.slice(range)
            .windows(2)
            .map(|pair| distance_xy(&pair[0].pose.position, &pair[1].pose.position))
            .sum()
    }

    /// The index of the pose nearest to `point` in the plane, the first of equally near ones; `None` for an empty path.
    pub fn closest_index(&self, point: &Point) -> Option<usize> {
        self.closest_index_in(0..self.poses.len(), point)
    }

    /// Like [`Path::closest_index`], within `range`. Path followers search forward from their last match; otherwise
    /// they would cut a self-crossing path short.
    pub fn closest_index_in(&self, range: Range<usize>, point: &Point) -> Option<usize> {
        self.slice(range.clone())
            .iter()
            .map(|pose| distance_xy(&pose.pose.position, point))
            .enumerate()
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(offset, _)| range.start + offset)
    }

    /// The first index at which the length since pose `start` reaches `distance` metres.
    pub fn index_after(&self, start: usize, distance: f64) -> Option<usize> {
        let mut driven = 0.0;
        let mut previous = self.poses.get(start)?;
        if distance <= 0.0 {
            return Some(start);
        }
        for (index, pose) in self.poses.iter().enumerate().skip(start + 1) {
            driven += distance_xy(&previous.pose.position, &pose.pose.position);
            if driven >= distance {
                return Some(index);
            }
            previous = pose;
        }
        None
    }

    fn slice(&self, range: Range<usize>) -> &[PoseStamped] {
        let end = range.end.min(self.poses.len());
        self.poses.get(range.start..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Path;
    use crate::msg::{Header, Point, Pose};

    fn corner() -> Path {
        let poses = [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (2.0, 2.0)];
        Path::through(
            Header::in_frame("map"),
            poses.map(|(x, y)| Pose::planar(x, y, 0.0)),
        )
    }

    #[test]
    fn lengths() {
        assert_eq!(corner().length(), 4.0);
        assert_eq!(corner().length_from(2), 2.0);
        assert_eq!(corner().length_from(3), 0.0);
        assert_eq!(corner().length_from(99), 0.0);
        assert_eq!(Path::default().length(), 0.0);
    }

    #[test]
    fn closest_pose() {
        assert_eq!(corner().closest_index(&Point::planar(1.2, -5.0)), Some(1));
        assert_eq!(
            corner().closest_index_in(2..99, &Point::planar(0.0, 0.0)),
            Some(2)
        );
        assert_eq!(corner().closest_index_in(9..99, &Point::planar(0.0, 0.0)), None);
        assert_eq!(Path::default().closest_index(&Point::default()), None);
    }

    #[test]
    fn index_by_distance() {
        assert_eq!(corner().index_after(0, 1.5), Some(2));
        assert_eq!(corner().index_after(1, 0.0), Some(1));
        assert_eq!(corner().index_after(0, 4.5), None);
    }
}
