//! Delivers the messages of one subscription to all worlds that read it.

use std::sync::{Arc, Weak};

use super::inbox::Inbox;
use crate::bt::Time;
use crate::msg::Odometry;
use crate::nav::{Form, Payload, TopicId, TopicSpec};
use crate::sync::{Mutex, MutexGuard, PoisonError};

/// The readers of one subscription.
#[derive(Default)]
pub(super) struct SharedSubscription {
    inner: Mutex<SharedSubscriptionInner>,
}

#[derive(Default)]
struct SharedSubscriptionInner {
    readers: Vec<Weak<Inbox>>,
    /// The latest message, for later readers of a message that is sent once.
    latest: Option<(Payload, Time)>,
}

impl SharedSubscription {
    fn lock(&self) -> MutexGuard<'_, SharedSubscriptionInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a reader, unless it was added before, and delivers a message that is sent once.
    pub(super) fn join(&self, id: TopicId, topic: &TopicSpec, inbox: &Arc<Inbox>) {
        let mut inner = self.lock();
        let known = inner
            .readers
            .iter()
            .any(|reader| reader.as_ptr() == Arc::as_ptr(inbox));
        if known {
            return;
        }
        inner.readers.push(Arc::downgrade(inbox));
        if let (true, Some((latest, received))) = (topic.transient_local, &inner.latest) {
            inbox.message(id, topic.depth, latest.clone(), *received);
        }
    }

    /// Removes a reader.
    pub(super) fn leave(&self, inbox: &Arc<Inbox>) {
        let readers = &mut self.lock().readers;
        readers.retain(|reader| reader.as_ptr() != Arc::as_ptr(inbox));
    }

    /// Delivers a message to every reader that still exists, which is an event, except for odometry: it arrives all the
    /// time, and its leaves read the motion of the last moments. `received`: see [`Inbox::message`].
    pub(super) fn deliver(&self, id: TopicId, topic: &TopicSpec, payload: &Payload, received: Time) {
        let is_event = topic.form != Form::Plain || *topic.type_name != *Odometry::ROS_TYPE;
        let mut inner = self.lock();
        inner.readers.retain(|reader| match reader.upgrade() {
            Some(inbox) => {
                inbox.message(id, topic.depth, payload.clone(), received);
                if is_event {
                    inbox.report_event();
                }
                true
            }
            None => false,
        });
        if topic.transient_local {
            inner.latest = Some((payload.clone(), received));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_latched_message_is_delivered_to_a_reader_that_joins_again() {
        let (subscription, inbox, id) = (
            SharedSubscription::default(),
            Arc::new(Inbox::default()),
            TopicId(1),
        );
        let topic = TopicSpec {
            transient_local: true,
            ..TopicSpec::of_trigger("a")
        };
        let received = || {
            let mut events = Vec::new();
            inbox.drain(&mut events);
            events.len()
        };
        subscription.join(id, &topic, &inbox);
        subscription.deliver(id, &topic, &Payload::new(()), Time::ZERO);
        subscription.join(id, &topic, &inbox);
        assert_eq!(received(), 1);
        subscription.leave(&inbox);
        subscription.deliver(id, &topic, &Payload::new(()), Time::ZERO);
        assert_eq!(received(), 0);
        subscription.join(id, &topic, &inbox);
        assert_eq!(received(), 1);
    }
}
