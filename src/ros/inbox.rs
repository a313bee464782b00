//! Events for one tick thread that it has not read yet.

use std::collections::VecDeque;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use crate::bt::Time;
use crate::goal::{Notice, Ticket};
use crate::nav::{Event, Payload, TopicId};
use crate::sync::{Mutex, MutexGuard, PoisonError};

/// The maximum number of messages kept per topic until the next tick, whatever the depth of the topic.
const MAX_MESSAGES: usize = 64;

/// Filled by the network threads and emptied by the tick thread, which holds the lock for a swap of two pointers.
/// Bounded: keeps only the newest feedback of a goal and the newest messages of a topic.
#[derive(Default)]
pub(super) struct Inbox {
    inner: Mutex<Inner>,
    on_event: OnceLock<OnEvent>,
}

/// Called when an event has arrived that a tree may wait for. It must not wait.
pub(super) type OnEvent = Box<dyn Fn() + Send + Sync>;

#[derive(Debug, Default)]
struct Inner {
    notices: Vec<Notice<Payload>>,
    /// The index of each ticket's feedback in `notices`: newer feedback replaces it.
    feedback: FxHashMap<Ticket, usize>,
    messages: Vec<(TopicId, VecDeque<(Payload, Time)>)>,
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}

impl Inbox {
    /// Sets the function for events. Only the first one counts.
    pub(super) fn set_on_event(&self, on_event: OnEvent) {
        let _ = self.on_event.set(on_event);
    }

    /// Reports that something has happened that a tree may wait for.
    pub(super) fn report_event(&self) {
        if let Some(on_event) = self.on_event.get() {
            on_event();
        }
    }

    /// Adds a notice, with the tickets of the link's world.
    pub(super) fn notice(&self, notice: Notice<Payload>) {
        let notice = notice.in_world();
        let ticket = notice.ticket();
        let mut inner = self.lock();
        let is_feedback = matches!(notice, Notice::Feedback { .. });
        if is_feedback {
            if let Some(index) = inner.feedback.get(&ticket).copied()
                && let Some(older) = inner.notices.get_mut(index)
            {
                *older = notice;
                return;
            }
            let index = inner.notices.len();
            inner.feedback.insert(ticket, index);
        } else {
            // Later feedback must not overtake this notice.
            inner.feedback.remove(&ticket);
        }
        inner.notices.push(notice);
        drop(inner);
        if !is_feedback {
            self.report_event();
        }
    }

    /// Adds a message of a topic. `received`: time of reception, on the clock that a simulation does not stop.
    pub(super) fn message(&self, topic: TopicId, depth: u16, payload: Payload, received: Time) {
        let most = usize::from(depth).clamp(1, MAX_MESSAGES);
        let mut inner = self.lock();
        let inner = &mut *inner;
        let index = inner
            .messages
            .iter()
            .position(|(other, _)| *other == topic)
            .unwrap_or_else(|| {
                inner.messages.push((topic, VecDeque::new()));
                inner.messages.len() - 1
            });
        let mut last = index;
        if most == 1 {
            // With one message per topic, they are delivered in the order of arrival, even if one replaced another.
            // Pause and resume are requested on two topics.
            if let Some(later) = inner.messages.get_mut(index..) {
                later.rotate_left(1);
            }
            last = inner.messages.len() - 1;
        }
        if let Some((_, queue)) = inner.messages.get_mut(last) {
            if queue.len() >= most {
                queue.pop_front();
            }
            queue.push_back((payload, received));
        }
    }

    /// Moves all events to `into`: messages first, so a leaf that is notified of its end sees the world at its end.
    pub(super) fn drain(&self, into: &mut Vec<Event>) {
        let (notices, messages) = {
            let mut inner = self.lock();
            inner.feedback.clear();
            (
                std::mem::take(&mut inner.notices),
                std::mem::take(&mut inner.messages),
            )
        };
        for (topic, queue) in messages {
            into.extend(queue.into_iter().map(|(payload, received)| Event::Message {
                topic,
                payload,
                received,
            }));
        }
        into.extend(notices.into_iter().map(Event::Notice));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::goal::{GoalId, LinkId, Outcome};

    fn feedback(ticket: u64, number: u32) -> Notice<Payload> {
        Notice::Feedback {
            ticket: Ticket(ticket).on(LinkId(3)),
            payload: Payload::new(number),
        }
    }

    fn words(inbox: &Inbox) -> Vec<String> {
        let mut events = Vec::new();
        inbox.drain(&mut events);
        events
            .into_iter()
            .map(|event| match event {
                Event::Message { topic, payload, .. } => {
                    format!("topic {} says {:?}", topic.0, payload.get::<u32>())
                }
                Event::Notice(Notice::Feedback { ticket, payload }) => {
                    format!("{} hears {:?}", ticket.0, payload.get::<u32>())
                }
                Event::Notice(notice) => format!("{} other", notice.ticket().0),
            })
            .collect()
    }

    #[test]
    fn a_flood_of_feedback_is_one_notice() {
        let inbox = Inbox::default();
        for number in 0..10_000 {
            inbox.notice(feedback(1, number));
        }
        inbox.notice(feedback(2, 7));
        assert_eq!(words(&inbox), ["1 hears Some(9999)", "2 hears Some(7)"]);
        inbox.notice(feedback(1, 5));
        assert_eq!(words(&inbox), ["1 hears Some(5)"]);
    }

    #[test]
    fn feedback_does_not_overtake() {
        let inbox = Inbox::default();
        inbox.notice(feedback(1, 1));
        inbox.notice(Notice::Accepted {
            ticket: Ticket(1),
            goal: GoalId::ZERO,
        });
        inbox.notice(feedback(1, 2));
        inbox.notice(Notice::Finished {
            ticket: Ticket(1),
            updates: 0,
            outcome: Outcome::Rejected,
        });
        assert_eq!(
            words(&inbox),
            ["1 hears Some(1)", "1 other", "1 hears Some(2)", "1 other"]
        );
    }

    #[test]
    fn topics_of_one_message_keep_their_order() {
        let inbox = Inbox::default();
        for (topic, number) in [(1, 1), (2, 2), (3, 3), (1, 4_u32)] {
            inbox.message(TopicId(topic), 1, Payload::new(number), Time::ZERO);
        }
        assert_eq!(
            words(&inbox),
            [
                "topic 2 says Some(2)",
                "topic 3 says Some(3)",
                "topic 1 says Some(4)"
            ]
        );
    }

    #[test]
    fn an_unread_topic_keeps_its_newest_messages() {
        let inbox = Inbox::default();
        for number in 0..5_u32 {
            inbox.message(TopicId(1), 2, Payload::new(number), Time::ZERO);
        }
        assert_eq!(words(&inbox), ["topic 1 says Some(3)", "topic 1 says Some(4)"]);
        assert_eq!(words(&inbox), [""; 0]);
    }

    #[test]
    fn the_goals_of_a_cancel_answer_have_tickets_of_the_world() {
        let inbox = Inbox::default();
        let (own, other) = (LinkId(3), LinkId(4));
        let goals = vec![Some(Ticket(2).on(own)), Some(Ticket(2).on(other)), None];
        inbox.notice(Notice::Finished {
            ticket: Ticket(1).on(own),
            updates: 0,
            outcome: Outcome::CancelAnswered(goals),
        });
        let mut events = Vec::new();
        inbox.drain(&mut events);
        let [
            Event::Notice(Notice::Finished {
                ticket: Ticket(1),
                outcome: Outcome::CancelAnswered(goals),
                ..
            }),
        ] = &events[..]
        else {
            panic!("{events:?}")
        };
        assert_eq!(goals, &[Some(Ticket(2)), None]);
    }
}
