//! The link of a replayed tree: answers as recorded.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::script::Script;
use crate::bt::Time;
use crate::goal::{Command, ServerId, Ticket};
use crate::msg::{Stamp, TransformStamped};
use crate::nav::{EndpointKind, Event, Form, Link, LinkError, Payload, TopicId, TopicSpec, TransformError};
use crate::record::codec::encode_payload;
use crate::record::event::{CommandKind, TopicUsage};

/// The script, shared with the driver of the replay on the same thread.
#[derive(Clone, Default)]
pub(super) struct SharedScript(Arc<Mutex<Script>>);

impl SharedScript {
    pub(super) fn new(script: Script) -> Self {
        Self(Arc::new(Mutex::new(script)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct ReplayLink(pub(super) SharedScript);

impl Link for ReplayLink {
    fn open(
        &mut self,
        kind: EndpointKind,
        name: &str,
        type_name: &str,
        _: Form,
    ) -> Result<ServerId, LinkError> {
        Ok(self.0.lock().open(kind, name, type_name))
    }

    fn hear(&mut self, _: ServerId) {}

    fn subscribe(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        Ok(self.0.lock().topic(TopicUsage::Subscribed, topic))
    }

    fn advertise(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        Ok(self.0.lock().topic(TopicUsage::Advertised, topic))
    }

    fn topic_fault(&self, topic: TopicId) -> Option<LinkError> {
        self.0.lock().topic_fault(topic)
    }

    fn serve_trigger(&mut self, name: &str) -> Result<TopicId, LinkError> {
        Ok(self
            .0
            .lock()
            .topic(TopicUsage::Served, &TopicSpec::of_trigger(name)))
    }

    fn publish(&mut self, _: TopicId, _: Payload) {}

    fn submit(&mut self, commands: &mut Vec<Command<Payload>>) {
        let mut script = self.0.lock();
        for command in commands.drain(..) {
            match command {
                Command::Start {
                    ticket,
                    server,
                    payload,
                    ..
                } => script.request(
                    CommandKind::Start,
                    ticket,
                    server,
                    Some(&encode_payload(&payload)),
                ),
                Command::Call {
                    ticket,
                    server,
                    payload,
                    ..
                } => script.request(CommandKind::Call, ticket, server, Some(&encode_payload(&payload))),
                Command::CancelServer { ticket, server, .. } => {
                    script.request(CommandKind::CancelServer, ticket, server, None);
                }
                Command::Update { ticket, payload } => script.update(ticket, &encode_payload(&payload)),
                Command::Halt { ticket, .. } | Command::Detach { ticket, .. } => script.halt(ticket),
                Command::HaltAll { .. }
                | Command::BeginSession
                | Command::ReadCancel { .. }
                | Command::Adopt { .. }
                | Command::AllowAdoption { .. }
                | Command::ShutDown { .. } => {}
            }
        }
    }

    fn is_settled(&self, _: Ticket) -> bool {
        true
    }

    fn unsettled(&self, _: Ticket) -> Vec<String> {
        Vec::new()
    }

    fn receive(&mut self, into: &mut Vec<Event>) {
        self.0.lock().receive(into);
    }

    fn transform(
        &self,
        target: &str,
        source: &str,
        at: Option<Stamp>,
    ) -> Result<TransformStamped, TransformError> {
        self.0.lock().transform(target, source, at)
    }

    fn stamp(&self, _: Time) -> Stamp {
        self.0.lock().stamp()
    }

    fn parameter(&self, name: &str) -> Option<String> {
        self.0.lock().parameters.get(name).cloned().flatten()
    }
}
