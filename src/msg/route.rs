//! `nav2_msgs/Route`: a route of the route server.

use super::declare::messages;
use super::geometry::Point;
use super::header::Header;

messages! {
    nav2_msgs

    /// A route along the route graph.
    struct Route {
        /// Frame and time.
        header: Header,
        /// The sum of the scores of the edges.
        route_cost: f32,
        /// The nodes in driving order.
        nodes: Vec<RouteNode>,
        /// The edges between them; one fewer than the nodes.
        edges: Vec<RouteEdge>,
    }

    /// A node of the route graph.
    #[derive(Copy)]
    struct RouteNode {
        /// The id in the graph file.
        nodeid: u16,
        /// The position.
        position: Point,
    }

    /// A directed edge of the route graph.
    #[derive(Copy)]
    struct RouteEdge {
        /// The id in the graph file.
        edgeid: u16,
        /// The start.
        start: Point,
        /// The end.
        end: Point,
    }
}
