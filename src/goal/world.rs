//! A small world for the proofs: one leaf, the real GoalTracker, a bad network and a bad server, whose goals are in a
//! real [`GoalTable`]. The model checker explores it completely, the property tests at random.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::{
    CancelCode, CancelTag, Command, Effect, GoalId, GoalIds, GoalOptions, GoalStatus, GoalTable, GoalTracker,
    IncidentKind, Notice, Outcome, Phase, ResultAnswer, Selection, ServerId, Stamp, TerminalStatus, Ticket,
    UpdatePolicy, WireEvent,
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
    pub(crate) duplicates: u8,
    /// Crashes of the server. It may come back without its goals before its absence is noticed. Then the client learns
    /// later that the process is another one, and the endpoints of the crashed one stay on the graph for a while.
    pub(crate) server_crashes: u8,
    /// Times that another server with its name appears, without goals.
    pub(crate) second_servers: u8,
    /// Times that a running server seems absent.
    pub(crate) partitions: u8,
    /// Times that the server drops the results of ended goals.
    pub(crate) dropped_results: u8,
    /// Crashes of the process with the GoalTracker. The next process adopts goals when adoption is allowed.
    pub(crate) process_crashes: u8,
    /// Whether the server may refuse to cancel.
    pub(crate) may_refuse_cancels: bool,
    /// Goals that the server accepts before they are in its table. In between, it answers requests as if they did not exist.
    pub(crate) early_acceptances: u8,
    /// Goals that another client cancels.
    pub(crate) foreign_cancels: u8,
    /// Times that the owner of the GoalTracker is late: it handles all arrived inputs before it applies any effect.
    pub(crate) delayed_effects: u8,
}

impl Setup {
    pub(crate) const NONE: Self = Self {
        activations: 1,
        messages: 3,
        updates: 0,
        update_policy: UpdatePolicy::ServerPreempts,
        losses: 0,
        duplicates: 0,
        server_crashes: 0,
        second_servers: 0,
        partitions: 0,
        dropped_results: 0,
        process_crashes: 0,
        may_refuse_cancels: false,
        early_acceptances: 0,
        foreign_cancels: 0,
        delayed_effects: 0,
    };

    fn options(&self) -> GoalOptions {
        GoalOptions {
            response_timeout: Duration::from_secs(1),
            absent_timeout: Duration::from_secs(1),
            cancel_timeout: Duration::from_secs(1),
            cancel_retry: Duration::from_secs(1),
            result_timeout: Some(Duration::from_secs(2)),
            result_retry: Duration::from_secs(1),
            result_questions: 3,
            result_poll: Duration::from_secs(2),
            give_up_timeout: Duration::from_secs(2),
            update: self.update_policy,
        }
    }

    /// The maximum wait of a leaf, by its options: twice for stopping goals, once for an absent server, the acceptance,
    /// the result and a lost result. An update restarts the last three after the goal before it had its time to end.
    fn max_leaf_wait(&self) -> Duration {
        let lost = 1 + 2 + 4 + 8;
        Duration::from_secs(1 + 1 + 1 + (1 + 2 + lost) + u64::from(self.updates) * (2 + 1 + 2 + lost))
    }

    /// The maximum tracking time of a goal without a leaf. A late acceptance and the return of the server restart it.
    fn max_tracking_time(&self) -> Duration {
        let faults = self.server_crashes + self.second_servers + self.partitions;
        Duration::from_secs(2 * (3 + u64::from(faults)))
    }
}

/// The search window for goals of an earlier run. As with the other times, production has a longer one and the same
/// rule.
const SEARCH_WINDOW: Duration = Duration::from_secs(2);

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
    /// The server adds the goal that it accepted early to its table. No time passes before this step, so the GoalTracker does not
    /// consider the server gone in between.
    StoreGoal,
    Lose(Message),
    Repeat(Message),
    /// The middleware repeats a status list.
    RepeatStatus,
    Finish(GoalId, TerminalStatus),
    /// Another client cancels the goal.
    CancelByAnother(GoalId),
    DropResults,
    CrashServer,
    RestartServer,
    /// Another server with its name appears; `RemoveSecondServer`: it disappears.
    AddSecondServer,
    RemoveSecondServer,
    /// The other server answers first a request that reaches both. The client receives only that answer.
    AnswerFromSecondServer(Message),
    /// The GoalTracker learns that the server's process is another one, or that there are two servers: it considers the
    /// server gone and then back.
    NoticeChange,
    /// The GoalTracker learns the real presence of the server.
    NoticePresence,
    /// The GoalTracker wrongly learns that the server is absent.
    Partition,
    /// The process with the GoalTracker crashes and another one starts.
    CrashProcess,
    /// The new process is active and the only one with its name.
    AllowAdoption,
    /// Effects of the GoalTracker are not applied before `ReleaseEffects`.
    DelayEffects,
    ReleaseEffects,
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
    finished: BTreeMap<Ticket, Duration>,
    started: u64,
    /// The number of updates of the running activation. The goal and the result of each carry this number.
    updated: u8,
    /// The payloads of goals, if not 0.
    payloads: BTreeMap<GoalId, u8>,
    messages: BTreeSet<Message>,
    is_server_up: bool,
    /// The server's process is another one, or one of two, and the GoalTracker does not know this yet.
    has_server_changed: bool,
    /// Another server with its name exists.
    has_second_server: bool,
    /// Endpoints of another server with its name are on the graph, whether it runs or has crashed.
    has_second_endpoint: bool,
    table: GoalTable<u8, GoalId>,
    /// The goal that is accepted and not in the table yet.
    accepted_early: Option<GoalId>,
    /// Goals with a waiting result request at the server. Repeated requests count once.
    result_requests: BTreeSet<GoalId>,
    /// Goals that were reported as not stopped in time. The next goal may start in parallel.
    reported_slow: BTreeSet<GoalId>,
    /// Goals that ignored every cancel and were reported as possibly running forever. A goal leaves this set when it is
    /// seen again. Goals given up because of a silent or unreachable server are not in it, because they must be found.
    abandoned: BTreeSet<GoalId>,
    /// Goals of an earlier run that the server accepted after its first list for this run. The search window covers
    /// them, and it ends.
    accepted_late: BTreeSet<GoalId>,
    /// Goals that another client cancelled.
    foreign_canceled: BTreeSet<GoalId>,
    /// The activation for which the robot must not move any more: the GoalTracker knows that another client cancelled
    /// its goal.
    stopped_activation: Option<Ticket>,
    /// The goal that another client cancelled before the cancel of this node arrived, if nobody was told yet.
    untold_cancel: Option<GoalId>,
    /// Whether somebody was told of a cancel of another client.
    has_told_of_cancel: bool,
    /// The cancel requests that arrive twice and have arrived once. A client takes only the first answer to a request.
    repeated_cancels: BTreeSet<(GoalId, u32)>,
    /// Whether the running leaf was notified of such a cancel.
    is_notified_of_cancel: bool,
    /// Whether this run may adopt. The first run has no goals to adopt.
    is_adoption_allowed: bool,
    /// Whether a status list has arrived since the server was discovered.
    has_status_list: bool,
    /// Whether the latest status list must be repeated: it was lost, or is older than its reader. A reader that has
    /// received it does not get it again, even after its server seemed absent, because some middleware does not
    /// repeat it.
    must_repeat_status: bool,
    /// Whether effects are delayed; `effects` are the effects that are not applied yet.
    has_delayed_effects: bool,
    effects: Vec<Effect<u8>>,
    used_faults: UsedFaults,
    /// The first violation of an invariant.
    pub(crate) violation: Option<&'static str>,
    pub(crate) seen: Seen,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct UsedFaults {
    updates: u8,
    losses: u8,
    duplicates: u8,
    server_crashes: u8,
    second_servers: u8,
    partitions: u8,
    dropped_results: u8,
    process_crashes: u8,
    early_acceptances: u8,
    foreign_cancels: u8,
    delayed_effects: u8,
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
    pub(crate) told_after_halt: bool,
}

const SERVER: ServerId = ServerId(0);
const NOW: Time = Time::from_millis(1_000_000_000);
const REASON: HaltReason = HaltReason::Preempted;

impl World {
    pub(crate) fn new(setup: &Setup) -> Self {
        let mut world = Self {
            goal_tracker: GoalTracker::new(GoalIds::new(1, 0), setup.options()),
            running: None,
            finished: BTreeMap::new(),
            started: 0,
            updated: 0,
            payloads: BTreeMap::new(),
            messages: BTreeSet::new(),
            is_server_up: true,
            has_server_changed: false,
            has_second_server: false,
            has_second_endpoint: false,
            table: GoalTable::new(Duration::ZERO),
            accepted_early: None,
            result_requests: BTreeSet::new(),
            reported_slow: BTreeSet::new(),
            abandoned: BTreeSet::new(),
            accepted_late: BTreeSet::new(),
            foreign_canceled: BTreeSet::new(),
            stopped_activation: None,
            untold_cancel: None,
            has_told_of_cancel: false,
            repeated_cancels: BTreeSet::new(),
            is_notified_of_cancel: false,
            is_adoption_allowed: true,
            has_status_list: false,
            must_repeat_status: false,
            has_delayed_effects: false,
            effects: Vec::new(),
            used_faults: UsedFaults::default(),
            violation: None,
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
                if self.used_faults.updates < setup.updates {
                    actions.push(Action::Update);
                }
            }
        }
        for message in &self.messages {
            actions.push(Action::Deliver(message.clone()));
            match message {
                Message::GoalRequest(goal) if self.is_server_up => {
                    actions.push(Action::Reject(*goal));
                    if self.used_faults.early_acceptances < setup.early_acceptances
                        && self.accepted_early.is_none()
                    {
                        actions.push(Action::AcceptEarly(*goal));
                    }
                }
                Message::CancelRequest(goal, attempt) if self.is_server_up && setup.may_refuse_cancels => {
                    actions.push(Action::Refuse(*goal, *attempt));
                }
                _ => {}
            }
            let is_asked = matches!(message, Message::CancelRequest(..) | Message::ResultRequest(_));
            if self.is_server_up && self.has_second_server && is_asked {
                actions.push(Action::AnswerFromSecondServer(message.clone()));
            }
            if self.used_faults.losses < setup.losses {
                actions.push(Action::Lose(message.clone()));
            }
            // A goal request is not repeated: DDS delivers no request twice, and a server that received one twice would
            // reject the goal that it has accepted.
            if self.used_faults.duplicates < setup.duplicates && !matches!(message, Message::GoalRequest(_)) {
                actions.push(Action::Repeat(message.clone()));
            }
        }
        if self.can_repeat_status() {
            actions.push(Action::RepeatStatus);
        }
        for goal in self.table.active() {
            let is_foreign = self.foreign_canceled.contains(&goal);
            let is_canceling = self.table.status(goal) == GoalStatus::Canceling;
            if is_canceling {
                actions.push(Action::Finish(goal, TerminalStatus::Canceled));
            } else if self.used_faults.foreign_cancels < setup.foreign_cancels {
                actions.push(Action::CancelByAnother(goal));
            }
            // A server may finish a goal before it handles the cancel.
            if !is_canceling || is_foreign {
                actions.push(Action::Finish(goal, TerminalStatus::Succeeded));
            }
        }
        let has_ended_goals = self.table.statuses().len() > self.table.active().len();
        if has_ended_goals && self.used_faults.dropped_results < setup.dropped_results {
            actions.push(Action::DropResults);
        }
        if self.is_server_up && self.used_faults.server_crashes < setup.server_crashes {
            actions.push(Action::CrashServer);
        }
        if !self.is_server_up {
            actions.push(Action::RestartServer);
        }
        if self.is_server_up
            && !self.has_second_endpoint
            && self.used_faults.second_servers < setup.second_servers
        {
            actions.push(Action::AddSecondServer);
        }
        if self.has_second_endpoint {
            actions.push(Action::RemoveSecondServer);
        }
        if self.has_server_changed && self.accepted_early.is_none() {
            actions.push(Action::NoticeChange);
        }
        if self.is_server_up != self.goal_tracker.is_present(SERVER) {
            actions.push(Action::NoticePresence);
        } else if self.is_server_up
            && self.accepted_early.is_none()
            && self.used_faults.partitions < setup.partitions
        {
            actions.push(Action::Partition);
        }
        if self.used_faults.process_crashes < setup.process_crashes {
            actions.push(Action::CrashProcess);
        }
        if !self.is_adoption_allowed {
            actions.push(Action::AllowAdoption);
        }
        if self.has_delayed_effects {
            actions.push(Action::ReleaseEffects);
        } else if self.used_faults.delayed_effects < setup.delayed_effects {
            actions.push(Action::DelayEffects);
        }
        if self.accepted_early.is_some() {
            actions.push(Action::StoreGoal);
        } else if !self.has_delayed_effects && self.next_time().is_some() {
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
    fn can_repeat_status(&self) -> bool {
        self.must_repeat_status && self.is_server_up && self.goal_tracker.is_present(SERVER)
    }

    pub(crate) fn act(&mut self, setup: &Setup, action: Action) {
        self.seen = Seen::default();
        match action {
            Action::Start => {
                self.started += 1;
                self.updated = 0;
                self.is_notified_of_cancel = false;
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
                self.used_faults.updates += 1;
                self.updated += 1;
                let payload = self.updated;
                if let Some((ticket, _)) = self.running {
                    self.command(Command::Update { ticket, payload });
                }
            }
            Action::Halt => {
                if let Some((ticket, _)) = self.running.take() {
                    self.finished.insert(ticket, Duration::ZERO);
                    // The tree drops earlier notices for this ticket, after the navigation has looked at them.
                    let effects = std::mem::take(&mut self.effects);
                    for effect in effects {
                        match effect {
                            Effect::Notify(notice) if notice.ticket() == ticket => {
                                self.record_told_cancel(&notice);
                            }
                            effect => self.effects.push(effect),
                        }
                    }
                    self.command(Command::Halt {
                        ticket,
                        reason: REASON,
                    });
                }
            }
            Action::Deliver(message) => {
                self.messages.remove(&message);
                self.deliver(message);
            }
            Action::Reject(goal) => {
                self.messages.remove(&Message::GoalRequest(goal));
                self.messages.insert(Message::Rejected(goal));
            }
            Action::Refuse(goal, attempt) => {
                self.messages.remove(&Message::CancelRequest(goal, attempt));
                let answer = self.table.cancel(Selection::Goal(goal), |_| false);
                self.answer_cancel(goal, attempt, answer.code);
            }
            Action::AcceptEarly(goal) => {
                self.used_faults.early_acceptances += 1;
                self.messages.remove(&Message::GoalRequest(goal));
                self.messages.insert(Message::Accepted(goal));
                self.accepted_early = Some(goal);
            }
            Action::StoreGoal => {
                if let Some(goal) = self.accepted_early.take() {
                    self.store_goal(goal);
                }
            }
            Action::Lose(message) => {
                self.used_faults.losses += 1;
                self.messages.remove(&message);
                self.must_repeat_status |= matches!(message, Message::Status(_));
            }
            Action::Repeat(message) => {
                self.used_faults.duplicates += 1;
                let repeated = match &message {
                    Message::CancelRequest(goal, attempt) => Some((*goal, *attempt)),
                    _ => None,
                };
                self.deliver(message);
                self.repeated_cancels.extend(repeated);
            }
            Action::RepeatStatus => self.publish_status(),
            Action::Finish(goal, end) => {
                // The server has not stopped the robot for the other client.
                self.untold_cancel = self
                    .untold_cancel
                    .filter(|untold| *untold != goal || end == TerminalStatus::Canceled);
                self.result_requests.remove(&goal);
                let waiters = self.table.finish(goal, end, 0, Time::ZERO).unwrap();
                for goal in waiters {
                    self.messages.insert(Message::Result(goal, end));
                }
                self.publish_status();
            }
            Action::CancelByAnother(goal) => {
                self.used_faults.foreign_cancels += 1;
                self.foreign_canceled.insert(goal);
                self.table.cancel(Selection::Goal(goal), |_| true);
                self.publish_status();
            }
            Action::DropResults => {
                self.used_faults.dropped_results += 1;
                self.table.expire(NOW);
                self.publish_status();
            }
            Action::CrashServer => {
                self.used_faults.server_crashes += 1;
                self.is_server_up = false;
                self.has_server_changed = false;
                self.accepted_early = None;
                self.table = GoalTable::new(Duration::ZERO);
                self.result_requests.clear();
                self.must_repeat_status = false;
            }
            Action::RestartServer => {
                self.is_server_up = true;
                self.has_server_changed = self.goal_tracker.is_present(SERVER);
                self.has_second_endpoint |= self.has_server_changed;
            }
            Action::AddSecondServer => {
                self.used_faults.second_servers += 1;
                (self.has_second_server, self.has_second_endpoint) = (true, true);
                self.has_server_changed = self.goal_tracker.is_present(SERVER);
            }
            Action::RemoveSecondServer => (self.has_second_server, self.has_second_endpoint) = (false, false),
            Action::AnswerFromSecondServer(message) => {
                self.messages.remove(&message);
                if let Message::CancelRequest(goal, attempt) = message {
                    let answer = self.table.cancel(Selection::Goal(goal), |_| true);
                    if !answer.canceling.is_empty() {
                        self.publish_status();
                    }
                    let unknown_goal_code = self.unknown_goal_code();
                    self.messages
                        .insert(Message::Canceled(goal, attempt, unknown_goal_code));
                }
            }
            Action::NoticeChange => self.lose_server(),
            Action::NoticePresence if self.is_server_up => {
                self.wire(WireEvent::ServerBack { server: SERVER });
            }
            Action::NoticePresence => self.lose_server(),
            Action::Partition => {
                self.used_faults.partitions += 1;
                self.lose_server();
            }
            Action::CrashProcess => self.crash_process(setup),
            Action::AllowAdoption => {
                self.is_adoption_allowed = true;
                self.command(Command::AllowAdoption { allowed: true });
            }
            Action::DelayEffects => {
                self.used_faults.delayed_effects += 1;
                self.has_delayed_effects = true;
            }
            Action::ReleaseEffects => {
                self.has_delayed_effects = false;
                self.run_tracker(|goal_tracker, out| goal_tracker.advance(NOW, out));
            }
            Action::Wait => self.wait(setup),
        }
        self.check(setup);
        self.simplify();
    }

    /// The code of a client for a server that does not know the goal.
    fn unknown_goal_code(&self) -> CancelCode {
        if self.has_second_endpoint {
            CancelCode::UnknownToOne
        } else {
            CancelCode::UnknownGoal
        }
    }

    fn lose_server(&mut self) {
        self.has_server_changed = false;
        self.wire(WireEvent::ServerGone { server: SERVER });
        self.has_status_list = false;
    }

    /// Removes state without further effect, so equal situations are the same state.
    fn simplify(&mut self) {
        self.goal_tracker.forget_history(NOW);
        let live = self.goal_tracker.live_goals();
        let known = |goal: &GoalId| live.iter().any(|live| live.goal == *goal);
        self.finished
            .retain(|ticket, _| live.iter().any(|live| live.ticket == Some(*ticket)));
        let arriving: BTreeSet<GoalId> = self
            .messages
            .iter()
            .filter_map(|message| match message {
                Message::GoalRequest(goal) | Message::Accepted(goal) => Some(*goal),
                _ => None,
            })
            .chain(self.accepted_early)
            .collect();
        let table = &self.table;
        self.messages.retain(|message| match message {
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
            &mut self.reported_slow,
            &mut self.abandoned,
            &mut self.accepted_late,
            &mut self.foreign_canceled,
        ] {
            goals.retain(|goal| known(goal) || arriving.contains(goal) || table.status(*goal).is_active());
        }
        self.stopped_activation = self
            .stopped_activation
            .filter(|stopped| matches!(self.running, Some((ticket, _)) if ticket == *stopped));
        self.is_notified_of_cancel &= self.running.is_some();
    }

    fn deliver(&mut self, message: Message) {
        match message {
            Message::GoalRequest(goal) => {
                if self.is_server_up && self.store_goal(goal) {
                    self.messages.insert(Message::Accepted(goal));
                }
            }
            Message::CancelRequest(goal, attempt) => {
                if self.is_server_up {
                    let answer = self.table.cancel(Selection::Goal(goal), |_| true);
                    let code = match answer.code {
                        CancelCode::UnknownGoal => self.unknown_goal_code(),
                        code => code,
                    };
                    self.answer_cancel(goal, attempt, code);
                    if !answer.canceling.is_empty() {
                        self.publish_status();
                    }
                }
            }
            Message::ResultRequest(goal) => {
                if self.is_server_up && !self.result_requests.contains(&goal) {
                    match self.table.result(goal, goal) {
                        ResultAnswer::Ready { end, .. } => {
                            self.messages.insert(Message::Result(goal, end));
                        }
                        ResultAnswer::Unknown { .. } if self.has_second_endpoint => {}
                        ResultAnswer::Unknown { .. } => {
                            self.messages.insert(Message::ResultUnknown(goal));
                        }
                        ResultAnswer::Later => {
                            self.result_requests.insert(goal);
                        }
                    }
                }
            }
            Message::Accepted(goal) => {
                self.wire(WireEvent::Accepted { server: SERVER, goal });
            }
            Message::Rejected(goal) => self.wire(WireEvent::Rejected { goal }),
            Message::Canceled(goal, attempt, code) => self.wire(WireEvent::CancelAnswered {
                tag: CancelTag::Goal { goal, attempt },
                code,
                canceling: Vec::new(),
            }),
            Message::Result(goal, end) => {
                if end == TerminalStatus::Canceled {
                    self.record_foreign_cancel(goal);
                }
                self.wire(WireEvent::Result {
                    goal,
                    end,
                    payload: self.payloads.get(&goal).copied().unwrap_or(0),
                });
            }
            Message::ResultUnknown(goal) => self.wire(WireEvent::ResultUnknown { goal }),
            Message::Status(goals) => {
                self.has_status_list |= self.goal_tracker.is_present(SERVER);
                for (goal, status) in &goals {
                    if matches!(status, GoalStatus::Canceling | GoalStatus::Canceled) {
                        self.record_foreign_cancel(*goal);
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
    fn record_foreign_cancel(&mut self, goal: GoalId) {
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
            self.stopped_activation = Some(ticket);
        }
    }

    /// The server answers a cancel of this node.
    fn answer_cancel(&mut self, goal: GoalId, attempt: u32, code: CancelCode) {
        if self.repeated_cancels.remove(&(goal, attempt)) {
            return;
        }
        self.messages.insert(Message::Canceled(goal, attempt, code));
        let is_late = attempt == 1 && code == CancelCode::GoalTerminated;
        let is_canceled = matches!(
            self.table.status(goal),
            GoalStatus::Canceling | GoalStatus::Canceled
        );
        let is_only_cancel = self.goal_tracker.cancels(goal) == Some(1);
        if is_only_cancel
            && is_late
            && is_canceled
            && self.foreign_canceled.contains(&goal)
            && !self.has_told_of_cancel
        {
            self.untold_cancel = Some(goal);
        }
    }

    /// Adds a goal to the server. False if it was there before.
    fn store_goal(&mut self, goal: GoalId) -> bool {
        if self.table.accept(goal, Stamp::ZERO).is_err() {
            return false;
        }
        if self.has_status_list && !self.is_of_this_run(goal) {
            self.accepted_late.insert(goal);
        }
        self.publish_status();
        true
    }

    fn publish_status(&mut self) {
        self.messages
            .retain(|message| !matches!(message, Message::Status(_)));
        self.must_repeat_status = false;
        let goals = self
            .table
            .statuses()
            .into_iter()
            .map(|(goal, _, status)| (goal, status))
            .collect();
        self.messages.insert(Message::Status(goals));
    }

    /// Crashes the process with the GoalTracker. Answers to it are lost; its requests are still under way. The next
    /// process must discover the server first, because the wire may be cut.
    fn crash_process(&mut self, setup: &Setup) {
        self.used_faults.process_crashes += 1;
        self.running = None;
        self.finished.clear();
        self.has_delayed_effects = false;
        self.effects.clear();
        self.messages.retain(|message| {
            matches!(
                message,
                Message::GoalRequest(_) | Message::CancelRequest(..) | Message::ResultRequest(_)
            )
        });
        let run = u64::from(self.used_faults.process_crashes);
        self.goal_tracker = GoalTracker::new(GoalIds::new(1, run), setup.options());
        self.has_status_list = false;
        self.has_server_changed = false;
        self.is_adoption_allowed = false;
        self.accepted_late.clear();
        self.must_repeat_status = !self.table.statuses().is_empty();
        self.command(Command::Adopt {
            server: SERVER,
            window: SEARCH_WINDOW,
            delay: Duration::from_secs(1),
        });
    }

    fn wait(&mut self, setup: &Setup) {
        let Some(due) = self.next_time() else {
            return;
        };
        let passed = due.since(NOW);
        // The GoalTracker does not wait longer for the answer to the first cancel.
        let is_answer_late = |goal: GoalId| {
            let mut messages = self.messages.iter();
            messages.any(|message| matches!(message, Message::Canceled(of, 1, _) if *of == goal))
        };
        self.untold_cancel = self.untold_cancel.filter(|goal| !is_answer_late(*goal));
        self.goal_tracker.shift_back(passed);
        if let Some((_, age)) = &mut self.running {
            *age += passed;
        }
        for age in self.finished.values_mut() {
            *age = (*age + passed).min(setup.max_tracking_time() + Duration::from_secs(1));
        }
        self.run_tracker(|goal_tracker, out| goal_tracker.advance(NOW, out));
        if self.goal_tracker.next_deadline() == Some(NOW) {
            self.violation = Some("a deadline that has been handled is due again");
        }
    }

    fn command(&mut self, command: Command<u8>) {
        self.run_tracker(|goal_tracker, out| goal_tracker.command(command, NOW, out));
    }

    fn wire(&mut self, event: WireEvent<u8>) {
        self.run_tracker(|goal_tracker, out| goal_tracker.wire(event, NOW, out));
    }

    fn run_tracker(&mut self, input: impl FnOnce(&mut GoalTracker<u8>, &mut Vec<Effect<u8>>)) {
        input(&mut self.goal_tracker, &mut self.effects);
        if !self.has_delayed_effects {
            let out = std::mem::take(&mut self.effects);
            self.apply_effects(out);
        }
    }

    fn apply_effects(&mut self, effects: Vec<Effect<u8>>) {
        for effect in effects {
            match effect {
                Effect::SendGoal { goal, payload, .. } => {
                    if self.stopped_activation.is_some() {
                        self.violation =
                            Some("G3: a goal was sent after another client had stopped the robot");
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
                        self.violation = Some("a goal was sent for a leaf that was halted or has finished");
                    }
                    self.messages.insert(Message::GoalRequest(goal));
                }
                Effect::SendCancel {
                    tag: CancelTag::Goal { goal, attempt },
                    ..
                } => {
                    // The answers do not show any more which cancel was the first.
                    self.untold_cancel = self.untold_cancel.filter(|untold| *untold != goal);
                    self.messages.insert(Message::CancelRequest(goal, attempt));
                }
                Effect::RequestResult { goal, .. } => {
                    self.messages.insert(Message::ResultRequest(goal));
                }
                Effect::Notify(notice) => self.notify(&notice),
                Effect::Report(report) => {
                    if report.what.is_loss() {
                        self.untold_cancel = None;
                    }
                    let Some(goal) = report.goal else {
                        continue;
                    };
                    match report.what {
                        IncidentKind::AcceptedLate => self.seen.cancelled_late = true,
                        IncidentKind::Adopted => {
                            self.seen.adopted = true;
                            if !self.is_adoption_allowed {
                                self.violation =
                                    Some("G3: a goal of a node that may be driving was cancelled");
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
                            self.reported_slow.insert(goal);
                        }
                        IncidentKind::GaveUpStopping | IncidentKind::GaveUpDenied => {
                            self.seen.gave_up = true;
                            self.reported_slow.insert(goal);
                            self.abandoned.insert(goal);
                        }
                        IncidentKind::GaveUpUnanswered | IncidentKind::GaveUpUnreachable => {
                            self.seen.gave_up = true;
                            self.reported_slow.insert(goal);
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

    /// The navigation learns from this notice that another client cancelled a goal.
    fn record_told_cancel(&mut self, notice: &Notice<u8>) {
        if let Notice::Canceling { .. }
        | Notice::Finished {
            outcome: Outcome::Canceled(_) | Outcome::CanceledByAnother,
            ..
        } = notice
        {
            if self.used_faults.foreign_cancels == 0 {
                self.violation = Some("the navigation was told of a cancel that nobody has requested");
            }
            self.has_told_of_cancel = true;
            self.untold_cancel = None;
        }
    }

    fn notify(&mut self, notice: &Notice<u8>) {
        self.record_told_cancel(notice);
        match self.running {
            Some((ticket, _)) if ticket == notice.ticket() => {
                if let Notice::Canceling { .. } = notice {
                    self.is_notified_of_cancel = true;
                    self.seen.canceled_by_another = true;
                }
                if let Notice::Finished { updates, outcome, .. } = notice {
                    let is_canceled = matches!(outcome, Outcome::Canceled(_) | Outcome::CanceledByAnother);
                    match outcome {
                        _ if self.stopped_activation == Some(ticket)
                            && !is_canceled
                            && !self.is_notified_of_cancel =>
                        {
                            self.violation =
                                Some("G3: a leaf was not told that another client cancelled its goal");
                        }
                        Outcome::Succeeded(payload) if u64::from(*payload) != *updates => {
                            self.violation = Some("a leaf was told the success of a goal of other inputs");
                        }
                        Outcome::Succeeded(_) => self.seen.succeeded = true,
                        Outcome::ServerGone => self.seen.server_gone = true,
                        Outcome::ResultLost => self.seen.result_lost = true,
                        _ => {}
                    }
                    self.running = None;
                    self.finished.insert(ticket, Duration::ZERO);
                }
            }
            _ if matches!(notice, Notice::Canceling { .. }) => self.seen.told_after_halt = true,
            _ => self.violation = Some("G4: a notice for a leaf that was halted or has finished"),
        }
    }

    /// Checks the invariants that hold after every step.
    fn check(&mut self, setup: &Setup) {
        if let Some((_, age)) = self.running {
            if self.goal_tracker.next_deadline().is_none() && !self.has_delayed_effects {
                self.violation = Some("G6: a leaf waits and nothing is due");
            }
            if age > setup.max_leaf_wait() {
                self.violation = Some("G6: a leaf waits longer than its timeouts allow");
            }
        }
        for live in self.goal_tracker.live_goals() {
            let age = live.ticket.and_then(|ticket| self.finished.get(&ticket));
            if age.is_some_and(|age| *age > setup.max_tracking_time()) {
                self.violation = Some("G3: a goal without a leaf is tracked beyond its deadline");
            }
        }
        let executing: Vec<GoalId> = self
            .table
            .active()
            .into_iter()
            .filter(|goal| !self.reported_slow.contains(goal))
            .filter(|goal| self.is_of_this_run(*goal))
            .collect();
        let allowed = match setup.update_policy {
            UpdatePolicy::ServerPreempts if self.used_faults.updates > 0 => 2,
            _ => 1,
        };
        if executing.len() > allowed {
            self.violation = Some("G5: more goals on the server than the policy allows");
        }
        let window_is_over = self
            .goal_tracker
            .adopts_until(SERVER)
            .is_none_or(|until| until < NOW);
        let is_known = |goal: &GoalId| {
            self.abandoned.contains(goal) || self.accepted_late.contains(goal) && window_is_over
        };
        let is_faultless = self.used_faults
            == UsedFaults {
                foreign_cancels: self.used_faults.foreign_cancels,
                updates: self.used_faults.updates,
                delayed_effects: self.used_faults.delayed_effects,
                ..UsedFaults::default()
            };
        if self.is_quiet() && self.untold_cancel.is_some() && is_faultless {
            self.violation = Some("G3: the navigation was not told that another client had cancelled a goal");
        }
        if self.is_quiet() && !self.table.active().iter().all(is_known) {
            self.violation = Some("G3: a goal without a leaf executes and was not reported");
        }
    }

    fn is_of_this_run(&self, goal: GoalId) -> bool {
        !GoalIds::new(1, u64::from(self.used_faults.process_crashes)).is_predecessor(goal)
    }

    pub(crate) fn messages_under_way(&self) -> usize {
        self.messages.len()
    }

    /// Continues without faults: the leaf is halted, the server stays present, messages arrive, and time passes. False
    /// if the world does not come to rest.
    pub(crate) fn reach_rest(&mut self, setup: &Setup) -> bool {
        for _ in 0..500 {
            let action = if self.has_delayed_effects {
                Action::ReleaseEffects
            } else if self.accepted_early.is_some() {
                Action::StoreGoal
            } else if self.running.is_some() {
                Action::Halt
            } else if !self.is_server_up {
                Action::RestartServer
            } else if !self.goal_tracker.is_present(SERVER) {
                Action::NoticePresence
            } else if self.has_second_endpoint {
                Action::RemoveSecondServer
            } else if self.has_server_changed {
                Action::NoticeChange
            } else if !self.is_adoption_allowed {
                Action::AllowAdoption
            } else if let Some(message) = self.messages.first() {
                Action::Deliver(message.clone())
            } else if self.can_repeat_status() {
                Action::RepeatStatus
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
        self.messages.is_empty()
            && !self.has_delayed_effects
            && self.accepted_early.is_none()
            && !self.can_repeat_status()
            && self.is_adoption_allowed
            && !self.has_server_changed
            && !self.has_second_endpoint
            && self.running.is_none()
            && self.goal_tracker.is_idle()
            && self.goal_tracker.next_deadline().is_none()
            && self.is_server_up == self.goal_tracker.is_present(SERVER)
    }
}
