//! A link that records what the tree is told and what it requests.

use std::cell::RefCell;
use std::sync::Arc;

use super::event::{
    CommandKind, Event as Recorded, FramesInfo, NoTransform, ServerInfo, TopicInfo, TopicUsage,
};
use super::stream::Stream;
use crate::bt::Time;
use crate::goal::{Command, ServerId, Ticket};
use crate::msg::{Stamp, TransformStamped};
use crate::nav::{
    EndpointKind, Event, Form, Link, LinkError, Opened, Part, Payload, TopicId, TopicSpec, TransformError,
};

/// Passes all calls on to another link, and writes their answers to the stream. All inputs of a tree but the time come
/// through its link, so these answers are what a replay needs (guarantee G9).
pub struct RecordedLink {
    inner: Box<dyn Link>,
    stream: Stream,
    /// The frames of the questions for transforms so far. Their number is that of their first question.
    frames: RefCell<Vec<FramesInfo>>,
}

/// Maximum number of pairs of frames; questions beyond it are not recorded.
const MAX_FRAMES: u16 = 1024;

impl RecordedLink {
    /// Records a link.
    pub fn new(inner: Box<dyn Link>, stream: Stream) -> Self {
        Self {
            inner,
            stream,
            frames: RefCell::default(),
        }
    }

    fn record_transform(&self, target: &str, source: &str, at: Option<Stamp>, answer: &TransformStamped) {
        let mut known = self.frames.borrow_mut();
        let (parent, child) = (&answer.header.frame_id, &answer.child_frame_id);
        let is_same = |frames: &FramesInfo| {
            &*frames.target == target
                && &*frames.source == source
                && frames.parent == *parent
                && frames.child == *child
        };
        let found = known.iter().find(|frames| is_same(frames));
        let number = match found {
            Some(frames) => frames.frames,
            None => {
                let Ok(number @ ..MAX_FRAMES) = u16::try_from(known.len()) else {
                    return;
                };
                let frames = FramesInfo {
                    frames: number,
                    target: target.into(),
                    source: source.into(),
                    parent: Arc::clone(parent),
                    child: Arc::clone(child),
                };
                known.push(frames.clone());
                self.stream.write(Recorded::Frames(Box::new(frames)));
                number
            }
        };
        self.stream.write(Recorded::Transform {
            frames: number,
            at,
            stamp: answer.header.stamp,
            transform: answer.transform,
        });
    }

    #[cold]
    fn record_no_transform(&self, target: &str, source: &str, at: Option<Stamp>, error: &TransformError) {
        let no_transform = NoTransform {
            target: target.to_owned(),
            source: source.to_owned(),
            at,
            error: error.clone(),
        };
        self.stream.write(Recorded::NoTransform(Box::new(no_transform)));
    }

    fn record_topic(&self, topic: TopicId, usage: TopicUsage, spec: TopicSpec) {
        let info = TopicInfo { topic, usage, spec };
        self.stream.write(Recorded::Topic(Box::new(info)));
    }

    fn record_command(&self, command: &Command<Payload>) {
        let (kind, ticket, server, leaf, payload) = match command {
            Command::Start {
                ticket,
                server,
                leaf,
                payload,
                ..
            } => (
                CommandKind::Start,
                *ticket,
                Some(*server),
                Some(leaf),
                Some(payload),
            ),
            Command::Call {
                ticket,
                server,
                leaf,
                payload,
                ..
            } => (
                CommandKind::Call,
                *ticket,
                Some(*server),
                Some(leaf),
                Some(payload),
            ),
            Command::CancelServer {
                ticket, server, leaf, ..
            } => (
                CommandKind::CancelServer,
                *ticket,
                Some(*server),
                Some(leaf),
                None,
            ),
            Command::Update { ticket, payload } => (CommandKind::Update, *ticket, None, None, Some(payload)),
            Command::Halt { ticket, reason } => (CommandKind::Halt(*reason), *ticket, None, None, None),
            Command::Detach { ticket, reason } => (CommandKind::Detach(*reason), *ticket, None, None, None),
            // Not of the tree.
            Command::HaltAll { .. }
            | Command::BeginSession
            | Command::ReadCancel { .. }
            | Command::Adopt { .. }
            | Command::AllowAdoption { .. }
            | Command::ShutDown { .. } => return,
        };
        self.stream.write(Recorded::Command {
            kind,
            ticket,
            server,
            leaf: leaf.cloned(),
            payload: payload.cloned(),
        });
    }
}

impl RecordedLink {
    fn record_published(&self, topic: TopicId, payload: &Payload) {
        if self.stream.is_read() {
            let payload = payload.clone();
            self.stream.write(Recorded::Published { topic, payload });
        }
    }
}

impl Link for RecordedLink {
    fn open(
        &mut self,
        kind: EndpointKind,
        name: &str,
        type_name: &str,
        form: Form,
    ) -> Result<ServerId, LinkError> {
        let server = self.inner.open(kind, name, type_name, form)?;
        self.stream.write(Recorded::Server(Box::new(ServerInfo {
            server,
            kind,
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            form,
        })));
        Ok(server)
    }

    fn hear(&mut self, server: ServerId) {
        self.inner.hear(server);
    }

    fn subscribe(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        let id = self.inner.subscribe(topic)?;
        self.record_topic(id, TopicUsage::Subscribed, topic.clone());
        Ok(id)
    }

    fn template(&self, part: Part, type_name: &str) -> Result<serde_json::Value, LinkError> {
        self.inner.template(part, type_name)
    }

    fn check(&self, part: Part, type_name: &str, message: &serde_json::Value) -> Result<(), LinkError> {
        self.inner.check(part, type_name, message)
    }

    fn advertise(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        let id = self.inner.advertise(topic)?;
        self.record_topic(id, TopicUsage::Advertised, topic.clone());
        Ok(id)
    }

    fn topic_fault(&self, topic: TopicId) -> Option<LinkError> {
        let fault = self.inner.topic_fault(topic)?;
        self.stream
            .write(Recorded::TopicFault(Box::new((topic, fault.to_string()))));
        Some(fault)
    }

    fn serve_trigger(&mut self, name: &str) -> Result<TopicId, LinkError> {
        let id = self.inner.serve_trigger(name)?;
        self.record_topic(id, TopicUsage::Served, TopicSpec::of_trigger(name));
        Ok(id)
    }

    fn close_unused(&mut self, in_use: &Opened) {
        self.inner.close_unused(in_use);
        self.stream.write(Recorded::InUse(Box::new(in_use.clone())));
    }

    fn forget(&mut self, topics: &[TopicId]) {
        self.inner.forget(topics);
    }

    fn publish(&mut self, topic: TopicId, payload: Payload) {
        self.record_published(topic, &payload);
        self.inner.publish(topic, payload);
    }

    fn publish_always(&mut self, topic: TopicId, payload: Payload) {
        self.record_published(topic, &payload);
        self.inner.publish_always(topic, payload);
    }

    fn submit(&mut self, commands: &mut Vec<Command<Payload>>) {
        if self.stream.is_read() {
            for command in commands.iter() {
                self.record_command(command);
            }
        }
        self.inner.submit(commands);
    }

    fn hand_over(&mut self) {
        self.inner.hand_over();
    }

    fn is_settled(&self, since: Ticket) -> bool {
        self.inner.is_settled(since)
    }

    fn has_unhandled(&self) -> bool {
        self.inner.has_unhandled()
    }

    fn unsettled(&self, since: Ticket) -> Vec<String> {
        self.inner.unsettled(since)
    }

    fn receive(&mut self, into: &mut Vec<Event>) {
        let first = into.len();
        self.inner.receive(into);
        if !self.stream.is_read() {
            return;
        }
        for event in into.get(first..).unwrap_or_default() {
            self.stream.write(match event {
                Event::Notice(notice) => Recorded::Notice(notice.clone()),
                Event::Message {
                    topic,
                    payload,
                    received,
                } => Recorded::Message {
                    topic: *topic,
                    payload: payload.clone(),
                    received: *received,
                },
            });
        }
    }

    fn transform(
        &self,
        target: &str,
        source: &str,
        at: Option<Stamp>,
    ) -> Result<TransformStamped, TransformError> {
        let answer = self.inner.transform(target, source, at);
        if self.stream.is_read() {
            match &answer {
                Ok(transform) => self.record_transform(target, source, at, transform),
                Err(error) => self.record_no_transform(target, source, at, error),
            }
        }
        answer
    }

    fn stamp(&self, now: Time) -> Stamp {
        let stamp = self.inner.stamp(now);
        self.stream.write(Recorded::Stamp(stamp));
        stamp
    }

    fn parameter(&self, name: &str) -> Option<String> {
        let value = self.inner.parameter(name);
        let parameter = (name.to_owned(), value.clone());
        self.stream.write(Recorded::Parameter(Box::new(parameter)));
        value
    }
}
