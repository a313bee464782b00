//! The loop of the thread, with everything that it owns.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use super::handle::GoalTrackerHandle;
use super::input::{Input, Message};
use super::panics::{Actions, LeftGoals, guarded};
use super::publishers::Publishers;
use crate::bt::Time;
use crate::fault;
use crate::goal::{
    AbandonedGoals, Command, Effect, GoalIds, GoalOptions, GoalTracker, LinkId, Phase, ServerId, WireEvent,
};
use crate::nav::Payload;
use crate::ros::goals_view::{GoalsBoard, GoalsView};
use crate::ros::guardian::GuardedGoals;
use crate::ros::inbox::Inbox;
use crate::ros::interfaces::ServiceTransport;
use crate::ros::node::Group;
use crate::ros::servers_board::ServersBoard;
use crate::ros::{Clock, PendingRequests, RosHandle};

/// The maximum number of inputs handled before their effects are carried out. Within a batch, many feedback messages
/// become one notice, and a goal that one of the inputs halts is not sent. A cancel waits for one batch at most. A
/// batch should have room for all leaves halted in one tick, because the list of goals is published after each batch.
const BATCH: usize = 256;

/// The clock must be read this often; see [`Clock::skip_pauses`].
const MAX_WAIT: Duration = Duration::from_millis(500);

/// The number of unanswered requests from which on a warning is logged.
const MANY: usize = 100;

pub(super) struct Owner {
    pub(super) goal_tracker: GoalTracker<Payload>,
    ros: RosHandle,
    clock: Clock,
    pub(super) board: Arc<GoalsBoard>,
    servers: Arc<ServersBoard>,
    pub(super) abandoned: AbandonedGoals,
    pub(super) actions: Actions,
    /// Servers whose feedback is requested and whose client does not exist yet.
    unheard: FxHashSet<ServerId>,
    pub(super) services: FxHashMap<ServerId, Box<dyn ServiceTransport>>,
    pub(super) publishers: Publishers,
    pub(super) links: FxHashMap<LinkId, Arc<Inbox>>,
    names: FxHashMap<ServerId, Arc<str>>,
    /// The number of unanswered requests in the last warning.
    warned: FxHashMap<ServerId, usize>,
    /// Servers for which refused requests were logged.
    pub(super) refused: FxHashSet<ServerId>,
    pub(super) guarded: Option<GuardedGoals>,
    pub(super) effects: Vec<Effect<Payload>>,
    /// The messages of the [`Effect::SendMessage`] in `effects`.
    messages: VecDeque<Message>,
    /// Whether the view is out of date.
    pub(super) changed: bool,
    /// A message of this session was dropped.
    has_dropped: bool,
}

impl Owner {
    pub(super) fn new(ids: GoalIds, options: GoalOptions, handle: &GoalTrackerHandle) -> Self {
        Self {
            goal_tracker: GoalTracker::new(ids, options),
            ros: handle.ros.clone(),
            clock: handle.clock.clone(),
            board: Arc::clone(&handle.board),
            servers: Arc::clone(&handle.servers),
            abandoned: AbandonedGoals::default(),
            actions: FxHashMap::default(),
            unheard: FxHashSet::default(),
            services: FxHashMap::default(),
            publishers: Publishers::default(),
            links: FxHashMap::default(),
            names: FxHashMap::default(),
            warned: FxHashMap::default(),
            refused: FxHashSet::default(),
            guarded: None,
            effects: Vec::new(),
            messages: VecDeque::new(),
            changed: false,
            has_dropped: false,
        }
    }

    pub(super) fn run(&mut self, inputs: &Receiver<Input>) {
        loop {
            let first = match self.goal_tracker.next_deadline() {
                None => inputs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => {
                    // A deadline that is still due after it was handled must not cause a busy loop.
                    let left = due.since(self.clock.steady()).max(Duration::from_micros(500));
                    inputs.recv_timeout(left.min(MAX_WAIT))
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
        let have_goals_changed = (self.changed || handled > 0) && self.show();
        self.board.count_out(handled);
        if have_goals_changed {
            self.board.notify_change();
        }
        true
    }

    /// Returns whether the input was one of the counted ones.
    fn take(&mut self, input: Input, now: Time) -> bool {
        match input {
            Input::Commands(commands) => {
                for command in commands {
                    self.has_dropped &= !matches!(command, Command::BeginSession);
                    if matches!(command, Command::HaltAll { .. } | Command::BeginSession) {
                        if self.messages.iter().any(Message::is_of_leaf) {
                            self.carry_out(now);
                        }
                        self.publishers.drop_messages_of_leaves();
                    }
                    self.goal_tracker.command(command, now, &mut self.effects);
                }
                return true;
            }
            Input::Wire(event) => self.take_wire(event, now),
            // The client of a server that was closed meanwhile.
            Input::Action(server, _) | Input::Service(server, _) if !self.names.contains_key(&server) => {}
            Input::Action(server, transport) => {
                if self.unheard.remove(&server) {
                    self.ros.post(transport.hear_feedback());
                }
                self.name_cancel_service(server);
                self.actions.insert(server, transport);
            }
            Input::Hear(server) => self.hear(server),
            Input::Task(task) => {
                self.ros.post(task);
            }
            Input::Guard(guarded) => self.guarded = Some(guarded),
            Input::Service(server, transport) => {
                self.services.insert(server, transport);
            }
            Input::Advertised(topic, name) => self.publishers.advertise(topic, name),
            Input::Publisher(topic, publisher) => self.publishers.open(topic, publisher, now),
            Input::Unadvertised(topic) => {
                if !self.messages.is_empty() {
                    self.carry_out(now);
                }
                self.publishers.close(topic);
            }
            Input::Message(message) if message.is_of_leaf() && self.goal_tracker.is_halted() => {
                self.drop_message();
            }
            Input::Message(message) => {
                self.messages.push_back(message);
                self.effects.push(Effect::SendMessage);
            }
            Input::Close(server, confirm) => {
                if confirm(self.is_idle_on(server, now)) {
                    self.close(server);
                }
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
                self.goal_tracker.unlink(id, now, &mut self.effects);
                return true;
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

    pub(super) fn take_wire(&mut self, event: WireEvent<Payload>, now: Time) {
        if let WireEvent::ServerBack { server }
        | WireEvent::ServerGone { server }
        | WireEvent::Status { server, .. } = &event
            && !self.names.contains_key(server)
        {
            // It was closed meanwhile.
            return;
        }
        self.changed |= !matches!(event, WireEvent::Feedback { .. });
        self.abandoned.wire(&event);
        match event {
            WireEvent::ServerBack { server } => self.servers.seen(server, true),
            WireEvent::ServerGone { server } => self.servers.seen(server, false),
            _ => {}
        }
        self.goal_tracker.wire(event, now, &mut self.effects);
    }

    /// Subscribes to the feedback of a server, now or when its client is open.
    fn hear(&mut self, server: ServerId) {
        if let Some(transport) = self.actions.get(&server) {
            self.ros.post(transport.hear_feedback());
        } else {
            self.unheard.insert(server);
        }
    }

    /// Whether nothing of this node may happen on a server any more: no goal, no request, no search for goals of an
    /// earlier run.
    fn is_idle_on(&self, server: ServerId, now: Time) -> bool {
        let action = self.actions.get(&server).map(|client| client.awaits_answers());
        let service = self.services.get(&server).map(|client| client.awaits_answers());
        !self.goal_tracker.uses_server(server, now)
            && !self.abandoned.goals().any(|goal| goal.server == server)
            && !action.or(service).unwrap_or_default()
    }

    pub(super) fn send_message(&mut self, now: Time) {
        if let Some(message) = self.messages.pop_front() {
            message.send(&mut self.publishers, now);
        }
    }

    /// The GoalTracker has panicked, with messages that have not left. Those of leaves could move the robot.
    pub(super) fn send_messages_without_leaves(&mut self) {
        self.messages.retain(|message| !message.is_of_leaf());
        while !self.messages.is_empty() {
            self.send_message(self.clock.steady());
        }
    }

    /// Drops a message of a leaf that returned after all leaves were halted: it could move the robot.
    fn drop_message(&mut self) {
        if !std::mem::replace(&mut self.has_dropped, true) {
            tracing::warn!("a leaf has published after its tree was halted: its messages are dropped");
        }
    }

    /// Ends the client of a server, and forgets the server.
    fn close(&mut self, server: ServerId) {
        self.ros.post(move |node| node.close(Group(server.0)));
        self.actions.remove(&server);
        self.services.remove(&server);
        self.unheard.remove(&server);
        self.names.remove(&server);
        self.warned.remove(&server);
        self.refused.remove(&server);
        self.servers.closed(server);
        if let Some(guarded) = &mut self.guarded {
            guarded.forget_service(server);
        }
        self.goal_tracker.forget_server(server);
    }

    /// The GoalTracker has panicked: returns every goal that it knew of or that the last view contained.
    pub(super) fn left_goals(&self) -> LeftGoals {
        let known = guarded("the list of goals", || self.goal_tracker.live_goals());
        let shown = self.board.view().live.clone();
        let goals = known.into_iter().flatten().chain(shown);
        LeftGoals::new(goals.map(|goal| (goal.goal, goal.server)))
    }

    pub(super) fn name(&self, server: ServerId) -> Arc<str> {
        self.names.get(&server).map_or_else(|| Arc::from("?"), Arc::clone)
    }

    /// Adds the name of the cancel service to the guardian's list.
    fn name_cancel_service(&mut self, server: ServerId) {
        let Some(guarded) = &mut self.guarded else { return };
        let name = self.names.get(&server).map_or("?", |name| name);
        guarded.name_service(server, self.ros.action_service(name, "cancel_goal"));
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

    /// Publishes the goals. Returns whether the live ones have changed.
    fn show(&mut self) -> bool {
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
        })
    }
}
