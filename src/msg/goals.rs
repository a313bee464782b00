//! A list of poses to pass: `nav_msgs/Goals` of Nav2's main branch, a plain list on Jazzy.

use serde::{Deserialize, Serialize};

use super::geometry::PoseStamped;

/// Poses in the order in which they are to be passed. Users share it as `Arc<Goals>`.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Goals(pub Vec<PoseStamped>);
