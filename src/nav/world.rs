//! The world that leaves see during a tick: a snapshot from its start, and an outbox that is sent at its end.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::failure::{Failures, LeafFailure};
use super::fault::Fault;
use super::link::{
    EndpointKind, Event, Form, Link, LinkError, Part, Payload, TopicId, TopicSpec, TransformError,
};
use super::note::{Note, Notes};
use super::odometry::{OdometrySample, OdometrySmoother};
use super::settings::Settings;
use crate::bt::{HaltOrder, HaltReason, Resource, Time};
use crate::goal::{Command, GoalOptions, Notice, Outcome, Selection, ServerId, Ticket};
use crate::msg::{FrameId, Odometry, PoseStamped, Stamp, TransformStamped};

/// The progress of a goal, a call or a cancel request.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The server accepted the goal.
    pub accepted: bool,
    /// The newest feedback that has not been read.
    pub feedback: Option<Payload>,
    /// The outcome.
    pub outcome: Option<Outcome<Payload>>,
    server: ServerId,
    /// The path and the registered ID of the leaf, if the navigation ends when another client cancels the goal.
    ends_navigation: Option<(Arc<str>, Arc<str>)>,
    /// The server cancels the goal although the leaf waits for it.
    is_canceling: bool,
    /// A Cancel node of this tree cancels the goal: its server says so.
    is_canceled_by_tree: bool,
    /// The requests of Cancel nodes that may cancel the goal and are not answered yet.
    open_cancels: Vec<Ticket>,
    /// A request of a Cancel node that may cancel the goal got no answer.
    is_cancel_unanswered: bool,
    /// This is the request of a Cancel node.
    is_cancel: bool,
    /// The leaf was halted. The answer to the request of a Cancel node still counts.
    is_detached: bool,
    /// Number of requested updates of the goal.
    asked: u64,
    /// Number of updates that the ended goal includes.
    applied: u64,
}

impl Progress {
    fn new(server: ServerId) -> Self {
        Self {
            accepted: false,
            feedback: None,
            outcome: None,
            server,
            ends_navigation: None,
            is_canceling: false,
            is_canceled_by_tree: false,
            open_cancels: Vec::new(),
            is_cancel_unanswered: false,
            is_cancel: false,
            is_detached: false,
            asked: 0,
            applied: 0,
        }
    }

    /// Whether another client has cancelled the goal, and no Cancel node of this tree.
    pub fn is_canceled_by_another(&self) -> bool {
        self.is_canceling && !self.is_canceled_by_tree && self.open_cancels.is_empty()
    }

    /// The error message of a leaf whose goal is cancelled, and not by the leaf.
    pub(super) fn words_for_cancel(&self) -> &'static str {
        if !self.is_canceled_by_another() {
            "a Cancel node cancelled the goal"
        } else if self.is_cancel_unanswered {
            "another client or a Cancel node, whose request was not answered, cancelled the goal"
        } else {
            "another client cancelled the goal"
        }
    }

    /// Whether the outcome belongs to an earlier goal: that goal ended before an update of it was sent.
    pub fn is_of_earlier_goal(&self) -> bool {
        self.outcome.is_some() && self.applied < self.asked
    }
}

/// The newest message of a topic.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The message.
    pub payload: Option<Payload>,
    /// Number of messages. A leaf that waits for a fresh message remembers it.
    pub count: u64,
    /// Number of messages on all topics at the last message of this topic: tells which of two topics received the later
    /// one.
    pub order: u64,
    /// Time of reception of the last message, on the clock that a simulation does not stop.
    pub received: Time,
}

/// Receives every message on arrival.
type Listener = Box<dyn FnMut(TopicId, &Payload, Time) + Send>;

/// The resource that Nav2's nodes act through. A halt removes the ticket of the leaf here at once, so later messages
/// cannot reach the leaf or its next activation (guarantee G4). The GoalTracker follows the goal to its end.
pub struct World {
    link: Box<dyn Link>,
    /// Node parameters.
    pub settings: Settings,
    now: Time,
    next_ticket: u64,
    /// The first ticket of the current session.
    since: Ticket,
    /// Time of acceptance of the current navigation; see [`World::current_sample`].
    accepted: Time,
    /// Start time of the run, from which commands to the run are valid; see [`World::run_sample`].
    run_accepted: Time,
    waiting: FxHashMap<Ticket, Progress>,
    topics: FxHashMap<TopicId, Sample>,
    /// Cancels, which are sent before all other commands (guarantee G2). Unused with the old order.
    halts: Vec<Command<Payload>>,
    /// The newest halted requests whose cancel by another client would end the navigation. What arrives for them was
    /// sent before the halt.
    halted: VecDeque<(Ticket, Progress)>,
    requests: Vec<Command<Payload>>,
    events: Vec<Event>,
    /// Number of messages on all topics.
    messages: u64,
    listeners: Vec<Listener>,
    odometry: Option<(TopicId, OdometrySmoother)>,
    /// The tick that received the newest odometry.
    odometry_arrived: Time,
    /// The leaf whose goal another client cancelled; see [`World::take_canceled`].
    canceled: Option<LeafFailure>,
    /// The events of the tick are received already.
    has_received: bool,
    faults: Vec<Fault>,
    notes: Notes,
    /// The last failures of leaves, for the result of the navigation.
    pub failures: Failures,
    /// Servers opened since the last [`World::take_opened`].
    opened: Vec<ServerId>,
}

impl World {
    /// Creates a world with a link.
    pub fn new(link: Box<dyn Link>, settings: Settings) -> Self {
        Self {
            link,
            settings,
            now: Time::ZERO,
            next_ticket: 1,
            since: Ticket(1),
            accepted: Time::ZERO,
            run_accepted: Time::ZERO,
            waiting: FxHashMap::default(),
            topics: FxHashMap::default(),
            halts: Vec::new(),
            halted: VecDeque::new(),
            requests: Vec::new(),
            events: Vec::new(),
            messages: 0,
            listeners: Vec::new(),
            odometry: None,
            odometry_arrived: Time::ZERO,
            canceled: None,
            has_received: false,
            faults: Vec::new(),
            notes: Notes::default(),
            failures: Failures::default(),
            opened: Vec::new(),
        }
    }

    /// Opens a client.
    ///
    /// # Errors
    /// [`LinkError`].
    pub fn open(
        &mut self,
        kind: EndpointKind,
        name: &str,
        type_name: &str,
        form: Form,
    ) -> Result<ServerId, LinkError> {
        let server = self.link.open(kind, name, type_name, form)?;
        self.opened.push(server);
        Ok(server)
    }

    /// Subscribes to the feedback of an action server, for the leaves with goals on it.
    pub fn hear(&mut self, server: ServerId) {
        self.link.hear(server);
    }

    /// The servers opened since the last call: those of the tree that received this world or was ticked with it since
    /// then.
    pub fn take_opened(&mut self) -> Vec<ServerId> {
        std::mem::take(&mut self.opened)
    }

    /// Subscribes.
    ///
    /// # Errors
    /// [`LinkError`].
    pub fn subscribe(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        let id = self.link.subscribe(topic)?;
        self.topics.entry(id).or_default();
        Ok(id)
    }

    /// The newest message of a topic at the start of this tick.
    pub fn sample(&self, topic: TopicId) -> Option<&Sample> {
        self.topics.get(&topic)
    }

    /// Like [`World::sample`], if the message was received after the current navigation was accepted. For messages that
    /// are commands: a command for an earlier navigation does not apply to this one.
    pub fn current_sample(&self, topic: TopicId) -> Option<&Sample> {
        self.sample(topic)
            .filter(|sample| sample.received >= self.accepted)
    }

    /// Like [`World::sample`], if the message was received after the run began: after the first of the goals that
    /// replaced one another was accepted. For commands to the run, which stay in effect when another goal replaces the
    /// current one.
    pub fn run_sample(&self, topic: TopicId) -> Option<&Sample> {
        self.sample(topic)
            .filter(|sample| sample.received >= self.run_accepted)
    }

    /// Serves a trigger; see [`Link::serve_trigger`].
    ///
    /// # Errors
    /// [`LinkError`].
    pub fn serve_trigger(&mut self, name: &str) -> Result<TopicId, LinkError> {
        let id = self.link.serve_trigger(name)?;
        self.topics.entry(id).or_default();
        Ok(id)
    }

    /// Prepares to publish.
    ///
    /// # Errors
    /// [`LinkError`].
    pub fn advertise(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        self.link.advertise(topic)
    }

    /// The fault of an open topic; see [`Link::topic_fault`].
    pub fn topic_fault(&self, topic: TopicId) -> Option<LinkError> {
        self.link.topic_fault(topic)
    }

    /// A message with default values in all fields; see [`Link::template`].
    ///
    /// # Errors
    /// [`LinkError`].
    pub fn template(&self, part: Part, type_name: &str) -> Result<serde_json::Value, LinkError> {
        self.link.template(part, type_name)
    }

    /// Checks that JSON is a message of an interface; see [`Link::check`].
    ///
    /// # Errors
    /// [`LinkError`].
    pub fn check(&self, part: Part, type_name: &str, message: &serde_json::Value) -> Result<(), LinkError> {
        self.link.check(part, type_name, message)
    }

    /// Publishes.
    pub fn publish(&mut self, topic: TopicId, payload: Payload) {
        self.link.publish(topic, payload);
    }

    fn ticket(&mut self, server: ServerId) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.waiting.insert(ticket, Progress::new(server));
        ticket
    }

    /// Requests a goal, which is sent at the end of the tick.
    pub fn start_goal(
        &mut self,
        server: ServerId,
        leaf: &Arc<str>,
        payload: Payload,
        options: GoalOptions,
    ) -> Ticket {
        let ticket = self.ticket(server);
        let leaf = Arc::clone(leaf);
        self.requests.push(Command::Start {
            ticket,
            server,
            leaf,
            payload,
            options,
        });
        ticket
    }

    /// Ends the navigation when another client cancels this goal: see [`World::take_canceled`]. `id` is the registered ID
    /// of the leaf's node type.
    pub fn end_navigation_on_cancel(&mut self, ticket: Ticket, leaf: &Arc<str>, id: &Arc<str>) {
        if let Some(progress) = self.waiting.get_mut(&ticket) {
            progress.ends_navigation = Some((Arc::clone(leaf), Arc::clone(id)));
        }
    }

    /// Replaces an active goal by a newer one on the same server. Within a tick, the last call counts.
    pub fn update_goal(&mut self, ticket: Ticket, payload: Payload) {
        if let Some(progress) = self.waiting.get_mut(&ticket) {
            progress.asked += 1;
        }
        self.requests.push(Command::Update { ticket, payload });
    }

    /// Requests a service call, which is sent at the end of the tick.
    pub fn call(
        &mut self,
        server: ServerId,
        leaf: &Arc<str>,
        payload: Payload,
        options: GoalOptions,
    ) -> Ticket {
        let ticket = self.ticket(server);
        let leaf = Arc::clone(leaf);
        self.requests.push(Command::Call {
            ticket,
            server,
            leaf,
            payload,
            options,
        });
        ticket
    }

    /// Requests the cancellation of all clients' goals on a server, as Nav2's `Cancel*` nodes do.
    pub fn cancel_server(
        &mut self,
        server: ServerId,
        leaf: &Arc<str>,
        selection: Selection,
        options: GoalOptions,
    ) -> Ticket {
        let ticket = self.ticket(server);
        // A goal of this tick is not cancelled: the request is for goals that were accepted before. Whether an earlier
        // one is accepted is known to its server alone.
        for (goal, progress) in &mut self.waiting {
            if progress.server == server && !self.requests.iter().any(|command| starts(command, *goal)) {
                progress.open_cancels.push(ticket);
            }
        }
        if let Some(progress) = self.waiting.get_mut(&ticket) {
            progress.is_cancel = true;
        }
        let leaf = Arc::clone(leaf);
        self.requests.push(Command::CancelServer {
            ticket,
            server,
            leaf,
            selection,
            options,
        });
        ticket
    }

    /// The progress of a request at the start of this tick.
    pub fn progress(&mut self, ticket: Ticket) -> Option<&mut Progress> {
        self.waiting.get_mut(&ticket)
    }

    /// Takes the outcome of an ended request and removes the request.
    pub fn finish(&mut self, ticket: Ticket) -> Option<Outcome<Payload>> {
        self.waiting.get(&ticket)?.outcome.as_ref()?;
        self.waiting.remove(&ticket)?.outcome
    }

    /// Stops a request. Its cancel is sent first at the end of the tick, and no later message about it is delivered
    /// (G3, G4).
    pub fn halt(&mut self, ticket: Ticket, reason: HaltReason) {
        let Some(mut progress) = self.waiting.remove(&ticket) else {
            return;
        };
        // A request of the current tick has not left yet and is dropped.
        let before = self.requests.len();
        self.requests.retain(|command| !starts(command, ticket));
        if self.requests.len() != before {
            self.settle_cancel(ticket, &CancelAnswer::Of(Vec::new()));
        } else if progress.is_cancel && progress.outcome.is_none() {
            // The request cannot be withdrawn, and may still cancel goals.
            progress.is_detached = true;
            self.waiting.insert(ticket, progress);
        } else {
            self.requests
                .retain(|command| !matches!(command, Command::Update { ticket: of, .. } if *of == ticket));
            if progress.ends_navigation.is_some() && progress.outcome.is_none() {
                self.halted.truncate(MOST_HALTED - 1);
                self.halted.push_front((ticket, progress));
            }
            let halt = Command::Halt { ticket, reason };
            match self.settings.halt_order {
                HaltOrder::BeforeStarts => self.halts.push(halt),
                HaltOrder::AsTicked => self.requests.push(halt),
            }
        }
    }

    /// Stops all requests of all leaves, for the owner of a tree that can no longer be halted leaf by leaf.
    pub fn halt_all(&mut self, reason: HaltReason) {
        let mut tickets: Vec<Ticket> = self
            .waiting
            .iter()
            .filter(|(_, progress)| progress.outcome.is_none())
            .map(|(ticket, _)| *ticket)
            .collect();
        tickets.sort_unstable();
        for ticket in tickets {
            self.halt(ticket, reason);
        }
        self.waiting.clear();
    }

    /// Starts a new session for all following requests. The end of a session does not wait for goals of an earlier
    /// session that did not stop in time. `run_accepted` is the start of its run, on the clock that a simulation does
    /// not stop.
    pub fn begin_session(&mut self, run_accepted: Time) {
        self.run_accepted = run_accepted;
        self.since = Ticket(self.next_ticket);
        self.notes.forget();
        self.failures.forget();
        self.canceled = None;
        self.halted.clear();
    }

    /// Sets the time of acceptance of the current navigation, on the clock that a simulation does not stop.
    pub fn begin_navigation(&mut self, accepted: Time) {
        self.accepted = accepted;
    }

    /// Whether all requests of the session have ended; see [`Link::is_settled`].
    pub fn is_settled(&self) -> bool {
        self.link.is_settled(self.since)
    }

    /// The requests that have not stopped; see [`Link::unsettled`].
    pub fn unsettled(&self) -> Vec<String> {
        self.link.unsettled(self.since)
    }

    /// The newest transform from `source` to `target`, or the one at a stamp. The newest one is refused if it is older
    /// than [`Settings::transform_age_limit`].
    ///
    /// # Errors
    /// [`TransformError`]. The call does not wait.
    pub fn transform(
        &self,
        target: &str,
        source: &str,
        at: Option<Stamp>,
    ) -> Result<TransformStamped, TransformError> {
        let transform = self.link.transform(target, source, at)?;
        // A stamp of zero: the chain consists of static transforms, which have no age.
        let stamp = transform.header.stamp;
        if at.is_none()
            && !stamp.is_zero()
            && let Some(limit) = self.settings.transform_age_limit
        {
            let age = self.stamp().since(stamp);
            if age > limit {
                return Err(TransformError::TooOld {
                    from: source.to_owned(),
                    to: target.to_owned(),
                    age_seconds: age.as_secs_f64(),
                });
            }
        }
        Ok(transform)
    }

    /// The current pose of the robot's base frame in `frame`.
    ///
    /// # Errors
    /// As [`World::transform`].
    pub fn robot_pose(&self, frame: &str, base: &str) -> Result<PoseStamped, TransformError> {
        let transform = self.transform(frame, base, None)?;
        let pose = transform.transform.to_pose();
        Ok(PoseStamped {
            header: transform.header,
            pose,
        })
    }

    /// Transforms a pose to another frame: at the stamp of the pose, or with the newest transform if the pose has no
    /// stamp (E12).
    ///
    /// # Errors
    /// As [`World::transform`].
    pub fn transform_pose(&self, pose: &PoseStamped, frame: &FrameId) -> Result<PoseStamped, TransformError> {
        if pose.header.frame_id == *frame {
            return Ok(pose.clone());
        }
        let stamp = pose.header.stamp;
        let at = (!stamp.is_zero()).then_some(stamp);
        let transform = self.transform(frame, &pose.header.frame_id, at)?;
        Ok(PoseStamped {
            header: transform.header,
            pose: transform.transform.apply(&pose.pose),
        })
    }

    /// Subscribes to odometry, once for all leaves.
    ///
    /// # Errors
    /// [`LinkError`].
    pub fn open_odometry(&mut self) -> Result<(), LinkError> {
        if self.odometry.is_some() {
            return Ok(());
        }
        let topic = self.subscribe(&TopicSpec {
            name: self.settings.odom_topic.as_str().into(),
            type_name: Odometry::ROS_TYPE.into(),
            depth: 10,
            reliable: false,
            transient_local: false,
            form: Form::Plain,
        })?;
        self.odometry = Some((topic, OdometrySmoother::new(self.settings.filter_duration)));
        Ok(())
    }

    /// The odometry of the last moments. `None` without a call of [`World::open_odometry`].
    pub fn odometry(&self) -> Option<&OdometrySmoother> {
        self.odometry.as_ref().map(|(_, smoother)| smoother)
    }

    /// The newest odometry, if it is younger than [`Settings::transform_age_limit`] by its stamp and by its arrival. The
    /// arrival counts because the clock of the publisher may be ahead, and because a stamp may be zero.
    pub fn current_odometry(&self) -> Option<&OdometrySample> {
        let sample = self.odometry()?.newest()?;
        let by_arrival = self.now.since(self.odometry_arrived);
        let by_stamp = if sample.stamp.is_zero() {
            Duration::ZERO
        } else {
            self.stamp().since(sample.stamp)
        };
        let limit = self.settings.transform_age_limit.unwrap_or(Duration::MAX);
        (by_arrival.max(by_stamp) < limit).then_some(sample)
    }

    /// Records that a leaf's configuration is not possible. The loader of the tree reads the faults after
    /// [`Tree::attach`](crate::bt::Tree::attach).
    pub fn report_fault(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Takes the recorded faults.
    pub fn take_faults(&mut self) -> Vec<Fault> {
        std::mem::take(&mut self.faults)
    }

    /// Records a message for the log, at most once per second even if a leaf repeats it.
    pub fn note(&mut self, leaf: &Arc<str>, text: impl Into<String>) {
        self.notes.add(leaf, text.into(), self.now);
    }

    /// Takes the messages recorded since the last call.
    pub fn take_notes(&mut self) -> Vec<Note> {
        self.notes.take()
    }

    /// The node's ROS time at this tick.
    pub fn stamp(&self) -> Stamp {
        self.link.stamp(self.now)
    }

    /// The time of this tick.
    pub fn now(&self) -> Time {
        self.now
    }

    /// A parameter of the node.
    pub fn parameter(&self, name: &str) -> Option<String> {
        self.link.parameter(name)
    }

    /// Receives the events of the next tick before that tick begins. Use it to check [`World::take_canceled`] first.
    pub fn receive(&mut self, now: Time) {
        self.take_events(now);
        self.has_received = true;
    }

    /// Takes the leaf whose goal another client cancelled, as its failure. Its navigation must end: a recovery or the
    /// next leaf must not drive a robot again that another client has stopped (guarantee G3). Goals that a Cancel node
    /// of the tree cancels do not count, and none counts with [`Settings::canceled_is_success`].
    pub fn take_canceled(&mut self) -> Option<LeafFailure> {
        self.canceled.take()
    }

    fn take_events(&mut self, now: Time) {
        self.now = now;
        self.link.receive(&mut self.events);
        let mut events = std::mem::take(&mut self.events);
        for event in events.drain(..) {
            match event {
                Event::Message {
                    topic,
                    payload,
                    received,
                } => self.take_message(topic, payload, received),
                Event::Notice(notice) => self.take_notice(notice),
            }
        }
        self.events = events;
    }

    fn take_message(&mut self, topic: TopicId, payload: Payload, received: Time) {
        if let Some((odometry, smoother)) = &mut self.odometry
            && *odometry == topic
            && let Some(message) = payload.get::<Odometry>()
        {
            smoother.add(message);
            self.odometry_arrived = self.now;
        }
        for listener in &mut self.listeners {
            listener(topic, &payload, self.now);
        }
        let sample = self.topics.entry(topic).or_default();
        sample.payload = Some(payload);
        sample.count += 1;
        self.messages += 1;
        sample.order = self.messages;
        sample.received = received;
    }

    fn take_notice(&mut self, notice: Notice<Payload>) {
        let ticket = notice.ticket();
        let Some(progress) = self.waiting.get_mut(&ticket) else {
            self.take_notice_of_halted(ticket, &notice);
            return;
        };
        match notice {
            Notice::Accepted { .. } => progress.accepted = true,
            Notice::Feedback { payload, .. } => progress.feedback = Some(payload),
            Notice::Canceling { .. } => progress.is_canceling = true,
            Notice::Finished { updates, outcome, .. } => {
                progress.is_canceling |= outcome.is_cancel();
                let answer = match &outcome {
                    Outcome::CancelAnswered(goals) => Some(CancelAnswer::Of(goals.clone())),
                    Outcome::ResponseTimeout | Outcome::ServerGone => Some(CancelAnswer::Missing),
                    _ => None,
                };
                progress.applied = updates;
                progress.outcome = Some(outcome);
                if progress.is_detached {
                    self.waiting.remove(&ticket);
                }
                self.settle_cancel(ticket, &answer.unwrap_or(CancelAnswer::Of(Vec::new())));
            }
        }
        self.check_canceled(ticket);
    }

    /// A notice for a request that was halted before it arrived. The leaf gets nothing (guarantee G4), but a cancel by
    /// another client still ends the navigation.
    fn take_notice_of_halted(&mut self, ticket: Ticket, notice: &Notice<Payload>) {
        if let Some((_, progress)) = self.halted.iter_mut().find(|(halted, _)| *halted == ticket) {
            progress.is_canceling |= match notice {
                Notice::Canceling { .. } => true,
                Notice::Finished { outcome, .. } => outcome.is_cancel(),
                Notice::Accepted { .. } | Notice::Feedback { .. } => false,
            };
            self.check_canceled(ticket);
        }
    }

    /// The request of a Cancel node has ended: whether it cancels the goals of this tree on its server.
    fn settle_cancel(&mut self, request: Ticket, answer: &CancelAnswer) {
        let mut tickets = Vec::new();
        let halted = self
            .halted
            .iter_mut()
            .map(|(ticket, progress)| (&*ticket, progress));
        for (ticket, progress) in self.waiting.iter_mut().chain(halted) {
            let Some(index) = progress.open_cancels.iter().position(|open| *open == request) else {
                continue;
            };
            progress.open_cancels.swap_remove(index);
            progress.is_canceled_by_tree |= match answer {
                CancelAnswer::Of(goals) => goals.iter().any(|goal| match goal {
                    Some(of) => of == ticket,
                    None => progress.outcome.is_some(),
                }),
                CancelAnswer::Missing => false,
            };
            progress.is_cancel_unanswered |= matches!(answer, CancelAnswer::Missing);
            tickets.push(*ticket);
        }
        for ticket in tickets {
            self.check_canceled(ticket);
        }
    }

    fn check_canceled(&mut self, ticket: Ticket) {
        let halted = || self.halted.iter().find(|(of, _)| *of == ticket);
        let Some(progress) = self
            .waiting
            .get(&ticket)
            .or_else(|| halted().map(|(_, progress)| progress))
        else {
            return;
        };
        if progress.is_canceled_by_another()
            && !self.settings.canceled_is_success
            && let Some((leaf, id)) = &progress.ends_navigation
        {
            self.canceled = Some(LeafFailure {
                leaf: Arc::clone(leaf),
                id: Arc::clone(id),
                code: 0,
                code_name: None,
                words: progress.words_for_cancel().to_owned(),
            });
        }
    }

    /// Adds a function that receives every message on arrival, for histories such as the odometry smoother.
    pub fn listen(&mut self, listener: impl FnMut(TopicId, &Payload, Time) + Send + 'static) {
        self.listeners.push(Box::new(listener));
    }
}

/// The maximum number of halted requests whose late notices count.
const MOST_HALTED: usize = 64;

/// The end of a request of a Cancel node.
enum CancelAnswer {
    /// The tickets of the goals that it cancels; `None` for a goal that is of another client or has ended.
    Of(Vec<Option<Ticket>>),
    /// There was no answer: it may cancel goals.
    Missing,
}

fn starts(command: &Command<Payload>, wanted: Ticket) -> bool {
    match command {
        Command::Start { ticket, .. }
        | Command::Call { ticket, .. }
        | Command::CancelServer { ticket, .. } => *ticket == wanted,
        Command::Update { .. }
        | Command::Halt { .. }
        | Command::Adopt { .. }
        | Command::AllowAdoption { .. }
        | Command::ShutDown { .. } => false,
    }
}

impl Resource for World {
    fn begin_tick(&mut self, now: Time) {
        if !std::mem::take(&mut self.has_received) {
            self.take_events(now);
        }
    }

    fn end_tick(&mut self, _now: Time) {
        if self.halts.is_empty() && self.requests.is_empty() {
            return;
        }
        self.halts.append(&mut self.requests);
        self.link.submit(&mut self.halts);
    }

    fn hand_over(&mut self) {
        self.link.hand_over();
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::bt::builder::{forest, leaf, reactive_fallback, sequence, tree};
    use crate::bt::{NodeStatus, Tree, compile};
    use crate::goal::GoalId;
    use crate::job::{self, BoxFuture};
    use crate::msg::action::{BackUp, Spin};
    use crate::nav::Settings;
    use crate::nav::testing::{Bench, Plan};

    /// The messages to the servers when `Spin` preempts `BackUp` under a reactive parent.
    fn preempt(halt_order: HaltOrder) -> Vec<String> {
        let settings = Settings {
            halt_order,
            ..Settings::default()
        };
        let tree = r#"<ReactiveFallback>
                        <Sequence><ScriptCondition code="go"/><Spin spin_dist="1.0"/></Sequence>
                        <BackUp backup_dist="1.0" backup_speed="0.1"/>
                      </ReactiveFallback>"#;
        let mut bench = Bench::with(tree, &crate::nav::registry(), settings);
        bench.action::<Spin>("spin", |_| Plan::endless());
        bench.action::<BackUp>("backup", |_| Plan::endless());
        bench.set("go", false);
        bench.letters(3);
        bench.set("go", true);
        bench.letters(3);
        assert_eq!((bench.active("backup"), bench.active("spin")), (0, 1));
        bench.order()
    }

    #[test]
    fn g2_the_preempted_goal_is_cancelled_before_the_new_one_is_sent() {
        let order = preempt(HaltOrder::BeforeStarts);
        assert_eq!(order, ["goal to backup", "cancel to backup", "goal to spin"]);
    }

    /// The messages from the tick thread, in order, and the notices for its next tick.
    #[derive(Clone, Default)]
    struct Order(Arc<Mutex<Vec<&'static str>>>, Arc<Mutex<Vec<Event>>>);

    impl Order {
        fn note(&self, what: &'static str) {
            self.0.lock().unwrap().push(what);
        }

        fn notify(&self, notice: Notice<Payload>) {
            self.1.lock().unwrap().push(Event::Notice(notice));
        }
    }

    impl Link for Order {
        fn open(&mut self, _: EndpointKind, _: &str, _: &str, _: Form) -> Result<ServerId, LinkError> {
            Ok(ServerId(0))
        }

        fn hear(&mut self, _: ServerId) {}

        fn subscribe(&mut self, _: &TopicSpec) -> Result<TopicId, LinkError> {
            Ok(TopicId(0))
        }

        fn advertise(&mut self, _: &TopicSpec) -> Result<TopicId, LinkError> {
            Ok(TopicId(0))
        }

        fn publish(&mut self, _: TopicId, _: Payload) {}

        fn submit(&mut self, commands: &mut Vec<Command<Payload>>) {
            for command in commands.drain(..) {
                self.note(match command {
                    Command::Start { .. } => "goal",
                    Command::Halt { .. } => "cancel",
                    _ => "other",
                });
            }
        }

        fn hand_over(&mut self) {
            self.note("hand-over");
        }

        fn is_settled(&self, _: Ticket) -> bool {
            true
        }

        fn unsettled(&self, _: Ticket) -> Vec<String> {
            Vec::new()
        }

        fn receive(&mut self, into: &mut Vec<Event>) {
            into.append(&mut self.1.lock().unwrap());
        }

        fn transform(&self, _: &str, _: &str, _: Option<Stamp>) -> Result<TransformStamped, TransformError> {
            Err(TransformError::UnknownFrame("map".to_owned()))
        }

        fn stamp(&self, _: Time) -> Stamp {
            Stamp::ZERO
        }

        fn parameter(&self, _: &str) -> Option<String> {
            None
        }
    }

    #[test]
    fn g2_the_cancel_of_a_preempted_goal_is_sent_before_a_job_is_started() {
        let order = Order::default();
        let mut registry = crate::nav::registry();
        let executor = {
            let order = order.clone();
            move |future: BoxFuture| {
                order.note("job");
                drop(future);
            }
        };
        job::register_function(&mut registry, "Urgent", executor, |_| std::future::pending()).unwrap();
        let root = reactive_fallback([
            sequence([leaf("ScriptCondition").port("code", "go"), leaf("Urgent")]),
            leaf("Spin").port("spin_dist", "1.0"),
        ]);
        let compiled = compile(&forest([tree("Main", root)]), "Main", &registry).unwrap();
        let mut run = Tree::new(compiled.def);
        run.insert_resource(World::new(Box::new(order.clone()), Settings::default()));
        run.attach(Time::ZERO).unwrap();
        run.set("go", false).unwrap();
        assert_eq!(run.tick(Time::ZERO), Ok(NodeStatus::Running));
        run.set("go", true).unwrap();
        assert_eq!(run.tick(Time::ZERO), Ok(NodeStatus::Running));
        let order = order.0.lock().unwrap().clone();
        assert_eq!(order, ["goal", "cancel", "hand-over", "job"]);
    }

    #[test]
    fn the_old_order_sends_the_new_goal_first() {
        let order = preempt(HaltOrder::AsTicked);
        assert_eq!(order, ["goal to backup", "goal to spin", "cancel to backup"]);
    }

    /// A goal that its server shows canceling before its acceptance has arrived, and the request of a Cancel node that
    /// may be halted before its answer. Returns the words of the failure that ends the navigation after the request has
    /// ended with an outcome.
    fn canceled_before_its_acceptance(
        is_halted: bool,
        outcome_for: impl Fn(Ticket) -> Outcome<Payload>,
    ) -> Option<String> {
        let link = Order::default();
        let mut world = World::new(Box::new(link.clone()), Settings::default());
        let (leaf, server) = (Arc::from("leaf"), ServerId(0));
        let goal = world.start_goal(server, &leaf, Payload::new(()), GoalOptions::default());
        world.end_navigation_on_cancel(goal, &leaf, &leaf);
        world.end_tick(Time::ZERO);
        let request = world.cancel_server(server, &leaf, Selection::All, GoalOptions::default());
        world.end_tick(Time::ZERO);
        if is_halted {
            world.halt(request, HaltReason::Preempted);
        }
        link.notify(Notice::Accepted {
            ticket: goal,
            goal: GoalId::ZERO,
        });
        link.notify(Notice::Canceling { ticket: goal });
        world.receive(Time::ZERO);
        assert!(
            world.take_canceled().is_none(),
            "the request may have cancelled it"
        );
        link.notify(Notice::Finished {
            ticket: request,
            updates: 0,
            outcome: outcome_for(goal),
        });
        world.receive(Time::ZERO);
        world.take_canceled().map(|failure| failure.words)
    }

    #[test]
    fn g3_the_answer_to_a_cancel_node_tells_whether_it_or_another_client_cancelled_a_goal() {
        let another = Some("another client cancelled the goal".to_owned());
        for is_halted in [false, true] {
            let end =
                |outcome: fn(Ticket) -> Outcome<Payload>| canceled_before_its_acceptance(is_halted, outcome);
            let listed = |goal| Outcome::CancelAnswered(vec![None, Some(goal)]);
            assert_eq!(end(listed), None);
            assert_eq!(end(|_| Outcome::CancelAnswered(Vec::new())), another);
            let of_another_client = |_| Outcome::CancelAnswered(vec![None]);
            assert_eq!(end(of_another_client), another);
            assert_eq!(end(|_| Outcome::SendFailed), another);
            let unknown = end(|_| Outcome::ResponseTimeout).unwrap_or_default();
            assert!(unknown.contains("or a Cancel node"), "{unknown}");
        }
    }
}
