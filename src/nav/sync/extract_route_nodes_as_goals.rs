//! `ExtractRouteNodesAsGoals`: converts the nodes of a route to goals. A node of Nav2's main branch.

use std::sync::Arc;

use crate::bt::{Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, Output, Ports, Tick};
use crate::msg::{Goals, Pose, PoseStamped, Quaternion, Route};

/// Converts a route to goals.
#[derive(Debug)]
pub struct ExtractRouteNodesAsGoals {
    route: Input<Arc<Route>>,
    goals: Output<Arc<Goals>>,
}

impl Node for ExtractRouteNodesAsGoals {
    const ID: &'static str = "ExtractRouteNodesAsGoals";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Writes the nodes of a route as goals. FAILURE if the route has no nodes.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            route: ports.input("route").doc("Route to convert.").bind(),
            goals: ports.output("goals").doc("Nodes of the route, in order.").bind(),
        }
    }
}

impl Behavior for ExtractRouteNodesAsGoals {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let route = self.route.optional(cx)?;
        let Some(route) = route.filter(|route| !route.nodes.is_empty()) else {
            return Ok(NodeStatus::Failure);
        };
        let goals = route.nodes.iter().map(|node| PoseStamped {
            header: route.header.clone(),
            pose: Pose {
                position: node.position,
                orientation: Quaternion::IDENTITY,
            },
        });
        self.goals.set(cx, Arc::new(Goals(goals.collect())))?;
        Ok(NodeStatus::Success)
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::synchronous()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::msg::{Header, Point, RouteNode};
    use crate::nav::testing::Bench;

    #[test]
    fn test_extract_route_nodes_as_goals_action() {
        let mut bench = Bench::new("<ExtractRouteNodesAsGoals route=\"{route}\" goals=\"{goals}\"/>");
        bench.set("route", Arc::new(Route::default()));
        assert_eq!(bench.tick(), Failure);
        let node = |x| RouteNode {
            nodeid: 1,
            position: Point::planar(x, 0.0),
        };
        let route = Route {
            header: Header::in_frame("map"),
            nodes: vec![node(1.0), node(2.0)],
            ..Default::default()
        };
        bench.set("route", Arc::new(route));
        assert_eq!(bench.tick(), Success);
        let goals = bench.object::<Goals>("goals").unwrap();
        assert_eq!((goals.0.len(), goals.0[1].pose.position.x), (2, 2.0));
        assert_eq!(&*goals.0[0].header.frame_id, "map");
    }
}
