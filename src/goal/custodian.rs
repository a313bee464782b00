//! The owner of every goal: those that a leaf waits for, and those that their leaf has left.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::{
    ActionGoal, AfterHalt, CallEvent, CallPhase, CallStep, CallVerdict, CancelTag, Command, Effect, End,
    GoalEvent, GoalId, GoalIds, GoalOptions, GoalStatus, Notice, Outcome, Phase, Report, Selection, ServerId,
    ServiceCall, Step, Ticket, UpdatePolicy, Verdict, What, WireEvent,
};
use crate::bt::{HaltReason, Time};

/// Sees every goal to its end.
///
/// One thread or task owns it, calls [`Custodian::command`], [`Custodian::wire`] and, when
/// [`Custodian::next_deadline`] has come, [`Custodian::advance`], and carries out the effects in their order.
/// It keeps no clock, no lock and no thread, so the same calls give the same effects (G9).
///
/// Memory is bounded: every goal and call without a leaf has a deadline at which it is given up.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Custodian<P> {
    ids: GoalIds,
    /// For goals that no leaf of this run configured: adopted ones.
    options: GoalOptions,
    goals: BTreeMap<GoalId, Entry<P>>,
    leaves: BTreeMap<Ticket, Leaf<P>>,
    calls: BTreeMap<Ticket, Call<P>>,
    servers: BTreeMap<ServerId, Server>,
    /// Goals that ended on their servers a moment ago: an answer about one of these is merely late.
    ended: VecDeque<GoalId>,
    shut_down: Option<Time>,
    started: u64,
    counters: Counters,
}

/// How many ended goals are remembered. An answer later than that is taken for one to a goal that was given
/// up, and the goal is cancelled: harmless if it is over.
const ENDED_REMEMBERED: usize = 64;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Entry<P> {
    /// Orders goals by their start; ids order them by chance.
    order: u64,
    server: ServerId,
    ticket: Option<Ticket>,
    leaf: Arc<str>,
    after_halt: AfterHalt,
    goal: ActionGoal,
    /// Until it is sent.
    payload: Option<P>,
    halted: Option<HaltReason>,
    /// The status topic has shown it, so its absence there means something.
    seen: bool,
    /// Given up rather than known to be over.
    given_up: bool,
}

/// An activation whose outcome is open. Gone as soon as its leaf was told the outcome, or was halted: this is
/// what keeps late events from it (G4).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Leaf<P> {
    options: GoalOptions,
    current: GoalId,
    update: Option<P>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Call<P> {
    server: ServerId,
    leaf: Arc<str>,
    call: ServiceCall,
    /// Until it is sent.
    request: Option<Request<P>>,
    is_cancel: bool,
    halted: Option<HaltReason>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Request<P> {
    Service(P),
    Cancel(Selection),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Server {
    present: bool,
    adopt_until: Option<Time>,
}

/// What has happened so far, for diagnostics. At rest `accepted + adopted` equals
/// `ended + given_up + unreachable`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Counters {
    /// Goal requests sent.
    pub sent: u64,
    /// Goals that a server took.
    pub accepted: u64,
    /// Goals of an earlier run, or given up before, that were found on a server.
    pub adopted: u64,
    /// Goals known to be over, of those accepted or adopted.
    pub ended: u64,
    /// Accepted or adopted goals given up while they may have been executing.
    pub given_up: u64,
    /// Accepted or adopted goals whose server vanished and did not come back.
    pub unreachable: u64,
    /// Goal requests never answered.
    pub unanswered: u64,
    /// Cancel requests sent.
    pub cancels: u64,
    /// Results that could not be had.
    pub results_lost: u64,
    /// Service requests sent.
    pub calls: u64,
    /// Service requests never answered: what a transport may have leaked.
    pub calls_abandoned: u64,
    /// Answers to goals and calls that nobody waited for any more.
    pub late: u64,
}

/// A goal that has not ended, for those who must know whether the robot has stopped.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LiveGoal {
    /// The goal.
    pub goal: GoalId,
    /// Its server.
    pub server: ServerId,
    /// The activation that started it; `None` for a goal of an earlier run.
    pub ticket: Option<Ticket>,
    /// The path of its leaf; empty for a goal of an earlier run.
    pub leaf: Arc<str>,
    /// Where it is in its life.
    pub phase: Phase,
    /// Why its leaf was halted, if it was.
    pub halted: Option<HaltReason>,
}

impl<P> Custodian<P> {
    /// One that knows of no server and no goal. `options` are for goals that it finds rather than starts.
    pub fn new(ids: GoalIds, options: GoalOptions) -> Self {
        Self {
            ids,
            options,
            goals: BTreeMap::new(),
            leaves: BTreeMap::new(),
            calls: BTreeMap::new(),
            servers: BTreeMap::new(),
            ended: VecDeque::new(),
            shut_down: None,
            started: 0,
            counters: Counters::default(),
        }
    }

    /// Handles a command of the tick thread.
    pub fn command(&mut self, command: Command<P>, now: Time, out: &mut Vec<Effect<P>>) {
        match command {
            Command::Start {
                ticket,
                server,
                leaf,
                payload,
                options,
            } => {
                if self.may_start(ticket, server, &leaf, out) {
                    let current = self.start(ticket, server, leaf, payload, options, now);
                    self.leaves.insert(
                        ticket,
                        Leaf {
                            options,
                            current,
                            update: None,
                        },
                    );
                }
            }
            Command::Update { ticket, payload } => {
                if let Some(leaf) = self.leaves.get_mut(&ticket) {
                    leaf.update = Some(payload);
                }
            }
            Command::Halt { ticket, reason } => {
                self.halt(ticket, reason, now, out);
            }
            Command::Call {
                ticket,
                server,
                leaf,
                payload,
                options,
            } => self.call(
                (ticket, server, leaf),
                Request::Service(payload),
                options,
                now,
                out,
            ),
            Command::CancelServer {
                ticket,
                server,
                leaf,
                selection,
                options,
            } => self.call(
                (ticket, server, leaf),
                Request::Cancel(selection),
                options,
                now,
                out,
            ),
            Command::Adopt { server, window } => {
                self.servers.entry(server).or_default().adopt_until = Some(now + window);
            }
            Command::ShutDown { deadline } => self.begin_shut_down(deadline, now, out),
        }
        self.settle(now, out);
    }

    /// Handles something that a transport received.
    pub fn wire(&mut self, event: WireEvent<P>, now: Time, out: &mut Vec<Effect<P>>) {
        match event {
            WireEvent::Accepted { server, goal, .. } => {
                if self.goals.contains_key(&goal) {
                    self.apply(goal, GoalEvent::Accepted, None, now, out);
                } else {
                    self.counters.late += 1;
                    if !self.ended.contains(&goal) {
                        self.adopt(server, goal, What::AcceptedAfterGivingUp, now, out);
                    }
                }
            }
            WireEvent::Rejected { goal } => self.answer(goal, GoalEvent::Rejected, None, now, out),
            WireEvent::SendFailed { goal } => self.answer(goal, GoalEvent::SendFailed, None, now, out),
            WireEvent::Feedback { goal, payload } => {
                self.apply(goal, GoalEvent::Feedback, Some(payload), now, out);
            }
            WireEvent::Status { server, goals } => self.status(server, &goals, now, out),
            WireEvent::Result { goal, end, payload } => {
                self.answer(goal, GoalEvent::Result(end), Some(payload), now, out);
            }
            WireEvent::ResultUnknown { goal } => self.answer(goal, GoalEvent::ResultUnknown, None, now, out),
            WireEvent::CancelAnswered {
                tag: CancelTag::Goal { goal, attempt },
                code,
            } => self.apply(goal, GoalEvent::CancelAnswered { attempt, code }, None, now, out),
            WireEvent::CancelAnswered {
                tag: CancelTag::Leaf(ticket),
                code,
            } => self.apply_call(
                ticket,
                CallEvent::Response,
                Some(Outcome::CancelAnswered(code)),
                now,
                out,
            ),
            WireEvent::CancelFailed {
                tag: CancelTag::Goal { goal, .. },
            } => self.apply(goal, GoalEvent::CancelFailed, None, now, out),
            WireEvent::CancelFailed {
                tag: CancelTag::Leaf(ticket),
            } => self.apply_call(ticket, CallEvent::Failed, None, now, out),
            WireEvent::Response { ticket, payload } => self.apply_call(
                ticket,
                CallEvent::Response,
                Some(Outcome::Response(payload)),
                now,
                out,
            ),
            WireEvent::CallFailed { ticket } => self.apply_call(ticket, CallEvent::Failed, None, now, out),
            WireEvent::ServerGone { server } => self.server_gone(server, now, out),
            WireEvent::ServerBack { server } => self.server_back(server, now, out),
        }
        self.settle(now, out);
    }

    /// Handles what is due. Harmless when nothing is.
    pub fn advance(&mut self, now: Time, out: &mut Vec<Effect<P>>) {
        for goal in self.goals_in_order(|entry| entry.goal.next_deadline().is_some_and(|due| due <= now)) {
            self.apply(goal, GoalEvent::Deadline, None, now, out);
        }
        let due: Vec<Ticket> = self
            .calls
            .iter()
            .filter(|(_, call)| call.call.next_deadline().is_some_and(|due| due <= now))
            .map(|(ticket, _)| *ticket)
            .collect();
        for ticket in due {
            self.apply_call(ticket, CallEvent::Deadline, None, now, out);
        }
        self.settle(now, out);
    }

    /// When [`Custodian::advance`] should be called next. `None` only where there is nothing to look after.
    pub fn next_deadline(&self) -> Option<Time> {
        let goals = self.goals.values().filter_map(|entry| entry.goal.next_deadline());
        let calls = self.calls.values().filter_map(|call| call.call.next_deadline());
        goals.chain(calls).min()
    }

    /// Goals that have not ended, oldest first. A goal whose server vanished is listed in
    /// [`Phase::Unreachable`]; it counts as stopped, see [`Custodian::is_stopped`].
    pub fn live_goals(&self) -> Vec<LiveGoal> {
        self.goals_in_order(|_| true)
            .into_iter()
            .filter_map(|goal| {
                let entry = self.goals.get(&goal)?;
                Some(LiveGoal {
                    goal,
                    server: entry.server,
                    ticket: entry.ticket,
                    leaf: entry.leaf.clone(),
                    phase: entry.goal.phase(),
                    halted: entry.halted,
                })
            })
            .collect()
    }

    /// Whether no goal of ours can be executing on any server for which `filter` holds: the moment at which
    /// CANCELED may be reported to a navigation client. What [`Custodian::live_goals`] lists did not stop.
    pub fn is_stopped(&self, filter: impl Fn(ServerId) -> bool) -> bool {
        !self
            .goals
            .values()
            .any(|entry| filter(entry.server) && entry.goal.phase().may_execute())
    }

    /// Whether nothing is left to look after: after a shut-down, the moment to exit.
    pub fn is_idle(&self) -> bool {
        self.goals.is_empty() && self.calls.is_empty()
    }

    /// Whether a server was said to be there.
    pub fn is_present(&self, server: ServerId) -> bool {
        self.servers.get(&server).is_some_and(|server| server.present)
    }

    /// What has happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    fn goals_in_order(&self, filter: impl Fn(&Entry<P>) -> bool) -> Vec<GoalId> {
        let mut goals: Vec<_> = self
            .goals
            .iter()
            .filter(|(_, entry)| filter(entry))
            .map(|(goal, entry)| (entry.order, *goal))
            .collect();
        goals.sort_unstable();
        goals.into_iter().map(|(_, goal)| goal).collect()
    }

    fn may_start(
        &mut self,
        ticket: Ticket,
        server: ServerId,
        leaf: &Arc<str>,
        out: &mut Vec<Effect<P>>,
    ) -> bool {
        if self.leaves.contains_key(&ticket) || self.calls.contains_key(&ticket) {
            out.push(Effect::Report(Report {
                server,
                goal: None,
                ticket: Some(ticket),
                leaf: leaf.clone(),
                halted: None,
                what: What::TicketInUse,
            }));
            return false;
        }
        if self.shut_down.is_some() {
            out.push(Effect::Notify(Notice::Finished {
                ticket,
                outcome: Outcome::ShuttingDown,
            }));
            return false;
        }
        true
    }

    fn start(
        &mut self,
        ticket: Ticket,
        server: ServerId,
        leaf: Arc<str>,
        payload: P,
        options: GoalOptions,
        now: Time,
    ) -> GoalId {
        let wait_until = self.held_back_until(server).unwrap_or(now);
        let id = self.ids.next_id();
        let order = self.next_order();
        self.goals.insert(
            id,
            Entry {
                order,
                server,
                ticket: Some(ticket),
                leaf,
                after_halt: options.after_halt,
                goal: ActionGoal::new(options, wait_until),
                payload: Some(payload),
                halted: None,
                seen: false,
                given_up: false,
            },
        );
        id
    }

    fn next_order(&mut self) -> u64 {
        self.started += 1;
        self.started
    }

    /// When the last of the goals that are stopping on a server lets the next one go (G5).
    fn held_back_until(&self, server: ServerId) -> Option<Time> {
        self.goals
            .values()
            .filter(|entry| entry.server == server)
            .filter_map(|entry| entry.goal.holds_back_until())
            .max()
    }

    fn halt(&mut self, ticket: Ticket, reason: HaltReason, now: Time, out: &mut Vec<Effect<P>>) {
        self.leaves.remove(&ticket);
        for goal in self.goals_in_order(|entry| entry.ticket == Some(ticket)) {
            if let Some(entry) = self.goals.get_mut(&goal) {
                entry.halted.get_or_insert(reason);
                if entry.goal.phase().has_leaf() || entry.goal.phase() == Phase::Superseded {
                    self.apply(goal, GoalEvent::Halt, None, now, out);
                }
            }
        }
        if let Some(call) = self.calls.get_mut(&ticket) {
            call.halted.get_or_insert(reason);
            self.apply_call(ticket, CallEvent::Halt, None, now, out);
        }
    }

    fn begin_shut_down(&mut self, deadline: Time, now: Time, out: &mut Vec<Effect<P>>) {
        self.shut_down = Some(deadline);
        self.leaves.clear();
        for goal in self.goals_in_order(|_| true) {
            if let Some(entry) = self.goals.get_mut(&goal) {
                entry.halted.get_or_insert(HaltReason::ShuttingDown);
            }
            self.apply(goal, GoalEvent::ShutDown { deadline }, None, now, out);
        }
        let tickets: Vec<Ticket> = self.calls.keys().copied().collect();
        for ticket in tickets {
            self.apply_call(ticket, CallEvent::ShutDown { deadline }, None, now, out);
        }
    }

    /// Takes over a goal that is on a server and should not be.
    fn adopt(&mut self, server: ServerId, goal: GoalId, what: What, now: Time, out: &mut Vec<Effect<P>>) {
        let mut steps = Vec::new();
        let mut adopted = ActionGoal::adopted(self.options, now, &mut steps);
        if let Some(deadline) = self.shut_down {
            adopted.on(GoalEvent::ShutDown { deadline }, now, &mut steps);
        }
        let order = self.next_order();
        self.counters.adopted += 1;
        self.goals.insert(
            goal,
            Entry {
                order,
                server,
                ticket: None,
                leaf: Arc::from(""),
                after_halt: AfterHalt::Wait,
                goal: adopted,
                payload: None,
                halted: None,
                seen: false,
                given_up: false,
            },
        );
        self.report(goal, what, out);
        self.carry_out(goal, &steps, None, now, out);
    }

    /// An answer to a request of ours: late if its goal is no longer known.
    fn answer(
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
        }
    }

    fn status(
        &mut self,
        server: ServerId,
        goals: &[(GoalId, GoalStatus)],
        now: Time,
        out: &mut Vec<Effect<P>>,
    ) {
        let adopting = self
            .servers
            .get(&server)
            .and_then(|server| server.adopt_until)
            .is_some_and(|until| now <= until);
        for (goal, status) in goals {
            if let Some(entry) = self.goals.get_mut(goal) {
                entry.seen = true;
                self.apply(*goal, GoalEvent::Status(*status), None, now, out);
            } else if adopting && status.is_active() && self.ids.is_predecessor(*goal) {
                self.adopt(server, *goal, What::Adopted, now, out);
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

    fn server_gone(&mut self, server: ServerId, now: Time, out: &mut Vec<Effect<P>>) {
        let entry = self.servers.entry(server).or_default();
        if !entry.present {
            return;
        }
        entry.present = false;
        for goal in self.goals_in_order(|entry| entry.server == server) {
            if let Some(entry) = self.goals.get_mut(&goal) {
                entry.seen = false;
            }
            self.apply(goal, GoalEvent::ServerGone, None, now, out);
        }
        self.apply_calls_on(server, CallEvent::ServerGone, now, out);
    }

    fn server_back(&mut self, server: ServerId, now: Time, out: &mut Vec<Effect<P>>) {
        let entry = self.servers.entry(server).or_default();
        if entry.present {
            return;
        }
        entry.present = true;
        // Cancels for what it may still be executing go first (G2), then what has waited for it, behind them.
        for goal in self.goals_in_order(|entry| entry.server == server && entry.goal.phase() != Phase::Absent)
        {
            self.apply(goal, GoalEvent::ServerBack, None, now, out);
        }
        let held_back = self.held_back_until(server);
        for goal in self.goals_in_order(|entry| entry.server == server && entry.goal.phase() == Phase::Absent)
        {
            let wait = self
                .goals
                .get(&goal)
                .is_some_and(|entry| entry.after_halt == AfterHalt::Wait && entry.goal.may_requeue());
            let event = match held_back {
                Some(until) if wait => GoalEvent::Requeue { until },
                _ => GoalEvent::ServerBack,
            };
            self.apply(goal, event, None, now, out);
        }
        self.apply_calls_on(server, CallEvent::ServerBack, now, out);
    }

    fn apply_calls_on(&mut self, server: ServerId, event: CallEvent, now: Time, out: &mut Vec<Effect<P>>) {
        let tickets: Vec<Ticket> = self
            .calls
            .iter()
            .filter(|(_, call)| call.server == server)
            .map(|(ticket, _)| *ticket)
            .collect();
        for ticket in tickets {
            self.apply_call(ticket, event, None, now, out);
        }
    }

    fn report(&self, goal: GoalId, what: What, out: &mut Vec<Effect<P>>) {
        if let Some(entry) = self.goals.get(&goal) {
            out.push(Effect::Report(Report {
                server: entry.server,
                goal: Some(goal),
                ticket: entry.ticket,
                leaf: entry.leaf.clone(),
                halted: entry.halted,
                what,
            }));
        }
    }

    fn apply(
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

    fn carry_out(
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
                Step::TellFeedback => {
                    if let (Some(ticket), Some(payload)) = (self.waiting_leaf(goal), payload.take()) {
                        push_feedback(ticket, payload, out);
                    }
                }
                Step::Finish(verdict) => self.finish(goal, verdict, payload.take(), now, out),
                Step::Report(what) => {
                    match what {
                        What::GaveUpStopping | What::GaveUpUnreachable => entry.given_up = true,
                        What::GaveUpUnanswered => {
                            entry.given_up = true;
                            self.counters.unanswered += 1;
                        }
                        What::ResultLost => self.counters.results_lost += 1,
                        _ => {}
                    }
                    match what {
                        What::GaveUpStopping => self.counters.given_up += 1,
                        What::GaveUpUnreachable => self.counters.unreachable += 1,
                        _ => {}
                    }
                    self.report(goal, what, out);
                }
            }
        }
    }

    /// The activation that waits for this goal's outcome.
    fn waiting_leaf(&self, goal: GoalId) -> Option<Ticket> {
        let ticket = self.goals.get(&goal)?.ticket?;
        (self.leaves.get(&ticket)?.current == goal).then_some(ticket)
    }

    fn finish(
        &mut self,
        goal: GoalId,
        verdict: Verdict,
        payload: Option<P>,
        now: Time,
        out: &mut Vec<Effect<P>>,
    ) {
        let Some(ticket) = self.waiting_leaf(goal) else {
            return;
        };
        let outcome = match (verdict, payload) {
            (Verdict::Ended(End::Succeeded), Some(payload)) => Outcome::Succeeded(payload),
            (Verdict::Ended(End::Aborted), Some(payload)) => Outcome::Aborted(payload),
            (Verdict::Ended(End::Canceled), Some(payload)) => Outcome::Canceled(payload),
            (Verdict::Rejected, _) => Outcome::Rejected,
            (Verdict::SendFailed, _) => Outcome::SendFailed,
            (Verdict::AcceptTimeout, _) => Outcome::AcceptTimeout,
            (Verdict::ResultTimeout, _) => Outcome::ResultTimeout,
            (Verdict::ServerGone, _) => Outcome::ServerGone,
            (Verdict::ResultLost | Verdict::Ended(_), _) => Outcome::ResultLost,
        };
        self.leaves.remove(&ticket);
        out.push(Effect::Notify(Notice::Finished { ticket, outcome }));
        // What this activation has besides: a goal that the update, now failed, should have replaced.
        for other in self.goals_in_order(|entry| entry.ticket == Some(ticket)) {
            let left_behind = self
                .goals
                .get(&other)
                .is_some_and(|entry| entry.goal.phase() == Phase::Superseded);
            if left_behind {
                self.apply(other, GoalEvent::Halt, None, now, out);
            }
        }
    }

    fn call(
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
                is_cancel: matches!(request, Request::Cancel(_)),
                request: Some(request),
                halted: None,
            },
        );
        self.carry_out_call(ticket, &steps, None, out);
    }

    fn apply_call(
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

    fn carry_out_call(
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
                    Some(Request::Cancel(selection)) => {
                        self.counters.cancels += 1;
                        out.push(Effect::SendCancel {
                            server,
                            tag: CancelTag::Leaf(ticket),
                            selection,
                        });
                    }
                    None => {}
                },
                CallStep::Finish(verdict) => {
                    let outcome = match (verdict, answer.take()) {
                        (CallVerdict::Response, Some(outcome)) => outcome,
                        (CallVerdict::Response | CallVerdict::ResponseTimeout, _) => Outcome::ResponseTimeout,
                        (CallVerdict::SendFailed, _) => Outcome::SendFailed,
                        (CallVerdict::ServerGone, _) => Outcome::ServerGone,
                    };
                    out.push(Effect::Notify(Notice::Finished { ticket, outcome }));
                }
                CallStep::CountLate => self.counters.late += 1,
                CallStep::CountAbandoned => {
                    if !call.is_cancel {
                        self.counters.calls_abandoned += 1;
                        out.push(Effect::ForgetCall { ticket, server });
                    }
                }
                CallStep::Report(what) => out.push(Effect::Report(Report {
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

    /// After every event: drops what has ended, lets go what may go, sends the updates that may be sent.
    fn settle(&mut self, now: Time, out: &mut Vec<Effect<P>>) {
        self.drop_ended(out);
        self.release(now, out);
        self.update(now, out);
        self.drop_ended(out);
    }

    fn drop_ended(&mut self, out: &mut Vec<Effect<P>>) {
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
            if entry.given_up {
                continue;
            }
            if entry.goal.is_accepted() {
                self.counters.ended += 1;
            }
            self.ended.push_back(goal);
            if self.ended.len() > ENDED_REMEMBERED {
                self.ended.pop_front();
            }
        }
        self.calls.retain(|_, call| call.call.phase() != CallPhase::Ended);
    }

    fn release(&mut self, now: Time, out: &mut Vec<Effect<P>>) {
        for goal in self.goals_in_order(|entry| entry.goal.phase() == Phase::Queued) {
            let Some(entry) = self.goals.get(&goal) else {
                continue;
            };
            let over = entry.goal.queued_until().is_none_or(|until| until <= now);
            let free = self.held_back_until(entry.server).is_none();
            // An update that must not overtake its predecessor waits whatever the policy says.
            let impatient = entry.after_halt == AfterHalt::Immediately && !self.has_predecessor(goal);
            if over || free || impatient {
                let present = self.is_present(entry.server);
                self.apply(goal, GoalEvent::Release { present }, None, now, out);
            }
        }
    }

    /// Whether another goal of the same activation is stopping.
    fn has_predecessor(&self, goal: GoalId) -> bool {
        let ticket = self.goals.get(&goal).and_then(|entry| entry.ticket);
        self.goals.iter().any(|(other, entry)| {
            *other != goal
                && ticket.is_some()
                && entry.ticket == ticket
                && entry.goal.holds_back_until().is_some()
        })
    }

    /// Sends coalesced updates. One waits while the goal before it is unanswered, and while the one before
    /// that is still ending: an activation never has more than two goals on its server.
    fn update(&mut self, now: Time, out: &mut Vec<Effect<P>>) {
        let waiting: Vec<Ticket> = self
            .leaves
            .iter()
            .filter(|(_, leaf)| leaf.update.is_some())
            .map(|(ticket, _)| *ticket)
            .collect();
        for ticket in waiting {
            let Some(leaf) = self.leaves.get_mut(&ticket) else {
                continue;
            };
            let (options, current) = (leaf.options, leaf.current);
            let Some(entry) = self.goals.get_mut(&current) else {
                continue;
            };
            match entry.goal.phase() {
                // Not sent yet: send the newer one instead.
                Phase::Queued | Phase::Absent => entry.payload = leaf.update.take(),
                Phase::Executing => {
                    let (server, name) = (entry.server, entry.leaf.clone());
                    let two = self
                        .goals
                        .iter()
                        .any(|(other, entry)| *other != current && entry.ticket == Some(ticket));
                    if two {
                        continue;
                    }
                    let payload = self.leaves.get_mut(&ticket).and_then(|leaf| leaf.update.take());
                    let Some(payload) = payload else {
                        continue;
                    };
                    let event = match options.update {
                        UpdatePolicy::ServerPreempts => GoalEvent::Supersede,
                        UpdatePolicy::CancelFirst => GoalEvent::Halt,
                    };
                    self.apply(current, event, None, now, out);
                    let next = self.start(ticket, server, name, payload, options, now);
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

/// The latest feedback replaces an earlier one that has not left yet.
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

/// For the proofs: situations that differ only in when they happen, or in what happened before, are one.
#[cfg(test)]
impl<P> Custodian<P> {
    pub(super) fn shift_back(&mut self, by: std::time::Duration) {
        for entry in self.goals.values_mut() {
            entry.goal.shift_back(by);
        }
        for call in self.calls.values_mut() {
            call.call.shift_back(by);
        }
    }

    pub(super) fn forget_history(&mut self) {
        self.counters = Counters::default();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::goal::{CancelCode, Stamp};

    /// A Custodian, its clock in milliseconds, and everything it wanted done.
    struct Rig {
        custodian: Custodian<u32>,
        now: Time,
        out: Vec<Effect<u32>>,
        tickets: u64,
    }

    const SERVER: ServerId = ServerId(1);

    impl Rig {
        fn new() -> Self {
            let mut rig = Self {
                custodian: Custodian::new(GoalIds::new(1, 1), options()),
                now: Time::ZERO,
                out: Vec::new(),
                tickets: 0,
            };
            rig.wire(WireEvent::ServerBack { server: SERVER });
            rig
        }

        fn command(&mut self, command: Command<u32>) {
            self.custodian.command(command, self.now, &mut self.out);
        }

        fn wire(&mut self, event: WireEvent<u32>) {
            self.custodian.wire(event, self.now, &mut self.out);
        }

        /// Lets time pass, deadline by deadline.
        fn pass(&mut self, milliseconds: u64) {
            let until = self.now + Duration::from_millis(milliseconds);
            while let Some(due) = self.custodian.next_deadline().filter(|due| *due <= until) {
                self.now = self.now.max(due);
                self.custodian.advance(self.now, &mut self.out);
            }
            self.now = until;
        }

        fn start_with(&mut self, payload: u32, options: GoalOptions) -> Ticket {
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

        fn start(&mut self, payload: u32) -> Ticket {
            self.start_with(payload, options())
        }

        /// Starts a goal and has it accepted.
        fn run(&mut self, payload: u32) -> (Ticket, GoalId) {
            let ticket = self.start(payload);
            let goal = self.sent_goal();
            self.accept(goal);
            self.out.clear();
            (ticket, goal)
        }

        fn halt(&mut self, ticket: Ticket) {
            self.command(Command::Halt {
                ticket,
                reason: HaltReason::Preempted,
            });
        }

        fn accept(&mut self, goal: GoalId) {
            self.wire(WireEvent::Accepted {
                server: SERVER,
                goal,
                stamp: Stamp::ZERO,
            });
        }

        fn status(&mut self, goals: &[(GoalId, GoalStatus)]) {
            self.wire(WireEvent::Status {
                server: SERVER,
                goals: goals.to_vec(),
            });
        }

        /// What was wanted since the last call, in words.
        fn wanted(&mut self) -> Vec<String> {
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
                    Effect::Notify(Notice::Accepted { .. }) => Some("tell accepted".to_owned()),
                    Effect::Notify(Notice::Feedback { payload, .. }) => {
                        Some(format!("tell feedback {payload}"))
                    }
                    Effect::Notify(Notice::Finished { outcome, .. }) => Some(format!("tell {outcome:?}")),
                    Effect::Report(report) => Some(format!("{:?}", report.what)),
                })
                .collect()
        }

        fn sent_goal(&self) -> GoalId {
            self.out
                .iter()
                .rev()
                .find_map(|effect| match effect {
                    Effect::SendGoal { goal, .. } => Some(*goal),
                    _ => None,
                })
                .expect("no goal was sent")
        }
    }

    fn options() -> GoalOptions {
        GoalOptions {
            accept_timeout: Duration::from_millis(100),
            cancel_timeout: Duration::from_millis(300),
            cancel_retry: Duration::from_millis(50),
            result_timeout: None,
            result_retry: Duration::from_millis(20),
            result_poll: Duration::from_secs(5),
            give_up_timeout: Duration::from_secs(10),
            ..GoalOptions::default()
        }
    }

    #[test]
    fn a_goal_runs_to_its_result() {
        let mut rig = Rig::new();
        let _ = rig.start(7);
        let goal = rig.sent_goal();
        rig.accept(goal);
        rig.wire(WireEvent::Feedback { goal, payload: 1 });
        rig.wire(WireEvent::Feedback { goal, payload: 2 });
        rig.wire(WireEvent::Result {
            goal,
            end: End::Succeeded,
            payload: 9,
        });
        assert_eq!(
            rig.wanted(),
            [
                "send 7",
                "tell accepted",
                "ask",
                "tell feedback 2",
                "tell Succeeded(9)"
            ]
        );
        assert!(rig.custodian.is_idle());
        assert_eq!(rig.custodian.next_deadline(), None);
    }

    #[test]
    fn g3_goal_accepted_after_halt_is_cancelled_on_acceptance() {
        let mut rig = Rig::new();
        let ticket = rig.start(7);
        let goal = rig.sent_goal();
        rig.halt(ticket);
        assert_eq!(rig.wanted(), ["send 7"]);
        rig.pass(50);
        rig.accept(goal);
        assert_eq!(rig.wanted(), ["AcceptedLate", "cancel #1", "ask"]);
        rig.wire(WireEvent::Result {
            goal,
            end: End::Canceled,
            payload: 0,
        });
        assert_eq!(rig.wanted(), [""; 0]);
        assert!(rig.custodian.is_idle());
    }

    #[test]
    fn g3_lost_cancel_is_sent_again_until_the_server_answers() {
        let mut rig = Rig::new();
        let (ticket, goal) = rig.run(7);
        rig.halt(ticket);
        rig.pass(120);
        assert_eq!(rig.wanted(), ["cancel #1", "cancel #2", "cancel #3"]);
        rig.wire(WireEvent::CancelAnswered {
            tag: CancelTag::Goal { goal, attempt: 3 },
            code: CancelCode::None,
        });
        rig.pass(50);
        assert_eq!(rig.wanted(), ["ask"]);
        rig.status(&[(goal, GoalStatus::Canceled)]);
        assert!(rig.custodian.is_idle());
    }

    #[test]
    fn g5_start_waits_until_the_stopping_goal_is_over() {
        let mut rig = Rig::new();
        let (first, goal) = rig.run(1);
        rig.halt(first);
        let _ = rig.start(2);
        assert_eq!(rig.wanted(), ["cancel #1"]);
        rig.status(&[(goal, GoalStatus::Canceled)]);
        assert_eq!(rig.wanted(), ["send 2"]);
    }

    #[test]
    fn g6_absent_server_is_a_failure_within_the_accept_timeout() {
        let mut rig = Rig::new();
        rig.wire(WireEvent::ServerGone { server: SERVER });
        let _ = rig.start(1);
        rig.pass(99);
        assert_eq!(rig.wanted(), [""; 0]);
        rig.pass(1);
        assert_eq!(rig.wanted(), ["tell ServerGone"]);
        assert!(rig.custodian.is_idle());
    }
}
