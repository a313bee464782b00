//! What people are told: log lines and diagnostics.

use std::fmt;
use std::sync::Arc;

use super::{GoalId, ServerId, Ticket};
use crate::bt::HaltReason;

/// One line about one goal or call.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GoalIncident {
    /// The server it is about.
    pub server: ServerId,
    /// The goal, where it is about one.
    pub goal: Option<GoalId>,
    /// The activation, where there was one. It may long be over.
    pub ticket: Option<Ticket>,
    /// The path of the leaf in its tree; empty for a goal of an earlier run.
    pub leaf: Arc<str>,
    /// Why the leaf was halted, if it was.
    pub halted: Option<HaltReason>,
    /// What happened.
    pub what: IncidentKind,
}

/// What happened. The text says what it means for the robot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum IncidentKind {
    /// A leaf's goal request was not answered in time.
    AcceptTimedOut,
    /// A goal was accepted after its leaf had gone: it is being cancelled.
    AcceptedLate,
    /// A goal was accepted after it had been given up: it is being cancelled.
    AcceptedAfterGivingUp,
    /// A goal shows up in its server's status list after it had been given up: it is being cancelled.
    FoundAfterGivingUp,
    /// The server of a goal that had been given up is back: it is being cancelled, should it be executing.
    RetriedAfterGivingUp,
    /// A goal of an earlier run of this node is being cancelled.
    Adopted,
    /// The server refused to cancel a goal; it will be asked again.
    CancelRefused,
    /// A goal that a newer one replaced was not ended by its server: it is being cancelled.
    NotPreempted,
    /// A goal did not stop within the cancel timeout; the next one no longer waits for it.
    NotStoppedInTime,
    /// A goal did not stop at all, as far as is known it executes: given up.
    GaveUpStopping,
    /// The server never answered the goal request of a halted leaf: given up.
    GaveUpUnanswered,
    /// The server vanished and did not come back: its goal is given up, dead or out of reach.
    GaveUpUnreachable,
    /// The server vanished, or another one of its name appeared, while it had a goal.
    ServerGone,
    /// A goal ran longer than its leaf allows.
    ResultTimedOut,
    /// The result of a goal cannot be had.
    ResultLost,
    /// A service request was not answered in time.
    CallTimedOut,
    /// A start or call used a ticket that is already in use; it was ignored.
    TicketInUse,
}

/// How loud to say it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Worth a line.
    Info,
    /// Something is not as it should be and is being dealt with.
    Warning,
    /// Something may be moving that should not, or a fault of this program.
    Error,
}

impl IncidentKind {
    /// How loud to say it.
    pub fn severity(self) -> Severity {
        match self {
            Self::AcceptedLate | Self::RetriedAfterGivingUp | Self::Adopted => Severity::Info,
            Self::AcceptTimedOut
            | Self::AcceptedAfterGivingUp
            | Self::FoundAfterGivingUp
            | Self::CancelRefused
            | Self::NotPreempted
            | Self::NotStoppedInTime
            | Self::GaveUpUnanswered
            | Self::GaveUpUnreachable
            | Self::ServerGone
            | Self::ResultTimedOut
            | Self::ResultLost
            | Self::CallTimedOut => Severity::Warning,
            Self::GaveUpStopping | Self::TicketInUse => Severity::Error,
        }
    }
}

impl fmt::Display for IncidentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::AcceptTimedOut => "goal request not answered in time",
            Self::AcceptedLate => "goal accepted after its leaf had gone; cancelling it",
            Self::AcceptedAfterGivingUp => "goal accepted after it had been given up; cancelling it",
            Self::FoundAfterGivingUp => "goal still active after it had been given up; cancelling it",
            Self::RetriedAfterGivingUp => "server is back; cancelling the goal that had been given up",
            Self::Adopted => "goal left by an earlier run of this node; cancelling it",
            Self::CancelRefused => "server refuses to cancel the goal; asking again",
            Self::NotPreempted => "server did not end the goal that a newer one replaced; cancelling it",
            Self::NotStoppedInTime => "goal did not stop in time; still trying",
            Self::GaveUpStopping => "goal did not stop; given up, it may still be executing",
            Self::GaveUpUnanswered => "goal request never answered; given up",
            Self::GaveUpUnreachable => "server did not come back; its goal is given up until it does",
            Self::ServerGone => "server vanished or was replaced; cancelling its goal",
            Self::ResultTimedOut => "goal ran longer than allowed; cancelling it",
            Self::ResultLost => "goal is over or forgotten on its server, its result cannot be had",
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
