//! Service calls, and cancel requests that a leaf makes.

use std::sync::Arc;

use super::{Call, Entry, GoalTracker, Request};
use crate::bt::Time;
use crate::goal::{
    CallEvent, CallStep, CallVerdict, CancelCode, CancelTag, Effect, GoalEvent, GoalId, GoalIncident,
    GoalOptions, GoalStatus, Notice, Outcome, OutcomeKind, Selection, ServerId, ServiceCall, Ticket,
};

impl<P> GoalTracker<P> {
    pub(super) fn call(
        &mut self,
        (ticket, server, leaf): (Ticket, ServerId, Arc<str>),
        request: Request<P>,
        options: GoalOptions,
        now: Time,
        out: &mut Vec<Effect<P>>,
    ) {
        if !self.may_start(ticket, server, &leaf, out) {
            return;
        }
        let mut steps = Vec::new();
        let call = ServiceCall::new(options, self.is_present(server), now, &mut steps);
        self.calls.insert(
            ticket,
            Call {
                server,
                leaf,
                call,
                is_cancel: matches!(request, Request::Cancel),
                unknown: Vec::new(),
                request: Some(request),
                holds_back_until: None,
                halted: None,
            },
        );
        self.carry_out_call(ticket, &steps, None, out);
    }

    /// Handles [`CancelServer`](crate::goal::Command::CancelServer).
    pub(super) fn cancel_server(
        &mut self,
        (ticket, server, leaf): (Ticket, ServerId, Arc<str>),
        earlier: &[Ticket],
        options: GoalOptions,
        now: Time,
        out: &mut Vec<Effect<P>>,
    ) {
        let mut unknown = self.unknown_to(server);
        unknown.extend(earlier.iter().map(|start| (*start, None)));
        self.call((ticket, server, leaf), Request::Cancel, options, now, out);
        if let Some(call) = self.calls.get_mut(&ticket) {
            call.unknown = unknown;
        }
    }

    /// The activations whose goal a server is not known to have noted, and those whose update waits, with its number.
    fn unknown_to(&self, server: ServerId) -> Vec<(Ticket, Option<u64>)> {
        let mut unknown = Vec::new();
        for (ticket, leaf) in &self.leaves {
            let entry: Option<&Entry<P>> = self.goals.get(&leaf.current);
            let Some(entry) = entry.filter(|entry| entry.server == server) else {
                continue;
            };
            if !entry.goal.is_noted() {
                unknown.push((*ticket, None));
            }
            if leaf.update.is_some() {
                unknown.push((*ticket, Some(leaf.updates)));
            }
        }
        unknown
    }

    /// A server has answered the request of a Cancel node. The world gets the notices of the cancelled goals first: the
    /// request is still open, so they are not taken for cancels of another client.
    pub(super) fn server_has_canceled(
        &mut self,
        ticket: Ticket,
        (code, canceling): (CancelCode, &[GoalId]),
        now: Time,
        out: &mut Vec<Effect<P>>,
    ) {
        let own = canceling.iter().filter(|goal| self.ids.is_own(**goal));
        let outcome = Outcome::CancelAnswered(own.map(|goal| self.ticket_of(*goal)).collect());
        // The status list with the cancel may come later, and no update may be sent until then.
        for goal in canceling {
            self.apply(*goal, GoalEvent::Status(GoalStatus::Canceling), None, now, out);
        }
        // An answer that is too late for its leaf ends nothing: the tree has gone on.
        let call = self
            .calls
            .get_mut(&ticket)
            .filter(|call| call.call.phase().has_leaf());
        // A goal that has ended since then has its own result, but not for an update that still waits. If the goal of such an
        // update seems to execute and is not named, it has ended, and its end is not known yet.
        for (started, update) in call.map_or_else(Vec::new, |call| std::mem::take(&mut call.unknown)) {
            let Some(leaf) = self.leaves.get(&started) else {
                continue;
            };
            let goal = leaf.current;
            let waits = leaf.update.is_some().then_some(leaf.updates);
            // The server may have accepted it since then: before it handled the request, if it has refused that. A cancel of
            // another client, which may have come since then, is told as such.
            let is_missed = self.goals.get(&goal).is_some_and(|entry| {
                let is_refused = entry.goal.is_accepted() && code == CancelCode::Rejected;
                let is_unknown = match update {
                    None => !entry.goal.is_over(),
                    Some(_) => waits == update,
                };
                is_unknown && !entry.goal.is_canceled_by_another() && !is_refused
            });
            if is_missed && !canceling.contains(&goal) {
                self.finish(goal, OutcomeKind::CanceledBeforeAcceptance, None, now, out);
                self.withdraw_or(goal, GoalEvent::Halt, now, out);
            }
        }
        self.apply_call(ticket, CallEvent::Response, Some(outcome), now, out);
    }

    pub(super) fn apply_call(
        &mut self,
        ticket: Ticket,
        event: CallEvent,
        answer: Option<Outcome<P>>,
        now: Time,
        out: &mut Vec<Effect<P>>,
    ) {
        let Some(call) = self.calls.get_mut(&ticket) else {
            if event == CallEvent::Response {
                self.counters.late += 1;
            }
            return;
        };
        let mut steps = Vec::new();
        call.call.on(event, now, &mut steps);
        self.carry_out_call(ticket, &steps, answer, out);
    }

    pub(super) fn calls_on(&self, server: ServerId) -> Vec<Ticket> {
        self.calls
            .iter()
            .filter(|(_, call)| call.server == server)
            .map(|(ticket, _)| *ticket)
            .collect()
    }

    /// Whether a Cancel node's request for all goals of a server holds back the next goal there.
    pub(super) fn is_canceling(&self, server: ServerId) -> bool {
        let mut calls = self.calls.values();
        calls.any(|call| call.server == server && call.holds_back_until.is_some())
    }

    pub(super) fn carry_out_call(
        &mut self,
        ticket: Ticket,
        steps: &[CallStep],
        mut answer: Option<Outcome<P>>,
        out: &mut Vec<Effect<P>>,
    ) {
        let Some(call) = self.calls.get_mut(&ticket) else {
            return;
        };
        let server = call.server;
        for step in steps {
            match *step {
                CallStep::Send => match call.request.take() {
                    Some(Request::Service(payload)) => {
                        self.counters.calls += 1;
                        out.push(Effect::CallService {
                            ticket,
                            server,
                            payload,
                        });
                    }
                    Some(Request::Cancel) => {
                        call.holds_back_until = call.call.next_deadline();
                        self.counters.cancels += 1;
                        out.push(Effect::SendCancel {
                            server,
                            tag: CancelTag::Leaf(ticket),
                            selection: Selection::All,
                        });
                    }
                    None => {}
                },
                CallStep::Finish(verdict) => {
                    let outcome = match (verdict, answer.take()) {
                        (CallVerdict::Response, Some(outcome)) => outcome,
                        (CallVerdict::Response | CallVerdict::ResponseTimeout, _) => Outcome::ResponseTimeout,
                        (CallVerdict::SendFailed, _) => Outcome::SendFailed,
                        // It was never sent, and cancels nothing.
                        (CallVerdict::ServerGone, _) if matches!(call.request, Some(Request::Cancel)) => {
                            Outcome::SendFailed
                        }
                        (CallVerdict::ServerGone, _) => Outcome::ServerGone,
                    };
                    out.push(Effect::Notify(Notice::Finished {
                        ticket,
                        updates: 0,
                        outcome,
                    }));
                }
                CallStep::CountLate => self.counters.late += 1,
                CallStep::CountAbandoned => {
                    if !call.is_cancel && call.request.is_none() {
                        self.counters.calls_abandoned += 1;
                        out.push(Effect::ForgetCall { ticket, server });
                    }
                }
                CallStep::Report(what) => out.push(Effect::Report(GoalIncident {
                    server,
                    goal: None,
                    ticket: Some(ticket),
                    leaf: call.leaf.clone(),
                    halted: call.halted,
                    what,
                })),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Counters;
    use super::super::rig::Rig;
    use crate::goal::{
        CancelCode, CancelTag, Command, GoalId, GoalStatus, TerminalStatus, Ticket, WireEvent,
    };

    const NOTHING: [&str; 0] = [];

    #[test]
    fn a_call_is_answered() {
        let mut rig = Rig::new();
        let ticket = rig.call(5);
        rig.wire(WireEvent::Response { ticket, payload: 6 });
        assert_eq!(rig.take_effects(), ["call 5", "notify Response(6)"]);
        rig.assert_idle();
    }

    #[test]
    fn g4_a_late_answer_of_a_service_is_dropped_and_counted() {
        let mut rig = Rig::new();
        let ticket = rig.call(5);
        rig.halt(ticket);
        rig.effects.clear();
        rig.wire(WireEvent::Response { ticket, payload: 6 });
        assert_eq!(rig.take_effects(), NOTHING);
        assert_eq!(rig.goal_tracker.counters().late, 1);
        rig.assert_idle();
    }

    #[test]
    fn g8_a_call_that_is_halted_before_its_server_is_there_is_never_sent() {
        let mut rig = Rig::new();
        rig.server_gone();
        let absent = [rig.start(1), rig.call(5)];
        assert_eq!(rig.goal_tracker.open_tickets(), absent);
        for ticket in absent {
            rig.halt(ticket);
        }
        rig.server_back();
        assert_eq!(rig.take_effects(), NOTHING);
        let sent = rig.call(6);
        assert_eq!(rig.goal_tracker.open_tickets(), [sent]);
        rig.halt(sent);
        assert_eq!(rig.goal_tracker.open_tickets(), []);
        rig.advance(10_000);
        rig.assert_idle();
    }

    #[test]
    fn g4_a_call_halted_before_it_is_sent_is_never_sent() {
        let inputs: [fn(&mut Rig, Ticket); 2] = [
            |rig, ticket| rig.halt(ticket),
            |rig, _| {
                let deadline = rig.now + std::time::Duration::from_secs(1);
                rig.command(Command::ShutDown { deadline });
            },
        ];
        for stop in inputs {
            let mut rig = Rig::new();
            rig.server_gone();
            let ticket = rig.call(5);
            rig.batch(|rig| {
                rig.server_back();
                stop(rig, ticket);
            });
            rig.assert_initial_state("its server has just come back");

            let mut rig = Rig::new();
            rig.batch(|rig| {
                let ticket = rig.call(5);
                stop(rig, ticket);
            });
            rig.assert_initial_state("its server is there");

            let mut rig = Rig::new();
            rig.batch(|rig| {
                let ticket = rig.cancel_server();
                stop(rig, ticket);
            });
            rig.assert_initial_state("a cancel request of a leaf");
        }
    }

    #[test]
    fn g6_a_call_whose_server_vanishes_before_it_is_sent_is_never_sent() {
        let mut rig = Rig::new();
        rig.batch(|rig| {
            let _ = rig.call(5);
            rig.server_gone();
            rig.server_back();
        });
        assert_eq!(rig.take_effects(), ["ServerGone", "notify ServerGone"]);
        assert_eq!(rig.goal_tracker.counters(), Counters::default());
        rig.assert_idle();
    }

    #[test]
    fn g6_a_silent_service_is_a_failure_within_its_timeout_and_the_request_is_accounted_for() {
        let mut rig = Rig::new();
        let _ = rig.call(5);
        rig.advance(100);
        assert_eq!(
            rig.take_effects(),
            ["call 5", "CallTimedOut", "notify ResponseTimeout"]
        );
        rig.advance(10_000);
        assert_eq!(rig.take_effects(), ["forget call"]);
        assert_eq!(rig.goal_tracker.counters().calls_abandoned, 1);
        rig.assert_idle();
    }

    #[test]
    fn g8_a_call_of_a_halted_leaf_does_not_delay_the_shutdown() {
        let mut rig = Rig::new();
        let ticket = rig.call(5);
        rig.halt(ticket);
        let _ = rig.call(6);
        rig.advance(100);
        rig.effects.clear();
        rig.command(Command::ShutDown {
            deadline: rig.now + std::time::Duration::from_secs(2),
        });
        assert_eq!(rig.take_effects(), ["forget call", "forget call"]);
        assert_eq!(rig.goal_tracker.counters().calls_abandoned, 2);
        rig.assert_idle();
    }

    #[test]
    fn g6_an_absent_or_vanished_service_is_a_failure() {
        let mut rig = Rig::new();
        let _ = rig.call(5);
        rig.server_gone();
        assert_eq!(
            rig.take_effects(),
            ["call 5", "ServerGone", "notify ServerGone", "forget call"]
        );
        let _ = rig.call(6);
        rig.advance(149);
        assert!(rig.take_effects().is_empty());
        rig.advance(1);
        assert_eq!(rig.take_effects(), ["notify ServerGone"]);
        rig.assert_idle();
    }

    #[test]
    fn a_cancel_of_any_clients_goals_is_answered_with_its_code() {
        let mut rig = Rig::new();
        let ticket = rig.cancel_server();
        rig.server_canceled(ticket);
        assert_eq!(rig.take_effects(), ["cancel others", "notify CancelAnswered([])"]);
        rig.assert_idle();
    }

    #[test]
    fn g3_an_answer_to_a_cancel_names_the_goals_of_this_run_only() {
        let mut rig = Rig::new();
        let (leaf, goal) = rig.start_accepted(1);
        let request = rig.cancel_server();
        rig.result(goal, TerminalStatus::Canceled);
        rig.effects.clear();
        rig.wire(WireEvent::CancelAnswered {
            tag: CancelTag::Leaf(request),
            code: CancelCode::None,
            canceling: vec![GoalId([7; 16]), goal],
        });
        let answer = format!("notify CancelAnswered([Some({leaf:?})])");
        assert_eq!(rig.take_effects(), [answer]);
        rig.assert_idle();
    }

    #[test]
    fn g3_no_update_is_sent_after_the_answer_to_a_cancel_node_has_named_the_goal() {
        for is_update_first in [true, false] {
            let mut rig = Rig::new();
            let (leaf, goal) = rig.start_accepted(1);
            let request = rig.cancel_server();
            rig.effects.clear();
            if is_update_first {
                rig.update(leaf, 2);
            }
            // The status list that shows the cancel comes later, or is lost.
            rig.wire(WireEvent::CancelAnswered {
                tag: CancelTag::Leaf(request),
                code: CancelCode::None,
                canceling: vec![goal],
            });
            if !is_update_first {
                rig.update(leaf, 2);
            }
            rig.read_cancel(leaf);
            let effects = rig.take_effects();
            assert!(!effects.contains(&"send 2".to_owned()), "{effects:?}");
            let answer = format!("notify CancelAnswered([Some({leaf:?})])");
            assert_eq!(effects.iter().filter(|effect| **effect == answer).count(), 1);
        }
    }

    #[test]
    fn a_cancel_node_ends_the_goals_that_its_server_has_not_accepted_yet() {
        type Start = fn(&mut Rig) -> Ticket;
        let queued: Start = |rig| {
            let (stopping, _) = rig.start_accepted(1);
            rig.halt(stopping);
            rig.start(2)
        };
        let absent: Start = |rig| {
            rig.server_gone();
            rig.start(2)
        };
        let sent: Start = |rig| rig.start(2);
        for start in [queued, absent, sent] {
            let mut rig = Rig::new();
            let _ = start(&mut rig);
            let request = rig.cancel_server();
            rig.server_back();
            rig.advance(99);
            rig.effects.clear();
            rig.server_canceled(request);
            let canceled = "notify CanceledBeforeAcceptance";
            assert_eq!(rig.take_effects(), [canceled, "notify CancelAnswered([])"]);
            rig.advance(1_000);
            assert!(!rig.take_effects().contains(&"send 2".to_owned()));
        }
    }

    /// The tree requested the goal before the Cancel node, as an update of a goal that has ended since then.
    #[test]
    fn g3_a_cancel_node_ends_an_earlier_request_that_starts_after_it() {
        for is_answered in [true, false] {
            let mut rig = Rig::new();
            let start = Ticket(2);
            let request = rig.cancel_server_and([start]);
            assert_eq!(rig.start(2), start);
            assert_eq!(rig.take_effects(), ["cancel others"]);
            let canceled = "notify CanceledBeforeAcceptance";
            let expected: &[&str] = if is_answered {
                rig.server_canceled(request);
                &[canceled, "notify CancelAnswered([])"]
            } else {
                rig.advance(100);
                &["CallTimedOut", "notify ResponseTimeout", "send 2"]
            };
            assert_eq!(rig.take_effects(), expected);
        }
    }

    /// The server has handled the request first, and accepts the goal afterwards.
    #[test]
    fn a_cancel_node_cancels_a_goal_that_its_server_accepts_afterwards() {
        for is_accepted_first in [true, false] {
            let mut rig = Rig::new();
            let _ = rig.start(2);
            let goal = rig.sent_goal();
            let request = rig.cancel_server();
            rig.effects.clear();
            if is_accepted_first {
                rig.accept(goal);
            }
            rig.server_canceled(request);
            if !is_accepted_first {
                rig.accept(goal);
            }
            assert!(rig.take_effects().contains(&"cancel #1".to_owned()));
        }
    }

    /// A goal that its server has accepted after a Cancel node has sent its request, and that request.
    fn accepted_after_a_cancel_node() -> (Rig, GoalId, Ticket) {
        let mut rig = Rig::new();
        let _ = rig.start(2);
        let goal = rig.sent_goal();
        let request = rig.cancel_server();
        rig.accept(goal);
        (rig, goal, request)
    }

    /// A server with several threads may answer a goal request, handle a request for all goals, and then note the goal.
    #[test]
    fn a_cancel_node_cancels_a_goal_that_its_server_has_accepted_and_not_noted() {
        for is_noted_first in [true, false] {
            let mut rig = Rig::new();
            let (_, goal) = rig.start_accepted(1);
            let request = rig.cancel_server();
            let is_noted = [(goal, GoalStatus::Executing)];
            if is_noted_first {
                rig.status(&is_noted);
            }
            rig.server_canceled(request);
            if !is_noted_first {
                rig.status(&is_noted);
            }
            assert!(rig.take_effects().contains(&"cancel #1".to_owned()));
        }
    }

    /// The goal ends by itself before its server handles the request of the Cancel node. Its result comes later.
    #[test]
    fn g3_no_update_that_waited_at_the_start_of_a_cancel_node_is_sent() {
        for is_newer in [false, true] {
            let mut rig = Rig::new();
            let leaf = rig.start(1);
            let goal = rig.sent_goal();
            rig.update(leaf, 2);
            let request = rig.cancel_server();
            if is_newer {
                rig.update(leaf, 3);
            }
            rig.accept(goal);
            rig.status(&[(goal, GoalStatus::Succeeded)]);
            rig.effects.clear();
            rig.server_canceled(request);
            rig.result(goal, TerminalStatus::Succeeded);
            let effects = rig.take_effects();
            let is_sent = effects.iter().any(|effect| effect.starts_with("send "));
            assert_eq!(is_sent, is_newer, "{effects:?}");
            let is_ended = effects.contains(&"notify CanceledBeforeAcceptance".to_owned());
            assert_eq!(is_ended, !is_newer, "{effects:?}");
        }
    }

    /// The goal ends by itself before its server handles the second request. Its end is not known before the answer.
    #[test]
    fn g3_no_update_between_two_cancel_nodes_is_sent() {
        let mut rig = Rig::new();
        let (leaf, goal) = rig.start_accepted(1);
        rig.status(&[(goal, GoalStatus::Executing)]);
        let first = rig.cancel_server();
        rig.update(leaf, 2);
        let second = rig.cancel_server();
        rig.server_canceled(first);
        rig.server_canceled(second);
        rig.status(&[(goal, GoalStatus::Succeeded)]);
        rig.result(goal, TerminalStatus::Succeeded);
        let effects = rig.take_effects();
        assert!(!effects.contains(&"send 2".to_owned()), "{effects:?}");
        assert!(
            effects.contains(&"notify CanceledBeforeAcceptance".to_owned()),
            "{effects:?}"
        );
        rig.assert_idle();
    }

    #[test]
    fn a_cancel_node_leaves_its_result_to_a_goal_that_has_ended() {
        let (mut rig, goal, request) = accepted_after_a_cancel_node();
        rig.status(&[(goal, GoalStatus::Succeeded)]);
        rig.effects.clear();
        rig.server_canceled(request);
        rig.result(goal, TerminalStatus::Succeeded);
        assert_eq!(
            rig.take_effects(),
            ["notify CancelAnswered([])", "notify Succeeded(9)"]
        );
        rig.assert_idle();
    }

    #[test]
    fn g3_a_cancel_node_does_not_hide_the_cancel_of_another_client() {
        let (mut rig, goal, request) = accepted_after_a_cancel_node();
        rig.status(&[(goal, GoalStatus::Canceling)]);
        rig.effects.clear();
        rig.server_canceled(request);
        rig.result(goal, TerminalStatus::Canceled);
        assert_eq!(
            rig.take_effects(),
            ["notify CancelAnswered([])", "notify Canceled(9)"]
        );
    }

    #[test]
    fn a_late_or_refused_request_of_a_cancel_node_ends_no_goal() {
        for (is_late, code) in [(true, CancelCode::None), (false, CancelCode::Rejected)] {
            let (mut rig, goal, request) = accepted_after_a_cancel_node();
            if is_late {
                rig.advance(150);
            }
            rig.effects.clear();
            rig.wire(WireEvent::CancelAnswered {
                tag: CancelTag::Leaf(request),
                code,
                canceling: Vec::new(),
            });
            rig.result(goal, TerminalStatus::Succeeded);
            let effects = rig.take_effects();
            assert_eq!(effects.last().map(String::as_str), Some("notify Succeeded(9)"));
            assert!(!effects.contains(&"cancel #1".to_owned()), "{effects:?}");
        }
    }

    #[test]
    fn a_cancel_node_without_an_answer_ends_no_goal() {
        let mut rig = Rig::new();
        let (stopping, goal) = rig.start_accepted(1);
        rig.halt(stopping);
        let _ = rig.start(2);
        let _ = rig.cancel_server();
        rig.accept_cancel(goal);
        rig.result(goal, TerminalStatus::Canceled);
        rig.advance(99);
        assert!(!rig.take_effects().contains(&"send 2".to_owned()));
        rig.advance(1);
        assert!(rig.take_effects().contains(&"send 2".to_owned()));
    }
}
