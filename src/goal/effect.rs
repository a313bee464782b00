//! Effects: the output of the GoalTracker.

use super::{GoalId, GoalIncident, ServerId, Stamp, Ticket};

/// An effect. The owner of the GoalTracker carries out effects in the given order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Effect<P> {
    /// Send a goal request.
    SendGoal {
        /// The action server.
        server: ServerId,
        /// The goal id.
        goal: GoalId,
        /// The goal.
        payload: P,
    },
    /// Send a cancel request.
    SendCancel {
        /// The action server.
        server: ServerId,
        /// The tag to return with the answer.
        tag: CancelTag,
        /// The goals to cancel.
        selection: Selection,
    },
    /// Send a result request. It may be repeated for the same goal and then replaces the earlier one.
    RequestResult {
        /// The action server.
        server: ServerId,
        /// The goal.
        goal: GoalId,
    },
    /// Call a service.
    CallService {
        /// The ticket to return with the response.
        ticket: Ticket,
        /// The service.
        server: ServerId,
        /// The request.
        payload: P,
    },
    /// No further answer to this call is needed: a transport may drop its data.
    ForgetCall {
        /// The ticket of the call.
        ticket: Ticket,
        /// The service.
        server: ServerId,
    },
    /// No further message about this goal is needed: a transport may drop its data.
    ForgetGoal {
        /// The action server.
        server: ServerId,
        /// The goal.
        goal: GoalId,
    },
    /// Send a notice to the leaf.
    Notify(Notice<P>),
    /// Report an incident to the user.
    Report(GoalIncident),
    /// Send the next message of the owner, in the order of its requests (guarantee G2). The owner adds it; the GoalTracker
    /// makes none.
    SendMessage,
}

/// Identifies the cancel request of an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CancelTag {
    /// The n-th request for one goal. The number is needed because "unknown goal" proves nothing in answer to a request
    /// that was sent before the acceptance arrived.
    Goal {
        /// The goal.
        goal: GoalId,
        /// The number of the request, from 1.
        attempt: u32,
    },
    /// The request of a `CancelServer` command.
    Leaf(Ticket),
}

/// The goals that a cancel request selects, by the rules of `action_msgs/CancelGoal`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Selection {
    /// Every goal (zero id, zero stamp).
    All,
    /// Every goal accepted at or before that time (zero id).
    AcceptedUntil(Stamp),
    /// That goal (zero stamp).
    Goal(GoalId),
    /// That goal, and every goal accepted at or before that time.
    GoalAndUntil(GoalId, Stamp),
}

impl Selection {
    /// Converts the two fields of a cancel request.
    pub fn from_wire(goal: GoalId, stamp: Stamp) -> Self {
        match (goal == GoalId::ZERO, stamp == Stamp::ZERO) {
            (true, true) => Self::All,
            (true, false) => Self::AcceptedUntil(stamp),
            (false, true) => Self::Goal(goal),
            (false, false) => Self::GoalAndUntil(goal, stamp),
        }
    }

    /// Returns the two fields of a cancel request.
    pub fn to_wire(self) -> (GoalId, Stamp) {
        match self {
            Self::All => (GoalId::ZERO, Stamp::ZERO),
            Self::AcceptedUntil(stamp) => (GoalId::ZERO, stamp),
            Self::Goal(goal) => (goal, Stamp::ZERO),
            Self::GoalAndUntil(goal, stamp) => (goal, stamp),
        }
    }
}

/// A message to a leaf. Only [`Notice::Canceling`] is emitted for a ticket whose halt was handled or after
/// [`Notice::Finished`]: it is for the navigation (G3), and does not reach the leaf (G4).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Notice<P> {
    /// The server accepted the goal. Repeated for each accepted update.
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
        /// The feedback.
        payload: P,
    },
    /// Another client has cancelled the goal, or the goal that it replaces. Its end follows.
    Canceling {
        /// The activation.
        ticket: Ticket,
    },
    /// The activation has ended.
    Finished {
        /// The activation.
        ticket: Ticket,
        /// The number of updates, counted from the first, that the ended goal includes. Later updates were not sent.
        updates: u64,
        /// The outcome.
        outcome: Outcome<P>,
    },
}

impl<P> Notice<P> {
    /// The activation of the notice.
    pub fn ticket(&self) -> Ticket {
        match self {
            Self::Accepted { ticket, .. }
            | Self::Feedback { ticket, .. }
            | Self::Canceling { ticket }
            | Self::Finished { ticket, .. } => *ticket,
        }
    }

    /// Whether somebody cancelled a goal, which its leaf has not requested. The world confirms that it has read such a
    /// notice ([`Command::ReadCancel`](super::Command::ReadCancel)).
    pub fn is_cancel(&self) -> bool {
        match self {
            Self::Canceling { .. } => true,
            Self::Finished { outcome, .. } => outcome.is_cancel(),
            Self::Accepted { .. } | Self::Feedback { .. } => false,
        }
    }

    /// The notice with the tickets of the world of its link. Goals of other worlds are left out.
    #[must_use]
    pub fn in_world(mut self) -> Self {
        let link = self.ticket().link();
        if let Self::Finished {
            outcome: Outcome::CancelAnswered(goals),
            ..
        } = &mut self
        {
            goals.retain(|goal| goal.is_none_or(|ticket| ticket.link() == link));
            for goal in goals {
                *goal = goal.map(Ticket::in_world);
            }
        }
        let (Self::Accepted { ticket, .. }
        | Self::Feedback { ticket, .. }
        | Self::Canceling { ticket }
        | Self::Finished { ticket, .. }) = &mut self;
        *ticket = ticket.in_world();
        self
    }
}

/// The outcome of an activation. Each kind of failure is distinct because each can have its own error code (G6).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Outcome<P> {
    /// The goal succeeded.
    Succeeded(P),
    /// The server aborted the goal.
    Aborted(P),
    /// Another client or a Cancel node of the tree cancelled the goal (a halted leaf gets no notice).
    Canceled(P),
    /// Another client cancelled the goal that the newest goal replaces, without knowing of the newest. The newest goal
    /// is being cancelled.
    CanceledByAnother,
    /// A Cancel node of the tree ended the goal, which its server may not have had when it handled the node's request. The goal
    /// is not sent any more, or is being cancelled.
    CanceledBeforeAcceptance,
    /// The server rejected the goal.
    Rejected,
    /// The request could not be sent.
    SendFailed,
    /// The server did not answer the goal request in time. If it accepts the goal later, the goal is cancelled.
    AcceptTimeout,
    /// The goal exceeded its result timeout. It is being cancelled.
    ResultTimeout,
    /// The goal has ended on its server or the server has forgotten it, and the result is not available.
    ResultLost,
    /// The server is absent or has vanished.
    ServerGone,
    /// The service answered.
    Response(P),
    /// The server did not answer the service request or the cancel request in time.
    ResponseTimeout,
    /// The server answered the cancel request of a `CancelServer` command. The answer does not mean that a goal
    /// stopped. Each goal of this run that the server cancels has its ticket, or `None` if the ticket is not known any more.
    /// Goals of other clients are left out.
    CancelAnswered(Vec<Option<Ticket>>),
    /// The process is ending and starts nothing new.
    ShuttingDown,
}

impl<P> Outcome<P> {
    /// Whether the goal was cancelled.
    pub fn is_cancel(&self) -> bool {
        matches!(self, Self::Canceled(_) | Self::CanceledByAnother)
    }
}
