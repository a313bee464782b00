//! `nav2_msgs/TrackingFeedback` of Nav2's main branch: how well a path is followed. Jazzy's interfaces lack it.

use serde::{Deserialize, Serialize};

use super::geometry::PoseStamped;
use super::header::Header;

/// Where the robot is with respect to its path.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TrackingFeedback {
    /// Frame and time.
    pub header: Header,
    /// Metres from the path; positive to its left.
    pub position_tracking_error: f32,
    /// Radians between the robot's heading and that of the path.
    pub heading_tracking_error: f32,
    /// The pose of the path that the robot is at.
    pub current_path_index: u32,
    /// Where the robot is.
    pub robot_pose: PoseStamped,
    /// Metres left, straight.
    pub distance_to_goal: f32,
    /// Metres per second.
    pub speed: f32,
    /// Metres left along the path.
    pub remaining_path_length: f32,
}
