//! What the GoalTracker wants done.

use super::{CancelCode, GoalId, GoalIncident, ServerId, Stamp, Ticket};

/// To be carried out in the order given.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Effect<P> {
    /// Send a goal request.
    SendGoal {
        /// Where.
        server: ServerId,
        /// The id to send it under.
        goal: GoalId,
        /// The goal.
        payload: P,
    },
    /// Send a cancel request.
    SendCancel {
        /// Where.
        server: ServerId,
        /// To be handed back with the answer.
        tag: CancelTag,
        /// Which goals.
        selection: Selection,
    },
    /// Send a result request. May be sent again for the same goal: the earlier one may be forgotten.
    RequestResult {
        /// Where.
        server: ServerId,
        /// Which.
        goal: GoalId,
    },
    /// Call a service.
    CallService {
        /// To be handed back with the response.
        ticket: Ticket,
        /// Where.
        server: ServerId,
        /// The request.
        payload: P,
    },
    /// Nothing more is expected for this call: a transport may drop what it keeps for it.
    ForgetCall {
        /// As the call had it.
        ticket: Ticket,
        /// Where.
        server: ServerId,
    },
    /// Nothing more is expected for this goal: a transport may drop what it keeps for it.
    ForgetGoal {
        /// Where.
        server: ServerId,
        /// Which.
        goal: GoalId,
    },
    /// Tell the leaf.
    Notify(Notice<P>),
    /// Tell people.
    Report(GoalIncident),
}

/// Which cancel request an answer belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CancelTag {
    /// The n-th request for one goal. The number matters: "unknown goal" in answer to a request that was
    /// sent before the acceptance arrived says nothing.
    Goal {
        /// The goal.
        goal: GoalId,
        /// Counted from 1.
        attempt: u32,
    },
    /// A `CancelServer` command.
    Leaf(Ticket),
}

/// The goals that a cancel request means, by the rules of `action_msgs/CancelGoal`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Selection {
    /// Every goal (zero id, zero stamp).
    All,
    /// Every goal accepted at that time or before (zero id).
    AcceptedUntil(Stamp),
    /// That goal (zero stamp).
    Goal(GoalId),
    /// That goal, and every goal accepted at that time or before.
    GoalAndUntil(GoalId, Stamp),
}

impl Selection {
    /// From the two fields of a cancel request.
    pub fn from_wire(goal: GoalId, stamp: Stamp) -> Self {
        match (goal == GoalId::ZERO, stamp == Stamp::ZERO) {
            (true, true) => Self::All,
            (true, false) => Self::AcceptedUntil(stamp),
            (false, true) => Self::Goal(goal),
            (false, false) => Self::GoalAndUntil(goal, stamp),
        }
    }

    /// The two fields of a cancel request.
    pub fn to_wire(self) -> (GoalId, Stamp) {
        match self {
            Self::All => (GoalId::ZERO, Stamp::ZERO),
            Self::AcceptedUntil(stamp) => (GoalId::ZERO, stamp),
            Self::Goal(goal) => (goal, Stamp::ZERO),
            Self::GoalAndUntil(goal, stamp) => (goal, stamp),
        }
    }
}

/// What a leaf is told. Never emitted for a ticket whose halt was handled (G4), and nothing follows
/// [`Notice::Finished`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Notice<P> {
    /// The server took the goal; said again for each update it takes.
    Accepted {
        /// The activation.
        ticket: Ticket,
        /// The goal.
        goal: GoalId,
    },
    /// Feedback on the newest goal of the activation.
    Feedback {
        /// The activation.
        ticket: Ticket,
        /// What.
        payload: P,
    },
    /// It is over for the leaf.
    Finished {
        /// The activation.
        ticket: Ticket,
        /// How many of its updates the goal that ended includes, counted from the first. Later ones were not sent.
        updates: u64,
        /// How.
        outcome: Outcome<P>,
    },
}

impl<P> Notice<P> {
    /// The activation it is for.
    pub fn ticket(&self) -> Ticket {
        match self {
            Self::Accepted { ticket, .. } | Self::Feedback { ticket, .. } | Self::Finished { ticket, .. } => {
                *ticket
            }
        }
    }
}

/// How it ended for the leaf. The kinds of failure are told apart so that each can have an error code (G6).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Outcome<P> {
    /// The goal was reached.
    Succeeded(P),
    /// The goal failed on its server.
    Aborted(P),
    /// The goal was cancelled, by somebody else: a leaf that was halted is told nothing. Or it ended otherwise after its server
    /// had begun to cancel it: it failed, or a newer one waited.
    Canceled(P),
    /// Somebody else cancelled the goal that the newest one replaces, and did not know of the newest. That is being
    /// cancelled.
    CanceledByAnother,
    /// The server refused the goal.
    Rejected,
    /// The request could not be sent.
    SendFailed,
    /// No answer to the goal request in time. If it comes later, the goal is cancelled.
    AcceptTimeout,
    /// The goal ran longer than allowed. It is being cancelled.
    ResultTimeout,
    /// The goal is over or forgotten on its server, and its result cannot be had.
    ResultLost,
    /// The server is not there, or vanished.
    ServerGone,
    /// The service answered.
    Response(P),
    /// The service, or the cancel request, was not answered in time.
    ResponseTimeout,
    /// The cancel request of a `CancelServer` command was answered. It does not mean that anything stopped.
    CancelAnswered(CancelCode),
    /// The process is ending and starts nothing any more.
    ShuttingDown,
}
