//! Turns of the threads that read the graph.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// The pause after a turn, in durations of the turn.
const PAUSE_SHARE: u32 = 3;

/// A longer turn counts as one of this duration. The process may have been stopped in it, by a debugger or with its
/// container, and servers are neither found nor missed in the pause.
const MAX_TURN: Duration = Duration::from_millis(300);

/// Lets one thread of a process read the graph at a time, and keeps three quarters of the time free. One change of the
/// graph makes all robots of a process read it, and each reading walks through the endpoints of all of them: without
/// turns, the readings of 100 robots took the processors from everything else (`scripts/measure --only robots`).
#[derive(Default)]
pub(super) struct GraphTurns(Mutex<Option<Instant>>);

/// The turn of one thread. It ends with the drop.
pub(super) struct GraphTurn<'a> {
    free_at: MutexGuard<'a, Option<Instant>>,
    began: Instant,
}

impl GraphTurns {
    /// Begins a turn. `None` if another thread has the turn, or had it just now: ask again later.
    pub(super) fn begin(&self) -> Option<GraphTurn<'_>> {
        let free_at = match self.0.try_lock() {
            Ok(free_at) => free_at,
            Err(TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            Err(TryLockError::WouldBlock) => return None,
        };
        let began = Instant::now();
        free_at
            .is_none_or(|free_at| free_at <= began)
            .then(|| GraphTurn { free_at, began })
    }
}

impl Drop for GraphTurn<'_> {
    fn drop(&mut self) {
        let now = Instant::now();
        *self.free_at = Some(now + (now - self.began).min(MAX_TURN) * PAUSE_SHARE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_after_a_turn_in_which_the_process_was_stopped_is_short() {
        let turns = GraphTurns::default();
        let mut turn = turns.begin().unwrap();
        turn.began -= Duration::from_secs(60);
        drop(turn);
        let free_at = turns.0.lock().unwrap().unwrap();
        assert!(free_at - Instant::now() <= MAX_TURN * PAUSE_SHARE);
    }

    #[test]
    fn one_thread_reads_the_graph_at_a_time() {
        let turns = GraphTurns::default();
        let turn = turns.begin().unwrap();
        std::thread::scope(|scope| {
            assert!(scope.spawn(|| turns.begin().is_none()).join().unwrap());
        });
        let began = turn.began;
        drop(turn);
        let free_at = turns.0.lock().unwrap().unwrap();
        assert!(free_at >= began, "there is a pause");
        let deadline = free_at + Duration::from_secs(60);
        while turns.begin().is_none() {
            assert!(Instant::now() < deadline);
        }
        assert!(Instant::now() >= free_at);
    }
}
