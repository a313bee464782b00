//! `ComputeAndTrackRoute`: plans a route on the route graph and tracks the robot on it.

use std::sync::Arc;

use super::compute_route::RouteRequest;
use crate::bt::{Context, Output, Ports, Thrown};
use crate::msg::action as actions;
use crate::msg::duration::RosDuration;
use crate::msg::{Path, Route};
use crate::nav::action_node::{ActionNode, FeedbackOf, GoalOf, GoalOutcome, OnFeedback, Refusal, ResultOf};

/// Requests a route with tracking from the route server.
#[derive(Debug)]
pub struct ComputeAndTrackRoute {
    request: RouteRequest,
    execution_duration: Output<Arc<RosDuration>>,
    last_node_id: Output<u16>,
    next_node_id: Output<u16>,
    current_edge_id: Output<u16>,
    route: Output<Arc<Route>>,
    path: Output<Arc<Path>>,
    rerouted: Output<bool>,
}

impl ActionNode for ComputeAndTrackRoute {
    type Action = actions::ComputeAndTrackRoute;
    const ID: &'static str = "ComputeAndTrackRoute";
    const DOC: &'static str = "Plans a route on the route graph and reports the position of the robot on it. \
        Changed inputs are sent to the server at once.";
    const SERVER: &'static str = "compute_and_track_route";
    const ON_FEEDBACK: Option<OnFeedback<Self>> = Some(Self::write);

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            request: RouteRequest::bind(ports),
            execution_duration: ports
                .output("execution_duration")
                .doc("Execution time; written on success.")
                .bind(),
            last_node_id: ports
                .output("last_node_id")
                .doc("Last node that the robot passed.")
                .bind(),
            next_node_id: ports.output("next_node_id").doc("Next node on the route.").bind(),
            current_edge_id: ports
                .output("current_edge_id")
                .doc("Edge that the robot is on.")
                .bind(),
            route: ports.output("route").doc("Current route.").bind(),
            path: ports.output("path").doc("Current route as a path.").bind(),
            rerouted: ports
                .output("rerouted")
                .doc("Whether the route has changed since the last feedback.")
                .bind(),
        }
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<GoalOf<Self>, Refusal> {
        let goal = self.request.read(cx)?;
        Ok(actions::ComputeAndTrackRouteGoal {
            start_id: goal.start_id,
            start: goal.start,
            goal_id: goal.goal_id,
            goal: goal.goal,
            use_start: goal.use_start,
            use_poses: goal.use_poses,
        })
    }

    fn version(&self, cx: &Context<'_>) -> u64 {
        self.request.version(cx)
    }

    fn is_outdated(&self, cx: &Context<'_>, _sent: &GoalOf<Self>, version: u64) -> bool {
        self.request.version(cx) != version
    }

    fn finished(&self, cx: &mut Context<'_>, ending: &GoalOutcome<'_, ResultOf<Self>>) -> Result<(), Thrown> {
        self.write(cx, &FeedbackOf::<Self>::default())?;
        let duration = match ending {
            GoalOutcome::Succeeded(result) => result.execution_duration.into(),
            GoalOutcome::Aborted(_) | GoalOutcome::Canceled(_) | GoalOutcome::Failed => {
                RosDuration::default()
            }
        };
        self.execution_duration.set(cx, Arc::new(duration))
    }

    fn halted(&self, cx: &mut Context<'_>) {
        let _ = self.write(cx, &FeedbackOf::<Self>::default());
    }
}

impl ComputeAndTrackRoute {
    fn write(&self, cx: &mut Context<'_>, feedback: &FeedbackOf<Self>) -> Result<(), Thrown> {
        self.last_node_id.set(cx, feedback.last_node_id)?;
        self.next_node_id.set(cx, feedback.next_node_id)?;
        self.current_edge_id.set(cx, feedback.current_edge_id)?;
        self.route.set(cx, Arc::clone(&feedback.route))?;
        self.path.set(cx, Arc::clone(&feedback.path))?;
        self.rerouted.set(cx, feedback.rerouted)
    }
}

#[cfg(test)]
mod tests {
    use super::actions::{
        ComputeAndTrackRoute, ComputeAndTrackRouteFeedback, ComputeAndTrackRouteGoal,
        ComputeAndTrackRouteResult,
    };
    use super::*;
    use crate::bt::NodeStatus::{Running, Success};
    use crate::msg::{Pose, PoseStamped};
    use crate::nav::testing::{Bench, Plan};
    use std::time::Duration;

    const SERVER: &str = "compute_and_track_route";

    fn plan(_goal: &ComputeAndTrackRouteGoal) -> Plan<ComputeAndTrackRoute> {
        let feedback = ComputeAndTrackRouteFeedback {
            last_node_id: 3,
            rerouted: true,
            ..Default::default()
        };
        Plan::result(ComputeAndTrackRouteResult {
            execution_duration: Duration::from_millis(100),
            ..Default::default()
        })
        .feedback(20, feedback)
        .after(100)
    }

    fn bench(attributes: &str) -> Bench {
        let mut bench = Bench::new(&format!(
            "<ComputeAndTrackRoute last_node_id=\"{{last}}\" rerouted=\"{{rerouted}}\" \
             execution_duration=\"{{duration}}\" {attributes}/>"
        ));
        bench.action::<ComputeAndTrackRoute>(SERVER, plan);
        bench
    }

    #[test]
    fn test_compute_and_track_route_action_by_ids() {
        let mut bench = bench("start_id=\"4\" goal_id=\"7\"");
        assert_eq!(bench.run(6), Running);
        assert_eq!(bench.get::<u16>("last"), Some(3));
        assert_eq!(bench.get::<bool>("rerouted"), Some(true));
        assert_eq!(bench.run(20), Success);
        let goal = bench.goals::<ComputeAndTrackRoute>(SERVER)[0].clone();
        assert_eq!((goal.start_id, goal.goal_id, goal.use_poses), (4, 7, false));
        assert_eq!(
            bench.get::<u16>("last"),
            Some(0),
            "feedback is forgotten at the end"
        );
        let duration = bench.object::<RosDuration>("duration").unwrap();
        assert_eq!(Duration::from(*duration), Duration::from_millis(100));
    }

    #[test]
    fn test_compute_and_track_route_action_by_poses() {
        let mut bench = bench("goal=\"{goal}\" use_poses=\"true\"");
        let pose = |x| Arc::new(PoseStamped::in_frame("map", Pose::planar(x, 0.0, 0.0)));
        bench.set("goal", pose(1.0));
        assert_eq!(bench.run(6), Running);
        // Written again with the same value: no new goal.
        bench.set("goal", pose(1.0));
        assert_eq!(bench.run(2), Running);
        bench.set("goal", pose(2.0));
        assert_eq!(bench.run(30), Success);
        let goals = bench.goals::<ComputeAndTrackRoute>(SERVER);
        assert_eq!(goals.len(), 2);
        assert_eq!(goals[1].goal, *pose(2.0));
        bench.halt();
        assert_eq!(bench.run(30), Success);
        assert_eq!(bench.goals::<ComputeAndTrackRoute>(SERVER).len(), 3);
    }
}
