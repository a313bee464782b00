//! Wakes the thread of a node, and tells it which entities have messages.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The number of messages of one entity that may wait while the node rests. The middleware must keep that many.
pub(super) const MAX_WAITING: usize = 8;

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
    /// One of them does not wait.
    is_due: bool,
    is_woken: bool,
    /// Whether the thread sleeps. To notify a thread that does not would cost a system call for each message.
    is_asleep: bool,
    is_at_rest: bool,
}

impl Ready {
    /// Ends the present or the next sleep.
    pub(super) fn wake(&self) {
        let mut state = self.lock();
        state.is_woken = true;
        self.end_sleep(state);
    }

    /// While the node rests, messages of entities that can wait do not end a sleep.
    pub(super) fn set_at_rest(&self, is_at_rest: bool) {
        let mut state = self.lock();
        state.is_at_rest = is_at_rest;
        if !is_at_rest && !state.marked.is_empty() {
            state.is_due = true;
            self.end_sleep(state);
        }
    }

    /// Sleeps until an entity that does not wait is marked, until [`Ready::wake`], or until this time.
    pub(super) fn sleep_until(&self, until: Instant) {
        let mut state = self.lock();
        while !std::mem::take(&mut state.is_woken) && !state.is_due {
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
        let mut state = self.lock();
        state.is_due = false;
        std::mem::swap(marked, &mut state.marked);
    }

    /// Marks an entity, unless it is marked already. The sleep ends, unless the entity waits while the node rests.
    fn mark(&self, entity: Option<u32>, waits: bool) {
        let mut state = self.lock();
        state.marked.extend(entity);
        if !(waits && state.is_at_rest) {
            state.is_due = true;
            self.end_sleep(state);
        }
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
    haste: Haste,
}

/// Whether the messages of an entity can wait while the node rests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Haste {
    /// They are taken at once.
    Always,
    /// They are taken when the thread wakes for another reason, or when [`MAX_WAITING`] of them have arrived. For messages
    /// that arrive all the time and of which a resting node needs only the last ones: each wake-up costs more than its
    /// message.
    AtWork,
}

impl Mark {
    pub(super) fn new(ready: &Ready, entity: u32, haste: Haste) -> Self {
        Self {
            ready: ready.clone(),
            entity,
            events: AtomicUsize::new(0),
            haste,
        }
    }

    /// Counts messages that have arrived. The first one since [`Mark::take`] marks the entity.
    pub(super) fn add(&self, events: usize) {
        if events == 0 {
            return;
        }
        let before = self.events.fetch_add(events, Ordering::AcqRel);
        let can_wait = self.haste == Haste::AtWork && before + events < MAX_WAITING;
        if before == 0 || self.haste == Haste::AtWork {
            self.ready.mark((before == 0).then_some(self.entity), can_wait);
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
        let marks = [7, 3].map(|entity| Mark::new(&ready, entity, Haste::Always));
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
    fn messages_that_can_wait_do_not_end_the_sleep_of_a_node_at_rest() {
        let ready = Ready::default();
        let (waits, other) = (
            Mark::new(&ready, 1, Haste::AtWork),
            Mark::new(&ready, 2, Haste::Always),
        );
        let is_due = |ready: &Ready| ready.lock().is_due;
        ready.set_at_rest(true);
        (1..MAX_WAITING).for_each(|_| waits.add(1));
        assert!(!is_due(&ready));
        waits.add(1);
        assert!(is_due(&ready));
        assert_eq!((marked(&ready), waits.take()), (vec![1], MAX_WAITING));
        waits.add(1);
        assert!(!is_due(&ready));
        other.add(1);
        assert!(is_due(&ready), "they are taken with the others");
        assert_eq!((marked(&ready), waits.take(), other.take()), (vec![1, 2], 1, 1));
        waits.add(1);
        ready.set_at_rest(false);
        assert!(is_due(&ready), "what has waited is taken");
        waits.add(1);
        assert!(is_due(&ready));
        assert_eq!((marked(&ready), waits.take()), (vec![1], 2));
    }

    #[test]
    fn a_sleep_ends_with_a_mark_a_wake_or_its_time() {
        let ready = Ready::default();
        let mark = Mark::new(&ready, 1, Haste::Always);
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
