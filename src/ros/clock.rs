//! The clocks: monotonic, or that of a simulation.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::Wake;
use super::wake::Heard;
use crate::bt::Time;
use crate::msg::Stamp;

/// Why [`Clock::sleep_until`] returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Woken {
    /// The deadline has come.
    Deadline,
    /// The bell was rung.
    Ring,
}

/// The time that drives trees and stamps messages: one object for the whole process, cheap to clone.
///
/// Without `use_sim_time`, [`Clock::now`] is the monotonic clock, so that a tick is due at start + n·period
/// whatever becomes of the wall clock (guarantee G10). With it, it is the time of `/clock`, and stands still while
/// that does. Deadlines of the network are another matter: a paused simulation does not make a lost answer less
/// lost, so the Custodian goes by [`Clock::steady`] always.
#[derive(Clone, Debug)]
pub struct Clock {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    start: Instant,
    simulated: AtomicBool,
    /// Nanoseconds of the latest `/clock` message; 0 before the first.
    simulation: AtomicI64,
    /// The same without what was taken back: a recording that starts over, or a simulation that was reset, must not
    /// have every timer of a tree wait for as long as the last run took.
    onward: AtomicU64,
    sleepers: Mutex<Vec<Wake>>,
}

impl Clock {
    /// A clock that starts now. `simulated`: parameter `use_sim_time`.
    pub fn new(simulated: bool) -> Self {
        Self {
            inner: Arc::new(Inner {
                start: Instant::now(),
                simulated: AtomicBool::new(simulated),
                simulation: AtomicI64::new(0),
                onward: AtomicU64::new(0),
                sleepers: Mutex::new(Vec::new()),
            }),
        }
    }

    /// Whether time comes from `/clock`.
    pub fn is_simulated(&self) -> bool {
        self.inner.simulated.load(Ordering::Acquire)
    }

    /// Switches between the two, when parameter `use_sim_time` is set. Ends every sleep.
    pub fn set_simulated(&self, simulated: bool) {
        self.inner.simulated.store(simulated, Ordering::Release);
        self.nudge();
    }

    /// The time that drives trees; it never goes back. Under `use_sim_time` zero until the first `/clock` message: a
    /// tick loop waits until [`Clock::has_started`].
    pub fn now(&self) -> Time {
        if self.is_simulated() {
            Time::from_nanos(self.inner.onward.load(Ordering::Acquire))
        } else {
            self.steady()
        }
    }

    /// Whether there is a time at all: false only under `use_sim_time` before the first `/clock` message.
    pub fn has_started(&self) -> bool {
        !self.is_simulated() || self.inner.simulation.load(Ordering::Acquire) > 0
    }

    /// The monotonic clock, whatever drives the trees.
    pub fn steady(&self) -> Time {
        Time::from_nanos(u64::try_from(self.inner.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The monotonic clock's point as the system has it.
    pub(super) fn instant(&self, steady: Time) -> Instant {
        self.inner
            .start
            .checked_add(steady.since(Time::ZERO))
            .unwrap_or_else(|| Instant::now() + Duration::from_secs(3600))
    }

    /// The ROS time, for stamps: the system's, or the simulation's.
    pub fn stamp(&self) -> Stamp {
        if self.is_simulated() {
            return Stamp::from_nanos(self.inner.simulation.load(Ordering::Acquire));
        }
        Self::system_stamp()
    }

    /// The system's time, whatever drives the trees.
    pub(super) fn system_stamp() -> Stamp {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        Stamp::from_nanos(i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX))
    }

    /// Sleeps until [`Clock::now`] has reached `deadline`, or `wake` is rung.
    /// Under `use_sim_time` it may never return without a ring: the simulation may have stopped.
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

    /// Takes a `/clock` message. On the thread that listens alone.
    pub(super) fn take(&self, stamp: Stamp) {
        let nanoseconds = stamp.as_nanos();
        let before = self.inner.simulation.swap(nanoseconds, Ordering::AcqRel);
        let advance = u64::try_from(nanoseconds.saturating_sub(before)).unwrap_or(0);
        self.inner.onward.fetch_add(advance, Ordering::AcqRel);
        self.nudge();
    }

    fn nudge(&self) {
        for sleeper in self.sleepers().iter() {
            sleeper.nudge();
        }
    }

    fn sleepers(&self) -> std::sync::MutexGuard<'_, Vec<Wake>> {
        self.inner.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One nap of a sleep on simulated time. It ends by itself, should the clock be switched meanwhile.
    fn nap(&self, deadline: Time, wake: &Wake) -> Heard {
        self.sleepers().push(wake.clone());
        // Checked again after the registration: a message in between must not be slept through.
        let due = self.now() >= deadline && self.has_started();
        let heard = if due {
            Heard::Nudge
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
        assert_eq!(clock.now(), Time::from_millis(5000));
        assert_eq!(clock.stamp(), seconds(5));
        let sleeper = clock.clone();
        let thread = std::thread::spawn(move || sleeper.sleep_until(Time::from_millis(7000), &Wake::new()));
        clock.take(seconds(6));
        clock.take(seconds(7));
        assert_eq!(thread.join().unwrap(), Woken::Deadline);
    }

    #[test]
    fn g10_a_simulation_that_starts_over_does_not_turn_back_the_time_of_trees() {
        let clock = Clock::new(true);
        for (stamp, now) in [(100, 100), (110, 110), (5, 110), (5, 110), (7, 112)] {
            clock.take(seconds(stamp));
            assert_eq!(clock.now(), Time::from_millis(now * 1000));
            assert_eq!(clock.stamp(), seconds(stamp), "stamps are the simulation's");
        }
        let wake = Wake::new();
        assert_eq!(
            clock.sleep_until(Time::from_millis(111_000), &wake),
            Woken::Deadline
        );
    }
}
