//! Wakes the thread of a node, and tells it which entities have messages.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The marked entities of one node, and the sleep of its thread. Any thread may mark and wake; both are quick and call
/// nothing of the middleware, so a callback of the middleware may do it. Clones share the state.
#[derive(Clone, Default, Debug)]
pub(super) struct Ready(Arc<Inner>);

#[derive(Default, Debug)]
struct Inner {
    state: Mutex<State>,
    condition: Condvar,
}

#[derive(Default, Debug)]
struct State {
    /// The entities with messages, in the order of their first message. Each is here once at most.
    marked: Vec<u32>,
    is_woken: bool,
    /// Whether the thread sleeps. To notify a thread that does not would cost a system call for each message.
    is_asleep: bool,
}

impl Ready {
    /// Ends the present or the next sleep.
    pub(super) fn wake(&self) {
        let mut state = self.lock();
        state.is_woken = true;
        self.end_sleep(state);
    }

    /// Sleeps until an entity is marked, until [`Ready::wake`], or until this time.
    pub(super) fn sleep_until(&self, until: Instant) {
        let mut state = self.lock();
        while !std::mem::take(&mut state.is_woken) && state.marked.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return;
            }
            state.is_asleep = true;
            state = self
                .0
                .condition
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            state.is_asleep = false;
        }
    }

    /// Moves the marked entities into `marked`, which is emptied first.
    pub(super) fn take(&self, marked: &mut Vec<u32>) {
        marked.clear();
        std::mem::swap(marked, &mut self.lock().marked);
    }

    fn mark(&self, entity: u32) {
        let mut state = self.lock();
        state.marked.push(entity);
        self.end_sleep(state);
    }

    fn end_sleep(&self, state: MutexGuard<'_, State>) {
        let is_asleep = state.is_asleep;
        drop(state);
        if is_asleep {
            self.0.condition.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts the events of one entity, and marks it.
#[derive(Debug)]
pub(super) struct Mark {
    ready: Ready,
    entity: u32,
    events: AtomicUsize,
}

impl Mark {
    pub(super) fn new(ready: &Ready, entity: u32) -> Self {
        Self {
            ready: ready.clone(),
            entity,
            events: AtomicUsize::new(0),
        }
    }

    /// Counts messages that have arrived. The first one since [`Mark::take`] marks the entity.
    pub(super) fn add(&self, events: usize) {
        if events > 0 && self.events.fetch_add(events, Ordering::AcqRel) == 0 {
            self.ready.mark(self.entity);
        }
    }

    /// For tests: the number of messages since the last [`Mark::take`].
    #[cfg(all(test, not(loom)))]
    pub(super) fn waiting(&self) -> usize {
        self.events.load(Ordering::Acquire)
    }

    /// The number of messages since the last call. Call it after [`Ready::take`]: a message that arrives in between is
    /// in this number, and one that arrives later marks the entity again.
    pub(super) fn take(&self) -> usize {
        self.events.swap(0, Ordering::AcqRel)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn marked(ready: &Ready) -> Vec<u32> {
        let mut marked = vec![99];
        ready.take(&mut marked);
        marked
    }

    #[test]
    fn an_entity_is_marked_once_and_its_events_are_counted() {
        let ready = Ready::default();
        let marks = [7, 3].map(|entity| Mark::new(&ready, entity));
        marks[0].add(2);
        marks[1].add(1);
        marks[0].add(3);
        marks[1].add(0);
        assert_eq!(marked(&ready), [7, 3]);
        assert_eq!(marks.each_ref().map(Mark::take), [5, 1]);
        assert!(marked(&ready).is_empty());
        marks[1].add(1);
        assert_eq!(marked(&ready), [3]);
    }

    #[test]
    fn a_sleep_ends_with_a_mark_a_wake_or_its_time() {
        let ready = Ready::default();
        let mark = Mark::new(&ready, 1);
        let late = || Instant::now() + Duration::from_secs(60);
        ready.sleep_until(Instant::now());
        ready.wake();
        ready.wake();
        ready.sleep_until(late());
        mark.add(1);
        ready.sleep_until(late());
        let other = ready.clone();
        ready.take(&mut Vec::new());
        let thread = std::thread::spawn(move || other.wake());
        ready.sleep_until(late());
        thread.join().unwrap();
    }
}
