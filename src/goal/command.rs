//! Requests of the tick thread to the GoalTracker.

use std::sync::Arc;
use std::time::Duration;

use super::{GoalOptions, LinkId, ServerId, Ticket};
use crate::bt::{HaltReason, Time};

/// `P` is the payload of goals and requests. The GoalTracker moves it and never reads it. In `ros` it is an `Arc`, in
/// the model a number.
///
/// The tick thread collects commands during a tick and sends them at its end through one channel, halts first (G2). The
/// channel keeps their order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Command<P> {
    /// Send a goal to an action server after our goals that are stopping there have ended (G5).
    Start {
        /// The activation. Must be new.
        ticket: Ticket,
        /// The action server.
        server: ServerId,
        /// The leaf's path in the tree, for reports.
        leaf: Arc<str>,
        /// The goal.
        payload: P,
        /// Timeouts and policies of the goal and its updates.
        options: GoalOptions,
    },
    /// Replace the goal by a newer one on the same server. Updates that are faster than the server's acceptance are
    /// coalesced, and the latest is sent. Ignored if the activation has ended.
    Update {
        /// The activation.
        ticket: Ticket,
        /// The newer goal.
        payload: P,
    },
    /// The leaf was halted. Its goal or call is stopped, and this ticket gets no further notice (G4).
    Halt {
        /// The activation.
        ticket: Ticket,
        /// The reason, for reports.
        reason: HaltReason,
    },
    /// The leaf of a [`Command::CancelServer`] was halted, and its world still needs the outcome. A request that was
    /// sent gets its answer as before. A request that waits for its server is not sent any more, and fails.
    Detach {
        /// The activation.
        ticket: Ticket,
        /// The reason, for reports.
        reason: HaltReason,
    },
    /// Call a service once.
    Call {
        /// The activation. Must be new.
        ticket: Ticket,
        /// The service.
        server: ServerId,
        /// The leaf's path in the tree, for reports.
        leaf: Arc<str>,
        /// The request.
        payload: P,
        /// Only the accept and give-up timeouts are used.
        options: GoalOptions,
    },
    /// Halt every leaf, and refuse goals and calls until [`Command::BeginSession`]: the tick thread is blocked, and its
    /// tick may start something when it goes on. From a thread that does not own the tree.
    HaltAll {
        /// The reason, for reports.
        reason: HaltReason,
    },
    /// A navigation begins. Its goals and calls are accepted.
    BeginSession,
    /// The world has read the notice that somebody cancelled the goal of this activation
    /// ([`Notice::is_cancel`](super::Notice::is_cancel)). No goal of the world is sent before. It comes last in its tick: what
    /// that tick halts is not sent.
    ReadCancel {
        /// The activation.
        ticket: Ticket,
    },
    /// Send a cancel request for all goals of any client, as Nav2's `Cancel*` nodes do. Goals that start later on the
    /// server wait for the answer, at most for the accept timeout: the request must not cancel them.
    ///
    /// A request for the goals that were accepted up to now was rejected: it compares the clocks of two machines, and a
    /// goal whose stamp is ahead of this node's clock would drive on.
    CancelServer {
        /// The activation. Must be new.
        ticket: Ticket,
        /// The action server.
        server: ServerId,
        /// The leaf's path in the tree, for reports.
        leaf: Arc<str>,
        /// Goals that the tree requested before this request, and whose [`Command::Start`] comes after it. They wait for the
        /// answer as well, and end with it.
        earlier: Vec<Ticket>,
        /// Only the accept and give-up timeouts are used.
        options: GoalOptions,
    },
    /// Cancel goals of an earlier run of this node that the status topic of an action server shows, while
    /// [`Command::AllowAdoption`] allows it. Sent when the server is opened, before its first status list. Goals of
    /// this run need no command: if one was given up and is seen again, it is always cancelled.
    Adopt {
        /// The action server.
        server: ServerId,
        /// The search time for such goals, counted from the first status list. It restarts with the first list after an
        /// absence of the server, and when adoption is allowed again. It is limited because the search would cancel the
        /// goals of a second node with the same name that is not on the graph.
        window: Duration,
        /// The time from the list that shows a goal to its cancel. The graph may show a second, active node with the
        /// same name later than it shows the server.
        delay: Duration,
    },
    /// Whether goals of an earlier run may be cancelled now. They may not before the first of these commands: this node
    /// may be inactive, and the goals may belong to another, active node.
    AllowAdoption {
        /// True: they may be cancelled.
        allowed: bool,
    },
    /// The process ends: every leaf is halted and nothing new is started. Goals that have not ended at the deadline are
    /// reported and given up (G8).
    ShutDown {
        /// The time of giving up.
        deadline: Time,
    },
}

impl<P> Command<P> {
    /// The command of a world, with its ticket as the GoalTracker knows it.
    #[must_use]
    pub fn on(mut self, link: LinkId) -> Self {
        match &mut self {
            Self::Start { ticket, .. }
            | Self::Update { ticket, .. }
            | Self::Halt { ticket, .. }
            | Self::Detach { ticket, .. }
            | Self::ReadCancel { ticket }
            | Self::Call { ticket, .. } => *ticket = ticket.on(link),
            Self::CancelServer { ticket, earlier, .. } => {
                for ticket in earlier.iter_mut().chain([ticket]) {
                    *ticket = ticket.on(link);
                }
            }
            Self::HaltAll { .. }
            | Self::BeginSession
            | Self::Adopt { .. }
            | Self::AllowAdoption { .. }
            | Self::ShutDown { .. } => {}
        }
        self
    }
}
