//! Decides whether goals of an earlier run of this node may be cancelled: while it is active and the only node with its
//! name on the graph.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::goal_tracker::{GoalTrackerHandle, Input};
use super::interrupt::Interrupt;
use super::node::Gid;
use super::{RosHandle, TimerTrigger};
use crate::goal::Command;

/// The time from the first endpoint of a robot on the graph to its last: participants of Fast DDS repeat their
/// announcement every three seconds if the first one was missed.
pub(super) const SETTLE: Duration = Duration::from_secs(4);
/// The period of the checks of the graph.
const LOOK: Duration = Duration::from_millis(500);

/// Every ROS node publishes this topic once, under the name that the remapping rules of its process set.
const TOPIC: &str = "/parameter_events";
/// Every node of this program also publishes this topic. It finds two nodes with one name and different remapping rules
/// for [`TOPIC`]. There are no rules for all topics of a node, and there is no reason to remap this one.
const OWN_TOPIC: &str = Interrupt::TOPIC;
/// The graph's name for a node whose name has not arrived yet. It may be the name of this node.
const UNKNOWN: &str = "_NODE_NAME_UNKNOWN_";
/// Maximum time until a name arrives. The endpoints of a program that is not a ROS node (a bridge of DDS, an agent of
/// micro-ROS) never have one.
const NAMELESS: Duration = Duration::from_secs(10);

/// Reports the decision to the GoalTracker.
pub(super) struct Takeover {
    active: Arc<AtomicBool>,
    watching: AtomicBool,
    trigger: TimerTrigger,
}

impl Takeover {
    pub(super) fn new() -> Self {
        Self {
            active: Arc::default(),
            watching: AtomicBool::new(false),
            trigger: TimerTrigger::default(),
        }
    }

    /// Sets whether the node is active. The checks of the graph begin with the first activation.
    pub(super) fn set_active(&self, active: bool, goal_tracker: &GoalTrackerHandle) {
        self.active.store(active, Ordering::Release);
        self.trigger.give();
        let ros = goal_tracker.ros();
        if self.watching.swap(true, Ordering::AcqRel) {
            // The node's thread checks when it is awake.
            ros.post(|_| {});
        } else {
            self.watch(ros, goal_tracker.without_outbox());
        }
    }

    fn watch(&self, ros: &RosHandle, goal_tracker: GoalTrackerHandle) {
        let (active, trigger) = (Arc::clone(&self.active), self.trigger.clone());
        let (name, own) = (
            ros.full_name(),
            (ros.namespace().to_owned(), ros.name().to_owned()),
        );
        let (topic, own_topic) = (ros.topic(TOPIC), ros.topic(OWN_TOPIC));
        let mut namesakes = Namesakes::default();
        let (mut told, mut warned) = (false, false);
        let look = move |node: &r2r::Node| {
            let active = active.load(Ordering::Acquire);
            let (named, unknown) = if active {
                // If the graph cannot be read, another node may have the name.
                let (named, unknown) = writers(node, &topic, &own)
                    .map_or((0, 1), |writers| namesakes.count(writers, Instant::now()));
                let also = writers(node, &own_topic, &own).map_or(0, |writers| of_this_name(&writers));
                (named.max(also), unknown)
            } else {
                (0, 0)
            };
            if named > 1 && !warned {
                tracing::warn!(
                    "another node on the graph is named {name}: goals of an earlier run are not cancelled while it \
                     is there. Stop or rename one of the two nodes. A killed node leaves the graph when its lease \
                     ends (20 s with Fast DDS)"
                );
            }
            warned = named > 1;
            let allowed = active && named <= 1 && unknown == 0;
            if allowed != told {
                told = allowed;
                let allow = Command::AllowAdoption { allowed };
                goal_tracker.submit_at_once(Input::Commands(vec![allow]));
            }
            LOOK
        };
        ros.post(move |node| node.look_whenever_due(LOOK, trigger, look));
    }
}

/// The owner of an endpoint, by the name of its node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    OfThisName,
    Unknown,
    Other,
}

/// The endpoints that write to a topic of which every node has one. A node's guardian and its listener have their own
/// names.
fn writers(node: &r2r::Node, topic: &str, name: &(String, String)) -> Option<Vec<(Gid, Owner)>> {
    let infos = node.get_publishers_info_by_topic(topic, false).ok()?;
    let writers = infos.into_iter().map(|info| {
        let owner = if (&info.node_namespace, &info.node_name) == (&name.0, &name.1) {
            Owner::OfThisName
        } else if info.node_name == UNKNOWN {
            Owner::Unknown
        } else {
            Owner::Other
        };
        (Gid::from(info.endpoint_gid), owner)
    });
    Some(writers.collect())
}

fn of_this_name(writers: &[(Gid, Owner)]) -> usize {
    let owners = writers.iter().map(|(_, owner)| owner);
    owners.filter(|owner| **owner == Owner::OfThisName).count()
}

/// Counts the nodes with one name.
#[derive(Default)]
struct Namesakes {
    /// The endpoints on the graph without a name, with the time at which each was first seen.
    nameless: FxHashMap<Gid, Instant>,
    has_warned: bool,
}

impl Namesakes {
    /// The number of nodes with the name, and the number of those that may have it.
    fn count(&mut self, writers: Vec<(Gid, Owner)>, now: Instant) -> (usize, usize) {
        let of_this_name = of_this_name(&writers);
        self.nameless = writers
            .into_iter()
            .filter(|(_, owner)| *owner == Owner::Unknown)
            .map(|(gid, _)| {
                let since = self.nameless.get(&gid).copied().unwrap_or(now);
                (gid, since)
            })
            .collect();
        let is_new = |since: &Instant| now.saturating_duration_since(*since) < NAMELESS;
        let unknown = self.nameless.values().filter(|since| is_new(since)).count();
        let others = self.nameless.len() - unknown;
        if others > 0 && !self.has_warned {
            self.has_warned = true;
            tracing::warn!(
                "{others} publishers of {TOPIC} have had no node name for {} s: navtree treats them as nodes with \
                 other names and cancels goals of an earlier run of this node. If another node of this name runs, \
                 stop or rename it",
                NAMELESS.as_secs()
            );
        }
        (of_this_name, unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writers(of: &[(u8, Owner)]) -> Vec<(Gid, Owner)> {
        of.iter()
            .map(|(gid, owner)| (Gid::from([*gid]), *owner))
            .collect()
    }

    #[test]
    fn g3_a_publisher_without_a_node_name_may_be_a_namesake_for_ten_seconds_only() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut namesakes = Namesakes::default();
        let own = (1, Owner::OfThisName);
        let mut count = |of: &[(u8, Owner)], seconds| namesakes.count(writers(of), at(seconds));
        assert_eq!(count(&[own, (2, Owner::Unknown), (3, Owner::Other)], 0), (1, 1));
        assert_eq!(count(&[own, (2, Owner::Unknown)], 9), (1, 1));
        assert_eq!(count(&[own, (2, Owner::Unknown)], 10), (1, 0));
        // Each endpoint has its own time, which starts again if the endpoint was absent.
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
        assert_eq!(count(&[own, (2, Owner::OfThisName)], 33), (2, 0));
    }

    #[test]
    fn g3_a_publisher_that_has_never_a_node_name_is_warned_of_once() {
        let start = Instant::now();
        let mut namesakes = Namesakes::default();
        for (seconds, warned) in [(0, false), (9, false), (10, true), (60, true)] {
            namesakes.count(
                writers(&[(2, Owner::Unknown)]),
                start + Duration::from_secs(seconds),
            );
            assert_eq!(namesakes.has_warned, warned);
        }
    }
}
