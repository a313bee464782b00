//! A graph of places and edges, and the shortest route on it.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

/// A place (a node of the graph).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The id in the graph.
    pub id: u16,
    /// Position along x, in metres.
    pub x: f64,
    /// Position along y, in metres.
    pub y: f64,
}

/// Places and the two-way edges between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouteGraph {
    places: BTreeMap<u16, Place>,
    /// The number of an edge is its index in the list, from 1.
    edges: Vec<(u16, u16)>,
}

/// One step of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The number of the edge.
    pub edge: u16,
    /// The place at the end of the edge.
    pub to: u16,
}

impl RouteGraph {
    /// Reads `id x y; id id; ...`: places, and edges between two of them.
    ///
    /// # Errors
    /// A sentence with the part that cannot be read.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut graph = Self::default();
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let words: Vec<&str> = part.split_whitespace().collect();
            let id = |word: &str| {
                word.parse::<u16>()
                    .map_err(|_| format!("`{word}` in `{part}` is not an ID"))
            };
            let metres = |word: &str| match word.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(number),
                _ => Err(format!("`{word}` in `{part}` is not a length")),
            };
            match words[..] {
                [name, x, y] => {
                    let (id, x, y) = (id(name)?, metres(x)?, metres(y)?);
                    graph.places.insert(id, Place { id, x, y });
                }
                [from, to] => graph.edges.push((id(from)?, id(to)?)),
                _ => {
                    return Err(format!("`{part}` is neither a node `id x y` nor an edge `id id`"));
                }
            }
        }
        for (from, to) in &graph.edges {
            if let Some(id) = [from, to].into_iter().find(|id| !graph.places.contains_key(id)) {
                return Err(format!(
                    "the edge `{from} {to}` leads to `{id}`, which is not a node"
                ));
            }
        }
        Ok(graph)
    }

    /// Returns whether there is no place.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The place with this id.
    pub fn place(&self, id: u16) -> Option<Place> {
        self.places.get(&id).copied()
    }

    /// The place nearest to a point; of equally near ones the one with the lowest id.
    pub fn nearest(&self, x: f64, y: f64) -> Option<Place> {
        let distance = |place: &Place| (place.x - x).hypot(place.y - y);
        self.places
            .values()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
            .copied()
    }

    fn length(&self, from: u16, to: u16) -> f64 {
        match (self.place(from), self.place(to)) {
            (Some(a), Some(b)) => (a.x - b.x).hypot(a.y - b.y),
            _ => f64::INFINITY,
        }
    }

    fn ways(&self, from: u16) -> impl Iterator<Item = Step> + '_ {
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
        let mut best: BTreeMap<u16, (f64, Option<(u16, Step)>)> = BTreeMap::from([(start, (0.0, None))]);
        let mut open = BinaryHeap::from([Reached {
            length: 0.0,
            at: start,
        }]);
        while let Some(Reached { length, at }) = open.pop() {
            if at == goal {
                break;
            }
            if best.get(&at).is_some_and(|(known, _)| *known < length) {
                continue;
            }
            for step in self.ways(at) {
                let longer = length + self.length(at, step.to);
                if best.get(&step.to).is_none_or(|(known, _)| longer < *known) {
                    best.insert(step.to, (longer, Some((at, step))));
                    open.push(Reached {
                        length: longer,
                        at: step.to,
                    });
                }
            }
        }
        let (length, mut came) = *best.get(&goal)?;
        let mut steps = Vec::new();
        while let Some((from, step)) = came {
            steps.push(step);
            came = best.get(&from)?.1;
        }
        steps.reverse();
        Some((steps, length))
    }
}

/// An entry of the search queue: the shortest one comes first.
#[derive(PartialEq)]
struct Reached {
    length: f64,
    at: u16,
}

impl Eq for Reached {}

impl Ord for Reached {
    fn cmp(&self, other: &Self) -> Ordering {
        other.length.total_cmp(&self.length).then(other.at.cmp(&self.at))
    }
}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::{RouteGraph, Step};

    const DIAMOND: &str = "1 0 0; 2 1 1; 3 1 -3; 4 2 0; 9 50 50; 1 2; 2 4; 1 3; 3 4";

    #[test]
    fn finds_the_shorter_way_in_both_directions() {
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
    fn the_nearest_place_is_found() {
        let graph = RouteGraph::parse(DIAMOND).unwrap();
        assert_eq!(graph.nearest(1.1, 0.9).unwrap().id, 2);
        assert_eq!(RouteGraph::default().nearest(0.0, 0.0), None);
    }

    #[test]
    fn an_unreadable_file_is_named() {
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
