//! `nav2_msgs/action/ComputeRoute`: compute a route along the route graph. The Jazzy result has no error message.

use std::sync::Arc;
use std::time::Duration;

use crate::msg::declare::action;
use crate::msg::{Path, PoseStamped, Route};

action! {
    nav2_msgs/action/ComputeRoute

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
        /// An edge scorer was used wrongly.
        INVALID_EDGE_SCORER_USE = 407,
    }

    /// The goal.
    goal ComputeRouteGoal {
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
    result ComputeRouteResult {
        /// Duration of the search.
        #[serde(with = "crate::msg::duration")]
        planning_time: Duration,
        /// The route as a path.
        path: Arc<Path>,
        /// The route.
        route: Arc<Route>,
        /// 0, or an error code of the action.
        error_code: u16,
    }

    /// The empty feedback.
    feedback ComputeRouteFeedback {}
}
