//! Messages of the transports to the GoalTracker.

use super::{CancelCode, CancelTag, GoalId, GoalStatus, ServerId, TerminalStatus, Ticket};

/// An event from a server, or a failed transmission.
///
/// Transports forward every event, in any order, possibly twice; the GoalTracker sorts them. Transports may stay silent
/// forever; the GoalTracker has deadlines.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum WireEvent<P> {
    /// The server accepted the goal request.
    Accepted {
        /// The action server.
        server: ServerId,
        /// The goal.
        goal: GoalId,
    },
    /// The server rejected the goal request.
    Rejected {
        /// The goal.
        goal: GoalId,
    },
    /// The goal request could not be sent. Only if the server certainly never received it; otherwise the transport sends
    /// no event.
    SendFailed {
        /// The goal.
        goal: GoalId,
    },
    /// Feedback on a goal.
    Feedback {
        /// The goal.
        goal: GoalId,
        /// The feedback.
        payload: P,
    },
    /// A complete status message: all goals that the server knows.
    Status {
        /// The action server.
        server: ServerId,
        /// Goals and their statuses.
        goals: Vec<(GoalId, GoalStatus)>,
    },
    /// A result with a terminal status.
    Result {
        /// The goal.
        goal: GoalId,
        /// The terminal status.
        end: TerminalStatus,
        /// The result.
        payload: P,
    },
    /// The server answered a result request with a status that is not terminal: it does not know the goal. The
    /// transport withholds this event while there is another server with the same name, because that one may know the
    /// goal.
    ResultUnknown {
        /// The goal.
        goal: GoalId,
    },
    /// The server answered a cancel request. If the request selected one goal and a code of zero comes with a list
    /// without this goal, the transport reports [`CancelCode::Rejected`]. If there is another server with the same
    /// name, it reports [`CancelCode::UnknownToOne`] in place of [`CancelCode::UnknownGoal`].
    CancelAnswered {
        /// The tag of the effect.
        tag: CancelTag,
        /// The return code.
        code: CancelCode,
        /// The goals that the server cancels.
        canceling: Vec<GoalId>,
    },
    /// A service sent its response.
    Response {
        /// The ticket of the effect.
        ticket: Ticket,
        /// The response.
        payload: P,
    },
    /// A request of a service leaf or of a Cancel node could not be sent.
    CallFailed {
        /// The ticket of the effect.
        ticket: Ticket,
    },
    /// The endpoints of a server vanished from the graph, or other endpoints with its name appeared there: the server
    /// was restarted before its absence was noticed, or there are two servers.
    ServerGone {
        /// The server.
        server: ServerId,
    },
    /// The endpoints of a server are on the graph, for the first time or again. A server counts as absent before this
    /// event.
    ServerBack {
        /// The server.
        server: ServerId,
    },
}
