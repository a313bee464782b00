//! Property tests: random events in random order at random times, shrunk to the shortest failing sequence.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof};
use proptest::{prop_assert, prop_assert_eq, proptest};

use super::world::{Setup, World};
use super::{
    ActionGoal, CancelCode, CancelTag, Command, Effect, GoalEvent, GoalId, GoalIds, GoalOptions, GoalStatus,
    GoalTracker, Notice, Phase, ServerId, Step, TerminalStatus, Ticket, UpdatePolicy, WireEvent,
};
use crate::bt::{HaltReason, Time};

fn options() -> GoalOptions {
    GoalOptions {
        response_timeout: Duration::from_millis(7),
        absent_timeout: Duration::from_millis(9),
        cancel_timeout: Duration::from_millis(11),
        cancel_retry: Duration::from_millis(3),
        result_timeout: Some(Duration::from_millis(40)),
        result_retry: Duration::from_millis(2),
        result_questions: 3,
        result_poll: Duration::from_millis(13),
        give_up_timeout: Duration::from_millis(29),
        ..GoalOptions::default()
    }
}

fn goal_status() -> impl Strategy<Value = GoalStatus> {
    (0i8..7).prop_map(GoalStatus::from_wire)
}

fn terminal_status() -> impl Strategy<Value = TerminalStatus> {
    prop_oneof![
        Just(TerminalStatus::Succeeded),
        Just(TerminalStatus::Aborted),
        Just(TerminalStatus::Canceled)
    ]
}

fn cancel_code() -> impl Strategy<Value = CancelCode> {
    (-1i8..4).prop_map(|code| match code {
        -1 => CancelCode::UnknownToOne,
        code => CancelCode::from_wire(code),
    })
}

fn goal_event() -> impl Strategy<Value = GoalEvent> {
    prop_oneof![
        any::<bool>().prop_map(|present| GoalEvent::Release { present }),
        Just(GoalEvent::TakenBack),
        Just(GoalEvent::Accepted),
        Just(GoalEvent::Rejected),
        Just(GoalEvent::SendFailed),
        Just(GoalEvent::Feedback),
        goal_status().prop_map(GoalEvent::Status),
        Just(GoalEvent::StatusMissing),
        terminal_status().prop_map(GoalEvent::Result),
        Just(GoalEvent::ResultUnknown),
        (0u32..5, cancel_code()).prop_map(|(attempt, code)| GoalEvent::CancelAnswered { attempt, code }),
        Just(GoalEvent::Halt),
        Just(GoalEvent::Withdrawn),
        Just(GoalEvent::Replace),
        Just(GoalEvent::ServerGone),
        Just(GoalEvent::ServerBack),
        (0u64..200).prop_map(|deadline| GoalEvent::ShutDown {
            deadline: Time::from_millis(deadline)
        }),
        Just(GoalEvent::Deadline),
    ]
}

/// A step of the random walk. Numbers select goals and tickets, known and unknown.
#[derive(Clone, Copy, Debug)]
enum RandomStep {
    Start(u8),
    Update(u8),
    Halt(u8),
    Detach(u8),
    HaltAll,
    BeginSession,
    /// The world reads the notices of cancels.
    ReadCancels,
    Call(u8),
    CancelServer {
        stops_next: bool,
    },
    Adopt,
    AllowAdoption(bool),
    Wire(u8, Answer),
    SetPresence(bool),
    AdvanceTime(u8),
}

#[derive(Clone, Copy, Debug)]
enum Answer {
    Accepted,
    Rejected,
    SendFailed,
    Feedback,
    Status(GoalStatus),
    EmptyStatus,
    Result(TerminalStatus),
    ResultUnknown,
    Cancel(u32, CancelCode),
    Response,
    CallFailed,
    LeafCancel(CancelCode),
}

fn random_step() -> impl Strategy<Value = RandomStep> {
    let answer = prop_oneof![
        3 => Just(Answer::Accepted),
        1 => Just(Answer::Rejected),
        1 => Just(Answer::SendFailed),
        1 => Just(Answer::Feedback),
        3 => goal_status().prop_map(Answer::Status),
        1 => Just(Answer::EmptyStatus),
        2 => terminal_status().prop_map(Answer::Result),
        1 => Just(Answer::ResultUnknown),
        3 => (0u32..4, cancel_code()).prop_map(|(attempt, code)| Answer::Cancel(attempt, code)),
        1 => Just(Answer::Response),
        1 => Just(Answer::CallFailed),
        1 => cancel_code().prop_map(Answer::LeafCancel),
    ];
    prop_oneof![
        4 => any::<u8>().prop_map(RandomStep::Start),
        2 => any::<u8>().prop_map(RandomStep::Update),
        3 => any::<u8>().prop_map(RandomStep::Halt),
        1 => any::<u8>().prop_map(RandomStep::Detach),
        1 => Just(RandomStep::HaltAll),
        2 => Just(RandomStep::BeginSession),
        2 => Just(RandomStep::ReadCancels),
        1 => any::<u8>().prop_map(RandomStep::Call),
        1 => any::<bool>().prop_map(|stops_next| RandomStep::CancelServer { stops_next }),
        1 => Just(RandomStep::Adopt),
        1 => any::<bool>().prop_map(RandomStep::AllowAdoption),
        12 => (any::<u8>(), answer).prop_map(|(goal, answer)| RandomStep::Wire(goal, answer)),
        2 => any::<bool>().prop_map(RandomStep::SetPresence),
        4 => (0u8..20).prop_map(RandomStep::AdvanceTime),
    ]
}

/// The state of a random walk.
struct Walk {
    goal_tracker: GoalTracker<u32>,
    now: Time,
    effects: Vec<Effect<u32>>,
    waiting: BTreeMap<Ticket, u32>,
    /// The notices of cancels that the world has not read.
    unread_cancels: BTreeSet<Ticket>,
    tickets: u64,
    goals: Vec<GoalId>,
    ended: BTreeSet<Ticket>,
    options: GoalOptions,
}

const SERVER: ServerId = ServerId(0);

impl Walk {
    fn new(options: GoalOptions) -> Self {
        let mut walk = Self {
            goal_tracker: GoalTracker::new(GoalIds::new(5, 1), options),
            now: Time::ZERO,
            effects: Vec::new(),
            waiting: BTreeMap::new(),
            unread_cancels: BTreeSet::new(),
            tickets: 0,
            // One goal of another client, and one of an earlier run.
            goals: vec![GoalId([9; 16]), GoalIds::new(5, 2).next_id()],
            ended: BTreeSet::new(),
            options,
        };
        walk.goal_tracker.wire(
            WireEvent::ServerBack { server: SERVER },
            walk.now,
            &mut walk.effects,
        );
        walk
    }

    fn ticket(&self, choice: u8) -> Ticket {
        Ticket(1 + u64::from(choice) % (self.tickets + 1))
    }

    fn new_ticket(&mut self) -> Ticket {
        self.tickets += 1;
        self.waiting.insert(Ticket(self.tickets), 0);
        Ticket(self.tickets)
    }

    fn step(&mut self, random_step: RandomStep) {
        let leaf: Arc<str> = Arc::from("leaf");
        let command = match random_step {
            RandomStep::Start(payload) => Command::Start {
                ticket: self.new_ticket(),
                server: SERVER,
                leaf,
                payload: u32::from(payload),
                options: self.options,
            },
            RandomStep::Update(choice) => Command::Update {
                ticket: self.ticket(choice),
                payload: 1000,
            },
            RandomStep::Halt(choice) => {
                let ticket = self.ticket(choice);
                self.waiting.remove(&ticket);
                self.drop_notices(&[ticket]);
                Command::Halt {
                    ticket,
                    reason: HaltReason::Preempted,
                }
            }
            RandomStep::Detach(choice) => Command::Detach {
                ticket: self.ticket(choice),
                reason: HaltReason::Preempted,
            },
            RandomStep::HaltAll => {
                let tickets = self.goal_tracker.open_tickets();
                self.waiting.retain(|ticket, _| !tickets.contains(ticket));
                self.drop_notices(&tickets);
                Command::HaltAll {
                    reason: HaltReason::GoalCanceled,
                }
            }
            RandomStep::BeginSession => Command::BeginSession,
            RandomStep::ReadCancels => {
                for ticket in std::mem::take(&mut self.unread_cancels) {
                    let command = Command::ReadCancel { ticket };
                    self.goal_tracker.command(command, self.now, &mut self.effects);
                }
                return;
            }
            RandomStep::Call(payload) => Command::Call {
                ticket: self.new_ticket(),
                server: SERVER,
                leaf,
                payload: u32::from(payload),
                options: self.options,
            },
            RandomStep::CancelServer { stops_next } => {
                let ticket = self.new_ticket();
                let next = Ticket(ticket.0 + 1);
                Command::CancelServer {
                    ticket,
                    server: SERVER,
                    leaf,
                    earlier: stops_next.then_some(next).into_iter().collect(),
                    options: self.options,
                }
            }
            RandomStep::Adopt => Command::Adopt {
                server: SERVER,
                window: Duration::from_millis(50),
                delay: Duration::from_millis(5),
            },
            RandomStep::AllowAdoption(allowed) => Command::AllowAdoption { allowed },
            RandomStep::SetPresence(is_present) => {
                let server = SERVER;
                return self.wire(if is_present {
                    WireEvent::ServerBack { server }
                } else {
                    WireEvent::ServerGone { server }
                });
            }
            RandomStep::AdvanceTime(milliseconds) => {
                return self.advance_time(Duration::from_millis(u64::from(milliseconds)));
            }
            RandomStep::Wire(choice, answer) => return self.answer(choice, answer),
        };
        self.goal_tracker.command(command, self.now, &mut self.effects);
    }

    /// The tree drops earlier notices for halted leaves that have not left. The world reads of their cancels all the same.
    fn drop_notices(&mut self, halted: &[Ticket]) {
        self.effects.retain_mut(|effect| {
            let Effect::Notify(notice) = effect else {
                return true;
            };
            let ticket = notice.ticket();
            if !halted.contains(&ticket) {
                return true;
            }
            let is_cancel = notice.is_cancel();
            *notice = Notice::Canceling { ticket };
            is_cancel
        });
    }

    fn answer(&mut self, choice: u8, answer: Answer) {
        let goal = self.goals[usize::from(choice) % self.goals.len()];
        let ticket = self.ticket(choice);
        let server = SERVER;
        if let Answer::Response | Answer::CallFailed | Answer::LeafCancel(_) = answer {
            // A request that has not left gets no answer. Goals that have not left are not in the list above.
            self.carry_out();
        }
        self.wire(match answer {
            Answer::Accepted => WireEvent::Accepted { server, goal },
            Answer::Rejected => WireEvent::Rejected { goal },
            Answer::SendFailed => WireEvent::SendFailed { goal },
            Answer::Feedback => WireEvent::Feedback { goal, payload: 1 },
            Answer::Status(status) => WireEvent::Status {
                server,
                goals: vec![(goal, status)],
            },
            Answer::EmptyStatus => WireEvent::Status {
                server,
                goals: Vec::new(),
            },
            Answer::Result(end) => WireEvent::Result {
                goal,
                end,
                payload: 2,
            },
            Answer::ResultUnknown => WireEvent::ResultUnknown { goal },
            Answer::Cancel(attempt, code) => WireEvent::CancelAnswered {
                tag: CancelTag::Goal { goal, attempt },
                code,
                canceling: Vec::new(),
            },
            Answer::Response => WireEvent::Response { ticket, payload: 3 },
            Answer::CallFailed => WireEvent::CallFailed { ticket },
            Answer::LeafCancel(code) => WireEvent::CancelAnswered {
                tag: CancelTag::Leaf(ticket),
                code,
                canceling: Vec::new(),
            },
        });
    }

    fn wire(&mut self, event: WireEvent<u32>) {
        self.goal_tracker.wire(event, self.now, &mut self.effects);
    }

    fn advance_time(&mut self, time: Duration) {
        self.carry_out();
        let until = self.now + time;
        while let Some(due) = self.goal_tracker.next_deadline().filter(|due| *due <= until) {
            assert!(due >= self.now, "a deadline in the past");
            self.now = due;
            self.goal_tracker.advance(due, &mut self.effects);
            assert!(
                self.goal_tracker.next_deadline().is_none_or(|next| next > due),
                "a deadline that was handled is due again"
            );
            self.carry_out();
        }
        self.now = until;
    }

    /// G3: nothing is sent for a halted leaf. G4: only waiting leaves get notices, and each gets its outcome once.
    fn carry_out(&mut self) {
        if let Err(wrong) = self.check_effects() {
            panic!("{wrong}");
        }
    }

    fn check_effects(&mut self) -> Result<(), String> {
        let live = self.goal_tracker.live_goals();
        let open = self.goal_tracker.open_tickets();
        for effect in self.effects.drain(..) {
            match effect {
                Effect::SendGoal { goal, .. } => {
                    if !self.unread_cancels.is_empty() {
                        return Err(format!(
                            "{goal} was sent by a world that has not read of a cancel"
                        ));
                    }
                    let live = live.iter().find(|live| live.goal == goal);
                    if live.is_none_or(|live| live.phase != Phase::Sent) {
                        return Err(format!("{goal} was sent, and is {live:?}"));
                    }
                    self.goals.push(goal);
                }
                Effect::CallService { ticket, .. }
                | Effect::SendCancel {
                    tag: CancelTag::Leaf(ticket),
                    ..
                } if !open.contains(&ticket) => {
                    return Err(format!("a request of {ticket:?} was sent, which has gone"));
                }
                Effect::Notify(notice) => {
                    let ticket = notice.ticket();
                    if notice.is_cancel() {
                        self.unread_cancels.insert(ticket);
                    }
                    if let Notice::Canceling { .. } = notice {
                        continue;
                    }
                    if !self.waiting.contains_key(&ticket) {
                        return Err(format!("{notice:?} for a leaf that does not wait"));
                    }
                    if let Notice::Finished { .. } = notice {
                        self.waiting.remove(&ticket);
                        if !self.ended.insert(ticket) {
                            return Err(format!("{ticket:?} ended twice"));
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// One state machine with any event in any phase at any time keeps its invariants.
    #[test]
    fn g3_g4_a_goal_handles_any_event_at_any_time(
        events in prop::collection::vec((goal_event(), 0u64..15), 0..60)
    ) {
        let mut now = Time::ZERO;
        let mut goal = ActionGoal::new(options());
        let mut finished = false;
        let mut told_canceling = false;
        let mut has_released = false;
        for (event, elapsed) in events {
            now = now + Duration::from_millis(elapsed);
            let before = goal.phase();
            let mut steps = Vec::new();
            goal.on(event, now, &mut steps);
            for (index, step) in steps.iter().enumerate() {
                match step {
                    Step::Finish(_) => {
                        prop_assert!(!finished && !has_released, "a notice after the end of the leaf");
                        finished = true;
                    }
                    Step::TellAccepted | Step::TellFeedback => prop_assert!(!finished && !has_released),
                    Step::TellCanceling => {
                        prop_assert!(!told_canceling, "told twice");
                        told_canceling = true;
                    }
                    Step::Send => prop_assert!(before == Phase::Queued),
                    // A goal with a waiting leaf is never cancelled.
                    Step::Cancel { .. } => prop_assert!(
                        finished || has_released || !goal.phase().has_leaf(),
                        "{before:?} {event:?} {index}"
                    ),
                    Step::RequestResult | Step::Report(_) => {}
                }
            }
            has_released |= matches!(event, GoalEvent::Halt | GoalEvent::Replace | GoalEvent::ShutDown { .. })
                && !matches!(before, Phase::Queued | Phase::Absent) | !goal.phase().has_leaf();
            // A goal that is held back waits for the timers of other goals and calls.
            let needs_no_timer = matches!(goal.phase(), Phase::Queued | Phase::Ended);
            prop_assert_eq!(goal.next_deadline().is_none(), needs_no_timer);
            if finished || has_released {
                prop_assert!(!goal.phase().has_leaf(), "{:?}", goal.phase());
            }
        }
        // Without further events, it ends.
        let mut steps = Vec::new();
        goal.on(GoalEvent::Halt, now, &mut steps);
        let limit = now + Duration::from_millis(1000);
        while let Some(due) = goal.next_deadline() {
            prop_assert!(due <= limit, "tracked for ever in {:?}", goal.phase());
            now = now.max(due);
            goal.on(GoalEvent::Deadline, now, &mut steps);
        }
        prop_assert_eq!(goal.phase(), Phase::Ended);
    }

    /// The GoalTracker in a world without rules: answers to any goal, in any order, including nonsense.
    #[test]
    fn g3_g4_g6_goal_tracker_handles_any_input(
        walk in prop::collection::vec((random_step(), any::<bool>()), 0..120),
        cancel_first in any::<bool>(),
        has_result_timeout in any::<bool>(),
    ) {
        let update = if cancel_first { UpdatePolicy::CancelFirst } else { UpdatePolicy::ServerPreempts };
        let result_timeout = options().result_timeout.filter(|_| has_result_timeout);
        let mut world = Walk::new(GoalOptions { update, result_timeout, ..options() });
        for (random_step, is_late) in walk {
            world.step(random_step);
            if is_late {
                continue;
            }
            world.carry_out();
            if !world.waiting.is_empty() && world.unread_cancels.is_empty() {
                prop_assert!(world.goal_tracker.next_deadline().is_some(), "a leaf waits and nothing is due");
            }
        }
        // Without further events, every leaf gets its outcome, everything ends, and the counters agree.
        world.carry_out();
        world.step(RandomStep::ReadCancels);
        world.advance_time(Duration::from_secs(2));
        if !has_result_timeout {
            // Except that a goal which its server has accepted goes on until its leaf is halted.
            let live = world.goal_tracker.live_goals();
            let is_executing = |ticket: Ticket| {
                live.iter().any(|goal| goal.ticket == Some(ticket) && goal.phase == Phase::Executing)
            };
            prop_assert!(world.waiting.keys().all(|ticket| is_executing(*ticket)), "waits for ever: {live:?}");
            world.step(RandomStep::HaltAll);
            world.advance_time(Duration::from_secs(2));
        }
        prop_assert!(world.waiting.is_empty(), "waits for ever: {:?}", world.waiting);
        prop_assert!(world.goal_tracker.is_idle());
        let counters = world.goal_tracker.counters();
        prop_assert_eq!(
            counters.accepted + counters.adopted,
            counters.ended + counters.abandoned + counters.unreachable
        );
    }

    /// The world of the model checker with larger limits, at random and not exhaustively.
    #[test]
    fn g3_g4_g5_g6_a_long_random_walk_with_faults(
        choices in prop::collection::vec(any::<u16>(), 0..200),
        cancel_first in any::<bool>(),
    ) {
        let setup = Setup {
            activations: 6,
            messages: usize::MAX,
            updates: 3,
            update_policy: if cancel_first { UpdatePolicy::CancelFirst } else { UpdatePolicy::ServerPreempts },
            losses: 4,
            duplicates: 4,
            server_crashes: 2,
            // The next goal does not wait for a goal that another server does not know.
            second_servers: 0,
            partitions: 2,
            dropped_results: 2,
            process_crashes: 1,
            may_refuse_cancels: true,
            early_acceptances: 2,
            foreign_cancels: 2,
            delayed_effects: 4,
        };
        let mut world = World::new(&setup);
        let mut past_actions = Vec::new();
        for choice in choices {
            let actions = world.actions(&setup);
            if actions.is_empty() {
                break;
            }
            let action = actions[usize::from(choice) % actions.len()].clone();
            past_actions.push(format!("  {action:?}"));
            world.act(&setup, action);
            prop_assert!(world.violation.is_none(), "{:?} after\n{}", world.violation, past_actions.join("\n"));
        }
        let is_at_rest = world.reach_rest(&setup);
        prop_assert!(world.violation.is_none(), "{:?} at rest after\n{}", world.violation, past_actions.join("\n"));
        prop_assert!(is_at_rest, "no rest after\n{}", past_actions.join("\n"));
    }
}
