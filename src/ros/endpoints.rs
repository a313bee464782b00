//! The endpoints of trees: clients, subscriptions, publishers and services, each opened once and shared.

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::endpoint_table::EndpointTable;
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
    table: Arc<Mutex<EndpointTable>>,
    adopt: Option<Duration>,
    types: TopicTypes,
    next_link: Arc<AtomicU16>,
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
            table: Arc::default(),
            adopt,
            types: TopicTypes::default(),
            next_link: Arc::new(AtomicU16::new(1)),
        };
        let closing = endpoints.clone();
        endpoints
            .ros()
            .post(move |node| node.every(Duration::ZERO, move || closing.close_next_expired(Instant::now())));
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
        self.adopt.is_some()
    }

    /// Whether the action server with this name on the graph is open.
    pub(super) fn has_action(&self, name: &str) -> bool {
        let server = format!("{name}/_action/send_goal");
        let table = self.lock();
        let mut open = table.servers.keys();
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
        let table = self.lock();
        let has_user = self
            .of_other_type(&table, topic)
            .iter()
            .any(|id| !table.is_unused(*id));
        drop(table);
        // Only a tree that is taken into use closes endpoints without a user (guarantee G7).
        self.types.try_on(self.ros(), topic, has_user)
    }

    /// The known fault of a topic.
    pub(super) fn topic_fault(&self, topic: &TopicSpec) -> Option<LinkError> {
        self.types.clash(self.ros(), topic)
    }

    fn lock(&self) -> MutexGuard<'_, EndpointTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a server for one more user.
    pub(super) fn open(&self, kind: EndpointKind, name: &str, type_name: &str) -> ServerId {
        let mut table = self.lock();
        let key = (kind, self.ros().server(kind, name), type_name.to_owned());
        if let Some(server) = table.servers.get(&key).copied() {
            table.uses.begin(server.0);
            return server;
        }
        let server = ServerId(table.next_number());
        table.uses.begin(server.0);
        table.servers.insert(key, server);
        drop(table);

        let inputs = self.goal_tracker.inputs().clone();
        inputs.send(Input::Named(server, name.into()));
        if let (EndpointKind::Action, Some(window)) = (kind, self.adopt) {
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
        let table = self.lock();
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
        Ok(self.join(table, topic, inbox, deliver))
    }

    /// Delivers the messages of these topics to `inbox` no more, until it subscribes again.
    pub(super) fn leave(&self, topics: &[TopicId], inbox: &Arc<Inbox>) {
        let table = self.lock();
        let left = table.subscriptions.values().filter(|(id, _)| topics.contains(id));
        left.for_each(|(_, subscription)| subscription.leave(inbox));
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
        self.join(self.lock(), topic, inbox, answer)
    }

    /// Adds a reader to a subscription. If it is new, `create` returns what creates its entity.
    fn join<C, E>(
        &self,
        mut table: MutexGuard<'_, EndpointTable>,
        topic: &TopicSpec,
        inbox: &Arc<Inbox>,
        create: impl FnOnce(&TopicSpec, TopicId, Arc<SharedSubscription>) -> C,
    ) -> TopicId
    where
        C: FnMut(&mut RosNode) -> Result<(), E> + Send + 'static,
        E: std::fmt::Display,
    {
        if let Some((id, subscription)) = table.subscriptions.get(topic) {
            let id = *id;
            subscription.join(id, topic, inbox);
            table.uses.begin(id.0);
            return id;
        }
        let id = TopicId(table.next_number());
        table.uses.begin(id.0);
        let subscription = Arc::new(SharedSubscription::default());
        subscription.join(id, topic, inbox);
        table
            .subscriptions
            .insert(topic.clone(), (id, Arc::clone(&subscription)));
        drop(table);
        self.create(id.0, &topic.name, create(topic, id, subscription));
        id
    }

    /// Creates a publisher for one more user.
    ///
    /// # Errors
    /// [`LinkError::OtherType`].
    pub(super) fn advertise(&self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        self.close_unused_of_other_type(topic);
        let mut table = self.lock();
        self.types.take(self.ros(), topic)?;
        if let Some(id) = table.publishers.get(topic).copied() {
            table.uses.begin(id.0);
            return Ok(id);
        }
        let id = TopicId(table.next_number());
        table.uses.begin(id.0);
        table.publishers.insert(topic.clone(), id);
        drop(table);
        let inputs = self.goal_tracker.inputs().clone();
        inputs.send(Input::Advertised(id, Arc::clone(&topic.name)));
        let spec = topic.clone();
        self.create(id.0, &topic.name, move |node| {
            interfaces::advertise(node, &spec).map(|publisher| inputs.send(Input::Publisher(id, publisher)))
        });
        Ok(id)
    }

    /// Creates the entities of an endpoint on the node's thread, and tries again later if that fails: all later trees share
    /// it.
    fn create<E: std::fmt::Display>(
        &self,
        endpoint: u32,
        name: &str,
        mut create: impl FnMut(&mut RosNode) -> Result<(), E> + Send + 'static,
    ) {
        let name = name.to_owned();
        self.post_in_order(move |node| {
            node.create_or_retry(&name, Group(endpoint), move |node| {
                create(node).map_err(|error| error.to_string())
            });
        });
    }

    /// Runs a task on the node's thread after what the GoalTracker's thread was told before. That thread owns the
    /// publishers: one of another type, which was closed, keeps a new endpoint from the topic until it is dropped.
    fn post_in_order(&self, task: impl FnOnce(&mut RosNode) + Send + 'static) {
        self.goal_tracker.inputs().send(Input::Task(Box::new(task)));
    }

    /// Keeps a latched publisher that publishes: a subscriber that starts later still gets its message. Of the publishers of
    /// one topic, only the last one is kept: a later subscriber would get their messages in any order.
    pub(super) fn keep_latched(&self, topic: TopicId) {
        let mut table = self.lock();
        if table.latched.contains(&topic.0) {
            return;
        }
        let name_of = |endpoint: &u32| table.topic(*endpoint).map(|spec| self.ros().topic(&spec.name));
        let name = name_of(&topic.0);
        let earlier = table.latched.iter().find(|other| name_of(other) == name).copied();
        if let Some(earlier) = earlier {
            table.latched.retain(|latched| *latched != earlier);
            table.uses.end(earlier, Instant::now());
        }
        table.uses.begin(topic.0);
        table.latched.push_back(topic.0);
        if table.latched.len() > MAX_LATCHED
            && let Some(oldest) = table.latched.pop_front()
        {
            table.uses.end(oldest, Instant::now());
            let name = table.topic(oldest).map_or("?", |topic| &topic.name);
            tracing::warn!(
                "{name}: its latched message ends with its tree: trees have published on more than {MAX_LATCHED} latched \
                 topics"
            );
        }
    }

    /// Removes a user of each of these endpoints. Until an endpoint ends, its messages reach all that have used it.
    pub(super) fn end_uses(&self, endpoints: &[u32]) {
        let now = Instant::now();
        let mut table = self.lock();
        for endpoint in endpoints {
            table.uses.end(*endpoint, now);
        }
    }

    /// Closes an endpoint that has been without a user for long. Others have their turn in the next rounds of the
    /// node's thread: messages that arrive meanwhile do not wait for all of them.
    fn close_next_expired(&self, now: Instant) {
        let mut table = self.lock();
        let Some(endpoint) = table.uses.next_expired(now) else {
            return;
        };
        if self.close_topic(&mut table, endpoint).is_none() {
            self.close_server(ServerId(endpoint));
        }
        drop(table);
        // Wakes the thread.
        self.ros().post(|_| ());
    }

    /// Removes the topic of an endpoint, the type of the topic if no other endpoint is on it, and its entities. Under the
    /// lock: a tree may open the topic again at the same time, and the new entities come after the end of the old ones.
    fn close_topic(&self, table: &mut EndpointTable, endpoint: u32) -> Option<TopicSpec> {
        let topic = table.remove_topic(endpoint)?;
        let name = self.ros().topic(&topic.name);
        if !table
            .topics()
            .any(|(other, _)| self.ros().topic(&other.name) == name)
        {
            self.types.release(&name);
        }
        self.goal_tracker
            .inputs()
            .send(Input::Unadvertised(TopicId(endpoint)));
        self.post_in_order(move |node| node.close(Group(endpoint)));
        Some(topic)
    }

    /// Closes a server on the GoalTracker's thread, if that has no goal there and no tree has opened it meanwhile.
    fn close_server(&self, server: ServerId) {
        let endpoints = self.clone();
        let confirm = move |is_idle: bool| {
            let mut table = endpoints.lock();
            if table.uses.users(server.0) > 0 {
                return false;
            }
            if !is_idle {
                table.uses.keep_on(server.0, Instant::now());
                return false;
            }
            table.servers.retain(|_, other| *other != server);
            table.heard.remove(&server);
            table.uses.forget(server.0);
            true
        };
        self.goal_tracker
            .inputs()
            .send(Input::Close(server, Box::new(confirm)));
    }

    /// The endpoints on a topic that have another type.
    fn of_other_type(&self, table: &EndpointTable, topic: &TopicSpec) -> Vec<u32> {
        let name = self.ros().topic(&topic.name);
        let is_other =
            |other: &TopicSpec| other.type_name != topic.type_name && self.ros().topic(&other.name) == name;
        let others = table.topics().filter(|(other, _)| is_other(other));
        others.map(|(_, id)| id).collect()
    }

    /// Closes the endpoints on a topic at once that have another type and no user. Otherwise a tree could not use the
    /// topic until they end.
    fn close_unused_of_other_type(&self, topic: &TopicSpec) {
        let mut table = self.lock();
        let mut unused = self.of_other_type(&table, topic);
        unused.retain(|id| table.is_unused(*id));
        for id in unused {
            self.close_topic(&mut table, id);
        }
    }
}

/// The maximum number of latched publishers that are kept for their messages.
const MAX_LATCHED: usize = 64;

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::goal::GoalOptions;
    use crate::nav::Form;
    use crate::ros::rcl::tests::harness::{TIMEOUT, alone};
    use crate::ros::{Clock, GoalTrackerThread, Ros};

    fn endpoints() -> (Endpoints, GoalTrackerThread) {
        let (ros, clock) = (RosHandle::of_nobody(), Clock::new(false));
        let thread = GoalTrackerThread::start(&ros, &clock, "", GoalOptions::default()).unwrap();
        let parameters = ParameterStore::new(Vec::new());
        let endpoints = Endpoints::new(thread.handle(), &TransformBuffer::new(), &parameters, None);
        (endpoints, thread)
    }

    fn topic(name: &str, type_name: &str) -> TopicSpec {
        TopicSpec {
            name: name.into(),
            type_name: type_name.into(),
            depth: 1,
            reliable: true,
            transient_local: true,
            form: Form::Plain,
        }
    }

    /// The number of open topics after one round, in which everything without a user has expired.
    fn left(endpoints: &Endpoints) -> usize {
        endpoints.close_next_expired(Instant::now() + Duration::from_secs(60));
        endpoints.lock().topics().count()
    }

    #[test]
    fn one_endpoint_ends_in_a_round() {
        let (endpoints, _thread) = endpoints();
        for number in 0..3 {
            let id = endpoints.advertise(&topic(&format!("a{number}"), "A")).unwrap();
            endpoints.end_uses(&[id.0]);
        }
        assert_eq!([(); 4].map(|()| left(&endpoints)), [2, 1, 0, 0]);
    }

    #[test]
    fn a_latched_message_does_not_end_with_its_tree() {
        let (endpoints, _thread) = endpoints();
        for number in 0..MAX_LATCHED {
            let id = endpoints.advertise(&topic(&format!("a{number}"), "A")).unwrap();
            endpoints.keep_latched(id);
            endpoints.keep_latched(id);
            endpoints.end_uses(&[id.0]);
        }
        assert_eq!(left(&endpoints), MAX_LATCHED);
        // One more, which is in use.
        let id = endpoints.advertise(&topic("b", "B")).unwrap();
        endpoints.keep_latched(id);
        assert_eq!(left(&endpoints), MAX_LATCHED);
        assert_eq!(left(&endpoints), MAX_LATCHED);
        assert!(endpoints.lock().publishers.keys().all(|spec| &*spec.name != "a0"));
    }

    #[test]
    fn of_two_publishers_of_a_topic_the_last_one_keeps_its_latched_message() {
        let (endpoints, _thread) = endpoints();
        let ids = ["a", "/a"].map(|name| endpoints.advertise(&topic(name, "A")).unwrap());
        for id in [0, 1, 0] {
            endpoints.keep_latched(ids[id]);
        }
        endpoints.end_uses(&ids.map(|id| id.0));
        assert_eq!([(); 2].map(|()| left(&endpoints)), [1, 1]);
        assert_eq!(endpoints.lock().publishers.values().next(), Some(&ids[0]));
    }

    #[test]
    fn an_endpoint_of_another_type_is_created_after_the_publisher_has_ended() {
        let name =
            "ros::endpoints::tests::an_endpoint_of_another_type_is_created_after_the_publisher_has_ended";
        alone(name, || {
            let ros = Ros::start("trees", "").unwrap();
            let options = GoalOptions::default();
            let thread = GoalTrackerThread::start(ros.handle(), ros.clock(), "", options).unwrap();
            let endpoints = Endpoints::new(thread.handle(), ros.transforms(), ros.parameters(), None);
            let topic = |type_name| TopicSpec {
                form: Form::Json,
                ..topic("b", type_name)
            };
            let wait_for_goal_tracker = || {
                let (sender, done) = channel();
                thread.handle().send(move || sender.send(()).unwrap());
                done.recv_timeout(TIMEOUT).unwrap();
            };
            let count_retries = || {
                let count = |node: &mut RosNode| node.retries.len();
                ros.handle().with_node_blocking(TIMEOUT, count).unwrap()
            };
            let first = endpoints.advertise(&topic("std_msgs/msg/Bool")).unwrap();
            // Its creation leaves for the node, and its publisher comes back.
            wait_for_goal_tracker();
            assert_eq!(count_retries(), 0);
            wait_for_goal_tracker();
            endpoints.end_uses(&[first.0]);
            let (release, gate) = channel::<()>();
            thread.handle().send(move || {
                let _ = gate.recv_timeout(TIMEOUT);
            });
            endpoints.advertise(&topic("std_msgs/msg/String")).unwrap();
            assert_eq!(count_retries(), 0, "the thread with the publisher is blocked");
            release.send(()).unwrap();
            wait_for_goal_tracker();
            assert_eq!(count_retries(), 0);
        });
    }

    #[test]
    fn g7_a_check_of_a_tree_closes_no_topic_of_another_type() {
        let (endpoints, _thread) = endpoints();
        let id = endpoints.advertise(&topic("b", "B")).unwrap();
        endpoints.keep_latched(id);
        let other = topic("b", "C");
        assert!(endpoints.try_topic(&other).is_err());
        assert!(endpoints.advertise(&other).is_err());
        endpoints.end_uses(&[id.0]);
        assert!(endpoints.try_topic(&other).is_ok());
        assert_eq!(endpoints.lock().publishers.values().next(), Some(&id));
        assert!(endpoints.advertise(&other).is_ok());
        assert_eq!(endpoints.lock().topics().count(), 1);
    }
}
