//! Goals that nobody looks after any more, and that may be executing all the same.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{GoalId, GoalIncident, IncidentKind, ServerId, Ticket, WireEvent};

/// One of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AbandonedGoal {
    /// The goal.
    pub goal: GoalId,
    /// Where it may be executing.
    pub server: ServerId,
    /// The activation that started it; `None` for a goal of an earlier run.
    pub ticket: Option<Ticket>,
    /// The path of the leaf that started it; empty for a goal of an earlier run.
    pub leaf: Arc<str>,
    /// How: it did not stop, its server was out of reach, or never answered.
    pub what: IncidentKind,
}

impl AbandonedGoal {
    /// As [`LiveGoal::is_left_by`](super::LiveGoal::is_left_by): whether the client of a session, whose activations are
    /// those for which `of_session` holds, is told of it. A goal whose server is out of reach counts as stopped there.
    pub fn is_left_by(&self, of_session: impl Fn(Ticket) -> bool) -> bool {
        self.what != IncidentKind::GaveUpUnreachable && self.ticket.is_some_and(of_session)
    }
}

/// Remembers the goals that the GoalTracker gave up although they were not known to be over (G3: that is reported), until
/// their server shows that they are, or the GoalTracker has them again because it shows that they are not. That a server
/// vanished shows nothing: it may be the wire that was cut, and the robot goes on. For people: the GoalTracker itself goes
/// on without.
#[derive(Clone, Debug, Default)]
pub struct AbandonedGoals(VecDeque<AbandonedGoal>);

/// More are not remembered; the oldest go.
const REMEMBERED: usize = 64;

impl AbandonedGoals {
    /// Those that may be executing, oldest first.
    pub fn goals(&self) -> impl ExactSizeIterator<Item = &AbandonedGoal> {
        self.0.iter()
    }

    /// Takes in what the GoalTracker reports.
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
            // The GoalTracker has it again.
            IncidentKind::Adopted
            | IncidentKind::AcceptedAfterGivingUp
            | IncidentKind::FoundAfterGivingUp
            | IncidentKind::RetriedAfterGivingUp => {
                self.0.retain(|abandoned| abandoned.goal != goal);
            }
            _ => {}
        }
    }

    /// Takes in what servers say: before the GoalTracker's own reports on it.
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
    fn g3_what_was_given_up_is_remembered_until_its_server_shows_that_it_is_over() {
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
    fn what_the_goal_tracker_has_again_and_what_it_only_complains_of_is_not_given_up() {
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
