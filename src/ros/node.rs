//! The node as the closures see it that run on its thread: how entities are made.

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

/// How long the node that listens may take for a subscription.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is due at this or a longer period may be done a quarter of it early.
const PATIENT_PERIOD: Duration = Duration::from_secs(1);

/// What is done after each spin: takes what has arrived for one entity, and says whether there was anything.
type Drain = Box<dyn FnMut() -> bool + Send>;

/// A look at the graph, which says whether there is a reason to look again soon.
type Look = Box<dyn FnMut(&r2r::Node) -> bool + Send>;

/// The node, on the thread that owns it. Everything that makes an entity goes through here, because r2r takes
/// `&mut Node` for it, and r2r never destroys an entity: what is made here stays until the process ends. Callers
/// share entities by name (see [`super::RosLink`]).
///
/// Topics may be listened to by another node (see [`super::Executor::start`]). The callbacks of all entities of a node run
/// on its thread, one after the other, right after the spin that took the message:
/// r2r queues eleven messages an entity and drops the newest when nobody reads them, and here a queue never holds
/// more than one. A callback must not wait; it converts and hands on.
pub struct RosNode {
    node: r2r::Node,
    names: Names,
    /// Where topics are listened to instead of here.
    listener: Option<NodeThread>,
    drains: Vec<Drain>,
    types: TypeDescriptions,
    watches: Vec<Watch>,
    timers: Vec<Timer>,
    /// When servers are looked for again, from when on where the thread is awake anyway, and until when that is done in
    /// haste.
    next_look: Instant,
    may_look_at: Instant,
    hasty_until: Instant,
    /// Looks at the graph for servers that may have a goal; each says whether its server has one.
    looks: Vec<Look>,
    next_busy_look: Instant,
    is_busy: bool,
}

/// Something done every so often, which says itself when it is due again.
struct Timer {
    period: Duration,
    next: Instant,
    trigger: TimerTrigger,
    act: Box<dyn FnMut(&r2r::Node) -> Duration + Send>,
}

/// Makes something due, from any thread: it is done when the node's thread is awake next.
#[derive(Clone, Default, Debug)]
pub struct TimerTrigger(Arc<AtomicBool>);

impl TimerTrigger {
    /// It is due.
    pub fn give(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn take(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}

impl Timer {
    /// From when on it is done where the thread is awake anyway. What is due every second does without wakes of its own
    /// so: three of them woke an idle node more often than the looks for servers.
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
            next_look: Instant::now(),
            may_look_at: Instant::now(),
            hasty_until: Instant::now(),
            looks: Vec::new(),
            next_busy_look: Instant::now(),
            is_busy: false,
        }
    }

    /// The node itself, for what has no method here.
    pub fn r2r(&mut self) -> &mut r2r::Node {
        &mut self.node
    }

    /// The node itself, for what only looks.
    pub fn looker(&self) -> &r2r::Node {
        &self.node
    }

    /// The types of its topics and services, also where another node listens to them.
    pub(super) fn types(&self) -> &TypeDescriptions {
        &self.types
    }

    /// Has another node listen to the topics that are subscribed to from now on. That its thread is waited for is no
    /// danger: it waits for nobody.
    pub(super) fn listen_through(&mut self, listener: &NodeThread) {
        self.listener = Some(listener.clone());
    }

    /// A topic as this node calls it, in words that mean the same to the one that listens.
    fn own_name(&self, topic: &str) -> String {
        if topic.starts_with('~') {
            self.names.expand(topic)
        } else {
            topic.to_owned()
        }
    }

    /// How many servers on the graph answer as a service, those that are dead and still there included.
    pub(super) fn servers(&self, service: &str) -> usize {
        writers(&self.node, &self.names.reply_topic(service)).len()
    }

    /// Subscribes; `callback` gets every message that is taken, on the thread that listens.
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

    /// Subscribes to a type that room `msg` knows, with the middleware's default service quality. A message with a text
    /// that would not come as it was sent is not taken.
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

    /// Subscribes to a type that is known by name only.
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
        // A message that has no JSON form cannot be passed on; r2r's only reason is a number that is none.
        self.drain(stream, move |message| {
            if let Ok(message) = message {
                callback(message);
            }
        });
        Ok(())
    }

    /// Serves a service; `callback` gets every request and answers it, then or later, from any thread.
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

    /// A publisher. Its messages may be sent from any one thread at a time.
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

    /// A service client, with what is needed to watch whether its server is there.
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
        let answers = QosProfile::services_default().keep_last(MOST_ANSWERS);
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

    /// Watches the servers of some clients: `callback` is told when all of them are there, and when one is not any
    /// more. Nobody is there until it says so.
    pub fn watch(
        &mut self,
        probes: impl IntoIterator<Item = Probe>,
        callback: impl FnMut(bool) + Send + 'static,
    ) {
        self.watches.push(Watch::new(probes, callback));
        self.look_hastily();
    }

    /// Watches the publishers of a server's topic while the server is `busy`: `changed` is called when there is one that was
    /// not there at the look before, or none any more. The node that listens looks: it is awake most often, and a look costs
    /// it little. What has happened to the server is for [`RosNode::watch`], which looks seldom without such a hint.
    ///
    /// # Errors
    /// [`RosError`] where that node does not answer.
    pub(super) fn watch_publishers(
        &mut self,
        topic: &str,
        busy: impl Fn() -> bool + Send + 'static,
        changed: impl Fn() + Send + 'static,
    ) -> Result<(), RosError> {
        let topic = self.names.topic(topic);
        let mut known = None;
        let look = move |node: &r2r::Node| {
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
            Some(listener) => listener.ask(PATIENCE, move |node| node.looks.push(Box::new(look))),
            None => {
                self.looks.push(Box::new(look));
                Ok(())
            }
        }
    }

    /// Looks for servers that have a goal.
    fn look_at_busy(&mut self, now: Instant) {
        self.is_busy = false;
        for look in &mut self.looks {
            self.is_busy |= look(&self.node);
        }
        self.next_busy_look = now + BUSY_LOOK;
    }

    /// Has something done every so often; with a period of zero after every spin, however long the next one waits.
    pub fn every(&mut self, period: Duration, mut act: impl FnMut() + Send + 'static) {
        self.every_look(period, move |_| act());
    }

    /// The same for what looks at the node, and at the graph through it.
    pub fn every_look(&mut self, period: Duration, mut act: impl FnMut(&r2r::Node) + Send + 'static) {
        self.timer(period, TimerTrigger::default(), move |node| {
            act(node);
            period
        });
    }

    /// Has something done that says each time when it is due again, and can be made due earlier.
    pub fn whenever_due(
        &mut self,
        first: Duration,
        trigger: TimerTrigger,
        mut act: impl FnMut() -> Duration + Send + 'static,
    ) {
        self.timer(first, trigger, move |_| act());
    }

    /// The same for what looks at the node, and at the graph through it.
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

    /// How long a spin may wait before something is due.
    fn patience(&self, now: Instant) -> Duration {
        let timers = self.timers.iter().filter(|timer| !timer.period.is_zero());
        let due = timers.map(|timer| timer.next);
        let look = (!self.watches.is_empty()).then_some(self.next_look);
        let busy = self.is_busy.then_some(self.next_busy_look);
        due.chain(look)
            .chain(busy)
            .min()
            .map_or(Duration::MAX, |due| due.saturating_duration_since(now))
    }

    /// One spin from `now` on, which waits for `most` at the longest, and everything that it brought. How long it was
    /// allowed to wait, and whether it brought anything.
    pub(super) fn spin(&mut self, now: Instant, most: Duration) -> (Duration, bool) {
        let mut most = most;
        if self.may_look_at <= now {
            let hasty = now < self.hasty_until;
            self.next_look = now + if hasty { HASTY_LOOK } else { LOOK };
            self.may_look_at = now + if hasty { HASTY_LOOK } else { EARLY_LOOK };
            let writers = |topic: &str| writers(&self.node, topic);
            let mut replaced = false;
            for watch in &mut self.watches {
                replaced |= watch.begin(&writers);
            }
            if replaced {
                self.look_hastily();
            }
            // Somebody may be waiting for a server that is not there: the answer is heard at once. That one is still there
            // can be heard when the wait is over, which saves a second wait set a look.
            if self.watches.iter().any(|watch| !watch.present) {
                most = Duration::ZERO;
            }
        }
        if self.next_busy_look <= now {
            self.look_at_busy(now);
        }
        let timeout = self.patience(now).min(most);
        self.node.spin_once(timeout);
        // First what a server has said, then that it is gone: who sends a result and ends has sent a result.
        let mut any = false;
        for drain in &mut self.drains {
            any |= drain();
        }
        let mut gone = false;
        let writers = |topic: &str| writers(&self.node, topic);
        for watch in &mut self.watches {
            match watch.end(&writers) {
                Found::Nothing | Found::Change(true) => {}
                Found::Hint => (self.next_look, self.may_look_at) = (now, now),
                Found::Change(false) => gone = true,
            }
        }
        if gone {
            self.look_hastily();
        }
        self.run_due_timers();
        (timeout, any)
    }

    /// A server was opened or lost, and somebody may be waiting for it.
    pub(super) fn look_hastily(&mut self) {
        let now = Instant::now();
        self.next_look = now;
        self.may_look_at = now;
        self.hasty_until = now + HASTE;
    }

    /// What is due every so often.
    fn run_due_timers(&mut self) {
        let now = Instant::now();
        for timer in &mut self.timers {
            if timer.trigger.take() || timer.may_be_done_at() <= now {
                timer.period = (timer.act)(&self.node);
                timer.next = now + timer.period;
            }
        }
    }

    /// How many entities deliver something here.
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

/// Identifies an endpoint among all that ever were.
pub(super) type Gid = Box<[u8]>;

/// The endpoints that write to a DDS topic. Empty where they cannot be known.
fn writers(node: &r2r::Node, topic: &str) -> BTreeSet<Gid> {
    let infos = node.get_publishers_info_by_topic(topic, true).unwrap_or_default();
    infos
        .into_iter()
        .map(|info| Gid::from(info.endpoint_gid))
        .collect()
}

type Register = Box<dyn Fn() -> Option<BoxFuture<'static, bool>> + Send>;

/// How to ask whether the server of one client is there, and which one.
pub struct Probe {
    register: Register,
    /// The DDS topic on which the server answers.
    replies: String,
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Probe")
    }
}

/// So many answers to one client may come at once: r2r takes one a spin, and what is dropped meanwhile it waits for as long as
/// the process lives. A goal that ends is answered all questions for its result, and twenty leaves may call one service.
const MOST_ANSWERS: usize = 1000;

/// How often servers are looked for. What is found is known when the spin ends that asked: a server that shuts down is
/// missed within twice this, which is less than a server may take to answer by default; one that is killed when the
/// middleware's lease on it ends. Every look wakes the thread: ten a second were 0.3 % of a core.
const LOOK: Duration = Duration::from_millis(400);
/// The same where the thread is awake for something else: a look costs little then.
const EARLY_LOOK: Duration = Duration::from_millis(250);
/// The same for servers that have a goal.
const BUSY_LOOK: Duration = Duration::from_millis(100);
/// The same for a while after a server was opened or lost: a goal may be waiting for it.
const HASTY_LOOK: Duration = Duration::from_millis(10);
/// How often a server is looked for that answers and lacks endpoints: half a second of looks in haste.
const MOST_INCOMPLETE: u32 = 50;
/// How long "a while" is.
const HASTE: Duration = Duration::from_secs(5);

/// r2r only tells "became available", and only at the start of a spin. So a question that the next spin has not
/// answered means no. It stays asked, because another would be added to it, not take its place.
struct ProbeState {
    probe: Probe,
    pending: Option<BoxFuture<'static, bool>>,
    present: bool,
    /// Who answered when the server was last found.
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

    /// Whether someone answers who did not when the server was found.
    fn is_replaced(&self, writers: Writers<'_>) -> bool {
        !self.known.is_empty() && !writers(&self.probe.replies).is_subset(&self.known)
    }

    /// Whether it was answered with a yes. Where it was asked and was not, the server is not there.
    fn hear(&mut self) -> bool {
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

/// Looks for the endpoints of a DDS topic.
type Writers<'a> = &'a dyn Fn(&str) -> BTreeSet<Gid>;

/// Each question takes a walk through everything on the graph, and one that stays asked takes it with every spin: with
/// all three of every absent server it was half of what the node used. So one stands for all, in turn, until it is
/// answered otherwise than before.
///
/// A server that is killed and started again is never absent: the graph keeps the endpoints of the dead one until its
/// lease ends, 20 s by default. So an endpoint that is new counts as a server that has gone and come back: what the dead
/// one was asked is not answered any more.
struct Watch {
    probes: Vec<ProbeState>,
    turn: usize,
    present: bool,
    /// Looks at which all questions were answered with a yes, and endpoints were missing.
    incomplete: u32,
    callback: Box<dyn FnMut(bool) + Send>,
}

/// What [`Watch::end`] has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    Nothing,
    /// There is more to ask at once.
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

    fn is_asking(&self) -> bool {
        self.probes.iter().any(|probe| probe.pending.is_some())
    }

    /// Asks the next question. Whether the server was found to be another one than before.
    fn begin(&mut self, writers: Writers<'_>) -> bool {
        if self.is_asking() || self.probes.is_empty() {
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
            // One is gone: the others are to be found again.
            self.probes.iter_mut().for_each(|probe| probe.present = false);
        }
        (self.callback)(present);
    }

    /// Whether all endpoints of the server are known that is there now; they are remembered then. One after the other is
    /// discovered, and those of a dead one hide that some are missing. Where some stay missing, the server counts as whole
    /// all the same after [`MOST_INCOMPLETE`] looks.
    fn is_whole(&mut self, writers: Writers<'_>) -> bool {
        let current = self.probes.iter().map(|probe| writers(&probe.probe.replies));
        let current: Vec<_> = current.collect();
        let mut counts = current.iter().map(BTreeSet::len).filter(|count| *count > 0);
        let first = counts.next();
        let equal = counts.all(|count| Some(count) == first);
        if !equal && self.incomplete < MOST_INCOMPLETE {
            self.incomplete += 1;
            // To be asked again.
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
            answered |= probe.hear();
        }
        let mut present = self.probes.iter().all(|probe| probe.present);
        if present && !self.present {
            present = self.is_whole(writers);
            if !present {
                return Found::Nothing;
            }
        }
        if present != self.present {
            self.change(present);
            return Found::Change(present);
        }
        if answered && !present && !self.is_asking() {
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

    /// What r2r does with a service: keeps who asked, and tells them when it is there.
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
    fn one_question_stands_for_all_and_none_is_asked_twice() {
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

    /// A watch of a server with two services, whose dead predecessors stay on the graph, so that every question is
    /// answered with a yes; in each call six looks at endpoints, and what was told.
    fn watched() -> impl FnMut(&[u8], &[u8]) -> Vec<bool> {
        let services: [Service; 2] = Default::default();
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = Arc::clone(&told);
        let probes = services.iter().zip(["goal", "result"]);
        let mut watch = Watch::new(
            probes.map(|(service, replies)| service.probe_named(replies)),
            move |present| tell.lock().unwrap().push(present),
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
            std::mem::take(&mut *told.lock().unwrap())
        }
    }

    #[test]
    fn g6_a_server_that_was_killed_and_started_again_is_gone_and_back() {
        let mut looks = watched();
        assert_eq!(looks(&[1], &[2]), [true]);
        assert_eq!(looks(&[1], &[2]), [false; 0]);
        assert_eq!(
            looks(&[1, 3], &[2]),
            [false],
            "not all of the new one is known yet"
        );
        assert_eq!(looks(&[1, 3], &[2, 4]), [true]);
        assert_eq!(
            looks(&[3], &[4]),
            [false; 0],
            "the lease on the dead one has ended"
        );
        assert_eq!(looks(&[3, 5], &[4, 6]), [false, true]);
    }

    #[test]
    fn g6_a_server_whose_endpoints_never_become_whole_is_there_all_the_same() {
        let mut looks = watched();
        assert_eq!(
            looks(&[1, 3], &[2]),
            [false; 0],
            "a dead one, and half of its successor"
        );
        assert_eq!(looks(&[1, 3], &[2, 4]), [true]);
        assert_eq!(looks(&[3, 5], &[4]), [false]);
        let told: Vec<bool> = (0..MOST_INCOMPLETE).flat_map(|_| looks(&[3, 5], &[4])).collect();
        assert_eq!(told, [true]);
        assert_eq!(looks(&[3, 5], &[4, 6]), [false, true]);
    }
}
