//! The node, for closures that run on its thread: creates entities.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{FutureExt, Stream, StreamExt};
use r2r::{Publisher, QosProfile, ServiceRequest, WrappedServiceTypeSupport, WrappedTypesupport};

use super::caller::Sender;
use super::names::Names;
use super::node_thread::NodeThread;
use super::retry::Retry;
use super::server_checks::ServerChecks;
use super::server_watch::{Probe, Watch};
use super::timer::{Timer, TimerTrigger};
use super::type_descriptions::TypeDescriptions;
use super::{Caller, RosError};

/// Maximum time for the listening node to create a subscription.
const PATIENCE: Duration = Duration::from_secs(10);

/// Called after each spin: takes the messages of one entity. Returns whether there were any.
type Drain = Box<dyn FnMut() -> bool + Send>;

/// The node, on the thread that owns it. All entities are created through it, because r2r needs `&mut Node` to create
/// one. r2r never destroys an entity: it exists until the process ends. Callers share entities by name (see
/// [`super::RosLink`]).
///
/// Another node may subscribe to the topics (see [`super::Executor::start`]). The callbacks of all entities of a node
/// run on its thread, one after the other, right after the spin that took the message. r2r queues eleven messages per
/// entity and drops the newest when the queue is full; here a queue never holds more than one. A callback must not
/// wait; it converts the message and passes it on.
pub struct RosNode {
    node: r2r::Node,
    names: Names,
    /// The node that subscribes to topics, if not this one.
    listener: Option<NodeThread>,
    drains: Vec<Drain>,
    types: TypeDescriptions,
    server_checks: ServerChecks,
    timers: Vec<Timer>,
    pub(super) retries: Vec<Retry<Self>>,
}

impl std::fmt::Debug for RosNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RosNode")
            .field("entities", &self.drains.len())
            .finish_non_exhaustive()
    }
}

impl RosNode {
    pub(super) fn new(node: r2r::Node) -> Self {
        Self {
            names: Names::of(&node),
            node,
            listener: None,
            drains: Vec::new(),
            types: TypeDescriptions::default(),
            server_checks: ServerChecks::new(Instant::now()),
            timers: Vec::new(),
            retries: Vec::new(),
        }
    }

    /// The r2r node, for operations without a method here.
    pub fn r2r(&mut self) -> &mut r2r::Node {
        &mut self.node
    }

    /// The r2r node, read-only.
    pub fn rcl_node(&self) -> &r2r::Node {
        &self.node
    }

    /// The types of the node's topics and services, also of topics to which the listening node subscribes.
    pub(super) fn types(&self) -> &TypeDescriptions {
        &self.types
    }

    /// Makes another node subscribe to all topics from now on. Waiting for its thread is safe, because that thread
    /// waits for no other.
    pub(super) fn listen_through(&mut self, listener: &NodeThread) {
        self.listener = Some(listener.clone());
    }

    /// The name of a topic of this node in a form that means the same topic to the listening node.
    fn own_name(&self, topic: &str) -> String {
        if topic.starts_with('~') {
            self.names.expand(topic)
        } else {
            topic.to_owned()
        }
    }

    /// The full name of an action of this node, after remapping.
    pub(super) fn action_name(&self, name: &str) -> String {
        self.names.action(name)
    }

    /// The number of servers of a service on the graph, including dead ones that are still on it.
    pub(super) fn servers(&self, service: &str) -> usize {
        writers(&self.node, &self.names.reply_topic(service)).len()
    }

    /// Subscribes. `callback` receives every message, on the thread of the listening node.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub fn subscribe<T: WrappedTypesupport + Send + 'static>(
        &mut self,
        topic: &str,
        qos: QosProfile,
        callback: impl FnMut(T) + Send + 'static,
    ) -> Result<(), RosError> {
        self.types.note_message::<T>();
        if let Some(listener) = &self.listener {
            let topic = self.own_name(topic);
            return listener.ask(PATIENCE, move |node| node.subscribe(&topic, qos, callback))?;
        }
        let stream = self
            .node
            .subscribe::<T>(topic, qos)
            .map_err(|error| entity("subscription", topic, &error))?;
        self.drain(stream, callback);
        Ok(())
    }

    /// Subscribes to a type in room `msg`, with the middleware's default quality of service. A message with a text that
    /// would change in the conversion is dropped.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub fn subscribe_topic<T: super::convert::TopicType>(
        &mut self,
        topic: &str,
        callback: impl FnMut(T::Payload) + Send + 'static,
    ) -> Result<(), RosError> {
        let take = super::checked::whole::<T>(topic, callback);
        self.subscribe(topic, QosProfile::default(), take)
    }

    /// Subscribes to a type that is only known by name.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub fn subscribe_json(
        &mut self,
        topic: &str,
        type_name: &str,
        qos: QosProfile,
        mut callback: impl FnMut(serde_json::Value) + Send + 'static,
    ) -> Result<(), RosError> {
        if let Some(listener) = &self.listener {
            let (topic, type_name) = (self.own_name(topic), type_name.to_owned());
            return listener.ask(PATIENCE, move |node| {
                node.subscribe_json(&topic, &type_name, qos, callback)
            })?;
        }
        let stream = self
            .node
            .subscribe_untyped(topic, type_name, qos)
            .map_err(|error| entity("subscription", topic, &error))?;
        // A message without a JSON form is dropped. r2r's only reason is a number that is NaN or infinite.
        self.drain(stream, move |message| {
            if let Ok(message) = message {
                callback(message);
            }
        });
        Ok(())
    }

    /// Serves a service. `callback` receives every request and answers it, immediately or later, from any thread.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub fn serve<S: WrappedServiceTypeSupport + 'static>(
        &mut self,
        name: &str,
        qos: QosProfile,
        callback: impl FnMut(ServiceRequest<S>) + Send + 'static,
    ) -> Result<(), RosError>
    where
        S::Request: Send,
    {
        self.types.note_service::<S>();
        let stream = self
            .node
            .create_service::<S>(name, qos)
            .map_err(|error| entity("service", name, &error))?;
        self.drain(stream, callback);
        Ok(())
    }

    /// Creates a publisher. Only one thread at a time may send its messages.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub fn publisher<T: WrappedTypesupport>(
        &mut self,
        topic: &str,
        qos: QosProfile,
    ) -> Result<Publisher<T>, RosError> {
        self.types.note_message::<T>();
        self.node
            .create_publisher(topic, qos)
            .map_err(|error| entity("publisher", topic, &error))
    }

    /// Creates a service client, with a probe of its server's availability.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub fn client<S>(&mut self, name: &str) -> Result<Caller<S::Response>, RosError>
    where
        S: WrappedServiceTypeSupport + 'static,
        S::Request: Send + 'static,
        S::Response: Send + 'static,
    {
        self.types.note_service::<S>();
        let answers = QosProfile::services_default().keep_last(MAX_ANSWERS);
        let client = self
            .node
            .create_client::<S>(name, answers)
            .map_err(|error| entity("client", name, &error))?;
        let client = Arc::new(client);
        let asked = Arc::clone(&client);
        let probe = Probe {
            register: Box::new(move || {
                r2r::Node::is_available(&*asked)
                    .ok()
                    .map(|future| future.map(|answer| answer.is_ok()).boxed())
            }),
            replies: self.names.reply_topic(name),
        };
        let send = Box::new(move |request: &dyn std::any::Any| {
            let request = request
                .downcast_ref::<S::Request>()
                .ok_or(RosError::WrongPayload("request of the service"))?;
            match client.request(request) {
                Ok(future) => Ok(future
                    .map(|answer| answer.map_err(|error| RosError::Send(error.to_string())))
                    .boxed()),
                Err(error) => Err(RosError::Send(error.to_string())),
            }
        });
        Ok(self.caller(send, probe))
    }

    /// Watches the servers of some clients. Calls `callback` with true when all of them are present, and with false
    /// when one is absent again. Until the first call, they count as absent.
    pub fn watch(
        &mut self,
        probes: impl IntoIterator<Item = Probe>,
        callback: impl FnMut(bool) + Send + 'static,
    ) {
        self.server_checks.watch(Watch::new(probes, callback));
    }

    /// Watches the publishers of a server's topic while the server is `busy`: calls `changed` when there is a new
    /// publisher since the last check, or none any more. The listening node does the check: it is awake most often, so
    /// a check costs little. Only [`RosNode::watch`] finds out what happened to the server; without this hint it checks
    /// seldom.
    ///
    /// # Errors
    /// [`RosError`] if that node does not answer.
    pub(super) fn watch_publishers(
        &mut self,
        topic: &str,
        busy: impl Fn() -> bool + Send + 'static,
        changed: impl Fn() + Send + 'static,
    ) -> Result<(), RosError> {
        let topic = self.names.topic(topic);
        let mut known = None;
        let check = move |node: &r2r::Node| {
            if !busy() {
                known = None;
                return false;
            }
            if let Ok(publishers) = node.get_publishers_info_by_topic(&topic, false) {
                let found: BTreeSet<_> = publishers.iter().map(|one| one.endpoint_gid).collect();
                let before = known.replace(found.clone()).unwrap_or_else(|| found.clone());
                if !found.is_subset(&before) || found.is_empty() && !before.is_empty() {
                    changed();
                }
            }
            true
        };
        match &self.listener {
            Some(listener) => listener.ask(PATIENCE, move |node| node.server_checks.watch_busy(check)),
            None => {
                self.server_checks.watch_busy(check);
                Ok(())
            }
        }
    }

    /// Calls `act` repeatedly. With a period of zero: after every spin, however long the next spin waits.
    pub fn every(&mut self, period: Duration, mut act: impl FnMut() + Send + 'static) {
        self.every_with_node(period, move |_| act());
    }

    /// Like [`RosNode::every`], for actions that read the node or the graph.
    pub fn every_with_node(&mut self, period: Duration, mut act: impl FnMut(&r2r::Node) + Send + 'static) {
        self.timer(period, TimerTrigger::default(), move |node| {
            act(node);
            period
        });
    }

    /// Calls `act` repeatedly. `act` returns the time until its next call; `trigger` makes the call due earlier.
    pub fn whenever_due(
        &mut self,
        first: Duration,
        trigger: TimerTrigger,
        mut act: impl FnMut() -> Duration + Send + 'static,
    ) {
        self.timer(first, trigger, move |_| act());
    }

    /// Like [`RosNode::whenever_due`], on the thread of the listening node. It is awake most often, and its waits cost
    /// least.
    ///
    /// # Errors
    /// [`RosError`] if that node does not answer.
    pub(super) fn whenever_due_on_listener(
        &mut self,
        first: Duration,
        trigger: TimerTrigger,
        act: impl FnMut() -> Duration + Send + 'static,
    ) -> Result<(), RosError> {
        match &self.listener {
            Some(listener) => listener.ask(PATIENCE, move |node| node.whenever_due(first, trigger, act)),
            None => {
                self.whenever_due(first, trigger, act);
                Ok(())
            }
        }
    }

    /// Like [`RosNode::whenever_due`], for actions that read the node or the graph.
    pub(super) fn whenever_due_with_node(
        &mut self,
        first: Duration,
        trigger: TimerTrigger,
        act: impl FnMut(&r2r::Node) -> Duration + Send + 'static,
    ) {
        self.timer(first, trigger, act);
    }

    fn timer(
        &mut self,
        period: Duration,
        trigger: TimerTrigger,
        act: impl FnMut(&r2r::Node) -> Duration + Send + 'static,
    ) {
        self.timers.push(Timer::new(period, trigger, act));
    }

    fn caller<R: Send + 'static>(&mut self, send: Sender<R>, probe: Probe) -> Caller<R> {
        let caller = Caller::new(send, Some(probe));
        self.drains.push(caller.drain());
        caller
    }

    fn drain<T: 'static>(
        &mut self,
        mut stream: impl Stream<Item = T> + Unpin + Send + 'static,
        mut callback: impl FnMut(T) + Send + 'static,
    ) {
        self.drains.push(Box::new(move || {
            let mut any = false;
            while let Some(Some(item)) = stream.next().now_or_never() {
                callback(item);
                any = true;
            }
            any
        }));
    }

    /// The time until the next timer or check is due.
    fn next_timeout(&self, now: Instant) -> Duration {
        let due = self.timers.iter().filter_map(Timer::due);
        due.chain(self.server_checks.due())
            .chain(self.retries.iter().map(Retry::due))
            .min()
            .map_or(Duration::MAX, |due| due.saturating_duration_since(now))
    }

    /// Runs one spin from `now` on, which waits for `most` at most, and handles all messages that it took. Returns how
    /// long the spin was allowed to wait, and whether there were messages.
    pub(super) fn spin(&mut self, now: Instant, most: Duration) -> (Duration, bool) {
        let most = if self.server_checks.begin(&self.node, now) {
            Duration::ZERO
        } else {
            most
        };
        let timeout = self.next_timeout(now).min(most);
        self.node.spin_once(timeout);
        // Handle the messages of a server before its absence: a server that sends a result and exits has sent a result.
        let mut any = false;
        for drain in &mut self.drains {
            any |= drain();
        }
        self.server_checks.end(&self.node, now);
        self.run_due_timers();
        self.run_due_retries(now);
        (timeout, any)
    }

    /// Starts frequent checks: a server was opened or lost, and a leaf may be waiting for it.
    pub(super) fn check_servers_fast(&mut self) {
        self.server_checks.check_fast();
    }

    /// Runs the timers that are due.
    fn run_due_timers(&mut self) {
        let now = Instant::now();
        for timer in &mut self.timers {
            timer.run_if_due(&self.node, now);
        }
    }

    /// The number of entities that receive messages on this node.
    pub(super) fn entities(&self) -> usize {
        self.drains.len()
    }
}

fn entity(what: &'static str, name: &str, error: &r2r::Error) -> RosError {
    RosError::Entity {
        what,
        name: name.to_owned(),
        reason: error.to_string(),
    }
}

/// The unique id of an endpoint, never reused.
pub(super) type Gid = Box<[u8]>;

/// The endpoints that write to a DDS topic. Empty if they are not known.
pub(super) fn writers(node: &r2r::Node, topic: &str) -> BTreeSet<Gid> {
    let infos = node.get_publishers_info_by_topic(topic, true).unwrap_or_default();
    infos
        .into_iter()
        .map(|info| Gid::from(info.endpoint_gid))
        .collect()
}

/// The maximum number of answers to one client at once. r2r takes one answer per spin, and waits for a dropped answer
/// until the process ends. A server answers all requests for a goal's result when the goal ends, and twenty leaves may
/// call one service.
const MAX_ANSWERS: usize = 1000;
