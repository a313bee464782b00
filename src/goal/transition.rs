//! What the state machine of a goal is made of: phases, events, and the steps it wants taken.

use super::{CancelCode, GoalStatus, IncidentKind, TerminalStatus};
use crate::bt::Time;

/// Where a goal is in its life. In the first five the leaf waits for its outcome; in the others it does not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// Not sent: another goal of ours is stopping on that server (G5).
    Queued,
    /// Not sent: the server is not there.
    Absent,
    /// Sent, not answered.
    Sent,
    /// Accepted, not over as far as is known.
    Executing,
    /// Over, or forgotten by the server, and the result is not here yet.
    Finishing,
    /// Accepted, and replaced by a newer goal of the same leaf: the server is expected to end it.
    Replaced,
    /// Sent, not answered, and the leaf has gone: it will be cancelled on acceptance.
    CancelPending,
    /// The server knows it, the leaf has gone: it is being cancelled.
    Canceling,
    /// The server vanished while it may have had the goal: it will be cancelled if the server comes back. Or another server
    /// of its name answers that it knows no such goal.
    Unreachable,
    /// Over. Nothing changes any more.
    Ended,
}

impl Phase {
    /// Every phase, in the order of a life.
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

    /// Whether the leaf waits for the outcome of this goal.
    pub fn has_leaf(self) -> bool {
        matches!(
            self,
            Self::Queued | Self::Absent | Self::Sent | Self::Executing | Self::Finishing
        )
    }

    /// Whether the server may be working on it, as far as can be known while it is reachable.
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

/// What can happen to a goal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GoalEvent {
    /// Nothing stops on the server any more, or the wait for it is over.
    Release {
        /// Whether the server is there.
        present: bool,
    },
    /// The server is back, but goals of ours must stop there first.
    Requeue {
        /// The longest wait for them.
        until: Time,
    },
    /// The goal request was answered: accepted.
    Accepted,
    /// The goal request was answered: rejected.
    Rejected,
    /// The goal request could not be sent.
    SendFailed,
    /// Feedback on the goal.
    Feedback,
    /// The status topic shows the goal.
    Status(GoalStatus),
    /// The status topic showed the goal before, and no longer does.
    StatusMissing,
    /// The result.
    Result(TerminalStatus),
    /// The server has no result for it: it knows no such goal.
    ResultUnknown,
    /// A cancel request was answered.
    CancelAnswered {
        /// Which request, counted from 1.
        attempt: u32,
        /// The answer.
        code: CancelCode,
    },
    /// A cancel request could not be sent. The next one is due anyway.
    CancelFailed,
    /// The leaf has gone.
    Halt,
    /// The leaf has gone, or the server, and the goal request had not left: it never does.
    Withdrawn,
    /// A newer goal of the same leaf was sent to the same server.
    Replace,
    /// The server vanished, or another one of its name has appeared.
    ServerGone,
    /// The server is there again.
    ServerBack,
    /// The process ends: as a halt, and given up at that time.
    ShutDown {
        /// When to give up.
        deadline: Time,
    },
    /// Time has passed; something may be due.
    Deadline,
}

impl GoalEvent {
    /// Whether only a server that has the goal, and has not ended it, can cause it. Not the acceptance: it may be said
    /// before it is true.
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

/// What a goal wants done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// Send the goal request.
    Send,
    /// Ask for the result.
    RequestResult,
    /// Send a cancel request for this goal.
    Cancel {
        /// Counted from 1.
        attempt: u32,
    },
    /// Tell the leaf that the goal was accepted.
    TellAccepted,
    /// Pass the feedback on to the leaf.
    TellFeedback,
    /// Tell the leaf how it ended.
    Finish(OutcomeKind),
    /// Another client cancelled this goal, which a newer goal of the same leaf replaces: stop that one too.
    StopNewer,
    /// Tell people.
    Report(IncidentKind),
}

/// How it ended for the leaf; [`super::Outcome`] without what it carries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OutcomeKind {
    /// The server sent a result.
    Ended(TerminalStatus),
    /// The server refused.
    Rejected,
    /// The request could not be sent.
    SendFailed,
    /// No answer to the goal request in time.
    AcceptTimeout,
    /// It ran too long.
    ResultTimeout,
    /// Its result cannot be had.
    ResultLost,
    /// The server is not there, vanished, or was replaced.
    ServerGone,
    /// Another client cancelled the goal that it replaces.
    CanceledByAnother,
}
