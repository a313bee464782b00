//! The thread that owns the GoalTracker and all clients and publishers.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use super::deferred_send::{DeferredSend, Message};
use super::goal_tracker_fault_tests::{Actions, LeftGoals, attempt, guarded};
use super::goals_view::{GoalsBoard, GoalsView};
use super::guardian::GuardedGoals;
use super::inbox::{Inbox, LINK_SHIFT};
use super::interfaces::{ActionTransport, Publish, ServiceTransport};
use super::servers_board::{KnownServer, ServersBoard};
use super::spin::Task;
use super::takeover::Takeover;
use super::{Clock, PendingRequests, RosError, RosHandle, RosNode, Wake};
use crate::bt::{HaltReason, Time, panic_text};
use crate::fault;
use crate::goal::{
    AbandonedGoals, Command, Effect, GoalIncident, GoalOptions, GoalTracker, Phase, ServerId, Severity,
    Ticket, WireEvent,
};
use crate::nav::{Payload, TopicId};

/// The inputs of the thread.
pub(super) enum Input {
    Commands(Vec<Command<Payload>>),
    Wire(WireEvent<Payload>),
    Action(ServerId, Box<dyn ActionTransport>),
    /// A task for the node's thread.
    Task(Task),
    /// Keeps every goal on a server in this list from now on.
    Guard(GuardedGoals),
    /// A leaf needs the feedback of its goals on this server.
    Hear(ServerId),
    Service(ServerId, Box<dyn ServiceTransport>),
    Publisher(TopicId, Box<dyn Publish>),
    Publish {
        topic: TopicId,
        payload: Payload,
        depth: u16,
    },
    Named(ServerId, Arc<str>),
    Link(u16, Arc<Inbox>),
    Unlink(u16),
    HaltAll(HaltReason),
    Send(Box<dyn FnOnce() + Send>),
    ShutDown(Duration),
    End,
}

/// Sends inputs to the thread, for transports and links.
#[derive(Clone)]
pub(super) struct InputSender(Sender<Input>);

impl InputSender {
    pub(super) fn wire(&self, event: WireEvent<Payload>) {
        self.send(Input::Wire(event));
    }

    /// Calls `then` on the node's thread with whether at most one server answers `service`, by the graph at the time of
    /// this call. If there are several, a client gets the answer of one of them.
    pub(super) fn ask_whether_alone(self, service: String, then: impl FnOnce(&Self, bool) + Send + 'static) {
        let to = self.clone();
        let look = move |node: &mut RosNode| then(&self, node.servers(&service) <= 1);
        to.send(Input::Task(Box::new(look)));
    }

    /// An input is lost only if the thread has ended; it is then of no use.
    pub(super) fn send(&self, input: Input) {
        let _ = self.0.send(input);
    }
}

/// The thread that owns the GoalTracker. It handles the commands of ticks, the messages of servers and deadlines, and
/// sends the resulting messages at once, so no cancel waits for a tick.
#[derive(Debug)]
pub struct GoalTrackerThread {
    handle: GoalTrackerHandle,
    thread: Option<JoinHandle<()>>,
}

/// Access to the GoalTracker from any thread. Cheap to clone.
#[derive(Clone)]
pub struct GoalTrackerHandle {
    message_sender: MessageSender,
    outbox: Option<Arc<Outbox>>,
    board: Arc<GoalsBoard>,
    servers: Arc<ServersBoard>,
    takeover: Arc<Takeover>,
    /// The number of goals in the guardian's list.
    guarded: Arc<AtomicUsize>,
    clock: Clock,
    ros: RosHandle,
}

/// The messages of a tick, kept until the tick ends.
struct Outbox {
    message_sender: MessageSender,
    held: Mutex<Vec<Outgoing>>,
}

/// An outgoing message.
enum Outgoing {
    ToGoalTracker(Input),
    /// A message sent by the thread that listens to topics, or by the GoalTracker's thread.
    Along(Message),
}

/// The threads that send messages.
#[derive(Clone)]
struct MessageSender {
    inputs: InputSender,
    along: DeferredSend,
}

impl MessageSender {
    fn put(&self, said: Outgoing) {
        match said {
            Outgoing::ToGoalTracker(input) => {
                if matches!(input, Input::Send(_)) {
                    self.send_all(self.along.take_back());
                }
                self.inputs.send(input);
            }
            Outgoing::Along(message) => self.send_all(self.along.leave(message)),
        }
    }

    fn send_all(&self, messages: impl IntoIterator<Item = Message>) {
        for message in messages {
            self.inputs.send(Input::Send(message));
        }
    }
}

impl Outbox {
    fn hand_over(&self) {
        let held = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        for said in held {
            self.message_sender.put(said);
        }
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.hand_over();
    }
}

impl std::fmt::Debug for GoalTrackerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GoalTrackerHandle")
    }
}

impl GoalTrackerThread {
    /// Starts the thread. `robot`: see [`RosHandle::goal_ids`]. `options` are for goals that were found, not started,
    /// by this node.
    ///
    /// # Errors
    /// [`RosError::Context`] if the thread cannot be started.
    pub fn start(
        ros: &RosHandle,
        clock: &Clock,
        robot: &str,
        options: GoalOptions,
    ) -> Result<Self, RosError> {
        let (sender, receiver) = channel();
        let ids = ros.goal_ids(robot, "");
        let handle = GoalTrackerHandle {
            message_sender: MessageSender {
                inputs: InputSender(sender),
                along: DeferredSend::default(),
            },
            outbox: None,
            board: Arc::default(),
            servers: Arc::default(),
            takeover: Arc::new(Takeover::new(ids.mark())),
            guarded: Arc::default(),
            clock: clock.clone(),
            ros: ros.clone(),
        };
        let owner = Owner {
            goal_tracker: GoalTracker::new(ids, options),
            ros: ros.clone(),
            clock: clock.clone(),
            board: Arc::clone(&handle.board),
            servers: Arc::clone(&handle.servers),
            abandoned: AbandonedGoals::default(),
            actions: FxHashMap::default(),
            unheard: FxHashSet::default(),
            services: FxHashMap::default(),
            publishers: FxHashMap::default(),
            unpublished: FxHashMap::default(),
            links: FxHashMap::default(),
            names: FxHashMap::default(),
            warned: FxHashMap::default(),
            refused: FxHashSet::default(),
            guarded: None,
            effects: Vec::new(),
            changed: false,
        };
        let along = handle.message_sender.along.clone();
        ros.whenever_awake(move || along.carry());
        let fault = ros.clone();
        let thread = std::thread::Builder::new()
            .name("goal-tracker".to_owned())
            .spawn(move || {
                let mut owner = owner;
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| owner.run(&receiver))) {
                    let mut left = owner.left_goals();
                    left.cancel(&mut owner.actions);
                    fault.fail(&format!("error in the GoalTracker: {}", panic_text(&*panic)));
                    left.serve_until_the_end(&mut owner.actions, &receiver);
                }
            })
            .map_err(|error| RosError::Context(error.to_string()))?;
        Ok(Self {
            handle,
            thread: Some(thread),
        })
    }

    /// Access to the GoalTracker.
    pub fn handle(&self) -> &GoalTrackerHandle {
        &self.handle
    }
}

impl Drop for GoalTrackerThread {
    fn drop(&mut self) {
        self.handle.inputs().send(Input::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl GoalTrackerHandle {
    pub(super) fn inputs(&self) -> &InputSender {
        &self.message_sender.inputs
    }

    /// The node's clock.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn ros(&self) -> &RosHandle {
        &self.ros
    }

    /// A handle for the tick thread: messages sent through it or a clone leave with [`GoalTrackerHandle::hand_over`].
    /// Each message to a sleeping thread wakes it, and the woken thread may take the processor from the tick.
    #[must_use]
    pub fn with_outbox(&self) -> Self {
        let outbox = Outbox {
            message_sender: self.message_sender.clone(),
            held: Mutex::default(),
        };
        Self {
            outbox: Some(Arc::new(outbox)),
            ..self.clone()
        }
    }

    /// A handle for all other threads: messages leave at once.
    #[must_use]
    pub fn without_outbox(&self) -> Self {
        Self {
            outbox: None,
            ..self.clone()
        }
    }

    /// Sends the messages of a tick, at its end.
    pub fn hand_over(&self) {
        if let Some(outbox) = &self.outbox {
            outbox.hand_over();
        }
    }

    /// Sends an input, at once or at the end of a tick.
    pub(super) fn put(&self, input: Input) {
        self.say(Outgoing::ToGoalTracker(input));
    }

    fn say(&self, said: Outgoing) {
        match &self.outbox {
            Some(outbox) => outbox
                .held
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(said),
            None => self.message_sender.put(said),
        }
    }

    /// Like [`GoalTrackerHandle::submit`], but always at once: for inputs that must arrive before any message of a
    /// server.
    pub(super) fn submit_at_once(&self, input: Input) {
        self.board.count_in();
        self.inputs().send(input);
    }

    /// Sends an input that changes goals. It is counted, so [`GoalTrackerHandle::is_settled`] knows when it was
    /// handled.
    pub(super) fn submit(&self, input: Input) {
        self.board.count_in();
        self.put(input);
    }

    /// Sends a message on this thread, after earlier messages, so a tick does not wait for the middleware (G1).
    pub fn send(&self, send: impl FnOnce() + Send + 'static) {
        self.put(Input::Send(Box::new(send)));
    }

    /// Like [`GoalTrackerHandle::send`], for messages that may wait until the next topic message arrives. No thread is
    /// woken for them. If another node listens to topics, slow sends do not delay goals. Without topic messages, they
    /// leave with the next one of their kind, or within half a second.
    pub fn send_along(&self, send: impl FnOnce() + Send + 'static) {
        self.say(Outgoing::Along(Box::new(send)));
    }

    /// Halts every leaf of every tree, at once and from any thread: a client's cancel need not wait for a tick. Leaves
    /// are not notified (G4). Halt the tree at its next tick, which then finds nothing to stop.
    pub fn halt_all(&self, reason: HaltReason) {
        self.submit(Input::HaltAll(reason));
    }

    pub(super) fn takeover(&self) -> &Takeover {
        &self.takeover
    }

    /// Shuts down at the end of the process (G8): halts every leaf, starts no more requests, and reports and abandons
    /// goals that have not ended after `patience`. [`GoalsView::idle`] tells when all are done.
    pub fn shut_down(&self, patience: Duration) {
        self.submit(Input::ShutDown(patience));
    }

    /// Whether all inputs so far were handled and no goal with a ticket of the session keeps it from ending; see
    /// [`LiveGoal::holds_up`](crate::goal::LiveGoal::holds_up).
    pub fn is_settled(&self, of_session: impl Fn(Ticket) -> bool) -> bool {
        self.board.is_settled(of_session)
    }

    /// A counter that grows when the thread begins to work and when it waits again; odd while it works.
    pub fn beats(&self) -> u64 {
        self.board.beats()
    }

    /// Whether there may be goals on servers, even if the thread has stalled before it published them: a goal is in the
    /// guardian's list before its request leaves.
    pub fn may_have_goals(&self) -> bool {
        !self.board.view().live.is_empty() || self.guarded.load(Ordering::Acquire) > 0
    }

    /// The state of the goals, as of a moment ago. Never waits for the thread that owns them.
    pub fn view(&self) -> GoalsView {
        self.board.view().clone()
    }

    /// The state of some servers, in the given order, as of a moment ago. Never waits.
    pub fn servers(&self, servers: &[ServerId]) -> Vec<KnownServer> {
        self.servers.of(servers)
    }

    /// The goals that have not stopped when a session ends, one text per goal; see
    /// [`LiveGoal::is_left_by`](crate::goal::LiveGoal::is_left_by). Includes the session's abandoned goals.
    pub fn unsettled(&self, of_session: impl Fn(Ticket) -> bool) -> Vec<String> {
        let view = self.board.view();
        let abandoned = view.abandoned.iter();
        let abandoned = abandoned
            .filter(|(goal, _)| goal.is_left_by(&of_session))
            .map(|(goal, server)| format!("{server}: goal of {} (given up)", goal.leaf));
        view.live
            .iter()
            .zip(&view.servers)
            .filter(|(goal, _)| goal.is_left_by(&of_session))
            .map(|(goal, server)| {
                let leaf = if goal.leaf.is_empty() {
                    "an earlier activation or run"
                } else {
                    &goal.leaf
                };
                format!("{server}: goal of {leaf} ({})", words(goal.phase))
            })
            .chain(abandoned)
            .collect()
    }

    /// Maintains a list of the goals on servers, for a guardian. Call it before anything is opened.
    pub fn guard(&self, mut goals: GuardedGoals) {
        goals.count_in(Arc::clone(&self.guarded));
        self.inputs().send(Input::Guard(goals));
    }

    /// Wakes `wake` whenever the set of live goals has changed.
    pub fn ring_on_change(&self, wake: Wake) {
        self.board.ring_on_change(wake);
    }
}

fn words(phase: Phase) -> &'static str {
    match phase {
        Phase::Queued => "waiting for another goal to stop",
        Phase::Absent => "waiting for its server",
        Phase::Sent => "not answered",
        Phase::Executing => "executing",
        Phase::Finishing => "waiting for its result",
        Phase::Replaced => "replaced by a newer goal",
        Phase::CancelPending => "cancelled, but not accepted yet",
        Phase::Canceling => "being cancelled",
        Phase::Unreachable => "server gone",
        Phase::Ended => "over",
    }
}

/// The maximum number of inputs handled before their effects are carried out. Within a batch, many feedback messages
/// become one notice, and a goal that one of the inputs halts is not sent. A cancel waits for one batch at most. A
/// batch should have room for all leaves halted in one tick, because the list of goals is published after each batch.
const BATCH: usize = 256;

/// The number of unanswered requests from which on a warning is logged.
const MANY: usize = 100;

struct Owner {
    goal_tracker: GoalTracker<Payload>,
    ros: RosHandle,
    clock: Clock,
    board: Arc<GoalsBoard>,
    servers: Arc<ServersBoard>,
    abandoned: AbandonedGoals,
    actions: Actions,
    /// Servers whose feedback is requested and whose client does not exist yet.
    unheard: FxHashSet<ServerId>,
    services: FxHashMap<ServerId, Box<dyn ServiceTransport>>,
    publishers: FxHashMap<TopicId, Box<dyn Publish>>,
    /// Messages published before their publisher existed.
    unpublished: FxHashMap<TopicId, VecDeque<Payload>>,
    links: FxHashMap<u16, Arc<Inbox>>,
    names: FxHashMap<ServerId, Arc<str>>,
    /// The number of unanswered requests in the last warning.
    warned: FxHashMap<ServerId, usize>,
    /// Servers for which refused requests were logged.
    refused: FxHashSet<ServerId>,
    guarded: Option<GuardedGoals>,
    effects: Vec<Effect<Payload>>,
    /// Whether the view is out of date.
    changed: bool,
}

impl Owner {
    fn run(&mut self, inputs: &Receiver<Input>) {
        loop {
            let first = match self.goal_tracker.next_deadline() {
                None => inputs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => {
                    // A deadline that is still due after it was handled must not cause a busy loop.
                    let left = due.since(self.clock.steady()).max(Duration::from_micros(500));
                    inputs.recv_timeout(left)
                }
            };
            let next = match first {
                Ok(input) => Some(input),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            // All work until the next wait may stall in the middleware.
            self.board.beat();
            let goes_on = self.work(next, inputs);
            self.board.beat();
            if !goes_on {
                return;
            }
        }
    }

    /// Handles one batch of inputs at most, and due deadlines. Returns false on a request to end.
    fn work(&mut self, mut next: Option<Input>, inputs: &Receiver<Input>) -> bool {
        fault::point();
        let now = self.clock.steady();
        let (mut taken, mut handled) = (0, 0);
        while let Some(input) = next {
            if matches!(input, Input::End) {
                // Send the earlier requests all the same: without its cancel, a goal would continue.
                self.carry_out(now);
                return false;
            }
            handled += u64::from(self.take(input, now));
            taken += 1;
            next = if taken < BATCH {
                inputs.try_recv().ok()
            } else {
                None
            };
        }
        self.goal_tracker.advance(now, &mut self.effects);
        self.carry_out(now);
        if self.changed || handled > 0 {
            self.show();
        }
        self.board.count_out(handled);
        true
    }

    /// Returns whether the input was one of the counted ones.
    fn take(&mut self, input: Input, now: Time) -> bool {
        match input {
            Input::Commands(commands) => {
                for command in commands {
                    self.goal_tracker.command(command, now, &mut self.effects);
                }
                return true;
            }
            Input::Wire(event) => {
                self.changed |= !matches!(event, WireEvent::Feedback { .. });
                self.abandoned.wire(&event);
                match event {
                    WireEvent::ServerBack { server } => self.servers.seen(server, true),
                    WireEvent::ServerGone { server } => self.servers.seen(server, false),
                    _ => {}
                }
                self.goal_tracker.wire(event, now, &mut self.effects);
            }
            Input::Action(server, transport) => {
                if self.unheard.remove(&server) {
                    self.ros.post(transport.hear_feedback());
                }
                self.name_cancel_service(server);
                self.actions.insert(server, transport);
            }
            Input::Hear(server) => {
                if let Some(transport) = self.actions.get(&server) {
                    self.ros.post(transport.hear_feedback());
                } else {
                    self.unheard.insert(server);
                }
            }
            Input::Task(task) => {
                self.ros.post(task);
            }
            Input::Guard(guarded) => self.guarded = Some(guarded),
            Input::Service(server, transport) => {
                self.services.insert(server, transport);
            }
            Input::Publisher(topic, publisher) => {
                for payload in self.unpublished.remove(&topic).into_iter().flatten() {
                    publish(&*publisher, &payload);
                }
                self.publishers.insert(topic, publisher);
            }
            Input::Publish {
                topic,
                payload,
                depth,
            } => {
                self.carry_out(now);
                self.publish(topic, payload, depth);
            }
            Input::Named(server, name) => {
                self.servers.opened(server, Arc::clone(&name));
                self.names.insert(server, name);
            }
            Input::Link(id, inbox) => {
                self.links.insert(id, inbox);
            }
            Input::Unlink(id) => {
                self.links.remove(&id);
                let gone = |ticket: Ticket| ticket.0 >> LINK_SHIFT == u64::from(id);
                self.halt(gone, HaltReason::TreeSwapped, now);
                return true;
            }
            Input::HaltAll(reason) => {
                self.halt(|_| true, reason, now);
                return true;
            }
            Input::Send(send) => {
                // Earlier requests have left by then: when a client reads its result, the cancels were sent.
                self.carry_out(now);
                guarded("a message", send);
            }
            Input::ShutDown(patience) => {
                let deadline = now + patience;
                self.goal_tracker
                    .command(Command::ShutDown { deadline }, now, &mut self.effects);
                return true;
            }
            Input::End => {}
        }
        false
    }

    /// If the publisher does not exist yet, keeps as many messages as the topic's depth.
    fn publish(&mut self, topic: TopicId, payload: Payload, depth: u16) {
        if let Some(publisher) = self.publishers.get(&topic) {
            return publish(&**publisher, &payload);
        }
        let waiting = self.unpublished.entry(topic).or_default();
        if waiting.len() >= usize::from(depth.max(1)) {
            waiting.pop_front();
        }
        waiting.push_back(payload);
    }

    fn halt(&mut self, which: impl Fn(Ticket) -> bool, reason: HaltReason, now: Time) {
        let open = self.goal_tracker.open_tickets().into_iter();
        for ticket in open.filter(|ticket| which(*ticket)) {
            let halt = Command::Halt { ticket, reason };
            self.goal_tracker.command(halt, now, &mut self.effects);
        }
    }

    fn carry_out(&mut self, now: Time) {
        // Some effects fail. The GoalTracker handles each failure, which causes new effects.
        while !self.effects.is_empty() {
            let mut failures = Vec::new();
            for effect in std::mem::take(&mut self.effects) {
                let failure = attempt(effect, |effect| self.carry_out_one(effect, &mut failures));
                failures.extend(failure);
            }
            for failure in failures {
                self.goal_tracker.wire(failure, now, &mut self.effects);
            }
        }
    }

    /// The GoalTracker has panicked: returns every goal that it knew of or that the last view contained.
    fn left_goals(&self) -> LeftGoals {
        let known = guarded("the list of goals", || self.goal_tracker.live_goals());
        let shown = self.board.view().live.clone();
        let goals = known.into_iter().flatten().chain(shown);
        LeftGoals::new(goals.map(|goal| (goal.goal, goal.server)))
    }

    fn carry_out_one(&mut self, effect: Effect<Payload>, failures: &mut Vec<WireEvent<Payload>>) {
        let absent = || RosError::Send("the client is not created yet".to_owned());
        match effect {
            Effect::SendGoal {
                server,
                goal,
                payload,
            } => {
                if let Some(guarded) = &mut self.guarded {
                    guarded.add(server, goal);
                }
                let sent = match self.actions.get_mut(&server) {
                    Some(transport) => transport.send_goal(goal, &payload),
                    None => Err(absent()),
                };
                if !self.was_sent(server, "goal", &sent) {
                    failures.push(WireEvent::SendFailed { goal });
                }
            }
            Effect::SendCancel {
                server,
                tag,
                selection,
            } => {
                let sent = match self.actions.get_mut(&server) {
                    Some(transport) => transport.cancel(tag, selection),
                    None => Err(absent()),
                };
                if let Err(error) = sent {
                    self.say_unsent(server, "cancel", &error);
                    failures.push(WireEvent::CancelFailed { tag });
                }
            }
            Effect::RequestResult { server, goal } => {
                let sent = match self.actions.get_mut(&server) {
                    Some(transport) => transport.request_result(goal),
                    None => Err(absent()),
                };
                if let Err(error) = sent {
                    tracing::error!("{}: result not requested: {error}", self.name(server));
                }
            }
            Effect::CallService {
                ticket,
                server,
                payload,
            } => {
                let sent = match self.services.get_mut(&server) {
                    Some(transport) => transport.call(ticket, &payload),
                    None => Err(absent()),
                };
                if !self.was_sent(server, "request", &sent) {
                    failures.push(WireEvent::CallFailed { ticket });
                }
            }
            Effect::ForgetCall { ticket, server } => {
                if let Some(transport) = self.services.get_mut(&server) {
                    transport.forget(ticket);
                }
            }
            Effect::ForgetGoal { server, goal } => {
                self.changed = true;
                if let Some(transport) = self.actions.get_mut(&server) {
                    transport.forget(goal);
                }
            }
            Effect::Notify(notice) => {
                let link = u16::try_from(notice.ticket().0 >> LINK_SHIFT).unwrap_or(u16::MAX);
                if let Some(inbox) = self.links.get(&link) {
                    inbox.notice(notice);
                }
            }
            Effect::Report(report) => self.report(report),
        }
    }

    fn name(&self, server: ServerId) -> Arc<str> {
        self.names.get(&server).map_or_else(|| Arc::from("?"), Arc::clone)
    }

    /// Adds the name of the cancel service to the guardian's list.
    fn name_cancel_service(&mut self, server: ServerId) {
        let Some(guarded) = &mut self.guarded else { return };
        let name = self.names.get(&server).map_or("?", |name| name);
        guarded.name_service(server, self.ros.service(&format!("{name}/_action/cancel_goal")));
    }

    /// Logs a failed send.
    fn was_sent(&mut self, server: ServerId, what: &str, sent: &Result<(), RosError>) -> bool {
        match sent {
            Ok(()) => {
                self.refused.remove(&server);
                true
            }
            Err(error) => {
                self.say_unsent(server, what, error);
                false
            }
        }
    }

    /// A server that answers no requests causes a refusal at each attempt of a leaf. That is logged once, until a
    /// request is sent again.
    fn say_unsent(&mut self, server: ServerId, what: &str, error: &RosError) {
        if !matches!(error, RosError::Unanswered(_)) || self.refused.insert(server) {
            tracing::error!("{}: {what} not sent: {error}", self.name(server));
        }
    }

    fn report(&mut self, report: GoalIncident) {
        // Only a deadline shows that a goal did not stop in time.
        self.changed = true;
        self.abandoned.report(&report);
        let name = self.name(report.server);
        match report.what.severity() {
            Severity::Info => tracing::info!("{name}: {report}"),
            Severity::Warning => tracing::warn!("{name}: {report}"),
            Severity::Error => tracing::error!("{name}: {report}"),
        }
        let mut view = self.board.view();
        if view.reports.len() >= GoalsView::REPORTS {
            view.reports.pop_front();
        }
        view.reports.push_back(report);
    }

    /// Counts the unanswered requests of all clients. Logs a warning for a server with a hundred, and at every factor
    /// of ten.
    fn pending_requests(&mut self) -> PendingRequests {
        let actions = self
            .actions
            .iter()
            .map(|(server, client)| (*server, client.pending_requests()));
        let services = self
            .services
            .iter()
            .map(|(server, client)| (*server, client.pending_requests()));
        let mut sum = PendingRequests::default();
        let mut many = Vec::new();
        for (server, pending_requests) in actions.chain(services) {
            let warn_at = self
                .warned
                .get(&server)
                .map_or(MANY, |told| told.saturating_mul(10));
            if pending_requests.unanswered >= warn_at {
                many.push((server, pending_requests.unanswered));
            }
            sum += pending_requests;
        }
        for (server, unanswered) in many {
            let name = self.name(server);
            tracing::warn!(
                "{name}: {unanswered} requests are unanswered, and each uses memory; check the server"
            );
            self.warned.insert(server, unanswered);
        }
        sum
    }

    fn show(&mut self) {
        self.changed = false;
        let live = self.goal_tracker.live_goals();
        if let Some(guarded) = &mut self.guarded {
            let may_live = |phase: Phase| phase.may_execute() || phase == Phase::Unreachable;
            let alive = live.iter().filter(|goal| may_live(goal.phase));
            let abandoned = self.abandoned.goals().map(|goal| (goal.server, goal.goal));
            guarded.set(alive.map(|goal| (goal.server, goal.goal)).chain(abandoned));
        }
        let servers = live.iter().map(|goal| self.name(goal.server)).collect();
        let abandoned = self
            .abandoned
            .goals()
            .map(|goal| (goal.clone(), self.name(goal.server)))
            .collect();
        let pending_requests = self.pending_requests();
        self.board.show(GoalsView {
            live,
            servers,
            abandoned,
            idle: self.goal_tracker.is_idle(),
            counters: self.goal_tracker.counters(),
            pending_requests,
            ..GoalsView::default()
        });
    }
}

fn publish(publisher: &dyn Publish, payload: &Payload) {
    if let Some(Err(error)) = guarded("a publisher", || publisher.publish(payload)) {
        tracing::error!("message not published: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::{CancelTag, GoalId, Selection};
    use crate::ros::guardian;

    const SERVER: ServerId = ServerId(1);
    const PATIENCE: Duration = Duration::from_secs(60);

    /// The state visible to other threads while a goal request leaves.
    #[derive(PartialEq, Eq, Debug)]
    struct Seen {
        is_at_work: bool,
        is_in_view: bool,
        may_have_goals: bool,
    }

    /// A fake client of an action server: reads the owner's handle while it sends.
    struct Client {
        handle: GoalTrackerHandle,
        seen: Sender<Seen>,
    }

    impl ActionTransport for Client {
        fn hear_feedback(&self) -> Task {
            Box::new(|_| ())
        }
        fn send_goal(&mut self, _: GoalId, _: &Payload) -> Result<(), RosError> {
            let seen = Seen {
                is_at_work: !self.handle.beats().is_multiple_of(2),
                is_in_view: !self.handle.view().live.is_empty(),
                may_have_goals: self.handle.may_have_goals(),
            };
            self.seen.send(seen).unwrap();
            Ok(())
        }
        fn cancel(&mut self, _: CancelTag, _: Selection) -> Result<(), RosError> {
            Ok(())
        }
        fn request_result(&mut self, _: GoalId) -> Result<(), RosError> {
            Ok(())
        }
        fn forget(&mut self, _: GoalId) {}
        fn pending_requests(&self) -> PendingRequests {
            PendingRequests::default()
        }
    }

    fn start() -> GoalTrackerThread {
        let (ros, clock) = (RosHandle::of_nobody(), Clock::new(false));
        GoalTrackerThread::start(&ros, &clock, "", GoalOptions::default()).unwrap()
    }

    #[test]
    fn g11_a_goal_whose_request_stalls_is_known_although_it_was_not_shown_yet() {
        let thread = start();
        let handle = thread.handle();
        assert!(!handle.may_have_goals());
        handle.guard(guardian::list_of_goals("/bt_navigator"));
        let (seen, look) = channel();
        let client = Client {
            handle: handle.clone(),
            seen,
        };
        handle.put(Input::Named(SERVER, Arc::from("/spin")));
        handle.put(Input::Action(SERVER, Box::new(client)));
        handle.inputs().wire(WireEvent::ServerBack { server: SERVER });
        handle.submit(Input::Commands(vec![Command::Start {
            ticket: Ticket(1),
            server: SERVER,
            leaf: Arc::from("leaf"),
            payload: Payload::new(()),
            options: GoalOptions::default(),
        }]));
        let stalled = Seen {
            is_at_work: true,
            is_in_view: false,
            may_have_goals: true,
        };
        assert_eq!(look.recv_timeout(PATIENCE), Ok(stalled));
    }

    /// A message that is not a command of a tick: here a result for a client.
    #[test]
    fn g3_whatever_the_thread_sends_counts_as_work_until_it_waits_again() {
        let thread = start();
        let handle = thread.handle();
        let (seen, look) = channel();
        let looking = handle.clone();
        handle.send(move || seen.send(looking.beats()).unwrap());
        let at_work = look.recv_timeout(PATIENCE).unwrap();
        assert_eq!(at_work % 2, 1);
        let deadline = std::time::Instant::now() + PATIENCE;
        while handle.beats() == at_work && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(handle.beats(), at_work + 1, "it waits");
    }
}
