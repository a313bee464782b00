//! What the main thread does for a robot now and then: it checks the threads, and empties the event stream.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::bt::panic_text;
use crate::fault;
use crate::navigator::Watchdog;
use crate::navigator::stalled_threads::StalledThreads;
use crate::record::FlightRecorder;
use crate::ros::{Clock, GoalTrackerHandle, RosHandle};

/// Checks that are due this soon are made at once: a process with many robots wakes once for all of them.
const TOLERANCE: Duration = Duration::from_millis(20);

/// The checks of one robot. They never wait for the threads that they check.
pub(super) struct Checks {
    clock: Clock,
    pub(super) ros: RosHandle,
    pub(super) goal_tracker: GoalTrackerHandle,
    /// The guardian has a list of the goals: it cancels them if the process is aborted while it runs.
    pub(super) is_guarded: bool,
    watchdog: Watchdog,
    stalled_threads: StalledThreads,
    recorder: Option<FlightRecorder>,
    next_check: Instant,
    next_look: Instant,
    has_failed: bool,
}

impl Checks {
    pub(super) fn new(
        clock: Clock,
        ros: RosHandle,
        goal_tracker: GoalTrackerHandle,
        is_guarded: bool,
        watchdog: Watchdog,
        recorder: Option<FlightRecorder>,
    ) -> Self {
        let now = Instant::now();
        clock.skip_pauses();
        Self {
            clock,
            ros,
            goal_tracker,
            is_guarded,
            watchdog,
            stalled_threads: StalledThreads::default(),
            recorder,
            next_check: now,
            next_look: now,
            has_failed: false,
        }
    }

    /// Makes what is due. Returns the time of the next call. A panic is a fault of the robot. `has_guardian`: a guardian runs
    /// now.
    pub(super) fn run(&mut self, now: Instant, has_guardian: bool) -> Instant {
        let soon = now + TOLERANCE;
        if self.next_check <= soon {
            self.next_check = now + self.watchdog.period();
            self.check(has_guardian);
        }
        match &self.recorder {
            Some(recorder) => {
                if self.next_look <= soon {
                    self.next_look = now + recorder.look();
                }
                self.next_check.min(self.next_look)
            }
            None => self.next_check,
        }
    }

    /// Checks the threads, until a check has panicked.
    fn check(&mut self, has_guardian: bool) {
        if self.has_failed {
            return;
        }
        let checked = catch_unwind(AssertUnwindSafe(|| {
            fault::point_of("watchdog");
            let has_guardian = self.is_guarded && has_guardian;
            self.clock.steady();
            let pause = self.clock.take_pause();
            if !pause.is_zero() {
                tracing::warn!(
                    "the process did not run for {pause:.1?}: it was stopped, or got no processor"
                );
            }
            self.stalled_threads
                .check(&self.ros, &self.goal_tracker, has_guardian);
            self.watchdog.check();
        }));
        if let Err(panic) = checked {
            self.has_failed = true;
            self.ros
                .fail(&format!("the watchdog panicked: {}", panic_text(&*panic)));
        }
    }

    /// Makes everything due in the next call: a goal begins, the event stream fills quickly, or somebody asks for a
    /// recording.
    pub(super) fn look_soon(&mut self) {
        let now = Instant::now();
        (self.next_check, self.next_look) = (now, now);
    }
}
