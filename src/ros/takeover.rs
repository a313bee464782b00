//! Decides whether goals of an earlier run of this node may be cancelled: while it is active and the only node with its
//! name on the graph.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::goal_tracker::{GoalTrackerHandle, Input};
use super::node::Gid;
use super::server_checks::TURN_PERIOD;
use super::{RosHandle, TimerTrigger, rcl};
use crate::goal::Command;

/// The time from the first endpoint of a robot on the graph to its last: participants of Fast DDS repeat their
/// announcement every three seconds if the first one was missed.
pub(super) const DISCOVERY_TIME: Duration = Duration::from_secs(4);
/// The period of the checks of the graph.
const CHECK_PERIOD: Duration = Duration::from_millis(500);

/// Every ROS node publishes this topic once, under the name that the remapping rules of its process set.
const PARAMETER_EVENTS: &str = "/parameter_events";
/// The graph's name for a node whose name has not arrived yet. It may be the name of this node.
const UNKNOWN: &str = "_NODE_NAME_UNKNOWN_";
/// Maximum time until a name arrives. The endpoints of a program that is not a ROS node (a bridge of DDS, an agent of
/// micro-ROS) never have one.
const MAX_NAME_DELAY: Duration = Duration::from_secs(10);

/// Reports the decision to the GoalTracker.
pub(super) struct Takeover {
    active: Arc<AtomicBool>,
    has_started: AtomicBool,
    trigger: TimerTrigger,
}

impl Takeover {
    pub(super) fn new() -> Self {
        Self {
            active: Arc::default(),
            has_started: AtomicBool::new(false),
            trigger: TimerTrigger::default(),
        }
    }

    /// Sets whether the node is active. The checks of the graph begin with the first activation.
    pub(super) fn set_active(&self, active: bool, goal_tracker: &GoalTrackerHandle) {
        self.active.store(active, Ordering::Release);
        self.trigger.give();
        let ros = goal_tracker.ros();
        if !self.has_started.swap(true, Ordering::AcqRel) {
            self.start_checks(ros, goal_tracker.without_outbox());
        }
    }

    fn start_checks(&self, ros: &RosHandle, goal_tracker: GoalTrackerHandle) {
        let (active, trigger) = (Arc::clone(&self.active), self.trigger.clone());
        let (full_name, own_name) = (
            ros.full_name(),
            (ros.namespace().to_owned(), ros.name().to_owned()),
        );
        let parameter_topic = ros.topic(PARAMETER_EVENTS);
        let mut reader = SameNameReader::new(parameter_topic, own_name);
        let (mut last_sent, mut has_warned) = (false, false);
        let check = move |node: &rcl::Node| {
            let active = active.load(Ordering::Acquire);
            let (named, unknown) = if active {
                match node.read_in_turn(|changes| reader.read(node, changes)) {
                    Some(counts) => counts,
                    None => return TURN_PERIOD,
                }
            } else {
                (0, 0)
            };
            if named > 1 && !has_warned {
                tracing::warn!(
                    "another node on the graph is named {full_name}: goals of an earlier run are not cancelled while it \
                     is there. Stop or rename one of the two nodes. A killed node leaves the graph when its lease \
                     ends (20 s with Fast DDS)"
                );
            }
            has_warned = named > 1;
            let allowed = active && named <= 1 && unknown == 0;
            if allowed != last_sent {
                last_sent = allowed;
                let allow = Command::AllowAdoption { allowed };
                goal_tracker.submit_at_once(Input::Commands(vec![allow]));
            }
            CHECK_PERIOD
        };
        ros.post(move |node| node.whenever_due_with_node(CHECK_PERIOD, &trigger, check));
    }
}

/// The owner of an endpoint, by the name of its node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    SameName,
    Unknown,
    Other,
}

/// The publishers of a topic that every node publishes. A node's guardian has its own name.
fn publishers(node: &rcl::Node, topic: &str, name: &(String, String)) -> Option<Vec<(Gid, Owner)>> {
    let infos = node.publishers(topic, false).ok()?;
    let publishers = infos.into_iter().map(|info| {
        let owner = if (&info.namespace, &info.node) == (&name.0, &name.1) {
            Owner::SameName
        } else if info.node == UNKNOWN {
            Owner::Unknown
        } else {
            Owner::Other
        };
        (info.gid, owner)
    });
    Some(publishers.collect())
}

fn count_same_name(publishers: &[(Gid, Owner)]) -> usize {
    let owners = publishers.iter().map(|(_, owner)| owner);
    owners.filter(|owner| **owner == Owner::SameName).count()
}

/// Reads from the graph how many nodes have the name of this node.
struct SameNameReader {
    parameter_topic: String,
    own_name: (String, String),
    counter: SameNameCounter,
    /// The result of the last reading, and the number of changes of the graph before it.
    last: Option<(u64, (usize, usize))>,
}

impl SameNameReader {
    fn new(parameter_topic: String, own_name: (String, String)) -> Self {
        Self {
            parameter_topic,
            own_name,
            counter: SameNameCounter::default(),
            last: None,
        }
    }

    /// See [`SameNameCounter::count`]. A graph that has not changed is not read again.
    fn read(&mut self, node: &rcl::Node, changes: u64) -> (usize, usize) {
        match self.last {
            // A publisher without a name counts only for some time.
            Some((at, counts @ (_, 0))) if at == changes => return counts,
            _ => {}
        }
        // If the graph cannot be read, another node may have the name.
        let (named, unknown) = publishers(node, &self.parameter_topic, &self.own_name)
            .map_or((0, 1), |publishers| {
                self.counter.count(publishers, Instant::now())
            });
        // This finds a node whose process renames [`PARAMETER_EVENTS`].
        let nodes = node.nodes();
        let by_name = nodes
            .iter()
            .flatten()
            .filter(|node| **node == self.own_name)
            .count();
        let counts = (named.max(by_name), unknown);
        self.last = nodes.is_ok().then_some((changes, counts));
        counts
    }
}

/// Counts the nodes that have the name of this node.
#[derive(Default)]
struct SameNameCounter {
    /// The publishers without a node name, with the time at which each was first seen.
    without_name: FxHashMap<Gid, Instant>,
    has_warned: bool,
}

impl SameNameCounter {
    /// The number of nodes with the name, and the number of those that may have it.
    fn count(&mut self, publishers: Vec<(Gid, Owner)>, now: Instant) -> (usize, usize) {
        let same_name = count_same_name(&publishers);
        self.without_name = publishers
            .into_iter()
            .filter(|(_, owner)| *owner == Owner::Unknown)
            .map(|(gid, _)| {
                let since = self.without_name.get(&gid).copied().unwrap_or(now);
                (gid, since)
            })
            .collect();
        let is_recent = |since: &Instant| now.saturating_duration_since(*since) < MAX_NAME_DELAY;
        let unknown = self
            .without_name
            .values()
            .filter(|since| is_recent(since))
            .count();
        let treated_as_other = self.without_name.len() - unknown;
        if treated_as_other > 0 && !self.has_warned {
            self.has_warned = true;
            tracing::warn!(
                "{treated_as_other} publishers of {PARAMETER_EVENTS} have had no node name for {} s: navtree treats them as nodes with \
                 other names and cancels goals of an earlier run of this node. If another node of this name runs, \
                 stop or rename it",
                MAX_NAME_DELAY.as_secs()
            );
        }
        (same_name, unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publishers(list: &[(u8, Owner)]) -> Vec<(Gid, Owner)> {
        list.iter()
            .map(|(gid, owner)| (Gid::from([*gid]), *owner))
            .collect()
    }

    #[test]
    fn g3_an_unnamed_publisher_may_have_the_name_for_ten_seconds() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut counter = SameNameCounter::default();
        let own = (1, Owner::SameName);
        let mut count = |list: &[(u8, Owner)], seconds| counter.count(publishers(list), at(seconds));
        assert_eq!(count(&[own, (2, Owner::Unknown), (3, Owner::Other)], 0), (1, 1));
        assert_eq!(count(&[own, (2, Owner::Unknown)], 9), (1, 1));
        assert_eq!(count(&[own, (2, Owner::Unknown)], 10), (1, 0));
        // Each publisher has its own time. It starts again if the publisher was absent.
        assert_eq!(
            count(&[own, (2, Owner::Unknown), (4, Owner::Unknown)], 12),
            (1, 1)
        );
        assert_eq!(count(&[own, (4, Owner::Unknown)], 21), (1, 1));
        assert_eq!(
            count(&[own, (2, Owner::Unknown), (4, Owner::Unknown)], 22),
            (1, 1)
        );
        assert_eq!(count(&[own, (2, Owner::Unknown)], 32), (1, 0));
        // A name counts as soon as it arrives.
        assert_eq!(count(&[own, (2, Owner::SameName)], 33), (2, 0));
    }

    #[test]
    fn g3_a_publisher_without_a_name_causes_one_warning() {
        let start = Instant::now();
        let mut counter = SameNameCounter::default();
        for (seconds, warned) in [(0, false), (9, false), (10, true), (60, true)] {
            counter.count(
                publishers(&[(2, Owner::Unknown)]),
                start + Duration::from_secs(seconds),
            );
            assert_eq!(counter.has_warned, warned);
        }
    }
}
