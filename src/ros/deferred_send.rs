//! Defers messages until the listening thread is awake.

use std::sync::Arc;

use crate::sync::{Mutex, MutexGuard, PoisonError};

/// A message; the call sends it.
pub(super) type Message = Box<dyn FnOnce() + Send>;

/// A slot for one message that may wait briefly. The thread that listens to topics sends it when an incoming message
/// has woken it: while a robot drives, `/tf` and `/odom` do so often enough. Waking a thread for the message would cost
/// half as much as sending it. No message is lost or sent twice. If a thread is late by the time between two messages,
/// one message may overtake another. Clones share the slot.
#[derive(Clone, Default)]
pub(super) struct DeferredSend(Arc<Mutex<Slot>>);

#[derive(Default)]
enum Slot {
    #[default]
    Free,
    Taken(Message),
    /// The listening thread was not awake between the last two messages. No message waits here until that thread was
    /// awake twice between two messages; otherwise every second message would wait in vain.
    Forsaken {
        passed: bool,
    },
}

impl DeferredSend {
    /// Leaves a message in the slot. The caller must send the returned messages itself, in this order: the listening
    /// thread was not awake since the last message.
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

    /// Takes the message back, because another one must not leave before it.
    pub(super) fn take_back(&self) -> Option<Message> {
        self.lock().empty()
    }

    /// Sends the message in the slot. Called by the listening thread.
    pub(super) fn carry(&self) {
        // Send after the unlock: a tick never waits for the middleware (guarantee G1).
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

    /// `L`: a message is left, `c`: the listening thread is awake, `b`: the message is taken back. Checks what each
    /// step sends.
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
