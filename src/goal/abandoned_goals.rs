//! Goals that were given up and may still be executing.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{GoalId, GoalIncident, IncidentKind, ServerId, Ticket, WireEvent};

/// A goal that was given up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AbandonedGoal {
    /// The goal.
    pub goal: GoalId,
    /// The server that may be executing it.
    pub server: ServerId,
    /// The activation that started it; `None` for a goal of an earlier run.
    pub ticket: Option<Ticket>,
    /// The path of the leaf that started it; empty for a goal of an earlier run.
    pub leaf: Arc<str>,
    /// The kind of loss: it did not stop, its server was out of reach, or the server never answered.
    pub what: IncidentKind,
}

impl AbandonedGoal {
    /// Like [`LiveGoal::is_left_by`](super::LiveGoal::is_left_by): whether the result for the client of a session names
    /// the goal. `of_session` is true for the activations of the session. A goal whose server is out of reach counts as
    /// stopped.
    pub fn is_left_by(&self, of_session: impl Fn(Ticket) -> bool) -> bool {
        self.what != IncidentKind::GaveUpUnreachable && self.ticket.is_some_and(of_session)
    }
}

/// Stores the goals that the GoalTracker gave up without proof of their end (G3: they are reported). A goal is removed
/// when its server shows that it has ended, or when the GoalTracker tracks it again because the server shows that it
/// executes. A vanished server proves nothing: the wire may be cut while the robot still moves. This list is for
/// diagnostics; the GoalTracker does not use it.
#[derive(Clone, Debug, Default)]
pub struct AbandonedGoals(VecDeque<AbandonedGoal>);

/// Maximum number of goals. The oldest are dropped.
const REMEMBERED: usize = 64;

impl AbandonedGoals {
    /// The goals that may be executing, oldest first.
    pub fn goals(&self) -> impl ExactSizeIterator<Item = &AbandonedGoal> {
        self.0.iter()
    }

    /// Handles a report of the GoalTracker.
    pub fn report(&mut self, report: &GoalIncident) {
        let Some(goal) = report.goal else { return };
        match report.what {
            IncidentKind::GaveUpStopping
            | IncidentKind::GaveUpUnreachable
            | IncidentKind::GaveUpUnanswered => {
                if self.0.len() >= REMEMBERED {
                    self.0.pop_front();
                }
                self.0.push_back(AbandonedGoal {
                    goal,
                    server: report.server,
                    ticket: report.ticket,
                    leaf: Arc::clone(&report.leaf),
                    what: report.what,
                });
            }
            // The GoalTracker tracks it again.
            IncidentKind::Adopted
            | IncidentKind::AcceptedAfterGivingUp
            | IncidentKind::FoundAfterGivingUp
            | IncidentKind::RetriedAfterGivingUp => {
                self.0.retain(|abandoned| abandoned.goal != goal);
            }
            _ => {}
        }
    }

    /// Handles an event of a server. Must be called before the reports of the GoalTracker on this event.
    pub fn wire<P>(&mut self, event: &WireEvent<P>) {
        if self.0.is_empty() {
            return;
        }
        match event {
            WireEvent::Result { goal: over, .. }
            | WireEvent::ResultUnknown { goal: over }
            | WireEvent::Rejected { goal: over } => {
                self.0.retain(|abandoned| abandoned.goal != *over);
            }
            WireEvent::Status { server, goals } => self.0.retain(|abandoned| {
                let is_active = || {
                    goals
                        .iter()
                        .any(|(goal, status)| *goal == abandoned.goal && status.is_active())
                };
                abandoned.server != *server || is_active()
            }),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::{GoalStatus, TerminalStatus};

    const SERVER: ServerId = ServerId(1);
    const GOAL: GoalId = GoalId([7; 16]);

    fn report(goal: GoalId, what: IncidentKind) -> GoalIncident {
        GoalIncident {
            server: SERVER,
            goal: Some(goal),
            ticket: None,
            leaf: "Drive/FollowPath".into(),
            halted: None,
            what,
        }
    }

    fn after(event: &WireEvent<()>) -> usize {
        let mut abandoned = AbandonedGoals::default();
        abandoned.report(&report(GOAL, IncidentKind::GaveUpStopping));
        abandoned.wire(event);
        abandoned.goals().len()
    }

    fn status(server: ServerId, goals: &[(GoalId, GoalStatus)]) -> WireEvent<()> {
        let goals = goals.to_vec();
        WireEvent::Status { server, goals }
    }

    #[test]
    fn g3_an_abandoned_goal_is_kept_until_its_server_shows_its_end() {
        let (executing, over) = (GoalStatus::Executing, GoalStatus::Succeeded);
        assert_eq!(after(&status(SERVER, &[(GOAL, executing)])), 1);
        assert_eq!(after(&status(ServerId(2), &[])), 1, "another server's list");
        assert_eq!(after(&status(SERVER, &[(GOAL, over)])), 0);
        assert_eq!(after(&status(SERVER, &[])), 0, "its server knows it no more");
        assert_eq!(after(&WireEvent::ServerGone { server: SERVER }), 1);
        assert_eq!(after(&WireEvent::ServerBack { server: SERVER }), 1);
        assert_eq!(after(&WireEvent::Rejected { goal: GOAL }), 0);
        let end = TerminalStatus::Succeeded;
        assert_eq!(
            after(&WireEvent::Result {
                goal: GOAL,
                end,
                payload: ()
            }),
            0
        );
        assert_eq!(after(&WireEvent::ResultUnknown { goal: GOAL }), 0);
    }

    #[test]
    fn a_goal_tracked_again_or_only_reported_is_not_abandoned() {
        let mut abandoned = AbandonedGoals::default();
        abandoned.report(&report(GOAL, IncidentKind::NotStoppedInTime));
        assert_eq!(abandoned.goals().len(), 0);
        abandoned.report(&report(GOAL, IncidentKind::GaveUpStopping));
        abandoned.report(&report(GOAL, IncidentKind::AcceptedAfterGivingUp));
        assert_eq!(abandoned.goals().len(), 0);
        for what in [IncidentKind::GaveUpUnreachable, IncidentKind::GaveUpUnanswered] {
            abandoned.report(&report(GOAL, what));
            assert_eq!(abandoned.goals().next().map(|goal| goal.what), Some(what));
            abandoned.report(&report(GOAL, IncidentKind::FoundAfterGivingUp));
            assert_eq!(abandoned.goals().len(), 0);
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut abandoned = AbandonedGoals::default();
        for number in 0..200 {
            abandoned.report(&report(GoalId([number; 16]), IncidentKind::GaveUpStopping));
        }
        assert_eq!(abandoned.goals().len(), REMEMBERED);
        assert_eq!(abandoned.goals().last().unwrap().goal, GoalId([199; 16]));
    }
}
