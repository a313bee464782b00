//! `nav2_msgs/WaypointStatus` of Nav2's main branch: what became of one of several goals. Jazzy's interfaces lack it.

use serde::{Deserialize, Serialize};

use super::geometry::PoseStamped;

/// What became of one waypoint.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WaypointStatus {
    /// One of the constants.
    pub waypoint_status: u8,
    /// Its place in the goal that was asked for.
    pub waypoint_index: u32,
    /// Where it is.
    pub waypoint_pose: PoseStamped,
    /// 0, or why it failed.
    pub error_code: u16,
    /// Why it failed, in words.
    pub error_msg: String,
}

impl WaypointStatus {
    /// Not reached yet.
    pub const PENDING: u8 = 0;
    /// Passed.
    pub const COMPLETED: u8 = 1;
    /// Left out.
    pub const SKIPPED: u8 = 2;
    /// Not reached.
    pub const FAILED: u8 = 3;
}

/// One entry for each goal. Users share it as `Arc<WaypointStatuses>`.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WaypointStatuses(pub Vec<WaypointStatus>);
