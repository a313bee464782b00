//! Phases, events and steps of the state machine of a goal.

use super::{CancelCode, GoalStatus, IncidentKind, TerminalStatus};
use crate::bt::Time;

/// The phase of a goal. In the first five phases the leaf waits for the outcome; in the others it does not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// Not sent: another goal of ours is stopping on the server (G5), a Cancel node waits for its answer there, or the tree
    /// has not read yet of a cancel (G3).
    Queued,
    /// Not sent: the server is absent.
    Absent,
    /// Sent, not answered yet.
    Sent,
    /// Accepted, and not known to have ended.
    Executing,
    /// Ended, or forgotten by the server; the result has not arrived yet.
    Finishing,
    /// Accepted, then replaced by a newer goal of the same leaf. The server should end it.
    Replaced,
    /// Sent, not answered yet, and the leaf no longer waits. It will be cancelled on acceptance.
    CancelPending,
    /// Known to the server, and the leaf no longer waits. It is being cancelled.
    Canceling,
    /// The server vanished while it may have had the goal; the goal will be cancelled if the server comes back. Or one
    /// of several servers with the same name does not know the goal.
    Unreachable,
    /// Ended. No event changes anything.
    Ended,
}

impl Phase {
    /// All phases, in the order of the life of a goal.
    pub const ALL: [Self; 10] = [
        Self::Queued,
        Self::Absent,
        Self::Sent,
        Self::Executing,
        Self::Finishing,
        Self::Replaced,
        Self::CancelPending,
        Self::Canceling,
        Self::Unreachable,
        Self::Ended,
    ];

    /// Whether the leaf waits for the outcome of the goal.
    pub fn has_leaf(self) -> bool {
        matches!(
            self,
            Self::Queued | Self::Absent | Self::Sent | Self::Executing | Self::Finishing
        )
    }

    /// Whether a halt of the leaf stops the goal: nothing else has begun to.
    pub fn is_halted_with_leaf(self) -> bool {
        self.has_leaf() || self == Self::Replaced
    }

    /// Whether a reachable server may be executing the goal.
    pub fn may_execute(self) -> bool {
        matches!(
            self,
            Self::Sent
                | Self::Executing
                | Self::Finishing
                | Self::Replaced
                | Self::CancelPending
                | Self::Canceling
        )
    }
}

/// An event of a goal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GoalEvent {
    /// Nothing holds back the goal: no goal is stopping on the server, or the wait for those that are has timed out.
    Release {
        /// Whether the server is present.
        present: bool,
    },
    /// The goal request has not left and is taken back: a newer one replaces it, or it waits until the tree has read of a
    /// cancel.
    TakenBack,
    /// The server accepted the goal request.
    Accepted,
    /// The server rejected the goal request.
    Rejected,
    /// The goal request could not be sent.
    SendFailed,
    /// Feedback on the goal arrived.
    Feedback,
    /// The status topic shows the goal.
    Status(GoalStatus),
    /// The status topic no longer shows the goal, which it showed before.
    StatusMissing,
    /// The result arrived.
    Result(TerminalStatus),
    /// The server has no result because it does not know the goal.
    ResultUnknown,
    /// The server answered a cancel request.
    CancelAnswered {
        /// The number of the request, from 1.
        attempt: u32,
        /// The answer.
        code: CancelCode,
    },
    /// The leaf was halted.
    Halt,
    /// The leaf was halted or the server vanished before the goal request left. The request is not sent.
    Withdrawn,
    /// A newer goal of the same leaf was sent to the same server.
    Replace,
    /// The server vanished, or another server with its name appeared.
    ServerGone,
    /// The server is present again.
    ServerBack,
    /// The process ends: like a halt, with a time of giving up.
    ShutDown {
        /// The time of giving up.
        deadline: Time,
    },
    /// Time has passed and a timer may be due.
    Deadline,
}

impl GoalEvent {
    /// Whether the event proves that the server has the goal and has not ended it. An acceptance does not prove it: the
    /// server may send it before it notes the goal.
    pub(super) fn shows_the_goal(self) -> bool {
        match self {
            Self::Status(status) => status.is_active(),
            Self::CancelAnswered { code, .. } => {
                !matches!(code, CancelCode::UnknownGoal | CancelCode::UnknownToOne)
            }
            _ => false,
        }
    }
}

/// An action that a goal requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// Send the goal request.
    Send,
    /// Send a result request.
    RequestResult,
    /// Send a cancel request for this goal.
    Cancel {
        /// The number of the request, from 1.
        attempt: u32,
    },
    /// Notify the leaf of the acceptance.
    TellAccepted,
    /// Forward the feedback to the leaf.
    TellFeedback,
    /// Notify the leaf that another client has cancelled the goal. A newer goal of the same leaf is stopped.
    TellCanceling,
    /// Notify the leaf of the outcome.
    Finish(OutcomeKind),
    /// Report an incident to the user.
    Report(IncidentKind),
}

/// The kind of an outcome: [`super::Outcome`] without its data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OutcomeKind {
    /// The server sent a result.
    Ended(TerminalStatus),
    /// The server rejected the goal.
    Rejected,
    /// The request could not be sent.
    SendFailed,
    /// The server did not answer the goal request in time.
    AcceptTimeout,
    /// The goal exceeded its result timeout.
    ResultTimeout,
    /// The result is not available.
    ResultLost,
    /// The server is absent, vanished, or was replaced.
    ServerGone,
    /// Another client cancelled the goal that this goal replaces.
    CanceledByAnother,
    /// A Cancel node of the tree ended the goal, which its server may not have had yet.
    CanceledBeforeAcceptance,
}
