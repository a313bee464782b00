//! The end of a pause whose page is closed: without a page, no operator can resume the robot.

use std::time::{Duration, Instant};

/// Time without a page until its pause ends: longer than to load the page again, or to connect again.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// Finds out when the last page of a paused robot was closed.
#[derive(Debug, Default)]
pub(super) struct PauseWatch {
    /// The last time with a page since the pause, or the time when the pause was noticed.
    watched: Option<Instant>,
}

impl PauseWatch {
    /// Whether the pause is to end now. Called at each look at the pages. `is_held`: a page has paused.
    pub(super) fn is_over(&mut self, is_held: bool, is_watched: bool, now: Instant) -> bool {
        if !is_held {
            self.watched = None;
            return false;
        }
        let watched = self.watched.get_or_insert(now);
        if is_watched {
            *watched = now;
        }
        let is_over = now.duration_since(*watched) >= GRACE;
        if is_over {
            // Told once, although it may take a moment until the pause has ended.
            self.watched = None;
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_ends_some_time_after_the_last_page() {
        let mut watch = PauseWatch::default();
        let began = Instant::now();
        let mut is_over =
            |is_held, is_watched, at: f32| watch.is_over(is_held, is_watched, began + GRACE.mul_f32(at));
        assert!(!is_over(false, true, 0.0), "no pause");
        assert!(!is_over(true, true, 1.0));
        assert!(!is_over(true, false, 1.5));
        assert!(!is_over(true, true, 1.9), "the page was loaded again");
        assert!(!is_over(true, false, 2.8));
        assert!(is_over(true, false, 3.0));
        assert!(!is_over(true, false, 3.1), "it is about to end");
        assert!(!is_over(false, false, 9.0), "once");
    }

    #[test]
    fn a_pause_that_begins_while_the_page_is_not_connected_ends_too() {
        let mut watch = PauseWatch::default();
        let began = Instant::now();
        assert!(!watch.is_over(true, false, began));
        assert!(!watch.is_over(true, false, began + GRACE / 2));
        assert!(watch.is_over(true, false, began + GRACE));
    }
}
