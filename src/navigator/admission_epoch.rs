//! Whether goals are taken in, and since when.

use std::sync::Arc;

use crate::sync::atomic::{AtomicU64, Ordering};

/// What clients are told whose goals were let in, and not taken up while the admission_epoch was open.
pub(super) const SHUT: &str = "the node stopped taking goals before this one was taken up";

/// Open, or shut. A goal is let in under the number that the admission_epoch has then, and taken up only if it still has it: one
/// whose tree was being read while the admission_epoch was shut does not start afterwards, nor when it is open again (guarantee
/// G8). Clones are the same admission_epoch.
#[derive(Clone, Debug)]
pub(super) struct AdmissionEpoch(Arc<AtomicU64>);

impl AdmissionEpoch {
    /// An open admission_epoch. It is open under even numbers, and shut under odd ones.
    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicU64::new(0)))
    }

    /// What a goal is let in under.
    pub(super) fn number(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Whether a goal that was let in under that number may be taken up.
    pub(super) fn admits(&self, number: u64) -> bool {
        is_open(number) && self.number() == number
    }

    /// Opens it; harmless where it is open.
    pub(super) fn open(&self) {
        let next = |number: u64| (!is_open(number)).then_some(number + 1);
        let _ = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
    }

    /// Shuts it; harmless where it is shut.
    pub(super) fn shut(&self) {
        self.0.fetch_or(1, Ordering::AcqRel);
    }
}

fn is_open(number: u64) -> bool {
    number.is_multiple_of(2)
}
