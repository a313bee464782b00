//! Incidents for the user: log lines and diagnostics.

use std::fmt;
use std::sync::Arc;

use super::{GoalId, ServerId, Ticket};
use crate::bt::HaltReason;

/// One incident of a goal or call.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GoalIncident {
    /// The server.
    pub server: ServerId,
    /// The goal, if the incident is about a goal.
    pub goal: Option<GoalId>,
    /// The activation, if there was one. It may have ended long ago.
    pub ticket: Option<Ticket>,
    /// The path of the leaf in its tree; empty for a goal of an earlier run.
    pub leaf: Arc<str>,
    /// The reason of the halt, if the leaf was halted.
    pub halted: Option<HaltReason>,
    /// The kind of the incident.
    pub what: IncidentKind,
}

/// The kind of an incident. The text describes the effect on the robot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum IncidentKind {
    /// The server did not answer the goal request in time.
    AcceptTimedOut,
    /// A goal was accepted after its leaf had ended; it is being cancelled.
    AcceptedLate,
    /// A goal was accepted after it had been given up; it is being cancelled.
    AcceptedAfterGivingUp,
    /// The server's status list shows a goal that had been given up; it is being cancelled.
    FoundAfterGivingUp,
    /// A status list shows a goal active whose end an earlier list has shown: another server with the same name executes it,
    /// too. It is being cancelled.
    ActiveAfterEnd,
    /// The server of a goal that had been given up is back, or shows a list without a goal that one of several servers denied;
    /// the goal is cancelled in case it is executing.
    RetriedAfterGivingUp,
    /// A goal of an earlier run of this node is being cancelled.
    Adopted,
    /// The server refused to cancel a goal; the cancel will be repeated.
    CancelRefused,
    /// The server did not end a goal that a newer one replaced; it is being cancelled.
    NotPreempted,
    /// A goal is not known to have stopped within its cancel timeout; the next goal no longer waits for it.
    NotStoppedInTime,
    /// A goal did not stop and executes as far as is known; it was given up.
    GaveUpStopping,
    /// One of several servers with the same name does not know a goal, and the other ones did not end it; it was given
    /// up.
    GaveUpDenied,
    /// The server never answered the goal request of a halted leaf; the goal was given up.
    GaveUpUnanswered,
    /// The server vanished and did not come back, dead or out of reach; its goal was given up.
    GaveUpUnreachable,
    /// The server vanished, or another one with its name appeared, while it had a goal.
    ServerGone,
    /// A goal exceeded its result timeout.
    ResultTimedOut,
    /// The result of a goal is not available.
    ResultLost,
    /// A service did not answer in time.
    CallTimedOut,
    /// A start or call used a ticket that is already in use and was ignored.
    TicketInUse,
}

/// The severity of an incident.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Information; no action is needed.
    Info,
    /// A problem that navtree is handling.
    Warning,
    /// A robot may be moving that should not, or navtree has a bug.
    Error,
}

impl IncidentKind {
    /// Whether a goal was given up that may still execute.
    pub fn is_loss(self) -> bool {
        matches!(
            self,
            Self::GaveUpStopping | Self::GaveUpDenied | Self::GaveUpUnanswered | Self::GaveUpUnreachable
        )
    }

    /// The severity of the incident.
    pub fn severity(self) -> Severity {
        match self {
            Self::AcceptedLate | Self::RetriedAfterGivingUp | Self::Adopted => Severity::Info,
            Self::AcceptTimedOut
            | Self::AcceptedAfterGivingUp
            | Self::FoundAfterGivingUp
            | Self::ActiveAfterEnd
            | Self::CancelRefused
            | Self::NotPreempted
            | Self::NotStoppedInTime
            | Self::GaveUpUnanswered
            | Self::GaveUpUnreachable
            | Self::ServerGone
            | Self::ResultTimedOut
            | Self::ResultLost
            | Self::CallTimedOut => Severity::Warning,
            Self::GaveUpStopping | Self::GaveUpDenied | Self::TicketInUse => Severity::Error,
        }
    }
}

impl fmt::Display for IncidentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::AcceptTimedOut => "goal request not answered in time",
            Self::AcceptedLate => "goal accepted after its leaf had ended; cancelling it",
            Self::AcceptedAfterGivingUp => "goal accepted after it was given up; cancelling it",
            Self::FoundAfterGivingUp => "goal still active after it was given up; cancelling it",
            Self::ActiveAfterEnd => {
                "goal ended, and another server with the same name executes it; cancelling it"
            }
            Self::RetriedAfterGivingUp => "goal that was given up may still be executing; cancelling it again",
            Self::Adopted => "goal left by an earlier run of this node; cancelling it",
            Self::CancelRefused => "server rejected the cancel; sending it again",
            Self::NotPreempted => "server did not end the goal that a newer goal replaced; cancelling it",
            Self::NotStoppedInTime => "goal not known to have stopped in time; it will be cancelled until it has",
            Self::GaveUpStopping => "goal did not stop; given up, it may still be executing",
            Self::GaveUpDenied => {
                "goal not known to have stopped, and one of several servers does not know it; given up, it may still be executing"
            }
            Self::GaveUpUnanswered => "goal request not answered; given up",
            Self::GaveUpUnreachable => "server did not return; its goal is given up",
            Self::ServerGone => "server left the graph or was replaced",
            Self::ResultTimedOut => "goal ran longer than allowed; cancelling it",
            Self::ResultLost => "goal ended or is unknown to its server; its result is not available",
            Self::CallTimedOut => "service did not answer in time",
            Self::TicketInUse => "ticket already in use; command ignored",
        })
    }
}

impl fmt::Display for GoalIncident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.leaf.is_empty() {
            write!(f, "{}: ", self.leaf)?;
        }
        write!(f, "{}", self.what)?;
        if let Some(goal) = self.goal {
            write!(f, " (goal {goal})")?;
        }
        if let Some(reason) = self.halted {
            write!(f, " (leaf was halted: {reason})")?;
        }
        Ok(())
    }
}
