//! Repeated actions of a node's thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Timers with this period or a longer one may run early, by a quarter of the period.
const PATIENT_PERIOD: Duration = Duration::from_millis(100);

/// A repeated action, which returns the time until it is due again.
pub(super) struct Timer {
    period: Duration,
    next: Instant,
    trigger: TimerTrigger,
    act: Box<dyn FnMut(&r2r::Node) -> Duration + Send>,
}

/// Makes a timer due, from any thread. The timer runs when the node's thread is awake next.
#[derive(Clone, Default, Debug)]
pub struct TimerTrigger(Arc<AtomicBool>);

impl TimerTrigger {
    /// Makes the timer due.
    pub fn give(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn take(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}

impl Timer {
    pub(super) fn new(
        period: Duration,
        trigger: TimerTrigger,
        act: impl FnMut(&r2r::Node) -> Duration + Send + 'static,
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
    pub(super) fn run_if_due(&mut self, node: &r2r::Node, now: Instant) {
        if self.trigger.take() || self.may_be_done_at() <= now {
            self.period = (self.act)(node);
            self.next = now + self.period;
        }
    }
}
