//! What the transports tell the GoalTracker.

use super::{CancelCode, CancelTag, GoalId, GoalStatus, ServerId, Stamp, TerminalStatus, Ticket};

/// Something that arrived from a server, or failed to.
///
/// Transports pass on everything they get, in any order, also twice: sorting it out is the GoalTracker's
/// business. They may stay silent for ever; deadlines are the GoalTracker's business too.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum WireEvent<P> {
    /// The goal request was answered: accepted.
    Accepted {
        /// Where.
        server: ServerId,
        /// Which.
        goal: GoalId,
        /// When, by the server's clock.
        stamp: Stamp,
    },
    /// The goal request was answered: rejected.
    Rejected {
        /// Which.
        goal: GoalId,
    },
    /// The goal request could not be sent, or its answer could not be read. Only where it is certain that the
    /// server never got it; otherwise stay silent.
    SendFailed {
        /// Which.
        goal: GoalId,
    },
    /// Feedback on a goal.
    Feedback {
        /// Which.
        goal: GoalId,
        /// What.
        payload: P,
    },
    /// A whole message of a status topic: every goal the server knows.
    Status {
        /// Where.
        server: ServerId,
        /// Goals and their statuses.
        goals: Vec<(GoalId, GoalStatus)>,
    },
    /// A result with a terminal status.
    Result {
        /// Which.
        goal: GoalId,
        /// How it ended.
        end: TerminalStatus,
        /// The result.
        payload: P,
    },
    /// A result request was answered with a status that is not terminal: the server knows no such goal. To be kept back
    /// while there is another server of its name, which may know it.
    ResultUnknown {
        /// Which.
        goal: GoalId,
    },
    /// A cancel request was answered. Where it selected one goal, a code of zero whose list lacks that goal
    /// is to be passed on as rejected; where there is another server of its name, that it is unknown as unknown to one.
    CancelAnswered {
        /// As the effect had it.
        tag: CancelTag,
        /// The return code.
        code: CancelCode,
    },
    /// A cancel request could not be sent, or its answer could not be read.
    CancelFailed {
        /// As the effect had it.
        tag: CancelTag,
    },
    /// A service answered.
    Response {
        /// As the effect had it.
        ticket: Ticket,
        /// The response.
        payload: P,
    },
    /// A service request could not be sent, or its answer could not be read.
    CallFailed {
        /// As the effect had it.
        ticket: Ticket,
    },
    /// The endpoints of a server vanished from the graph, or others of its name have appeared there: the server was restarted
    /// before it was missed, or there are two.
    ServerGone {
        /// Which.
        server: ServerId,
    },
    /// The endpoints of a server are there: discovered for the first time, or again. A server is absent
    /// until this is said of it.
    ServerBack {
        /// Which.
        server: ServerId,
    },
}
