//! What the world of a replay knows: the recorded names, and the answers of the current step.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::step::Step;
use crate::bt::Time;
use crate::goal::{ServerId, Ticket};
use crate::msg::{Header, Stamp, Transform, TransformStamped};
use crate::nav::{EndpointKind, Event, LinkError, TopicId, TopicSpec, TransformError};
use crate::record::codec::{Encoded, decode_payload};
use crate::record::event::{CommandKind, TopicUsage};
use crate::record::stored::{StoredRecord, TimedRecord};

/// The question for a transform: target, source and time.
type Question = (String, String, Option<Stamp>);

/// How long an answer to the same question may stand in for one that was not recorded, in ns. A robot's pose is asked
/// several times a second.
const STAND_IN_NS: i64 = 250_000_000;

#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    servers: FxHashMap<(EndpointKind, String, String), ServerId>,
    server_names: FxHashMap<ServerId, String>,
    topics: FxHashMap<(TopicUsage, TopicSpec), TopicId>,
    /// For another tree: the first number of the name of each number. It opens a name at another time than the recorded tree,
    /// and has only the first ones.
    first_servers: FxHashMap<ServerId, ServerId>,
    first_topics: FxHashMap<TopicId, TopicId>,
    frames: FxHashMap<u16, [std::sync::Arc<str>; 4]>,
    pub(super) parameters: FxHashMap<String, Option<String>>,
    /// The number of the next endpoint that the recording does not have.
    next_unknown: u32,
    /// The recorded tree is replayed: tickets are the same.
    is_same_tree: bool,

    time: Time,
    arrived: Vec<StoredRecord>,
    transforms: FxHashMap<Question, VecDeque<Result<TransformStamped, TransformError>>>,
    stamps: VecDeque<Stamp>,
    last_stamp: (Time, Stamp),
    faults: Vec<(TopicId, String)>,
    /// The requests of the recorded tree in this step, which the replayed one has not sent yet.
    requests: Vec<StoredRecord>,
    /// The newest recorded transform of each pair of frames.
    newest: FxHashMap<(String, String), TransformStamped>,

    /// The tickets of the replayed tree, by those of the recorded one.
    tickets: FxHashMap<Ticket, Ticket>,
    /// The tickets that the replayed tree has halted.
    halted: FxHashSet<Ticket>,
    /// What the tree asked and the recording does not tell.
    pub(super) unrecorded: Option<String>,
    /// Messages that cannot be read back.
    pub(super) problems: Vec<String>,
    /// Number of answers that stand in for others.
    pub(super) stand_ins: u64,
}

impl Script {
    /// Takes the names of a recording.
    pub(super) fn new(records: &[TimedRecord], is_same_tree: bool) -> Self {
        let mut script = Self {
            is_same_tree,
            next_unknown: 1 << 30,
            ..Self::default()
        };
        for (_, record) in records {
            script.note_name(record);
        }
        script
    }

    fn note_name(&mut self, record: &StoredRecord) {
        match record {
            StoredRecord::Server {
                server,
                kind,
                name,
                type_name,
                ..
            } => {
                let key = (*kind, name.clone(), type_name.clone());
                let first = *self.servers.entry(key).or_insert(*server);
                if !self.is_same_tree {
                    self.first_servers.insert(*server, first);
                }
                self.server_names.insert(*server, name.clone());
            }
            StoredRecord::Topic { topic, usage, spec } => {
                let first = *self.topics.entry((*usage, spec.clone())).or_insert(*topic);
                if !self.is_same_tree {
                    self.first_topics.insert(*topic, first);
                }
            }
            StoredRecord::Frames {
                frames,
                target,
                source,
                parent,
                child,
            } => {
                let names = [target, source, parent, child].map(std::sync::Arc::clone);
                self.frames.insert(*frames, names);
            }
            StoredRecord::Parameter(name, value) => {
                self.parameters
                    .entry(name.clone())
                    .or_insert_with(|| value.clone());
            }
            _ => {}
        }
    }

    /// Opens a client. A server that is not recorded gets a new number.
    pub(super) fn open(&mut self, kind: EndpointKind, name: &str, type_name: &str) -> ServerId {
        let key = (kind, name.to_owned(), type_name.to_owned());
        if let Some(server) = self.servers.get(&key) {
            return *server;
        }
        let server = ServerId(self.unknown());
        self.servers.insert(key, server);
        self.server_names.insert(server, name.to_owned());
        server
    }

    /// Opens a topic.
    pub(super) fn topic(&mut self, usage: TopicUsage, spec: &TopicSpec) -> TopicId {
        let key = (usage, spec.clone());
        if let Some(topic) = self.topics.get(&key) {
            return *topic;
        }
        let topic = TopicId(self.unknown());
        self.topics.insert(key, topic);
        topic
    }

    fn unknown(&mut self) -> u32 {
        self.next_unknown += 1;
        self.next_unknown
    }

    /// Begins a step: its answers replace those of the step before.
    pub(super) fn begin(&mut self, step: &Step) {
        self.time = step.time;
        self.arrived.clone_from(&step.arrived);
        self.transforms.clear();
        self.stamps.clear();
        self.faults.clear();
        self.requests.clear();
        for answer in &step.answers {
            self.take_answer(answer);
        }
        let is_request = |record: &&StoredRecord| matches!(record, StoredRecord::Command { .. });
        self.requests
            .extend(step.trace.iter().filter(is_request).cloned());
    }

    fn take_answer(&mut self, answer: &StoredRecord) {
        match answer {
            StoredRecord::Transform {
                frames,
                at,
                stamp,
                transform,
            } => self.take_transform(*frames, *at, *stamp, *transform),
            StoredRecord::NoTransform {
                target,
                source,
                at,
                error,
            } => {
                let question = (target.clone(), source.clone(), *at);
                let answers = self.transforms.entry(question).or_default();
                answers.push_back(Err(error.clone()));
            }
            StoredRecord::Stamp(stamp) => {
                self.stamps.push_back(*stamp);
                self.last_stamp = (self.time, *stamp);
            }
            StoredRecord::TopicFault(topic, fault) => {
                self.faults.push((self.topic_of(*topic), fault.clone()));
            }
            // A name that was closed and is opened again has another number.
            StoredRecord::Server {
                server,
                kind,
                name,
                type_name,
                ..
            } if self.is_same_tree => {
                self.servers
                    .insert((*kind, name.clone(), type_name.clone()), *server);
            }
            StoredRecord::Topic { topic, usage, spec } if self.is_same_tree => {
                self.topics.insert((*usage, spec.clone()), *topic);
            }
            _ => {}
        }
    }

    /// The number that the replayed tree has for a recorded server.
    fn server_of(&self, server: ServerId) -> ServerId {
        self.first_servers.get(&server).copied().unwrap_or(server)
    }

    /// The number that the replayed tree has for a recorded topic.
    fn topic_of(&self, topic: TopicId) -> TopicId {
        self.first_topics.get(&topic).copied().unwrap_or(topic)
    }

    fn take_transform(&mut self, frames: u16, at: Option<Stamp>, stamp: Stamp, transform: Transform) {
        let Some([target, source, parent, child]) = self.frames.get(&frames) else {
            self.problems
                .push(format!("the frames with the number {frames} are not recorded"));
            return;
        };
        let answer = TransformStamped {
            header: Header::new(stamp, std::sync::Arc::clone(parent)),
            child_frame_id: std::sync::Arc::clone(child),
            transform,
        };
        let pair = (target.to_string(), source.to_string());
        if at.is_none() {
            self.newest.insert(pair.clone(), answer.clone());
        }
        let answers = self.transforms.entry((pair.0, pair.1, at)).or_default();
        answers.push_back(Ok(answer));
    }

    /// What arrived for this step.
    pub(super) fn receive(&mut self, into: &mut Vec<Event>) {
        for record in std::mem::take(&mut self.arrived) {
            match self.event(&record) {
                Ok(event) => into.extend(event),
                Err(problem) => self.problems.push(problem),
            }
        }
    }

    fn event(&self, record: &StoredRecord) -> Result<Option<Event>, String> {
        Ok(match record {
            StoredRecord::Message {
                topic,
                payload,
                received,
            } => Some(Event::Message {
                topic: self.topic_of(*topic),
                payload: decode_payload(payload)?,
                received: *received,
            }),
            StoredRecord::Notice(notice) => {
                let recorded = notice.ticket();
                let ticket = if self.is_same_tree {
                    Some(recorded)
                } else {
                    self.tickets.get(&recorded).copied()
                };
                match ticket {
                    Some(ticket) => Some(Event::Notice(notice.notice(ticket)?)),
                    None => None,
                }
            }
            _ => None,
        })
    }

    /// The answer to a question for a transform.
    pub(super) fn transform(
        &mut self,
        target: &str,
        source: &str,
        at: Option<Stamp>,
    ) -> Result<TransformStamped, TransformError> {
        let question = (target.to_owned(), source.to_owned(), at);
        if let Some(answers) = self.transforms.get_mut(&question) {
            let answer = if answers.len() > 1 {
                answers.pop_front()
            } else {
                answers.front().cloned()
            };
            if let Some(answer) = answer {
                return answer;
            }
        }
        let (target, source, _) = question;
        let stamp = self.stamp();
        if let Some(newest) = self.newest.get(&(target.clone(), source.clone()))
            && at.is_none()
            && stamp.as_nanos() - newest.header.stamp.as_nanos() <= STAND_IN_NS
        {
            self.stand_ins += 1;
            return Ok(newest.clone());
        }
        self.ask(format!("the transform from `{source}` to `{target}`"));
        Err(TransformError::OutOfRange {
            from: source,
            to: target,
        })
    }

    /// The ROS time.
    pub(super) fn stamp(&mut self) -> Stamp {
        if self.stamps.len() > 1
            && let Some(stamp) = self.stamps.pop_front()
        {
            return stamp;
        }
        if let Some(stamp) = self.stamps.front() {
            return *stamp;
        }
        let (time, stamp) = self.last_stamp;
        let since = i64::try_from(self.time.since(time).as_nanos()).unwrap_or(i64::MAX);
        Stamp::from_nanos(stamp.as_nanos().saturating_add(since))
    }

    /// The fault of a topic.
    pub(super) fn topic_fault(&self, topic: TopicId) -> Option<LinkError> {
        let fault = self.faults.iter().find(|(of, _)| *of == topic);
        fault.map(|(_, fault)| LinkError::Refused(fault.clone()))
    }

    fn ask(&mut self, question: String) {
        self.unrecorded.get_or_insert(question);
    }

    /// A request of the replayed tree: a goal, a call or a cancel.
    pub(super) fn request(
        &mut self,
        kind: CommandKind,
        ticket: Ticket,
        server: ServerId,
        payload: Option<&Encoded>,
    ) {
        let is_same = |record: &StoredRecord| {
            matches!(record, StoredRecord::Command { kind: of, server: to, payload: with, .. }
                if *of == kind && to.map(|to| self.server_of(to)) == Some(server) && with.as_ref() == payload)
        };
        match self.requests.iter().position(is_same) {
            Some(index) => {
                if let StoredRecord::Command { ticket: recorded, .. } = self.requests.remove(index) {
                    self.tickets.insert(recorded, ticket);
                }
            }
            None => {
                let name = self.server_names.get(&server).map_or("?", |name| name.as_str());
                let what = match kind {
                    CommandKind::Start => "a goal for",
                    CommandKind::Call => "a call of",
                    _ => "a cancel of the goals of",
                };
                self.ask(format!("{what} `{name}`"));
            }
        }
    }

    /// A newer goal of the replayed tree in place of an active one.
    pub(super) fn update(&mut self, ticket: Ticket, payload: &Encoded) {
        let tickets = &self.tickets;
        let is_same = |record: &StoredRecord| {
            matches!(record, StoredRecord::Command { kind: CommandKind::Update, ticket: of, payload: with, .. }
                if tickets.get(of) == Some(&ticket) && with.as_ref() == Some(payload))
        };
        match self.requests.iter().position(is_same) {
            Some(index) => drop(self.requests.remove(index)),
            None => self.ask("another goal in place of the active one".to_owned()),
        }
    }

    /// The replayed tree halts a request.
    pub(super) fn halt(&mut self, ticket: Ticket) {
        self.halted.insert(ticket);
    }

    /// Ends a step. What the recorded tree halted or replaced and the replayed one did not has no recorded future.
    pub(super) fn end(&mut self) {
        if self.is_same_tree {
            return;
        }
        for request in std::mem::take(&mut self.requests) {
            let StoredRecord::Command { kind, ticket, .. } = request else {
                continue;
            };
            let Some(of) = self.tickets.get(&ticket).filter(|of| !self.halted.contains(*of)) else {
                continue;
            };
            let of = of.0;
            match kind {
                CommandKind::Halt(_) | CommandKind::Detach(_) => {
                    self.ask(format!(
                        "the future of goal {of}, which the recorded tree halted here"
                    ));
                }
                CommandKind::Update => {
                    self.ask(format!(
                        "the future of goal {of}, which the recorded tree replaced here"
                    ));
                }
                CommandKind::Start | CommandKind::Call | CommandKind::CancelServer => {}
            }
        }
    }

    pub(super) fn set_start(&mut self, time: Time, stamp: Stamp) {
        self.time = time;
        self.last_stamp = (time, stamp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nav::Form;
    use crate::record::replay::StepKind;

    const SERVER: (EndpointKind, &str, &str) = (EndpointKind::Action, "spin", "nav2_msgs/action/Spin");

    fn opened(number: u32) -> StoredRecord {
        let (kind, name, type_name) = SERVER;
        StoredRecord::Server {
            server: ServerId(number),
            kind,
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            form: Form::default(),
        }
    }

    /// A step in which the recorded tree opens a server with this number and sends a goal.
    fn step(number: u32) -> Step {
        Step {
            number: 1,
            time: Time::ZERO,
            kind: StepKind::Tick,
            before: Vec::new(),
            arrived: Vec::new(),
            answers: vec![opened(number)],
            trace: vec![StoredRecord::Command {
                kind: CommandKind::Start,
                ticket: Ticket(1),
                server: Some(ServerId(number)),
                leaf: None,
                payload: None,
            }],
            is_whole: true,
        }
    }

    #[test]
    fn a_name_that_is_opened_again_has_its_recorded_number_or_for_another_tree_its_first_one() {
        for (is_same_tree, number) in [(true, 9), (false, 5)] {
            let records = [5, 9].map(|number| (Time::ZERO, opened(number)));
            let mut script = Script::new(&records, is_same_tree);
            let (kind, name, type_name) = SERVER;
            assert_eq!(script.open(kind, name, type_name), ServerId(5));
            script.begin(&step(9));
            let server = script.open(kind, name, type_name);
            assert_eq!(server, ServerId(number));
            script.request(CommandKind::Start, Ticket(1), server, None);
            assert_eq!(script.unrecorded, None);
        }
    }
}
