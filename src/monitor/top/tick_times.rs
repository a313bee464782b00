//! The work of the last ticks.

use std::collections::VecDeque;
use std::time::Duration;

/// Number of ticks that are kept: some seconds of a usual tree.
const MAX_TICKS: usize = 200;

/// Number of ticks, and the work of the last ones.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct TickTimes {
    pub(super) count: u64,
    /// Ticks that were due and did not happen.
    pub(super) missed: u64,
    /// The work of the last ticks, the newest last.
    pub(super) last: VecDeque<Duration>,
}

impl TickTimes {
    /// Adds a tick.
    pub(super) fn add(&mut self, took: Duration, missed: u64) {
        self.missed = self.missed.saturating_add(missed);
        if self.last.len() == MAX_TICKS {
            self.last.pop_front();
        }
        self.last.push_back(took);
    }

    /// Mean and maximum of the last ticks; `None` before the first tick.
    pub(super) fn mean_and_max(&self) -> Option<(Duration, Duration)> {
        let max = self.last.iter().max()?;
        let sum: Duration = self.last.iter().sum();
        let count = u32::try_from(self.last.len()).ok()?;
        Some((sum / count, *max))
    }
}
