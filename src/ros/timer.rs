//! Repeated actions of a node's thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::rcl;
use super::ready::Ready;

/// Timers with this period or a longer one may run early, by a quarter of the period.
const PATIENT_PERIOD: Duration = Duration::from_millis(100);

/// A repeated action, which returns the time until it is due again.
pub(super) struct Timer {
    period: Duration,
    next: Instant,
    trigger: TimerTrigger,
    act: Box<dyn FnMut(&rcl::Node) -> Duration + Send>,
}

/// Makes a timer due, from any thread, and wakes the node's thread.
#[derive(Clone, Default, Debug)]
pub struct TimerTrigger(Arc<TriggerState>);

#[derive(Default, Debug)]
struct TriggerState {
    is_given: AtomicBool,
    /// Set when the timer is created.
    ready: OnceLock<Ready>,
}

impl TimerTrigger {
    /// Makes the timer due.
    pub fn give(&self) {
        self.0.is_given.store(true, Ordering::Release);
        if let Some(ready) = self.0.ready.get() {
            ready.wake();
        }
    }

    /// Wakes this thread from now on.
    pub(super) fn wakes(&self, ready: &Ready) {
        self.0.ready.get_or_init(|| ready.clone());
    }

    fn take(&self) -> bool {
        self.0.is_given.swap(false, Ordering::AcqRel)
    }
}

impl Timer {
    pub(super) fn new(
        period: Duration,
        trigger: TimerTrigger,
        act: impl FnMut(&rcl::Node) -> Duration + Send + 'static,
    ) -> Self {
        Self {
            period,
            next: Instant::now() + period,
            trigger,
            act: Box::new(act),
        }
    }

    /// The earliest time at which the timer runs if the thread is awake for another reason. Timers with a period of one
    /// second, and the heartbeat while `/tf` arrives, then cause no wakeups.
    fn may_be_done_at(&self) -> Instant {
        let early = if self.period < PATIENT_PERIOD {
            Duration::ZERO
        } else {
            self.period / 4
        };
        self.next.checked_sub(early).unwrap_or(self.next)
    }

    /// The time of the next run; `None` if only its trigger makes it due.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.period.is_zero()).then_some(self.next)
    }

    /// Runs the timer if it is due.
    pub(super) fn run_if_due(&mut self, node: &rcl::Node, now: Instant) {
        if self.trigger.take() || self.may_be_done_at() <= now {
            self.period = (self.act)(node);
            self.next = now + self.period;
        }
    }
}
