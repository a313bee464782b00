//! The messages of a tick: they leave at its end.

use std::sync::{Mutex, PoisonError};

use super::input::{Input, InputSender};

/// The messages of a tick, kept until the tick ends.
pub(super) struct Outbox {
    inputs: InputSender,
    held: Mutex<Vec<Input>>,
}

impl Outbox {
    pub(super) fn new(inputs: InputSender) -> Self {
        Self {
            inputs,
            held: Mutex::default(),
        }
    }

    pub(super) fn hold(&self, input: Input) {
        self.held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(input);
    }

    pub(super) fn hand_over(&self) {
        let held = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        for input in held {
            self.inputs.send(input);
        }
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.hand_over();
    }
}
