//! `nav2_msgs/Route`: a route of the route server.

use serde::{Deserialize, Serialize};

use super::geometry::Point;
use super::header::Header;

/// A route along the route graph.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Route {
    /// Frame and time.
    pub header: Header,
    /// The sum of the scores of the edges.
    pub route_cost: f32,
    /// The nodes in driving order.
    pub nodes: Vec<RouteNode>,
    /// The edges between them; one fewer than the nodes.
    pub edges: Vec<RouteEdge>,
}

/// A node of the route graph.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RouteNode {
    /// The id in the graph file.
    pub nodeid: u16,
    /// The position.
    pub position: Point,
}

/// A directed edge of the route graph.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RouteEdge {
    /// The id in the graph file.
    pub edgeid: u16,
    /// The start.
    pub start: Point,
    /// The end.
    pub end: Point,
}
