//! Detection of operations that take too long.

use std::time::Duration;

use crate::bt::Time;

/// A change to report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StallNotice {
    /// The operation has taken this long and has not ended.
    Stalled(Duration),
    /// A stalled operation has ended after this time.
    Recovered(Duration),
}

/// Watches a count of starts and ends that is odd during an operation, so the watched thread reads no clock. The time
/// starts when the watcher first sees the operation. A stall is reported when the limit has passed, and again each time
/// the duration has doubled.
#[derive(Debug, Default)]
pub(crate) struct StallDetector {
    beats: u64,
    since: Time,
    last_report: Option<Duration>,
}

impl StallDetector {
    /// Whether a stall was reported and its end was not.
    pub(crate) fn has_reported(&self) -> bool {
        self.last_report.is_some()
    }

    pub(crate) fn check(&mut self, beats: u64, now: Time, limit: Duration) -> Option<StallNotice> {
        let time = now.since(self.since);
        if beats != self.beats {
            self.beats = beats;
            self.since = now;
            return self.last_report.take().map(|_| StallNotice::Recovered(time));
        }
        let is_busy = !beats.is_multiple_of(2);
        let due = self.last_report.map_or(limit, |last_report| last_report * 2);
        (is_busy && time >= due).then(|| {
            self.last_report = Some(time);
            StallNotice::Stalled(time)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_operation_that_does_not_end_is_a_stall() {
        let mut stall_detector = StallDetector::default();
        let second = |seconds: u64| Time::from_millis(seconds * 1000);
        let mut at = |seconds, beats| stall_detector.check(beats, second(seconds), Duration::from_secs(1));
        assert_eq!(at(5, 0), None, "nothing is being done");
        assert_eq!(at(6, 1), None);
        assert_eq!(at(7, 3), None, "another one");
        assert_eq!(at(8, 3), Some(StallNotice::Stalled(Duration::from_secs(1))));
        assert_eq!(at(9, 3), Some(StallNotice::Stalled(Duration::from_secs(2))));
        assert_eq!(at(10, 3), None);
        assert_eq!(at(12, 3), Some(StallNotice::Stalled(Duration::from_secs(5))));
        assert_eq!(at(13, 4), Some(StallNotice::Recovered(Duration::from_secs(6))));
        assert_eq!(at(60, 4), None);
    }
}
