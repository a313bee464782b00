//! Test support: a GoalTracker on a virtual clock, with its effects as text.

use std::sync::Arc;
use std::time::Duration;

use super::{Counters, GoalTracker};
use crate::bt::{HaltReason, Time};
use crate::goal::{
    CancelCode, CancelTag, Command, Effect, GoalId, GoalIds, GoalOptions, GoalStatus, Notice, ServerId,
    TerminalStatus, Ticket, WireEvent,
};

/// A GoalTracker, its clock in milliseconds, and its effects.
pub(super) struct Rig {
    pub(super) goal_tracker: GoalTracker<u32>,
    pub(super) now: Time,
    /// The effects that were carried out and not read by the test.
    pub(super) effects: Vec<Effect<u32>>,
    pub(super) tickets: u64,
    /// Effects that wait for the end of a batch of inputs.
    pending_effects: Vec<Effect<u32>>,
    is_batch: bool,
    last_sent_goal: Option<GoalId>,
}

pub(super) const SERVER: ServerId = ServerId(1);

impl Rig {
    pub(super) fn new() -> Self {
        let mut rig = Self {
            goal_tracker: GoalTracker::new(GoalIds::new(1, 1), options()),
            now: Time::ZERO,
            effects: Vec::new(),
            tickets: 0,
            pending_effects: Vec::new(),
            is_batch: false,
            last_sent_goal: None,
        };
        rig.wire(WireEvent::ServerBack { server: SERVER });
        rig
    }

    pub(super) fn command(&mut self, command: Command<u32>) {
        self.goal_tracker
            .command(command, self.now, &mut self.pending_effects);
        self.apply_effects();
    }

    pub(super) fn wire(&mut self, event: WireEvent<u32>) {
        self.goal_tracker.wire(event, self.now, &mut self.pending_effects);
        self.apply_effects();
    }

    /// Passes several inputs at the same time, as a late owner does.
    pub(super) fn batch(&mut self, inputs: impl FnOnce(&mut Self)) {
        self.is_batch = true;
        inputs(self);
        self.is_batch = false;
        self.goal_tracker.advance(self.now, &mut self.pending_effects);
        self.apply_effects();
    }

    fn apply_effects(&mut self) {
        if !self.is_batch {
            self.effects.append(&mut self.pending_effects);
            self.record_sent_goal();
        }
    }

    /// Returns whether no goal of the GoalTracker can be executing on a server.
    pub(super) fn is_stopped(&self) -> bool {
        let goals = self.goal_tracker.live_goals();
        !goals.iter().any(|goal| goal.phase.may_execute())
    }

    /// Advances time, deadline by deadline.
    pub(super) fn advance(&mut self, milliseconds: u64) {
        let until = self.now + Duration::from_millis(milliseconds);
        while let Some(due) = self.goal_tracker.next_deadline().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.goal_tracker.advance(self.now, &mut self.pending_effects);
            self.apply_effects();
        }
        self.now = until;
    }

    fn start_goal(&mut self, server: ServerId, payload: u32, options: GoalOptions) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.command(Command::Start {
            ticket,
            server,
            leaf: Arc::from("tree/leaf"),
            payload,
            options,
        });
        ticket
    }

    pub(super) fn start_with(&mut self, payload: u32, options: GoalOptions) -> Ticket {
        self.start_goal(SERVER, payload, options)
    }

    /// Starts a goal on another server.
    pub(super) fn start_on(&mut self, server: ServerId, payload: u32) -> Ticket {
        self.start_goal(server, payload, options())
    }

    pub(super) fn start(&mut self, payload: u32) -> Ticket {
        self.start_with(payload, options())
    }

    /// Starts a goal that the server accepts.
    pub(super) fn start_accepted(&mut self, payload: u32) -> (Ticket, GoalId) {
        let ticket = self.start(payload);
        let goal = self.sent_goal();
        self.accept(goal);
        self.effects.clear();
        (ticket, goal)
    }

    pub(super) fn halt(&mut self, ticket: Ticket) {
        self.command(Command::Halt {
            ticket,
            reason: HaltReason::Preempted,
        });
    }

    /// The world reads the notice that somebody cancelled the goal of an activation.
    pub(super) fn read_cancel(&mut self, ticket: Ticket) {
        self.command(Command::ReadCancel { ticket });
    }

    pub(super) fn accept(&mut self, goal: GoalId) {
        self.wire(WireEvent::Accepted { server: SERVER, goal });
    }

    pub(super) fn status(&mut self, goals: &[(GoalId, GoalStatus)]) {
        self.wire(WireEvent::Status {
            server: SERVER,
            goals: goals.to_vec(),
        });
    }

    pub(super) fn result(&mut self, goal: GoalId, end: TerminalStatus) {
        self.wire(WireEvent::Result {
            goal,
            end,
            payload: 9,
        });
    }

    pub(super) fn cancel_answer(&mut self, goal: GoalId, attempt: u32, code: CancelCode) {
        self.wire(WireEvent::CancelAnswered {
            tag: CancelTag::Goal { goal, attempt },
            code,
            canceling: Vec::new(),
        });
    }

    /// The server accepts the first cancel of a goal.
    pub(super) fn accept_cancel(&mut self, goal: GoalId) {
        self.cancel_answer(goal, 1, CancelCode::None);
    }

    pub(super) fn update(&mut self, ticket: Ticket, payload: u32) {
        self.command(Command::Update { ticket, payload });
    }

    /// A leaf publishes a message.
    pub(super) fn publish(&mut self) {
        self.pending_effects.push(Effect::SendMessage);
        self.apply_effects();
    }

    pub(super) fn call(&mut self, payload: u32) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.command(Command::Call {
            ticket,
            server: SERVER,
            leaf: Arc::from("tree/service"),
            payload,
            options: options(),
        });
        ticket
    }

    pub(super) fn cancel_server(&mut self) -> Ticket {
        self.cancel_server_and([])
    }

    /// The request of a Cancel node that stops goals which start after it.
    pub(super) fn cancel_server_and<const N: usize>(&mut self, earlier: [Ticket; N]) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.command(Command::CancelServer {
            ticket,
            server: SERVER,
            leaf: Arc::from("tree/cancel"),
            earlier: earlier.to_vec(),
            options: options(),
        });
        ticket
    }

    /// The server answers the request of a Cancel node. It has cancelled no goal.
    pub(super) fn server_canceled(&mut self, request: Ticket) {
        self.wire(WireEvent::CancelAnswered {
            tag: CancelTag::Leaf(request),
            code: CancelCode::None,
            canceling: Vec::new(),
        });
    }

    pub(super) fn server_gone(&mut self) {
        self.wire(WireEvent::ServerGone { server: SERVER });
    }

    pub(super) fn server_back(&mut self) {
        self.wire(WireEvent::ServerBack { server: SERVER });
    }

    /// Asserts that no goal and no call is tracked and that the counters agree.
    pub(super) fn assert_idle(&self) {
        assert!(
            self.goal_tracker.is_idle(),
            "{:?}",
            self.goal_tracker.live_goals()
        );
        assert_eq!(self.goal_tracker.next_deadline(), None);
        let counters = self.goal_tracker.counters();
        assert_eq!(
            counters.accepted + counters.adopted,
            counters.ended + counters.abandoned + counters.unreachable,
            "{counters:?}"
        );
    }

    /// Asserts the state before any request: no effects, zero counters, no goals and calls.
    pub(super) fn assert_initial_state(&mut self, why: &str) {
        assert_eq!(self.take_effects(), Vec::<String>::new(), "{why}");
        assert_eq!(self.goal_tracker.counters(), Counters::default(), "{why}");
        self.assert_idle();
    }

    /// Takes the effects since the last call, as text.
    pub(super) fn take_effects(&mut self) -> Vec<String> {
        self.effects
            .drain(..)
            .filter_map(|effect| match effect {
                Effect::SendGoal { payload, .. } => Some(format!("send {payload}")),
                Effect::SendCancel {
                    tag: CancelTag::Goal { attempt, .. },
                    ..
                } => Some(format!("cancel #{attempt}")),
                Effect::SendCancel { .. } => Some("cancel others".to_owned()),
                Effect::RequestResult { .. } => Some("request result".to_owned()),
                Effect::CallService { payload, .. } => Some(format!("call {payload}")),
                Effect::ForgetCall { .. } => Some("forget call".to_owned()),
                Effect::ForgetGoal { .. } => None,
                Effect::SendMessage => Some("message".to_owned()),
                Effect::Notify(Notice::Accepted { .. }) => Some("notify accepted".to_owned()),
                Effect::Notify(Notice::Feedback { payload, .. }) => {
                    Some(format!("notify feedback {payload}"))
                }
                Effect::Notify(Notice::Canceling { .. }) => Some("notify canceling".to_owned()),
                Effect::Notify(Notice::Finished { updates, outcome, .. }) => Some(match updates {
                    0 => format!("notify {outcome:?}"),
                    updates => format!("notify {outcome:?} of update {updates}"),
                }),
                Effect::Report(report) => Some(format!("{:?}", report.what)),
            })
            .collect()
    }

    /// The last goal that was sent.
    pub(super) fn sent_goal(&self) -> GoalId {
        self.last_sent_goal.expect("no goal was sent")
    }

    fn record_sent_goal(&mut self) {
        let sent = self.effects.iter().rev().find_map(|effect| match effect {
            Effect::SendGoal { goal, .. } => Some(*goal),
            _ => None,
        });
        self.last_sent_goal = sent.or(self.last_sent_goal);
    }
}

pub(super) fn options() -> GoalOptions {
    GoalOptions {
        response_timeout: Duration::from_millis(100),
        absent_timeout: Duration::from_millis(150),
        cancel_timeout: Duration::from_millis(300),
        cancel_retry: Duration::from_millis(50),
        result_timeout: None,
        result_retry: Duration::from_millis(20),
        result_questions: 3,
        result_poll: Duration::from_secs(5),
        give_up_timeout: Duration::from_secs(10),
        ..GoalOptions::default()
    }
}
