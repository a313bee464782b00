//! A signal that wakes a sleeping thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Wakes a sleeping thread from any thread: the tick thread between two ticks. If no thread sleeps, the next sleep
/// returns at once; several rings count as one.
#[derive(Clone, Debug, Default)]
pub struct Wake {
    bell: Arc<Bell>,
}

#[derive(Debug, Default)]
struct Bell {
    state: Mutex<WakeState>,
    condition: Condvar,
}

#[derive(Debug, Default)]
struct WakeState {
    rung: bool,
    /// The clock has changed: the sleeper must check the clock again, but not return.
    nudged: bool,
}

/// The reason for the end of a sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Heard {
    Ring,
    TimerTrigger,
    Nothing,
}

impl Wake {
    /// A new one, not rung.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the present or the next sleep.
    pub fn ring(&self) {
        self.lock().rung = true;
        self.bell.condition.notify_all();
    }

    /// Sleeps until a ring or until `until`. Returns whether there was a ring.
    pub fn sleep_until(&self, until: Instant) -> bool {
        loop {
            match self.hear_until(until) {
                Heard::Ring => return true,
                Heard::Nothing => return false,
                Heard::TimerTrigger => {}
            }
        }
    }

    /// Like [`Wake::ring`], for the clock: the sleeper only checks the clock again.
    pub(super) fn trigger(&self) {
        self.lock().nudged = true;
        self.bell.condition.notify_all();
    }

    pub(super) fn hear_until(&self, until: Instant) -> Heard {
        let mut state = self.lock();
        loop {
            if std::mem::take(&mut state.rung) {
                return Heard::Ring;
            }
            if std::mem::take(&mut state.nudged) {
                return Heard::TimerTrigger;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return Heard::Nothing;
            }
            state = self
                .bell
                .condition
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Whether both are clones of the same one.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.bell, &other.bell)
    }

    fn lock(&self) -> MutexGuard<'_, WakeState> {
        self.bell.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_ring_before_the_sleep_is_heard_once() {
        let wake = Wake::new();
        wake.ring();
        wake.ring();
        assert!(wake.sleep_until(Instant::now() + Duration::from_secs(60)));
        assert!(!wake.sleep_until(Instant::now()));
    }

    #[test]
    fn a_ring_from_another_thread_ends_the_sleep() {
        let wake = Wake::new();
        let other = wake.clone();
        let thread = std::thread::spawn(move || other.ring());
        assert!(wake.sleep_until(Instant::now() + Duration::from_secs(60)));
        thread.join().unwrap();
    }
}
