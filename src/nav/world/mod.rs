//! The world that leaves see during a tick: a snapshot from its start, and an outbox that is sent at its end.

mod checkpoint;
mod goal_cancels;
mod outbox;
mod requests;
mod robot;
mod topics;

pub use checkpoint::WorldCheckpoint;
pub use requests::Progress;

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::failure::{Failures, LeafFailure};
use super::fault::Fault;
use super::link::{EndpointKind, Event, Form, Link, LinkError, Opened, Part, Payload, TopicId, TopicSpec};
use super::note::{Note, Notes};
use super::odometry::OdometrySmoother;
use super::settings::Settings;
use crate::bt::{Resource, Time};
use crate::goal::{Command, ServerId, Ticket};
use crate::msg::{Odometry, Stamp};
use outbox::Outbox;
use topics::Topics;

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
    topics: Topics,
    /// What the trees have open.
    in_use: Opened,
    /// Something was released that is to be closed after the messages of the tick have left.
    has_released: bool,
    /// The services that trees of the current run served and no tree uses. A client may still call them.
    held: Vec<TopicId>,
    /// The open services.
    triggers: Vec<TopicId>,
    outbox: Outbox,
    /// The newest requests that were halted or have ended, and whose cancel by another client would end the navigation. It
    /// may become known after the halt or the end.
    without_leaf: VecDeque<(Ticket, Progress)>,
    /// The requests whose notice of a cancel is not confirmed.
    unread_cancels: Vec<Ticket>,
    events: Vec<Event>,
    /// Number of messages on all topics.
    messages: u64,
    listeners: Vec<Listener>,
    odometry: Option<(TopicId, OdometrySmoother)>,
    /// The tick that received the newest odometry.
    odometry_arrived: Time,
    /// The servers that have not answered a Cancel node, and until when its request may cancel goals.
    unanswered: Vec<(ServerId, Time)>,
    /// The leaf whose goal another client cancelled; see [`World::take_canceled`].
    canceled: Option<LeafFailure>,
    /// The events of the tick are received already.
    has_received: bool,
    faults: Vec<Fault>,
    notes: Notes,
    /// The last failures of leaves, for the result of the navigation.
    pub failures: Failures,
    /// What was opened since the last [`World::take_opened`].
    opened: Opened,
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
            topics: Topics::default(),
            in_use: Opened::default(),
            has_released: false,
            held: Vec::new(),
            triggers: Vec::new(),
            outbox: Outbox::default(),
            without_leaf: VecDeque::new(),
            unread_cancels: Vec::new(),
            events: Vec::new(),
            messages: 0,
            listeners: Vec::new(),
            odometry: None,
            odometry_arrived: Time::ZERO,
            unanswered: Vec::new(),
            canceled: None,
            has_received: false,
            faults: Vec::new(),
            notes: Notes::default(),
            failures: Failures::default(),
            opened: Opened::default(),
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
        self.opened.add_server(server, 1);
        self.in_use.add_server(server, 1);
        Ok(server)
    }

    /// A leaf that named its server at run time uses another one from now on. The client is closed if no other leaf uses
    /// it: a mission may name new servers for months.
    pub fn release_server(&mut self, server: ServerId) {
        self.opened.add_server(server, -1);
        self.in_use.add_server(server, -1);
        self.has_released |= !self.in_use.has_server(server);
    }

    /// Like [`World::release_server`], for a topic.
    pub fn release_topic(&mut self, topic: TopicId) {
        self.opened.add_topic(topic, -1);
        self.in_use.add_topic(topic, -1);
        self.has_released |= !self.in_use.has_topic(topic);
    }

    /// Subscribes to the feedback of an action server, for the leaves with goals on it.
    pub fn hear(&mut self, server: ServerId) {
        self.link.hear(server);
    }

    /// What was opened and released since the last call: by the tree that received this world or was ticked with it since
    /// then.
    pub fn take_opened(&mut self) -> Opened {
        std::mem::take(&mut self.opened)
    }

    /// Closes what was opened and is not in this list. The world keeps its odometry, which all trees share, and until
    /// the next run the services of the current one: a request on them applies to the whole run.
    pub fn close_unused(&mut self, mut in_use: Opened) {
        if let Some((topic, _)) = &self.odometry {
            in_use.add_topic(*topic, 1);
        }
        self.held.clone_from(&self.triggers);
        self.held.retain(|topic| !in_use.has_topic(*topic));
        self.in_use = in_use;
        self.close();
    }

    /// Closes what is neither in use nor held.
    fn close(&mut self) {
        let mut in_use = self.in_use.clone();
        for topic in &self.held {
            in_use.add_topic(*topic, 1);
        }
        self.triggers.retain(|topic| in_use.has_topic(*topic));
        let forgotten = self.topics.close_unused(&in_use);
        self.link.close_unused(&in_use);
        if !forgotten.is_empty() {
            self.link.forget(&forgotten);
        }
    }

    fn has_opened(&mut self, topic: TopicId) -> TopicId {
        self.opened.add_topic(topic, 1);
        self.in_use.add_topic(topic, 1);
        topic
    }

    /// Subscribes.
    ///
    /// # Errors
    /// [`LinkError`].
    pub fn subscribe(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        let id = self.link.subscribe(topic)?;
        self.topics.open(id, topic);
        Ok(self.has_opened(id))
    }

    /// The newest message of a topic at the start of this tick.
    pub fn sample(&self, topic: TopicId) -> Option<&Sample> {
        self.topics.sample(topic)
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
        self.topics.open(id, &TopicSpec::of_trigger(name));
        if !self.triggers.contains(&id) {
            self.triggers.push(id);
        }
        Ok(self.has_opened(id))
    }

    /// Prepares to publish.
    ///
    /// # Errors
    /// [`LinkError`].
    pub fn advertise(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        let id = self.link.advertise(topic)?;
        Ok(self.has_opened(id))
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

    /// Publishes a message of a leaf at the end of the tick: a message may move the robot, and a preempted goal is
    /// cancelled first (guarantee G2). Messages and requests leave in the order of their calls. What a leaf publishes in
    /// its halt may be a stop and leaves with the cancels.
    pub fn publish(&mut self, topic: TopicId, payload: Payload) {
        self.outbox.publish(topic, payload, self.settings.halt_order);
    }

    /// Publishes what the tree did; see [`Link::publish_always`].
    pub fn publish_log(&mut self, topic: TopicId, payload: Payload) {
        self.link.publish_always(topic, payload);
    }

    /// Starts a new session for all following requests. The end of a session does not wait for goals of an earlier
    /// session that did not stop in time. `run_accepted` is the start of its run, on the clock that a simulation does
    /// not stop.
    pub fn begin_session(&mut self, run_accepted: Time) {
        if self.run_accepted != run_accepted && !self.held.is_empty() {
            self.held.clear();
            self.close();
        }
        self.run_accepted = run_accepted;
        self.since = Ticket(self.next_ticket);
        self.notes.forget();
        self.failures.forget();
        self.canceled = None;
        self.without_leaf.clear();
        // The answers to halted Cancel nodes tell about goals of their own session. After a halt of all leaves, none comes.
        self.forget_detached();
        // Before the first tick, which may block.
        self.link.submit(&mut vec![Command::BeginSession]);
    }

    /// Sets the time of acceptance of the current navigation, on the clock that a simulation does not stop.
    pub fn begin_navigation(&mut self, accepted: Time) {
        self.accepted = accepted;
    }

    /// Whether all requests of the session have ended; see [`Link::is_settled`]. While it is not known who cancelled a goal, the
    /// session is not over: another client may have stopped the robot (guarantee G3).
    pub fn is_settled(&self) -> bool {
        let is_undecided = |(_, progress): &(_, Progress)| progress.cancels.are_undecided();
        self.link.is_settled(self.since) && !self.without_leaf.iter().any(is_undecided)
    }

    /// The requests that have not stopped; see [`Link::unsettled`].
    pub fn unsettled(&self) -> Vec<String> {
        self.link.unsettled(self.since)
    }

    /// Whether requests wait to be sent; see [`Link::has_unhandled`].
    pub fn has_unhandled(&self) -> bool {
        self.link.has_unhandled()
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
        let Some(sample) = self.topics.sample_mut(topic) else {
            return;
        };
        sample.payload = Some(payload);
        sample.count += 1;
        self.messages += 1;
        sample.order = self.messages;
        sample.received = received;
    }

    /// Adds a function that receives every message on arrival, for histories such as the odometry smoother.
    pub fn listen(&mut self, listener: impl FnMut(TopicId, &Payload, Time) + Send + 'static) {
        self.listeners.push(Box::new(listener));
    }
}

impl Resource for World {
    fn begin_tick(&mut self, now: Time) {
        if !std::mem::take(&mut self.has_received) {
            self.take_events(now);
        }
    }

    fn end_tick(&mut self, _now: Time) {
        self.confirm_cancels();
        self.outbox.end_tick(&mut *self.link);
        if std::mem::take(&mut self.has_released) {
            self.link.hand_over();
            self.close();
        }
    }

    fn warn(&mut self, path: &Arc<str>, message: &str) {
        self.note(path, message);
    }

    fn release_halts(&mut self) {
        if self
            .outbox
            .release_halts(self.settings.halt_order, &mut *self.link)
        {
            self.link.hand_over();
        }
    }

    fn begin_halt(&mut self) {
        self.outbox.begin_halt();
    }

    fn end_halt(&mut self) {
        self.outbox.end_halt();
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
    use serde_json::json;

    use crate::bt::{NodeStatus, Text};
    use crate::nav::link::Part;
    use crate::nav::testing::Bench;

    #[test]
    fn what_a_leaf_named_at_run_time_is_closed_when_it_names_another() {
        let mut bench = Bench::new(
            r#"<ParallelAll max_failures="-1">
                 <RosPublish topic_name="{name}" message_type="std_msgs/msg/Bool"/>
                 <RosSubscribe topic_name="{input}" message_type="std_msgs/msg/Bool"/>
                 <RosSubscribe topic_name="number_0_in" message_type="std_msgs/msg/Bool" mode="latest"/>
                 <CancelSpin server_name="{name}"/>
                 <CancelSpin server_name="number_1"/>
               </ParallelAll>"#,
        );
        bench.close_topics_at_once();
        bench.interfaces([(Part::Message, "std_msgs/msg/Bool", json!({"data": false}))]);
        for number in 0..100 {
            bench.set("name", Text::from(format!("number_{number}")));
            bench.set("input", Text::from(format!("number_{number}_in")));
            assert_eq!(bench.tick(), NodeStatus::Running);
            bench.halt();
        }
        let is_used = |number: u32| {
            let name = format!("number_{number}");
            (
                bench.is_open(&name),
                bench.is_open(&format!("{name}_in")),
                bench.is_server_used(&name),
            )
        };
        assert_eq!(is_used(0), (false, true, false), "another leaf reads the topic");
        assert_eq!(is_used(1), (false, false, true), "another leaf uses the server");
        for former in 2..99 {
            assert_eq!(is_used(former), (false, false, false));
        }
        assert_eq!(is_used(99), (true, true, true));
    }
}
