//! Events for the state machines of goals, and the execution of their steps.

use super::{ENDED_REMEMBERED, Ended, GoalTracker, LOST_REMEMBERED, ListedEnd, Lost};
use crate::bt::Time;
use crate::goal::{
    CallPhase, CancelTag, Effect, GoalEvent, GoalId, GoalIncident, IncidentKind, Notice, Outcome,
    OutcomeKind, Phase, Selection, Step, TerminalStatus, Ticket,
};

impl<P> GoalTracker<P> {
    /// Handles an answer to a request. It counts as late if its goal is no longer known.
    pub(super) fn answer(
        &mut self,
        goal: GoalId,
        event: GoalEvent,
        payload: Option<P>,
        now: Time,
        out: &mut Vec<Effect<P>>,
    ) {
        if self.goals.contains_key(&goal) {
            self.apply(goal, event, payload, now, out);
        } else {
            self.counters.late += 1;
            // In every case the goal has ended, or the server does not know it.
            self.forget_lost(goal);
        }
    }

    pub(super) fn apply(
        &mut self,
        goal: GoalId,
        event: GoalEvent,
        payload: Option<P>,
        now: Time,
        out: &mut Vec<Effect<P>>,
    ) {
        let Some(entry) = self.goals.get_mut(&goal) else {
            return;
        };
        let was_accepted = entry.goal.is_accepted();
        let mut steps = Vec::new();
        entry.goal.on(event, now, &mut steps);
        if entry.goal.is_accepted() && !was_accepted {
            self.counters.accepted += 1;
        }
        self.carry_out(goal, &steps, payload, now, out);
    }

    pub(super) fn carry_out(
        &mut self,
        goal: GoalId,
        steps: &[Step],
        mut payload: Option<P>,
        now: Time,
        out: &mut Vec<Effect<P>>,
    ) {
        for step in steps {
            let Some(entry) = self.goals.get_mut(&goal) else {
                return;
            };
            let server = entry.server;
            match *step {
                Step::Send => {
                    if let Some(payload) = entry.payload.take() {
                        self.counters.sent += 1;
                        out.push(Effect::SendGoal {
                            server,
                            goal,
                            payload,
                        });
                    }
                }
                Step::RequestResult => out.push(Effect::RequestResult { server, goal }),
                Step::Cancel { attempt } => {
                    self.counters.cancels += 1;
                    out.push(Effect::SendCancel {
                        server,
                        tag: CancelTag::Goal { goal, attempt },
                        selection: Selection::Goal(goal),
                    });
                }
                Step::TellAccepted => {
                    if let Some(ticket) = self.waiting_leaf(goal) {
                        out.push(Effect::Notify(Notice::Accepted { ticket, goal }));
                    }
                }
                Step::TellCanceling => self.tell_canceling(goal, now, out),
                Step::TellFeedback => {
                    if let (Some(ticket), Some(payload)) = (self.waiting_leaf(goal), payload.take()) {
                        push_feedback(ticket, payload, out);
                    }
                }
                Step::Finish(kind) => self.finish(goal, kind, payload.take(), now, out),
                Step::Report(what) => {
                    let counters = &mut self.counters;
                    match what {
                        IncidentKind::GaveUpStopping | IncidentKind::GaveUpDenied => counters.abandoned += 1,
                        IncidentKind::GaveUpUnreachable if entry.goal.is_accepted() => {
                            counters.unreachable += 1;
                        }
                        IncidentKind::GaveUpUnreachable | IncidentKind::GaveUpUnanswered => {
                            counters.unanswered += 1;
                        }
                        IncidentKind::ResultLost => counters.results_lost += 1,
                        _ => {}
                    }
                    if what.is_loss() {
                        entry.lost = Some(what);
                    }
                    self.report(goal, what, out);
                }
            }
        }
    }

    pub(super) fn report(&self, goal: GoalId, what: IncidentKind, out: &mut Vec<Effect<P>>) {
        if let Some(entry) = self.goals.get(&goal) {
            out.push(Effect::Report(GoalIncident {
                server: entry.server,
                goal: Some(goal),
                ticket: entry.started_by,
                leaf: entry.leaf.clone(),
                halted: entry.halted,
                what,
            }));
        }
    }

    /// The activation that waits for the outcome of this goal.
    pub(super) fn waiting_leaf(&self, goal: GoalId) -> Option<Ticket> {
        let ticket = self.goals.get(&goal)?.ticket?;
        (self.leaves.get(&ticket)?.current == goal).then_some(ticket)
    }

    pub(super) fn finish(
        &mut self,
        goal: GoalId,
        kind: OutcomeKind,
        payload: Option<P>,
        now: Time,
        out: &mut Vec<Effect<P>>,
    ) {
        let Some(ticket) = self.waiting_leaf(goal) else {
            return;
        };
        let outcome = match (kind, payload) {
            (OutcomeKind::Ended(TerminalStatus::Succeeded), Some(payload)) => Outcome::Succeeded(payload),
            (OutcomeKind::Ended(TerminalStatus::Aborted), Some(payload)) => Outcome::Aborted(payload),
            (OutcomeKind::Ended(TerminalStatus::Canceled), Some(payload)) => Outcome::Canceled(payload),
            (OutcomeKind::CanceledByAnother, _) => Outcome::CanceledByAnother,
            (OutcomeKind::CanceledBeforeAcceptance, _) => Outcome::CanceledBeforeAcceptance,
            (OutcomeKind::Rejected, _) => Outcome::Rejected,
            (OutcomeKind::SendFailed, _) => Outcome::SendFailed,
            (OutcomeKind::AcceptTimeout, _) => Outcome::AcceptTimeout,
            (OutcomeKind::ResultTimeout, _) => Outcome::ResultTimeout,
            (OutcomeKind::ServerGone, _) => Outcome::ServerGone,
            (OutcomeKind::ResultLost | OutcomeKind::Ended(_), _) => Outcome::ResultLost,
        };
        let updates = self.leaves.remove(&ticket).map_or(0, |leaf| leaf.applied);
        let notice = Notice::Finished {
            ticket,
            updates,
            outcome,
        };
        if notice.is_cancel() {
            self.notify_of_cancel(notice, now, out);
        } else {
            out.push(Effect::Notify(notice));
        }
        // Stops the other goals of the activation: a goal that the failed update should have replaced.
        for other in self.goals_in_order(|entry| entry.ticket == Some(ticket)) {
            let left_behind = self
                .goals
                .get(&other)
                .is_some_and(|entry| entry.goal.phase() == Phase::Replaced);
            if left_behind {
                self.apply(other, GoalEvent::Halt, None, now, out);
            }
        }
    }

    /// Another client cancelled a goal, to stop the robot. A newer goal of its activation, of which that client did not
    /// know, is stopped too.
    fn tell_canceling(&mut self, goal: GoalId, now: Time, out: &mut Vec<Effect<P>>) {
        let Some(ticket) = self.ticket_of(goal) else {
            return;
        };
        match self.newer_goal(goal) {
            Some(newest) => {
                self.finish(newest, OutcomeKind::CanceledByAnother, None, now, out);
                self.withdraw_or(newest, GoalEvent::Halt, now, out);
            }
            None => self.notify_of_cancel(Notice::Canceling { ticket }, now, out),
        }
    }

    /// The newest goal of the activation of a goal, if it is another one.
    fn newer_goal(&self, goal: GoalId) -> Option<GoalId> {
        let leaf = self.leaves.get(&self.ticket_of(goal)?)?;
        (leaf.current != goal).then_some(leaf.current)
    }

    /// A status list shows a goal as canceling that has ended: its result has overtaken the list, and another client has
    /// cancelled the goal.
    pub(super) fn ended_goal_is_canceling(&mut self, goal: GoalId, now: Time, out: &mut Vec<Effect<P>>) {
        let ended = self.ended_goal(goal);
        if ended.is_some_and(|ended| std::mem::take(&mut ended.may_hide_cancel)) {
            self.tell_canceling(goal, now, out);
        }
    }

    /// A goal that ended recently.
    pub(super) fn ended_goal(&mut self, goal: GoalId) -> Option<&mut Ended> {
        self.ended.iter_mut().find(|ended| ended.goal == goal)
    }

    /// Whether a goal is one of those that ended recently.
    pub(super) fn has_ended(&self, goal: GoalId) -> bool {
        self.ended.iter().any(|ended| ended.goal == goal)
    }

    pub(super) fn forget_ended(&mut self, goal: GoalId) -> Option<Ended> {
        let index = self.ended.iter().position(|ended| ended.goal == goal)?;
        self.ended.remove(index)
    }

    /// The activation that started a goal, while the goal is remembered.
    pub(super) fn ticket_of(&self, goal: GoalId) -> Option<Ticket> {
        let ended = || self.ended.iter().find(|ended| ended.goal == goal);
        let lost = || self.lost.iter().find(|lost| lost.goal == goal);
        match self.goals.get(&goal) {
            Some(entry) => entry.started_by,
            None => ended().map_or_else(|| lost()?.started_by, |ended| ended.started_by),
        }
    }

    pub(super) fn drop_ended(&mut self, now: Time, out: &mut Vec<Effect<P>>) {
        let mut active_again = Vec::new();
        for goal in self.goals_in_order(|entry| entry.goal.phase() == Phase::Ended) {
            let Some(entry) = self.goals.remove(&goal) else {
                continue;
            };
            if entry.payload.is_none() {
                out.push(Effect::ForgetGoal {
                    server: entry.server,
                    goal,
                });
            }
            // A request that was lost may arrive after all. Its goal is no loss to report, but the numbers of its cancels
            // are kept: an answer to an early one would deny the goal.
            let has_lost_request = entry.goal.has_lost_request();
            let lost = entry
                .lost
                .or(has_lost_request.then_some(IncidentKind::GaveUpUnanswered));
            if let Some(what) = lost {
                self.lost.push_back(Lost {
                    goal,
                    server: entry.server,
                    started_by: entry.started_by,
                    leaf: entry.leaf,
                    accepted: entry.goal.is_accepted(),
                    what,
                    retried: has_lost_request || entry.goal.is_found(),
                    cancels: entry.goal.cancels(),
                });
                if self.lost.len() > LOST_REMEMBERED {
                    // A goal that executes must be stopped when its server is back.
                    let dropped = self.lost.iter().position(|lost| !lost.accepted).unwrap_or(0);
                    self.lost.remove(dropped);
                }
                continue;
            }
            if entry.goal.is_accepted() {
                self.counters.ended += 1;
            }
            if !entry.goal.is_over() {
                continue;
            }
            self.ended.push_back(Ended {
                goal,
                started_by: entry.started_by,
                leaf: entry.leaf,
                cancels: entry.goal.cancels(),
                may_hide_cancel: entry.goal.may_hide_cancel(),
                listed_end: entry.listed_end,
            });
            if self.ended.len() > ENDED_REMEMBERED {
                self.ended.pop_front();
            }
            if entry.listed_end == ListedEnd::ActiveAgain {
                active_again.push((entry.server, goal));
            }
        }
        for (server, goal) in active_again {
            self.adopt_if_room(server, goal, IncidentKind::ActiveAfterEnd, now, out);
        }
        self.calls.retain(|_, call| call.call.phase() != CallPhase::Ended);
    }
}

/// Adds feedback. It replaces earlier feedback that has not left yet.
fn push_feedback<P>(ticket: Ticket, payload: P, out: &mut Vec<Effect<P>>) {
    let waiting = out.iter_mut().rev().find_map(|effect| match effect {
        Effect::Notify(Notice::Feedback {
            ticket: other,
            payload,
        }) if *other == ticket => Some(payload),
        _ => None,
    });
    match waiting {
        Some(older) => *older = payload,
        None => out.push(Effect::Notify(Notice::Feedback { ticket, payload })),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rig::{Rig, SERVER, options};
    use crate::bt::HaltReason;
    use crate::goal::{
        CancelCode, Command, GoalId, GoalOptions, GoalStatus, Phase, TerminalStatus, UpdatePolicy, WireEvent,
    };
    use std::time::Duration;

    const NOTHING: [&str; 0] = [];

    #[test]
    fn a_goal_runs_to_its_result() {
        let mut rig = Rig::new();
        let _ = rig.start(7);
        let goal = rig.sent_goal();
        rig.accept(goal);
        rig.batch(|rig| {
            rig.wire(WireEvent::Feedback { goal, payload: 1 });
            rig.wire(WireEvent::Feedback { goal, payload: 2 });
        });
        rig.result(goal, TerminalStatus::Succeeded);
        assert_eq!(
            rig.take_effects(),
            [
                "send 7",
                "notify accepted",
                "request result",
                "notify feedback 2",
                "notify Succeeded(9)"
            ]
        );
        rig.assert_idle();
    }

    #[test]
    fn g3_goal_accepted_after_halt_is_cancelled_on_acceptance() {
        let mut rig = Rig::new();
        let ticket = rig.start(7);
        let goal = rig.sent_goal();
        rig.halt(ticket);
        assert_eq!(rig.take_effects(), ["send 7"]);
        rig.advance(50);
        rig.accept(goal);
        assert_eq!(
            rig.take_effects(),
            ["AcceptedLate", "cancel #1", "request result"]
        );
        rig.accept_cancel(goal);
        rig.result(goal, TerminalStatus::Canceled);
        assert_eq!(rig.take_effects(), NOTHING);
        rig.assert_idle();
    }

    #[test]
    fn a_goal_whose_wait_ends_before_it_has_left_is_never_sent() {
        let mut rig = Rig::new();
        rig.batch(|rig| {
            rig.start_with(
                7,
                GoalOptions {
                    response_timeout: Duration::ZERO,
                    ..options()
                },
            );
        });
        assert_eq!(rig.take_effects(), ["AcceptTimedOut", "notify AcceptTimeout"]);
        rig.assert_idle();
    }

    #[test]
    fn g3_goal_whose_acceptance_came_too_late_for_its_leaf_is_cancelled() {
        let mut rig = Rig::new();
        let _ = rig.start(7);
        let goal = rig.sent_goal();
        rig.advance(100);
        assert_eq!(
            rig.take_effects(),
            ["send 7", "AcceptTimedOut", "notify AcceptTimeout", "cancel #1"]
        );
        // The early cancel overtook the goal request; "unknown" must not end the tracking.
        rig.cancel_answer(goal, 1, CancelCode::UnknownGoal);
        rig.accept(goal);
        assert_eq!(
            rig.take_effects(),
            ["AcceptedLate", "cancel #2", "request result"]
        );
        rig.status(&[(goal, GoalStatus::Canceled)]);
        rig.assert_idle();
    }

    #[test]
    fn g3_a_goal_that_only_the_status_topic_shows_is_cancelled_too() {
        let mut rig = Rig::new();
        let ticket = rig.start(7);
        let goal = rig.sent_goal();
        rig.halt(ticket);
        rig.effects.clear();
        rig.status(&[(goal, GoalStatus::Executing)]);
        assert_eq!(
            rig.take_effects(),
            ["AcceptedLate", "cancel #1", "request result"]
        );
    }

    #[test]
    fn g3_a_goal_that_one_of_two_servers_denies_is_cancelled_until_the_other_has_ended_it_or_is_gone() {
        let denied = || {
            let mut rig = Rig::new();
            let (_, goal) = rig.start_accepted(7);
            rig.server_gone();
            rig.server_back();
            rig.cancel_answer(goal, 2, CancelCode::UnknownToOne);
            rig.effects.clear();
            assert_eq!(rig.goal_tracker.live_goals()[0].phase, Phase::Unreachable);
            rig.advance(160);
            assert_eq!(rig.take_effects(), ["cancel #3", "cancel #4"]);
            (rig, goal)
        };
        let (mut rig, goal) = denied();
        rig.status(&[(goal, GoalStatus::Canceled)]);
        rig.assert_idle();
        // The server is the only one.
        let (mut rig, goal) = denied();
        rig.cancel_answer(goal, 4, CancelCode::UnknownGoal);
        rig.assert_idle();
        // The other server answers first once.
        let (mut rig, goal) = denied();
        rig.cancel_answer(goal, 4, CancelCode::Rejected);
        assert_eq!(rig.take_effects(), ["CancelRefused"]);
        assert_eq!(rig.goal_tracker.live_goals()[0].phase, Phase::Canceling);
        rig.advance(50);
        assert_eq!(rig.take_effects(), ["cancel #5"]);
        // The process ends.
        let (mut rig, _) = denied();
        let deadline = rig.now + Duration::from_secs(3);
        rig.command(Command::ShutDown { deadline });
        assert_eq!(rig.take_effects(), ["cancel #5", "GaveUpDenied"]);
        rig.assert_idle();
        // A third and further servers appear. They cause no additional cancels.
        let (mut rig, goal) = denied();
        rig.server_gone();
        rig.server_back();
        rig.advance(1_000);
        assert_eq!(rig.take_effects(), ["cancel #5", "cancel #6", "cancel #7"]);
        rig.cancel_answer(goal, 7, CancelCode::UnknownGoal);
        rig.assert_idle();
    }

    #[test]
    fn g5_a_goal_that_one_of_two_servers_denies_holds_back_no_other() {
        let mut rig = Rig::new();
        let (ticket, goal) = rig.start_accepted(1);
        rig.status(&[(goal, GoalStatus::Executing)]);
        rig.halt(ticket);
        let _ = rig.start(2);
        rig.cancel_answer(goal, 1, CancelCode::UnknownToOne);
        assert_eq!(
            rig.take_effects(),
            ["cancel #1", "send 2"],
            "it is most likely dead"
        );
    }

    #[test]
    fn g3_lost_cancel_is_sent_again_until_the_server_answers() {
        let mut rig = Rig::new();
        let (ticket, goal) = rig.start_accepted(7);
        rig.halt(ticket);
        rig.advance(120);
        assert_eq!(rig.take_effects(), ["cancel #1", "cancel #2", "cancel #3"]);
        rig.cancel_answer(goal, 3, CancelCode::None);
        rig.advance(50);
        assert_eq!(rig.take_effects(), ["request result"]);
        rig.status(&[(goal, GoalStatus::Canceled)]);
        rig.assert_idle();
    }

    #[test]
    fn g3_a_server_that_accepts_a_cancel_and_continues_is_cancelled_again() {
        let mut rig = Rig::new();
        let (ticket, goal) = rig.start_accepted(7);
        rig.halt(ticket);
        rig.cancel_answer(goal, 1, CancelCode::None);
        rig.advance(100);
        assert_eq!(rig.take_effects(), ["cancel #1", "request result", "cancel #2"]);
        rig.cancel_answer(goal, 2, CancelCode::None);
        rig.status(&[(goal, GoalStatus::Canceled)]);
        rig.assert_idle();
    }

    #[test]
    fn g3_a_cancel_of_another_client_that_came_before_the_cancel_of_a_halt_is_told() {
        let terminated = |rig: &mut Rig, goal| rig.cancel_answer(goal, 1, CancelCode::GoalTerminated);
        type Show = fn(&mut Rig, GoalId);
        let answers: [(&str, Show); 3] = [
            ("status", |rig, goal| rig.status(&[(goal, GoalStatus::Canceling)])),
            ("end", |rig, goal| rig.status(&[(goal, GoalStatus::Canceled)])),
            ("result", |rig, goal| rig.result(goal, TerminalStatus::Canceled)),
        ];
        for (name, show) in answers {
            for is_answer_first in [true, false] {
                let mut rig = Rig::new();
                let (ticket, goal) = rig.start_accepted(7);
                rig.halt(ticket);
                if is_answer_first {
                    terminated(&mut rig, goal);
                    show(&mut rig, goal);
                } else {
                    show(&mut rig, goal);
                    terminated(&mut rig, goal);
                }
                rig.result(goal, TerminalStatus::Canceled);
                let effects = rig.take_effects();
                let told = effects.iter().filter(|effect| *effect == "notify canceling");
                assert_eq!(told.count(), 1, "{name} {is_answer_first} {effects:?}");
                rig.advance(50);
                rig.assert_idle();
            }
        }
    }

    #[test]
    fn g3_a_goal_that_this_node_cancels_tells_nothing_of_another_client() {
        let (accepted, terminated) = (CancelCode::None, CancelCode::GoalTerminated);
        let cancels: [&[(u32, CancelCode)]; 4] = [
            &[(1, accepted)],
            &[(1, accepted), (2, terminated)],
            &[(2, terminated)],
            &[(2, terminated), (1, accepted)],
        ];
        for answers in cancels {
            let mut rig = Rig::new();
            let (ticket, goal) = rig.start_accepted(7);
            rig.halt(ticket);
            rig.advance(u64::from(answers.iter().any(|(attempt, _)| *attempt == 2)) * 50);
            rig.status(&[(goal, GoalStatus::Canceling)]);
            for (attempt, code) in answers {
                rig.cancel_answer(goal, *attempt, *code);
            }
            rig.result(goal, TerminalStatus::Canceled);
            let effects = rig.take_effects();
            assert!(!effects.contains(&"notify canceling".to_owned()), "{effects:?}");
            rig.assert_idle();
        }
        // It had ended before the cancel arrived.
        for end in [TerminalStatus::Succeeded, TerminalStatus::Aborted] {
            let mut rig = Rig::new();
            let (ticket, goal) = rig.start_accepted(7);
            rig.halt(ticket);
            rig.result(goal, end);
            rig.cancel_answer(goal, 1, CancelCode::GoalTerminated);
            assert_eq!(rig.take_effects(), ["cancel #1"]);
        }
    }

    #[test]
    fn g3_a_cancel_of_another_client_before_that_of_an_update_stops_the_update() {
        let mut rig = Rig::new();
        let cancel_first = GoalOptions {
            update: UpdatePolicy::CancelFirst,
            ..options()
        };
        let ticket = rig.start_with(7, cancel_first);
        let goal = rig.sent_goal();
        rig.accept(goal);
        rig.update(ticket, 8);
        rig.effects.clear();
        rig.cancel_answer(goal, 1, CancelCode::GoalTerminated);
        rig.result(goal, TerminalStatus::Canceled);
        rig.advance(60_000);
        assert_eq!(
            rig.take_effects(),
            ["request result", "notify CanceledByAnother of update 1"]
        );
        rig.assert_idle();
    }

    #[test]
    fn g3_second_cancel_refused_as_terminated_is_no_proof_of_an_end() {
        let mut rig = Rig::new();
        let (ticket, goal) = rig.start_accepted(7);
        rig.halt(ticket);
        rig.advance(50);
        rig.effects.clear();
        // This is rcl's answer for a goal that is already cancelling.
        rig.cancel_answer(goal, 2, CancelCode::GoalTerminated);
        assert_eq!(rig.take_effects(), ["request result"]);
        assert!(!rig.is_stopped());
        rig.result(goal, TerminalStatus::Canceled);
        rig.assert_idle();
    }

    #[test]
    fn g3_a_goal_that_ignores_cancel_is_reported_and_then_given_up() {
        let mut rig = Rig::new();
        let (ticket, goal) = rig.start_accepted(7);
        rig.halt(ticket);
        rig.cancel_answer(goal, 1, CancelCode::Rejected);
        rig.cancel_answer(goal, 1, CancelCode::Rejected);
        rig.advance(299);
        let mut effects = rig.take_effects();
        effects.dedup_by_key(|line| line.split(' ').next().map(str::to_owned));
        assert_eq!(effects, ["cancel #1", "CancelRefused", "cancel #2"]);
        rig.advance(1);
        assert_eq!(rig.take_effects()[0], "NotStoppedInTime");
        let [live] = rig.goal_tracker.live_goals().try_into().unwrap();
        assert_eq!((live.goal, live.phase), (goal, Phase::Canceling));
        assert_eq!(live.halted, Some(HaltReason::Preempted));
        rig.advance(10_000);
        assert_eq!(rig.take_effects().last().unwrap(), "GaveUpStopping");
        assert_eq!(rig.goal_tracker.counters().abandoned, 1);
        rig.assert_idle();
    }

    #[test]
    fn g6_a_goal_that_was_missing_from_the_status_list_runs_no_longer_for_it() {
        let mut rig = Rig::new();
        let _ = rig.start_with(
            7,
            GoalOptions {
                result_timeout: Some(Duration::from_millis(40)),
                ..options()
            },
        );
        let goal = rig.sent_goal();
        rig.accept(goal);
        rig.status(&[(goal, GoalStatus::Executing)]);
        rig.status(&[]);
        rig.status(&[(goal, GoalStatus::Executing)]);
        rig.advance(39);
        rig.effects.clear();
        rig.advance(1);
        assert_eq!(
            rig.take_effects(),
            ["ResultTimedOut", "notify ResultTimeout", "cancel #1"]
        );
    }

    #[test]
    fn g3_server_that_seemed_to_vanish_is_asked_to_cancel_at_once_and_when_it_is_back() {
        let mut rig = Rig::new();
        let (_, goal) = rig.start_accepted(7);
        rig.server_gone();
        assert_eq!(
            rig.take_effects(),
            ["cancel #1", "ServerGone", "notify ServerGone"]
        );
        assert!(rig.is_stopped());
        rig.cancel_answer(goal, 1, CancelCode::UnknownGoal);
        rig.advance(5_000);
        rig.server_back();
        assert_eq!(
            rig.take_effects(),
            ["cancel #2"],
            "it may not be the one that answered"
        );
        assert!(!rig.is_stopped());
        rig.cancel_answer(goal, 2, CancelCode::UnknownGoal);
        rig.assert_idle();
        // One goal was not answered.
        let _ = rig.start(7);
        rig.effects.clear();
        rig.server_gone();
        assert_eq!(
            rig.take_effects(),
            ["cancel #1", "ServerGone", "notify ServerGone"]
        );
    }

    #[test]
    fn g4_nothing_reaches_a_leaf_after_its_halt() {
        let mut rig = Rig::new();
        let (ticket, goal) = rig.start_accepted(7);
        rig.update(ticket, 8);
        rig.halt(ticket);
        rig.effects.clear();
        rig.wire(WireEvent::Feedback { goal, payload: 1 });
        rig.accept(goal);
        rig.update(ticket, 9);
        rig.result(goal, TerminalStatus::Succeeded);
        rig.wire(WireEvent::ResultUnknown { goal });
        rig.server_gone();
        rig.advance(60_000);
        assert!(!rig.take_effects().iter().any(|line| line.starts_with("notify")));
    }

    #[test]
    fn g4_feedback_and_results_of_other_goals_are_ignored() {
        let mut rig = Rig::new();
        let (_, goal) = rig.start_accepted(7);
        let other = GoalId([3; 16]);
        rig.wire(WireEvent::Feedback {
            goal: other,
            payload: 1,
        });
        rig.result(other, TerminalStatus::Aborted);
        rig.wire(WireEvent::Rejected { goal: other });
        assert_eq!(rig.take_effects(), NOTHING);
        assert_eq!(rig.goal_tracker.counters().late, 2);
        rig.result(goal, TerminalStatus::Succeeded);
        assert_eq!(rig.take_effects(), ["notify Succeeded(9)"]);
    }

    #[test]
    fn g6_each_way_to_fail_has_its_own_outcome() {
        type Fault = fn(&mut Rig, GoalId);
        let faults: [(Fault, &str); 8] = [
            (|rig, goal| rig.wire(WireEvent::Rejected { goal }), "Rejected"),
            (|rig, goal| rig.wire(WireEvent::SendFailed { goal }), "SendFailed"),
            (|rig, _| rig.advance(100), "AcceptTimeout"),
            (|rig, _| rig.server_gone(), "ServerGone"),
            (
                |rig, goal| rig.result(goal, TerminalStatus::Aborted),
                "Aborted(9)",
            ),
            (
                |rig, goal| rig.result(goal, TerminalStatus::Canceled),
                "Canceled(9)",
            ),
            (
                |rig, goal| {
                    rig.accept(goal);
                    rig.wire(WireEvent::ResultUnknown { goal });
                    rig.advance(20);
                    rig.wire(WireEvent::ResultUnknown { goal });
                },
                "ResultLost",
            ),
            (
                |rig, goal| {
                    rig.accept(goal);
                    rig.advance(500);
                },
                "ResultTimeout",
            ),
        ];
        for (fault, outcome) in faults {
            let mut rig = Rig::new();
            let _ = rig.start_with(
                7,
                GoalOptions {
                    result_timeout: Some(Duration::from_millis(500)),
                    ..options()
                },
            );
            let goal = rig.sent_goal();
            fault(&mut rig, goal);
            let notice = format!("notify {outcome}");
            assert!(rig.take_effects().contains(&notice), "{outcome}");
            rig.advance(60_000);
            assert!(rig.goal_tracker.is_idle());
        }
    }

    #[test]
    fn g6_result_that_does_not_come_is_asked_for_again_and_then_lost() {
        let mut rig = Rig::new();
        let (_, goal) = rig.start_accepted(7);
        rig.status(&[(goal, GoalStatus::Succeeded)]);
        rig.advance(20 + 40 + 80);
        assert_eq!(rig.take_effects(), ["request result"; 3]);
        rig.advance(160);
        assert_eq!(rig.take_effects(), ["ResultLost", "notify ResultLost"]);
        rig.assert_idle();
    }

    #[test]
    fn g6_a_goal_missing_from_the_status_list_is_lost_and_cancelled() {
        let mut rig = Rig::new();
        let (_, goal) = rig.start_accepted(7);
        rig.status(&[]);
        assert_eq!(rig.take_effects(), NOTHING, "never listed: an old list");
        rig.status(&[(goal, GoalStatus::Executing)]);
        rig.status(&[]);
        assert_eq!(rig.take_effects(), ["request result"]);
        rig.advance(20 + 40 + 80 + 160);
        assert_eq!(
            rig.take_effects(),
            [
                "request result",
                "request result",
                "request result",
                "ResultLost",
                "notify ResultLost",
                "cancel #1"
            ]
        );
        rig.cancel_answer(goal, 1, CancelCode::UnknownGoal);
        rig.assert_idle();
    }

    #[test]
    fn result_requests_of_a_long_goal_become_less_frequent() {
        let mut rig = Rig::new();
        let (_, goal) = rig.start_accepted(7);
        rig.status(&[(goal, GoalStatus::Executing)]);
        rig.advance(24 * 3_600_000);
        let effects = rig.take_effects();
        assert!(
            effects.iter().all(|effect| effect == "request result"),
            "{effects:?}"
        );
        assert_eq!(effects.len(), 14);
        rig.result(goal, TerminalStatus::Succeeded);
        assert_eq!(rig.take_effects(), ["notify Succeeded(9)"]);
    }

    #[test]
    fn g6_server_restarted_unnoticed_is_found_by_asking_for_the_result() {
        let mut rig = Rig::new();
        let (_, goal) = rig.start_accepted(7);
        rig.status(&[(goal, GoalStatus::Executing)]);
        rig.advance(5_000);
        assert_eq!(rig.take_effects(), ["request result"]);
        rig.wire(WireEvent::ResultUnknown { goal });
        assert_eq!(
            rig.take_effects(),
            NOTHING,
            "not to be believed before it was asked again"
        );
        rig.advance(20);
        assert_eq!(rig.take_effects(), ["request result"]);
        rig.wire(WireEvent::ResultUnknown { goal });
        assert_eq!(
            rig.take_effects(),
            ["ResultLost", "notify ResultLost", "cancel #1"]
        );
        rig.cancel_answer(goal, 1, CancelCode::UnknownGoal);
        rig.assert_idle();
    }

    #[test]
    fn g3_a_server_that_denies_a_goal_which_it_has_just_accepted_is_asked_again() {
        let mut rig = Rig::new();
        let ticket = rig.start(7);
        let goal = rig.sent_goal();
        rig.halt(ticket);
        rig.accept(goal);
        assert_eq!(
            rig.take_effects(),
            ["send 7", "AcceptedLate", "cancel #1", "request result"]
        );
        rig.cancel_answer(goal, 1, CancelCode::UnknownGoal);
        rig.wire(WireEvent::ResultUnknown { goal });
        assert!(!rig.is_stopped());
        rig.status(&[(goal, GoalStatus::Executing)]);
        rig.advance(50);
        assert_eq!(rig.take_effects(), ["cancel #2"]);
        rig.cancel_answer(goal, 2, CancelCode::None);
        rig.status(&[(goal, GoalStatus::Canceled)]);
        rig.assert_idle();
    }

    #[test]
    fn g3_a_server_that_was_out_of_reach_and_that_denied_a_goal_before_is_asked_again() {
        let mut rig = Rig::new();
        let (ticket, goal) = rig.start_accepted(7);
        rig.halt(ticket);
        rig.server_gone();
        rig.server_back();
        // The answer to a cancel that arrived before the server had noted the goal.
        rig.cancel_answer(goal, 1, CancelCode::UnknownGoal);
        assert!(!rig.is_stopped());
        rig.status(&[(goal, GoalStatus::Canceled)]);
        rig.assert_idle();
    }

    #[test]
    fn g6_a_leaf_goes_on_whose_goal_was_denied_before_it_was_noted() {
        let mut rig = Rig::new();
        let (_, goal) = rig.start_accepted(7);
        rig.wire(WireEvent::ResultUnknown { goal });
        rig.status(&[(goal, GoalStatus::Executing)]);
        rig.advance(4_000);
        assert_eq!(rig.take_effects(), NOTHING);
        rig.status(&[(goal, GoalStatus::Succeeded)]);
        rig.advance(20);
        assert_eq!(rig.take_effects(), ["request result"]);
        rig.result(goal, TerminalStatus::Succeeded);
        assert_eq!(rig.take_effects(), ["notify Succeeded(9)"]);
        rig.assert_idle();
    }

    #[test]
    fn g6_a_leaf_goes_on_whose_goal_was_denied_before_it_was_noted_and_shown_before_the_denial_came() {
        let mut rig = Rig::new();
        let (_, goal) = rig.start_accepted(7);
        rig.status(&[(goal, GoalStatus::Executing)]);
        rig.wire(WireEvent::ResultUnknown { goal });
        assert_eq!(rig.take_effects(), ["request result"]);
        rig.advance(4_000);
        assert_eq!(
            rig.take_effects(),
            NOTHING,
            "the server answers when the goal ends"
        );
        rig.result(goal, TerminalStatus::Succeeded);
        assert_eq!(rig.take_effects(), ["notify Succeeded(9)"]);
        rig.assert_idle();
        // The goal has ended by then.
        let (_, goal) = rig.start_accepted(7);
        rig.status(&[(goal, GoalStatus::Succeeded)]);
        rig.wire(WireEvent::ResultUnknown { goal });
        assert_eq!(rig.take_effects(), ["request result"]);
        rig.result(goal, TerminalStatus::Succeeded);
        assert_eq!(rig.take_effects(), ["notify Succeeded(9)"]);
        // The second answer counts: the server was started again.
        let (_, goal) = rig.start_accepted(7);
        rig.status(&[(goal, GoalStatus::Executing)]);
        rig.wire(WireEvent::ResultUnknown { goal });
        rig.wire(WireEvent::ResultUnknown { goal });
        rig.advance(20);
        rig.effects.clear();
        rig.wire(WireEvent::ResultUnknown { goal });
        assert_eq!(
            rig.take_effects(),
            ["ResultLost", "notify ResultLost", "cancel #1"]
        );
    }

    #[test]
    fn a_duplicate_answer_counts_once() {
        let mut rig = Rig::new();
        let (_, goal) = rig.start_accepted(7);
        rig.wire(WireEvent::Accepted { server: SERVER, goal });
        rig.wire(WireEvent::Rejected { goal });
        assert_eq!(rig.take_effects(), NOTHING);
        rig.result(goal, TerminalStatus::Succeeded);
        rig.result(goal, TerminalStatus::Aborted);
        assert_eq!(rig.take_effects(), ["notify Succeeded(9)"]);
        rig.assert_idle();
    }

    #[test]
    fn g3_a_goal_whose_only_cancel_was_refused_was_cancelled_by_another_client() {
        let refused = || {
            let mut rig = Rig::new();
            let (ticket, goal) = rig.start_accepted(1);
            rig.halt(ticket);
            rig.cancel_answer(goal, 1, CancelCode::Rejected);
            assert_eq!(rig.take_effects(), ["cancel #1", "CancelRefused"]);
            (rig, goal)
        };
        let (mut rig, goal) = refused();
        rig.status(&[(goal, GoalStatus::Canceling)]);
        assert_eq!(rig.take_effects(), ["notify canceling"]);
        rig.result(goal, TerminalStatus::Canceled);
        rig.assert_idle();
        // The second cancel may have been accepted.
        let (mut rig, goal) = refused();
        rig.advance(50);
        rig.status(&[(goal, GoalStatus::Canceling)]);
        assert_eq!(rig.take_effects(), ["cancel #2"]);
    }

    #[test]
    fn g3_a_list_shows_the_cancel_of_another_client_also_after_the_end_of_its_goal() {
        use TerminalStatus::{Aborted, Canceled, Succeeded};
        let only_cancel = [
            None,
            Some(CancelCode::GoalTerminated),
            Some(CancelCode::Rejected),
            Some(CancelCode::None),
        ];
        for (answer, end, is_list_first) in only_cancel
            .into_iter()
            .flat_map(|answer| [Aborted, Canceled, Succeeded].map(|end| (answer, end)))
            .flat_map(|(answer, end)| [true, false].map(|is_list_first| (answer, end, is_list_first)))
        {
            let case = format!("{answer:?}, {end:?}, {is_list_first}");
            let mut rig = Rig::new();
            let (ticket, goal) = rig.start_accepted(7);
            if let Some(code) = answer {
                rig.halt(ticket);
                rig.cancel_answer(goal, 1, code);
            }
            rig.effects.clear();
            let list = [(goal, GoalStatus::Canceling)];
            if is_list_first {
                rig.status(&list);
            }
            rig.result(goal, end);
            // A server repeats its list when another goal changes.
            rig.status(&list);
            rig.status(&list);
            let effects = rig.take_effects();
            let told =
                |effect: &&String| *effect == "notify canceling" || effect.starts_with("notify Canceled");
            let count = effects.iter().filter(told).count();
            // The end of a goal that its server shows canceling is told as it is.
            let both = answer.is_none() && end == Canceled && is_list_first;
            let expected = match answer {
                Some(CancelCode::None) => 0,
                _ => 1 + usize::from(both),
            };
            assert_eq!(count, expected, "{case}: {effects:?}");
            rig.assert_idle();
        }
    }
}
