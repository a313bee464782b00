//! `nav2_msgs/action/ComputeRoute`: find a way along the route graph. The Jazzy result has no message.

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
    /// It went well.
    NONE = 0,
    /// What no other code says.
    UNKNOWN = 400,
    /// A transform was missing or too old.
    TF_ERROR = 401,
    /// There is no graph.
    NO_VALID_GRAPH = 402,
    /// The start or goal node could not be told.
    INDETERMINANT_NODES_ON_GRAPH = 403,
    /// The route search was too slow.
    TIMEOUT = 404,
    /// There is no way along the graph.
    NO_VALID_ROUTE = 405,
    /// An edge scorer was misused.
    INVALID_EDGE_SCORER_USE = 407,
} }

/// What to do.
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
    /// Start from `start` instead of from the robot.
    pub use_start: bool,
    /// Go by poses instead of by node ids.
    pub use_poses: bool,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ComputeRouteResult {
    /// Time the search took.
    #[serde(with = "crate::msg::duration")]
    pub planning_time: Duration,
    /// The route as a path.
    pub path: Arc<Path>,
    /// The route.
    pub route: Arc<Route>,
    /// 0 or one of the action's error codes.
    pub error_code: u16,
}

/// Nothing: the interface's feedback is empty.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ComputeRouteFeedback {}
