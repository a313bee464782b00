//! Connects the tick thread to the middleware.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::goal_tracker::Input;
use super::inbox::Inbox;
use super::interfaces;
use super::shared_subscription::SharedSubscription;
use super::takeover::DISCOVERY_TIME;
use super::topic_types::TopicTypes;
use super::{DryRun, GoalTrackerHandle, ParameterStore, RosHandle, RosNode, TransformBuffer, serve_service};
use crate::bt::Time;
use crate::goal::{Command, LinkId, ServerId, Ticket};
use crate::msg::service::{Trigger, TriggerResponse};
use crate::msg::{Service, Stamp, TransformStamped};
use crate::nav::{
    EndpointKind, Event, Form, Link, LinkError, Part, Payload, TopicId, TopicSpec, TransformError,
};

/// All endpoints opened by name, shared by all links of a node. An entity exists until the end of the node, so each name is opened once per
/// process and reused by every tree and every swap.
#[derive(Clone)]
pub struct Endpoints {
    goal_tracker: GoalTrackerHandle,
    transforms: TransformBuffer,
    parameters: ParameterStore,
    inner: Arc<Mutex<Inner>>,
    types: TopicTypes,
    next_link: Arc<AtomicU16>,
}

#[derive(Default)]
struct Inner {
    /// By full name after remapping, and type: goals on one server wait for each other (G5), however a tree spells its
    /// name, whichever rule of the command line maps it there, and in whichever form.
    servers: HashMap<(EndpointKind, String, String), ServerId>,
    subscriptions: HashMap<TopicSpec, (TopicId, Arc<SharedSubscription>)>,
    publishers: HashMap<TopicSpec, TopicId>,
    /// Action servers with feedback that a leaf uses.
    heard: HashSet<ServerId>,
    next: u32,
    adopt: Option<Duration>,
}

impl std::fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Endpoints")
    }
}

impl Endpoints {
    /// Creates it without endpoints. `adopt`: for how long after the first contact with an action server this node
    /// looks for, and cancels, goals that an earlier run of this node left there.
    pub fn new(
        goal_tracker: &GoalTrackerHandle,
        transforms: &TransformBuffer,
        parameters: &ParameterStore,
        adopt: Option<Duration>,
    ) -> Self {
        Self {
            goal_tracker: goal_tracker.clone(),
            transforms: transforms.clone(),
            parameters: parameters.clone(),
            inner: Arc::new(Mutex::new(Inner {
                adopt,
                ..Inner::default()
            })),
            types: TopicTypes::default(),
            next_link: Arc::new(AtomicU16::new(1)),
        }
    }

    /// Creates a link for one world. `transform_tolerance`: the maximum age of the newest transform.
    pub fn link(&self, transform_tolerance: Duration) -> RosLink {
        let id = LinkId(self.next_link.fetch_add(1, Ordering::Relaxed));
        let inbox = Arc::new(Inbox::default());
        self.goal_tracker
            .inputs()
            .send(Input::Link(id, Arc::clone(&inbox)));
        RosLink {
            endpoints: self.clone(),
            id,
            inbox,
            transform_tolerance,
            topics: HashMap::new(),
        }
    }

    pub(super) fn goal_tracker(&self) -> &GoalTrackerHandle {
        &self.goal_tracker
    }

    /// Whether goals of an earlier run are cancelled.
    pub(super) fn adopts_goals(&self) -> bool {
        self.lock().adopt.is_some()
    }

    /// Opens an action server that no leaf uses.
    pub(super) fn open_action(&self, name: &str, type_name: &str) {
        self.open(EndpointKind::Action, name, type_name);
    }

    /// The node of all endpoints.
    pub(super) fn ros(&self) -> &RosHandle {
        self.goal_tracker.ros()
    }

    /// Whether a tree may open a topic, by the types known so far.
    ///
    /// # Errors
    /// [`LinkError::OtherType`].
    pub(super) fn try_topic(&self, topic: &TopicSpec) -> Result<(), LinkError> {
        self.types.try_on(self.goal_tracker.ros(), topic)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates the entity of a topic on the node's thread, and tries again later if that fails: all later trees share it.
    fn create<T, E: std::fmt::Display>(
        &self,
        topic: &TopicSpec,
        mut create: impl FnMut(&mut RosNode) -> Result<T, E> + Send + 'static,
    ) {
        let name = Arc::clone(&topic.name);
        self.ros().post(move |node| {
            node.create_or_retry(&name, move |node| {
                create(node).map(|_| ()).map_err(|error| error.to_string())
            });
        });
    }

    fn open(&self, kind: EndpointKind, name: &str, type_name: &str) -> ServerId {
        let mut inner = self.lock();
        let key = (
            kind,
            self.goal_tracker.ros().server(kind, name),
            type_name.to_owned(),
        );
        if let Some(server) = inner.servers.get(&key) {
            return *server;
        }
        inner.next += 1;
        let server = ServerId(inner.next);
        inner.servers.insert(key, server);
        let adopt = inner.adopt;
        drop(inner);

        let inputs = self.goal_tracker.inputs().clone();
        inputs.send(Input::Named(server, name.into()));
        if let (EndpointKind::Action, Some(window)) = (kind, adopt) {
            // The latched status may arrive right after the subscription.
            let adopt = Command::Adopt {
                server,
                window,
                delay: DISCOVERY_TIME,
            };
            self.goal_tracker.submit_at_once(Input::Commands(vec![adopt]));
        }
        let (name, type_name) = (name.to_owned(), type_name.to_owned());
        // Until it succeeds, the leaves find the server absent and fail after their timeout.
        self.goal_tracker.ros().post(move |node| {
            let server_name = name.clone();
            node.create_or_retry(&server_name, move |node| {
                let inputs = inputs.clone();
                let to = inputs.clone();
                let created = match kind {
                    EndpointKind::Action => interfaces::open_action(node, &name, &type_name, server, inputs)
                        .map(|client| to.send(Input::Action(server, client))),
                    EndpointKind::Service => {
                        interfaces::open_service(node, &name, &type_name, server, inputs)
                            .map(|client| to.send(Input::Service(server, client)))
                    }
                };
                created.map_err(|error| error.to_string())
            });
        });
        server
    }
}

/// The [`Link`] of one world over the middleware.
///
/// No method waits: tasks on the node's thread create entities, the thread of the GoalTracker sends goals and messages,
/// and incoming messages are put into an inbox, whose lock is held only to insert.
#[derive(Debug)]
pub struct RosLink {
    endpoints: Endpoints,
    id: LinkId,
    inbox: Arc<Inbox>,
    transform_tolerance: Duration,
    /// The topics that this link has opened.
    topics: HashMap<TopicId, TopicSpec>,
}

impl RosLink {
    /// Sets the maximum age of a transform.
    pub fn set_transform_tolerance(&mut self, tolerance: Duration) {
        self.transform_tolerance = tolerance;
    }

    /// The events of this link.
    pub fn events(&self) -> LinkEvents {
        LinkEvents(Arc::clone(&self.inbox))
    }

    /// The number of messages dropped because no tick took them.
    pub fn dropped_messages(&self) -> u64 {
        self.inbox.dropped()
    }

    /// Whether the ticket belongs to this link and is not older than `since`, a ticket of its world.
    fn owns(&self, ticket: Ticket, since: Ticket) -> bool {
        ticket.link() == self.id && ticket.in_world() >= since
    }
}

/// Reports what a tree may wait for: a goal was accepted or has ended, a service has answered, a topic has a message.
#[derive(Debug)]
pub struct LinkEvents(Arc<Inbox>);

impl LinkEvents {
    /// Sets the function that is called at each event. It must not wait. Only the first function counts.
    pub fn set_listener(&self, listener: impl Fn() + Send + Sync + 'static) {
        self.0.set_on_event(Box::new(listener));
    }
}

impl Drop for RosLink {
    /// Stops all running requests of its world.
    fn drop(&mut self) {
        self.endpoints.goal_tracker.submit(Input::Unlink(self.id));
        self.endpoints.goal_tracker.hand_over();
    }
}

impl Link for RosLink {
    fn open(
        &mut self,
        kind: EndpointKind,
        name: &str,
        type_name: &str,
        form: Form,
    ) -> Result<ServerId, LinkError> {
        DryRun::default().open(kind, name, type_name, form)?;
        Ok(self.endpoints.open(kind, name, type_name))
    }

    fn hear(&mut self, server: ServerId) {
        if self.endpoints.lock().heard.insert(server) {
            self.endpoints.goal_tracker.put(Input::Hear(server));
        }
    }

    fn subscribe(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        DryRun::default().subscribe(topic)?;
        self.endpoints
            .types
            .take(self.endpoints.goal_tracker.ros(), topic)?;
        let mut inner = self.endpoints.lock();
        if let Some((id, subscription)) = inner.subscriptions.get(topic) {
            subscription.join(*id, topic, &self.inbox);
            self.topics.insert(*id, topic.clone());
            return Ok(*id);
        }
        inner.next += 1;
        let id = TopicId(inner.next);
        let subscription = Arc::new(SharedSubscription::default());
        subscription.join(id, topic, &self.inbox);
        inner
            .subscriptions
            .insert(topic.clone(), (id, Arc::clone(&subscription)));
        drop(inner);
        self.topics.insert(id, topic.clone());
        let spec = topic.clone();
        let clock = self.endpoints.goal_tracker.clock().clone();
        self.endpoints.create(topic, move |node| {
            let (of, subscription, clock) = (spec.clone(), Arc::clone(&subscription), clock.clone());
            let receiver = Box::new(move |payload| subscription.deliver(id, &of, &payload, clock.steady()));
            interfaces::subscribe(node, &spec, receiver)
        });
        Ok(id)
    }

    fn advertise(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        DryRun::default().advertise(topic)?;
        self.endpoints
            .types
            .take(self.endpoints.goal_tracker.ros(), topic)?;
        let mut inner = self.endpoints.lock();
        if let Some(id) = inner.publishers.get(topic) {
            self.topics.insert(*id, topic.clone());
            return Ok(*id);
        }
        inner.next += 1;
        let id = TopicId(inner.next);
        inner.publishers.insert(topic.clone(), id);
        drop(inner);
        self.topics.insert(id, topic.clone());
        let inputs = self.endpoints.goal_tracker.inputs().clone();
        let spec = topic.clone();
        self.endpoints.create(topic, move |node| {
            interfaces::advertise(node, &spec).map(|publisher| inputs.send(Input::Publisher(id, publisher)))
        });
        Ok(id)
    }

    fn template(&self, part: Part, type_name: &str) -> Result<serde_json::Value, LinkError> {
        DryRun::default().template(part, type_name)
    }

    fn check(&self, part: Part, type_name: &str, message: &serde_json::Value) -> Result<(), LinkError> {
        DryRun::default().check(part, type_name, message)
    }

    fn topic_fault(&self, topic: TopicId) -> Option<LinkError> {
        let spec = self.topics.get(&topic)?;
        self.endpoints
            .types
            .clash(self.endpoints.goal_tracker.ros(), spec)
    }

    fn serve_trigger(&mut self, name: &str) -> Result<TopicId, LinkError> {
        DryRun::default().serve_trigger(name)?;
        let topic = TopicSpec {
            name: name.into(),
            type_name: Trigger::TYPE.into(),
            depth: 1,
            reliable: true,
            transient_local: false,
            form: Form::Plain,
        };
        let mut inner = self.endpoints.lock();
        if let Some((id, subscription)) = inner.subscriptions.get(&topic) {
            subscription.join(*id, &topic, &self.inbox);
            return Ok(*id);
        }
        inner.next += 1;
        let id = TopicId(inner.next);
        let subscription = Arc::new(SharedSubscription::default());
        subscription.join(id, &topic, &self.inbox);
        inner
            .subscriptions
            .insert(topic.clone(), (id, Arc::clone(&subscription)));
        drop(inner);
        let clock = self.endpoints.goal_tracker.clock().clone();
        let of = topic.clone();
        self.endpoints.create(&topic, move |node| {
            let (of, subscription, clock) = (of.clone(), Arc::clone(&subscription), clock.clone());
            serve_service::<Trigger>(node, &of.name.clone(), move |call| {
                subscription.deliver(id, &of, &Payload::new(()), clock.steady());
                call.respond(&TriggerResponse {
                    success: true,
                    message: String::new(),
                });
            })
        });
        Ok(id)
    }

    fn publish(&mut self, topic: TopicId, payload: Payload) {
        let depth = self.topics.get(&topic).map_or(1, |spec| spec.depth);
        self.endpoints.goal_tracker.put(Input::Publish {
            topic,
            payload,
            depth,
        });
    }

    fn submit(&mut self, commands: &mut Vec<Command<Payload>>) {
        if commands.is_empty() {
            return;
        }
        let commands = commands.drain(..).map(|command| command.on(self.id)).collect();
        self.endpoints.goal_tracker.submit(Input::Commands(commands));
    }

    fn hand_over(&mut self) {
        self.endpoints.goal_tracker.hand_over();
    }

    fn is_settled(&self, since: Ticket) -> bool {
        self.endpoints
            .goal_tracker
            .is_settled(|ticket| self.owns(ticket, since))
    }

    fn unsettled(&self, since: Ticket) -> Vec<String> {
        self.endpoints
            .goal_tracker
            .unsettled(|ticket| self.owns(ticket, since))
    }

    fn receive(&mut self, into: &mut Vec<Event>) {
        self.inbox.drain(into);
    }

    fn transform(
        &self,
        target: &str,
        source: &str,
        at: Option<Stamp>,
    ) -> Result<TransformStamped, TransformError> {
        let now = self.endpoints.goal_tracker.clock().moment();
        self.endpoints
            .transforms
            .lookup(target, source, at, now, self.transform_tolerance)
    }

    fn stamp(&self, _now: Time) -> Stamp {
        self.endpoints.goal_tracker.clock().stamp()
    }

    fn parameter(&self, name: &str) -> Option<String> {
        self.endpoints.parameters.text(name)
    }
}
