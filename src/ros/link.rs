//! Connects the tick thread to the middleware.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashSet;

use super::goal_tracker::{Input, Message};
use super::inbox::Inbox;
use super::{DryRun, Endpoints};
use crate::bt::Time;
use crate::goal::{Command, LinkId, ServerId, Ticket};
use crate::msg::{Stamp, TransformStamped};
use crate::nav::{
    EndpointKind, Event, Form, Link, LinkError, Opened, Part, Payload, TopicId, TopicSpec, TransformError,
};

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
    /// The numbers of all endpoints that this link uses.
    used: FxHashSet<u32>,
}

impl RosLink {
    pub(super) fn new(
        endpoints: Endpoints,
        id: LinkId,
        inbox: Arc<Inbox>,
        transform_tolerance: Duration,
    ) -> Self {
        Self {
            endpoints,
            id,
            inbox,
            transform_tolerance,
            topics: HashMap::new(),
            used: FxHashSet::default(),
        }
    }

    /// Counts an endpoint that was opened once more. A link counts as one user, however many of its leaves use it.
    fn uses(&mut self, endpoint: u32) {
        if !self.used.insert(endpoint) {
            self.endpoints.end_uses(&[endpoint]);
        }
    }

    fn uses_topic(&mut self, topic: TopicId, spec: &TopicSpec) -> TopicId {
        self.uses(topic.0);
        self.topics.insert(topic, spec.clone());
        topic
    }

    /// The events of this link.
    pub fn events(&self) -> LinkEvents {
        LinkEvents(Arc::clone(&self.inbox))
    }

    fn put_message(&mut self, topic: TopicId, payload: Payload, is_of_leaf: bool) {
        let spec = self.topics.get(&topic);
        if spec.is_some_and(|spec| spec.transient_local) {
            self.endpoints.keep_latched(topic);
        }
        let depth = self.topics.get(&topic).map_or(1, |spec| spec.depth);
        self.endpoints.goal_tracker.put(Input::Message(Message::Publish {
            topic,
            payload,
            depth,
            is_of_leaf,
        }));
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
        let used: Vec<u32> = self.used.drain().collect();
        self.endpoints.end_uses(&used);
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
        let server = self.endpoints.open(kind, name, type_name);
        self.uses(server.0);
        Ok(server)
    }

    fn hear(&mut self, server: ServerId) {
        self.endpoints.hear(server);
    }

    fn subscribe(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        DryRun::default().subscribe(topic)?;
        let id = self.endpoints.subscribe(topic, &self.inbox)?;
        Ok(self.uses_topic(id, topic))
    }

    fn advertise(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        DryRun::default().advertise(topic)?;
        let id = self.endpoints.advertise(topic)?;
        Ok(self.uses_topic(id, topic))
    }

    fn close_unused(&mut self, in_use: &Opened) {
        let is_unused =
            |endpoint: &u32| !in_use.has_server(ServerId(*endpoint)) && !in_use.has_topic(TopicId(*endpoint));
        let unused: Vec<u32> = self.used.extract_if(is_unused).collect();
        self.topics.retain(|topic, _| !unused.contains(&topic.0));
        self.endpoints.end_uses(&unused);
    }

    fn forget(&mut self, topics: &[TopicId]) {
        self.endpoints.leave(topics, &self.inbox);
    }

    fn template(&self, part: Part, type_name: &str) -> Result<serde_json::Value, LinkError> {
        DryRun::default().template(part, type_name)
    }

    fn check(&self, part: Part, type_name: &str, message: &serde_json::Value) -> Result<(), LinkError> {
        DryRun::default().check(part, type_name, message)
    }

    fn topic_fault(&self, topic: TopicId) -> Option<LinkError> {
        self.endpoints.topic_fault(self.topics.get(&topic)?)
    }

    fn serve_trigger(&mut self, name: &str) -> Result<TopicId, LinkError> {
        DryRun::default().serve_trigger(name)?;
        let topic = TopicSpec::of_trigger(name);
        let id = self.endpoints.serve_trigger(&topic, &self.inbox);
        Ok(self.uses_topic(id, &topic))
    }

    fn publish(&mut self, topic: TopicId, payload: Payload) {
        self.put_message(topic, payload, true);
    }

    fn publish_always(&mut self, topic: TopicId, payload: Payload) {
        self.put_message(topic, payload, false);
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

    fn has_unhandled(&self) -> bool {
        self.endpoints.goal_tracker.has_unhandled()
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
