//! The order of requests: goals behind stopping goals (G5), goals behind an absent server, and updates.

use std::sync::Arc;

use super::{Entry, GoalTracker, Leaf, ListedEnd};
use crate::bt::Time;
use crate::goal::{
    ActionGoal, CallEvent, Effect, GoalEvent, GoalId, GoalOptions, Phase, ServerId, Ticket, UpdatePolicy,
};

impl<P> GoalTracker<P> {
    pub(super) fn start(
        &mut self,
        ticket: Ticket,
        server: ServerId,
        leaf: Arc<str>,
        payload: P,
        options: GoalOptions,
    ) -> GoalId {
        let id = self.ids.next_id();
        let order = self.next_order();
        self.goals.insert(
            id,
            Entry {
                order,
                server,
                ticket: Some(ticket),
                started_by: Some(ticket),
                leaf,
                goal: ActionGoal::new(options),
                payload: Some(payload),
                halted: None,
                seen: false,
                listed_end: ListedEnd::default(),
                lost: None,
            },
        );
        id
    }

    /// Whether the next goal on a server waits: goals there are stopping (G5), or a Cancel node waits for its answer.
    fn is_held_back(&self, server: ServerId) -> bool {
        let mut goals = self.goals.values();
        goals.any(|entry| entry.server == server && entry.goal.holds_back()) || self.is_canceling(server)
    }

    pub(super) fn server_gone(&mut self, server: ServerId, now: Time, out: &mut Vec<Effect<P>>) {
        let entry = self.servers.entry(server).or_default();
        if !entry.present {
            return;
        }
        entry.present = false;
        entry.adoption.reopen_window();
        for goal in self.goals_in_order(|entry| entry.server == server) {
            if let Some(entry) = self.goals.get_mut(&goal) {
                entry.seen = false;
            }
            self.apply(goal, GoalEvent::ServerGone, None, now, out);
            self.withdraw(goal, now, out);
        }
        for ticket in self.calls_on(server) {
            // A call that has not left does not count as unanswered; its leaf is notified anyway.
            self.take_back_call(ticket, out);
            self.apply_call(ticket, CallEvent::ServerGone, None, now, out);
        }
    }

    pub(super) fn server_back(&mut self, server: ServerId, now: Time, out: &mut Vec<Effect<P>>) {
        let entry = self.servers.entry(server).or_default();
        if entry.present {
            return;
        }
        entry.present = true;
        // Cancels of goals that it may still be executing go first (G2). The goals that waited for the server are released
        // afterwards, and wait for those that stop (G5).
        for goal in self.goals_in_order(|entry| entry.server == server) {
            self.apply(goal, GoalEvent::ServerBack, None, now, out);
        }
        self.retry_lost(server, now, out);
        self.adopt_due(now, out);
        for ticket in self.calls_on(server) {
            self.apply_call(ticket, CallEvent::ServerBack, None, now, out);
        }
    }

    /// Called after every event: removes ended goals, and sends the goals and updates that may be sent.
    pub(super) fn settle(&mut self, now: Time, out: &mut Vec<Effect<P>>) {
        self.drop_ended(now, out);
        self.release(now, out);
        self.update(now, out);
        self.drop_ended(now, out);
    }

    pub(super) fn release(&mut self, now: Time, out: &mut Vec<Effect<P>>) {
        for goal in self.goals_in_order(|entry| entry.goal.phase() == Phase::Queued) {
            let Some(entry) = self.goals.get(&goal) else {
                continue;
            };
            // Its tree may not know yet that another client has cancelled a goal (G3).
            let must_read = entry
                .ticket
                .is_some_and(|ticket| self.has_unread_cancel(ticket.link()));
            if !must_read && !self.is_held_back(entry.server) {
                let present = self.is_present(entry.server);
                self.apply(goal, GoalEvent::Release { present }, None, now, out);
            }
        }
    }

    /// Sends coalesced updates. An update waits while the goal before it is unanswered, and while the goal before that
    /// is ending: an activation has at most two goals on its server. If another client cancels the goal, the update
    /// waits for the result, because the robot should stop.
    pub(super) fn update(&mut self, now: Time, out: &mut Vec<Effect<P>>) {
        let waiting: Vec<Ticket> = self
            .leaves
            .iter()
            .filter(|(_, leaf)| leaf.update.is_some())
            .map(|(ticket, _)| *ticket)
            .collect();
        for ticket in waiting {
            if self.has_unread_cancel(ticket.link()) {
                continue;
            }
            let Some(leaf) = self.leaves.get_mut(&ticket) else {
                continue;
            };
            let (options, current) = (leaf.options, leaf.current);
            let Some(entry) = self.goals.get_mut(&current) else {
                continue;
            };
            if entry.goal.is_canceled_by_another() {
                continue;
            }
            match entry.goal.phase() {
                // Not sent yet: the newer goal is sent in its place.
                Phase::Queued | Phase::Absent => entry.payload = leaf.apply_update(),
                // The newer goal leaves after the messages that its leaf has published before it.
                Phase::Sent => {
                    if !self.take_back(current, out) {
                        continue;
                    }
                    let newer = self.leaves.get_mut(&ticket).and_then(Leaf::apply_update);
                    if let Some(entry) = self.goals.get_mut(&current) {
                        entry.payload = newer;
                    }
                    self.apply(current, GoalEvent::TakenBack, None, now, out);
                    self.release(now, out);
                }
                // The goal has ended and its result is under way. That result belongs to the earlier goal.
                Phase::Executing | Phase::Finishing => {
                    let (server, name) = (entry.server, entry.leaf.clone());
                    // A Cancel node may be about to cancel the goal.
                    if self.is_canceling(server) {
                        continue;
                    }
                    let two = self
                        .goals
                        .iter()
                        .any(|(other, entry)| *other != current && entry.ticket == Some(ticket));
                    if two {
                        continue;
                    }
                    let payload = self.leaves.get_mut(&ticket).and_then(Leaf::apply_update);
                    let Some(payload) = payload else {
                        continue;
                    };
                    let event = match options.update {
                        UpdatePolicy::ServerPreempts => GoalEvent::Replace,
                        UpdatePolicy::CancelFirst => GoalEvent::Halt,
                    };
                    self.apply(current, event, None, now, out);
                    let next = self.start(ticket, server, name, payload, options);
                    if let Some(leaf) = self.leaves.get_mut(&ticket) {
                        leaf.current = next;
                    }
                    self.release(now, out);
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Counters;
    use super::super::rig::{Rig, options};
    use crate::bt::HaltReason;
    use crate::goal::{
        CancelCode, Command, GoalId, GoalOptions, GoalStatus, LinkId, ServerId, TerminalStatus, Ticket,
        UpdatePolicy, WireEvent,
    };

    const NOTHING: [&str; 0] = [];

    #[test]
    fn g5_start_waits_until_the_stopping_goal_is_over() {
        let mut rig = Rig::new();
        let (first, goal) = rig.start_accepted(1);
        rig.halt(first);
        let _ = rig.start(2);
        assert_eq!(rig.take_effects(), ["cancel #1"]);
        rig.accept_cancel(goal);
        rig.status(&[(goal, GoalStatus::Canceled)]);
        assert_eq!(rig.take_effects(), ["send 2"]);
    }

    #[test]
    fn g5_start_waits_until_it_is_known_who_cancelled_the_goal_before() {
        for is_answered in [true, false] {
            let mut rig = Rig::new();
            let (first, goal) = rig.start_accepted(1);
            rig.halt(first);
            let _ = rig.start(2);
            rig.result(goal, TerminalStatus::Canceled);
            assert_eq!(rig.take_effects(), ["cancel #1"]);
            assert!(!rig.is_stopped());
            if is_answered {
                rig.accept_cancel(goal);
            } else {
                rig.advance(50);
            }
            assert_eq!(rig.take_effects(), ["send 2"], "{is_answered}");
        }
    }

    /// Another client cancels the goal of a halted leaf, and the next goal waits for it.
    #[test]
    fn g3_no_goal_is_sent_before_the_world_has_read_that_another_client_has_cancelled_one() {
        type Events = fn(&mut Rig, GoalId);
        let terminated: Events = |rig, goal| rig.cancel_answer(goal, 1, CancelCode::GoalTerminated);
        let canceling: Events = |rig, goal| rig.status(&[(goal, GoalStatus::Canceling)]);
        let result: Events = |rig, goal| rig.result(goal, TerminalStatus::Canceled);
        let canceled: Events = |rig, goal| rig.status(&[(goal, GoalStatus::Canceled)]);
        // Before the halt of the leaf, and after it.
        let orders: [(&[Events], &[Events]); 6] = [
            (&[canceling], &[result]),
            (&[canceling], &[canceled]),
            (&[], &[terminated, result]),
            (&[], &[terminated, canceled]),
            (&[], &[result, terminated]),
            (&[], &[canceled, terminated]),
        ];
        for (before, after) in orders {
            for is_halted in [true, false] {
                let mut rig = Rig::new();
                let (first, goal) = rig.start_accepted(1);
                for event in before {
                    event(&mut rig, goal);
                }
                rig.halt(first);
                let second = rig.start(2);
                for event in after {
                    event(&mut rig, goal);
                }
                rig.advance(10_000);
                let effects = rig.take_effects();
                let told = effects.iter().filter(|effect| *effect == "notify canceling");
                assert_eq!(told.count(), 1, "{effects:?}");
                assert!(!effects.contains(&"send 2".to_owned()), "{effects:?}");
                if is_halted {
                    rig.halt(second);
                }
                rig.read_cancel(first);
                let sent: &[&str] = if is_halted { &[] } else { &["send 2"] };
                assert_eq!(rig.take_effects(), sent);
            }
        }
    }

    #[test]
    fn g3_what_a_tick_starts_that_does_not_know_of_a_cancel_is_not_sent_before_its_world_has_read_it() {
        let mut rig = Rig::new();
        let (first, goal) = rig.start_accepted(1);
        let (second, _) = rig.start_accepted(2);
        // Another server is absent.
        let server = ServerId(2);
        rig.start_on(server, 3);
        rig.result(goal, TerminalStatus::Canceled);
        rig.effects.clear();
        rig.update(second, 4);
        let halted = rig.start(5);
        let _ = rig.start(6);
        rig.wire(WireEvent::ServerBack { server });
        rig.advance(1_000);
        assert_eq!(rig.take_effects(), NOTHING);
        rig.halt(halted);
        rig.read_cancel(first);
        assert_eq!(rig.take_effects(), ["send 3", "send 6", "send 4"]);
    }

    #[test]
    fn g3_a_world_does_not_wait_for_what_another_one_has_to_read() {
        let mut rig = Rig::new();
        let (_, goal) = rig.start_accepted(1);
        rig.result(goal, TerminalStatus::Canceled);
        rig.effects.clear();
        rig.tickets = Ticket(0).on(LinkId(1)).0;
        let _ = rig.start(2);
        assert_eq!(rig.take_effects(), ["send 2"]);
        // The first one has gone, and a new one has its number.
        rig.goal_tracker.unlink(LinkId(0), rig.now, &mut Vec::new());
        rig.tickets = 10;
        let _ = rig.start(3);
        assert_eq!(rig.take_effects(), ["send 3"]);
    }

    #[test]
    fn g3_a_goal_that_has_not_left_waits_until_a_cancel_of_another_client_is_read() {
        type Event = fn(&mut Rig, Ticket, GoalId);
        let events: [Event; 4] = [
            |rig, _, goal| rig.status(&[(goal, GoalStatus::Canceling)]),
            |rig, _, goal| rig.result(goal, TerminalStatus::Canceled),
            |rig, ticket, goal| {
                rig.halt(ticket);
                rig.status(&[(goal, GoalStatus::Canceling)]);
                rig.cancel_answer(goal, 1, CancelCode::GoalTerminated);
            },
            |rig, _, goal| {
                rig.result(goal, TerminalStatus::Succeeded);
                rig.status(&[(goal, GoalStatus::Canceling)]);
            },
        ];
        for event in events {
            let mut rig = Rig::new();
            let server = ServerId(2);
            rig.wire(WireEvent::ServerBack { server });
            let (first, goal) = rig.start_accepted(1);
            rig.effects.clear();
            // The thread was late: the goal arrives with the news.
            rig.batch(|rig| {
                rig.start_on(server, 2);
                event(rig, first, goal);
            });
            let sent = "send 2".to_owned();
            assert!(!rig.take_effects().contains(&sent));
            rig.read_cancel(first);
            assert_eq!(rig.take_effects(), [sent]);
        }
    }

    #[test]
    fn g5_a_goal_that_waited_for_its_world_waits_for_the_goals_that_stop_since_then() {
        let mut rig = Rig::new();
        let server = ServerId(2);
        rig.wire(WireEvent::ServerBack { server });
        rig.start_on(server, 1);
        let canceled = rig.sent_goal();
        let (second, stopping) = rig.start_accepted(2);
        rig.result(canceled, TerminalStatus::Canceled);
        let _ = rig.start(3);
        rig.halt(second);
        rig.effects.clear();
        rig.read_cancel(Ticket(1));
        assert_eq!(rig.take_effects(), NOTHING);
        rig.accept_cancel(stopping);
        rig.result(stopping, TerminalStatus::Canceled);
        assert_eq!(rig.take_effects(), ["send 3"]);
    }

    #[test]
    fn g5_start_waits_no_longer_than_the_cancel_timeout() {
        let mut rig = Rig::new();
        let (first, goal) = rig.start_accepted(1);
        rig.halt(first);
        rig.cancel_answer(goal, 1, CancelCode::None);
        let _ = rig.start(2);
        rig.advance(299);
        assert!(!rig.take_effects().contains(&"send 2".to_owned()));
        rig.advance(1);
        let effects = rig.take_effects();
        assert!(effects.contains(&"NotStoppedInTime".to_owned()));
        assert!(effects.contains(&"send 2".to_owned()));
    }

    #[test]
    fn g5_a_goal_waits_for_the_answer_to_the_request_of_a_cancel_node() {
        let mut rig = Rig::new();
        let request = rig.cancel_server();
        let _ = rig.start(2);
        assert_eq!(rig.take_effects(), ["cancel others"]);
        rig.server_canceled(request);
        assert_eq!(rig.take_effects(), ["notify CancelAnswered([])", "send 2"]);

        // The server does not answer.
        let mut rig = Rig::new();
        let _ = rig.cancel_server();
        let _ = rig.start(2);
        rig.advance(99);
        assert_eq!(rig.take_effects(), ["cancel others"]);
        rig.advance(1);
        assert!(rig.take_effects().contains(&"send 2".to_owned()));

        // All leaves were halted meanwhile.
        let mut rig = Rig::new();
        let request = rig.cancel_server();
        rig.command(Command::HaltAll {
            reason: HaltReason::Deactivated,
        });
        rig.command(Command::BeginSession);
        let _ = rig.start(2);
        assert_eq!(rig.take_effects(), ["cancel others"]);
        rig.server_canceled(request);
        assert_eq!(rig.take_effects(), ["send 2"]);

        // Both wait for the server.
        let mut rig = Rig::new();
        rig.server_gone();
        let request = rig.cancel_server();
        let _ = rig.start(2);
        rig.server_back();
        assert_eq!(rig.take_effects(), ["cancel others"]);
        rig.server_canceled(request);
        assert_eq!(rig.take_effects(), ["notify CancelAnswered([])", "send 2"]);
    }

    #[test]
    fn g5_a_leaf_that_is_halted_while_it_waits_never_sends() {
        let mut rig = Rig::new();
        let (first, goal) = rig.start_accepted(1);
        rig.halt(first);
        let second = rig.start(2);
        rig.halt(second);
        rig.accept_cancel(goal);
        rig.status(&[(goal, GoalStatus::Canceled)]);
        assert_eq!(rig.take_effects(), ["cancel #1"]);
        rig.assert_idle();
    }

    #[test]
    fn g5_a_waiting_leaf_that_is_halted_together_with_its_release_never_sends() {
        let mut rig = Rig::new();
        let (first, goal) = rig.start_accepted(1);
        rig.halt(first);
        rig.accept_cancel(goal);
        let second = rig.start(2);
        rig.effects.clear();
        let mut third = None;
        rig.batch(|rig| {
            rig.result(goal, TerminalStatus::Canceled);
            rig.halt(second);
            third = Some(rig.start(3));
        });
        // No sent request delays it.
        assert_eq!(rig.take_effects(), ["send 3"]);
        assert_eq!(rig.goal_tracker.counters().sent, 2);
        assert_eq!(rig.goal_tracker.open_tickets(), third.as_slice());
        assert_eq!(rig.goal_tracker.live_goals().len(), 1);
    }

    #[test]
    fn g3_a_goal_halted_before_it_is_sent_is_never_sent() {
        type Stop = fn(&mut Rig, Ticket);
        let stops: [Stop; 2] = [
            |rig, ticket| rig.halt(ticket),
            |rig, _| {
                let deadline = rig.now + Duration::from_secs(1);
                rig.command(Command::ShutDown { deadline });
            },
        ];
        for stop in stops {
            let mut rig = Rig::new();
            rig.batch(|rig| {
                let ticket = rig.start(1);
                stop(rig, ticket);
            });
            assert_eq!(rig.take_effects(), NOTHING, "the server is there");
            assert_eq!(rig.goal_tracker.counters(), Counters::default());
            rig.assert_idle();

            let mut rig = Rig::new();
            rig.server_gone();
            let ticket = rig.start(1);
            rig.batch(|rig| {
                rig.server_back();
                stop(rig, ticket);
            });
            assert_eq!(rig.take_effects(), NOTHING, "the server has just come back");
            assert_eq!(rig.goal_tracker.counters(), Counters::default());
            rig.assert_idle();
        }
    }

    #[test]
    fn g3_of_an_update_halted_at_once_only_sent_goals_are_cancelled() {
        let mut rig = Rig::new();
        let (ticket, first) = rig.start_accepted(1);
        rig.batch(|rig| {
            rig.update(ticket, 2);
            rig.halt(ticket);
        });
        assert_eq!(rig.take_effects(), ["cancel #1"]);
        assert_eq!(rig.goal_tracker.live_goals().len(), 1);
        rig.accept_cancel(first);
        rig.result(first, TerminalStatus::Canceled);
        rig.assert_idle();
    }

    #[test]
    fn g3_a_goal_whose_server_vanishes_before_it_is_sent_is_never_sent() {
        let mut rig = Rig::new();
        rig.batch(|rig| {
            let _ = rig.start(1);
            rig.server_gone();
            rig.server_back();
        });
        assert_eq!(rig.take_effects(), ["ServerGone", "notify ServerGone"]);
        rig.assert_idle();
    }

    #[test]
    fn updates_are_coalesced_until_the_goal_has_left() {
        let mut rig = Rig::new();
        rig.batch(|rig| {
            let ticket = rig.start(1);
            rig.update(ticket, 2);
            rig.update(ticket, 3);
        });
        assert_eq!(rig.take_effects(), ["send 3"]);
        let goal = rig.sent_goal();
        rig.accept(goal);
        assert_eq!(rig.take_effects(), ["notify accepted", "request result"]);
    }

    #[test]
    fn g5_a_goal_waits_also_for_goals_that_begin_to_stop_during_its_wait() {
        let mut rig = Rig::new();
        let (first, _) = rig.start_accepted(1);
        let (second, goal) = rig.start_accepted(2);
        rig.halt(first);
        let _ = rig.start(3);
        rig.advance(299);
        rig.halt(second);
        rig.advance(10);
        assert!(!rig.take_effects().contains(&"send 3".to_owned()));
        rig.accept_cancel(goal);
        rig.result(goal, TerminalStatus::Canceled);
        assert_eq!(rig.take_effects(), ["send 3"]);
    }

    #[test]
    fn g5_an_update_in_one_batch_with_a_cancel_waits_for_the_stop() {
        let mut rig = Rig::new();
        let (first, _) = rig.start_accepted(1);
        rig.batch(|rig| {
            let second = rig.start(2);
            rig.halt(first);
            rig.update(second, 3);
        });
        assert_eq!(rig.take_effects(), ["cancel #1"]);

        let mut rig = Rig::new();
        rig.batch(|rig| {
            let first = rig.start(1);
            let _ = rig.cancel_server();
            rig.update(first, 2);
        });
        assert_eq!(rig.take_effects(), ["cancel others"]);
    }

    #[test]
    fn an_update_waits_for_the_answer_to_a_cancel_node() {
        for is_answered in [true, false] {
            let mut rig = Rig::new();
            let (ticket, goal) = rig.start_accepted(1);
            rig.status(&[(goal, GoalStatus::Executing)]);
            let request = rig.cancel_server();
            rig.update(ticket, 2);
            rig.advance(99);
            assert_eq!(rig.take_effects(), ["cancel others"]);
            if is_answered {
                rig.server_canceled(request);
            } else {
                rig.advance(1);
            }
            assert!(rig.take_effects().contains(&"send 2".to_owned()));
        }
    }

    #[test]
    fn g2_an_update_leaves_after_the_message_that_its_leaf_published_before_it() {
        let mut rig = Rig::new();
        rig.batch(|rig| {
            let ticket = rig.start(1);
            rig.publish();
            rig.update(ticket, 2);
            rig.publish();
        });
        assert_eq!(rig.take_effects(), ["message", "send 2", "message"]);
        assert_eq!(rig.goal_tracker.counters().sent, 1);
    }

    #[test]
    fn g5_a_goal_that_a_returned_server_may_still_execute_is_stopped_first() {
        let mut rig = Rig::new();
        let (_, goal) = rig.start_accepted(1);
        rig.server_gone();
        let _ = rig.start(2);
        rig.effects.clear();
        rig.advance(50);
        rig.server_back();
        assert_eq!(rig.take_effects(), ["cancel #2"]);
        rig.cancel_answer(goal, 2, CancelCode::UnknownGoal);
        assert_eq!(rig.take_effects(), ["send 2"]);
    }

    #[test]
    fn g5_a_request_whose_server_vanished_and_returned_holds_back_the_next_for_two_cancels() {
        let mut rig = Rig::new();
        let _ = rig.start(1);
        let lost = rig.sent_goal();
        rig.server_gone();
        let _ = rig.start(2);
        rig.effects.clear();
        rig.server_back();
        rig.cancel_answer(lost, 2, CancelCode::UnknownGoal);
        rig.advance(99);
        assert_eq!(
            rig.take_effects(),
            ["cancel #2", "cancel #3"],
            "it may be the same server"
        );
        rig.advance(1);
        assert_eq!(rig.take_effects(), ["NotStoppedInTime", "cancel #4", "send 2"]);
        // It was under way nevertheless.
        rig.accept(lost);
        assert_eq!(rig.take_effects()[..2], ["AcceptedLate", "cancel #5"]);
    }

    #[test]
    fn g6_absent_server_is_a_failure_within_the_absent_timeout() {
        let mut rig = Rig::new();
        rig.server_gone();
        let _ = rig.start(1);
        rig.advance(149);
        assert_eq!(rig.take_effects(), NOTHING);
        rig.advance(1);
        assert_eq!(rig.take_effects(), ["notify ServerGone"]);
        rig.assert_idle();
    }

    #[test]
    fn g6_server_that_appears_in_time_gets_the_goal() {
        let mut rig = Rig::new();
        rig.server_gone();
        let _ = rig.start(1);
        rig.advance(50);
        rig.server_back();
        assert_eq!(rig.take_effects(), ["send 1"]);
    }

    #[test]
    fn g5_an_intermittent_server_delays_a_leaf_as_long_as_a_steady_one() {
        let mut rig = Rig::new();
        let _ = rig.start_accepted(1);
        rig.server_gone();
        let _ = rig.start(2);
        rig.server_back();
        rig.advance(200);
        rig.server_gone();
        rig.advance(60);
        rig.server_back();
        rig.advance(99);
        assert!(
            !rig.take_effects().contains(&"send 2".to_owned()),
            "the first must stop"
        );
        rig.advance(1);
        let effects = rig.take_effects();
        assert!(effects.contains(&"NotStoppedInTime".to_owned()));
        assert!(effects.contains(&"send 2".to_owned()));
    }

    #[test]
    fn g6_the_absences_of_a_server_add_up_to_the_absent_timeout() {
        let mut rig = Rig::new();
        let _ = rig.start_accepted(1);
        rig.server_gone();
        let _ = rig.start(2);
        for _ in 0..2 {
            rig.advance(40);
            rig.server_back();
            rig.server_gone();
        }
        rig.effects.clear();
        rig.advance(69);
        assert_eq!(rig.take_effects(), NOTHING);
        rig.advance(1);
        assert_eq!(rig.take_effects(), ["notify ServerGone"]);
    }

    #[test]
    fn updates_are_coalesced_until_the_goal_is_accepted() {
        let mut rig = Rig::new();
        let ticket = rig.start(1);
        let first = rig.sent_goal();
        rig.update(ticket, 2);
        rig.update(ticket, 3);
        assert_eq!(rig.take_effects(), ["send 1"]);
        rig.accept(first);
        assert_eq!(
            rig.take_effects(),
            ["notify accepted", "request result", "send 3"]
        );
    }

    #[test]
    fn an_update_of_a_goal_that_was_not_sent_replaces_it() {
        let mut rig = Rig::new();
        rig.server_gone();
        let ticket = rig.start(1);
        rig.update(ticket, 2);
        rig.server_back();
        assert_eq!(rig.take_effects(), ["send 2"]);
    }

    #[test]
    fn the_end_of_a_replaced_goal_is_not_the_outcome_of_the_leaf() {
        let mut rig = Rig::new();
        let (ticket, first) = rig.start_accepted(1);
        rig.update(ticket, 2);
        assert_eq!(rig.take_effects(), ["send 2"]);
        let second = rig.sent_goal();
        rig.result(first, TerminalStatus::Aborted);
        rig.accept(second);
        assert_eq!(rig.take_effects(), ["notify accepted", "request result"]);
        rig.result(second, TerminalStatus::Succeeded);
        assert_eq!(rig.take_effects(), ["notify Succeeded(9) of update 1"]);
        rig.assert_idle();
    }

    #[test]
    fn g3_a_replaced_goal_that_the_server_does_not_end_is_cancelled() {
        let mut rig = Rig::new();
        let (ticket, _) = rig.start_accepted(1);
        rig.update(ticket, 2);
        let second = rig.sent_goal();
        rig.accept(second);
        rig.effects.clear();
        rig.update(ticket, 3);
        assert_eq!(rig.take_effects(), NOTHING, "never three goals of one leaf");
        rig.advance(400);
        assert_eq!(rig.take_effects(), ["NotPreempted", "cancel #1"]);
    }

    #[test]
    fn g3_a_replaced_goal_that_its_server_did_not_know_at_first_is_cancelled() {
        let mut rig = Rig::new();
        let (ticket, first) = rig.start_accepted(1);
        rig.update(ticket, 2);
        let second = rig.sent_goal();
        rig.status(&[(first, GoalStatus::Accepted)]);
        rig.effects.clear();
        // The server answered before it noted the goal.
        rig.wire(WireEvent::ResultUnknown { goal: first });
        assert_eq!(rig.take_effects(), ["cancel #1"]);
        rig.wire(WireEvent::Rejected { goal: second });
        assert_eq!(rig.take_effects(), ["notify Rejected of update 1"]);
        rig.cancel_answer(first, 1, CancelCode::UnknownGoal);
        rig.assert_idle();
    }

    #[test]
    fn g3_a_refused_update_fails_the_leaf_and_cancels_the_goal_that_drives_still() {
        let mut rig = Rig::new();
        let (ticket, _) = rig.start_accepted(1);
        rig.update(ticket, 2);
        let second = rig.sent_goal();
        rig.effects.clear();
        rig.wire(WireEvent::Rejected { goal: second });
        assert_eq!(rig.take_effects(), ["notify Rejected of update 1", "cancel #1"]);
    }

    #[test]
    fn g3_halt_cancels_both_goals_of_an_update() {
        let mut rig = Rig::new();
        let (ticket, first) = rig.start_accepted(1);
        rig.update(ticket, 2);
        let second = rig.sent_goal();
        rig.effects.clear();
        rig.halt(ticket);
        assert_eq!(rig.take_effects(), ["cancel #1"]);
        rig.accept(second);
        assert_eq!(
            rig.take_effects(),
            ["AcceptedLate", "cancel #1", "request result"]
        );
        rig.accept_cancel(first);
        rig.accept_cancel(second);
        rig.status(&[(first, GoalStatus::Canceled), (second, GoalStatus::Canceled)]);
        rig.assert_idle();
    }

    #[test]
    fn an_update_of_an_ended_goal_is_sent_before_its_result_arrives() {
        for update in [UpdatePolicy::ServerPreempts, UpdatePolicy::CancelFirst] {
            let mut rig = Rig::new();
            let ticket = rig.start_with(1, GoalOptions { update, ..options() });
            let first = rig.sent_goal();
            rig.accept(first);
            rig.status(&[(first, GoalStatus::Succeeded)]);
            rig.effects.clear();
            rig.update(ticket, 2);
            assert_eq!(rig.take_effects(), ["send 2"]);
            rig.result(first, TerminalStatus::Succeeded);
            assert_eq!(
                rig.take_effects(),
                NOTHING,
                "it is the result of the earlier goal"
            );
            let second = rig.sent_goal();
            rig.accept(second);
            rig.effects.clear();
            rig.result(second, TerminalStatus::Succeeded);
            assert_eq!(rig.take_effects(), ["notify Succeeded(9) of update 1"]);
            rig.assert_idle();
        }
    }

    #[test]
    fn an_update_of_a_goal_that_another_client_cancels_is_not_sent() {
        for update in [UpdatePolicy::ServerPreempts, UpdatePolicy::CancelFirst] {
            for statuses in [
                &[GoalStatus::Canceling][..],
                &[GoalStatus::Canceled],
                &[GoalStatus::Canceling, GoalStatus::Canceled],
            ] {
                // The server answers the goal request before it shows the goal, or never.
                for is_answered in [true, false] {
                    let mut rig = Rig::new();
                    let ticket = rig.start_with(1, GoalOptions { update, ..options() });
                    let first = rig.sent_goal();
                    if is_answered {
                        rig.accept(first);
                    }
                    for status in statuses {
                        rig.status(&[(first, *status)]);
                    }
                    rig.effects.clear();
                    rig.update(ticket, 2);
                    assert_eq!(rig.take_effects(), NOTHING, "{statuses:?}");
                    rig.result(first, TerminalStatus::Canceled);
                    assert_eq!(rig.take_effects(), ["notify Canceled(9)"], "{statuses:?}");
                    rig.assert_idle();
                }
            }
        }
        // The status shows the cancel after a list without the goal.
        let mut rig = Rig::new();
        let (ticket, first) = rig.start_accepted(1);
        rig.status(&[(first, GoalStatus::Executing)]);
        rig.status(&[]);
        rig.status(&[(first, GoalStatus::Canceling)]);
        rig.effects.clear();
        rig.update(ticket, 2);
        assert_eq!(rig.take_effects(), NOTHING);
        rig.halt(ticket);
        assert_eq!(rig.take_effects(), ["cancel #1"], "the leaf goes");
        rig.result(first, TerminalStatus::Canceled);
        rig.assert_idle();
    }

    #[test]
    fn g3_a_cancel_of_another_client_that_crosses_an_update_stops_the_newer_goal_too() {
        let signs: [fn(&mut Rig, GoalId); 3] = [
            |rig, goal| rig.status(&[(goal, GoalStatus::Canceling)]),
            |rig, goal| rig.status(&[(goal, GoalStatus::Canceled)]),
            |rig, goal| rig.result(goal, TerminalStatus::Canceled),
        ];
        for (index, sign) in signs.into_iter().enumerate() {
            // Not answered, and accepted.
            for is_accepted in [false, true] {
                let mut rig = Rig::new();
                let (ticket, first) = rig.start_accepted(1);
                rig.update(ticket, 2);
                let second = rig.sent_goal();
                if is_accepted {
                    rig.accept(second);
                }
                rig.update(ticket, 3);
                rig.effects.clear();
                sign(&mut rig, first);
                let effects = rig.take_effects();
                assert_eq!(effects[0], "notify CanceledByAnother of update 1", "{index}");
                assert!(rig.goal_tracker.open_tickets().is_empty());
                rig.result(first, TerminalStatus::Aborted);
                if is_accepted {
                    assert_eq!(effects.last().unwrap(), "cancel #1", "{index}");
                } else {
                    rig.accept(second);
                    assert_eq!(
                        rig.take_effects(),
                        ["AcceptedLate", "cancel #1", "request result"],
                        "{index}"
                    );
                }
                rig.accept_cancel(second);
                rig.status(&[(second, GoalStatus::Canceled)]);
                assert_eq!(rig.take_effects(), NOTHING, "{index}");
                rig.assert_idle();
            }
            // It has not left.
            let mut rig = Rig::new();
            let (ticket, first) = rig.start_accepted(1);
            rig.batch(|rig| {
                rig.update(ticket, 2);
                sign(rig, first);
            });
            rig.result(first, TerminalStatus::Canceled);
            let effects = rig.take_effects();
            assert!(!effects.contains(&"send 2".to_owned()), "{index}: {effects:?}");
            assert_eq!(effects[0], "notify CanceledByAnother of update 1", "{index}");
            rig.assert_idle();
        }
    }

    #[test]
    fn g3_a_cancel_of_a_replaced_goal_counts_if_its_list_comes_after_the_result() {
        for policy in [UpdatePolicy::ServerPreempts, UpdatePolicy::CancelFirst] {
            let mut rig = Rig::new();
            let update = GoalOptions {
                update: policy,
                ..options()
            };
            let ticket = rig.start_with(1, update);
            let first = rig.sent_goal();
            rig.accept(first);
            rig.update(ticket, 2);
            if policy == UpdatePolicy::CancelFirst {
                rig.accept_cancel(first);
                rig.result(first, TerminalStatus::Canceled);
            }
            let second = rig.sent_goal();
            rig.accept(second);
            if policy == UpdatePolicy::ServerPreempts {
                rig.result(first, TerminalStatus::Aborted);
            }
            rig.effects.clear();
            rig.status(&[(first, GoalStatus::Canceling), (second, GoalStatus::Executing)]);
            let expected: &[&str] = match policy {
                UpdatePolicy::ServerPreempts => &["notify CanceledByAnother of update 1", "cancel #1"],
                UpdatePolicy::CancelFirst => &[],
            };
            assert_eq!(rig.take_effects(), expected);
        }
    }

    #[test]
    fn g3_the_leaf_is_notified_of_a_cancel_of_another_client_before_the_end_and_no_update_is_sent() {
        for status in [GoalStatus::Canceling, GoalStatus::Canceled] {
            for end in [TerminalStatus::Aborted, TerminalStatus::Succeeded] {
                let mut rig = Rig::new();
                let (ticket, goal) = rig.start_accepted(1);
                rig.status(&[(goal, status)]);
                rig.status(&[(goal, status)]);
                rig.update(ticket, 2);
                assert_eq!(rig.take_effects(), ["notify canceling"], "once");
                rig.result(goal, end);
                assert_eq!(rig.take_effects(), [format!("notify {end:?}(9)")]);
                rig.assert_idle();
            }
        }
        // An update in the same moment as the end.
        let mut rig = Rig::new();
        let (ticket, goal) = rig.start_accepted(1);
        rig.batch(|rig| {
            rig.status(&[(goal, GoalStatus::Canceling)]);
            rig.result(goal, TerminalStatus::Succeeded);
            rig.update(ticket, 2);
        });
        assert_eq!(rig.take_effects(), ["notify canceling", "notify Succeeded(9)"]);
        rig.assert_idle();
    }

    #[test]
    fn g3_the_leaf_is_notified_of_a_cancel_of_another_client_whose_result_does_not_come() {
        let mut rig = Rig::new();
        let (_, goal) = rig.start_accepted(1);
        rig.status(&[(goal, GoalStatus::Canceling)]);
        rig.server_gone();
        assert_eq!(
            rig.take_effects(),
            ["notify canceling", "cancel #1", "ServerGone", "notify ServerGone"]
        );
    }

    #[test]
    fn g3_an_unanswered_goal_is_given_up_although_its_server_comes_and_goes() {
        let mut rig = Rig::new();
        let _ = rig.start(1);
        let mut effects = Vec::new();
        // It is tried once more when its server is back.
        for _ in 0..6 {
            rig.server_gone();
            rig.advance(2_000);
            rig.server_back();
            rig.advance(2_000);
            effects.extend(rig.take_effects());
        }
        assert!(effects.iter().any(|it| it.starts_with("GaveUp")), "{effects:?}");
        assert!(rig.goal_tracker.is_idle());
    }

    #[test]
    fn g5_an_update_of_a_goal_that_may_be_over_waits_until_it_is() {
        let mut rig = Rig::new();
        let (ticket, first) = rig.start_accepted(1);
        rig.status(&[(first, GoalStatus::Executing)]);
        rig.status(&[]);
        rig.effects.clear();
        rig.update(ticket, 2);
        assert_eq!(rig.take_effects(), ["cancel #1"]);
        rig.result(first, TerminalStatus::Succeeded);
        assert_eq!(rig.take_effects(), ["send 2"]);
    }

    #[test]
    fn an_outcome_names_the_number_of_updates_in_its_goal() {
        // The result was handled before the update.
        let mut rig = Rig::new();
        let (ticket, goal) = rig.start_accepted(1);
        rig.batch(|rig| {
            rig.result(goal, TerminalStatus::Succeeded);
            rig.update(ticket, 2);
        });
        assert_eq!(rig.take_effects(), ["notify Succeeded(9)"]);
        // The update arrived before the answer to the goal request.
        let mut rig = Rig::new();
        let ticket = rig.start(1);
        let goal = rig.sent_goal();
        rig.update(ticket, 2);
        rig.effects.clear();
        rig.result(goal, TerminalStatus::Aborted);
        assert_eq!(rig.take_effects(), ["notify Aborted(9)"]);
        // All coalesced updates are included.
        let mut rig = Rig::new();
        let (ticket, _) = rig.start_accepted(1);
        rig.batch(|rig| {
            rig.update(ticket, 2);
            rig.update(ticket, 3);
        });
        let second = rig.sent_goal();
        rig.accept(second);
        // This update waits for the end of the first goal.
        rig.update(ticket, 4);
        rig.effects.clear();
        rig.result(second, TerminalStatus::Succeeded);
        assert_eq!(rig.take_effects()[0], "notify Succeeded(9) of update 2");
    }

    #[test]
    fn an_update_that_cancels_first_is_sent_when_the_old_goal_has_ended() {
        let mut rig = Rig::new();
        let ticket = rig.start_with(
            1,
            GoalOptions {
                update: UpdatePolicy::CancelFirst,
                ..options()
            },
        );
        let first = rig.sent_goal();
        rig.accept(first);
        rig.effects.clear();
        rig.update(ticket, 2);
        assert_eq!(rig.take_effects(), ["cancel #1"]);
        rig.accept_cancel(first);
        rig.result(first, TerminalStatus::Canceled);
        assert_eq!(rig.take_effects(), ["send 2"]);
    }
}
