//! A signal that wakes a sleeping thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Wakes a sleeping thread from any thread: the loop of the simulator. If no thread sleeps, the next sleep returns at
/// once; several notifications count as one.
#[derive(Clone, Debug, Default)]
pub struct Wake {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    is_notified: Mutex<bool>,
    condition: Condvar,
}

impl Wake {
    /// Creates a `Wake` without a notification.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the present or the next sleep.
    pub fn notify(&self) {
        *self.lock() = true;
        self.inner.condition.notify_all();
    }

    /// Sleeps until a notification or `until`. Returns whether there was a notification.
    pub fn sleep_until(&self, until: Instant) -> bool {
        let mut is_notified = self.lock();
        loop {
            if std::mem::take(&mut *is_notified) {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return false;
            }
            is_notified = self
                .inner
                .condition
                .wait_timeout(is_notified, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.inner
            .is_notified
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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
