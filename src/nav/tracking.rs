//! Path tracking errors, computed from the path and the robot's transform, because Jazzy's controller does not report
//! them.

use super::endpoint::world;
use crate::bt::{Context, Thrown};
use crate::msg::{Header, Path, Point, PoseStamped, TrackingFeedback, angle_between, distance_xy};

/// Computes [`TrackingFeedback`] as Nav2's main branch defines it.
#[derive(Debug)]
pub(crate) struct Tracker;

impl Tracker {
    /// The robot's position on the path. `None` for an empty path or without the robot's transform.
    pub(crate) fn track(
        &self,
        cx: &mut Context<'_>,
        path: &Path,
    ) -> Result<Option<TrackingFeedback>, Thrown> {
        let world = world!(cx);
        let frame = &path.header.frame_id;
        let Ok(robot) = world.robot_pose(frame, &world.settings.robot_base_frame) else {
            return Ok(None);
        };
        let speed = world.odometry().map_or(0.0, super::OdometrySmoother::speed);
        Ok(tracking(path, robot, speed))
    }
}

fn tracking(path: &Path, robot: PoseStamped, speed: f64) -> Option<TrackingFeedback> {
    let at = robot.pose.position;
    let index = path.closest_index(&at)?;
    // The segment that starts at the closest pose. For the last pose, the segment that ends there.
    let (from, to) = if index + 1 < path.poses.len() {
        (index, index + 1)
    } else {
        (index.saturating_sub(1), index)
    };
    let position = |index: usize| path.poses.get(index).map(|pose| pose.pose.position);
    let (from, to) = (position(from)?, position(to)?);
    let end = path.poses.last()?.pose.position;
    Some(TrackingFeedback {
        header: Header::new(robot.header.stamp, path.header.frame_id.clone()),
        position_tracking_error: left_of(&from, &to, &at) as f32,
        heading_tracking_error: angle_between(robot.pose.yaw(), path.poses[index].pose.yaw()).abs() as f32,
        current_path_index: u32::try_from(index).unwrap_or(u32::MAX),
        distance_to_goal: distance_xy(&at, &end) as f32,
        speed: speed as f32,
        remaining_path_length: path.length_from(index) as f32,
        robot_pose: robot,
    })
}

/// Metres to the left of the line between two points. The distance if both points are equal.
fn left_of(from: &Point, to: &Point, at: &Point) -> f64 {
    let length = distance_xy(from, to);
    if length == 0.0 {
        return distance_xy(from, at);
    }
    ((to.x - from.x) * (at.y - from.y) - (to.y - from.y) * (at.x - from.x)) / length
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::Pose;

    #[test]
    fn left_is_positive() {
        let path = Path::through(
            Header::in_frame("map"),
            [0.0, 1.0, 2.0].map(|x| Pose::planar(x, 0.0, 0.0)),
        );
        let robot = |x, y, yaw| PoseStamped::in_frame("map", Pose::planar(x, y, yaw));
        let feedback = tracking(&path, robot(1.1, 0.5, 0.25), 0.0).unwrap();
        assert_eq!(feedback.position_tracking_error, 0.5);
        assert_eq!(feedback.current_path_index, 1);
        assert!((feedback.heading_tracking_error - 0.25).abs() < 1e-6);
        assert_eq!(feedback.remaining_path_length, 1.0);
        let feedback = tracking(&path, robot(2.0, -0.5, 0.0), 0.0).unwrap();
        assert_eq!(
            (feedback.position_tracking_error, feedback.current_path_index),
            (-0.5, 2)
        );
        assert!(tracking(&Path::default(), robot(0.0, 0.0, 0.0), 0.0).is_none());
    }
}
