//! The clocks: the monotonic clock, or the clock of a simulation.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::bt::Time;
use crate::msg::Stamp;

/// The time that drives trees and stamps messages: one object for the whole process, cheap to clone.
///
/// Without `use_sim_time`, [`Clock::now`] is the monotonic clock, so a tick is due at start + n·period whatever happens
/// to the wall clock (guarantee G10). With `use_sim_time`, it advances with `/clock` and stops while `/clock` stops.
/// Deadlines of the network do not stop in a paused simulation, because an answer can be lost then too: the GoalTracker
/// and all waits for a halt always use [`Clock::steady`].
///
/// In a node, neither counts the time in which the process does not run: see [`Clock::skip_pauses`].
#[derive(Clone, Debug)]
pub struct Clock {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    start: Instant,
    running: Mutex<RunningTime>,
    state: Mutex<ClockState>,
}

/// The time in which the process ran. A stopped process (SIGSTOP, a debugger, a paused container) or one that gets no
/// processor finds its deadlines over when it goes on, and handles the messages that arrived in time some milliseconds later.
/// A timeout that did not happen would fail a navigation, and a recovery would move a robot that another client has
/// stopped (guarantee G3). So this time does not count, and the clock stands still until those messages are handled.
#[derive(Debug, Default)]
struct RunningTime {
    /// See [`Clock::skip_pauses`].
    skips_pauses: bool,
    /// The last reading of the monotonic clock, and of this one. In nanoseconds.
    monotonic: u64,
    time: u64,
    /// What is not counted.
    skipped: u64,
    /// The part of it that [`Clock::take_pause`] has not returned.
    pause: Duration,
}

impl RunningTime {
    /// The process did not run if nobody has read the clock for this long.
    const PAUSE: u64 = 700_000_000;
    /// Messages that had arrived were handled 1 to 28 ms after the end of a pause.
    const STANDSTILL: u64 = 100_000_000;

    fn at(&mut self, monotonic: u64) -> u64 {
        let gap = monotonic - self.monotonic;
        if self.skips_pauses && gap > Self::PAUSE {
            self.skipped += gap + Self::STANDSTILL;
            self.pause += Duration::from_nanos(gap);
        }
        self.monotonic = monotonic;
        // One nanosecond more each time: what happens in the standstill keeps its order.
        self.time = (self.time + 1).max(monotonic.saturating_sub(self.skipped));
        self.time
    }
}

/// The source and the state of the trees' time. All fields are under one lock, held for an addition: if values from
/// before and after a switch were mixed, the time could go back.
#[derive(Debug)]
struct ClockState {
    simulated: bool,
    /// Nanoseconds of the latest `/clock` message; 0 before the first. For rclcpp too, zero means no time.
    simulation: i64,
    /// Messages count from the second on after `use_sim_time` was set: the first one tells the simulation's time, not
    /// how much time has passed. A recording begins decades after zero.
    has_first_message: bool,
    /// [`RunningTime::skipped`] at the last message.
    skipped: u64,
    /// The time of trees under `use_sim_time`, in nanoseconds. Steps back are not subtracted: after a recording starts
    /// over or a simulation is reset, timers of a tree must not wait for the duration of the last run.
    tree_time: u64,
    /// The trees' time minus the monotonic clock, without `use_sim_time`. It wraps if it is negative.
    offset: u64,
    due_steps: DueSteps,
}

/// The steps of simulated time by which a tick became due (see [`Clock::now_and_due_steps`]).
#[derive(Debug, Default, PartialEq, Eq)]
struct DueSteps {
    /// In nanoseconds. With a period of zero, steps are not counted.
    start: u64,
    period: u64,
    /// The number of the last due tick.
    reached: u64,
    count: u64,
}

/// The ROS time, which can go back, and the time that drives trees, which cannot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// [`Clock::stamp`].
    pub stamp: Stamp,
    /// [`Clock::now`].
    pub time: Time,
}

impl DueSteps {
    fn new(start: Time, period: Duration, now: u64) -> Self {
        let mut steps = Self {
            start: start.as_nanos(),
            period: u64::try_from(period.as_nanos()).unwrap_or(u64::MAX),
            ..Self::default()
        };
        steps.take(now);
        steps.count = 0;
        steps
    }

    fn take(&mut self, now: u64) {
        let due = now.saturating_sub(self.start).checked_div(self.period);
        if due.is_some_and(|due| due > self.reached) {
            self.reached = due.unwrap_or_default();
            self.count += 1;
        }
    }
}

impl Clock {
    /// Creates a clock that starts now. `simulated`: the parameter `use_sim_time`.
    pub fn new(simulated: bool) -> Self {
        Self {
            inner: Arc::new(Inner {
                start: Instant::now(),
                running: Mutex::default(),
                state: Mutex::new(ClockState {
                    simulated,
                    simulation: 0,
                    has_first_message: false,
                    skipped: 0,
                    tree_time: 0,
                    offset: 0,
                    due_steps: DueSteps::default(),
                }),
            }),
        }
    }

    /// Whether the time comes from `/clock`.
    pub fn is_simulated(&self) -> bool {
        self.state().simulated
    }

    /// Switches the source of the time, when the parameter `use_sim_time` is set. The time of trees continues from its
    /// current value, so a running tree is neither delayed nor hurried.
    pub fn set_simulated(&self, simulated: bool) {
        let mut state = self.state();
        if state.simulated != simulated {
            let steady = self.steady().as_nanos();
            if simulated {
                state.tree_time = steady.wrapping_add(state.offset);
                state.has_first_message = false;
            } else {
                state.offset = state.tree_time.wrapping_sub(steady);
            }
            state.simulated = simulated;
            state.due_steps = DueSteps::default();
        }
    }

    /// The time that drives trees; it never goes back. Under `use_sim_time` it stops until [`Clock::has_started`], and
    /// a tick loop waits for that.
    pub fn now(&self) -> Time {
        self.time(&self.state())
    }

    fn time(&self, state: &ClockState) -> Time {
        Time::from_nanos(if state.simulated {
            state.tree_time
        } else {
            self.steady().as_nanos().wrapping_add(state.offset)
        })
    }

    /// [`Clock::now`], and under `use_sim_time` the number of `/clock` messages that made one or more ticks due since
    /// the last call with the same ticks: those at `start` + n·`period`. With steps of 25 ms, there cannot be a tick
    /// every 10 ms.
    pub fn now_and_due_steps(&self, start: Time, period: Duration) -> (Time, Option<u64>) {
        let mut state = self.state();
        if !state.simulated {
            drop(state);
            return (self.now(), None);
        }
        let tree_time = state.tree_time;
        let counted = std::mem::replace(&mut state.due_steps, DueSteps::new(start, period, tree_time));
        let same = (counted.start, counted.period) == (state.due_steps.start, state.due_steps.period);
        (
            Time::from_nanos(tree_time),
            Some(if same { counted.count } else { 0 }),
        )
    }

    /// Whether the time is known. False only under `use_sim_time`, until the first `/clock` message since it was set.
    pub fn has_started(&self) -> bool {
        let state = self.state();
        !state.simulated || state.has_first_message
    }

    /// The monotonic clock, with and without `use_sim_time`.
    pub fn steady(&self) -> Time {
        let mut running = self.running();
        // Under the lock, so readings are in order.
        let monotonic = u64::try_from(self.inner.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::from_nanos(running.at(monotonic))
    }

    /// From now on, the time in which the process does not run does not count. The caller reads [`Clock::steady`] every 0.5 s
    /// from now on; so does whoever waits for one of its deadlines.
    pub fn skip_pauses(&self) {
        self.steady();
        self.running().skips_pauses = true;
    }

    /// How long the process has not run since the last call.
    pub fn take_pause(&self) -> Duration {
        std::mem::take(&mut self.running().pause)
    }

    fn running(&self) -> MutexGuard<'_, RunningTime> {
        self.inner.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ROS time for stamps: the system's or the simulation's.
    pub fn stamp(&self) -> Stamp {
        Self::stamp_of(&self.state())
    }

    fn stamp_of(state: &ClockState) -> Stamp {
        if state.simulated {
            return Stamp::from_nanos(state.simulation);
        }
        Self::system_stamp()
    }

    /// [`Clock::stamp`] and [`Clock::now`] at the same moment.
    pub fn moment(&self) -> Moment {
        let state = self.state();
        Moment {
            stamp: Self::stamp_of(&state),
            time: self.time(&state),
        }
    }

    /// The system's time, with and without `use_sim_time`.
    pub(super) fn system_stamp() -> Stamp {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        Stamp::from_nanos(i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX))
    }

    /// Handles a `/clock` message, only on the thread that listens. Returns whether the message set the time back.
    pub(super) fn take(&self, stamp: Stamp) -> bool {
        let nanoseconds = stamp.as_nanos();
        let mut state = self.state();
        let is_set_back = state.simulated && state.has_first_message && nanoseconds < state.simulation;
        // The simulation went on while the process did not run.
        self.steady();
        let skipped = self.running().skipped;
        let has_paused = std::mem::replace(&mut state.skipped, skipped) != skipped;
        if state.has_first_message && !has_paused {
            let advance = nanoseconds.saturating_sub(state.simulation);
            state.tree_time = state
                .tree_time
                .saturating_add(u64::try_from(advance).unwrap_or(0));
            let tree_time = state.tree_time;
            state.due_steps.take(tree_time);
        }
        state.has_first_message = nanoseconds > 0;
        state.simulation = nanoseconds;
        is_set_back
    }

    fn state(&self) -> MutexGuard<'_, ClockState> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: i32) -> Stamp {
        Stamp {
            sec: seconds,
            nanosec: 0,
        }
    }

    #[test]
    fn g3_time_in_which_the_process_does_not_run_does_not_count() {
        let mut running = RunningTime {
            skips_pauses: true,
            ..RunningTime::default()
        };
        let mut at = |milliseconds: u64| running.at(milliseconds * 1_000_000) / 1_000_000;
        assert_eq!([at(500), at(1_000), at(1_700)], [500, 1_000, 1_700], "it is idle");
        // It is stopped for 5 s, and stands still for 0.1 s.
        assert_eq!(
            [at(6_700), at(6_750), at(6_800), at(6_810)],
            [1_700, 1_700, 1_700, 1_710]
        );
        assert_eq!([at(7_500), at(8_201), at(8_301)], [2_400, 2_400, 2_400]);
        assert_eq!(running.pause, Duration::from_millis(5_000 + 701));
    }

    #[test]
    fn what_happens_in_the_standstill_after_a_pause_keeps_its_order() {
        let mut running = RunningTime {
            skips_pauses: true,
            ..RunningTime::default()
        };
        let [first, second] = [2_000_000_000, 2_000_500_000].map(|now| running.at(now));
        assert!(first < second && second < 1_000, "{first} {second}");
    }

    #[test]
    fn g3_a_pause_of_the_process_does_not_advance_simulated_time() {
        let clock = Clock::new(true);
        for second in 5..8 {
            clock.take(seconds(second));
        }
        assert_eq!(clock.now(), Time::from_millis(2_000));
        clock.running().skipped += 1;
        clock.take(seconds(60));
        assert_eq!(clock.now(), Time::from_millis(2_000));
        clock.take(seconds(61));
        assert_eq!(clock.now(), Time::from_millis(3_000));
    }

    #[test]
    fn g10_simulated_time_advances_only_with_clock_messages() {
        let clock = Clock::new(true);
        assert!(!clock.has_started());
        clock.take(seconds(5));
        assert!(clock.has_started());
        assert_eq!((clock.now(), clock.stamp()), (Time::ZERO, seconds(5)));
        clock.take(seconds(6));
        assert_eq!(clock.now(), Time::from_millis(1000));
    }

    #[test]
    fn g10_the_first_clock_message_does_not_advance_tree_time() {
        let clock = Clock::new(true);
        // Some publishers send zero until they begin.
        clock.take(seconds(0));
        assert!(!clock.has_started());
        clock.take(seconds(1_700_000_000));
        assert!(clock.has_started());
        assert_eq!(clock.now(), Time::ZERO);
        clock.take(seconds(1_700_000_001));
        assert_eq!(clock.now(), Time::from_millis(1000));
    }

    #[test]
    fn g10_tree_time_does_not_go_back_when_a_simulation_restarts() {
        let clock = Clock::new(true);
        for (stamp, now) in [(100, 0), (110, 10), (5, 10), (5, 10), (7, 12)] {
            let before = clock.stamp();
            assert_eq!(clock.take(seconds(stamp)), before > seconds(stamp), "{stamp}");
            assert_eq!(clock.now(), Time::from_millis(now * 1000));
            assert_eq!(clock.stamp(), seconds(stamp), "stamps are the simulation's");
        }
    }

    #[test]
    fn g10_the_steps_of_the_clock_that_make_a_tick_due_are_counted() {
        let clock = Clock::new(true);
        let take = |milliseconds: u32| {
            clock.take(Stamp {
                sec: 5,
                nanosec: milliseconds * 1_000_000,
            });
        };
        let mut ticks = (Time::ZERO, Duration::from_millis(10));
        let asked = || clock.now_and_due_steps(ticks.0, ticks.1);
        take(0);
        assert_eq!(asked(), (Time::ZERO, Some(0)));
        for step in [3, 6, 25, 28, 104] {
            take(step);
        }
        assert_eq!(
            asked(),
            (Time::from_millis(104), Some(2)),
            "the steps to 25 and to 104"
        );
        assert_eq!(asked(), (Time::from_millis(104), Some(0)));
        // Steps for other ticks are counted from the first call on.
        take(150);
        ticks.0 = Time::from_millis(104);
        let asked = || clock.now_and_due_steps(ticks.0, ticks.1);
        assert_eq!(asked(), (Time::from_millis(150), Some(0)));
        take(161);
        assert_eq!(asked().1, Some(1));
        clock.set_simulated(false);
        assert_eq!(asked().1, None);
        clock.set_simulated(true);
        assert_eq!(asked().1, Some(0));
    }

    #[test]
    fn g10_tree_time_is_continuous_when_the_clock_is_switched() {
        let soon = Duration::from_secs(600);
        let clock = Clock::new(false);
        // The message is read and does not count.
        clock.take(seconds(3));
        std::thread::sleep(Duration::from_millis(2));
        let before = clock.now();
        clock.set_simulated(true);
        let switched = clock.now();
        assert!(switched >= before && switched - before < soon);
        assert!(
            !clock.has_started(),
            "what was said before may be of another simulation"
        );
        clock.take(seconds(1_700_000_000));
        assert_eq!(clock.now(), switched);
        clock.take(seconds(1_700_003_600));
        let later = switched + Duration::from_secs(3600);
        assert_eq!(clock.now(), later);
        // Setting it to its current value has no effect.
        clock.set_simulated(true);
        assert!(clock.has_started());
        assert_eq!(clock.now(), later);
        clock.set_simulated(false);
        let back = clock.now();
        assert!(back >= later && back - later < soon, "{back:?} after {later:?}");
        std::thread::sleep(Duration::from_millis(3));
        assert!(clock.now() > back && clock.now() - back < soon);
        // Also when it is behind the monotonic clock.
        clock.set_simulated(true);
        let slow = clock.now();
        std::thread::sleep(Duration::from_millis(5));
        clock.set_simulated(false);
        assert!(clock.now() >= slow);
    }
}
