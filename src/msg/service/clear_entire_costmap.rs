//! `nav2_msgs/srv/ClearEntireCostmap`: clear a costmap. Its empty members are left out.

use serde::{Deserialize, Serialize};

use super::Service;

/// The service type.
#[derive(Clone, Copy, Debug)]
pub struct ClearEntireCostmap;

impl Service for ClearEntireCostmap {
    type Request = ClearEntireCostmapRequest;
    type Response = ClearEntireCostmapResponse;
    const TYPE: &'static str = "nav2_msgs/srv/ClearEntireCostmap";
}

/// The empty request.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClearEntireCostmapRequest {}

/// The empty response.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClearEntireCostmapResponse {}
