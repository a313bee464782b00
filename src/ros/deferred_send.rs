//! What leaves along with what comes in.

use std::sync::Arc;

use crate::sync::{Mutex, MutexGuard, PoisonError};

/// Something to say, by calling it.
pub(super) type Message = Box<dyn FnOnce() + Send>;

/// Room for one message that may wait a moment. The thread that listens to topics sends it when it is awake for
/// something that it heard: where a robot drives, `/tf` and `/odom` wake it often enough. To wake a thread for it instead
/// is half of what it costs to send it. Nothing is lost or sent twice; one message may overtake another where a thread lags
/// by the time between two. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct DeferredSend(Arc<Mutex<Slot>>);

#[derive(Default)]
enum Slot {
    #[default]
    Free,
    Taken(Message),
    /// Nobody has come by for as long as the last message could wait. Nothing waits here until somebody comes by twice
    /// between two messages: else each second one would wait in vain.
    Forsaken {
        passed: bool,
    },
}

impl DeferredSend {
    /// Leaves a message for whoever comes by. What is returned is to be sent otherwise, in this order: nobody has come by
    /// since the message before.
    #[must_use]
    pub(super) fn leave(&self, message: Message) -> Vec<Message> {
        let mut slot = self.lock();
        match std::mem::replace(&mut *slot, Slot::Forsaken { passed: false }) {
            Slot::Free => {
                *slot = Slot::Taken(message);
                Vec::new()
            }
            Slot::Taken(earlier) => vec![earlier, message],
            Slot::Forsaken { .. } => vec![message],
        }
    }

    /// Takes it back, for what must not leave before it.
    pub(super) fn take_back(&self) -> Option<Message> {
        self.lock().empty()
    }

    /// Sends what there is: somebody comes by.
    pub(super) fn carry(&self) {
        // Sent when the slot is open again: a tick never waits for the middleware (guarantee G1).
        let message = self.lock().pass();
        if let Some(send) = message {
            send();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn empty(&mut self) -> Option<Message> {
        match std::mem::take(self) {
            Self::Taken(message) => Some(message),
            other => {
                *self = other;
                None
            }
        }
    }

    fn pass(&mut self) -> Option<Message> {
        if let Self::Forsaken { passed } = self {
            if *passed {
                *self = Self::Free;
            } else {
                *passed = true;
            }
        }
        self.empty()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    fn message(number: u8, sent: &Sender<u8>) -> Message {
        let sent = sent.clone();
        Box::new(move || {
            let _ = sent.send(number);
        })
    }

    /// `L`: a message is left, `c`: somebody comes by, `b`: it is taken back. What each step sends.
    fn tell(story: &[(&str, &str)]) {
        let (sender, sent) = channel();
        let along = DeferredSend::default();
        let mut number = 0;
        for (index, (what, expected)) in story.iter().enumerate() {
            match *what {
                "L" => {
                    number += 1;
                    for send in along.leave(message(number, &sender)) {
                        send();
                    }
                }
                "b" => along.take_back().into_iter().for_each(|send| send()),
                _ => along.carry(),
            }
            let left: String = sent.try_iter().map(|number| number.to_string()).collect();
            assert_eq!(left, *expected, "step {index}");
        }
    }

    #[test]
    fn whoever_comes_by_takes_it_along() {
        tell(&[("c", ""), ("L", ""), ("c", "1"), ("c", ""), ("L", ""), ("c", "2")]);
    }

    #[test]
    fn what_must_not_leave_before_it_takes_it_back() {
        tell(&[("L", ""), ("b", "1"), ("b", ""), ("c", ""), ("L", ""), ("c", "2")]);
    }

    #[test]
    fn nothing_waits_where_nobody_comes_by() {
        tell(&[("L", ""), ("L", "12"), ("L", "3"), ("b", ""), ("L", "4")]);
    }

    #[test]
    fn nothing_waits_where_somebody_comes_by_less_often_than_it_is_said() {
        tell(&[
            ("L", ""),
            ("L", "12"),
            ("c", ""),
            ("L", "3"),
            ("c", ""),
            ("L", "4"),
        ]);
        tell(&[
            ("L", ""),
            ("L", "12"),
            ("c", ""),
            ("c", ""),
            ("L", ""),
            ("c", "3"),
        ]);
    }
}
