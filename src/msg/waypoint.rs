//! `nav2_msgs/WaypointStatus` of Nav2's main branch: the status of one of several goals. Jazzy's interfaces lack it.

use serde::{Deserialize, Serialize};

use super::geometry::PoseStamped;

/// The status of one waypoint.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WaypointStatus {
    /// One of the constants.
    pub waypoint_status: u8,
    /// The index in the requested goal.
    pub waypoint_index: u32,
    /// The pose of the waypoint.
    pub waypoint_pose: PoseStamped,
    /// 0, or the error code of its failure.
    pub error_code: u16,
    /// The error message.
    pub error_msg: String,
}

impl WaypointStatus {
    /// Not reached yet.
    pub const PENDING: u8 = 0;
    /// Reached.
    pub const COMPLETED: u8 = 1;
    /// Skipped.
    pub const SKIPPED: u8 = 2;
    /// Failed.
    pub const FAILED: u8 = 3;
}

/// One entry per goal. Shared as `Arc<WaypointStatuses>`.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WaypointStatuses(pub Vec<WaypointStatus>);
