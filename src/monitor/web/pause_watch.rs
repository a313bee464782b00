//! The end of a pause whose page is closed: without a page, no operator can resume the robot.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time without a page until its pause ends: longer than to load the page again, or to connect again.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// Whether a page has requested a pause. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct PauseRequested(Arc<AtomicBool>);

impl PauseRequested {
    /// Notes the request of a pause, or its end.
    pub(super) fn set(&self, is_requested: bool) {
        self.0.store(is_requested, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Finds out when the last page of a paused robot was closed.
#[derive(Debug)]
pub(super) struct PauseWatch {
    requested: PauseRequested,
    /// The last time with a page since the request; `None`: there was no page, and a program has requested the pause.
    watched: Option<Instant>,
}

impl PauseWatch {
    pub(super) fn new(requested: PauseRequested) -> Self {
        Self {
            requested,
            watched: None,
        }
    }

    /// Whether the pause is to end now. Called at each look at the pages.
    pub(super) fn is_over(&mut self, is_watched: bool, now: Instant) -> bool {
        if !self.requested.get() {
            self.watched = None;
            return false;
        }
        if is_watched {
            self.watched = Some(now);
        }
        let is_over = self
            .watched
            .is_some_and(|watched| now.duration_since(watched) >= GRACE);
        if is_over {
            self.requested.set(false);
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
        let requested = PauseRequested::default();
        let mut watch = PauseWatch::new(requested.clone());
        let began = Instant::now();
        let mut is_over = |is_watched, at: f32| watch.is_over(is_watched, began + GRACE.mul_f32(at));
        assert!(!is_over(true, 0.0), "no pause");
        requested.set(true);
        assert!(!is_over(true, 1.0));
        assert!(!is_over(false, 1.5));
        assert!(!is_over(true, 1.9), "the page was loaded again");
        assert!(!is_over(false, 2.8));
        assert!(is_over(false, 3.0));
        assert!(!is_over(false, 9.0), "once");
        requested.set(true);
        assert!(!is_over(false, 99.0), "a program without a page has paused");
    }
}
