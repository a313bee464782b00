//! Whether goals of an earlier run of this node may be cancelled: while it is active, and alone of its name on the graph.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::custodian_task::{CustodianHandle, Input};
use super::{Nudge, RosHandle};
use crate::goal::Command;

/// From the moment at which something of a robot is on the graph until everything is: participants of Fast DDS announce
/// themselves every three seconds, where what they said at their start was missed.
pub(super) const SETTLE: Duration = Duration::from_secs(4);
/// Between two looks at the graph.
const LOOK: Duration = Duration::from_millis(500);

/// Every ROS node publishes this topic once.
const TOPIC: &str = "/parameter_events";
/// What the graph says of a node whose name has not arrived yet: it may be ours.
const UNKNOWN: &str = "_NODE_NAME_UNKNOWN_";

/// Tells the Custodian.
pub(super) struct Takeover {
    active: Arc<AtomicBool>,
    watching: AtomicBool,
    nudge: Nudge,
}

impl Takeover {
    pub(super) fn new() -> Self {
        Self {
            active: Arc::default(),
            watching: AtomicBool::new(false),
            nudge: Nudge::default(),
        }
    }

    /// The node becomes active, or no longer is. The graph is looked at from the first time on.
    pub(super) fn set_active(&self, active: bool, custodian: &CustodianHandle) {
        self.active.store(active, Ordering::Release);
        self.nudge.give();
        let ros = custodian.ros();
        if self.watching.swap(true, Ordering::AcqRel) {
            // The node's thread looks when it is awake.
            ros.post(|_| {});
        } else {
            self.watch(ros, custodian.without_tray());
        }
    }

    fn watch(&self, ros: &RosHandle, custodian: CustodianHandle) {
        let (active, nudge) = (Arc::clone(&self.active), self.nudge.clone());
        let (name, own) = (
            ros.full_name(),
            (ros.namespace().to_owned(), ros.name().to_owned()),
        );
        let (mut told, mut warned) = (false, false);
        let look = move |node: &r2r::Node| {
            let active = active.load(Ordering::Acquire);
            let (named, unknown) = if active { count(node, &own) } else { (0, 0) };
            if named > 1 && !warned {
                tracing::warn!(
                    "another node on the graph is named {name}: goals of an earlier run are not cancelled while it is \
                     there. Stop or rename one of the two"
                );
            }
            warned = named > 1;
            let allowed = active && named <= 1 && unknown == 0;
            if allowed != told {
                told = allowed;
                let allow = Command::AllowAdoption { allowed };
                custodian.submit_at_once(Input::Commands(vec![allow]));
            }
            LOOK
        };
        ros.post(move |node| node.look_whenever_due(LOOK, nudge, look));
    }
}

/// How many nodes on the graph have a name, and how many may have it. The guardian of a node and its listener have names of
/// their own. A graph that cannot be read may hold one.
fn count(node: &r2r::Node, name: &(String, String)) -> (usize, usize) {
    let Ok(publishers) = node.get_publishers_info_by_topic(TOPIC, false) else {
        return (0, 1);
    };
    let of_this_name = publishers
        .iter()
        .filter(|one| (&one.node_namespace, &one.node_name) == (&name.0, &name.1))
        .count();
    let unknown = publishers.iter().filter(|one| one.node_name == UNKNOWN).count();
    (of_this_name, unknown)
}
