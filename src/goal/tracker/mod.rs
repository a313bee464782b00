//! The GoalTracker: the owner of all goals, with and without a waiting leaf.

mod adoption;
mod calls;
mod counters;
mod found;
mod goals;
mod live;
mod queue;
#[cfg(test)]
mod rig;
mod unsent;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::{
    ActionGoal, CallEvent, CancelTag, Command, Effect, GoalEvent, GoalId, GoalIds, GoalIncident, GoalOptions,
    GoalStatus, IncidentKind, LinkId, Notice, Outcome, Phase, ServerId, ServiceCall, Ticket, WireEvent,
};
use crate::bt::{HaltReason, Time};
use adoption::Adoption;

pub use counters::Counters;
pub use live::LiveGoal;

/// Tracks every goal to its end.
///
/// One thread or task owns it. The owner calls [`GoalTracker::command`], [`GoalTracker::wire`] and, when
/// [`GoalTracker::next_deadline`] has come, [`GoalTracker::advance`], and carries out the effects in their order. It
/// may collect the effects of several calls with the same time in one list: a request that is halted before it has left
/// is removed from the list. The GoalTracker has no clock, no lock and no thread, so the same calls give the same
/// effects (G9).
///
/// Memory is bounded: every goal and call without a leaf has a deadline for giving up.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GoalTracker<P> {
    ids: GoalIds,
    /// The options of adopted goals, which no leaf of this run configured.
    options: GoalOptions,
    goals: BTreeMap<GoalId, Entry<P>>,
    leaves: BTreeMap<Ticket, Leaf<P>>,
    calls: BTreeMap<Ticket, Call<P>>,
    servers: BTreeMap<ServerId, Server>,
    /// Goals that ended recently by the answer of their servers. An answer about one of these only counts as late.
    ended: VecDeque<Ended>,
    /// Goals that were given up and may be executing. They are cancelled again when there is a new chance.
    lost: VecDeque<Lost>,
    /// Activations whose world was told that somebody cancelled their goal, and has not read it. No goal of that world is
    /// sent meanwhile: its tree does not know that another client may have stopped the robot (G3).
    unread_cancels: BTreeSet<Ticket>,
    /// Whether goals of an earlier run may be cancelled.
    may_adopt: bool,
    shut_down: Option<Time>,
    /// All leaves were halted from outside of the tick thread, and no navigation has begun since.
    is_halted: bool,
    started: u64,
    counters: Counters,
}

/// Maximum number of remembered ended goals. A later answer counts as one about a goal that was given up, and the goal
/// is cancelled, which is harmless after its end. The same holds for a goal that its server did not know: if the server
/// shows it afterwards, that answer was wrong.
const ENDED_REMEMBERED: usize = 64;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Entry<P> {
    /// Orders goals by their start; ids have a random order.
    order: u64,
    server: ServerId,
    /// The activation that gets its notices; `None` for an adopted goal.
    ticket: Option<Ticket>,
    /// The activation that started it, for reports. Kept when the goal was given up and found again.
    started_by: Option<Ticket>,
    leaf: Arc<str>,
    goal: ActionGoal,
    /// `Some` until it is sent.
    payload: Option<P>,
    halted: Option<HaltReason>,
    /// Whether the status topic has shown it. Only then its absence from a list is significant.
    seen: bool,
    listed_end: ListedEnd,
    /// The reason, if it was given up before a proof of its end.
    lost: Option<IncidentKind>,
}

/// A goal that ended by the answer of its server.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Ended {
    goal: GoalId,
    /// The activation that started it.
    started_by: Option<Ticket>,
    leaf: Arc<str>,
    /// The number of its last cancel.
    cancels: u32,
    /// Whether a cancel of another client, which nothing has shown before, may become known.
    may_hide_cancel: bool,
    listed_end: ListedEnd,
}

/// What the status lists have shown of the end of a goal. They arrive in order, but the result may overtake a list that was
/// sent before the end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum ListedEnd {
    #[default]
    Unknown,
    Shown,
    /// A later list shows the goal accepted or executing: another server with the same name executes it, too.
    ActiveAgain,
}

impl ListedEnd {
    fn see(&mut self, status: GoalStatus) {
        *self = match (*self, status) {
            (Self::Shown, GoalStatus::Accepted | GoalStatus::Executing) => Self::ActiveAgain,
            (Self::Unknown, status) if !status.is_active() => Self::Shown,
            (listed, _) => listed,
        };
    }
}

/// Maximum number of remembered lost goals. A goal beyond it is stopped when its server shows it.
const LOST_REMEMBERED: usize = 64;

/// A goal that was given up.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Lost {
    goal: GoalId,
    server: ServerId,
    started_by: Option<Ticket>,
    leaf: Arc<str>,
    accepted: bool,
    what: IncidentKind,
    /// Whether it had been given up before.
    retried: bool,
    cancels: u32,
}

/// An activation with an open outcome. Removed when its leaf gets the outcome or is halted, which keeps late events
/// from the leaf (G4).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Leaf<P> {
    options: GoalOptions,
    current: GoalId,
    /// The newest update, until it is applied.
    update: Option<P>,
    /// The number of updates so far.
    updates: u64,
    /// The number of updates that the current goal includes.
    applied: u64,
}

impl<P> Leaf<P> {
    fn new(options: GoalOptions, current: GoalId) -> Self {
        Self {
            options,
            current,
            update: None,
            updates: 0,
            applied: 0,
        }
    }

    /// Takes the waiting update. The current goal includes it from now on.
    fn apply_update(&mut self) -> Option<P> {
        self.applied = self.updates;
        self.update.take()
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Call<P> {
    server: ServerId,
    leaf: Arc<str>,
    call: ServiceCall,
    /// `Some` until it is sent.
    request: Option<Request<P>>,
    is_cancel: bool,
    /// The time until which a goal waits for the answer to the request of a Cancel node, which is sent: also if its leaf
    /// was halted.
    holds_back_until: Option<Time>,
    /// What the server may not have when it handles the request of a Cancel node: the activations whose goal it was not known
    /// to have noted at the start of that node, or that start after it, and those whose update waited then, with the number of
    /// the update.
    unknown: Vec<(Ticket, Option<u64>)>,
    halted: Option<HaltReason>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Request<P> {
    Service(P),
    /// Cancels all goals of the server.
    Cancel,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Server {
    present: bool,
    adoption: Adoption,
}

impl<P> GoalTracker<P> {
    /// Creates a GoalTracker without servers and goals. `options` are for adopted goals.
    pub fn new(ids: GoalIds, options: GoalOptions) -> Self {
        Self {
            ids,
            options,
            goals: BTreeMap::new(),
            leaves: BTreeMap::new(),
            calls: BTreeMap::new(),
            servers: BTreeMap::new(),
            ended: VecDeque::new(),
            lost: VecDeque::new(),
            unread_cancels: BTreeSet::new(),
            may_adopt: false,
            shut_down: None,
            is_halted: false,
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
                    let current = self.start(ticket, server, leaf, payload, options);
                    self.leaves.insert(ticket, Leaf::new(options, current));
                }
            }
            Command::Update { ticket, payload } => {
                if let Some(leaf) = self.leaves.get_mut(&ticket) {
                    leaf.update = Some(payload);
                    leaf.updates += 1;
                }
            }
            Command::Halt { ticket, reason } => {
                self.halt(ticket, reason, now, out);
            }
            Command::HaltAll { reason } => {
                self.is_halted = true;
                for ticket in self.open_tickets() {
                    self.halt(ticket, reason, now, out);
                }
            }
            Command::BeginSession => self.is_halted = false,
            Command::ReadCancel { ticket } => {
                self.unread_cancels.remove(&ticket);
            }
            Command::Detach { ticket, reason } => {
                if let Some(call) = self.calls.get_mut(&ticket) {
                    call.halted.get_or_insert(reason);
                    self.apply_call(ticket, CallEvent::Detached, None, now, out);
                }
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
                earlier,
                options,
            } => self.cancel_server((ticket, server, leaf), &earlier, options, now, out),
            Command::Adopt {
                server,
                window,
                delay,
            } => {
                self.servers.entry(server).or_default().adoption = Adoption::new(window, delay);
            }
            Command::AllowAdoption { allowed } => self.allow_adoption(allowed, now, out),
            Command::ShutDown { deadline } => self.begin_shut_down(deadline, now, out),
        }
        self.settle(now, out);
    }

    /// Handles an event of a transport.
    pub fn wire(&mut self, event: WireEvent<P>, now: Time, out: &mut Vec<Effect<P>>) {
        match event {
            WireEvent::Accepted { server, goal, .. } => {
                if self.goals.contains_key(&goal) {
                    self.apply(goal, GoalEvent::Accepted, None, now, out);
                } else {
                    self.counters.late += 1;
                    if !self.has_ended(goal) {
                        self.adopt(server, goal, IncidentKind::AcceptedAfterGivingUp, now, out);
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
                ..
            } => self.apply(goal, GoalEvent::CancelAnswered { attempt, code }, None, now, out),
            WireEvent::CancelAnswered {
                tag: CancelTag::Leaf(ticket),
                code,
                canceling,
            } => self.server_has_canceled(ticket, (code, &canceling), now, out),
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

    /// Handles the timers that are due. Harmless if none is.
    pub fn advance(&mut self, now: Time, out: &mut Vec<Effect<P>>) {
        for goal in self.goals_in_order(|entry| entry.goal.next_deadline().is_some_and(|due| due <= now)) {
            self.apply(goal, GoalEvent::Deadline, None, now, out);
            if self.phase(goal) == Some(Phase::CancelPending) {
                self.withdraw(goal, now, out);
            }
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
        for call in self.calls.values_mut() {
            call.holds_back_until = call.holds_back_until.filter(|until| *until > now);
        }
        self.adopt_due(now, out);
        self.settle(now, out);
    }

    /// The next time to call [`GoalTracker::advance`]. `None` if nothing has a deadline.
    pub fn next_deadline(&self) -> Option<Time> {
        let goals = self.goals.values();
        let goals = goals.filter_map(|entry| entry.goal.next_deadline());
        let calls = self.calls.values();
        let calls = calls.flat_map(|call| {
            [call.call.next_deadline(), call.holds_back_until]
                .into_iter()
                .flatten()
        });
        let may_adopt = |server: &&Server| self.may_adopt && server.present;
        let left = self.servers.values().filter(may_adopt);
        goals
            .chain(calls)
            .chain(left.filter_map(|server| server.adoption.due()))
            .min()
    }

    /// Goals that have not ended, oldest first. A goal whose server vanished has [`Phase::Unreachable`] and counts as
    /// stopped, see [`LiveGoal::delays_result`].
    pub fn live_goals(&self) -> Vec<LiveGoal> {
        self.goals_in_order(|_| true)
            .into_iter()
            .filter_map(|goal| {
                let entry = self.goals.get(&goal)?;
                Some(LiveGoal {
                    goal,
                    server: entry.server,
                    ticket: entry.started_by,
                    leaf: entry.leaf.clone(),
                    phase: entry.goal.phase(),
                    halted: entry.halted,
                    holds_back: entry.goal.holds_back(),
                    is_denied_again: entry.goal.is_denied() && entry.goal.is_found(),
                    is_presumed_lost: entry.goal.is_presumed_lost(),
                    is_over: entry.goal.is_over(),
                })
            })
            .collect()
    }

    /// The activations of goals and calls with an open outcome: those that a halt of all leaves halts.
    pub fn open_tickets(&self) -> Vec<Ticket> {
        let calls = self.calls.iter().filter(|(_, call)| call.call.phase().has_leaf());
        self.leaves
            .keys()
            .chain(calls.map(|(ticket, _)| ticket))
            .copied()
            .collect()
    }

    /// Whether no goal or call is left. After a shut-down, the process can exit then.
    pub fn is_idle(&self) -> bool {
        self.goals.is_empty() && self.calls.is_empty()
    }

    /// Whether a server is present.
    pub fn is_present(&self, server: ServerId) -> bool {
        self.servers.get(&server).is_some_and(|server| server.present)
    }

    /// Whether a server has goals or calls, goals that were given up and will be cancelled when it shows them, or a
    /// search for goals of an earlier run.
    pub fn uses_server(&self, server: ServerId, now: Time) -> bool {
        self.goals.values().any(|entry| entry.server == server)
            || self.calls.values().any(|call| call.server == server)
            || self.lost.iter().any(|lost| lost.server == server)
            || self
                .servers
                .get(&server)
                .is_some_and(|known| known.adoption.is_open(now))
    }

    /// Forgets a server that is not used, and whose events do not arrive any more.
    pub fn forget_server(&mut self, server: ServerId) {
        self.servers.remove(&server);
    }

    /// Whether leaves may start nothing: all were halted from outside of the tick thread, and no session has begun since.
    pub fn is_halted(&self) -> bool {
        self.is_halted || self.shut_down.is_some()
    }

    /// The counters so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    fn phase(&self, goal: GoalId) -> Option<Phase> {
        self.goals.get(&goal).map(|entry| entry.goal.phase())
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
            out.push(Effect::Report(GoalIncident {
                server,
                goal: None,
                ticket: Some(ticket),
                leaf: leaf.clone(),
                halted: None,
                what: IncidentKind::TicketInUse,
            }));
            return false;
        }
        let refusal = match (self.shut_down, self.is_halted) {
            (Some(_), _) => Outcome::ShuttingDown,
            (None, true) => Outcome::SendFailed,
            (None, false) => return true,
        };
        out.push(Effect::Notify(Notice::Finished {
            ticket,
            updates: 0,
            outcome: refusal,
        }));
        false
    }

    /// Whether a world was told of a cancel and has not read it.
    fn has_unread_cancel(&self, link: LinkId) -> bool {
        self.unread_cancels.iter().any(|unread| unread.link() == link)
    }

    /// Sends a notice, which the world has to read before a goal of it is sent: those that have not left wait.
    fn notify_of_cancel(&mut self, notice: Notice<P>, now: Time, out: &mut Vec<Effect<P>>) {
        let link = notice.ticket().link();
        self.unread_cancels.insert(notice.ticket());
        out.push(Effect::Notify(notice));
        let of_link = |entry: &Entry<P>| entry.ticket.is_some_and(|ticket| ticket.link() == link);
        for goal in self.goals_in_order(|entry| of_link(entry) && entry.goal.phase() == Phase::Sent) {
            if self.take_back(goal, out) {
                self.apply(goal, GoalEvent::TakenBack, None, now, out);
            }
        }
    }

    /// The world of a link is gone, with the thread of its tree: halts what it has left.
    pub fn unlink(&mut self, link: LinkId, now: Time, out: &mut Vec<Effect<P>>) {
        self.unread_cancels.retain(|unread| unread.link() != link);
        let reason = HaltReason::ShuttingDown;
        for ticket in self.open_tickets() {
            if ticket.link() == link {
                self.command(Command::Halt { ticket, reason }, now, out);
            }
        }
    }

    fn next_order(&mut self) -> u64 {
        self.started += 1;
        self.started
    }

    fn halt(&mut self, ticket: Ticket, reason: HaltReason, now: Time, out: &mut Vec<Effect<P>>) {
        self.leaves.remove(&ticket);
        for goal in self.goals_in_order(|entry| entry.ticket == Some(ticket)) {
            if let Some(entry) = self.goals.get_mut(&goal) {
                entry.halted.get_or_insert(reason);
                if entry.goal.phase().is_halted_with_leaf() {
                    self.withdraw_or(goal, GoalEvent::Halt, now, out);
                }
            }
        }
        if let Some(call) = self.calls.get_mut(&ticket) {
            call.halted.get_or_insert(reason);
            self.withdraw_call_or(ticket, CallEvent::Halt, now, out);
        }
    }

    fn begin_shut_down(&mut self, deadline: Time, now: Time, out: &mut Vec<Effect<P>>) {
        self.shut_down = Some(deadline);
        self.may_adopt = false;
        self.leaves.clear();
        for goal in self.goals_in_order(|_| true) {
            if let Some(entry) = self.goals.get_mut(&goal)
                && entry.goal.phase().is_halted_with_leaf()
            {
                entry.halted.get_or_insert(HaltReason::ShuttingDown);
            }
            self.withdraw_or(goal, GoalEvent::ShutDown { deadline }, now, out);
        }
        let tickets: Vec<Ticket> = self.calls.keys().copied().collect();
        for ticket in tickets {
            self.withdraw_call_or(ticket, CallEvent::ShutDown { deadline }, now, out);
        }
    }
}

/// For the proofs: situations that differ only in time or history are equal.
#[cfg(test)]
impl<P> GoalTracker<P> {
    pub(in crate::goal) fn shift_back(&mut self, by: std::time::Duration) {
        for server in self.servers.values_mut() {
            server.adoption.shift_back(by);
        }
        for entry in self.goals.values_mut() {
            entry.goal.shift_back(by);
        }
        for call in self.calls.values_mut() {
            call.call.shift_back(by);
            call.holds_back_until = call
                .holds_back_until
                .map(|until| Time::from_nanos((until.since(Time::ZERO) - by).as_nanos() as u64));
        }
    }

    pub(in crate::goal) fn forget_history(&mut self, now: Time) {
        self.counters = Counters::default();
        for server in self.servers.values_mut() {
            server.adoption.forget_history(now);
        }
    }

    /// The number of cancels of a goal that has not ended.
    pub(in crate::goal) fn cancels(&self, goal: GoalId) -> Option<u32> {
        self.goals.get(&goal).map(|entry| entry.goal.cancels())
    }

    /// The end of the search for goals of an earlier run on a server, if it has one.
    pub(in crate::goal) fn adopts_until(&self, server: ServerId) -> Option<Time> {
        self.servers.get(&server)?.adoption.until()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::rig::{Rig, options};
    use crate::bt::{HaltReason, Time};
    use crate::goal::{Command, GoalOptions, GoalStatus, TerminalStatus, Ticket, WireEvent};

    #[test]
    fn g8_shut_down_cancels_all_goals_without_notices_and_ends_at_its_deadline() {
        let mut rig = Rig::new();
        let _ = rig.start_accepted(1);
        let _ = rig.start(2);
        let _ = rig.call(3);
        rig.effects.clear();
        rig.command(Command::ShutDown {
            deadline: Time::from_millis(1_000),
        });
        // One goal was accepted, the other is not answered yet.
        assert_eq!(rig.take_effects(), ["cancel #1", "cancel #1"]);
        let late = rig.start(4);
        assert_eq!(rig.take_effects(), ["notify ShuttingDown"]);
        rig.halt(late);
        rig.advance(999);
        assert!(!rig.goal_tracker.is_idle());
        // Neither the loss nor the return of the server extends the wait.
        rig.server_gone();
        rig.server_back();
        rig.advance(1);
        assert!(!rig.take_effects().iter().any(|line| line.starts_with("notify")));
        rig.assert_idle();
    }

    #[test]
    fn g8_a_goal_that_is_not_answered_is_cancelled_at_once_and_until_the_deadline() {
        let slow = GoalOptions {
            response_timeout: Duration::from_secs(10),
            ..options()
        };
        let deadline = Time::from_millis(1_000);
        let before: [fn(&mut Rig, Ticket); 2] = [|_, _| {}, Rig::halt];
        for before in before {
            let mut rig = Rig::new();
            let ticket = rig.start_with(1, slow);
            before(&mut rig, ticket);
            assert_eq!(rig.take_effects(), ["send 1"]);
            rig.command(Command::ShutDown { deadline });
            assert_eq!(rig.take_effects(), ["cancel #1"]);
            rig.advance(999);
            let cancels = rig
                .take_effects()
                .iter()
                .filter(|line| line.starts_with("cancel"))
                .count();
            assert_eq!(cancels, 19, "one each cancel_retry");
            rig.advance(1);
            assert_eq!(rig.take_effects(), ["GaveUpUnanswered"]);
            rig.assert_idle();
        }
        // Its server has vanished and come back.
        let mut rig = Rig::new();
        let _ = rig.start_with(1, slow);
        rig.server_gone();
        rig.command(Command::ShutDown { deadline });
        rig.effects.clear();
        rig.server_back();
        assert_eq!(rig.take_effects(), ["cancel #2"]);
        rig.advance(50);
        assert_eq!(rig.take_effects(), ["cancel #3"]);
    }

    #[test]
    fn g8_shut_down_is_over_as_soon_as_the_goals_are() {
        let mut rig = Rig::new();
        let (_, goal) = rig.start_accepted(1);
        rig.command(Command::ShutDown {
            deadline: Time::from_millis(1_000),
        });
        rig.status(&[(goal, GoalStatus::Canceled)]);
        rig.assert_idle();
    }

    #[test]
    fn g3_a_session_is_over_when_no_goal_of_its_own_can_be_executing() {
        let mut rig = Rig::new();
        let (ticket, goal) = rig.start_accepted(1);
        let own = |other| other == ticket;
        rig.command(Command::Halt {
            ticket,
            reason: HaltReason::GoalCanceled,
        });
        let [live] = rig.goal_tracker.live_goals().try_into().unwrap();
        assert_eq!(live.halted, Some(HaltReason::GoalCanceled));
        assert_eq!(&*live.leaf, "tree/leaf");
        assert!(live.delays_result(own));
        rig.advance(300);
        let [live] = rig.goal_tracker.live_goals().try_into().unwrap();
        assert!(
            live.delays_result(own),
            "its cancel timeout is no reason to say that it has stopped"
        );
        rig.result(goal, TerminalStatus::Canceled);
        rig.assert_idle();
    }

    #[test]
    fn g3_a_goal_of_an_earlier_session_delays_a_later_one_only_until_its_stop_deadline() {
        let earlier = |lost: bool| {
            let mut rig = Rig::new();
            let ticket = if lost {
                rig.start(1)
            } else {
                rig.start_accepted(1).0
            };
            rig.halt(ticket);
            rig
        };
        // The request was lost, or the server ignores the cancel.
        for lost in [true, false] {
            let mut rig = earlier(lost);
            let [live] = rig.goal_tracker.live_goals().try_into().unwrap();
            assert!(live.delays_result(|_| false), "it is being stopped");
            rig.advance(300);
            assert!(rig.take_effects().iter().any(|line| line == "NotStoppedInTime"));
            let [live] = rig.goal_tracker.live_goals().try_into().unwrap();
            assert!(!live.delays_result(|_| false));
            assert_eq!(
                live.is_left_by(|_| false),
                !lost,
                "only what is known to execute is named"
            );
        }
        // The session ignores a goal of another session that is not being stopped.
        let mut rig = Rig::new();
        let _ = rig.start_accepted(1);
        let [live] = rig.goal_tracker.live_goals().try_into().unwrap();
        assert!(!live.delays_result(|_| false) && !live.is_left_by(|_| false));
    }

    #[test]
    fn g3_a_goal_whose_end_is_known_is_not_named_as_one_that_has_not_stopped() {
        let mut rig = Rig::new();
        let (ticket, goal) = rig.start_accepted(1);
        rig.halt(ticket);
        rig.result(goal, TerminalStatus::Canceled);
        let [live] = rig.goal_tracker.live_goals().try_into().unwrap();
        assert!(
            live.delays_result(|_| true),
            "the answer to the cancel shows who has cancelled"
        );
        assert!(live.is_over && !live.is_left_by(|_| true));
    }

    #[test]
    fn g9_the_same_calls_give_the_same_effects() {
        let run = || {
            let mut rig = Rig::new();
            let (ticket, goal) = rig.start_accepted(1);
            rig.wire(WireEvent::Feedback { goal, payload: 4 });
            rig.halt(ticket);
            let _ = rig.start(2);
            rig.advance(20_000);
            rig.effects
        };
        assert_eq!(run(), run());
    }

    #[test]
    fn a_ticket_in_use_is_refused_with_a_report() {
        let mut rig = Rig::new();
        let _ = rig.start(1);
        rig.tickets -= 1;
        let _ = rig.start(2);
        let _ = rig.call(3);
        assert_eq!(rig.take_effects(), ["send 1", "TicketInUse", "call 3"]);
    }
}
