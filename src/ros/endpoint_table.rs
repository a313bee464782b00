//! The open endpoints of trees, with their names and users.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::endpoint_uses::EndpointUses;
use super::shared_subscription::SharedSubscription;
use crate::goal::ServerId;
use crate::nav::{EndpointKind, TopicId, TopicSpec};

/// What is open, and who uses it.
#[derive(Default)]
pub(super) struct EndpointTable {
    /// By full name after remapping, and type: goals on one server wait for each other (G5), however a tree spells its
    /// name, whichever rule of the command line maps it there, and in whichever form.
    pub(super) servers: HashMap<(EndpointKind, String, String), ServerId>,
    pub(super) subscriptions: HashMap<TopicSpec, (TopicId, Arc<SharedSubscription>)>,
    pub(super) publishers: HashMap<TopicSpec, TopicId>,
    /// Action servers with feedback that a leaf uses.
    pub(super) heard: HashSet<ServerId>,
    /// The number of the last endpoint. Servers and topics share the numbers, which are never reused.
    last: u32,
    pub(super) uses: EndpointUses,
    /// The latched publishers that are kept for their messages, oldest first. Each counts as used once more.
    pub(super) latched: VecDeque<u32>,
}

impl EndpointTable {
    pub(super) fn next_number(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    /// The topic of an endpoint.
    pub(super) fn topic(&self, endpoint: u32) -> Option<&TopicSpec> {
        let subscribed = self.subscriptions.iter().map(|(spec, (id, _))| (spec, *id));
        let published = self.publishers.iter().map(|(spec, id)| (spec, *id));
        subscribed
            .chain(published)
            .find(|(_, id)| id.0 == endpoint)
            .map(|(spec, _)| spec)
    }

    /// Removes the topic of an endpoint. Returns it.
    pub(super) fn remove_topic(&mut self, endpoint: u32) -> Option<TopicSpec> {
        let topic = self.topic(endpoint)?.clone();
        self.subscriptions.retain(|_, (id, _)| id.0 != endpoint);
        self.publishers.retain(|_, id| id.0 != endpoint);
        self.latched.retain(|latched| *latched != endpoint);
        self.uses.forget(endpoint);
        Some(topic)
    }

    /// Whether no link uses an endpoint.
    pub(super) fn is_unused(&self, endpoint: u32) -> bool {
        self.uses.users(endpoint) == usize::from(self.latched.contains(&endpoint))
    }

    pub(super) fn topics(&self) -> impl Iterator<Item = (&TopicSpec, u32)> {
        let subscribed = self.subscriptions.iter().map(|(spec, (id, _))| (spec, id.0));
        subscribed.chain(self.publishers.iter().map(|(spec, id)| (spec, id.0)))
    }
}
