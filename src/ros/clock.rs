//! The clocks: the monotonic clock, or the clock of a simulation.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::Wake;
use super::wake::Heard;
use crate::bt::Time;
use crate::msg::Stamp;

/// The reason why [`Clock::sleep_until`] returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Woken {
    /// The deadline was reached.
    Deadline,
    /// The thread was woken.
    Ring,
}

/// The time that drives trees and stamps messages: one object for the whole process, cheap to clone.
///
/// Without `use_sim_time`, [`Clock::now`] is the monotonic clock, so a tick is due at start + n·period whatever happens
/// to the wall clock (guarantee G10). With `use_sim_time`, it advances with `/clock` and stops while `/clock` stops.
/// Deadlines of the network do not stop in a paused simulation, because an answer can be lost then too: the GoalTracker
/// and all waits for a halt always use [`Clock::steady`].
#[derive(Clone, Debug)]
pub struct Clock {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    start: Instant,
    hands: Mutex<Hands>,
    sleepers: Mutex<Vec<Wake>>,
}

/// The source and the state of the trees' time. All fields are under one lock, held for an addition: if values from
/// before and after a switch were mixed, the time could go back.
#[derive(Debug)]
struct Hands {
    simulated: bool,
    /// Nanoseconds of the latest `/clock` message; 0 before the first. For rclcpp too, zero means no time.
    simulation: i64,
    /// Messages count from the second on after `use_sim_time` was set: the first one tells the simulation's time, not
    /// how much time has passed. A recording begins decades after zero.
    counts: bool,
    /// The time of trees under `use_sim_time`, in nanoseconds. Steps back are not subtracted: after a recording starts
    /// over or a simulation is reset, timers of a tree must not wait for the duration of the last run.
    onward: u64,
    /// The trees' time minus the monotonic clock, without `use_sim_time`. It wraps if it is negative.
    ahead: u64,
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
                hands: Mutex::new(Hands {
                    simulated,
                    simulation: 0,
                    counts: false,
                    onward: 0,
                    ahead: 0,
                    due_steps: DueSteps::default(),
                }),
                sleepers: Mutex::new(Vec::new()),
            }),
        }
    }

    /// Whether the time comes from `/clock`.
    pub fn is_simulated(&self) -> bool {
        self.hands().simulated
    }

    /// Switches the source of the time, when the parameter `use_sim_time` is set. The time of trees continues from its
    /// current value, so a running tree is neither delayed nor hurried. Ends every sleep on simulated time.
    pub fn set_simulated(&self, simulated: bool) {
        let mut hands = self.hands();
        if hands.simulated != simulated {
            let steady = self.steady().as_nanos();
            if simulated {
                hands.onward = steady.wrapping_add(hands.ahead);
                hands.counts = false;
            } else {
                hands.ahead = hands.onward.wrapping_sub(steady);
            }
            hands.simulated = simulated;
            hands.due_steps = DueSteps::default();
        }
        drop(hands);
        self.trigger();
    }

    /// The time that drives trees; it never goes back. Under `use_sim_time` it stops until [`Clock::has_started`], and
    /// a tick loop waits for that.
    pub fn now(&self) -> Time {
        let hands = self.hands();
        Time::from_nanos(if hands.simulated {
            hands.onward
        } else {
            self.steady().as_nanos().wrapping_add(hands.ahead)
        })
    }

    /// [`Clock::now`], and under `use_sim_time` the number of `/clock` messages that made one or more ticks due since
    /// the last call with the same ticks: those at `start` + n·`period`. With steps of 25 ms, there cannot be a tick
    /// every 10 ms.
    pub fn now_and_due_steps(&self, start: Time, period: Duration) -> (Time, Option<u64>) {
        let mut hands = self.hands();
        if !hands.simulated {
            drop(hands);
            return (self.now(), None);
        }
        let onward = hands.onward;
        let counted = std::mem::replace(&mut hands.due_steps, DueSteps::new(start, period, onward));
        let same = (counted.start, counted.period) == (hands.due_steps.start, hands.due_steps.period);
        (
            Time::from_nanos(onward),
            Some(if same { counted.count } else { 0 }),
        )
    }

    /// Whether the time is known. False only under `use_sim_time`, until the first `/clock` message since it was set.
    pub fn has_started(&self) -> bool {
        let hands = self.hands();
        !hands.simulated || hands.counts
    }

    /// The monotonic clock, with and without `use_sim_time`.
    pub fn steady(&self) -> Time {
        Time::from_nanos(u64::try_from(self.inner.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The system's time at the trees' time `due`. Not for simulated time.
    fn instant(&self, due: Time) -> Instant {
        let steady = due.as_nanos().wrapping_sub(self.hands().ahead);
        self.inner
            .start
            .checked_add(Duration::from_nanos(steady))
            .unwrap_or_else(|| Instant::now() + Duration::from_secs(3600))
    }

    /// The ROS time for stamps: the system's or the simulation's.
    pub fn stamp(&self) -> Stamp {
        let hands = self.hands();
        if hands.simulated {
            return Stamp::from_nanos(hands.simulation);
        }
        Self::system_stamp()
    }

    /// [`Clock::stamp`] and [`Clock::now`] at the same moment.
    pub fn moment(&self) -> Moment {
        Moment {
            stamp: self.stamp(),
            time: self.now(),
        }
    }

    /// The system's time, with and without `use_sim_time`.
    pub(super) fn system_stamp() -> Stamp {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        Stamp::from_nanos(i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX))
    }

    /// Sleeps until [`Clock::now`] has reached `deadline`, or until `wake` is rung. Under `use_sim_time` it may not
    /// return without a ring: the simulation may have stopped.
    pub fn sleep_until(&self, deadline: Time, wake: &Wake) -> Woken {
        loop {
            if self.now() >= deadline && self.has_started() {
                return Woken::Deadline;
            }
            let heard = if self.is_simulated() {
                self.nap(deadline, wake)
            } else {
                wake.hear_until(self.instant(deadline))
            };
            if heard == Heard::Ring {
                return Woken::Ring;
            }
        }
    }

    /// Handles a `/clock` message, only on the thread that listens. Returns whether the message set the time back.
    pub(super) fn take(&self, stamp: Stamp) -> bool {
        let nanoseconds = stamp.as_nanos();
        let mut hands = self.hands();
        let is_set_back = hands.simulated && hands.counts && nanoseconds < hands.simulation;
        if hands.counts {
            let advance = nanoseconds.saturating_sub(hands.simulation);
            hands.onward = hands.onward.saturating_add(u64::try_from(advance).unwrap_or(0));
            let onward = hands.onward;
            hands.due_steps.take(onward);
        }
        hands.counts = nanoseconds > 0;
        hands.simulation = nanoseconds;
        drop(hands);
        self.trigger();
        is_set_back
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.inner.hands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trigger(&self) {
        for sleeper in self.sleepers().iter() {
            sleeper.trigger();
        }
    }

    fn sleepers(&self) -> MutexGuard<'_, Vec<Wake>> {
        self.inner.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One part of a sleep on simulated time. It also ends if the clock is switched meanwhile.
    fn nap(&self, deadline: Time, wake: &Wake) -> Heard {
        self.sleepers().push(wake.clone());
        // Check again after the registration: a message in between must not be missed.
        let due = self.now() >= deadline && self.has_started();
        let heard = if due {
            Heard::TimerTrigger
        } else {
            wake.hear_until(Instant::now() + Duration::from_millis(500))
        };
        let mut sleepers = self.sleepers();
        if let Some(index) = sleepers.iter().position(|sleeper| sleeper.is_same(wake)) {
            sleepers.swap_remove(index);
        }
        heard
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
    fn g10_monotonic_deadline_comes() {
        let clock = Clock::new(false);
        let deadline = clock.now() + Duration::from_millis(3);
        assert_eq!(clock.sleep_until(deadline, &Wake::new()), Woken::Deadline);
        assert!(clock.now() >= deadline);
    }

    #[test]
    fn a_ring_ends_a_sleep_on_either_clock() {
        for simulated in [false, true] {
            let clock = Clock::new(simulated);
            let wake = Wake::new();
            wake.ring();
            let far = Time::from_nanos(u64::MAX / 2);
            assert_eq!(clock.sleep_until(far, &wake), Woken::Ring, "{simulated}");
        }
    }

    #[test]
    fn g10_simulated_time_stands_still_until_the_clock_says_otherwise() {
        let clock = Clock::new(true);
        assert!(!clock.has_started());
        clock.take(seconds(5));
        assert!(clock.has_started());
        assert_eq!((clock.now(), clock.stamp()), (Time::ZERO, seconds(5)));
        let (sleeper, (woke, woken)) = (clock.clone(), std::sync::mpsc::channel());
        std::thread::spawn(move || woke.send(sleeper.sleep_until(Time::from_millis(2000), &Wake::new())));
        clock.take(seconds(6));
        assert_eq!(clock.now(), Time::from_millis(1000));
        clock.take(seconds(7));
        assert_eq!(woken.recv_timeout(Duration::from_secs(60)), Ok(Woken::Deadline));
    }

    #[test]
    fn g10_the_first_message_says_where_a_recording_begins_and_not_how_much_time_has_passed() {
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
    fn g10_a_simulation_that_starts_over_does_not_turn_back_the_time_of_trees() {
        let clock = Clock::new(true);
        for (stamp, now) in [(100, 0), (110, 10), (5, 10), (5, 10), (7, 12)] {
            let before = clock.stamp();
            assert_eq!(clock.take(seconds(stamp)), before > seconds(stamp), "{stamp}");
            assert_eq!(clock.now(), Time::from_millis(now * 1000));
            assert_eq!(clock.stamp(), seconds(stamp), "stamps are the simulation's");
        }
        let wake = Wake::new();
        assert_eq!(
            clock.sleep_until(Time::from_millis(11_000), &wake),
            Woken::Deadline
        );
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
    fn g10_a_switch_of_the_clock_neither_turns_back_the_time_of_trees_nor_has_it_leap() {
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
        let due = back + Duration::from_millis(3);
        assert_eq!(clock.sleep_until(due, &Wake::new()), Woken::Deadline);
        assert!(clock.now() >= due && clock.now() - due < soon);
        // Also when it is behind the monotonic clock.
        clock.set_simulated(true);
        let slow = clock.now();
        std::thread::sleep(Duration::from_millis(5));
        clock.set_simulated(false);
        assert!(clock.now() >= slow);
    }
}
