//! What the tick thread tells of itself, for whoever watches it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::bt::Whereabouts;

/// What the tick thread tells of itself, for two stores a tick. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Pulse(Arc<PulseInner>);

#[derive(Debug, Default)]
struct PulseInner {
    /// Counts beginnings and ends of work: odd while the thread is at it.
    beats: AtomicU64,
    /// Of the tree that runs.
    whereabouts: Mutex<Option<Whereabouts>>,
    /// Somebody wants a goal cancelled, and the thread has not taken note.
    cancel_waits: AtomicBool,
}

impl Pulse {
    /// A thread at rest.
    pub fn new() -> Self {
        Self::default()
    }

    /// The thread begins to work.
    pub(crate) fn begin(&self) {
        self.step();
    }

    /// It has done its work.
    pub(crate) fn end(&self) {
        self.step();
    }

    fn step(&self) {
        // Written by the tick thread only.
        let beats = self.0.beats.load(Ordering::Relaxed);
        self.0.beats.store(beats + 1, Ordering::Relaxed);
    }

    /// Another tree is about to run.
    pub(crate) fn follow(&self, whereabouts: Whereabouts) {
        *self.0.whereabouts.lock().unwrap_or_else(PoisonError::into_inner) = Some(whereabouts);
    }

    /// Somebody has asked for a cancel, or the thread has taken note of it.
    pub(crate) fn set_cancel_waits(&self, waits: bool) {
        self.0.cancel_waits.store(waits, Ordering::Relaxed);
    }

    /// Whether a cancel has been asked for that the thread has not taken note of.
    pub(super) fn cancel_waits(&self) -> bool {
        self.0.cancel_waits.load(Ordering::Relaxed)
    }

    pub(super) fn beats(&self) -> u64 {
        self.0.beats.load(Ordering::Relaxed)
    }

    /// The leaf that the thread is in, where that is one of those that may keep it.
    pub fn leaf(&self) -> Option<Arc<str>> {
        let whereabouts = self.0.whereabouts.lock().unwrap_or_else(PoisonError::into_inner);
        whereabouts.as_ref().and_then(Whereabouts::path)
    }
}
