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
    /// The kind of loss; see [`IncidentKind::is_loss`].
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

/// Maximum number of goals. Dropped are the oldest that their servers never accepted, and then the oldest.
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
            what if what.is_loss() => {
                if self.0.len() >= REMEMBERED {
                    let unanswered =
                        |abandoned: &AbandonedGoal| abandoned.what == IncidentKind::GaveUpUnanswered;
                    let dropped = self.0.iter().position(unanswered).unwrap_or(0);
                    self.0.remove(dropped);
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
            | WireEvent::Rejected { goal: over }
            | WireEvent::SendFailed { goal: over } => {
                self.0.retain(|abandoned| abandoned.goal != *over);
            }
            WireEvent::Status { server, goals } => self.0.retain(|abandoned| {
                let shown = goals.iter().find(|(goal, _)| *goal == abandoned.goal);
                // A goal that was not accepted is in no list, and may still be accepted. One that is denied is not in
                // the list of each server.
                let may_be_missing = matches!(
                    abandoned.what,
                    IncidentKind::GaveUpUnanswered | IncidentKind::GaveUpDenied
                );
                let is_kept = shown.map_or(may_be_missing, |(_, status)| status.is_active());
                abandoned.server != *server || is_kept
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

    #[test]
    fn a_goal_that_executes_is_kept_before_those_that_were_never_accepted() {
        let mut abandoned = AbandonedGoals::default();
        let number = |number: usize| GoalId([u8::try_from(number).unwrap(); 16]);
        abandoned.report(&report(GOAL, IncidentKind::GaveUpUnreachable));
        for unanswered in 100..100 + 2 * REMEMBERED {
            abandoned.report(&report(number(unanswered), IncidentKind::GaveUpUnanswered));
        }
        let kept: Vec<_> = abandoned.goals().map(|kept| kept.goal).collect();
        assert_eq!(kept.len(), REMEMBERED);
        assert_eq!(kept.first(), Some(&GOAL));
        assert_eq!(kept.last(), Some(&number(99 + 2 * REMEMBERED)));
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
    fn g11_a_goal_that_its_server_has_not_answered_or_that_one_of_several_denies_is_kept() {
        for what in [IncidentKind::GaveUpUnanswered, IncidentKind::GaveUpDenied] {
            for (list, kept) in [(vec![], 1), (vec![(GOAL, GoalStatus::Aborted)], 0)] {
                let mut abandoned = AbandonedGoals::default();
                abandoned.report(&report(GOAL, what));
                abandoned.wire(&status(SERVER, &list));
                assert_eq!(abandoned.goals().len(), kept, "{what:?}");
            }
        }
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
