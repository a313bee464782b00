//! The server `compute_route`.

use std::sync::Arc;

use crate::bt::Time;
use crate::msg::action::{ComputeRoute, ComputeRouteFeedback, ComputeRouteGoal, ComputeRouteResult};
use crate::msg::{Action, FrameId, Header, Path, Point, Pose, Route, RouteEdge, RouteNode, Stamp};
use crate::msg::{PoseStamped, duration::from_seconds};

use super::planner::sample;
use super::route_graph::{GraphNode, RouteGraph};
use super::server::{Execution, Progress};
use super::world::World;

/// A computed route, returned after the planning time.
pub struct Routing {
    path: Arc<Path>,
    route: Arc<Route>,
    since: Time,
}

fn failure_result(code: u16, text: &str) -> ComputeRouteResult {
    ComputeRoute::failure(code, text)
}

/// The graph node nearest to a pose.
fn nearest_node(
    pose: &PoseStamped,
    graph: &RouteGraph,
    world: &World,
) -> Result<GraphNode, ComputeRouteResult> {
    let pose = world
        .in_map(pose)
        .map_err(|error| failure_result(ComputeRoute::TF_ERROR, &error.to_string()))?;
    graph
        .nearest(pose.x, pose.y)
        .ok_or_else(|| failure_result(ComputeRoute::NO_VALID_GRAPH, "there is no route graph"))
}

fn node_by_id(id: u16, graph: &RouteGraph) -> Result<GraphNode, ComputeRouteResult> {
    graph.node(id).ok_or_else(|| {
        let text = format!("the route graph has no node {id}");
        failure_result(ComputeRoute::INDETERMINANT_NODES_ON_GRAPH, &text)
    })
}

fn point(node: GraphNode) -> Point {
    Point {
        x: node.x,
        y: node.y,
        z: 0.0,
    }
}

impl Execution for Routing {
    type Action = ComputeRoute;
    const SERVER: &'static str = "compute_route";

    fn start(
        goal: &ComputeRouteGoal,
        _previous: Option<&Self>,
        world: &mut World,
    ) -> Result<Self, ComputeRouteResult> {
        let graph = &world.route_graph;
        if graph.is_empty() {
            return Err(failure_result(
                ComputeRoute::NO_VALID_GRAPH,
                "there is no route graph",
            ));
        }
        let (start, end) = if goal.use_poses {
            let robot = PoseStamped::in_frame(FrameId::clone(world.map_frame()), world.robot.pose.into());
            let start = if goal.use_start { &goal.start } else { &robot };
            (
                nearest_node(start, graph, world)?,
                nearest_node(&goal.goal, graph, world)?,
            )
        } else {
            (
                node_by_id(goal.start_id, graph)?,
                node_by_id(goal.goal_id, graph)?,
            )
        };
        let Some((steps, length)) = graph.route(start.id, end.id) else {
            let text = format!("no route from node {} to node {}", start.id, end.id);
            return Err(failure_result(ComputeRoute::NO_VALID_ROUTE, &text));
        };
        let header = Header::new(Stamp::ZERO, FrameId::clone(world.map_frame()));
        let mut nodes = vec![start];
        let mut edges = Vec::with_capacity(steps.len());
        let mut from = start;
        for step in steps {
            let to = node_by_id(step.to, graph)?;
            edges.push(RouteEdge {
                edgeid: step.edge,
                start: point(from),
                end: point(to),
            });
            nodes.push(to);
            from = to;
        }
        let corners: Vec<(f64, f64)> = nodes.iter().map(|node| (node.x, node.y)).collect();
        let yaw = match corners[..] {
            [.., previous, last] => (last.1 - previous.1).atan2(last.0 - previous.0),
            _ => world.robot.pose.yaw,
        };
        let poses = sample(&corners, world.settings.path_spacing, yaw, yaw);
        Ok(Self {
            path: Arc::new(Path::through(header.clone(), poses.into_iter().map(Pose::from))),
            route: Arc::new(Route {
                header,
                route_cost: length as f32,
                nodes: nodes
                    .into_iter()
                    .map(|node| RouteNode {
                        nodeid: node.id,
                        position: point(node),
                    })
                    .collect(),
                edges,
            }),
            since: world.now(),
        })
    }

    fn step(&mut self, world: &mut World) -> Progress<ComputeRoute> {
        let elapsed = world.now().since(self.since);
        if elapsed < from_seconds(world.settings.planning_time) {
            return Progress::Running(ComputeRouteFeedback {});
        }
        Progress::Succeeded(ComputeRouteResult {
            planning_time: elapsed,
            path: Arc::clone(&self.path),
            route: Arc::clone(&self.route),
            error_code: ComputeRoute::NONE,
        })
    }

    fn cancel(&mut self, _world: &mut World) -> ComputeRouteResult {
        ComputeRouteResult::default()
    }
}

#[cfg(test)]
mod tests {
    use super::Routing;
    use crate::msg::action::{ComputeRoute, ComputeRouteGoal};
    use crate::msg::{Pose, PoseStamped};
    use crate::sim::server::TerminalStatus;
    use crate::sim::settings::Base;
    use crate::sim::testing::Bench;

    fn bench(graph: &str) -> Bench<Routing> {
        Bench::new(Base {
            route_graph: graph.into(),
            ..Base::default()
        })
    }

    fn to(x: f64, y: f64, frame: &str) -> ComputeRouteGoal {
        ComputeRouteGoal {
            goal: PoseStamped::in_frame(frame, Pose::planar(x, y, 0.0)),
            use_poses: true,
            ..ComputeRouteGoal::default()
        }
    }

    const CORNER: &str = "1 0 0; 2 2 0; 3 2 2; 4 9 9; 1 2; 2 3";

    #[test]
    fn routes_from_the_robot_to_the_node_nearest_to_the_goal() {
        let mut bench = bench(CORNER);
        bench.send(to(2.2, 2.1, "map"));
        let (status, result) = bench.until_end(1.0);
        assert_eq!(status, TerminalStatus::Succeeded);
        let nodes: Vec<u16> = result.route.nodes.iter().map(|node| node.nodeid).collect();
        let edges: Vec<u16> = result.route.edges.iter().map(|edge| edge.edgeid).collect();
        assert_eq!((nodes, edges), (vec![1, 2, 3], vec![1, 2]));
        assert_eq!(result.route.route_cost, 4.0);
        assert!((result.path.length() - 4.0).abs() < 1e-9);
    }

    #[test]
    fn routes_between_node_ids() {
        let mut bench = bench(CORNER);
        bench.send(ComputeRouteGoal {
            start_id: 3,
            goal_id: 2,
            ..ComputeRouteGoal::default()
        });
        assert_eq!(bench.until_end(1.0).1.route.nodes.len(), 2);
    }

    #[test]
    fn failures_have_their_codes() {
        let code = |graph: &str, goal| {
            let mut bench = bench(graph);
            bench.send(goal);
            bench.until_end(1.0).1.error_code
        };
        assert_eq!(code("", to(1.0, 0.0, "map")), ComputeRoute::NO_VALID_GRAPH);
        assert_eq!(code(CORNER, to(9.0, 9.0, "map")), ComputeRoute::NO_VALID_ROUTE);
        assert_eq!(code(CORNER, to(1.0, 0.0, "mars")), ComputeRoute::TF_ERROR);
        let nowhere = ComputeRouteGoal {
            goal_id: 77,
            ..ComputeRouteGoal::default()
        };
        assert_eq!(code(CORNER, nowhere), ComputeRoute::INDETERMINANT_NODES_ON_GRAPH);
    }
}
