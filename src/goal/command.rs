//! What the tick thread asks of the GoalTracker.

use std::sync::Arc;
use std::time::Duration;

use super::{GoalOptions, Selection, ServerId, Ticket};
use crate::bt::{HaltReason, Time};

/// `P` is what goals and requests carry: the GoalTracker moves it and never looks inside. In `ros` it is an `Arc`,
/// in the model a number.
///
/// Collected during a tick and sent at its end, halts first (G2), in one channel: their order is kept.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Command<P> {
    /// Send a goal to an action server, when goals of ours that are stopping there have ended (G5).
    Start {
        /// The activation it is for; must be new.
        ticket: Ticket,
        /// Where.
        server: ServerId,
        /// The leaf's path in the tree, for reports.
        leaf: Arc<str>,
        /// The goal.
        payload: P,
        /// Times and policies; they hold for updates too.
        options: GoalOptions,
    },
    /// Replace the goal by a newer one for the same server. Updates that come faster than the server
    /// accepts are coalesced, the latest wins. An activation that has already finished ignores it.
    Update {
        /// The activation.
        ticket: Ticket,
        /// The newer goal.
        payload: P,
    },
    /// The leaf was halted. Its goal or call is stopped, and nothing further is said to this ticket (G4).
    Halt {
        /// The activation.
        ticket: Ticket,
        /// Why; it goes into reports.
        reason: HaltReason,
    },
    /// Call a service once.
    Call {
        /// The activation it is for; must be new.
        ticket: Ticket,
        /// Where.
        server: ServerId,
        /// The leaf's path in the tree, for reports.
        leaf: Arc<str>,
        /// The request.
        payload: P,
        /// Only the accept and give-up timeouts are used.
        options: GoalOptions,
    },
    /// Send a cancel request for goals of any client, as Nav2's `Cancel*` nodes do.
    CancelServer {
        /// The activation it is for; must be new.
        ticket: Ticket,
        /// An action server.
        server: ServerId,
        /// The leaf's path in the tree, for reports.
        leaf: Arc<str>,
        /// Which goals.
        selection: Selection,
        /// Only the accept and give-up timeouts are used.
        options: GoalOptions,
    },
    /// Cancel goals that an earlier run of this node left executing on an action server, as they show up on
    /// its status topic, while [`Command::AllowAdoption`] allows it. Sent when the server is opened, before its first
    /// status. Goals of this run need no command: given up and seen again, they are cancelled whenever that is.
    Adopt {
        /// An action server.
        server: ServerId,
        /// How long to look for them from its first status list on, again from the first one after it had
        /// vanished, and when adoption is allowed again. Not for ever: a node of the same name that is not on the graph
        /// would lose its goals.
        window: Duration,
        /// How long after its list has shown a goal that is cancelled: the node that drives may be found on the graph
        /// later than the server.
        delay: Duration,
    },
    /// Whether goals of an earlier run may be cancelled now. Not before the first of these commands: the node may not be
    /// active, and what looks like an earlier run may be another node that drives.
    AllowAdoption {
        /// They may.
        allowed: bool,
    },
    /// The process ends: every leaf is halted, nothing is started any more, and whatever has not ended at
    /// the deadline is reported and given up (G8).
    ShutDown {
        /// When to give up.
        deadline: Time,
    },
}
