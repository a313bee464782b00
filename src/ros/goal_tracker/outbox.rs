//! The messages of a tick: they leave at its end.

use std::sync::{Mutex, PoisonError};

use super::input::{Input, InputSender};
use crate::ros::deferred_send::{DeferredSend, Message};

/// The messages of a tick, kept until the tick ends.
pub(super) struct Outbox {
    message_sender: MessageSender,
    held: Mutex<Vec<Outgoing>>,
}

/// An outgoing message.
pub(super) enum Outgoing {
    ToGoalTracker(Input),
    /// A message sent by the thread that listens to topics, or by the GoalTracker's thread.
    Along(Message),
}

/// The threads that send messages.
#[derive(Clone)]
pub(super) struct MessageSender {
    pub(super) inputs: InputSender,
    pub(super) along: DeferredSend,
}

impl MessageSender {
    pub(super) fn put(&self, said: Outgoing) {
        match said {
            Outgoing::ToGoalTracker(input) => {
                if matches!(input, Input::Send(_)) {
                    self.send_all(self.along.take_back());
                }
                self.inputs.send(input);
            }
            Outgoing::Along(message) => self.send_all(self.along.leave(message)),
        }
    }

    fn send_all(&self, messages: impl IntoIterator<Item = Message>) {
        for message in messages {
            self.inputs.send(Input::Send(message));
        }
    }
}

impl Outbox {
    pub(super) fn new(message_sender: MessageSender) -> Self {
        Self {
            message_sender,
            held: Mutex::default(),
        }
    }

    pub(super) fn hold(&self, message: Outgoing) {
        self.held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(message);
    }

    pub(super) fn hand_over(&self) {
        let held = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        for said in held {
            self.message_sender.put(said);
        }
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.hand_over();
    }
}
