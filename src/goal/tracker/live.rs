//! A goal that has not ended, as others see it.

use std::sync::Arc;

use crate::bt::HaltReason;
use crate::goal::{GoalId, Phase, ServerId, Ticket};

/// A goal that has not ended, for those who must know whether the robot has stopped.
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
    /// Where it is in its life.
    pub phase: Phase,
    /// Why its leaf was halted, if it was.
    pub halted: Option<HaltReason>,
    /// It is being stopped and holds back the next goal on its server (G5). False once its cancel timeout has passed,
    /// which was reported.
    pub holds_back: bool,
}

impl LiveGoal {
    /// Whether CANCELED must not be reported yet to the client of a session that started the activations for which
    /// `of_session` holds: the session's own goals have to be over. A goal of another session is waited for while it
    /// is being stopped in time; a request that was lost minutes ago would hold up every later cancel.
    pub fn holds_up(&self, of_session: impl Fn(Ticket) -> bool) -> bool {
        if self.ticket.is_some_and(of_session) {
            self.phase.may_execute()
        } else {
            self.holds_back
        }
    }

    /// Whether that client is to be told of it when its session has ended: what holds it up, and goals of other
    /// sessions that are known to execute although they should have stopped.
    pub fn is_left_by(&self, of_session: impl Fn(Ticket) -> bool) -> bool {
        self.phase == Phase::Canceling || self.holds_up(of_session)
    }
}
