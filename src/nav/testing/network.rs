//! The other side of the link: the real GoalTracker, and scripted servers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::plan::Script;
#[cfg(test)]
use crate::bt::HaltReason;
use crate::bt::Time;
use crate::goal::{
    AbandonedGoals, CancelCode, CancelTag, Command, Effect, GoalId, GoalIds, GoalOptions, GoalTable,
    GoalTracker, LinkId, Selection, ServerId, Stamp as GoalStamp, TerminalStatus, Ticket, WireEvent,
};
use crate::msg::{Stamp, Transform, TransformStamped};
use crate::nav::{EndpointKind, Event, LinkError, Opened, Part, Payload, TopicId, TopicSpec, TransformError};

/// The link of the world under test. Its tickets differ from those of the GoalTracker, as in a node.
const LINK: LinkId = LinkId(3);

type Act = Box<dyn FnMut(&Payload) -> Script + Send>;
type Answer = Box<dyn FnMut(&Payload) -> Option<(Duration, Payload)> + Send>;

/// The behavior of an endpoint.
pub(super) enum Behaviour {
    Action(Act),
    Service(Answer),
}

struct Server {
    kind: EndpointKind,
    name: String,
    type_name: String,
    goals: GoalTable<Payload, ()>,
    scripts: BTreeMap<GoalId, Script>,
    /// All requests, in order.
    requests: Vec<Payload>,
    cancels: usize,
}

enum Thing {
    ForeignCancel(String),
    Cancel(ServerId, CancelTag, Selection),
    Wire(WireEvent<Payload>),
    Answer {
        server: ServerId,
        goal: GoalId,
    },
    TerminalStatus {
        server: ServerId,
        goal: GoalId,
        end: TerminalStatus,
        result: Payload,
    },
}

/// Servers, topics and transforms.
pub(super) struct Network {
    now: Time,
    /// Delay of commands to the GoalTracker. It handles events that arrive meanwhile first.
    command_delay: Duration,
    status_delay: Duration,
    cancel_delay: Duration,
    /// No command is handled: the thread of the GoalTracker has stalled.
    pub(super) is_stalled: bool,
    goal_tracker: GoalTracker<Payload>,
    abandoned: AbandonedGoals,
    behaviours: BTreeMap<String, Behaviour>,
    servers: Vec<Server>,
    things: Vec<(Time, u64, Thing)>,
    order: u64,
    events: Vec<Event>,
    topics: Vec<TopicSpec>,
    /// Topics that no tree uses.
    closed: BTreeSet<TopicId>,
    /// What trees use, after the last change in which something was closed.
    used: Opened,
    /// Topics whose newest message is delivered once more when they are opened.
    forgotten: BTreeSet<TopicId>,
    /// Whether topics that no tree uses are closed.
    closes_topics: bool,
    /// Messages for late subscribers.
    retained: BTreeMap<String, Payload>,
    published: Vec<(TopicId, Payload)>,
    transforms: BTreeMap<(String, String), TransformStamped>,
    transform_lookups: usize,
    parameters: BTreeMap<String, String>,
    reports: Vec<String>,
    /// Goals and cancels in the order in which they were sent.
    sent: Vec<String>,
    templates: Vec<(Part, String, serde_json::Value)>,
    /// Servers with a feedback subscription.
    heard: BTreeSet<ServerId>,
    /// The types with which others publish topics.
    foreign_types: BTreeMap<String, String>,
    /// How far the clock of the servers is ahead of the node's.
    pub(super) clock_ahead: Duration,
}

/// The virtual ROS clock is ahead of the tick clock, because a zero stamp has its own meaning.
const EPOCH: i64 = 1_000_000_000_000;

impl Network {
    pub(super) fn new() -> Self {
        let ids = GoalIds::new(GoalIds::mark_of("/test"), 1);
        Self {
            now: Time::ZERO,
            command_delay: Duration::ZERO,
            status_delay: Duration::ZERO,
            cancel_delay: Duration::ZERO,
            is_stalled: false,
            goal_tracker: GoalTracker::new(ids, GoalOptions::default()),
            abandoned: AbandonedGoals::default(),
            behaviours: BTreeMap::new(),
            servers: Vec::new(),
            things: Vec::new(),
            order: 0,
            events: Vec::new(),
            topics: Vec::new(),
            closed: BTreeSet::new(),
            used: Opened::default(),
            forgotten: BTreeSet::new(),
            closes_topics: false,
            retained: BTreeMap::new(),
            published: Vec::new(),
            transforms: BTreeMap::new(),
            transform_lookups: 0,
            parameters: BTreeMap::new(),
            reports: Vec::new(),
            sent: Vec::new(),
            templates: Vec::new(),
            heard: BTreeSet::new(),
            foreign_types: BTreeMap::new(),
            clock_ahead: Duration::ZERO,
        }
    }

    // --- the robot's side --------------------------------------------------------------------------------------

    pub(super) fn open(&mut self, kind: EndpointKind, name: &str, type_name: &str) -> ServerId {
        let known = self
            .servers
            .iter()
            .position(|server| server.kind == kind && server.name == name && server.type_name == type_name);
        let index = known.unwrap_or_else(|| {
            self.servers.push(Server {
                kind,
                name: name.to_owned(),
                type_name: type_name.to_owned(),
                goals: GoalTable::new(Duration::from_secs(10)),
                scripts: BTreeMap::new(),
                requests: Vec::new(),
                cancels: 0,
            });
            self.servers.len() - 1
        });
        let id = ServerId(u32::try_from(index).unwrap_or(u32::MAX));
        if self.behaviours.contains_key(name) {
            self.wire(WireEvent::ServerBack { server: id });
        }
        id
    }

    pub(super) fn hear(&mut self, server: ServerId) {
        self.heard.insert(server);
    }

    /// The number of an open topic.
    fn id_of(&self, spec: &TopicSpec) -> Option<TopicId> {
        let mut topics = (0..).map(TopicId).zip(&self.topics);
        topics
            .find(|(id, known)| *known == spec && !self.closed.contains(id))
            .map(|(id, _)| id)
    }

    pub(super) fn topic(&mut self, spec: &TopicSpec) -> TopicId {
        self.id_of(spec).unwrap_or_else(|| {
            self.topics.push(spec.clone());
            TopicId(u32::try_from(self.topics.len() - 1).unwrap_or(u32::MAX))
        })
    }

    pub(super) fn close_unused(&mut self, in_use: &Opened) {
        self.used.clone_from(in_use);
        if self.closes_topics {
            let topics = (0..).zip(&self.topics).map(|(index, _)| TopicId(index));
            self.closed = topics.filter(|topic| !in_use.has_topic(*topic)).collect();
        }
    }

    pub(super) fn forget(&mut self, topics: &[TopicId]) {
        self.forgotten.extend(topics);
    }

    pub(super) fn subscribe(&mut self, spec: &TopicSpec) -> TopicId {
        let is_open = self.id_of(spec).is_some();
        let topic = self.topic(spec);
        let is_forgotten = self.forgotten.remove(&topic);
        if (!is_open || is_forgotten)
            && spec.transient_local
            && let Some(payload) = self.retained.get(&*spec.name)
        {
            let payload = payload.clone();
            let received = self.now;
            self.events.push(Event::Message {
                topic,
                payload,
                received,
            });
        }
        topic
    }

    pub(super) fn set_foreign_type(&mut self, topic: &str, type_name: Option<&str>) {
        match type_name {
            Some(type_name) => self.foreign_types.insert(topic.to_owned(), type_name.to_owned()),
            None => self.foreign_types.remove(topic),
        };
    }

    pub(super) fn topic_fault(&self, topic: TopicId) -> Option<LinkError> {
        let spec = self.topics.get(usize::try_from(topic.0).ok()?)?;
        let has = self.foreign_types.get(&*spec.name)?;
        (**has != *spec.type_name).then(|| LinkError::OtherType {
            topic: spec.name.to_string(),
            has: has.clone(),
            wanted: spec.type_name.to_string(),
        })
    }

    /// Like the real one, drops messages of leaves that were halted from outside of the tick thread.
    pub(super) fn send(&mut self, messages: &mut Vec<(TopicId, Payload, bool)>) {
        let is_halted = self.goal_tracker.is_halted();
        for (topic, payload, is_always_sent) in messages.drain(..) {
            if is_always_sent || !is_halted {
                self.published.push((topic, payload));
            }
        }
    }

    pub(super) fn submit(&mut self, commands: &mut Vec<Command<Payload>>) {
        if !self.command_delay.is_zero() {
            self.advance(self.now + self.command_delay);
        }
        for command in commands.drain(..) {
            let mut effects = Vec::new();
            self.goal_tracker
                .command(command.on(LINK), self.now, &mut effects);
            self.carry_out(effects);
        }
    }

    /// Halts all waiting leaves, as a node does from outside of its tick thread.
    #[cfg(test)]
    pub(super) fn halt_all(&mut self, reason: HaltReason) {
        self.submit(&mut vec![Command::HaltAll { reason }]);
    }

    pub(super) fn receive(&mut self, into: &mut Vec<Event>) {
        into.append(&mut self.events);
    }

    pub(super) fn unsettled(&self, since: Ticket) -> Vec<String> {
        let left = self.goal_tracker.live_goals().into_iter();
        let left = left
            .filter(|goal| goal.is_left_by(|ticket| ticket.in_world() >= since))
            .map(|goal| format!("{} {:?}", goal.leaf, goal.phase));
        let abandoned = self.abandoned.goals();
        let abandoned = abandoned
            .filter(|goal| goal.is_left_by(|ticket| ticket.in_world() >= since))
            .map(|goal| format!("{} given up", goal.leaf));
        left.chain(abandoned).collect()
    }

    pub(super) fn is_settled(&self, since: Ticket) -> bool {
        let goals = self.goal_tracker.live_goals();
        !goals
            .iter()
            .any(|goal| goal.delays_result(|ticket| ticket.in_world() >= since))
    }

    pub(super) fn stamp(&self) -> Stamp {
        Stamp::from_nanos(EPOCH.saturating_add_unsigned(self.now.as_nanos()))
    }

    pub(super) fn transform_lookups(&self) -> usize {
        self.transform_lookups
    }

    pub(super) fn transform(
        &mut self,
        target: &str,
        source: &str,
    ) -> Result<TransformStamped, TransformError> {
        self.transform_lookups += 1;
        let found = |a: &str, b: &str| self.transforms.get(&(a.to_owned(), b.to_owned()));
        if target == source {
            return Ok(TransformStamped {
                header: crate::msg::Header::new(Stamp::ZERO, target),
                child_frame_id: source.into(),
                transform: Transform::IDENTITY,
            });
        }
        if let Some(transform) = found(target, source) {
            return Ok(transform.clone());
        }
        if let Some(inverse) = found(source, target) {
            return Ok(TransformStamped {
                header: crate::msg::Header::new(inverse.header.stamp, target),
                child_frame_id: source.into(),
                transform: inverse.transform.inverse(),
            });
        }
        Err(TransformError::NotConnected {
            from: source.to_owned(),
            to: target.to_owned(),
        })
    }

    pub(super) fn template(&self, part: Part, type_name: &str) -> serde_json::Value {
        let templates = self.templates.iter();
        let mut found = templates.filter(|(of, name, _)| *of == part && name == type_name);
        found
            .next()
            .map(|(_, _, template)| template.clone())
            .unwrap_or_default()
    }

    pub(super) fn set_template(&mut self, part: Part, type_name: &str, template: serde_json::Value) {
        self.templates.push((part, type_name.to_owned(), template));
    }

    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        self.parameters.get(name).cloned()
    }

    // --- the test's side ---------------------------------------------------------------------------------------

    pub(super) fn set_behaviour(&mut self, name: &str, behaviour: Behaviour) {
        self.behaviours.insert(name.to_owned(), behaviour);
        for server in self.ids_of(name) {
            self.wire(WireEvent::ServerBack { server });
        }
    }

    pub(super) fn delay_commands(&mut self, by: Duration) {
        self.command_delay = by;
    }

    #[cfg(test)]
    pub(super) fn delay_statuses(&mut self, by: Duration) {
        self.status_delay = by;
    }

    #[cfg(test)]
    pub(super) fn delay_cancels(&mut self, by: Duration) {
        self.cancel_delay = by;
    }

    pub(super) fn remove_server(&mut self, name: &str) {
        self.behaviours.remove(name);
        for server in self.ids_of(name) {
            self.wire(WireEvent::ServerGone { server });
        }
    }

    fn ids_of(&self, name: &str) -> Vec<ServerId> {
        (0..)
            .zip(&self.servers)
            .filter(|(_, server)| server.name == name)
            .map(|(index, _)| ServerId(index))
            .collect()
    }

    pub(super) fn publish(&mut self, name: &str, payload: &Payload) {
        self.retained.insert(name.to_owned(), payload.clone());
        for (index, topic) in (0..).zip(&self.topics) {
            if &*topic.name == name && !self.closed.contains(&TopicId(index)) {
                self.events.push(Event::Message {
                    topic: TopicId(index),
                    payload: payload.clone(),
                    received: self.now,
                });
            }
        }
    }

    pub(super) fn close_topics_at_once(&mut self) {
        self.closes_topics = true;
    }

    pub(super) fn is_server_used(&self, name: &str) -> bool {
        self.ids_of(name)
            .iter()
            .any(|server| self.used.has_server(*server))
    }

    pub(super) fn is_open(&self, name: &str) -> bool {
        let mut topics = (0..).zip(&self.topics);
        topics.any(|(index, topic)| &*topic.name == name && !self.closed.contains(&TopicId(index)))
    }

    pub(super) fn set_transform(&mut self, parent: &str, child: &str, transform: Transform, stamp: Stamp) {
        self.transforms.insert(
            (parent.to_owned(), child.to_owned()),
            TransformStamped {
                header: crate::msg::Header::new(stamp, parent),
                child_frame_id: child.into(),
                transform,
            },
        );
    }

    pub(super) fn forget_transforms(&mut self) {
        self.transforms.clear();
    }

    pub(super) fn set_parameter(&mut self, name: &str, value: &str) {
        self.parameters.insert(name.to_owned(), value.to_owned());
    }

    pub(super) fn requests(&self, name: &str) -> Vec<Payload> {
        let servers = self.servers.iter().filter(|server| server.name == name);
        servers
            .flat_map(|server| server.requests.iter().cloned())
            .collect()
    }

    pub(super) fn order(&self) -> &[String] {
        &self.sent
    }

    pub(super) fn cancels(&self, name: &str) -> usize {
        let servers = self.servers.iter().filter(|server| server.name == name);
        servers.map(|server| server.cancels).sum()
    }

    pub(super) fn active(&self, name: &str) -> usize {
        let servers = self.servers.iter().filter(|server| server.name == name);
        servers.map(|server| server.goals.active().len()).sum()
    }

    pub(super) fn type_of(&self, name: &str) -> Option<&str> {
        let server = self.servers.iter().rev().find(|server| server.name == name)?;
        Some(&server.type_name)
    }

    pub(super) fn published(&self, name: &str) -> Vec<Payload> {
        let named = |topic: TopicId| {
            self.topics
                .get(topic.0 as usize)
                .is_some_and(|spec| &*spec.name == name)
        };
        let messages = self.published.iter().filter(|(topic, _)| named(*topic));
        messages.map(|(_, payload)| payload.clone()).collect()
    }

    pub(super) fn topics(&self) -> &[TopicSpec] {
        &self.topics
    }

    pub(super) fn take_reports(&mut self) -> Vec<String> {
        std::mem::take(&mut self.reports)
    }

    /// A goal of another client, running until it is cancelled.
    pub(super) fn foreign_goal(&mut self, name: &str, script: Script) {
        self.order += 1;
        let goal = GoalId((u128::MAX - u128::from(self.order)).to_be_bytes());
        if let Some(server) = self.ids_of(name).first().copied() {
            self.server(server).scripts.insert(goal, script);
            self.accept(server, goal);
        }
    }

    /// Cancels all goals as another client.
    pub(super) fn foreign_cancel_after(&mut self, name: &str, after: Duration) {
        self.later(after, Thing::ForeignCancel(name.to_owned()));
    }

    pub(super) fn foreign_cancel(&mut self, name: &str) {
        for server in self.ids_of(name) {
            self.cancel(server, Selection::All);
        }
    }

    // --- time ---------------------------------------------------------------------------------------------------

    /// Runs all events that are due until then, in order.
    pub(super) fn advance(&mut self, to: Time) {
        loop {
            let thing = self.things.iter().map(|(at, order, _)| (*at, *order)).min();
            let deadline = self.goal_tracker.next_deadline();
            let thing_first = match (thing, deadline) {
                (Some((at, _)), Some(deadline)) => at <= deadline,
                (thing, _) => thing.is_some(),
            };
            if thing_first {
                let Some((at, order)) = thing.filter(|(at, _)| *at <= to) else {
                    break;
                };
                let Some(index) = self.things.iter().position(|(_, number, _)| *number == order) else {
                    break;
                };
                let (_, _, thing) = self.things.remove(index);
                self.now = self.now.max(at);
                self.happen(thing);
            } else {
                let Some(deadline) = deadline.filter(|deadline| *deadline <= to) else {
                    break;
                };
                self.now = self.now.max(deadline);
                let mut effects = Vec::new();
                self.goal_tracker.advance(self.now, &mut effects);
                self.carry_out(effects);
            }
        }
        self.now = self.now.max(to);
    }

    fn later(&mut self, after: Duration, thing: Thing) {
        self.order += 1;
        self.things.push((self.now + after, self.order, thing));
    }

    fn wire(&mut self, event: WireEvent<Payload>) {
        let mut effects = Vec::new();
        self.abandoned.wire(&event);
        self.goal_tracker.wire(event, self.now, &mut effects);
        self.carry_out(effects);
    }

    fn happen(&mut self, thing: Thing) {
        match thing {
            Thing::Wire(event) => self.wire(event),
            Thing::ForeignCancel(name) => self.foreign_cancel(&name),
            Thing::Cancel(server, tag, selection) => self.answer_cancel(server, tag, selection),
            Thing::Answer { server, goal } => {
                if self
                    .server(server)
                    .scripts
                    .get(&goal)
                    .is_some_and(|script| script.reject)
                {
                    self.wire(WireEvent::Rejected { goal });
                } else {
                    self.accept(server, goal);
                    self.wire(WireEvent::Accepted { server, goal });
                    self.tell_status(server);
                }
            }
            Thing::TerminalStatus {
                server,
                goal,
                end,
                result,
            } => {
                let now = self.now;
                let ended = self.server(server).goals.finish(goal, end, result.clone(), now);
                if let Ok(waiters) = ended {
                    self.tell_status(server);
                    let after = self.result_after(server, goal);
                    for () in waiters {
                        let payload = result.clone();
                        let event = WireEvent::Result { goal, end, payload };
                        if after.is_zero() {
                            self.wire(event);
                        } else {
                            self.later(after, Thing::Wire(event));
                        }
                    }
                }
            }
        }
    }

    fn result_after(&self, server: ServerId, goal: GoalId) -> Duration {
        let script = self.servers[server.0 as usize].scripts.get(&goal);
        script.map_or(Duration::ZERO, |script| script.result_after)
    }

    fn server(&mut self, server: ServerId) -> &mut Server {
        &mut self.servers[server.0 as usize]
    }

    fn goal_stamp(&self) -> GoalStamp {
        GoalStamp {
            nanoseconds: self.stamp().as_nanos() + self.clock_ahead.as_nanos() as i64,
        }
    }

    /// A Nav2 server has one goal at a time; a newer goal ends the older one.
    fn accept(&mut self, server: ServerId, goal: GoalId) {
        let stamp = self.goal_stamp();
        let heard = self.heard.contains(&server);
        let entry = self.server(server);
        let older = entry.goals.active();
        let _ = entry.goals.accept(goal, stamp);
        let _ = entry.goals.execute(goal);
        let Some(script) = entry.scripts.get(&goal) else {
            return;
        };
        let canceled = script.canceled.clone();
        let mut things: Vec<(Duration, Thing)> = older
            .into_iter()
            .map(|older| {
                let end = Thing::TerminalStatus {
                    server,
                    goal: older,
                    end: TerminalStatus::Aborted,
                    result: canceled.clone(),
                };
                (Duration::ZERO, end)
            })
            .collect();
        for (after, feedback) in script.feedback.iter().filter(|_| heard) {
            let payload = feedback.clone();
            things.push((*after, Thing::Wire(WireEvent::Feedback { goal, payload })));
        }
        if let Some(run) = script.run {
            let end = script.end;
            let result = script.result.clone();
            things.push((
                run,
                Thing::TerminalStatus {
                    server,
                    goal,
                    end,
                    result,
                },
            ));
        }
        for (after, thing) in things {
            self.later(after, thing);
        }
    }

    fn tell_status(&mut self, server: ServerId) {
        let statuses = self.server(server).goals.statuses();
        let goals = statuses
            .into_iter()
            .map(|(goal, _, status)| (goal, status))
            .collect();
        let list = WireEvent::Status { server, goals };
        if self.status_delay.is_zero() {
            self.wire(list);
        } else {
            self.later(self.status_delay, Thing::Wire(list));
        }
    }

    fn cancel(&mut self, server: ServerId, selection: Selection) -> (CancelCode, Vec<GoalId>) {
        let Server {
            goals,
            scripts,
            cancels,
            ..
        } = self.server(server);
        *cancels += 1;
        let answer = goals.cancel(selection, |goal| {
            scripts
                .get(&goal)
                .is_some_and(|script| script.stop_after.is_some())
        });
        let ends: Vec<(Duration, Thing)> = answer
            .canceling
            .iter()
            .filter_map(|(goal, _)| {
                let script = scripts.get(goal)?;
                let end = Thing::TerminalStatus {
                    server,
                    goal: *goal,
                    end: TerminalStatus::Canceled,
                    result: script.canceled.clone(),
                };
                Some((script.stop_after?, end))
            })
            .collect();
        for (after, thing) in ends {
            self.later(after, thing);
        }
        self.tell_status(server);
        let canceling = answer.canceling.iter().map(|(goal, _)| *goal).collect();
        (answer.code, canceling)
    }

    fn answer_cancel(&mut self, server: ServerId, tag: CancelTag, selection: Selection) {
        let (code, canceling) = self.cancel(server, selection);
        self.later(
            Duration::ZERO,
            Thing::Wire(WireEvent::CancelAnswered { tag, code, canceling }),
        );
    }

    fn carry_out(&mut self, effects: Vec<Effect<Payload>>) {
        for effect in effects {
            match effect {
                Effect::SendGoal {
                    server,
                    goal,
                    payload,
                } => {
                    let name = self.server(server).name.clone();
                    self.sent.push(format!("goal to {name}"));
                    self.server(server).requests.push(payload.clone());
                    if let Some(Behaviour::Action(act)) = self.behaviours.get_mut(&name) {
                        let script = act(&payload);
                        let after = script.answer_after;
                        self.server(server).scripts.insert(goal, script);
                        if let Some(after) = after {
                            self.later(after, Thing::Answer { server, goal });
                        }
                    }
                }
                Effect::SendCancel {
                    server,
                    tag,
                    selection,
                } => {
                    let name = self.server(server).name.clone();
                    self.sent.push(format!("cancel to {name}"));
                    if self.cancel_delay.is_zero() {
                        self.answer_cancel(server, tag, selection);
                    } else {
                        self.later(self.cancel_delay, Thing::Cancel(server, tag, selection));
                    }
                }
                Effect::RequestResult { server, goal } => {
                    let answer = match self.server(server).goals.result(goal, ()) {
                        crate::goal::ResultAnswer::Ready { end, result, .. } => {
                            let payload = result.clone();
                            Some(WireEvent::Result { goal, end, payload })
                        }
                        crate::goal::ResultAnswer::Unknown { .. } => Some(WireEvent::ResultUnknown { goal }),
                        crate::goal::ResultAnswer::Later { .. } => None,
                    };
                    if let Some(answer) = answer {
                        self.later(self.result_after(server, goal), Thing::Wire(answer));
                    }
                }
                Effect::CallService {
                    ticket,
                    server,
                    payload,
                } => {
                    let name = self.server(server).name.clone();
                    self.server(server).requests.push(payload.clone());
                    if let Some(Behaviour::Service(answer)) = self.behaviours.get_mut(&name)
                        && let Some((after, payload)) = answer(&payload)
                    {
                        self.later(after, Thing::Wire(WireEvent::Response { ticket, payload }));
                    }
                }
                Effect::Notify(notice) => self.events.push(Event::Notice(notice.in_world())),
                Effect::Report(report) => {
                    self.abandoned.report(&report);
                    self.reports.push(report.to_string());
                }
                Effect::ForgetCall { .. } | Effect::ForgetGoal { .. } | Effect::SendMessage => {}
            }
        }
    }
}
