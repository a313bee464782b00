//! A graph of nodes and edges, and the shortest route on it.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

/// A node of the graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GraphNode {
    /// The ID in the graph.
    pub id: u16,
    /// Position along x, in metres.
    pub x: f64,
    /// Position along y, in metres.
    pub y: f64,
}

/// Nodes and the two-way edges between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouteGraph {
    nodes: BTreeMap<u16, GraphNode>,
    /// The number of an edge is its index in the list, from 1.
    edges: Vec<(u16, u16)>,
}

/// One step of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The number of the edge.
    pub edge: u16,
    /// The ID of the node at the end of the edge.
    pub to: u16,
}

impl RouteGraph {
    /// Reads `id x y; id id; ...`: nodes, and edges between two of them.
    ///
    /// # Errors
    /// An error message with the part that cannot be read.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut graph = Self::default();
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let words: Vec<&str> = part.split_whitespace().collect();
            let id = |word: &str| {
                word.parse::<u16>()
                    .map_err(|_| format!("`{word}` in `{part}` is not an ID"))
            };
            let parse_metres = |word: &str| match word.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(number),
                _ => Err(format!("`{word}` in `{part}` is not a length")),
            };
            match words[..] {
                [name, x, y] => {
                    let (id, x, y) = (id(name)?, parse_metres(x)?, parse_metres(y)?);
                    graph.nodes.insert(id, GraphNode { id, x, y });
                }
                [from, to] => graph.edges.push((id(from)?, id(to)?)),
                _ => {
                    return Err(format!("`{part}` is neither a node `id x y` nor an edge `id id`"));
                }
            }
        }
        for (from, to) in &graph.edges {
            if let Some(id) = [from, to].into_iter().find(|id| !graph.nodes.contains_key(id)) {
                return Err(format!(
                    "the edge `{from} {to}` leads to `{id}`, which is not a node"
                ));
            }
        }
        Ok(graph)
    }

    /// Returns whether the graph has no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node with this ID.
    pub fn node(&self, id: u16) -> Option<GraphNode> {
        self.nodes.get(&id).copied()
    }

    /// The node nearest to a point. Of equally near nodes, the one with the lowest ID.
    pub fn nearest(&self, x: f64, y: f64) -> Option<GraphNode> {
        let distance = |node: &GraphNode| (node.x - x).hypot(node.y - y);
        self.nodes
            .values()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
            .copied()
    }

    fn edge_length(&self, from: u16, to: u16) -> f64 {
        match (self.node(from), self.node(to)) {
            (Some(a), Some(b)) => (a.x - b.x).hypot(a.y - b.y),
            _ => f64::INFINITY,
        }
    }

    fn steps_from(&self, from: u16) -> impl Iterator<Item = Step> + '_ {
        self.edges.iter().enumerate().filter_map(move |(index, &(a, b))| {
            let edge = u16::try_from(index + 1).ok()?;
            match from {
                _ if from == a => Some(Step { edge, to: b }),
                _ if from == b => Some(Step { edge, to: a }),
                _ => None,
            }
        })
    }

    /// The shortest route (Dijkstra) with its length; `None` if there is none.
    pub fn route(&self, start: u16, goal: u16) -> Option<(Vec<Step>, f64)> {
        let mut shortest: BTreeMap<u16, (f64, Option<(u16, Step)>)> = BTreeMap::from([(start, (0.0, None))]);
        let mut open = BinaryHeap::from([QueueEntry {
            length: 0.0,
            node: start,
        }]);
        while let Some(QueueEntry { length, node }) = open.pop() {
            if node == goal {
                break;
            }
            if shortest.get(&node).is_some_and(|(known, _)| *known < length) {
                continue;
            }
            for step in self.steps_from(node) {
                let new_length = length + self.edge_length(node, step.to);
                if shortest
                    .get(&step.to)
                    .is_none_or(|(known, _)| new_length < *known)
                {
                    shortest.insert(step.to, (new_length, Some((node, step))));
                    open.push(QueueEntry {
                        length: new_length,
                        node: step.to,
                    });
                }
            }
        }
        let (length, mut previous) = *shortest.get(&goal)?;
        let mut steps = Vec::new();
        while let Some((from, step)) = previous {
            steps.push(step);
            previous = shortest.get(&from)?.1;
        }
        steps.reverse();
        Some((steps, length))
    }
}

/// An entry of the search queue: the shortest one comes first.
#[derive(PartialEq)]
struct QueueEntry {
    length: f64,
    node: u16,
}

impl Eq for QueueEntry {}

impl Ord for QueueEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .length
            .total_cmp(&self.length)
            .then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for QueueEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::{RouteGraph, Step};

    const DIAMOND: &str = "1 0 0; 2 1 1; 3 1 -3; 4 2 0; 9 50 50; 1 2; 2 4; 1 3; 3 4";

    #[test]
    fn finds_the_shorter_route_in_both_directions() {
        let graph = RouteGraph::parse(DIAMOND).unwrap();
        let (steps, length) = graph.route(1, 4).unwrap();
        assert_eq!(steps, [Step { edge: 1, to: 2 }, Step { edge: 2, to: 4 }]);
        assert!((length - 8.0_f64.sqrt()).abs() < 1e-9);
        let (back, _) = graph.route(4, 1).unwrap();
        assert_eq!(back, [Step { edge: 2, to: 2 }, Step { edge: 1, to: 1 }]);
        assert_eq!(graph.route(1, 1), Some((Vec::new(), 0.0)));
        assert_eq!(graph.route(1, 9), None);
    }

    #[test]
    fn the_nearest_node_is_found() {
        let graph = RouteGraph::parse(DIAMOND).unwrap();
        assert_eq!(graph.nearest(1.1, 0.9).unwrap().id, 2);
        assert_eq!(RouteGraph::default().nearest(0.0, 0.0), None);
    }

    #[test]
    fn an_unreadable_part_is_named() {
        for (text, part) in [
            ("1 0", "`1 0`"),
            ("1 0 x", "`x`"),
            ("1", "`1`"),
            ("-1 0 0", "`-1`"),
        ] {
            let error = RouteGraph::parse(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert!(RouteGraph::parse("").unwrap().is_empty());
    }
}
