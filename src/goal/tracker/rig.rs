//! Test support: a GoalTracker on a virtual clock, with its effects as text.

use std::sync::Arc;
use std::time::Duration;

use super::{Counters, GoalTracker};
use crate::bt::{HaltReason, Time};
use crate::goal::{
    CancelCode, CancelTag, Command, Effect, GoalId, GoalIds, GoalOptions, GoalStatus, Notice, Selection,
    ServerId, Stamp, TerminalStatus, Ticket, WireEvent,
};

/// A GoalTracker, its clock in milliseconds, and its effects.
pub(super) struct Rig {
    pub(super) goal_tracker: GoalTracker<u32>,
    pub(super) now: Time,
    /// Effects that have left.
    pub(super) out: Vec<Effect<u32>>,
    pub(super) tickets: u64,
    /// Effects that have not left, while the owner takes further inputs.
    batch: Vec<Effect<u32>>,
    is_late: bool,
    sent: Option<GoalId>,
}

pub(super) const SERVER: ServerId = ServerId(1);

impl Rig {
    pub(super) fn new() -> Self {
        let mut rig = Self {
            goal_tracker: GoalTracker::new(GoalIds::new(1, 1), options()),
            now: Time::ZERO,
            out: Vec::new(),
            tickets: 0,
            batch: Vec::new(),
            is_late: false,
            sent: None,
        };
        rig.wire(WireEvent::ServerBack { server: SERVER });
        rig
    }

    pub(super) fn command(&mut self, command: Command<u32>) {
        self.goal_tracker.command(command, self.now, &mut self.batch);
        self.carry_out();
    }

    pub(super) fn wire(&mut self, event: WireEvent<u32>) {
        self.goal_tracker.wire(event, self.now, &mut self.batch);
        self.carry_out();
    }

    /// Several inputs with the same time, as from a late owner.
    pub(super) fn batch(&mut self, inputs: impl FnOnce(&mut Self)) {
        self.is_late = true;
        inputs(self);
        self.is_late = false;
        self.goal_tracker.advance(self.now, &mut self.batch);
        self.carry_out();
    }

    fn carry_out(&mut self) {
        if !self.is_late {
            self.out.append(&mut self.batch);
            self.note_sent();
        }
    }

    /// Whether no goal of ours can be executing on any server.
    pub(super) fn is_stopped(&self) -> bool {
        let goals = self.goal_tracker.live_goals();
        !goals.iter().any(|goal| goal.phase.may_execute())
    }

    /// Advances time, deadline by deadline.
    pub(super) fn pass(&mut self, milliseconds: u64) {
        let until = self.now + Duration::from_millis(milliseconds);
        while let Some(due) = self.goal_tracker.next_deadline().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.goal_tracker.advance(self.now, &mut self.batch);
            self.carry_out();
        }
        self.now = until;
    }

    pub(super) fn start_with(&mut self, payload: u32, options: GoalOptions) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.command(Command::Start {
            ticket,
            server: SERVER,
            leaf: Arc::from("tree/leaf"),
            payload,
            options,
        });
        ticket
    }

    pub(super) fn start(&mut self, payload: u32) -> Ticket {
        self.start_with(payload, options())
    }

    /// Starts a goal, which the server accepts.
    pub(super) fn run(&mut self, payload: u32) -> (Ticket, GoalId) {
        let ticket = self.start(payload);
        let goal = self.sent_goal();
        self.accept(goal);
        self.out.clear();
        (ticket, goal)
    }

    pub(super) fn halt(&mut self, ticket: Ticket) {
        self.command(Command::Halt {
            ticket,
            reason: HaltReason::Preempted,
        });
    }

    pub(super) fn accept(&mut self, goal: GoalId) {
        self.wire(WireEvent::Accepted {
            server: SERVER,
            goal,
            stamp: Stamp::ZERO,
        });
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

    pub(super) fn update(&mut self, ticket: Ticket, payload: u32) {
        self.command(Command::Update { ticket, payload });
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
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.command(Command::CancelServer {
            ticket,
            server: SERVER,
            leaf: Arc::from("tree/cancel"),
            selection: Selection::All,
            options: options(),
        });
        ticket
    }

    pub(super) fn gone(&mut self) {
        self.wire(WireEvent::ServerGone { server: SERVER });
    }

    pub(super) fn back(&mut self) {
        self.wire(WireEvent::ServerBack { server: SERVER });
    }

    /// Asserts that no goal or call is left and that the counters agree.
    pub(super) fn assert_at_rest(&self) {
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
    pub(super) fn assert_untouched(&mut self, why: &str) {
        assert_eq!(self.wanted(), Vec::<String>::new(), "{why}");
        assert_eq!(self.goal_tracker.counters(), Counters::default(), "{why}");
        self.assert_at_rest();
    }

    /// The effects since the last call, as text.
    pub(super) fn wanted(&mut self) -> Vec<String> {
        self.out
            .drain(..)
            .filter_map(|effect| match effect {
                Effect::SendGoal { payload, .. } => Some(format!("send {payload}")),
                Effect::SendCancel {
                    tag: CancelTag::Goal { attempt, .. },
                    ..
                } => Some(format!("cancel #{attempt}")),
                Effect::SendCancel { .. } => Some("cancel others".to_owned()),
                Effect::RequestResult { .. } => Some("ask".to_owned()),
                Effect::CallService { payload, .. } => Some(format!("call {payload}")),
                Effect::ForgetCall { .. } => Some("forget call".to_owned()),
                Effect::ForgetGoal { .. } => None,
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
        self.sent.expect("no goal was sent")
    }

    fn note_sent(&mut self) {
        let sent = self.out.iter().rev().find_map(|effect| match effect {
            Effect::SendGoal { goal, .. } => Some(*goal),
            _ => None,
        });
        self.sent = sent.or(self.sent);
    }
}

pub(super) fn options() -> GoalOptions {
    GoalOptions {
        accept_timeout: Duration::from_millis(100),
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
