//! A signal that wakes a sleeping thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Wakes a sleeping thread from any thread: the tick thread between two ticks. If no thread sleeps, the next sleep
/// returns at once; several notifications count as one.
#[derive(Clone, Debug, Default)]
pub struct Wake {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<WakeState>,
    condition: Condvar,
}

#[derive(Debug, Default)]
struct WakeState {
    notified: bool,
    /// The clock has changed: the sleeper must check the clock again, but not return.
    triggered: bool,
}

/// The reason for the end of a sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WakeReason {
    Notified,
    TimerTrigger,
    Timeout,
}

impl Wake {
    /// Creates a `Wake` without a notification.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the present or the next sleep.
    pub fn notify(&self) {
        self.lock().notified = true;
        self.inner.condition.notify_all();
    }

    /// Sleeps until a notification or `until`. Returns whether there was a notification.
    pub fn sleep_until(&self, until: Instant) -> bool {
        loop {
            match self.wait_until(until) {
                WakeReason::Notified => return true,
                WakeReason::Timeout => return false,
                WakeReason::TimerTrigger => {}
            }
        }
    }

    /// Like [`Wake::notify`], for the clock: the sleeper only checks the clock again.
    pub(super) fn trigger(&self) {
        self.lock().triggered = true;
        self.inner.condition.notify_all();
    }

    pub(super) fn wait_until(&self, until: Instant) -> WakeReason {
        let mut state = self.lock();
        loop {
            if std::mem::take(&mut state.notified) {
                return WakeReason::Notified;
            }
            if std::mem::take(&mut state.triggered) {
                return WakeReason::TimerTrigger;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return WakeReason::Timeout;
            }
            state = self
                .inner
                .condition
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Whether both are clones of one `Wake`.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    fn lock(&self) -> MutexGuard<'_, WakeState> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_notification_before_the_sleep_ends_one_sleep() {
        let wake = Wake::new();
        wake.notify();
        wake.notify();
        assert!(wake.sleep_until(Instant::now() + Duration::from_secs(60)));
        assert!(!wake.sleep_until(Instant::now()));
    }

    #[test]
    fn a_notification_from_another_thread_ends_the_sleep() {
        let wake = Wake::new();
        let other = wake.clone();
        let thread = std::thread::spawn(move || other.notify());
        assert!(wake.sleep_until(Instant::now() + Duration::from_secs(60)));
        thread.join().unwrap();
    }
}
