//! The publishers of trees.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::panics::guarded;
use crate::nav::{Payload, TopicId};
use crate::ros::interfaces::Publish;

/// The publishers of the topics that trees have advertised.
#[derive(Default)]
pub(super) struct Publishers(FxHashMap<TopicId, State>);

struct Message {
    payload: Payload,
    /// A leaf published it, not its halt.
    is_of_leaf: bool,
}

enum State {
    /// The publisher does not exist yet. These messages wait for it.
    Waiting(VecDeque<Message>),
    Open(Box<dyn Publish>),
}

impl Publishers {
    /// A tree has advertised a topic.
    pub(super) fn advertise(&mut self, topic: TopicId) {
        self.0.insert(topic, State::Waiting(VecDeque::new()));
    }

    /// The publisher of a topic exists. It is dropped if no tree advertises the topic any more.
    pub(super) fn open(&mut self, topic: TopicId, publisher: Box<dyn Publish>) {
        let Some(state) = self.0.get_mut(&topic) else {
            return;
        };
        if let State::Waiting(messages) = state {
            for message in messages.drain(..) {
                publish(&*publisher, &message.payload);
            }
        }
        *state = State::Open(publisher);
    }

    /// No tree advertises a topic any more.
    pub(super) fn close(&mut self, topic: TopicId) {
        self.0.remove(&topic);
    }

    /// Drops the messages of leaves that wait: all leaves were halted.
    pub(super) fn halt_all(&mut self) {
        for state in self.0.values_mut() {
            if let State::Waiting(messages) = state {
                messages.retain(|message| !message.is_of_leaf);
            }
        }
    }

    /// Publishes a message. If the publisher does not exist yet, keeps as many messages as the topic's depth.
    pub(super) fn publish(&mut self, topic: TopicId, payload: Payload, depth: u16, is_of_leaf: bool) {
        match self.0.get_mut(&topic) {
            Some(State::Open(publisher)) => publish(&**publisher, &payload),
            Some(State::Waiting(messages)) => {
                if messages.len() >= usize::from(depth.max(1)) {
                    messages.pop_front();
                }
                messages.push_back(Message { payload, is_of_leaf });
            }
            None => {}
        }
    }
}

fn publish(publisher: &dyn Publish, payload: &Payload) {
    if let Some(Err(error)) = guarded("a publisher", || publisher.publish(payload)) {
        tracing::error!("message not published: {error}");
    }
}
