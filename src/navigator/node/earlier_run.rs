//! What may go on after the end of a robot's run: a job that ignores its cancel, or a tick thread that a leaf blocks. The end
//! of a process with one robot ends them.

use std::sync::Weak;
use std::time::{Duration, Instant};

use crate::job::JobRegistry;

/// The period of the log lines about a run that is not over.
const LOG_PERIOD: Duration = Duration::from_secs(60);

pub(super) struct EarlierRun {
    jobs: JobRegistry,
    /// Alive as long as the tick thread.
    ticks: Weak<()>,
    logged_at: Option<Instant>,
}

impl EarlierRun {
    pub(super) fn new(jobs: JobRegistry, ticks: Weak<()>) -> Self {
        Self {
            jobs,
            ticks,
            logged_at: None,
        }
    }

    /// Whether its jobs and its tick thread have ended. Otherwise logs now and then that the robot waits for them.
    pub(super) fn is_over(&mut self, now: Instant) -> bool {
        let jobs = self.jobs.len();
        let has_ticks = self.ticks.strong_count() > 0;
        if jobs == 0 && !has_ticks {
            return true;
        }
        if self.logged_at.is_none_or(|at| now >= at + LOG_PERIOD) {
            self.logged_at = Some(now);
            let blocked = if has_ticks {
                ", and a leaf blocks its tick thread"
            } else {
                ""
            };
            tracing::error!("not started again yet: {jobs} jobs of its earlier run have not ended{blocked}");
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn g8_a_run_is_over_when_its_tick_thread_has_ended() {
        let alive = Arc::new(());
        let mut run = EarlierRun::new(JobRegistry::new(), Arc::downgrade(&alive));
        let now = Instant::now();
        assert!(!run.is_over(now));
        drop(alive);
        assert!(run.is_over(now));
    }
}
