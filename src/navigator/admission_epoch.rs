//! The current admission epoch: whether goals are accepted.

use std::sync::Arc;

use crate::sync::atomic::{AtomicU64, Ordering};

/// Error message for goals that were admitted in an epoch which ended before their start.
pub(super) const SHUT: &str = "the node stopped accepting goals before this goal started";

/// An open or shut admission. A goal is admitted with the current epoch number, and starts only if the number is still
/// the same. A goal whose tree is read while the admission is shut does not start then, nor after the admission is
/// opened again (guarantee G8). Clones share the number.
#[derive(Clone, Debug)]
pub(super) struct AdmissionEpoch(Arc<AtomicU64>);

impl AdmissionEpoch {
    /// Creates an open admission. Even numbers are open, odd numbers are shut.
    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicU64::new(0)))
    }

    /// The current epoch number.
    pub(super) fn number(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Returns whether a goal that was admitted with this number may start.
    pub(super) fn admits(&self, number: u64) -> bool {
        is_open(number) && self.number() == number
    }

    /// Opens the admission. No effect if it is open.
    pub(super) fn open(&self) {
        let next = |number: u64| (!is_open(number)).then_some(number + 1);
        let _ = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
    }

    /// Shuts the admission. No effect if it is shut.
    pub(super) fn shut(&self) {
        self.0.fetch_or(1, Ordering::AcqRel);
    }
}

fn is_open(number: u64) -> bool {
    number.is_multiple_of(2)
}
