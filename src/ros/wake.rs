//! A bell that a thread sleeps beside.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Rung by any thread, heard by the one that sleeps: the tick thread between two ticks. A ring that comes while
/// nobody sleeps is heard by the next sleep, which then returns at once; several rings count as one.
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
    /// The clock has moved: a reason to look at it again, and not one to return.
    nudged: bool,
}

/// What ended a sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Heard {
    Ring,
    TimerTrigger,
    Nothing,
}

impl Wake {
    /// A bell that has not been rung.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the present or the next sleep.
    pub fn ring(&self) {
        self.lock().rung = true;
        self.bell.condition.notify_all();
    }

    /// Sleeps until a ring, or `until`; whether it was a ring.
    pub fn sleep_until(&self, until: Instant) -> bool {
        loop {
            match self.hear_until(until) {
                Heard::Ring => return true,
                Heard::Nothing => return false,
                Heard::TimerTrigger => {}
            }
        }
    }

    /// As [`Wake::ring`], for the clock's own use.
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

    /// Whether both are the same bell.
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
