//! The stored form of the news of goals and calls.

use serde::{Deserialize, Serialize};

use crate::goal::{GoalId, Notice, Outcome, Ticket};
use crate::nav::Payload;
use crate::record::codec::{Encoded, decode_payload, encode_payload};

/// The stored form of a [`Notice`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "they are those of Notice")]
pub enum StoredNotice {
    Accepted {
        ticket: Ticket,
        goal: GoalId,
    },
    Feedback {
        ticket: Ticket,
        payload: Encoded,
    },
    Canceling {
        ticket: Ticket,
    },
    Finished {
        ticket: Ticket,
        updates: u64,
        outcome: StoredOutcome,
    },
}

/// The stored form of an [`Outcome`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "they are those of Outcome")]
pub enum StoredOutcome {
    Succeeded(Encoded),
    Aborted(Encoded),
    Canceled(Encoded),
    CanceledByAnother,
    Rejected,
    SendFailed,
    AcceptTimeout,
    ResultTimeout,
    ResultLost,
    ServerGone,
    Response(Encoded),
    ResponseTimeout,
    CancelAnswered(Vec<Option<Ticket>>),
    ShuttingDown,
    CanceledBeforeAcceptance,
}

impl StoredNotice {
    /// About how many bytes its message has in a file.
    pub(super) fn payload_bytes(&self) -> usize {
        match self {
            Self::Feedback { payload, .. }
            | Self::Finished {
                outcome:
                    StoredOutcome::Succeeded(payload)
                    | StoredOutcome::Aborted(payload)
                    | StoredOutcome::Canceled(payload)
                    | StoredOutcome::Response(payload),
                ..
            } => payload.data.0.len(),
            _ => 0,
        }
    }

    pub(super) fn of(notice: &Notice<Payload>) -> Self {
        match notice {
            Notice::Accepted { ticket, goal } => Self::Accepted {
                ticket: *ticket,
                goal: *goal,
            },
            Notice::Feedback { ticket, payload } => Self::Feedback {
                ticket: *ticket,
                payload: encode_payload(payload),
            },
            Notice::Canceling { ticket } => Self::Canceling { ticket: *ticket },
            Notice::Finished {
                ticket,
                updates,
                outcome,
            } => Self::Finished {
                ticket: *ticket,
                updates: *updates,
                outcome: StoredOutcome::of(outcome),
            },
        }
    }

    /// The activation of the notice.
    pub fn ticket(&self) -> Ticket {
        match self {
            Self::Accepted { ticket, .. }
            | Self::Feedback { ticket, .. }
            | Self::Canceling { ticket }
            | Self::Finished { ticket, .. } => *ticket,
        }
    }

    /// The notice, for another activation if the tickets differ.
    ///
    /// # Errors
    /// The type of its message is not known.
    pub fn notice(&self, ticket: Ticket) -> Result<Notice<Payload>, String> {
        Ok(match self {
            Self::Accepted { goal, .. } => Notice::Accepted { ticket, goal: *goal },
            Self::Feedback { payload, .. } => Notice::Feedback {
                ticket,
                payload: decode_payload(payload)?,
            },
            Self::Canceling { .. } => Notice::Canceling { ticket },
            Self::Finished { updates, outcome, .. } => Notice::Finished {
                ticket,
                updates: *updates,
                outcome: outcome.outcome()?,
            },
        })
    }
}

impl StoredOutcome {
    fn of(outcome: &Outcome<Payload>) -> Self {
        match outcome {
            Outcome::Succeeded(payload) => Self::Succeeded(encode_payload(payload)),
            Outcome::Aborted(payload) => Self::Aborted(encode_payload(payload)),
            Outcome::Canceled(payload) => Self::Canceled(encode_payload(payload)),
            Outcome::CanceledByAnother => Self::CanceledByAnother,
            Outcome::Rejected => Self::Rejected,
            Outcome::SendFailed => Self::SendFailed,
            Outcome::AcceptTimeout => Self::AcceptTimeout,
            Outcome::ResultTimeout => Self::ResultTimeout,
            Outcome::ResultLost => Self::ResultLost,
            Outcome::ServerGone => Self::ServerGone,
            Outcome::Response(payload) => Self::Response(encode_payload(payload)),
            Outcome::ResponseTimeout => Self::ResponseTimeout,
            Outcome::CancelAnswered(goals) => Self::CancelAnswered(goals.clone()),
            Outcome::ShuttingDown => Self::ShuttingDown,
            Outcome::CanceledBeforeAcceptance => Self::CanceledBeforeAcceptance,
        }
    }

    fn outcome(&self) -> Result<Outcome<Payload>, String> {
        Ok(match self {
            Self::Succeeded(payload) => Outcome::Succeeded(decode_payload(payload)?),
            Self::Aborted(payload) => Outcome::Aborted(decode_payload(payload)?),
            Self::Canceled(payload) => Outcome::Canceled(decode_payload(payload)?),
            Self::CanceledByAnother => Outcome::CanceledByAnother,
            Self::Rejected => Outcome::Rejected,
            Self::SendFailed => Outcome::SendFailed,
            Self::AcceptTimeout => Outcome::AcceptTimeout,
            Self::ResultTimeout => Outcome::ResultTimeout,
            Self::ResultLost => Outcome::ResultLost,
            Self::ServerGone => Outcome::ServerGone,
            Self::Response(payload) => Outcome::Response(decode_payload(payload)?),
            Self::ResponseTimeout => Outcome::ResponseTimeout,
            Self::CancelAnswered(goals) => Outcome::CancelAnswered(goals.clone()),
            Self::ShuttingDown => Outcome::ShuttingDown,
            Self::CanceledBeforeAcceptance => Outcome::CanceledBeforeAcceptance,
        })
    }
}
