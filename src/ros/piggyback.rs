//! What leaves along with what comes in.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Something to send.
pub(super) type Send = Box<dyn FnOnce() + std::marker::Send>;

/// Room for one message that may wait a moment. The thread that listens to topics sends it when it is awake for
/// something that it heard: where a robot drives, `/tf` and `/odom` wake it often enough. To wake a thread for it instead
/// is half of what it costs to send it. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Piggyback(Arc<Mutex<Room>>);

#[derive(Default)]
enum Room {
    #[default]
    Free,
    Taken(Send),
    /// Nobody has come by for as long as the last message could wait.
    Forsaken,
}

impl Piggyback {
    /// Leaves a message for whoever comes by. What is returned is to be sent otherwise, in this order: nobody has come by
    /// since the message before.
    #[must_use]
    pub(super) fn leave(&self, send: Send) -> Vec<Send> {
        let mut room = self.lock();
        match std::mem::replace(&mut *room, Room::Forsaken) {
            Room::Free => {
                *room = Room::Taken(send);
                Vec::new()
            }
            Room::Taken(earlier) => vec![earlier, send],
            Room::Forsaken => vec![send],
        }
    }

    /// Takes it back, for what must not leave before it.
    pub(super) fn take_back(&self) -> Option<Send> {
        self.lock().empty()
    }

    /// Sends what there is: somebody comes by.
    pub(super) fn carry(&self) {
        // Sent when the room is open again: a tick never waits for the middleware (guarantee G1).
        let send = self.lock().empty();
        if let Some(send) = send {
            send();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Room> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    fn empty(&mut self) -> Option<Send> {
        match std::mem::take(self) {
            Self::Taken(send) => Some(send),
            Self::Free | Self::Forsaken => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    fn message(number: u8, sent: &Sender<u8>) -> Send {
        let sent = sent.clone();
        Box::new(move || sent.send(number).unwrap())
    }

    #[test]
    fn nothing_is_lost_and_all_leave_in_order_whether_somebody_comes_by_or_not() {
        let (sender, sent) = channel();
        let along = Piggyback::default();
        // L: somebody leaves a message, c: somebody comes by, b: it is taken back. What has been sent so far.
        let story = [
            ("c", ""),
            ("L", ""),
            ("c", "1"),
            ("c", ""),
            ("L", ""),
            ("L", "23"),
            ("L", "4"),
            ("c", ""),
            ("L", ""),
            ("b", "5"),
            ("b", ""),
            ("L", ""),
            ("c", "6"),
        ];
        let mut number = 0;
        for (index, (what, expected)) in story.into_iter().enumerate() {
            match what {
                "L" => {
                    number += 1;
                    along
                        .leave(message(number, &sender))
                        .into_iter()
                        .for_each(|send| send());
                }
                "b" => along.take_back().into_iter().for_each(|send| send()),
                _ => along.carry(),
            }
            let left: String = sent.try_iter().map(|number| number.to_string()).collect();
            assert_eq!(left, expected, "step {index}");
        }
    }
}
