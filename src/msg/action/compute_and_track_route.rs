//! `nav2_msgs/action/ComputeAndTrackRoute`: compute a route along the route graph and track the robot's progress on it.
//! The Jazzy result has no error message.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Action, error_codes, error_in_result};
use crate::msg::{Path, PoseStamped, Route};

/// The action type.
#[derive(Clone, Copy, Debug)]
pub struct ComputeAndTrackRoute;

impl Action for ComputeAndTrackRoute {
    type Goal = ComputeAndTrackRouteGoal;
    type Result = ComputeAndTrackRouteResult;
    type Feedback = ComputeAndTrackRouteFeedback;
    const TYPE: &'static str = "nav2_msgs/action/ComputeAndTrackRoute";
    const ERROR_CODES: &'static [(u16, &'static str)] = Self::CODES;
    error_in_result!(error_code);
}

error_codes! { ComputeAndTrackRoute {
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
    /// A route operation failed.
    OPERATION_FAILED = 406,
    /// An edge scorer was used wrongly.
    INVALID_EDGE_SCORER_USE = 407,
} }

/// The goal.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ComputeAndTrackRouteGoal {
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
pub struct ComputeAndTrackRouteResult {
    /// Time from acceptance to the end.
    #[serde(with = "crate::msg::duration")]
    pub execution_duration: Duration,
    /// 0, or an error code of the action.
    pub error_code: u16,
}

/// The feedback.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ComputeAndTrackRouteFeedback {
    /// The last passed node.
    pub last_node_id: u16,
    /// The next node.
    pub next_node_id: u16,
    /// The current edge.
    pub current_edge_id: u16,
    /// The current route.
    pub route: Arc<Route>,
    /// The current route as a path.
    pub path: Arc<Path>,
    /// Route operations run since the last feedback.
    pub operations_triggered: Vec<String>,
    /// Whether the route changed since the last feedback.
    pub rerouted: bool,
}
