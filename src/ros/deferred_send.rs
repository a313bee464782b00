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
    Empty,
    Full(Message),
    /// The listening thread was not awake between the last two messages. No message waits here until that thread was
    /// awake twice between two messages; otherwise every second message would wait in vain.
    Bypassed {
        was_awake: bool,
    },
}

impl DeferredSend {
    /// Leaves a message in the slot. The caller must send the returned messages itself, in this order: the listening
    /// thread was not awake since the last message.
    #[must_use]
    pub(super) fn leave(&self, message: Message) -> Vec<Message> {
        let mut slot = self.lock();
        match std::mem::replace(&mut *slot, Slot::Bypassed { was_awake: false }) {
            Slot::Empty => {
                *slot = Slot::Full(message);
                Vec::new()
            }
            Slot::Full(earlier) => vec![earlier, message],
            Slot::Bypassed { .. } => vec![message],
        }
    }

    /// Takes the message back, because another one must not leave before it.
    pub(super) fn take_back(&self) -> Option<Message> {
        self.lock().take()
    }

    /// Sends the message in the slot. Called by the listening thread.
    pub(super) fn carry(&self) {
        // Send after the unlock: a tick never waits for the middleware (guarantee G1).
        let message = self.lock().take_when_awake();
        if let Some(send) = message {
            send();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn take(&mut self) -> Option<Message> {
        match std::mem::take(self) {
            Self::Full(message) => Some(message),
            other => {
                *self = other;
                None
            }
        }
    }

    fn take_when_awake(&mut self) -> Option<Message> {
        if let Self::Bypassed { was_awake } = self {
            if *was_awake {
                *self = Self::Empty;
            } else {
                *was_awake = true;
            }
        }
        self.take()
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
    fn check(steps: &[(&str, &str)]) {
        let (sender, sent) = channel();
        let deferred_send = DeferredSend::default();
        let mut number = 0;
        for (index, (what, expected)) in steps.iter().enumerate() {
            match *what {
                "L" => {
                    number += 1;
                    for send in deferred_send.leave(message(number, &sender)) {
                        send();
                    }
                }
                "b" => deferred_send.take_back().into_iter().for_each(|send| send()),
                _ => deferred_send.carry(),
            }
            let left: String = sent.try_iter().map(|number| number.to_string()).collect();
            assert_eq!(left, *expected, "step {index}");
        }
    }

    #[test]
    fn the_listening_thread_sends_a_deferred_message() {
        check(&[("c", ""), ("L", ""), ("c", "1"), ("c", ""), ("L", ""), ("c", "2")]);
    }

    #[test]
    fn a_deferred_message_is_taken_back() {
        check(&[("L", ""), ("b", "1"), ("b", ""), ("c", ""), ("L", ""), ("c", "2")]);
    }

    #[test]
    fn no_message_waits_for_a_thread_that_is_never_awake() {
        check(&[("L", ""), ("L", "12"), ("L", "3"), ("b", ""), ("L", "4")]);
    }

    #[test]
    fn no_message_waits_for_a_thread_that_is_awake_less_often_than_messages_come() {
        check(&[
            ("L", ""),
            ("L", "12"),
            ("c", ""),
            ("L", "3"),
            ("c", ""),
            ("L", "4"),
        ]);
        check(&[
            ("L", ""),
            ("L", "12"),
            ("c", ""),
            ("c", ""),
            ("L", ""),
            ("c", "3"),
        ]);
    }
}
