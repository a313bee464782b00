//! The loop of the thread that owns the node.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use super::RosNode;
use super::interrupt::Interrupt;
use crate::bt::panic_text;
use crate::fault;

/// A task with the node.
pub(super) type Task = Box<dyn FnOnce(&mut RosNode) + Send>;

/// Maximum wait of a spin when nothing is due earlier. Every wait builds a wait set of all entities, so a shorter wait
/// costs more when idle. It is bounded for events that cannot end a wait.
const IDLE: Duration = Duration::from_millis(500);
/// A spin without messages takes its whole allowed wait. One that ends within half of that, or within less than this,
/// is suspicious: the middleware refuses the wait set, an entity is always ready, or a timer is always due.
const MIN_SPIN_TIME: Duration = Duration::from_millis(1);
/// The number of suspicious spins in a row that count as a busy loop. A busy loop is slowed down, so it does not use a
/// whole core.
const MAX_EMPTY_SPINS: u32 = 100;

/// Counters of the loop, for diagnostics. All numbers only grow.
#[derive(Debug, Default)]
pub struct SpinMetrics {
    spins: AtomicU64,
    entities: AtomicU64,
    working_nanoseconds: AtomicU64,
    longest_nanoseconds: AtomicU64,
    slowed_down: AtomicU64,
}

/// A reading of [`SpinMetrics`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpinReading {
    /// Spins so far.
    pub spins: u64,
    /// The current number of subscriptions, services and clients.
    pub entities: u64,
    /// Time spent in spins with messages, including the wait.
    pub working: Duration,
    /// The longest time of a spin beyond its allowed wait, during which no messages were taken.
    pub longest: Duration,
    /// How often a busy loop was slowed down. Any value but zero shows a fault.
    pub slowed_down: u64,
}

impl SpinReading {
    /// The sum of two loops.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            spins: self.spins + other.spins,
            entities: self.entities + other.entities,
            working: self.working + other.working,
            longest: self.longest.max(other.longest),
            slowed_down: self.slowed_down + other.slowed_down,
        }
    }
}

impl SpinMetrics {
    /// The current numbers.
    pub fn read(&self) -> SpinReading {
        SpinReading {
            spins: self.spins.load(Ordering::Relaxed),
            entities: self.entities.load(Ordering::Relaxed),
            working: Duration::from_nanos(self.working_nanoseconds.load(Ordering::Relaxed)),
            longest: Duration::from_nanos(self.longest_nanoseconds.load(Ordering::Relaxed)),
            slowed_down: self.slowed_down.load(Ordering::Relaxed),
        }
    }

    fn record(&self, took: Duration, allowed: Duration, brought: bool, entities: usize) {
        let nanoseconds = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.spins.fetch_add(1, Ordering::Relaxed);
        self.entities.store(entities as u64, Ordering::Relaxed);
        if brought {
            self.working_nanoseconds
                .fetch_add(nanoseconds(took), Ordering::Relaxed);
        }
        self.longest_nanoseconds
            .fetch_max(nanoseconds(took.saturating_sub(allowed)), Ordering::Relaxed);
    }
}

/// Runs until the senders of `tasks` are gone or a task is `None`. Returns the fault, if it ended because of one.
pub(super) fn run(
    node: &mut RosNode,
    context: &r2r::Context,
    tasks: &Receiver<Option<Task>>,
    interrupt: &Interrupt,
    metrics: &SpinMetrics,
) -> Result<(), String> {
    // A panic in r2r may leave its locks poisoned, and then every later call panics too, so the loop cannot continue.
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let mut guard = BusyLoopGuard::default();
        let mut round = 0_u32;
        loop {
            fault::point();
            interrupt.arm();
            loop {
                match tasks.try_recv() {
                    Ok(Some(task)) => task(node),
                    Ok(None) | Err(TryRecvError::Disconnected) => return Ok(()),
                    Err(TryRecvError::Empty) => break,
                }
            }
            let begin = Instant::now();
            let (timeout, brought) = node.spin(begin, IDLE);
            interrupt.disarm();
            let took = begin.elapsed();
            metrics.record(took, timeout, brought, node.entities());
            if guard.is_busy_loop(took, timeout, brought) {
                metrics.slowed_down.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(1));
            }
            round = round.wrapping_add(1);
            if round.is_multiple_of(16) && !context.is_valid() {
                return Err("ROS was shut down while the node was running".to_owned());
            }
        }
    }));
    match ended {
        Ok(result) => result,
        Err(panic) => Err(format!("error in the ROS thread: {}", panic_text(&*panic))),
    }
}

/// Keeps a node whose loop has failed until its thread is told to end. Its clients, services and publishers can still
/// send cancels and results.
pub(super) fn keep_until_the_end(tasks: &Receiver<Option<Task>>) {
    while let Ok(Some(task)) = tasks.recv() {
        // The drop tells the sender of the task that there is no answer.
        drop(task);
    }
}

#[derive(Default)]
struct BusyLoopGuard {
    empty_spins: u32,
}

impl BusyLoopGuard {
    fn is_busy_loop(&mut self, took: Duration, allowed: Duration, brought: bool) -> bool {
        if !brought && took < MIN_SPIN_TIME.max(allowed / 2) {
            self.empty_spins = self.empty_spins.saturating_add(1);
        } else {
            self.empty_spins = 0;
        }
        self.empty_spins >= MAX_EMPTY_SPINS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_TIME: Duration = Duration::ZERO;

    #[test]
    fn only_many_empty_quick_spins_in_a_row_are_a_busy_loop() {
        let quick = Duration::from_micros(5);
        let mut guard = BusyLoopGuard::default();
        for _ in 0..MAX_EMPTY_SPINS - 1 {
            assert!(!guard.is_busy_loop(quick, IDLE, false));
        }
        assert!(!guard.is_busy_loop(quick, IDLE, true), "it brought something");
        for _ in 0..MAX_EMPTY_SPINS - 1 {
            assert!(!guard.is_busy_loop(quick, NO_TIME, false));
        }
        assert!(guard.is_busy_loop(quick, NO_TIME, false));
        assert!(
            guard.is_busy_loop(quick, NO_TIME, false),
            "until one is not suspicious"
        );
        assert!(!guard.is_busy_loop(IDLE, IDLE, false));
    }

    #[test]
    fn a_node_with_many_entities_can_have_a_busy_loop() {
        // The duration of a wait with sixty entities, and with a thousand.
        for (took, allowed) in [(180, NO_TIME), (180, IDLE), (3_000, IDLE)] {
            let took = Duration::from_micros(took);
            let mut guard = BusyLoopGuard::default();
            let busy = (0..MAX_EMPTY_SPINS).filter(|_| guard.is_busy_loop(took, allowed, false));
            assert_eq!(busy.count(), 1, "{took:?} of {allowed:?}");
        }
    }

    #[test]
    fn a_node_that_waits_without_messages_is_no_busy_loop() {
        for allowed in [2, 10, 400].map(Duration::from_millis) {
            let mut guard = BusyLoopGuard::default();
            for _ in 0..2 * MAX_EMPTY_SPINS {
                // First a check of the graph, which does not wait.
                assert!(!guard.is_busy_loop(Duration::from_micros(180), NO_TIME, false));
                assert!(!guard.is_busy_loop(allowed, allowed, false));
            }
        }
    }
}
