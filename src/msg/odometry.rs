//! `nav_msgs/Odometry`.

use serde::{Deserialize, Serialize};

use super::geometry::{Pose, Twist};
use super::header::{FrameId, Header};

/// Pose and velocity of the robot. The covariances of the interface are omitted with one level of nesting: `pose.pose`
/// of the interface is `pose` here. The JSON form is that of the interface.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Odometry {
    /// Time and frame of the pose (usually `odom`).
    pub header: Header,
    /// The frame of the twist (usually `base_link`).
    pub child_frame_id: FrameId,
    /// The pose of the child frame in the header's frame.
    #[serde(with = "pose_with_covariance")]
    pub pose: Pose,
    /// The velocity, in the child frame.
    #[serde(with = "twist_with_covariance")]
    pub twist: Twist,
}

impl Odometry {
    /// The ROS type.
    pub const ROS_TYPE: &'static str = "nav_msgs/msg/Odometry";

    /// Planar speed in metres per second, never negative.
    pub fn speed(&self) -> f64 {
        self.twist.linear.x.hypot(self.twist.linear.y)
    }
}

/// The JSON object around a pose or twist, which also contains the covariance in the interface.
macro_rules! with_covariance {
    ($module:ident, $field:ident: $type:ident) => {
        mod $module {
            use super::$type;
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            #[derive(Default, Serialize, Deserialize)]
            #[serde(default)]
            struct Level {
                $field: $type,
            }

            pub(super) fn serialize<S: Serializer>(value: &$type, serializer: S) -> Result<S::Ok, S::Error> {
                Level { $field: *value }.serialize(serializer)
            }

            pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                Level::deserialize(deserializer).map(|level| level.$field)
            }
        }
    };
}

with_covariance!(pose_with_covariance, pose: Pose);
with_covariance!(twist_with_covariance, twist: Twist);
