//! `nav_msgs/Odometry`.

use serde::{Deserialize, Serialize};

use super::geometry::{Pose, Twist};
use super::header::{FrameId, Header};

/// Where the robot is and how fast it moves. The covariances of the interface are left out, and with them one
/// level: `pose.pose` of the interface is `pose` here.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Odometry {
    /// Time, and the frame of the pose (usually `odom`).
    pub header: Header,
    /// The frame of the twist (usually `base_link`).
    pub child_frame_id: FrameId,
    /// Where the child frame is in the header's frame.
    pub pose: Pose,
    /// The velocity, in the child frame.
    pub twist: Twist,
}

impl Odometry {
    /// Planar speed, metres per second, never negative.
    pub fn speed(&self) -> f64 {
        self.twist.linear.x.hypot(self.twist.linear.y)
    }
}
