//! The endpoints of trees: clients, subscriptions, publishers and services, each opened once and shared.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::endpoint_uses::EndpointUses;
use super::goal_tracker::Input;
use super::inbox::Inbox;
use super::interfaces;
use super::node::Group;
use super::shared_subscription::SharedSubscription;
use super::takeover::DISCOVERY_TIME;
use super::topic_types::TopicTypes;
use super::{GoalTrackerHandle, ParameterStore, RosHandle, RosLink, RosNode, TransformBuffer, serve_service};
use crate::goal::{Command, LinkId, ServerId};
use crate::msg::service::{Trigger, TriggerResponse};
use crate::nav::{EndpointKind, LinkError, Payload, TopicId, TopicSpec};

/// All endpoints that trees have opened by name, shared by all links of a node. Each name is opened once and reused by
/// every tree and every swap. An endpoint ends some time after its last tree: `EndpointUses` tells when.
#[derive(Clone)]
pub struct Endpoints {
    pub(super) goal_tracker: GoalTrackerHandle,
    pub(super) transforms: TransformBuffer,
    pub(super) parameters: ParameterStore,
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
    /// The number of the last endpoint. Servers and topics share the numbers, which are never reused.
    last: u32,
    uses: EndpointUses,
    adopt: Option<Duration>,
}

impl Inner {
    fn next_number(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    /// The topic of an endpoint.
    fn topic(&self, endpoint: u32) -> Option<&TopicSpec> {
        let subscribed = self.subscriptions.iter().map(|(spec, (id, _))| (spec, *id));
        let published = self.publishers.iter().map(|(spec, id)| (spec, *id));
        subscribed
            .chain(published)
            .find(|(_, id)| id.0 == endpoint)
            .map(|(spec, _)| spec)
    }

    /// Removes the topic of an endpoint. Returns it.
    fn remove_topic(&mut self, endpoint: u32) -> Option<TopicSpec> {
        let topic = self.topic(endpoint)?.clone();
        self.subscriptions.retain(|_, (id, _)| id.0 != endpoint);
        self.publishers.retain(|_, id| id.0 != endpoint);
        self.uses.forget(endpoint);
        Some(topic)
    }

    fn topics(&self) -> impl Iterator<Item = (&TopicSpec, u32)> {
        let subscribed = self.subscriptions.iter().map(|(spec, (id, _))| (spec, id.0));
        subscribed.chain(self.publishers.iter().map(|(spec, id)| (spec, id.0)))
    }
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
        let endpoints = Self {
            goal_tracker: goal_tracker.clone(),
            transforms: transforms.clone(),
            parameters: parameters.clone(),
            inner: Arc::new(Mutex::new(Inner {
                adopt,
                ..Inner::default()
            })),
            types: TopicTypes::default(),
            next_link: Arc::new(AtomicU16::new(1)),
        };
        let closing = endpoints.clone();
        endpoints
            .ros()
            .post(move |node| node.every(Duration::ZERO, move || closing.close_expired()));
        endpoints
    }

    /// Creates a link for one world. `transform_tolerance`: the maximum age of the newest transform.
    pub fn link(&self, transform_tolerance: Duration) -> RosLink {
        let id = LinkId(self.next_link.fetch_add(1, Ordering::Relaxed));
        let inbox = Arc::new(Inbox::default());
        self.goal_tracker
            .inputs()
            .send(Input::Link(id, Arc::clone(&inbox)));
        RosLink::new(self.clone(), id, inbox, transform_tolerance)
    }

    pub(super) fn goal_tracker(&self) -> &GoalTrackerHandle {
        &self.goal_tracker
    }

    /// Whether goals of an earlier run are cancelled.
    pub(super) fn adopts_goals(&self) -> bool {
        self.lock().adopt.is_some()
    }

    /// Whether an action server with this full name is open.
    pub(super) fn has_action(&self, name: &str) -> bool {
        let server = self.ros().server(EndpointKind::Action, name);
        let inner = self.lock();
        let mut open = inner.servers.keys();
        open.any(|(kind, full_name, _)| (*kind, full_name) == (EndpointKind::Action, &server))
    }

    /// Opens an action server that no leaf uses. It does not end.
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
        self.close_unused_of_other_type(topic);
        self.types.try_on(self.ros(), topic)
    }

    /// The known fault of a topic.
    pub(super) fn topic_fault(&self, topic: &TopicSpec) -> Option<LinkError> {
        self.types.clash(self.ros(), topic)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a server for one more user.
    pub(super) fn open(&self, kind: EndpointKind, name: &str, type_name: &str) -> ServerId {
        let mut inner = self.lock();
        let key = (kind, self.ros().server(kind, name), type_name.to_owned());
        if let Some(server) = inner.servers.get(&key).copied() {
            inner.uses.begin(server.0);
            return server;
        }
        let server = ServerId(inner.next_number());
        inner.uses.begin(server.0);
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
        let (server_name, type_name) = (name.to_owned(), type_name.to_owned());
        // Until it succeeds, the leaves find the server absent and fail after their timeout.
        self.create(server.0, name, move |node| {
            let inputs = inputs.clone();
            let to = inputs.clone();
            let (name, type_name) = (&server_name, &type_name);
            match kind {
                EndpointKind::Action => interfaces::open_action(node, name, type_name, server, inputs)
                    .map(|client| to.send(Input::Action(server, client))),
                EndpointKind::Service => interfaces::open_service(node, name, type_name, server, inputs)
                    .map(|client| to.send(Input::Service(server, client))),
            }
        });
        server
    }

    /// Makes an action server deliver the feedback of goals.
    pub(super) fn hear(&self, server: ServerId) {
        if self.lock().heard.insert(server) {
            self.goal_tracker.put(Input::Hear(server));
        }
    }

    /// Subscribes to a topic for one more user, whose messages go to `inbox`.
    ///
    /// # Errors
    /// [`LinkError::OtherType`].
    pub(super) fn subscribe(&self, topic: &TopicSpec, inbox: &Arc<Inbox>) -> Result<TopicId, LinkError> {
        self.close_unused_of_other_type(topic);
        self.types.take(self.ros(), topic)?;
        let deliver = |spec: &TopicSpec, id, subscription: Arc<SharedSubscription>| {
            let (spec, clock) = (spec.clone(), self.goal_tracker.clock().clone());
            move |node: &mut RosNode| {
                let (of, subscription, clock) = (spec.clone(), Arc::clone(&subscription), clock.clone());
                let receiver =
                    Box::new(move |payload| subscription.deliver(id, &of, &payload, clock.steady()));
                interfaces::subscribe(node, &spec, receiver)
            }
        };
        Ok(self.join(topic, inbox, deliver))
    }

    /// Serves a trigger for one more user, whose calls go to `inbox`.
    pub(super) fn serve_trigger(&self, topic: &TopicSpec, inbox: &Arc<Inbox>) -> TopicId {
        let answer = |spec: &TopicSpec, id, subscription: Arc<SharedSubscription>| {
            let (spec, clock) = (spec.clone(), self.goal_tracker.clock().clone());
            move |node: &mut RosNode| {
                let (of, subscription, clock) = (spec.clone(), Arc::clone(&subscription), clock.clone());
                serve_service::<Trigger>(node, &spec.name, move |call| {
                    subscription.deliver(id, &of, &Payload::new(()), clock.steady());
                    call.respond(&TriggerResponse {
                        success: true,
                        message: String::new(),
                    });
                })
            }
        };
        self.join(topic, inbox, answer)
    }

    /// Adds a reader to a subscription. If it is new, `create` returns what creates its entity.
    fn join<C, E>(
        &self,
        topic: &TopicSpec,
        inbox: &Arc<Inbox>,
        create: impl FnOnce(&TopicSpec, TopicId, Arc<SharedSubscription>) -> C,
    ) -> TopicId
    where
        C: FnMut(&mut RosNode) -> Result<(), E> + Send + 'static,
        E: std::fmt::Display,
    {
        let mut inner = self.lock();
        if let Some((id, subscription)) = inner.subscriptions.get(topic) {
            let id = *id;
            subscription.join(id, topic, inbox);
            inner.uses.begin(id.0);
            return id;
        }
        let id = TopicId(inner.next_number());
        inner.uses.begin(id.0);
        let subscription = Arc::new(SharedSubscription::default());
        subscription.join(id, topic, inbox);
        inner
            .subscriptions
            .insert(topic.clone(), (id, Arc::clone(&subscription)));
        drop(inner);
        self.create(id.0, &topic.name, create(topic, id, subscription));
        id
    }

    /// Creates a publisher for one more user.
    ///
    /// # Errors
    /// [`LinkError::OtherType`].
    pub(super) fn advertise(&self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        self.close_unused_of_other_type(topic);
        self.types.take(self.ros(), topic)?;
        let mut inner = self.lock();
        if let Some(id) = inner.publishers.get(topic).copied() {
            inner.uses.begin(id.0);
            return Ok(id);
        }
        let id = TopicId(inner.next_number());
        inner.uses.begin(id.0);
        inner.publishers.insert(topic.clone(), id);
        drop(inner);
        let inputs = self.goal_tracker.inputs().clone();
        inputs.send(Input::Advertised(id));
        let spec = topic.clone();
        self.create(id.0, &topic.name, move |node| {
            interfaces::advertise(node, &spec).map(|publisher| inputs.send(Input::Publisher(id, publisher)))
        });
        Ok(id)
    }

    /// Creates the entities of an endpoint on the node's thread, and tries again later if that fails: all later trees share it.
    fn create<E: std::fmt::Display>(
        &self,
        endpoint: u32,
        name: &str,
        mut create: impl FnMut(&mut RosNode) -> Result<(), E> + Send + 'static,
    ) {
        let name = name.to_owned();
        self.ros().post(move |node| {
            node.create_or_retry(&name, Group(endpoint), move |node| {
                create(node).map_err(|error| error.to_string())
            });
        });
    }

    /// Removes a user of each of these endpoints. A link that uses them no more gives its inbox.
    pub(super) fn end_uses(&self, endpoints: &[u32], inbox: Option<&Arc<Inbox>>) {
        let now = Instant::now();
        let mut inner = self.lock();
        for endpoint in endpoints {
            let subscription = inner.subscriptions.values().find(|(id, _)| id.0 == *endpoint);
            if let (Some((_, subscription)), Some(inbox)) = (subscription, inbox) {
                subscription.leave(inbox);
            }
            inner.uses.end(*endpoint, now);
        }
    }

    /// Closes the endpoints that have been without a user for long.
    fn close_expired(&self) {
        loop {
            let mut inner = self.lock();
            let Some(endpoint) = inner.uses.next_expired(Instant::now()) else {
                return;
            };
            match inner.remove_topic(endpoint) {
                Some(topic) => {
                    drop(inner);
                    self.close_topic(endpoint, &topic);
                }
                None => {
                    drop(inner);
                    self.close_server(ServerId(endpoint));
                }
            }
        }
    }

    /// Closes a topic that was removed.
    fn close_topic(&self, endpoint: u32, topic: &TopicSpec) {
        let name = self.ros().topic(&topic.name);
        let is_open = |other: &TopicSpec| self.ros().topic(&other.name) == name;
        if !self.lock().topics().any(|(other, _)| is_open(other)) {
            self.types.release(&name);
        }
        self.goal_tracker
            .inputs()
            .send(Input::Unadvertised(TopicId(endpoint)));
        self.ros().post(move |node| node.close(Group(endpoint)));
    }

    /// Closes a server on the GoalTracker's thread, if that has no goal there and no tree has opened it meanwhile.
    fn close_server(&self, server: ServerId) {
        let endpoints = self.clone();
        let confirm = move |is_idle: bool| {
            let mut inner = endpoints.lock();
            if !inner.uses.is_unused(server.0) {
                return false;
            }
            if !is_idle {
                inner.uses.put_aside(server.0, Instant::now());
                return false;
            }
            inner.servers.retain(|_, other| *other != server);
            inner.heard.remove(&server);
            inner.uses.forget(server.0);
            true
        };
        self.goal_tracker
            .inputs()
            .send(Input::Close(server, Box::new(confirm)));
    }

    /// Closes the endpoints on a topic at once that have another type and no user. Otherwise a tree could not use the
    /// topic until they end.
    fn close_unused_of_other_type(&self, topic: &TopicSpec) {
        let name = self.ros().topic(&topic.name);
        let mut inner = self.lock();
        let is_other =
            |other: &TopicSpec| other.type_name != topic.type_name && self.ros().topic(&other.name) == name;
        let unused: Vec<u32> = inner
            .topics()
            .filter(|(other, id)| inner.uses.is_unused(*id) && is_other(other))
            .map(|(_, id)| id)
            .collect();
        let removed: Vec<_> = unused
            .into_iter()
            .filter_map(|id| Some((id, inner.remove_topic(id)?)))
            .collect();
        drop(inner);
        for (id, other) in removed {
            self.close_topic(id, &other);
        }
    }
}
