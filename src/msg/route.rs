//! `nav2_msgs/Route`: what the route server answers.

use serde::{Deserialize, Serialize};

use super::geometry::Point;
use super::header::Header;

/// A way along the route graph.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Route {
    /// Frame and time.
    pub header: Header,
    /// The sum of the scores of its edges.
    pub route_cost: f32,
    /// The nodes passed, in order.
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
    /// Where it is.
    pub position: Point,
}

/// A directed edge of the route graph.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RouteEdge {
    /// The id in the graph file.
    pub edgeid: u16,
    /// Where it starts.
    pub start: Point,
    /// Where it ends.
    pub end: Point,
}
