//! The node, for closures that run on its thread: creates entities.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt};
use r2r::{Publisher, QosProfile, ServiceRequest, WrappedServiceTypeSupport, WrappedTypesupport};

use super::caller::Sender;
use super::names::Names;
use super::node_thread::NodeThread;
use super::type_descriptions::TypeDescriptions;
use super::{Caller, RosError};

/// Maximum time for the listening node to create a subscription.
const PATIENCE: Duration = Duration::from_secs(10);

/// Timers with this period or a longer one may run early, by a quarter of the period.
const PATIENT_PERIOD: Duration = Duration::from_secs(1);

/// Called after each spin: takes the messages of one entity. Returns whether there were any.
type Drain = Box<dyn FnMut() -> bool + Send>;

/// A check of the graph. Returns whether to check again soon.
type BusyCheck = Box<dyn FnMut(&r2r::Node) -> bool + Send>;

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
    watches: Vec<Watch>,
    timers: Vec<Timer>,
    /// The next check for servers (`next_check`), the earliest time for it if the thread is awake for another reason
    /// (`earliest_check`), and the end of the phase with frequent checks (`fast_checks_until`).
    next_check: Instant,
    earliest_check: Instant,
    fast_checks_until: Instant,
    /// Checks of the graph for servers that may have a goal. Each returns whether its server has one.
    busy_checks: Vec<BusyCheck>,
    next_busy_check: Instant,
    is_busy: bool,
}

/// A repeated action, which returns the time until it is due again.
struct Timer {
    period: Duration,
    next: Instant,
    trigger: TimerTrigger,
    act: Box<dyn FnMut(&r2r::Node) -> Duration + Send>,
}

/// Makes a timer due, from any thread. The timer runs when the node's thread is awake next.
#[derive(Clone, Default, Debug)]
pub struct TimerTrigger(Arc<AtomicBool>);

impl TimerTrigger {
    /// Makes the timer due.
    pub fn give(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn take(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}

impl Timer {
    /// The earliest time at which the timer runs if the thread is awake for another reason. Timers with a period of one
    /// second then cause no wakeups: three of them woke an idle node more often than the checks for servers.
    fn may_be_done_at(&self) -> Instant {
        let early = if self.period < PATIENT_PERIOD {
            Duration::ZERO
        } else {
            self.period / 4
        };
        self.next.checked_sub(early).unwrap_or(self.next)
    }
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
            watches: Vec::new(),
            timers: Vec::new(),
            next_check: Instant::now(),
            earliest_check: Instant::now(),
            fast_checks_until: Instant::now(),
            busy_checks: Vec::new(),
            next_busy_check: Instant::now(),
            is_busy: false,
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
        self.watches.push(Watch::new(probes, callback));
        self.check_servers_fast();
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
            Some(listener) => listener.ask(PATIENCE, move |node| node.busy_checks.push(Box::new(check))),
            None => {
                self.busy_checks.push(Box::new(check));
                Ok(())
            }
        }
    }

    /// Checks the servers that have a goal.
    fn check_busy_servers(&mut self, now: Instant) {
        self.is_busy = false;
        for check in &mut self.busy_checks {
            self.is_busy |= check(&self.node);
        }
        self.next_busy_check = now + BUSY_CHECK_PERIOD;
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

    /// Like [`RosNode::whenever_due`], for actions that read the node or the graph.
    pub(super) fn look_whenever_due(
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
        self.timers.push(Timer {
            period,
            next: Instant::now() + period,
            trigger,
            act: Box::new(act),
        });
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
        let timers = self.timers.iter().filter(|timer| !timer.period.is_zero());
        let due = timers.map(|timer| timer.next);
        let check = (!self.watches.is_empty()).then_some(self.next_check);
        let busy = self.is_busy.then_some(self.next_busy_check);
        due.chain(check)
            .chain(busy)
            .min()
            .map_or(Duration::MAX, |due| due.saturating_duration_since(now))
    }

    /// Runs one spin from `now` on, which waits for `most` at most, and handles all messages that it took. Returns how
    /// long the spin was allowed to wait, and whether there were messages.
    pub(super) fn spin(&mut self, now: Instant, most: Duration) -> (Duration, bool) {
        let mut most = most;
        if self.earliest_check <= now {
            let fast = now < self.fast_checks_until;
            self.next_check = now + if fast { FAST_CHECK_PERIOD } else { CHECK_PERIOD };
            self.earliest_check = now + if fast { FAST_CHECK_PERIOD } else { MIN_CHECK_PERIOD };
            let writers = |topic: &str| writers(&self.node, topic);
            let mut replaced = false;
            for watch in &mut self.watches {
                replaced |= watch.begin(&writers);
            }
            if replaced {
                self.check_servers_fast();
            }
            // A leaf may be waiting for an absent server, so the answer is read at once. For a present server, the
            // answer can be read after the wait, which saves a second wait per check.
            if self.watches.iter().any(|watch| !watch.present) {
                most = Duration::ZERO;
            }
        }
        if self.next_busy_check <= now {
            self.check_busy_servers(now);
        }
        let timeout = self.next_timeout(now).min(most);
        self.node.spin_once(timeout);
        // Handle the messages of a server before its absence: a server that sends a result and exits has sent a result.
        let mut any = false;
        for drain in &mut self.drains {
            any |= drain();
        }
        let mut gone = false;
        let writers = |topic: &str| writers(&self.node, topic);
        for watch in &mut self.watches {
            match watch.end(&writers) {
                Found::Nothing | Found::Change(true) => {}
                Found::Hint => (self.next_check, self.earliest_check) = (now, now),
                Found::Change(false) => gone = true,
            }
        }
        if gone {
            self.check_servers_fast();
        }
        self.run_due_timers();
        (timeout, any)
    }

    /// Starts frequent checks: a server was opened or lost, and a leaf may be waiting for it.
    pub(super) fn check_servers_fast(&mut self) {
        let now = Instant::now();
        self.next_check = now;
        self.earliest_check = now;
        self.fast_checks_until = now + FAST_CHECK_DURATION;
    }

    /// Runs the timers that are due.
    fn run_due_timers(&mut self) {
        let now = Instant::now();
        for timer in &mut self.timers {
            if timer.trigger.take() || timer.may_be_done_at() <= now {
                timer.period = (timer.act)(&self.node);
                timer.next = now + timer.period;
            }
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
fn writers(node: &r2r::Node, topic: &str) -> BTreeSet<Gid> {
    let infos = node.get_publishers_info_by_topic(topic, true).unwrap_or_default();
    infos
        .into_iter()
        .map(|info| Gid::from(info.endpoint_gid))
        .collect()
}

type Register = Box<dyn Fn() -> Option<BoxFuture<'static, bool>> + Send>;

/// Checks whether the server of one client is present, and which server it is.
pub struct Probe {
    register: Register,
    /// The DDS topic of the server's answers.
    replies: String,
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Probe")
    }
}

/// The maximum number of answers to one client at once. r2r takes one answer per spin, and waits for a dropped answer
/// until the process ends. A server answers all requests for a goal's result when the goal ends, and twenty leaves may
/// call one service.
const MAX_ANSWERS: usize = 1000;

/// The period of the checks for servers. The result is known at the end of the spin that sent the check. The absence of
/// a server that shuts down is detected within twice this period, which is less than the default time for a server's
/// answer; that of a killed server when the middleware's lease on it ends. Every check wakes the thread: ten per second
/// used 0.3 % of a core.
const CHECK_PERIOD: Duration = Duration::from_millis(400);
/// The same if the thread is awake for another reason: a check then costs little.
const MIN_CHECK_PERIOD: Duration = Duration::from_millis(250);
/// The same for servers that have a goal.
const BUSY_CHECK_PERIOD: Duration = Duration::from_millis(100);
/// The same during `FAST_CHECK_DURATION` after a server was opened or lost: a goal may be waiting for it.
const FAST_CHECK_PERIOD: Duration = Duration::from_millis(10);
/// The maximum number of checks of a server that answers but lacks endpoints: half a second of frequent checks.
const MAX_INCOMPLETE: u32 = 50;
/// The duration of frequent checks.
const FAST_CHECK_DURATION: Duration = Duration::from_secs(5);

/// The state of one probe. r2r only reports "became available", and only at the start of a spin. So a query without an
/// answer in the next spin means no. The query stays open, because a new one would be added to it, not replace it.
struct ProbeState {
    probe: Probe,
    pending: Option<BoxFuture<'static, bool>>,
    present: bool,
    /// The endpoints that answered when the server was last found.
    known: BTreeSet<Gid>,
}

impl ProbeState {
    fn new(probe: Probe) -> Self {
        Self {
            probe,
            pending: None,
            present: false,
            known: BTreeSet::new(),
        }
    }

    fn ask(&mut self) {
        if self.pending.is_none() {
            self.pending = (self.probe.register)();
        }
    }

    /// Whether there is an endpoint that did not exist when the server was found.
    fn is_replaced(&self, writers: Writers<'_>) -> bool {
        !self.known.is_empty() && !writers(&self.probe.replies).is_subset(&self.known)
    }

    /// Whether the query was answered with yes. A query without an answer means that the server is absent.
    fn poll(&mut self) -> bool {
        let Some(pending) = &mut self.pending else {
            return false;
        };
        let answer = pending.now_or_never();
        self.present = answer == Some(true);
        if answer.is_some() {
            self.pending = None;
        }
        self.present
    }
}

/// Finds the endpoints of a DDS topic.
type Writers<'a> = &'a dyn Fn(&str) -> BTreeSet<Gid>;

/// Watches the services of one server. Each query walks through the whole graph, and an open query does so in every
/// spin: with all three queries open for every absent server, they used half of the node's processor time. So one query
/// is open for all, in turn, until its answer changes.
///
/// A server that is killed and restarted is never absent: the graph keeps the endpoints of the dead one until its lease
/// ends, 20 s by default. So a new endpoint counts as a server that has disappeared and come back: requests to the dead
/// one are no longer answered.
struct Watch {
    probes: Vec<ProbeState>,
    turn: usize,
    present: bool,
    /// The number of checks in which all queries were answered with yes and endpoints were missing.
    incomplete: u32,
    callback: Box<dyn FnMut(bool) + Send>,
}

/// The result of [`Watch::end`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    Nothing,
    /// More queries can be sent at once.
    Hint,
    Change(bool),
}

impl Watch {
    fn new(probes: impl IntoIterator<Item = Probe>, callback: impl FnMut(bool) + Send + 'static) -> Self {
        Self {
            probes: probes.into_iter().map(ProbeState::new).collect(),
            turn: 0,
            present: false,
            incomplete: 0,
            callback: Box::new(callback),
        }
    }

    fn is_query_open(&self) -> bool {
        self.probes.iter().any(|probe| probe.pending.is_some())
    }

    /// Sends the next query. Returns whether the server was replaced by another one.
    fn begin(&mut self, writers: Writers<'_>) -> bool {
        if self.is_query_open() || self.probes.is_empty() {
            return false;
        }
        self.turn = (self.turn + 1) % self.probes.len();
        let Some(probe) = self.probes.get_mut(self.turn) else {
            return false;
        };
        let replaced = self.present && probe.is_replaced(writers);
        probe.ask();
        if replaced {
            self.change(false);
        }
        replaced
    }

    fn change(&mut self, present: bool) {
        self.present = present;
        if !present {
            // One service is absent: all must be found again.
            self.probes.iter_mut().for_each(|probe| probe.present = false);
        }
        (self.callback)(present);
    }

    /// Whether all endpoints of the present server are known; if so, stores them. Endpoints are discovered one after
    /// the other, and those of a dead server hide that some are missing. If some stay missing, the server counts as
    /// complete after [`MAX_INCOMPLETE`] checks.
    fn is_complete(&mut self, writers: Writers<'_>) -> bool {
        let current = self.probes.iter().map(|probe| writers(&probe.probe.replies));
        let current: Vec<_> = current.collect();
        let mut counts = current.iter().map(BTreeSet::len).filter(|count| *count > 0);
        let first = counts.next();
        let equal = counts.all(|count| Some(count) == first);
        if !equal && self.incomplete < MAX_INCOMPLETE {
            self.incomplete += 1;
            // Query them again.
            self.probes.iter_mut().for_each(|probe| probe.present = false);
            return false;
        }
        self.incomplete = 0;
        for (probe, current) in self.probes.iter_mut().zip(current) {
            probe.known = current;
        }
        true
    }

    fn end(&mut self, writers: Writers<'_>) -> Found {
        let mut answered = false;
        for probe in &mut self.probes {
            answered |= probe.poll();
        }
        let mut present = self.probes.iter().all(|probe| probe.present);
        if present && !self.present {
            present = self.is_complete(writers);
            if !present {
                return Found::Nothing;
            }
        }
        if present != self.present {
            self.change(present);
            return Found::Change(present);
        }
        if answered && !present && !self.is_query_open() {
            let missing = self.probes.iter_mut().filter(|probe| !probe.present);
            missing.for_each(ProbeState::ask);
            return Found::Hint;
        }
        Found::Nothing
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::channel::oneshot;

    use super::*;

    /// A fake of r2r's service: keeps the queries, and answers them when the service becomes available.
    #[derive(Clone, Default)]
    struct Service {
        waiting: Arc<Mutex<Vec<oneshot::Sender<bool>>>>,
        asked: Arc<AtomicUsize>,
    }

    impl Service {
        fn probe(&self) -> Probe {
            self.probe_named("")
        }

        fn probe_named(&self, replies: &str) -> Probe {
            let service = self.clone();
            let register = Box::new(move || {
                let (sender, receiver) = oneshot::channel();
                service.waiting.lock().unwrap().push(sender);
                service.asked.fetch_add(1, Ordering::Relaxed);
                Some(receiver.map(|answer| answer.unwrap_or(false)).boxed())
            });
            Probe {
                register,
                replies: replies.to_owned(),
            }
        }

        fn poll(&self, there: bool) {
            if there {
                for sender in self.waiting.lock().unwrap().drain(..) {
                    let _ = sender.send(true);
                }
            }
        }

        fn waiting(&self) -> usize {
            self.waiting.lock().unwrap().len()
        }
    }

    #[test]
    fn one_query_is_open_at_a_time_and_none_is_sent_twice() {
        let services: [Service; 3] = Default::default();
        let unknown = |_: &str| BTreeSet::new();
        let mut watch = Watch::new(services.iter().map(Service::probe), |_| {});
        let mut round = |there: [bool; 3]| {
            watch.begin(&unknown);
            for (service, there) in services.iter().zip(there) {
                service.poll(there);
            }
            watch.end(&unknown)
        };
        for _ in 0..5 {
            assert_eq!(round([false; 3]), Found::Nothing);
            assert_eq!(services.iter().map(Service::waiting).sum::<usize>(), 1);
        }
        assert_eq!(round([true, true, false]), Found::Hint);
        assert_eq!(
            round([true, true, false]),
            Found::Nothing,
            "two of three are not enough"
        );
        assert_eq!(round([true; 3]), Found::Change(true));
        let before: usize = services.iter().map(|s| s.asked.load(Ordering::Relaxed)).sum();
        for _ in 0..6 {
            assert_eq!(round([true; 3]), Found::Nothing);
        }
        let after: usize = services.iter().map(|s| s.asked.load(Ordering::Relaxed)).sum();
        assert_eq!(after - before, 6);
        assert_eq!(round([false; 3]), Found::Change(false));
        assert_eq!(round([false; 3]), Found::Nothing);
        assert_eq!(round([true; 3]), Found::Hint);
        assert_eq!(round([true; 3]), Found::Change(true));
    }

    /// A watch of a server with two services. Their dead predecessors stay on the graph, so every query is answered
    /// with yes. Each call does six checks of the endpoints and returns the reported changes.
    fn watched() -> impl FnMut(&[u8], &[u8]) -> Vec<bool> {
        let services: [Service; 2] = Default::default();
        let reported = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&reported);
        let probes = services.iter().zip(["goal", "result"]);
        let mut watch = Watch::new(
            probes.map(|(service, replies)| service.probe_named(replies)),
            move |present| sink.lock().unwrap().push(present),
        );
        move |goal: &[u8], result: &[u8]| {
            let writers = |topic: &str| {
                let of = if topic == "goal" { goal } else { result };
                of.iter().map(|gid| Gid::from([*gid])).collect()
            };
            for _ in 0..6 {
                watch.begin(&writers);
                services.iter().for_each(|service| service.poll(true));
                watch.end(&writers);
            }
            std::mem::take(&mut *reported.lock().unwrap())
        }
    }

    #[test]
    fn g6_a_server_that_was_killed_and_started_again_is_gone_and_back() {
        let mut check = watched();
        assert_eq!(check(&[1], &[2]), [true]);
        assert_eq!(check(&[1], &[2]), [false; 0]);
        assert_eq!(
            check(&[1, 3], &[2]),
            [false],
            "not all of the new one is known yet"
        );
        assert_eq!(check(&[1, 3], &[2, 4]), [true]);
        assert_eq!(
            check(&[3], &[4]),
            [false; 0],
            "the lease on the dead one has ended"
        );
        assert_eq!(check(&[3, 5], &[4, 6]), [false, true]);
    }

    #[test]
    fn g6_a_server_with_missing_endpoints_counts_as_present_after_a_while() {
        let mut check = watched();
        assert_eq!(
            check(&[1, 3], &[2]),
            [false; 0],
            "a dead one, and half of its successor"
        );
        assert_eq!(check(&[1, 3], &[2, 4]), [true]);
        assert_eq!(check(&[3, 5], &[4]), [false]);
        let reported: Vec<bool> = (0..MAX_INCOMPLETE).flat_map(|_| check(&[3, 5], &[4])).collect();
        assert_eq!(reported, [true]);
        assert_eq!(check(&[3, 5], &[4, 6]), [false, true]);
    }
}
