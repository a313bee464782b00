//! A tree in a virtual world.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::network::Behaviour;
use super::{Network, Plan};
use crate::bt::{HaltReason, NodeStatus, Object, PortValue, Registry, Resource, Time, Tree, TreeDef, Value};
use crate::goal::{Command, ServerId, Ticket};
use crate::msg::{Action, Pose, Service, Stamp, Transform, TransformStamped};
use crate::nav::{
    EndpointKind, Event, Form, Link, LinkError, Opened, Part, Payload, Settings, TopicId, TopicSpec,
    TransformError, World,
};
use crate::xml::Loader;

/// The robot's side of a [`Network`]. Like the real one, it sends commands when they are handed over.
struct BenchLink {
    network: Arc<Mutex<Network>>,
    outbox: Vec<Command<Payload>>,
    /// The messages, and whether they are sent after a halt of all leaves, too.
    publications: Vec<(TopicId, Payload, bool)>,
}

impl BenchLink {
    fn new(network: &Arc<Mutex<Network>>) -> Self {
        Self {
            network: Arc::clone(network),
            outbox: Vec::new(),
            publications: Vec::new(),
        }
    }
}

fn lock(network: &Mutex<Network>) -> MutexGuard<'_, Network> {
    network.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link for BenchLink {
    fn open(
        &mut self,
        kind: EndpointKind,
        name: &str,
        type_name: &str,
        _form: Form,
    ) -> Result<ServerId, LinkError> {
        if name.contains(' ') {
            return Err(LinkError::BadName(name.to_owned()));
        }
        Ok(lock(&self.network).open(kind, name, type_name))
    }

    fn hear(&mut self, server: ServerId) {
        lock(&self.network).hear(server);
    }

    fn subscribe(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        Ok(lock(&self.network).subscribe(topic))
    }

    fn advertise(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        Ok(lock(&self.network).topic(topic))
    }

    fn topic_fault(&self, topic: TopicId) -> Option<LinkError> {
        lock(&self.network).topic_fault(topic)
    }

    fn serve_trigger(&mut self, name: &str) -> Result<TopicId, LinkError> {
        let spec = TopicSpec::of_trigger(name);
        Ok(lock(&self.network).topic(&spec))
    }

    fn template(&self, part: Part, type_name: &str) -> Result<serde_json::Value, LinkError> {
        Ok(lock(&self.network).template(part, type_name))
    }

    fn close_unused(&mut self, in_use: &Opened) {
        lock(&self.network).close_unused(in_use);
    }

    fn forget(&mut self, topics: &[TopicId]) {
        lock(&self.network).forget(topics);
    }

    fn publish(&mut self, topic: TopicId, payload: Payload) {
        self.publications.push((topic, payload, false));
    }

    fn publish_always(&mut self, topic: TopicId, payload: Payload) {
        self.publications.push((topic, payload, true));
    }

    fn submit(&mut self, commands: &mut Vec<Command<Payload>>) {
        self.outbox.append(commands);
    }

    fn hand_over(&mut self) {
        if !self.outbox.is_empty() && !lock(&self.network).is_stalled {
            lock(&self.network).submit(&mut self.outbox);
        }
        if !self.publications.is_empty() {
            lock(&self.network).send(&mut self.publications);
        }
    }

    fn is_settled(&self, since: Ticket) -> bool {
        self.outbox.is_empty() && lock(&self.network).is_settled(since)
    }

    fn has_unhandled(&self) -> bool {
        !self.outbox.is_empty()
    }

    fn unsettled(&self, since: Ticket) -> Vec<String> {
        lock(&self.network).unsettled(since)
    }

    fn receive(&mut self, into: &mut Vec<Event>) {
        lock(&self.network).receive(into);
    }

    fn transform(
        &self,
        target: &str,
        source: &str,
        _at: Option<Stamp>,
    ) -> Result<TransformStamped, TransformError> {
        lock(&self.network).transform(target, source)
    }

    fn stamp(&self, _now: Time) -> Stamp {
        lock(&self.network).stamp()
    }

    fn parameter(&self, name: &str) -> Option<String> {
        lock(&self.network).parameter(name)
    }
}

/// One tree, its world, and the clock of both. Ticks are 10 ms apart unless [`Bench::period`] says otherwise.
pub struct Bench {
    /// The tree.
    pub tree: Tree,
    network: Arc<Mutex<Network>>,
    now: Time,
    period: Duration,
}

impl Bench {
    /// A tree from the text of its root node, or of a whole file, with all nodes of Nav2.
    pub fn new(xml: &str) -> Self {
        Self::with(xml, &crate::nav::registry(), Settings::default())
    }

    /// A tree with other node types or parameters. Servers must be added before the first tick; until then they are
    /// absent.
    #[expect(clippy::panic, reason = "a test's assertion")]
    pub fn with(xml: &str, registry: &Registry, settings: Settings) -> Self {
        let whole = if xml.contains("<root") {
            xml.to_owned()
        } else {
            format!(r#"<root BTCPP_format="4"><BehaviorTree ID="Test">{xml}</BehaviorTree></root>"#)
        };
        let loaded = Loader::new(registry).load_text("test.xml", &whole, std::path::Path::new("."), None);
        match loaded {
            Ok(loaded) => Self::of(loaded.def, settings),
            Err(refused) => panic!("{refused}"),
        }
    }

    /// A run of a definition.
    pub fn of(def: Arc<TreeDef>, settings: Settings) -> Self {
        let network = Arc::new(Mutex::new(Network::new()));
        let mut tree = Tree::new(def);
        tree.insert_resource(World::new(Box::new(BenchLink::new(&network)), settings));
        let now = Time::from_millis(1000);
        lock(&network).advance(now);
        if let Some(world) = tree.resource::<World>() {
            let order = world.settings.halt_order;
            tree.set_halt_order(order);
        }
        // The first tick of an unusable tree reports the error.
        let _ = tree.attach(now);
        Self {
            tree,
            network,
            now,
            period: Duration::from_millis(10),
        }
    }

    /// Goals and cancels in the order in which they were sent: `goal to spin`, `cancel to spin`.
    pub fn order(&self) -> Vec<String> {
        self.network().order().to_vec()
    }

    /// Another link to the same network, for a separate world.
    pub fn link(&self) -> Box<dyn Link> {
        Box::new(BenchLink::new(&self.network))
    }

    /// A function that halts all leaves from any thread, without notices to the leaves.
    #[cfg(test)]
    pub(crate) fn halting(&self) -> impl FnMut() + Send + 'static {
        let network = Arc::clone(&self.network);
        move || lock(&network).halt_all(HaltReason::GoalCanceled)
    }

    /// Sets the time between ticks, milliseconds.
    #[must_use]
    pub fn period(mut self, milliseconds: u64) -> Self {
        self.period = Duration::from_millis(milliseconds);
        self
    }

    fn network(&self) -> MutexGuard<'_, Network> {
        lock(&self.network)
    }

    // --- the world -----------------------------------------------------------------------------------------------

    /// Adds an action server, or replaces its behavior.
    pub fn action<A: Action>(
        &mut self,
        name: &str,
        mut plan: impl FnMut(&A::Goal) -> Plan<A> + Send + 'static,
    ) {
        let act = move |payload: &Payload| match payload.get::<A::Goal>() {
            Some(goal) => plan(goal).script(),
            None => Plan::<A>::reject().script(),
        };
        self.network()
            .set_behaviour(name, Behaviour::Action(Box::new(act)));
    }

    /// Delays commands to the GoalTracker by this many milliseconds. It handles events that arrive meanwhile first.
    pub fn delay_commands(&mut self, milliseconds: u64) {
        self.network().delay_commands(Duration::from_millis(milliseconds));
    }

    /// Delays the status lists of all servers by this many milliseconds.
    #[cfg(test)]
    pub fn delay_statuses(&mut self, milliseconds: u64) {
        self.network().delay_statuses(Duration::from_millis(milliseconds));
    }

    /// Delays cancel requests from now on by this many milliseconds.
    #[cfg(test)]
    pub fn delay_cancels(&mut self, milliseconds: u64) {
        self.network().delay_cancels(Duration::from_millis(milliseconds));
    }

    /// Keeps all commands from the GoalTracker, as if its thread had stalled.
    #[cfg(test)]
    pub(crate) fn stall(&mut self) {
        self.network().is_stalled = true;
    }

    /// Adds a service, or replaces its behavior; `None` means no response.
    pub fn service<S: Service>(
        &mut self,
        name: &str,
        answer: impl FnMut(&S::Request) -> Option<S::Response> + Send + 'static,
    ) {
        self.slow_service::<S>(name, 0, answer);
    }

    /// Like [`Bench::service`]; each response arrives this many milliseconds after its request.
    pub fn slow_service<S: Service>(
        &mut self,
        name: &str,
        milliseconds: u64,
        mut answer: impl FnMut(&S::Request) -> Option<S::Response> + Send + 'static,
    ) {
        let answer = move |payload: &Payload| {
            let response = answer(payload.get::<S::Request>()?)?;
            Some((Duration::from_millis(milliseconds), Payload::new(response)))
        };
        self.network()
            .set_behaviour(name, Behaviour::Service(Box::new(answer)));
    }

    /// Removes a server.
    pub fn remove_server(&mut self, name: &str) {
        self.network().remove_server(name);
    }

    /// Publishes a message to all subscribers.
    pub fn publish<T: Send + Sync + 'static>(&mut self, topic: &str, message: T) {
        self.network().publish(topic, &Payload::new(message));
    }

    /// Ends topics that no tree uses at once, and not some time later.
    pub fn close_topics_at_once(&mut self) {
        self.network().close_topics_at_once();
    }

    /// Whether a topic, or a service that trees serve, is open.
    pub fn is_open(&self, topic: &str) -> bool {
        self.network().is_open(topic)
    }

    /// Whether a tree used a server when something was closed for the last time.
    pub fn is_server_used(&self, server: &str) -> bool {
        self.network().is_server_used(server)
    }

    /// Sets the type with which others publish a topic; `None` removes it.
    pub fn foreign_type(&mut self, topic: &str, type_name: Option<&str>) {
        self.network().set_foreign_type(topic, type_name);
    }

    /// Sets the transform of a frame, with the current time.
    pub fn transform(&mut self, parent: &str, child: &str, pose: Pose) {
        let stamp = self.network().stamp();
        self.network()
            .set_transform(parent, child, Transform::from_pose(&pose), stamp);
    }

    /// Number of lookups of transforms.
    pub fn transform_lookups(&self) -> usize {
        self.network().transform_lookups()
    }

    /// Removes all frames.
    pub fn forget_transforms(&mut self) {
        self.network().forget_transforms();
    }

    /// Sets a parameter of the node.
    pub fn parameter(&mut self, name: &str, value: &str) {
        self.network().set_parameter(name, value);
    }

    /// Sets the message templates of the tree's link, and attaches the tree again.
    pub fn interfaces<const N: usize>(&mut self, templates: [(Part, &str, serde_json::Value); N]) {
        for (part, type_name, template) in templates {
            self.network().set_template(part, type_name, template);
        }
        let now = self.now;
        let _ = self.tree.attach(now);
    }

    /// Sets how far the clock of the servers is ahead of the node's.
    pub fn set_server_clock_ahead(&mut self, by: Duration) {
        self.network().clock_ahead = by;
    }

    /// Another client sends a goal.
    pub fn foreign_goal<A: Action>(&mut self, name: &str, plan: Plan<A>) {
        self.network().foreign_goal(name, plan.script());
    }

    /// Another client cancels all goals of a server.
    pub fn foreign_cancel(&mut self, name: &str) {
        self.network().foreign_cancel(name);
    }

    /// Like [`Bench::foreign_cancel`], after this many milliseconds.
    pub fn foreign_cancel_after(&mut self, name: &str, milliseconds: u64) {
        self.network()
            .foreign_cancel_after(name, Duration::from_millis(milliseconds));
    }

    /// The goals that a server was sent, in order.
    pub fn goals<A: Action>(&self, name: &str) -> Vec<A::Goal> {
        Self::payloads(&self.network().requests(name))
    }

    /// The requests that a service was sent, in order.
    pub fn requests<S: Service>(&self, name: &str) -> Vec<S::Request> {
        Self::payloads(&self.network().requests(name))
    }

    fn payloads<T: Clone + Send + Sync + 'static>(payloads: &[Payload]) -> Vec<T> {
        payloads
            .iter()
            .filter_map(|payload| payload.get().cloned())
            .collect()
    }

    /// The number of cancel requests sent to a server.
    pub fn cancels(&self, name: &str) -> usize {
        self.network().cancels(name)
    }

    /// The number of active goals of a server.
    pub fn active(&self, name: &str) -> usize {
        self.network().active(name)
    }

    /// The interface of the last open request for a server.
    pub fn type_of(&self, name: &str) -> Option<String> {
        self.network().type_of(name).map(str::to_owned)
    }

    /// The messages that the tree published on a topic.
    pub fn published<T: Clone + Send + Sync + 'static>(&self, topic: &str) -> Vec<T> {
        Self::payloads(&self.network().published(topic))
    }

    /// The requested topics.
    pub fn topics(&self) -> Vec<TopicSpec> {
        self.network().topics().to_vec()
    }

    /// The reports of the GoalTracker since the last call.
    pub fn reports(&mut self) -> Vec<String> {
        self.network().take_reports()
    }

    /// The log messages of leaves since the last call.
    pub fn notes(&mut self) -> Vec<String> {
        self.world()
            .take_notes()
            .into_iter()
            .map(|note| note.text)
            .collect()
    }

    /// The faults found when the tree got its world.
    pub fn faults(&mut self) -> Vec<String> {
        self.world()
            .take_faults()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    /// The world as nodes see it.
    #[expect(clippy::panic, reason = "a test's assertion")]
    pub fn world(&mut self) -> &mut World {
        match self.tree.resource() {
            Some(world) => world,
            None => panic!("the tree has its world"),
        }
    }

    // --- the tree ------------------------------------------------------------------------------------------------

    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Advances the time without a tick, in milliseconds.
    pub fn wait(&mut self, milliseconds: u64) {
        self.now = self.now + Duration::from_millis(milliseconds);
        let now = self.now;
        self.network().advance(now);
    }

    /// Ticks, then advances the time by a period.
    #[expect(clippy::panic, reason = "a test's assertion")]
    pub fn tick(&mut self) -> NodeStatus {
        match self.try_tick() {
            Ok(status) => status,
            Err(error) => panic!("{error}"),
        }
    }

    /// Like [`Bench::tick`], for trees that raise errors.
    ///
    /// # Errors
    /// The error of the tree.
    pub fn try_tick(&mut self) -> Result<NodeStatus, crate::bt::TickError> {
        let now = self.now;
        self.network().advance(now);
        let result = self.tree.tick(now);
        self.hand_over();
        self.now = self.now + self.period;
        let now = self.now;
        self.network().advance(now);
        result
    }

    /// Ticks until the tree has completed, at most `most` times; [`NodeStatus::Running`] if it has not completed.
    pub fn run(&mut self, most: usize) -> NodeStatus {
        for _ in 0..most {
            let status = self.tick();
            if status != NodeStatus::Running {
                return status;
            }
        }
        NodeStatus::Running
    }

    /// The status letters of this many ticks: `RRS`.
    pub fn letters(&mut self, ticks: usize) -> String {
        (0..ticks).map(|_| self.tick().letter()).collect()
    }

    /// Ends the run.
    pub fn halt(&mut self) {
        let now = self.now;
        self.tree.halt(HaltReason::GoalCanceled, now);
        self.hand_over();
        self.network().advance(now);
    }

    /// Sends the commands of the tree, as a navigator does after each tick.
    fn hand_over(&mut self) {
        if let Some(world) = self.tree.resource::<World>() {
            world.hand_over();
        }
    }

    /// Writes a key of the main tree.
    #[expect(clippy::panic, reason = "a test's assertion")]
    pub fn set<T: PortValue>(&mut self, key: &str, value: T) {
        if let Err(clash) = self.tree.set(key, value) {
            panic!("{key}: {clash}");
        }
    }

    /// An object of the main tree's blackboard.
    pub fn object<T: Object>(&self, key: &str) -> Option<Arc<T>> {
        self.tree.get(key)?.downcast()
    }

    /// A value of the main tree's blackboard.
    pub fn get<T: PortValue>(&self, key: &str) -> Option<T> {
        T::from_value(self.tree.get(key)?).ok()
    }

    /// The number of recoveries.
    pub fn recoveries(&self) -> i64 {
        match self.tree.get("number_recoveries") {
            Some(Value::Int(count)) => *count,
            _ => 0,
        }
    }

    /// The status of the first node with this name or ID.
    #[expect(clippy::panic, reason = "a test's assertion")]
    pub fn status(&self, name: &str) -> NodeStatus {
        let def = Arc::clone(self.tree.definition());
        let found = def.nodes().find(|(_, info)| &*info.name == name);
        match found {
            Some((node, _)) => self.tree.status(node),
            None => panic!("there is no node `{name}`"),
        }
    }
}
