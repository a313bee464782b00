//! `nav2_msgs/action/ComputeAndTrackRoute`: compute a route along the route graph and track the robot's progress on it.
//! The Jazzy result has no error message.

use std::sync::Arc;
use std::time::Duration;

use crate::msg::declare::action;
use crate::msg::{Path, PoseStamped, Route};

action! {
    nav2_msgs/action/ComputeAndTrackRoute

    codes {
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
    }

    /// The goal.
    goal ComputeAndTrackRouteGoal {
        /// Start node of the graph, unless `use_poses`.
        start_id: u16,
        /// Start pose, if `use_poses` and `use_start`.
        start: PoseStamped,
        /// Goal node of the graph, unless `use_poses`.
        goal_id: u16,
        /// Goal pose, if `use_poses`.
        goal: PoseStamped,
        /// Whether the route starts at `start` and not at the robot.
        use_start: bool,
        /// Whether start and goal are poses and not node ids.
        use_poses: bool,
    }

    /// The result.
    result ComputeAndTrackRouteResult {
        /// Time from acceptance to the end.
        #[serde(with = "crate::msg::duration")]
        execution_duration: Duration,
        /// 0, or an error code of the action.
        error_code: u16,
    }

    /// The feedback.
    feedback ComputeAndTrackRouteFeedback {
        /// The last passed node.
        last_node_id: u16,
        /// The next node.
        next_node_id: u16,
        /// The current edge.
        current_edge_id: u16,
        /// The current route.
        route: Arc<Route>,
        /// The current route as a path.
        path: Arc<Path>,
        /// Route operations run since the last feedback.
        operations_triggered: Vec<String>,
        /// Whether the route changed since the last feedback.
        rerouted: bool,
    }
}
