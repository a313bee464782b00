//! `nav2_msgs/TrackingFeedback` of Nav2's main branch: the deviation from a path. Jazzy's interfaces lack it.

use serde::{Deserialize, Serialize};

use super::geometry::PoseStamped;
use super::header::Header;

/// The position of the robot relative to its path.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TrackingFeedback {
    /// Frame and time.
    pub header: Header,
    /// Distance from the path in metres, positive to its left.
    pub position_tracking_error: f32,
    /// Angle between the headings of robot and path, radians.
    pub heading_tracking_error: f32,
    /// The index of the path pose at the robot.
    pub current_path_index: u32,
    /// The pose of the robot.
    pub robot_pose: PoseStamped,
    /// Straight distance to the goal, metres.
    pub distance_to_goal: f32,
    /// Speed, metres per second.
    pub speed: f32,
    /// Remaining length of the path, metres.
    pub remaining_path_length: f32,
}
