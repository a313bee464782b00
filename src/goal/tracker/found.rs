//! Adopted goals: left by an earlier run, given up, or denied.

use std::sync::Arc;

use super::{Entry, GoalTracker, ListedEnd, Lost};
use crate::bt::Time;
use crate::goal::{ActionGoal, Effect, Found, GoalEvent, GoalId, GoalStatus, IncidentKind, ServerId};

/// Maximum number of adopted goals. A server may show any number; a later list shows the remaining ones after some of
/// these have ended.
const MAX_ADOPTED: usize = 256;

impl<P> GoalTracker<P> {
    pub(super) fn status(
        &mut self,
        server: ServerId,
        goals: &[(GoalId, GoalStatus)],
        now: Time,
        out: &mut Vec<Effect<P>>,
    ) {
        let mut left = Vec::new();
        for (goal, status) in goals {
            if let Some(entry) = self.goals.get_mut(goal) {
                entry.seen = true;
                entry.listed_end.see(*status);
                self.apply(*goal, GoalEvent::Status(*status), None, now, out);
            } else if let Some(ended) = self.ended_goal(*goal) {
                ended.listed_end.see(*status);
                if *status == GoalStatus::Canceling {
                    self.ended_goal_is_canceling(*goal, now, out);
                } else if ended.listed_end == ListedEnd::ActiveAgain {
                    self.adopt_if_room(server, *goal, IncidentKind::ActiveAfterEnd, now, out);
                }
            } else if !status.is_active() {
                self.forget_lost(*goal);
            } else if self.ids.is_own(*goal) || self.is_lost(*goal) {
                // The goal was given up, with or without its acceptance and its server.
                self.adopt_if_room(server, *goal, IncidentKind::FoundAfterGivingUp, now, out);
            } else if self.ids.is_predecessor(*goal) {
                left.push(*goal);
            }
        }
        let known = self.servers.entry(server).or_default();
        known.adoption.see(left, known.present, self.may_adopt, now);
        let is_missing = |lost: &Lost| {
            lost.server == server && lost.accepted && !goals.iter().any(|(listed, _)| *listed == lost.goal)
        };
        // The list may be of another server with the same name. A lone server ends the goal by its answer to a cancel.
        let denied = |lost: &&Lost| is_missing(lost) && lost.what == IncidentKind::GaveUpDenied;
        let denied: Vec<GoalId> = self.lost.iter().filter(denied).map(|lost| lost.goal).collect();
        // Another lost goal that the list lacks has ended, unless it may still be accepted.
        self.lost
            .retain(|lost| !is_missing(lost) || lost.what == IncidentKind::GaveUpDenied);
        if self.shut_down.is_none() && self.is_present(server) {
            for goal in denied {
                self.adopt(server, goal, IncidentKind::RetriedAfterGivingUp, now, out);
            }
        }
        let missing =
            self.goals_in_order(|entry| entry.server == server && entry.seen && entry.goal.is_accepted());
        for goal in missing {
            if !goals.iter().any(|(listed, _)| *listed == goal) {
                self.apply(goal, GoalEvent::StatusMissing, None, now, out);
            }
        }
    }

    /// Starts or stops adoption. Status lists received before count, because servers may not repeat them.
    pub(super) fn allow_adoption(&mut self, allowed: bool, now: Time, out: &mut Vec<Effect<P>>) {
        let allowed = allowed && self.shut_down.is_none();
        if allowed != self.may_adopt {
            self.may_adopt = allowed;
            for server in self.servers.values_mut() {
                server.adoption.reopen_window();
            }
            self.adopt_due(now, out);
        }
    }

    /// Cancels the goals of an earlier run whose delay has passed.
    pub(super) fn adopt_due(&mut self, now: Time, out: &mut Vec<Effect<P>>) {
        if !self.may_adopt {
            return;
        }
        let mut due = Vec::new();
        for (server, known) in self.servers.iter_mut().filter(|(_, known)| known.present) {
            let goals = known.adoption.take_due(now).into_iter();
            due.extend(goals.map(|goal| (*server, goal)));
        }
        // A newer event about a goal overrides the list.
        due.retain(|(_, goal)| !self.goals.contains_key(goal) && !self.has_ended(*goal));
        due.truncate(self.room_for_adopted());
        for (server, goal) in due {
            self.adopt(server, goal, IncidentKind::Adopted, now, out);
        }
    }

    /// Adopts a goal that a list shows. A later list shows it again if there are too many now.
    pub(super) fn adopt_if_room(
        &mut self,
        server: ServerId,
        goal: GoalId,
        what: IncidentKind,
        now: Time,
        out: &mut Vec<Effect<P>>,
    ) {
        if self.room_for_adopted() > 0 {
            self.adopt(server, goal, what, now, out);
        }
    }

    fn room_for_adopted(&self) -> usize {
        let adopted = self.goals.values().filter(|entry| entry.ticket.is_none());
        MAX_ADOPTED.saturating_sub(adopted.count())
    }

    fn is_lost(&self, goal: GoalId) -> bool {
        self.lost.iter().any(|lost| lost.goal == goal)
    }

    pub(super) fn forget_lost(&mut self, goal: GoalId) -> Option<Lost> {
        let index = self.lost.iter().position(|lost| lost.goal == goal)?;
        self.lost.remove(index)
    }

    /// Cancels the lost goals of a server that is back. A cancel that was sent during its absence is lost, and its list
    /// is not new: some middleware (Fast DDS 2.14) never delivers a list twice to the same reader, however long the
    /// connection was lost.
    pub(super) fn retry_lost(&mut self, server: ServerId, now: Time, out: &mut Vec<Effect<P>>) {
        let lost: Vec<GoalId> = self
            .lost
            .iter()
            // A goal whose repeated cancels had no effect and that was never seen most likely never arrived. It is not
            // tried at every return of its server; if it is accepted later, it is cancelled anyway.
            .filter(|lost| lost.server == server && (lost.accepted || !lost.retried))
            .map(|lost| lost.goal)
            .collect();
        for goal in lost {
            self.adopt(server, goal, IncidentKind::RetriedAfterGivingUp, now, out);
        }
    }

    /// Adopts a goal that is or may be on a server and must stop.
    pub(super) fn adopt(
        &mut self,
        server: ServerId,
        goal: GoalId,
        what: IncidentKind,
        now: Time,
        out: &mut Vec<Effect<P>>,
    ) {
        let mut steps = Vec::new();
        let lost = self.forget_lost(goal);
        let found = match what {
            IncidentKind::AcceptedAfterGivingUp => Found::Accepted,
            IncidentKind::RetriedAfterGivingUp if lost.as_ref().is_none_or(|lost| !lost.accepted) => {
                Found::Perhaps
            }
            _ => Found::Noted,
        };
        let (started_by, leaf, cancels) = match (lost, self.forget_ended(goal)) {
            (Some(lost), _) => (lost.started_by, lost.leaf, lost.cancels),
            (None, Some(ended)) => (ended.started_by, ended.leaf, ended.cancels),
            (None, None) => (None, Arc::from(""), 0),
        };
        let mut adopted = ActionGoal::adopted(self.options, found, cancels, now, &mut steps);
        if let Some(deadline) = self.shut_down {
            adopted.on(GoalEvent::ShutDown { deadline }, now, &mut steps);
        }
        let order = self.next_order();
        self.counters.adopted += u64::from(found != Found::Perhaps);
        self.goals.insert(
            goal,
            Entry {
                order,
                server,
                ticket: None,
                started_by,
                leaf,
                goal: adopted,
                payload: None,
                halted: None,
                seen: false,
                listed_end: ListedEnd::default(),
                lost: None,
            },
        );
        self.report(goal, what, out);
        self.carry_out(goal, &steps, None, now, out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::rig::{Rig, SERVER};
    use super::MAX_ADOPTED;
    use crate::goal::{CancelCode, Command, GoalId, GoalIds, GoalStatus, TerminalStatus, Ticket, WireEvent};
    use std::time::Duration;

    const NOTHING: [&str; 0] = [];

    #[test]
    fn g3_goal_accepted_after_it_was_given_up_is_cancelled() {
        let mut rig = Rig::new();
        let ticket = rig.start(7);
        let goal = rig.sent_goal();
        rig.halt(ticket);
        rig.advance(10_000);
        assert_eq!(rig.take_effects().last().unwrap(), "GaveUpUnanswered");
        rig.assert_idle();
        rig.accept(goal);
        assert_eq!(rig.take_effects(), ["AcceptedAfterGivingUp", "cancel #65537"]);
        // An answer to a cancel from before the adoption is still under way.
        rig.cancel_answer(goal, 3, CancelCode::UnknownGoal);
        assert_eq!(rig.goal_tracker.live_goals().len(), 1);
        rig.status(&[(goal, GoalStatus::Canceled)]);
        rig.assert_idle();
    }

    #[test]
    fn g3_late_answer_about_a_goal_that_is_over_cancels_nothing() {
        let mut rig = Rig::new();
        let _ = rig.start(7);
        let goal = rig.sent_goal();
        rig.status(&[(goal, GoalStatus::Executing)]);
        rig.result(goal, TerminalStatus::Succeeded);
        rig.effects.clear();
        rig.accept(goal);
        assert_eq!(rig.take_effects(), NOTHING);
        assert_eq!(rig.goal_tracker.counters().late, 1);
        rig.assert_idle();
    }

    /// A rig that searches for goals of an earlier run for one second.
    fn adopting() -> Rig {
        let mut rig = Rig::new();
        rig.command(Command::Adopt {
            server: SERVER,
            window: Duration::from_secs(1),
            delay: Duration::from_millis(10),
        });
        rig
    }

    fn allow(rig: &mut Rig, allowed: bool) {
        rig.command(Command::AllowAdoption { allowed });
    }

    #[test]
    fn g3_goals_of_an_earlier_run_are_left_alone_until_they_may_be_cancelled() {
        let mut rig = adopting();
        let mut before = GoalIds::new(1, 77);
        let (over, left) = (before.next_id(), before.next_id());
        rig.status(&[(over, GoalStatus::Executing), (left, GoalStatus::Executing)]);
        rig.advance(100_000);
        rig.status(&[(over, GoalStatus::Succeeded), (left, GoalStatus::Executing)]);
        rig.advance(100_000);
        assert_eq!(rig.take_effects(), NOTHING);
        assert!(rig.goal_tracker.is_idle());
        allow(&mut rig, true);
        assert_eq!(rig.take_effects(), ["Adopted", "cancel #65537"]);
        rig.status(&[(left, GoalStatus::Canceled)]);
        rig.assert_idle();
    }

    #[test]
    fn g3_of_many_goals_of_an_earlier_run_some_are_cancelled_at_a_time() {
        let mut rig = adopting();
        let mut before = GoalIds::new(1, 77);
        let left: Vec<_> = (0..400)
            .map(|_| (before.next_id(), GoalStatus::Executing))
            .collect();
        rig.status(&left);
        assert_eq!(rig.goal_tracker.live_goals().len(), 0);
        allow(&mut rig, true);
        rig.advance(100);
        assert_eq!(rig.goal_tracker.live_goals().len(), MAX_ADOPTED);
        let mut list = left.clone();
        for (_, status) in &mut list[..MAX_ADOPTED] {
            *status = GoalStatus::Canceled;
        }
        rig.status(&list);
        rig.advance(100);
        assert_eq!(rig.goal_tracker.live_goals().len(), 400 - MAX_ADOPTED);
    }

    #[test]
    fn g3_goals_that_a_namesake_left_are_cancelled_when_it_is_gone_and_its_server_is_there() {
        let mut rig = adopting();
        allow(&mut rig, true);
        rig.status(&[]);
        rig.advance(100_000);
        allow(&mut rig, false);
        let goal = GoalIds::new(1, 77).next_id();
        rig.status(&[(goal, GoalStatus::Executing)]);
        rig.server_gone();
        allow(&mut rig, true);
        rig.advance(100_000);
        assert_eq!(rig.take_effects(), NOTHING, "its server is not there");
        rig.server_back();
        assert_eq!(rig.take_effects(), ["Adopted", "cancel #65537"]);
        rig.status(&[(goal, GoalStatus::Canceled)]);
        rig.assert_idle();
    }

    #[test]
    fn g3_a_node_that_is_found_on_the_graph_after_its_goals_keeps_them() {
        let mut rig = adopting();
        allow(&mut rig, true);
        rig.status(&[(GoalIds::new(1, 77).next_id(), GoalStatus::Executing)]);
        rig.advance(9);
        allow(&mut rig, false);
        rig.advance(100_000);
        assert_eq!(rig.take_effects(), NOTHING);
        let deadline = rig.now + Duration::from_secs(1);
        rig.command(Command::ShutDown { deadline });
        allow(&mut rig, true);
        assert_eq!(rig.take_effects(), NOTHING);
        rig.assert_idle();
    }

    #[test]
    fn g3_goals_of_an_earlier_run_are_not_cancelled_without_permission() {
        let mut rig = Rig::new();
        rig.status(&[(GoalIds::new(1, 77).next_id(), GoalStatus::Executing)]);
        allow(&mut rig, true);
        rig.advance(100_000);
        assert_eq!(rig.take_effects(), NOTHING);
        rig.assert_idle();
    }

    #[test]
    fn g3_goals_of_an_earlier_run_are_adopted_and_cancelled_strangers_are_not() {
        let mut rig = adopting();
        allow(&mut rig, true);
        let before = GoalIds::new(1, 77).next_id();
        let stranger = GoalIds::new(2, 77).next_id();
        rig.status(&[
            (before, GoalStatus::Executing),
            (stranger, GoalStatus::Executing),
            (GoalId([9; 16]), GoalStatus::Accepted),
        ]);
        rig.advance(9);
        assert_eq!(rig.take_effects(), NOTHING);
        rig.advance(1);
        assert_eq!(rig.take_effects(), ["Adopted", "cancel #65537"]);
        rig.status(&[(before, GoalStatus::Canceled)]);
        rig.assert_idle();
        rig.advance(1_001);
        rig.status(&[(GoalIds::new(1, 78).next_id(), GoalStatus::Executing)]);
        assert_eq!(rig.take_effects(), NOTHING);
    }

    #[test]
    fn g3_goals_of_an_earlier_run_are_looked_for_from_the_first_list_on_and_again_after_the_server_vanished()
    {
        let mut rig = adopting();
        allow(&mut rig, true);
        // The wire is cut for longer than the search window and any tracking.
        rig.advance(100_000);
        let mut before = GoalIds::new(1, 77);
        let (early, late) = (before.next_id(), before.next_id());
        rig.status(&[(early, GoalStatus::Executing)]);
        rig.advance(10);
        assert_eq!(rig.take_effects(), ["Adopted", "cancel #65537"]);
        rig.status(&[(early, GoalStatus::Canceled)]);
        rig.advance(100_000);
        rig.status(&[(early, GoalStatus::Canceled), (late, GoalStatus::Executing)]);
        assert_eq!(rig.take_effects(), NOTHING);
        rig.server_gone();
        rig.server_back();
        rig.status(&[(early, GoalStatus::Canceled), (late, GoalStatus::Executing)]);
        rig.advance(10);
        assert_eq!(rig.take_effects(), ["Adopted", "cancel #65537"]);
        rig.result(late, TerminalStatus::Canceled);
        rig.assert_idle();
    }

    /// The ways to give up a goal that may be executing, each with its incident.
    type Loss = fn(&mut Rig, GoalId);
    const LOSSES: [(Loss, &str); 4] = [
        (|rig, _| rig.server_gone(), "GaveUpUnreachable"),
        (
            |rig, goal| {
                rig.accept(goal);
                rig.server_gone();
            },
            "GaveUpUnreachable",
        ),
        // Its acceptance was lost.
        (|_, _| {}, "GaveUpUnanswered"),
        // Its cancels were lost.
        (|rig, goal| rig.accept(goal), "GaveUpStopping"),
    ];

    fn lose(loss: Loss, abandoned: &str) -> (Rig, Ticket, GoalId) {
        let mut rig = Rig::new();
        let ticket = rig.start(7);
        let goal = rig.sent_goal();
        loss(&mut rig, goal);
        rig.halt(ticket);
        rig.advance(10_000);
        assert_eq!(rig.take_effects().last().unwrap(), abandoned);
        rig.advance(100_000);
        (rig, ticket, goal)
    }

    #[test]
    fn g3_a_goal_that_was_given_up_is_stopped_whenever_it_is_seen_again() {
        for (loss, abandoned) in LOSSES {
            let (mut rig, ticket, goal) = lose(loss, abandoned);
            rig.status(&[(goal, GoalStatus::Executing)]);
            assert_eq!(rig.take_effects(), ["FoundAfterGivingUp", "cancel #65537"]);
            let [live] = rig.goal_tracker.live_goals().try_into().unwrap();
            assert_eq!(&*live.leaf, "tree/leaf");
            assert_eq!(
                live.ticket,
                Some(ticket),
                "its session's client is told of it as before"
            );
            rig.cancel_answer(goal, 65_537, CancelCode::None);
            rig.status(&[(goal, GoalStatus::Canceled)]);
            rig.assert_idle();
        }
    }

    #[test]
    fn g3_a_goal_that_was_given_up_is_cancelled_again_when_its_server_is_back() {
        for (loss, abandoned) in LOSSES {
            let (mut rig, _, goal) = lose(loss, abandoned);
            rig.server_gone();
            rig.server_back();
            assert_eq!(rig.take_effects(), ["RetriedAfterGivingUp", "cancel #65537"]);
            rig.cancel_answer(goal, 65_537, CancelCode::None);
            rig.status(&[(goal, GoalStatus::Canceled)]);
            rig.assert_idle();
            rig.effects.clear();
            rig.server_gone();
            rig.server_back();
            assert_eq!(rig.take_effects(), NOTHING, "it is over");
        }
    }

    #[test]
    fn g3_a_goal_whose_request_was_never_answered_may_be_accepted_after_its_server_was_back() {
        let (mut rig, _, goal) = lose(|_, _| {}, "GaveUpUnanswered");
        rig.server_gone();
        rig.server_back();
        // Too early; the goal is given up once more.
        rig.cancel_answer(goal, 65_537, CancelCode::UnknownGoal);
        rig.advance(10_000);
        assert_eq!(rig.take_effects().last().unwrap(), "GaveUpUnanswered");
        rig.advance(100_000);
        rig.server_gone();
        rig.server_back();
        assert_eq!(
            rig.take_effects(),
            NOTHING,
            "a request that was lost is not looked for at every return"
        );
        rig.accept(goal);
        assert_eq!(rig.take_effects(), ["AcceptedAfterGivingUp", "cancel #131073"]);
        // The cancel was sent before the acceptance: no proof.
        rig.cancel_answer(goal, 65_599, CancelCode::UnknownGoal);
        assert_eq!(rig.goal_tracker.live_goals().len(), 1);
        // The server answered at once and may not have noted the goal.
        rig.cancel_answer(goal, 131_073, CancelCode::UnknownGoal);
        assert_eq!(rig.goal_tracker.live_goals().len(), 1);
        rig.advance(50);
        rig.cancel_answer(goal, 131_074, CancelCode::UnknownGoal);
        rig.assert_idle();
    }

    #[test]
    fn g3_a_goal_request_that_was_lost_with_its_server_ends_without_a_report_if_the_next_server_denies_it() {
        for given_up_before in [false, true] {
            let mut rig = Rig::new();
            let ticket = rig.start(7);
            let goal = rig.sent_goal();
            rig.halt(ticket);
            if given_up_before {
                rig.advance(10_000);
                assert_eq!(rig.take_effects().last().unwrap(), "GaveUpUnanswered");
            }
            rig.server_gone();
            rig.server_back();
            while !rig.goal_tracker.is_idle() {
                let effects = rig.take_effects();
                assert!(!effects.iter().any(|line| line.starts_with("GaveUp")));
                if let Some(attempt) = effects.last().and_then(|line| line.strip_prefix("cancel #")) {
                    rig.cancel_answer(goal, attempt.parse().unwrap(), CancelCode::UnknownGoal);
                }
                rig.advance(10);
            }
            assert_eq!(rig.take_effects(), NOTHING);
            // If the request arrives after all, its goal is stopped.
            rig.accept(goal);
            assert_eq!(rig.take_effects()[0], "AcceptedAfterGivingUp");
        }
    }

    #[test]
    fn g8_no_result_waits_for_a_goal_request_that_was_lost_with_its_server() {
        let mut rig = Rig::new();
        let ticket = rig.start(7);
        let goal = rig.sent_goal();
        rig.halt(ticket);
        rig.server_gone();
        rig.server_back();
        let delays = |rig: &Rig| rig.goal_tracker.live_goals()[0].delays_result(|_| true);
        assert!(delays(&rig), "the request may still arrive");
        let attempt = |rig: &mut Rig| {
            let effects = rig.take_effects();
            let cancel = effects.last().and_then(|line| line.strip_prefix("cancel #"));
            cancel.unwrap().parse().unwrap()
        };
        let first = attempt(&mut rig);
        rig.cancel_answer(goal, first, CancelCode::UnknownGoal);
        assert!(!delays(&rig));
        // The next cancel is on its way.
        rig.advance(1_000);
        attempt(&mut rig);
        assert!(!delays(&rig));
        rig.server_gone();
        rig.server_back();
        assert!(delays(&rig), "the third server has not answered yet");
        rig.accept(goal);
        assert!(delays(&rig));
    }

    #[test]
    fn g3_a_list_of_one_of_two_servers_is_no_proof_of_the_end_of_a_goal_that_this_one_denies() {
        let (mut rig, _, goal) = lose(
            |rig, goal| {
                rig.accept(goal);
                rig.server_gone();
                rig.server_back();
                rig.advance(100);
                rig.cancel_answer(goal, 4, CancelCode::UnknownToOne);
            },
            "GaveUpDenied",
        );
        // The other server answers.
        rig.status(&[]);
        assert_eq!(rig.take_effects(), ["RetriedAfterGivingUp", "cancel #65537"]);
        rig.cancel_answer(goal, 65_537, CancelCode::UnknownToOne);
        assert!(
            rig.goal_tracker.live_goals()[0].is_left_by(|_| false),
            "its client is told of it as before"
        );
        rig.advance(10_000);
        assert_eq!(rig.take_effects().last().unwrap(), "GaveUpDenied");
        // It is alone now.
        rig.status(&[]);
        let effects = rig.take_effects();
        assert_eq!(effects[0], "RetriedAfterGivingUp");
        let attempt = effects[1].strip_prefix("cancel #").unwrap().parse().unwrap();
        rig.cancel_answer(goal, attempt, CancelCode::UnknownGoal);
        rig.assert_idle();
        rig.effects.clear();
        rig.status(&[]);
        assert_eq!(rig.take_effects(), NOTHING);
    }

    #[test]
    fn g3_a_goal_that_was_given_up_and_is_over_is_left_alone() {
        let overs: [Loss; 4] = [
            |rig, goal| rig.status(&[(goal, GoalStatus::Aborted)]),
            |rig, _| rig.status(&[]),
            |rig, goal| rig.result(goal, TerminalStatus::Succeeded),
            |rig, goal| rig.wire(WireEvent::ResultUnknown { goal }),
        ];
        for over in overs {
            let (mut rig, _, goal) = lose(LOSSES[1].0, LOSSES[1].1);
            over(&mut rig, goal);
            rig.server_back();
            assert_eq!(rig.take_effects(), NOTHING);
            rig.assert_idle();
        }
    }

    #[test]
    fn g3_a_list_that_was_overtaken_by_its_goals_end_cancels_nothing() {
        let mut rig = Rig::new();
        let (_, goal) = rig.start_accepted(7);
        rig.result(goal, TerminalStatus::Succeeded);
        rig.effects.clear();
        rig.status(&[(goal, GoalStatus::Executing)]);
        assert_eq!(rig.take_effects(), NOTHING);
        rig.assert_idle();
    }

    /// The first server has ended the goal when the second one accepts it.
    #[test]
    fn g3_a_goal_that_a_second_server_begins_after_the_end_is_cancelled() {
        let listed = |status| move |rig: &mut Rig, goal| rig.status(&[(goal, status)]);
        let (begun, over) = (listed(GoalStatus::Executing), listed(GoalStatus::Aborted));
        let result = |rig: &mut Rig, goal| rig.result(goal, TerminalStatus::Aborted);
        // What arrives until then. The first list of the second case was sent before the end.
        type Event<'a> = &'a dyn Fn(&mut Rig, GoalId);
        let orders: [[Event<'_>; 4]; 3] = [
            [&over, &result, &begun, &begun],
            [&result, &begun, &over, &begun],
            [&over, &begun, &begun, &result],
        ];
        for order in orders {
            let mut rig = Rig::new();
            let (_, goal) = rig.start_accepted(7);
            order.iter().for_each(|event| event(&mut rig, goal));
            let effects = rig.take_effects().join(", ");
            assert!(effects.contains("ActiveAfterEnd, cancel #65537"), "{effects}");
            assert_eq!(rig.goal_tracker.live_goals()[0].leaf.as_ref(), "tree/leaf");
            over(&mut rig, goal);
            rig.assert_idle();
            begun(&mut rig, goal);
            assert_eq!(rig.take_effects(), ["ActiveAfterEnd", "cancel #131073"]);
        }
    }

    #[test]
    fn g3_a_goal_that_a_second_server_begins_before_the_answer_to_a_cancel_is_cancelled() {
        let mut rig = Rig::new();
        let (ticket, goal) = rig.start_accepted(7);
        rig.halt(ticket);
        rig.status(&[(goal, GoalStatus::Canceled)]);
        rig.status(&[(goal, GoalStatus::Executing)]);
        rig.effects.clear();
        rig.cancel_answer(goal, 1, CancelCode::None);
        assert_eq!(rig.take_effects(), ["ActiveAfterEnd", "cancel #65537"]);
    }

    #[test]
    fn g3_a_rejected_goal_that_the_server_lists_as_active_is_cancelled() {
        let mut rig = Rig::new();
        let (ticket, goal) = rig.start_accepted(7);
        rig.status(&[(goal, GoalStatus::Executing)]);
        rig.halt(ticket);
        rig.cancel_answer(goal, 1, CancelCode::UnknownGoal);
        rig.assert_idle();
        rig.effects.clear();
        rig.status(&[(goal, GoalStatus::Executing)]);
        assert_eq!(rig.take_effects(), ["FoundAfterGivingUp", "cancel #65537"]);
        rig.status(&[(goal, GoalStatus::Canceled)]);
        rig.assert_idle();
    }
}
