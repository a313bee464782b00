//! `nav2_msgs/action/ComputeRoute`: compute a route along the route graph. The Jazzy result has no error message.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Action, error_codes, error_in_result};
use crate::msg::{Path, PoseStamped, Route};

/// The action type.
#[derive(Clone, Copy, Debug)]
pub struct ComputeRoute;

impl Action for ComputeRoute {
    type Goal = ComputeRouteGoal;
    type Result = ComputeRouteResult;
    type Feedback = ComputeRouteFeedback;
    const TYPE: &'static str = "nav2_msgs/action/ComputeRoute";
    const ERROR_CODES: &'static [(u16, &'static str)] = Self::CODES;
    error_in_result!(error_code);
}

error_codes! { ComputeRoute {
    /// No error.
    NONE = 0,
    /// An error without its own code.
    UNKNOWN = 400,
    /// A transform was missing or too old.
    TF_ERROR = 401,
    /// No valid graph is loaded.
    NO_VALID_GRAPH = 402,
    /// The start or goal node could not be determined.
    INDETERMINANT_NODES_ON_GRAPH = 403,
    /// The route search was too slow.
    TIMEOUT = 404,
    /// The graph contains no route.
    NO_VALID_ROUTE = 405,
    /// An edge scorer was used wrongly.
    INVALID_EDGE_SCORER_USE = 407,
} }

/// The goal.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ComputeRouteGoal {
    /// Start node of the graph, unless `use_poses`.
    pub start_id: u16,
    /// Start pose, if `use_poses` and `use_start`.
    pub start: PoseStamped,
    /// Goal node of the graph, unless `use_poses`.
    pub goal_id: u16,
    /// Goal pose, if `use_poses`.
    pub goal: PoseStamped,
    /// Whether the route starts at `start` and not at the robot.
    pub use_start: bool,
    /// Whether start and goal are poses and not node ids.
    pub use_poses: bool,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ComputeRouteResult {
    /// Duration of the search.
    #[serde(with = "crate::msg::duration")]
    pub planning_time: Duration,
    /// The route as a path.
    pub path: Arc<Path>,
    /// The route.
    pub route: Arc<Route>,
    /// 0, or an error code of the action.
    pub error_code: u16,
}

/// The empty feedback.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ComputeRouteFeedback {}
