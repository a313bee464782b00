//! A small world for the proofs: one leaf, the real GoalTracker, a bad network and a bad server, whose goals are in a
//! real [`GoalTable`]. The model checker explores it completely, the property tests at random.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::{
    AfterHalt, CancelCode, CancelTag, Command, Effect, GoalId, GoalIds, GoalOptions, GoalStatus, GoalTable,
    GoalTracker, IncidentKind, Notice, Outcome, Phase, ResultAnswer, Selection, ServerId, Stamp,
    TerminalStatus, Ticket, UpdatePolicy, WireEvent,
};
use crate::bt::{HaltReason, Time};

/// The maximum number of each fault, and the options of the leaf. Time advances in seconds, from deadline to deadline:
/// between two deadlines no behavior depends on the elapsed time.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) activations: u64,
    /// Maximum number of messages under way at once.
    pub(crate) messages: usize,
    pub(crate) updates: u8,
    pub(crate) update_policy: UpdatePolicy,
    /// Lost messages. Any number may be arbitrarily late, which is nearly the same. A status list is repeated, because
    /// the topic is reliable and latched.
    pub(crate) losses: u8,
    /// Messages that arrive twice.
    pub(crate) repeats: u8,
    /// Crashes of the server. It may come back without its goals before its absence is noticed. Then the client learns
    /// later that the process is another one, and the endpoints of the dead one stay on the graph for a while.
    pub(crate) crashes: u8,
    /// Times that another server with its name appears, without goals.
    pub(crate) namesakes: u8,
    /// Times that a living server seems to vanish.
    pub(crate) partitions: u8,
    /// Times that the server drops the results of ended goals.
    pub(crate) forgettings: u8,
    /// Crashes of the process with the GoalTracker. The next process adopts goals when adoption is allowed.
    pub(crate) deaths: u8,
    /// Whether the server may refuse to cancel.
    pub(crate) refuses: bool,
    /// Goals that the server accepts before it notes them. In between, it answers requests as if they did not exist.
    pub(crate) early: u8,
    /// Goals that another client cancels.
    pub(crate) foreign_cancels: u8,
    /// Times that the owner of the GoalTracker is late: it handles all arrived inputs before any effect leaves.
    pub(crate) batches: u8,
}

impl Setup {
    pub(crate) const NONE: Self = Self {
        activations: 1,
        messages: 3,
        updates: 0,
        update_policy: UpdatePolicy::ServerPreempts,
        losses: 0,
        repeats: 0,
        crashes: 0,
        namesakes: 0,
        partitions: 0,
        forgettings: 0,
        deaths: 0,
        refuses: false,
        early: 0,
        foreign_cancels: 0,
        batches: 0,
    };

    fn options(&self) -> GoalOptions {
        GoalOptions {
            accept_timeout: Duration::from_secs(1),
            absent_timeout: Duration::from_secs(1),
            cancel_timeout: Duration::from_secs(1),
            cancel_retry: Duration::from_secs(1),
            result_timeout: Some(Duration::from_secs(2)),
            result_retry: Duration::from_secs(1),
            result_questions: 3,
            result_poll: Duration::from_secs(2),
            give_up_timeout: Duration::from_secs(2),
            update: self.update_policy,
            after_halt: AfterHalt::Wait,
        }
    }

    /// The maximum wait of a leaf, by its options: twice for stopping goals, once for an absent server, the acceptance,
    /// the result and a lost result. An update restarts the last three after the goal before it had its time to end.
    fn patience(&self) -> Duration {
        let lost = 1 + 2 + 4 + 8;
        Duration::from_secs(1 + 1 + 1 + (1 + 2 + lost) + u64::from(self.updates) * (2 + 1 + 2 + lost))
    }

    /// The maximum tracking time of a goal without a leaf. A late acceptance and the return of the server restart it.
    fn tracking(&self) -> Duration {
        let faults = self.crashes + self.namesakes + self.partitions;
        Duration::from_secs(2 * (3 + u64::from(faults)))
    }
}

/// The search window for goals of an earlier run. As with the other times, production has a longer one and the same
/// rule.
const WINDOW: Duration = Duration::from_secs(2);

/// A message under way on the network.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Message {
    GoalRequest(GoalId),
    CancelRequest(GoalId, u32),
    ResultRequest(GoalId),
    Accepted(GoalId),
    Rejected(GoalId),
    Canceled(GoalId, u32, CancelCode),
    Result(GoalId, TerminalStatus),
    ResultUnknown(GoalId),
    /// Only the latest list, as the topic keeps only one.
    Status(Vec<(GoalId, GoalStatus)>),
}

/// A possible next step of the world.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Action {
    Start,
    Update,
    Halt,
    Deliver(Message),
    /// The server rejects on delivery. A late acceptance is a late delivery.
    Reject(GoalId),
    Refuse(GoalId, u32),
    AcceptEarly(GoalId),
    /// The server notes the goal that it accepted early. No time passes before this step, so the GoalTracker does not
    /// consider the server gone in between.
    Note,
    Lose(Message),
    Repeat(Message),
    /// The middleware repeats a status list.
    Replay,
    Finish(GoalId, TerminalStatus),
    /// Another client cancels the goal.
    CancelByAnother(GoalId),
    Forget,
    Crash,
    Restart,
    /// Another server with its name appears; `Leave`: it disappears.
    Join,
    Leave,
    /// The other server answers first a request that reaches both. The client receives only that answer.
    Deny(Message),
    /// The GoalTracker learns that the server's process is another one, or that there are two servers: it considers the
    /// server gone and then back.
    Change,
    /// The GoalTracker learns the real presence of the server.
    Discover,
    /// The GoalTracker wrongly learns that the server vanished.
    Partition,
    /// The process with the GoalTracker crashes and another one starts.
    Die,
    /// The new process is active and the only one with its name.
    AllowAdoption,
    /// Effects of the GoalTracker do not leave before `CarryOut`.
    BeLate,
    CarryOut,
    /// Time passes until the next deadline.
    Wait,
}

/// The complete state. Times are relative to now, so equal situations at different times are the same state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct World {
    goal_tracker: GoalTracker<u8>,
    /// The running activation and its run time.
    running: Option<(Ticket, Duration)>,
    /// Activations whose leaf was halted, with the time since then.
    left: BTreeMap<Ticket, Duration>,
    started: u64,
    /// The number of updates of the running activation. The goal and the result of each carry this number.
    updated: u8,
    /// The payloads of goals, if not 0.
    payloads: BTreeMap<GoalId, u8>,
    net: BTreeSet<Message>,
    up: bool,
    /// The server's process is another one, or one of two, and the GoalTracker does not know this yet.
    changed: bool,
    /// Another server with its name exists.
    namesake: bool,
    /// Endpoints of another server with its name are on the graph, alive or dead.
    is_with_another: bool,
    table: GoalTable<u8, GoalId>,
    /// The goal that is accepted and not in the table yet.
    early: Option<GoalId>,
    /// Goals with a waiting result request at the server. Repeated requests count once.
    asked: BTreeSet<GoalId>,
    /// Goals that were reported as not stopped in time. The next goal may start in parallel.
    slow: BTreeSet<GoalId>,
    /// Goals that ignored every cancel and were reported as possibly running forever. A goal leaves this set when it is
    /// seen again. Goals given up because of a silent or unreachable server are not in it, because they must be found.
    abandoned: BTreeSet<GoalId>,
    /// Goals of an earlier run that the server accepted after its first list for this run. The search window covers
    /// them, and it ends.
    late: BTreeSet<GoalId>,
    /// Goals that another client cancelled.
    foreign_canceled: BTreeSet<GoalId>,
    /// The activation for which the robot must not move any more: the GoalTracker knows that another client cancelled
    /// its goal.
    stopped: Option<Ticket>,
    /// Whether the running leaf was notified of such a cancel.
    is_told_of_cancel: bool,
    /// Whether this run may adopt. The first run has no goals to adopt.
    may_adopt: bool,
    /// Whether a status list has arrived since the server was discovered.
    listed: bool,
    /// Whether the latest status list must be repeated: it was lost, or is older than its reader. A reader that has
    /// received it does not get it again, even after its server seemed to vanish, because some middleware does not
    /// repeat it.
    unheard: bool,
    /// Whether the owner is late; `unsent` are the effects that have not left.
    is_late: bool,
    unsent: Vec<Effect<u8>>,
    used: Used,
    /// The first violation of an invariant.
    pub(crate) wrong: Option<&'static str>,
    pub(crate) seen: Seen,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Used {
    updates: u8,
    losses: u8,
    repeats: u8,
    crashes: u8,
    namesakes: u8,
    partitions: u8,
    forgettings: u8,
    deaths: u8,
    early: u8,
    foreign_cancels: u8,
    batches: u8,
}

/// Observations of the last step. A proof without them would prove nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) succeeded: bool,
    pub(crate) cancelled_late: bool,
    pub(crate) adopted: bool,
    pub(crate) found_again: bool,
    pub(crate) retried: bool,
    pub(crate) server_gone: bool,
    pub(crate) result_lost: bool,
    pub(crate) gave_up: bool,
    pub(crate) canceled_by_another: bool,
}

const SERVER: ServerId = ServerId(0);
const NOW: Time = Time::from_millis(1_000_000_000);
const REASON: HaltReason = HaltReason::Preempted;

impl World {
    pub(crate) fn new(setup: &Setup) -> Self {
        let mut world = Self {
            goal_tracker: GoalTracker::new(GoalIds::new(1, 0), setup.options()),
            running: None,
            left: BTreeMap::new(),
            started: 0,
            updated: 0,
            payloads: BTreeMap::new(),
            net: BTreeSet::new(),
            up: true,
            changed: false,
            namesake: false,
            is_with_another: false,
            table: GoalTable::new(Duration::ZERO),
            early: None,
            asked: BTreeSet::new(),
            slow: BTreeSet::new(),
            abandoned: BTreeSet::new(),
            late: BTreeSet::new(),
            foreign_canceled: BTreeSet::new(),
            stopped: None,
            is_told_of_cancel: false,
            may_adopt: true,
            listed: false,
            unheard: false,
            is_late: false,
            unsent: Vec::new(),
            used: Used::default(),
            wrong: None,
            seen: Seen::default(),
        };
        world.wire(WireEvent::ServerBack { server: SERVER });
        world
    }

    /// The possible next steps, in a fixed order.
    pub(crate) fn actions(&self, setup: &Setup) -> Vec<Action> {
        let mut actions = Vec::new();
        match self.running {
            None if self.started < setup.activations => actions.push(Action::Start),
            None => {}
            Some(_) => {
                actions.push(Action::Halt);
                if self.used.updates < setup.updates {
                    actions.push(Action::Update);
                }
            }
        }
        for message in &self.net {
            actions.push(Action::Deliver(message.clone()));
            match message {
                Message::GoalRequest(goal) if self.up => {
                    actions.push(Action::Reject(*goal));
                    if self.used.early < setup.early && self.early.is_none() {
                        actions.push(Action::AcceptEarly(*goal));
                    }
                }
                Message::CancelRequest(goal, attempt) if self.up && setup.refuses => {
                    actions.push(Action::Refuse(*goal, *attempt));
                }
                _ => {}
            }
            let is_asked = matches!(message, Message::CancelRequest(..) | Message::ResultRequest(_));
            if self.up && self.namesake && is_asked {
                actions.push(Action::Deny(message.clone()));
            }
            if self.used.losses < setup.losses {
                actions.push(Action::Lose(message.clone()));
            }
            // A goal request is not repeated: DDS delivers no request twice, and a server that received one twice would
            // reject the goal that it has accepted.
            if self.used.repeats < setup.repeats && !matches!(message, Message::GoalRequest(_)) {
                actions.push(Action::Repeat(message.clone()));
            }
        }
        if self.may_replay() {
            actions.push(Action::Replay);
        }
        for goal in self.table.active() {
            let is_foreign = self.foreign_canceled.contains(&goal);
            let is_canceling = self.table.status(goal) == GoalStatus::Canceling;
            if is_canceling {
                actions.push(Action::Finish(goal, TerminalStatus::Canceled));
            } else if self.used.foreign_cancels < setup.foreign_cancels {
                actions.push(Action::CancelByAnother(goal));
            }
            // A goal may be reached before its server looks at the cancel.
            if !is_canceling || is_foreign {
                actions.push(Action::Finish(goal, TerminalStatus::Succeeded));
            }
        }
        let over = self.table.statuses().len() > self.table.active().len();
        if over && self.used.forgettings < setup.forgettings {
            actions.push(Action::Forget);
        }
        if self.up && self.used.crashes < setup.crashes {
            actions.push(Action::Crash);
        }
        if !self.up {
            actions.push(Action::Restart);
        }
        if self.up && !self.is_with_another && self.used.namesakes < setup.namesakes {
            actions.push(Action::Join);
        }
        if self.is_with_another {
            actions.push(Action::Leave);
        }
        if self.changed && self.early.is_none() {
            actions.push(Action::Change);
        }
        if self.up != self.goal_tracker.is_present(SERVER) {
            actions.push(Action::Discover);
        } else if self.up && self.early.is_none() && self.used.partitions < setup.partitions {
            actions.push(Action::Partition);
        }
        if self.used.deaths < setup.deaths {
            actions.push(Action::Die);
        }
        if !self.may_adopt {
            actions.push(Action::AllowAdoption);
        }
        if self.is_late {
            actions.push(Action::CarryOut);
        } else if self.used.batches < setup.batches {
            actions.push(Action::BeLate);
        }
        if self.early.is_some() {
            actions.push(Action::Note);
        } else if !self.is_late && self.next_time().is_some() {
            actions.push(Action::Wait);
        }
        actions
    }

    /// The time of the next change without another action: a deadline, or the end of the search window.
    fn next_time(&self) -> Option<Time> {
        let window = self
            .goal_tracker
            .adopts_until(SERVER)
            .filter(|until| *until >= NOW);
        let over = window.map(|until| until + Duration::from_secs(1));
        self.goal_tracker.next_deadline().into_iter().chain(over).min()
    }

    /// Whether the reader of the status topic is matched with a writer and lacks its latest list.
    fn may_replay(&self) -> bool {
        self.unheard && self.up && self.goal_tracker.is_present(SERVER)
    }

    pub(crate) fn act(&mut self, setup: &Setup, action: Action) {
        self.seen = Seen::default();
        match action {
            Action::Start => {
                self.started += 1;
                self.updated = 0;
                self.is_told_of_cancel = false;
                let ticket = Ticket(self.started);
                self.running = Some((ticket, Duration::ZERO));
                self.command(Command::Start {
                    ticket,
                    server: SERVER,
                    leaf: Arc::from("leaf"),
                    payload: 0,
                    options: setup.options(),
                });
            }
            Action::Update => {
                self.used.updates += 1;
                self.updated += 1;
                let payload = self.updated;
                if let Some((ticket, _)) = self.running {
                    self.command(Command::Update { ticket, payload });
                }
            }
            Action::Halt => {
                if let Some((ticket, _)) = self.running.take() {
                    self.left.insert(ticket, Duration::ZERO);
                    // The tree drops earlier notices for this ticket.
                    self.unsent.retain(
                        |effect| !matches!(effect, Effect::Notify(notice) if notice.ticket() == ticket),
                    );
                    self.command(Command::Halt {
                        ticket,
                        reason: REASON,
                    });
                }
            }
            Action::Deliver(message) => {
                self.net.remove(&message);
                self.deliver(message);
            }
            Action::Reject(goal) => {
                self.net.remove(&Message::GoalRequest(goal));
                self.net.insert(Message::Rejected(goal));
            }
            Action::Refuse(goal, attempt) => {
                self.net.remove(&Message::CancelRequest(goal, attempt));
                let answer = self.table.cancel(Selection::Goal(goal), |_| false);
                self.net.insert(Message::Canceled(goal, attempt, answer.code));
            }
            Action::AcceptEarly(goal) => {
                self.used.early += 1;
                self.net.remove(&Message::GoalRequest(goal));
                self.net.insert(Message::Accepted(goal));
                self.early = Some(goal);
            }
            Action::Note => {
                if let Some(goal) = self.early.take() {
                    self.note(goal);
                }
            }
            Action::Lose(message) => {
                self.used.losses += 1;
                self.net.remove(&message);
                self.unheard |= matches!(message, Message::Status(_));
            }
            Action::Repeat(message) => {
                self.used.repeats += 1;
                self.deliver(message);
            }
            Action::Replay => self.publish_status(),
            Action::Finish(goal, end) => {
                self.asked.remove(&goal);
                let waiters = self.table.finish(goal, end, 0, Time::ZERO).unwrap();
                for goal in waiters {
                    self.net.insert(Message::Result(goal, end));
                }
                self.publish_status();
            }
            Action::CancelByAnother(goal) => {
                self.used.foreign_cancels += 1;
                self.foreign_canceled.insert(goal);
                self.table.cancel(Selection::Goal(goal), |_| true);
                self.publish_status();
            }
            Action::Forget => {
                self.used.forgettings += 1;
                self.table.expire(NOW);
                self.publish_status();
            }
            Action::Crash => {
                self.used.crashes += 1;
                self.up = false;
                self.changed = false;
                self.early = None;
                self.table = GoalTable::new(Duration::ZERO);
                self.asked.clear();
                self.unheard = false;
            }
            Action::Restart => {
                self.up = true;
                self.changed = self.goal_tracker.is_present(SERVER);
                self.is_with_another |= self.changed;
            }
            Action::Join => {
                self.used.namesakes += 1;
                (self.namesake, self.is_with_another) = (true, true);
                self.changed = self.goal_tracker.is_present(SERVER);
            }
            Action::Leave => (self.namesake, self.is_with_another) = (false, false),
            Action::Deny(message) => {
                self.net.remove(&message);
                if let Message::CancelRequest(goal, attempt) = message {
                    let answer = self.table.cancel(Selection::Goal(goal), |_| true);
                    if !answer.canceling.is_empty() {
                        self.publish_status();
                    }
                    let denial = self.denial();
                    self.net.insert(Message::Canceled(goal, attempt, denial));
                }
            }
            Action::Change => self.vanish(),
            Action::Discover if self.up => self.wire(WireEvent::ServerBack { server: SERVER }),
            Action::Discover => self.vanish(),
            Action::Partition => {
                self.used.partitions += 1;
                self.vanish();
            }
            Action::Die => self.die(setup),
            Action::AllowAdoption => {
                self.may_adopt = true;
                self.command(Command::AllowAdoption { allowed: true });
            }
            Action::BeLate => {
                self.used.batches += 1;
                self.is_late = true;
            }
            Action::CarryOut => {
                self.is_late = false;
                self.hand(|goal_tracker, out| goal_tracker.advance(NOW, out));
            }
            Action::Wait => self.wait(setup),
        }
        self.check(setup);
        self.simplify();
    }

    /// The code of a client for a server that does not know the goal.
    fn denial(&self) -> CancelCode {
        if self.is_with_another {
            CancelCode::UnknownToOne
        } else {
            CancelCode::UnknownGoal
        }
    }

    fn vanish(&mut self) {
        self.changed = false;
        self.wire(WireEvent::ServerGone { server: SERVER });
        self.listed = false;
    }

    /// Removes state without further effect, so equal situations are the same state.
    fn simplify(&mut self) {
        self.goal_tracker.forget_history(NOW);
        let live = self.goal_tracker.live_goals();
        let known = |goal: &GoalId| live.iter().any(|live| live.goal == *goal);
        self.left
            .retain(|ticket, _| live.iter().any(|live| live.ticket == Some(*ticket)));
        let arriving: BTreeSet<GoalId> = self
            .net
            .iter()
            .filter_map(|message| match message {
                Message::GoalRequest(goal) | Message::Accepted(goal) => Some(*goal),
                _ => None,
            })
            .chain(self.early)
            .collect();
        let table = &self.table;
        self.net.retain(|message| match message {
            Message::GoalRequest(_) | Message::Accepted(_) | Message::Status(_) => true,
            Message::CancelRequest(goal, _) => {
                known(goal) || arriving.contains(goal) || table.status(*goal).is_active()
            }
            Message::ResultRequest(goal)
            | Message::Rejected(goal)
            | Message::Canceled(goal, ..)
            | Message::Result(goal, _)
            | Message::ResultUnknown(goal) => known(goal) || arriving.contains(goal),
        });
        self.payloads
            .retain(|goal, _| known(goal) || arriving.contains(goal) || table.status(*goal).is_active());
        for goals in [
            &mut self.slow,
            &mut self.abandoned,
            &mut self.late,
            &mut self.foreign_canceled,
        ] {
            goals.retain(|goal| known(goal) || arriving.contains(goal) || table.status(*goal).is_active());
        }
        self.stopped = self
            .stopped
            .filter(|stopped| matches!(self.running, Some((ticket, _)) if ticket == *stopped));
        self.is_told_of_cancel &= self.running.is_some();
    }

    fn deliver(&mut self, message: Message) {
        match message {
            Message::GoalRequest(goal) => {
                if self.up && self.note(goal) {
                    self.net.insert(Message::Accepted(goal));
                }
            }
            Message::CancelRequest(goal, attempt) => {
                if self.up {
                    let answer = self.table.cancel(Selection::Goal(goal), |_| true);
                    let code = match answer.code {
                        CancelCode::UnknownGoal => self.denial(),
                        code => code,
                    };
                    self.net.insert(Message::Canceled(goal, attempt, code));
                    if !answer.canceling.is_empty() {
                        self.publish_status();
                    }
                }
            }
            Message::ResultRequest(goal) => {
                if self.up && !self.asked.contains(&goal) {
                    match self.table.result(goal, goal) {
                        ResultAnswer::Ready { end, .. } => {
                            self.net.insert(Message::Result(goal, end));
                        }
                        ResultAnswer::Unknown { .. } if self.is_with_another => {}
                        ResultAnswer::Unknown { .. } => {
                            self.net.insert(Message::ResultUnknown(goal));
                        }
                        ResultAnswer::Later { .. } => {
                            self.asked.insert(goal);
                        }
                    }
                }
            }
            Message::Accepted(goal) => {
                self.wire(WireEvent::Accepted {
                    server: SERVER,
                    goal,
                    stamp: Stamp::ZERO,
                });
            }
            Message::Rejected(goal) => self.wire(WireEvent::Rejected { goal }),
            Message::Canceled(goal, attempt, code) => self.wire(WireEvent::CancelAnswered {
                tag: CancelTag::Goal { goal, attempt },
                code,
                canceling: Vec::new(),
            }),
            Message::Result(goal, end) => {
                if end == TerminalStatus::Canceled {
                    self.learn_of_cancel(goal);
                }
                self.wire(WireEvent::Result {
                    goal,
                    end,
                    payload: self.payloads.get(&goal).copied().unwrap_or(0),
                });
            }
            Message::ResultUnknown(goal) => self.wire(WireEvent::ResultUnknown { goal }),
            Message::Status(goals) => {
                self.listed |= self.goal_tracker.is_present(SERVER);
                for (goal, status) in &goals {
                    if matches!(status, GoalStatus::Canceling | GoalStatus::Canceled) {
                        self.learn_of_cancel(*goal);
                    }
                }
                self.wire(WireEvent::Status {
                    server: SERVER,
                    goals,
                });
            }
        }
    }

    /// A message that shows a cancelled goal arrives.
    fn learn_of_cancel(&mut self, goal: GoalId) {
        let Some((ticket, _)) = self.running else {
            return;
        };
        let live = self.goal_tracker.live_goals();
        let is_waited_for = live.iter().any(|live| {
            let waits = matches!(
                live.phase,
                Phase::Sent | Phase::Executing | Phase::Finishing | Phase::Replaced
            );
            live.goal == goal && live.ticket == Some(ticket) && waits
        });
        if is_waited_for && self.foreign_canceled.contains(&goal) {
            self.stopped = Some(ticket);
        }
    }

    /// Adds a goal to the server. False if it was there before.
    fn note(&mut self, goal: GoalId) -> bool {
        if self.table.accept(goal, Stamp::ZERO).is_err() {
            return false;
        }
        if self.listed && !self.is_of_this_run(goal) {
            self.late.insert(goal);
        }
        self.publish_status();
        true
    }

    fn publish_status(&mut self) {
        self.net.retain(|message| !matches!(message, Message::Status(_)));
        self.unheard = false;
        let goals = self
            .table
            .statuses()
            .into_iter()
            .map(|(goal, _, status)| (goal, status))
            .collect();
        self.net.insert(Message::Status(goals));
    }

    /// Crashes the process with the GoalTracker. Answers to it are lost; its requests are still under way. The next
    /// process must discover the server first, because the wire may be cut.
    fn die(&mut self, setup: &Setup) {
        self.used.deaths += 1;
        self.running = None;
        self.left.clear();
        self.is_late = false;
        self.unsent.clear();
        self.net.retain(|message| {
            matches!(
                message,
                Message::GoalRequest(_) | Message::CancelRequest(..) | Message::ResultRequest(_)
            )
        });
        let run = u64::from(self.used.deaths);
        self.goal_tracker = GoalTracker::new(GoalIds::new(1, run), setup.options());
        self.listed = false;
        self.changed = false;
        self.may_adopt = false;
        self.late.clear();
        self.unheard = !self.table.statuses().is_empty();
        self.command(Command::Adopt {
            server: SERVER,
            window: WINDOW,
            delay: Duration::from_secs(1),
        });
    }

    fn wait(&mut self, setup: &Setup) {
        let Some(due) = self.next_time() else {
            return;
        };
        let passed = due.since(NOW);
        self.goal_tracker.shift_back(passed);
        if let Some((_, age)) = &mut self.running {
            *age += passed;
        }
        for age in self.left.values_mut() {
            *age = (*age + passed).min(setup.tracking() + Duration::from_secs(1));
        }
        self.hand(|goal_tracker, out| goal_tracker.advance(NOW, out));
        if self.goal_tracker.next_deadline() == Some(NOW) {
            self.wrong = Some("a deadline that has been handled is due again");
        }
    }

    fn command(&mut self, command: Command<u8>) {
        self.hand(|goal_tracker, out| goal_tracker.command(command, NOW, out));
    }

    fn wire(&mut self, event: WireEvent<u8>) {
        self.hand(|goal_tracker, out| goal_tracker.wire(event, NOW, out));
    }

    fn hand(&mut self, input: impl FnOnce(&mut GoalTracker<u8>, &mut Vec<Effect<u8>>)) {
        input(&mut self.goal_tracker, &mut self.unsent);
        if !self.is_late {
            let out = std::mem::take(&mut self.unsent);
            self.carry_out(out);
        }
    }

    fn carry_out(&mut self, effects: Vec<Effect<u8>>) {
        for effect in effects {
            match effect {
                Effect::SendGoal { goal, payload, .. } => {
                    if self.stopped.is_some() {
                        self.wrong = Some("G3: a goal was sent after another client had stopped the robot");
                    }
                    if payload != 0 {
                        self.payloads.insert(goal, payload);
                    }
                    let live = self.goal_tracker.live_goals();
                    let live = live.iter().find(|live| live.goal == goal);
                    let leaf = live
                        .filter(|live| live.phase == Phase::Sent)
                        .map(|live| live.ticket);
                    if leaf != Some(self.running.map(|(ticket, _)| ticket)) {
                        self.wrong = Some("a goal was sent for a leaf that has gone");
                    }
                    self.net.insert(Message::GoalRequest(goal));
                }
                Effect::SendCancel {
                    tag: CancelTag::Goal { goal, attempt },
                    ..
                } => {
                    self.net.insert(Message::CancelRequest(goal, attempt));
                }
                Effect::RequestResult { goal, .. } => {
                    self.net.insert(Message::ResultRequest(goal));
                }
                Effect::Notify(notice) => self.notify(&notice),
                Effect::Report(report) => {
                    let Some(goal) = report.goal else {
                        continue;
                    };
                    match report.what {
                        IncidentKind::AcceptedLate => self.seen.cancelled_late = true,
                        IncidentKind::Adopted => {
                            self.seen.adopted = true;
                            if !self.may_adopt {
                                self.wrong = Some("G3: a goal of a node that may be driving was cancelled");
                            }
                            self.abandoned.remove(&goal);
                        }
                        IncidentKind::AcceptedAfterGivingUp
                        | IncidentKind::FoundAfterGivingUp
                        | IncidentKind::RetriedAfterGivingUp => {
                            self.seen.found_again |= report.what == IncidentKind::FoundAfterGivingUp;
                            self.seen.retried |= report.what == IncidentKind::RetriedAfterGivingUp;
                            self.abandoned.remove(&goal);
                        }
                        IncidentKind::NotStoppedInTime => {
                            self.slow.insert(goal);
                        }
                        IncidentKind::GaveUpStopping => {
                            self.seen.gave_up = true;
                            self.slow.insert(goal);
                            self.abandoned.insert(goal);
                        }
                        IncidentKind::GaveUpUnanswered | IncidentKind::GaveUpUnreachable => {
                            self.seen.gave_up = true;
                            self.slow.insert(goal);
                        }
                        _ => {}
                    }
                }
                Effect::SendCancel { .. }
                | Effect::CallService { .. }
                | Effect::ForgetCall { .. }
                | Effect::ForgetGoal { .. } => {}
            }
        }
    }

    fn notify(&mut self, notice: &Notice<u8>) {
        match self.running {
            Some((ticket, _)) if ticket == notice.ticket() => {
                if let Notice::Canceling { .. } = notice {
                    self.is_told_of_cancel = true;
                    self.seen.canceled_by_another = true;
                }
                if let Notice::Finished { updates, outcome, .. } = notice {
                    let is_canceled = matches!(outcome, Outcome::Canceled(_) | Outcome::CanceledByAnother);
                    match outcome {
                        _ if self.stopped == Some(ticket) && !is_canceled && !self.is_told_of_cancel => {
                            self.wrong =
                                Some("G3: a leaf was not told that another client cancelled its goal");
                        }
                        Outcome::Succeeded(payload) if u64::from(*payload) != *updates => {
                            self.wrong = Some("a leaf was told the success of a goal of other inputs");
                        }
                        Outcome::Succeeded(_) => self.seen.succeeded = true,
                        Outcome::ServerGone => self.seen.server_gone = true,
                        Outcome::ResultLost => self.seen.result_lost = true,
                        _ => {}
                    }
                    self.running = None;
                    self.left.insert(ticket, Duration::ZERO);
                }
            }
            _ => self.wrong = Some("G4: a notice for a leaf that was halted or has finished"),
        }
    }

    /// Checks the invariants that hold after every step.
    fn check(&mut self, setup: &Setup) {
        if let Some((_, age)) = self.running {
            if self.goal_tracker.next_deadline().is_none() && !self.is_late {
                self.wrong = Some("G6: a leaf waits and nothing is due");
            }
            if age > setup.patience() {
                self.wrong = Some("G6: a leaf waits longer than its timeouts allow");
            }
        }
        for live in self.goal_tracker.live_goals() {
            let age = live.ticket.and_then(|ticket| self.left.get(&ticket));
            if age.is_some_and(|age| *age > setup.tracking()) {
                self.wrong = Some("G3: a goal without a leaf is tracked beyond its deadline");
            }
        }
        let executing: Vec<GoalId> = self
            .table
            .active()
            .into_iter()
            .filter(|goal| !self.slow.contains(goal))
            .filter(|goal| self.is_of_this_run(*goal))
            .collect();
        let allowed = match setup.update_policy {
            UpdatePolicy::ServerPreempts if self.used.updates > 0 => 2,
            _ => 1,
        };
        if executing.len() > allowed {
            self.wrong = Some("G5: more goals on the server than the policy allows");
        }
        let window_is_over = self
            .goal_tracker
            .adopts_until(SERVER)
            .is_none_or(|until| until < NOW);
        let is_known =
            |goal: &GoalId| self.abandoned.contains(goal) || self.late.contains(goal) && window_is_over;
        if self.is_quiet() && !self.table.active().iter().all(is_known) {
            self.wrong = Some("G3: an orphan goal that nobody was told of");
        }
    }

    fn is_of_this_run(&self, goal: GoalId) -> bool {
        !GoalIds::new(1, u64::from(self.used.deaths)).is_predecessor(goal)
    }

    pub(crate) fn messages_under_way(&self) -> usize {
        self.net.len()
    }

    /// Continues without faults: the leaf is halted, the server stays present, messages arrive, and time passes. False
    /// if the world does not come to rest.
    pub(crate) fn come_to_rest(&mut self, setup: &Setup) -> bool {
        for _ in 0..500 {
            let action = if self.is_late {
                Action::CarryOut
            } else if self.early.is_some() {
                Action::Note
            } else if self.running.is_some() {
                Action::Halt
            } else if !self.up {
                Action::Restart
            } else if !self.goal_tracker.is_present(SERVER) {
                Action::Discover
            } else if self.is_with_another {
                Action::Leave
            } else if self.changed {
                Action::Change
            } else if !self.may_adopt {
                Action::AllowAdoption
            } else if let Some(message) = self.net.first() {
                Action::Deliver(message.clone())
            } else if self.may_replay() {
                Action::Replay
            } else if self.goal_tracker.next_deadline().is_some() {
                Action::Wait
            } else {
                return self.is_quiet();
            };
            self.act(setup, action);
        }
        false
    }

    /// Whether no message is under way, no leaf waits, and no timer is set.
    pub(crate) fn is_quiet(&self) -> bool {
        self.net.is_empty()
            && !self.is_late
            && self.early.is_none()
            && !self.may_replay()
            && self.may_adopt
            && !self.changed
            && !self.is_with_another
            && self.running.is_none()
            && self.goal_tracker.is_idle()
            && self.goal_tracker.next_deadline().is_none()
            && self.up == self.goal_tracker.is_present(SERVER)
    }
}
