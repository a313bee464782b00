//! The public view of a goal that is tracked.

use std::sync::Arc;

use crate::bt::HaltReason;
use crate::goal::{GoalId, Phase, ServerId, Ticket};

/// A goal that is tracked, for code that must know whether the robot has stopped.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LiveGoal {
    /// The goal.
    pub goal: GoalId,
    /// Its server.
    pub server: ServerId,
    /// The activation that started it; `None` for a goal of an earlier run.
    pub ticket: Option<Ticket>,
    /// The path of its leaf; empty for a goal of an earlier run.
    pub leaf: Arc<str>,
    /// Its phase.
    pub phase: Phase,
    /// The reason of the halt, if its leaf was halted.
    pub halted: Option<HaltReason>,
    /// It is being stopped and holds back the next goal on its server (G5). False after its cancel timeout, which was
    /// reported.
    pub holds_back: bool,
    /// It was given up before, and one of several servers with the same name still does not know it.
    pub is_denied_again: bool,
    /// Its request was lost with its server, as far as is known: the server that is there now does not know it.
    pub is_presumed_lost: bool,
    /// The server has reported its end. The answer to its cancel is still open, and shows who cancelled it.
    pub is_over: bool,
}

impl LiveGoal {
    /// Whether the goal delays the result for the client of a session that stops. `of_session` is true for the activations of the
    /// session. The session's own goals must have ended, or be presumed lost. A goal of another session delays it only while it is being
    /// stopped in time; otherwise a request that was lost minutes ago would delay every later cancel.
    pub fn delays_result(&self, of_session: impl Fn(Ticket) -> bool) -> bool {
        if self.ticket.is_some_and(of_session) {
            self.phase.may_execute() && !self.is_presumed_lost
        } else {
            self.holds_back
        }
    }

    /// Whether the result for that client names the goal when the session has ended: the goals that delay it, and goals
    /// of other sessions that still execute although they should have stopped. Not a goal whose end is known.
    pub fn is_left_by(&self, of_session: impl Fn(Ticket) -> bool) -> bool {
        !self.is_over
            && (self.phase == Phase::Canceling || self.is_denied_again || self.delays_result(of_session))
    }
}
