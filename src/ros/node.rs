//! The node as the closures see it that run on its thread: how entities are made.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt};
use r2r::{Publisher, QosProfile, ServiceRequest, WrappedServiceTypeSupport, WrappedTypesupport};

use super::caller::Sender;
use super::{Caller, RosError};

/// What is done after each spin: takes what has arrived for one entity, and says whether there was anything.
type Drain = Box<dyn FnMut() -> bool + Send>;

/// The node, on the thread that owns it. Everything that makes an entity goes through here, because r2r takes
/// `&mut Node` for it, and r2r never destroys an entity: what is made here stays until the process ends. Callers
/// share entities by name (see [`super::RosLink`]).
///
/// The callbacks of all entities run on this thread, one after the other, right after the spin that took the message:
/// r2r queues eleven messages an entity and drops the newest when nobody reads them, and here a queue never holds
/// more than one. A callback must not wait; it converts and hands on.
pub struct RosNode {
    node: r2r::Node,
    drains: Vec<Drain>,
    watches: Vec<Watch>,
    chores: Vec<Chore>,
    /// Somebody may have made entities that are not in the lists above.
    foreign: bool,
}

/// Something done every so often.
struct Chore {
    period: Duration,
    next: Instant,
    act: Box<dyn FnMut() + Send>,
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
            node,
            drains: Vec::new(),
            watches: Vec::new(),
            chores: Vec::new(),
            foreign: false,
        }
    }

    /// The node itself, for what has no method here.
    pub fn r2r(&mut self) -> &mut r2r::Node {
        self.foreign = true;
        &mut self.node
    }

    /// Subscribes; `callback` gets every message that is taken.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub fn subscribe<T: WrappedTypesupport + Send + 'static>(
        &mut self,
        topic: &str,
        qos: QosProfile,
        callback: impl FnMut(T) + Send + 'static,
    ) -> Result<(), RosError> {
        let stream = self
            .node
            .subscribe::<T>(topic, qos)
            .map_err(|error| entity("subscription", topic, &error))?;
        self.drain(stream, callback);
        Ok(())
    }

    /// Subscribes to a type that room `msg` knows, with the middleware's default service quality.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub fn subscribe_topic<T: super::mirror::TopicType>(
        &mut self,
        topic: &str,
        mut callback: impl FnMut(T::Payload) + Send + 'static,
    ) -> Result<(), RosError> {
        self.subscribe::<T::Wire>(topic, QosProfile::default(), move |message| {
            callback(T::from_wire(message));
        })
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
        let client = self
            .node
            .create_client::<S>(name, QosProfile::services_default())
            .map_err(|error| entity("client", name, &error))?;
        let client = Arc::new(client);
        let probe = Arc::clone(&client);
        let probe = Box::new(move || {
            r2r::Node::is_available(&*probe)
                .ok()
                .map(|future| future.map(|answer| answer.is_ok()).boxed())
        });
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
        self.watches.push(Watch {
            probes: probes.into_iter().map(ProbeState::new).collect(),
            present: false,
            callback: Box::new(callback),
        });
    }

    /// Has something done every so often, give or take a spin.
    pub fn every(&mut self, period: Duration, act: impl FnMut() + Send + 'static) {
        self.chores.push(Chore {
            period,
            next: Instant::now() + period,
            act: Box::new(act),
        });
    }

    fn caller<R: Send + 'static>(&mut self, send: Sender<R>, probe: Register) -> Caller<R> {
        let caller = Caller::new(send, Some(Probe(probe)));
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

    /// One spin, and everything that it brought. Whether it brought anything.
    pub(super) fn spin(&mut self, timeout: Duration) -> bool {
        let now = Instant::now();
        for watch in &mut self.watches {
            watch.begin(now);
        }
        self.node.spin_once(timeout);
        for watch in &mut self.watches {
            watch.end();
        }
        let mut any = false;
        for drain in &mut self.drains {
            any |= drain();
        }
        self.do_chores();
        any
    }

    /// What is due every so often.
    pub(super) fn do_chores(&mut self) {
        let now = Instant::now();
        for chore in &mut self.chores {
            if chore.next <= now {
                chore.next = now + chore.period;
                (chore.act)();
            }
        }
    }

    /// Whether there is nothing that a spin could wait for.
    pub(super) fn is_empty(&self) -> bool {
        self.drains.is_empty() && !self.foreign
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

type Register = Box<dyn Fn() -> Option<BoxFuture<'static, bool>> + Send>;

/// How to ask whether the server of one client is there.
pub struct Probe(Register);

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Probe")
    }
}

/// How often a server that is there is looked for. It is the bound within which a server that shuts down is missed;
/// one that is killed is missed when the middleware's lease on it ends.
const PROBE_PERIOD: Duration = Duration::from_millis(100);

/// r2r only tells "became available", and only at the start of a spin. So a question that the next spin has not
/// answered means no. It stays asked, because another would be added to it, not take its place.
struct ProbeState {
    register: Register,
    pending: Option<BoxFuture<'static, bool>>,
    next: Option<Instant>,
    present: bool,
}

impl ProbeState {
    fn new(probe: Probe) -> Self {
        Self {
            register: probe.0,
            pending: None,
            next: None,
            present: false,
        }
    }

    fn begin(&mut self, now: Instant) {
        if self.pending.is_none() && self.next.is_none_or(|next| next <= now) {
            self.pending = (self.register)();
            self.next = Some(now + PROBE_PERIOD);
        }
    }

    fn end(&mut self) {
        if let Some(pending) = &mut self.pending {
            match pending.now_or_never() {
                Some(present) => {
                    self.pending = None;
                    self.present = present;
                }
                None => self.present = false,
            }
        }
    }
}

struct Watch {
    probes: Vec<ProbeState>,
    present: bool,
    callback: Box<dyn FnMut(bool) + Send>,
}

impl Watch {
    fn begin(&mut self, now: Instant) {
        for probe in &mut self.probes {
            probe.begin(now);
        }
    }

    fn end(&mut self) {
        let mut present = true;
        for probe in &mut self.probes {
            probe.end();
            present &= probe.present;
        }
        if present != self.present {
            self.present = present;
            (self.callback)(present);
        }
    }
}
