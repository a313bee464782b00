//! The newest messages of the topics that trees read.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::Sample;
use crate::nav::link::{Opened, TopicId, TopicSpec};

/// The maximum number of closed topics whose newest message is kept. A mission may name new topics for months.
const MAX_CLOSED: usize = 64;

/// The topics that trees have opened to read, with their newest messages.
///
/// A closed topic keeps its newest message for a tree that opens it again: a pause holds, a battery stays low, and a
/// selection remains, whichever trees were used in between. If its subscription has ended meanwhile, newer messages were
/// missed: only a latched topic keeps its message then, because its publisher sends a newer one again.
#[derive(Default)]
pub(super) struct Topics {
    /// Also of closed topics.
    samples: FxHashMap<TopicId, Sample>,
    specs: FxHashMap<TopicId, TopicSpec>,
    /// The oldest first.
    closed: VecDeque<TopicId>,
    /// The former numbers of topics that were opened again, each with the new one. The last messages of the former
    /// subscription may arrive after that.
    former: VecDeque<(TopicId, TopicId)>,
}

impl Topics {
    /// A tree has opened a topic.
    pub(super) fn open(&mut self, topic: TopicId, spec: &TopicSpec) {
        self.closed.retain(|closed| *closed != topic);
        if self.samples.contains_key(&topic) {
            return;
        }
        let is_it = |closed: &TopicId| self.specs.get(closed) == Some(spec);
        let former = self.closed.iter().position(is_it);
        let former = former.and_then(|index| self.closed.remove(index));
        let sample = former.and_then(|former| {
            self.former.truncate(MAX_CLOSED - 1);
            self.former.push_front((former, topic));
            self.specs.remove(&former);
            let mut sample = self.samples.remove(&former)?;
            if !spec.transient_local {
                sample.payload = None;
            }
            Some(sample)
        });
        self.samples.insert(topic, sample.unwrap_or_default());
        self.specs.insert(topic, spec.clone());
    }

    /// Closes the topics that are not in this list. Returns those whose messages are forgotten.
    pub(super) fn close_unused(&mut self, in_use: &Opened) -> Vec<TopicId> {
        let closed = &self.closed;
        let is_unused = |topic: &&TopicId| !in_use.has_topic(**topic) && !closed.contains(topic);
        let mut unused: Vec<TopicId> = self.samples.keys().filter(is_unused).copied().collect();
        unused.sort_unstable();
        self.closed.extend(unused);
        let surplus = self.closed.len().saturating_sub(MAX_CLOSED);
        let forgotten: Vec<TopicId> = self.closed.drain(..surplus).collect();
        for topic in &forgotten {
            self.samples.remove(topic);
            self.specs.remove(topic);
        }
        forgotten
    }

    pub(super) fn sample(&self, topic: TopicId) -> Option<&Sample> {
        self.samples.get(&topic)
    }

    /// The place of the next message of a topic. `None`: its tree is gone.
    pub(super) fn sample_mut(&mut self, topic: TopicId) -> Option<&mut Sample> {
        let mut topic = topic;
        while !self.samples.contains_key(&topic) {
            topic = self.former.iter().find(|(former, _)| *former == topic)?.1;
        }
        self.samples.get_mut(&topic)
    }

    /// The newest messages, in the order of the topics' numbers.
    pub(super) fn samples(&self) -> Vec<(TopicId, Sample)> {
        let mut samples: Vec<_> = self
            .samples
            .iter()
            .map(|(topic, sample)| (*topic, sample.clone()))
            .collect();
        samples.sort_unstable_by_key(|(topic, _)| *topic);
        samples
    }

    /// The closed topics, oldest first.
    pub(super) fn closed(&self) -> Vec<(TopicId, TopicSpec)> {
        let spec = |topic: &TopicId| Some((*topic, self.specs.get(topic)?.clone()));
        self.closed.iter().filter_map(spec).collect()
    }

    /// Puts the topics into an earlier state.
    pub(super) fn restore(&mut self, samples: &[(TopicId, Sample)], closed: &[(TopicId, TopicSpec)]) {
        self.samples.extend(samples.iter().cloned());
        self.specs.extend(closed.iter().cloned());
        self.closed = closed.iter().map(|(topic, _)| *topic).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nav::link::{Form, Payload};

    fn spec(name: &str) -> TopicSpec {
        TopicSpec {
            name: name.into(),
            type_name: "std_msgs/msg/String".into(),
            depth: 1,
            reliable: true,
            transient_local: false,
            form: Form::Plain,
        }
    }

    fn used<const N: usize>(topics: [u32; N]) -> Opened {
        let mut used = Opened::default();
        for topic in topics {
            used.add_topic(TopicId(topic), 1);
        }
        used
    }

    /// The number of messages of a topic.
    fn count(topics: &Topics, topic: u32) -> Option<u64> {
        topics.sample(TopicId(topic)).map(|sample| sample.count)
    }

    fn receive(topics: &mut Topics, topic: u32) {
        if let Some(sample) = topics.sample_mut(TopicId(topic)) {
            sample.count += 1;
        }
    }

    #[test]
    fn a_topic_that_is_opened_again_under_another_number_has_its_messages() {
        let mut topics = Topics::default();
        topics.open(TopicId(1), &spec("a"));
        topics.open(TopicId(2), &spec("b"));
        receive(&mut topics, 1);
        topics.close_unused(&used([2]));
        // Its subscription ends later.
        receive(&mut topics, 1);
        topics.open(TopicId(3), &spec("a"));
        assert_eq!(count(&topics, 3), Some(2));
        // The last message of the former subscription was on its way.
        receive(&mut topics, 1);
        assert_eq!(
            [1, 2, 3].map(|topic| count(&topics, topic)),
            [None, Some(0), Some(3)]
        );
        topics.close_unused(&used([]));
        topics.open(TopicId(3), &spec("a"));
        topics.close_unused(&used([3]));
        assert_eq!(count(&topics, 3), Some(3));
    }

    #[test]
    fn a_message_that_may_not_be_the_newest_counts_only_if_the_topic_is_latched() {
        for transient_local in [false, true] {
            let spec = TopicSpec {
                transient_local,
                ..spec("a")
            };
            let mut topics = Topics::default();
            topics.open(TopicId(1), &spec);
            topics.sample_mut(TopicId(1)).unwrap().payload = Some(Payload::new(()));
            let is_known = |topics: &Topics, topic: u32| {
                let sample = topics.sample(TopicId(topic)).unwrap();
                sample.payload.is_some()
            };
            topics.close_unused(&used([]));
            topics.open(TopicId(1), &spec);
            assert!(is_known(&topics, 1), "its subscription has not ended");
            topics.close_unused(&used([]));
            topics.open(TopicId(2), &spec);
            assert_eq!(is_known(&topics, 2), transient_local);
        }
    }

    #[test]
    fn of_many_closed_topics_those_that_were_closed_last_are_kept() {
        let mut topics = Topics::default();
        let many = 3 * MAX_CLOSED as u32;
        for topic in 0..many {
            topics.open(TopicId(topic), &spec(&topic.to_string()));
            topics.close_unused(&used([]));
        }
        assert_eq!(topics.samples.len(), MAX_CLOSED);
        assert_eq!(topics.specs.len(), MAX_CLOSED);
        assert_eq!(
            (count(&topics, many - 64), count(&topics, many - 65)),
            (Some(0), None)
        );
        for topic in 0..many {
            topics.open(TopicId(many + topic), &spec("a"));
            topics.close_unused(&used([]));
        }
        assert!(topics.former.len() <= MAX_CLOSED);
        receive(&mut topics, many);
    }
}
