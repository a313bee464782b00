//! The publishers of trees.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::panics::guarded;
use crate::bt::Time;
use crate::nav::{Payload, TopicId};
use crate::ros::interfaces::Publish;

/// The publishers of the topics that trees have advertised.
#[derive(Default)]
pub(super) struct Publishers(FxHashMap<TopicId, State>);

struct Waiting {
    payload: Payload,
    /// A leaf published it, not its halt.
    is_of_leaf: bool,
    published: Time,
}

/// How long a message of a leaf waits for its publisher. The creation may be repeated for two minutes, and the navigation may
/// have ended since.
const MAX_WAIT: Duration = Duration::from_secs(2);

enum State {
    /// The publisher of this topic does not exist yet. These messages wait for it.
    Waiting(Arc<str>, VecDeque<Waiting>),
    Open(Box<dyn Publish>),
}

impl Publishers {
    /// A tree has advertised a topic.
    pub(super) fn advertise(&mut self, topic: TopicId, name: Arc<str>) {
        self.0.insert(topic, State::Waiting(name, VecDeque::new()));
    }

    /// The publisher of a topic exists. It is dropped if no tree advertises the topic any more.
    pub(super) fn open(&mut self, topic: TopicId, publisher: Box<dyn Publish>, now: Time) {
        let Some(state) = self.0.get_mut(&topic) else {
            return;
        };
        if let State::Waiting(name, messages) = state {
            for message in messages.drain(..) {
                if message.is_of_leaf && now.since(message.published) > MAX_WAIT {
                    tracing::warn!(
                        "{name}: message not published: its publisher was created more than {MAX_WAIT:?} later"
                    );
                    continue;
                }
                publish(&*publisher, &message.payload);
            }
        }
        *state = State::Open(publisher);
    }

    /// No tree advertises a topic any more.
    pub(super) fn close(&mut self, topic: TopicId) {
        self.0.remove(&topic);
    }

    /// Drops the messages of leaves that wait: all leaves were halted, or a navigation begins. The messages are for their own
    /// navigation.
    pub(super) fn drop_messages_of_leaves(&mut self) {
        for state in self.0.values_mut() {
            let State::Waiting(name, messages) = state else {
                continue;
            };
            let count = messages.len();
            messages.retain(|message| !message.is_of_leaf);
            let dropped = count - messages.len();
            if dropped > 0 {
                tracing::warn!("{name}: messages dropped before their publisher existed: {dropped}");
            }
        }
    }

    /// Publishes a message. If the publisher does not exist yet, keeps as many messages as the topic's depth.
    pub(super) fn publish(
        &mut self,
        topic: TopicId,
        payload: Payload,
        depth: u16,
        is_of_leaf: bool,
        now: Time,
    ) {
        match self.0.get_mut(&topic) {
            Some(State::Open(publisher)) => publish(&**publisher, &payload),
            Some(State::Waiting(_, messages)) => {
                if messages.len() >= usize::from(depth.max(1)) {
                    messages.pop_front();
                }
                messages.push_back(Waiting {
                    payload,
                    is_of_leaf,
                    published: now,
                });
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::super::tests::{Numbers, TOPIC};
    use super::*;

    /// What is published after ten seconds. Each message has a number, whether it is of a leaf, and its second; `None` is the
    /// begin of a navigation.
    fn published(messages: &[Option<(u32, bool, u64)>]) -> Vec<u32> {
        let (sender, published) = channel();
        let mut publishers = Publishers::default();
        publishers.advertise(TOPIC, Arc::from("/lights"));
        for message in messages {
            match message {
                Some((number, is_of_leaf, second)) => {
                    let now = Time::ZERO + Duration::from_secs(*second);
                    publishers.publish(TOPIC, Payload::new(*number), 10, *is_of_leaf, now);
                }
                None => publishers.drop_messages_of_leaves(),
            }
        }
        let now = Time::ZERO + Duration::from_secs(10);
        publishers.open(TOPIC, Box::new(Numbers(sender)), now);
        published.try_iter().collect()
    }

    #[test]
    fn g4_a_message_of_a_leaf_does_not_wait_long_for_its_publisher_nor_into_another_navigation() {
        let (of_leaf, of_halt) = (true, false);
        let waits = [(1, of_leaf, 0), (2, of_halt, 0), (3, of_leaf, 9)];
        assert_eq!(published(&waits.map(Some)), [2, 3]);
        let next = [
            Some((1, of_leaf, 9)),
            Some((2, of_halt, 9)),
            None,
            Some((3, of_leaf, 9)),
        ];
        assert_eq!(published(&next), [2, 3]);
    }
}
