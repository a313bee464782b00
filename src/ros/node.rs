//! The node, for closures that run on its thread: creates entities.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use r2r::qos::HistoryPolicy;
use r2r::{QosProfile, WrappedNativeMsgUntyped, WrappedServiceTypeSupport, WrappedTypesupport};
use rustc_hash::FxHashMap;

use super::names::Names;
use super::rcl::{self, Client, Publisher, Reply, Serialized, Service, Subscription};
use super::ready::{Haste, MAX_WAITING, Mark, Ready};
use super::retry::Retry;
use super::server_checks::ServerChecks;
use super::server_watch::Probe;
use super::timer::{Timer, TimerTrigger};
use super::type_descriptions::TypeDescriptions;
use super::{Caller, RosError};

/// Takes this number of messages of one entity.
type Take = Box<dyn FnMut(usize) + Send>;

/// The entities of one endpoint of the trees, which end together: those of a server or of a topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Group(pub(super) u32);

/// An entity that receives messages.
struct Receiver {
    group: Option<Group>,
    mark: Arc<Mark>,
    /// The middleware keeps no more messages than this.
    capacity: usize,
    take: Take,
}

/// The maximum size of a message, in bytes, that is converted to JSON. The JSON form of an image takes 72 times the
/// space of the message, seconds of this thread, and is kept as often as the depth of the topic says.
const MAX_JSON_SOURCE: usize = 256 * 1024;

/// The maximum number of messages of one entity that are taken before those of the others. Without it, an entity whose
/// messages arrive faster than its callback handles them holds up all others: a cancel, a result, the heartbeat.
const BATCH: usize = 16;

/// The least assumed [`Receiver::capacity`]: a profile of the middleware may keep more than the quality of service says.
const MIN_CAPACITY: usize = 1_000;

/// The middleware counts what has arrived before it starts to call back. A message that arrives between the two is not
/// in the count. So this number of takes is tried once (rmw_fastrtps 8.4, `set_on_new_message_callback`).
const UNCOUNTED: usize = 100;

/// The node, on the thread that owns it. It creates all entities, and keeps those that receive messages. Callers share
/// entities by name (see [`super::RosLink`]).
///
/// A callback of the middleware marks the entity that has messages, and wakes the thread, which takes the messages of
/// the marked entities and nothing else. The callbacks of all entities run on this thread, one after the other. A
/// callback must not wait; it converts the message and passes it on.
pub struct RosNode {
    /// By number. Dropped before the node.
    entities: FxHashMap<u32, Receiver>,
    next_entity: u32,
    /// The group of what is created now.
    group: Option<Group>,
    ready: Ready,
    /// The entities with messages: kept for its memory.
    marked: Vec<u32>,
    node: rcl::Node,
    names: Names,
    types: TypeDescriptions,
    timers: Vec<Timer>,
    server_checks: ServerChecks,
    pub(super) retries: Vec<Retry<Self>>,
}

impl std::fmt::Debug for RosNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RosNode")
            .field("entities", &self.entities.len())
            .finish_non_exhaustive()
    }
}

impl RosNode {
    pub(super) fn new(node: rcl::Node) -> Self {
        Self {
            entities: FxHashMap::default(),
            next_entity: 0,
            group: None,
            ready: Ready::default(),
            marked: Vec::new(),
            names: Names::of(&node),
            node,
            types: TypeDescriptions::default(),
            timers: Vec::new(),
            server_checks: ServerChecks::new(),
            retries: Vec::new(),
        }
    }

    /// Wakes the thread of the node.
    pub(super) fn ready(&self) -> &Ready {
        &self.ready
    }

    /// rcl's node, to read the graph.
    pub(super) fn rcl(&self) -> &rcl::Node {
        &self.node
    }

    /// The types of the node's topics and services.
    pub(super) fn types(&self) -> &TypeDescriptions {
        &self.types
    }

    /// The full name of an action of this node, after remapping.
    pub(super) fn action_name(&self, name: &str) -> String {
        self.names.action(name)
    }

    /// Whether at most one server of a service is on the graph, including dead ones that are still on it. False if the
    /// graph cannot be read.
    pub(super) fn has_one_server(&self, service: &str) -> bool {
        writers(&self.node, &self.names.reply_topic(service)).is_some_and(|servers| servers.len() <= 1)
    }

    /// Keeps an entity that receives messages, and of which the middleware keeps `depth`. `listen` makes the middleware
    /// count them; `take` takes that many.
    fn keep(
        &mut self,
        (depth, haste): (usize, Haste),
        listen: impl FnOnce(Arc<Mark>) -> Result<(), RosError>,
        take: impl FnMut(usize) + Send + 'static,
    ) -> Result<(), RosError> {
        let haste = if depth < MAX_WAITING { Haste::Always } else { haste };
        let entity = self.next_entity;
        self.next_entity = self.next_entity.wrapping_add(1);
        let mark = Arc::new(Mark::new(&self.ready, entity, haste));
        listen(Arc::clone(&mark))?;
        mark.add(depth.min(UNCOUNTED));
        let receiver = Receiver {
            group: self.group,
            mark,
            capacity: depth.max(MIN_CAPACITY),
            take: Box::new(take),
        };
        self.entities.insert(entity, receiver);
        Ok(())
    }

    /// Creates entities of a group.
    pub(super) fn create_in<T>(&mut self, group: Group, create: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.group.replace(group);
        let created = create(self);
        self.group = outer;
        created
    }

    /// Ends what was created in a group, except its publishers, which end when they are dropped.
    pub(super) fn close(&mut self, group: Group) {
        self.entities.retain(|_, receiver| receiver.group != Some(group));
        self.retries.retain(|retry| retry.group() != group);
        self.server_checks.end(group);
    }

    /// Subscribes. `callback` receives every message, on the node's thread.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub fn subscribe<T: WrappedTypesupport + 'static>(
        &mut self,
        topic: &str,
        qos: QosProfile,
        callback: impl FnMut(T) + Send + 'static,
    ) -> Result<(), RosError> {
        self.subscribe_with(topic, qos, Haste::Always, callback)
    }

    /// Like [`RosNode::subscribe`], for messages that may be able to wait while the node rests.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub(super) fn subscribe_with<T: WrappedTypesupport + 'static>(
        &mut self,
        topic: &str,
        qos: QosProfile,
        haste: Haste,
        mut callback: impl FnMut(T) + Send + 'static,
    ) -> Result<(), RosError> {
        self.types.note_message::<T>();
        let depth = depth(&qos);
        let subscription = Arc::new(Subscription::<T>::new(&self.node, topic, qos)?);
        let taken = Arc::clone(&subscription);
        self.keep(
            (depth, haste),
            |mark| subscription.listen(mark),
            move |count| (0..count).filter_map(|_| taken.take()).for_each(&mut callback),
        )
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
        let support = support(topic, type_name)?;
        let depth = depth(&qos);
        let subscription = Arc::new(Subscription::<Serialized>::untyped(
            &self.node, topic, support, qos,
        )?);
        let (taken, type_name, topic) = (Arc::clone(&subscription), type_name.to_owned(), topic.to_owned());
        let mut has_refused = false;
        let mut json = move || {
            let bytes = taken.take_serialized()?;
            if bytes.len() > MAX_JSON_SOURCE {
                if !std::mem::replace(&mut has_refused, true) {
                    tracing::error!(
                        "{topic}: messages of more than {} KiB, such as this one of {} KiB, do not reach trees: read \
                         them in a node of their own",
                        MAX_JSON_SOURCE / 1024,
                        bytes.len() / 1024
                    );
                }
                return None;
            }
            let mut message = WrappedNativeMsgUntyped::new_from(&type_name).ok()?;
            message.from_serialized_bytes(&bytes).ok()?;
            // A message without a JSON form is dropped: one with a number that is NaN or infinite.
            message.to_json().ok()
        };
        self.keep(
            (depth, Haste::Always),
            |mark| subscription.listen(mark),
            move |count| (0..count).filter_map(|_| json()).for_each(&mut callback),
        )
    }

    /// Serves a service. `callback` receives every request and answers it, immediately or later, from any thread.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub fn serve<S: WrappedServiceTypeSupport + 'static>(
        &mut self,
        name: &str,
        qos: QosProfile,
        mut callback: impl FnMut(S::Request, Reply<S>) + Send + 'static,
    ) -> Result<(), RosError> {
        self.types.note_service::<S>();
        let depth = depth(&qos);
        let service = Arc::new(Service::<S>::new(&self.node, name, qos)?);
        let taken = Arc::clone(&service);
        self.keep(
            (depth, Haste::Always),
            |mark| service.listen(mark),
            move |count| {
                let requests = (0..count).filter_map(|_| taken.take());
                requests.for_each(|(request, reply)| callback(request, reply));
            },
        )
    }

    /// Creates a publisher.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub fn publisher<T: WrappedTypesupport + 'static>(
        &mut self,
        topic: &str,
        qos: QosProfile,
    ) -> Result<Publisher<T>, RosError> {
        self.types.note_message::<T>();
        Publisher::new(&self.node, topic, qos)
    }

    /// Creates a publisher of a type that is only known by name.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub(super) fn publisher_of(
        &mut self,
        topic: &str,
        type_name: &str,
        qos: QosProfile,
    ) -> Result<Publisher<Serialized>, RosError> {
        Publisher::untyped(&self.node, topic, support(topic, type_name)?, qos)
    }

    /// Creates a service client, with a probe of its server's availability.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub fn client<S>(&mut self, name: &str) -> Result<Caller<S::Response>, RosError>
    where
        S: WrappedServiceTypeSupport + 'static,
        S::Response: Send + 'static,
    {
        self.types.note_service::<S>();
        let answers = QosProfile::services_default().keep_last(MAX_ANSWERS);
        let client = Client::<S>::new(&self.node, name, answers)?;
        let (asked, sender, taken) = (client.clone(), client.clone(), client.clone());
        let probe = Probe {
            is_available: Box::new(move || asked.is_available()),
            replies: self.names.reply_topic(name),
        };
        let send = Box::new(move |request: &dyn std::any::Any| {
            let request = request
                .downcast_ref::<S::Request>()
                .ok_or(RosError::WrongPayload("request of the service"))?;
            sender.send(request)
        });
        let caller = Caller::new(send, Some(probe));
        let mut deliver = caller.deliver();
        self.keep(
            (MAX_ANSWERS, Haste::Always),
            |mark| client.listen(mark),
            move |count| {
                let answers = (0..count).filter_map(|_| taken.take());
                answers.for_each(|(number, answer)| deliver(number, answer));
            },
        )?;
        Ok(caller)
    }

    /// Watches the servers of some clients. Calls `callback` with true when all of them are present, and with false
    /// when one is absent again. Until the first call, they count as absent.
    pub fn watch(
        &mut self,
        probes: impl IntoIterator<Item = Probe>,
        callback: impl FnMut(bool) + Send + 'static,
    ) {
        self.server_checks.watch(self.group, probes, callback);
    }

    /// Watches the publishers of a server's topic while the server is `busy`: calls `changed` when there is a new
    /// publisher since the last check, or none any more. Only [`RosNode::watch`] finds out what happened to the server;
    /// without this hint it checks seldom.
    pub(super) fn watch_publishers(
        &mut self,
        topic: &str,
        busy: impl Fn() -> bool + Send + 'static,
        changed: impl Fn() + Send + 'static,
    ) {
        let topic = self.names.topic(topic);
        self.server_checks
            .watch_publishers(self.group, topic, busy, changed);
    }

    /// Calls `act` repeatedly. With a period of zero: whenever the thread was awake, and at least twice a second.
    pub fn every(&mut self, period: Duration, mut act: impl FnMut() + Send + 'static) {
        self.every_with_node(period, move |_| act());
    }

    /// Like [`RosNode::every`], for actions that read the graph.
    pub(super) fn every_with_node(
        &mut self,
        period: Duration,
        mut act: impl FnMut(&rcl::Node) + Send + 'static,
    ) {
        self.whenever_due_with_node(period, &TimerTrigger::default(), move |node| {
            act(node);
            period
        });
    }

    /// Calls `act` repeatedly. `act` returns the time until its next call; `trigger` makes the call due earlier.
    pub fn whenever_due(
        &mut self,
        first: Duration,
        trigger: &TimerTrigger,
        mut act: impl FnMut() -> Duration + Send + 'static,
    ) {
        self.whenever_due_with_node(first, trigger, move |_| act());
    }

    /// Like [`RosNode::whenever_due`], for actions that read the graph.
    pub(super) fn whenever_due_with_node(
        &mut self,
        first: Duration,
        trigger: &TimerTrigger,
        act: impl FnMut(&rcl::Node) -> Duration + Send + 'static,
    ) {
        trigger.wakes(&self.ready);
        self.timers.push(Timer::new(first, trigger.clone(), act));
    }

    /// The time at which the next timer or check is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let due = self.timers.iter().filter_map(Timer::due);
        due.chain(self.server_checks.next_due())
            .chain(self.retries.iter().map(Retry::due))
            .min()
    }

    /// Handles all messages that have arrived, and everything that is due.
    pub(super) fn run_once(&mut self) {
        let now = Instant::now();
        let found = self.server_checks.look(&self.node, now);
        // Handle the messages of a server before its absence: a server that sends a result and exits has sent a result.
        self.take_messages(if found.is_absence { usize::MAX } else { BATCH });
        if found.is_checked {
            self.server_checks.report();
        }
        self.run_due_timers();
        self.run_due_retries(now);
    }

    /// Takes messages: at most this number of each entity.
    fn take_messages(&mut self, batch: usize) {
        self.ready.take(&mut self.marked);
        for entity in &self.marked {
            if let Some(receiver) = self.entities.get_mut(entity) {
                let count = receiver.mark.take().min(receiver.capacity);
                (receiver.take)(count.min(batch));
                receiver.mark.add(count.saturating_sub(batch));
            }
        }
    }

    /// For tests: the number of messages that wait.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.entities
            .values()
            .map(|receiver| receiver.mark.waiting())
            .sum()
    }

    /// Starts frequent checks for servers.
    pub(super) fn check_servers_soon(&mut self) {
        self.server_checks.check_soon();
    }

    /// Runs the timers that are due.
    fn run_due_timers(&mut self) {
        let now = Instant::now();
        for timer in &mut self.timers {
            timer.run_if_due(&self.node, now);
        }
    }
}

/// The number of messages that the middleware keeps for a reader.
fn depth(qos: &QosProfile) -> usize {
    match qos.history {
        HistoryPolicy::KeepLast => qos.depth,
        _ => usize::MAX,
    }
}

/// The type support of a message type of this build.
fn support(
    topic: &str,
    type_name: &str,
) -> Result<&'static r2r_rcl::rosidl_message_type_support_t, RosError> {
    match WrappedNativeMsgUntyped::new_from(type_name) {
        Ok(message) => Ok(message.ts),
        Err(error) => Err(RosError::Entity {
            what: "endpoint",
            name: topic.to_owned(),
            reason: error.to_string(),
        }),
    }
}

/// The unique id of an endpoint, never reused.
pub(super) type Gid = Box<[u8]>;

/// The endpoints that write to a DDS topic. `None` if the graph cannot be read.
pub(super) fn writers(node: &rcl::Node, topic: &str) -> Option<BTreeSet<Gid>> {
    let endpoints = node.publishers(topic, true).ok()?;
    Some(endpoints.into_iter().map(|endpoint| endpoint.gid).collect())
}

/// The maximum number of answers to one client at once. A server answers all requests for a goal's result when the goal
/// ends, twenty leaves may call one service, and the answers to other clients of the server use the same room.
const MAX_ANSWERS: usize = 1000;
