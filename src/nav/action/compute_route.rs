//! `ComputeRoute`: plans a route on the route graph.

use std::sync::Arc;

use crate::bt::{Context, Input, Output, Ports, Thrown};
use crate::msg::action as actions;
use crate::msg::duration::RosDuration;
use crate::msg::{Path, PoseStamped, Route};
use crate::nav::action_node::{ActionNode, GoalOutcome, Refusal, ResultOf};

/// The start and goal inputs of the route server's actions.
#[derive(Debug)]
pub(super) struct RouteRequest {
    start_id: Input<u16>,
    goal_id: Input<u16>,
    start: Input<Arc<PoseStamped>>,
    goal: Input<Arc<PoseStamped>>,
    use_start: Input<bool>,
    use_poses: Input<bool>,
}

impl RouteRequest {
    pub(super) fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            start_id: ports
                .input("start_id")
                .doc("Start node of the graph; unused with use_poses.")
                .bind(),
            goal_id: ports
                .input("goal_id")
                .doc("Goal node of the graph; unused with use_poses.")
                .bind(),
            start: ports
                .input("start")
                .doc("Start pose; used with use_poses and use_start.")
                .bind(),
            goal: ports.input("goal").doc("Goal pose; used with use_poses.").bind(),
            use_start: ports
                .input("use_start")
                .default("false")
                .doc("Whether to start from `start` instead of the pose of the robot.")
                .bind(),
            use_poses: ports
                .input("use_poses")
                .default("false")
                .doc("Whether to use poses instead of node ids.")
                .bind(),
        }
    }

    pub(super) fn read(&self, cx: &mut Context<'_>) -> Result<actions::ComputeRouteGoal, Thrown> {
        if !self.use_poses.require(cx)? {
            return Ok(actions::ComputeRouteGoal {
                start_id: self.start_id.optional(cx)?.unwrap_or(0),
                goal_id: self.goal_id.require(cx)?,
                ..Default::default()
            });
        }
        let use_start = self.use_start.require(cx)?;
        let start = if use_start {
            self.start.require(cx)?.as_ref().clone()
        } else {
            PoseStamped::default()
        };
        Ok(actions::ComputeRouteGoal {
            start,
            goal: self.goal.require(cx)?.as_ref().clone(),
            use_start,
            use_poses: true,
            ..Default::default()
        })
    }

    /// A number that changes when one of the inputs is written.
    pub(super) fn version(&self, cx: &Context<'_>) -> u64 {
        [
            self.start_id.sequence(cx),
            self.goal_id.sequence(cx),
            self.start.sequence(cx),
            self.goal.sequence(cx),
            self.use_start.sequence(cx),
            self.use_poses.sequence(cx),
        ]
        .iter()
        .fold(0, |sum: u64, sequence| sum.wrapping_add(*sequence))
    }
}

/// Requests a route from the route server.
#[derive(Debug)]
pub struct ComputeRoute {
    request: RouteRequest,
    route: Output<Arc<Route>>,
    planning_time: Output<Arc<RosDuration>>,
    path: Output<Arc<Path>>,
}

impl ActionNode for ComputeRoute {
    type Action = actions::ComputeRoute;
    const ID: &'static str = "ComputeRoute";
    const DOC: &'static str = "Plans a route on the route graph. Clears the outputs when it fails, when it is \
        halted and when the navigation ends.";
    const SERVER: &'static str = "compute_route";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            request: RouteRequest::bind(ports),
            route: ports.output("route").doc("Planned route.").bind(),
            planning_time: ports.output("planning_time").doc("Planning time.").bind(),
            path: ports.output("path").doc("Planned route as a path.").bind(),
        }
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::ComputeRouteGoal, Refusal> {
        Ok(self.request.read(cx)?)
    }

    fn finished(&self, cx: &mut Context<'_>, ending: &GoalOutcome<'_, ResultOf<Self>>) -> Result<(), Thrown> {
        match ending {
            GoalOutcome::Succeeded(result) => {
                self.route.set(cx, Arc::clone(&result.route))?;
                self.planning_time
                    .set(cx, Arc::new(result.planning_time.into()))?;
                self.path.set(cx, Arc::clone(&result.path))
            }
            GoalOutcome::Aborted(_) | GoalOutcome::Canceled(_) | GoalOutcome::Failed => self.forget(cx),
        }
    }

    fn halted(&self, cx: &mut Context<'_>) {
        let _ = self.forget(cx);
    }
}

impl ComputeRoute {
    fn forget(&self, cx: &mut Context<'_>) -> Result<(), Thrown> {
        self.route.set(cx, Arc::default())?;
        self.planning_time.set(cx, Arc::default())?;
        self.path.set(cx, Arc::default())
    }
}

#[cfg(test)]
mod tests {
    use super::actions::{ComputeRoute, ComputeRouteGoal, ComputeRouteResult};
    use super::*;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::msg::{Pose, RouteEdge, RouteNode};
    use crate::nav::testing::{Bench, Plan};
    use std::time::Duration;

    fn plan(_goal: &ComputeRouteGoal) -> Plan<ComputeRoute> {
        Plan::result(ComputeRouteResult {
            route: Arc::new(Route {
                nodes: vec![RouteNode::default(); 2],
                edges: vec![RouteEdge::default(); 2],
                ..Default::default()
            }),
            planning_time: Duration::from_millis(100),
            ..Default::default()
        })
    }

    fn bench(attributes: &str) -> Bench {
        let mut bench = Bench::new(&format!(
            "<ComputeRoute route=\"{{route}}\" path=\"{{path}}\" planning_time=\"{{planning_time}}\" {attributes}/>"
        ));
        bench.action::<ComputeRoute>("compute_route", plan);
        bench
    }

    #[test]
    fn test_compute_route_action_by_ids() {
        let mut bench = bench("start_id=\"4\" goal_id=\"7\" use_start=\"true\"");
        assert_eq!(bench.run(10), Success);
        let goal = ComputeRouteGoal {
            start_id: 4,
            goal_id: 7,
            ..Default::default()
        };
        assert_eq!(bench.goals::<ComputeRoute>("compute_route"), [goal]);
        let route = bench.object::<Route>("route").unwrap();
        assert_eq!((route.nodes.len(), route.edges.len()), (2, 2));
        let time = bench.object::<RosDuration>("planning_time").unwrap();
        assert_eq!(Duration::from(*time), Duration::from_millis(100));
    }

    #[test]
    fn test_compute_route_action_by_poses() {
        let mut bench = bench("start=\"{start}\" goal=\"{goal}\" use_poses=\"true\" use_start=\"true\"");
        let pose = |x| Arc::new(PoseStamped::in_frame("map", Pose::planar(x, 0.0, 0.0)));
        bench.set("start", pose(1.0));
        bench.set("goal", pose(2.0));
        assert_eq!(bench.run(10), Success);
        let goal = bench.goals::<ComputeRoute>("compute_route")[0].clone();
        assert!(goal.use_poses && goal.use_start);
        assert_eq!(
            (goal.start, goal.goal),
            ((*pose(1.0)).clone(), (*pose(2.0)).clone())
        );
        bench.halt();
        assert!(
            bench.object::<Route>("route").unwrap().nodes.is_empty(),
            "the run has ended"
        );
        bench.set("goal", pose(-2.5));
        assert_eq!(bench.run(10), Success);
        assert_eq!(bench.goals::<ComputeRoute>("compute_route").len(), 2);
        bench.action::<ComputeRoute>("compute_route", |_| Plan::abort(405));
        assert_eq!(bench.run(10), Failure);
        assert!(bench.object::<Route>("route").unwrap().nodes.is_empty());
    }
}
