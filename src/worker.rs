//! A thread that handles items in order, and exists only while there is work: it starts with the first item and ends
//! some seconds after the last one.
//!
//! A node needs most of its threads seldom: to write a log line, to answer a parameter request, to load a tree. A process
//! with many robots would otherwise have hundreds of threads that wait.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::bt::panic_text;
use crate::fault;
use crate::robot_name;

/// The time without work after which the thread ends. Work that comes once a second keeps its thread.
pub(crate) const IDLE_TIME: Duration = Duration::from_secs(5);

/// The least time between a panic and the next call without an item.
const PAUSE_AFTER_PANIC: Duration = Duration::from_millis(100);

/// Handles an item, or `None` when the time that it returned last has passed. Returns the time after which it is to be
/// called again, even without an item.
type Handler<T> = Box<dyn FnMut(Option<T>) -> Option<Duration> + Send>;

/// The reason why an item is not handled.
#[derive(Debug)]
pub(crate) enum Refused<T> {
    /// Too many items wait.
    Full(T),
    /// There is no thread, and none can be started.
    NoThread(T, io::Error),
}

/// Passes items on to the thread. Clones share it. After the drop of the last clone, the thread handles the items that
/// wait, and ends.
pub(crate) struct Worker<T>(Arc<Owner<T>>);

impl<T> Clone for Worker<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> std::fmt::Debug for Worker<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Worker").field(&self.0.0.name).finish()
    }
}

/// Ends the thread when it is dropped. The thread itself has only the [`Shared`].
struct Owner<T>(Arc<Shared<T>>);

struct Shared<T> {
    name: &'static str,
    robot: Option<Arc<str>>,
    capacity: usize,
    idle_time: Duration,
    on_panic: Box<dyn Fn(&str) + Send + Sync>,
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    waiting: VecDeque<T>,
    /// `None` while the thread has it.
    handler: Option<Handler<T>>,
    has_thread: bool,
    /// The thread handles an item.
    is_busy: bool,
    is_closed: bool,
}

impl<T: Send + 'static> Worker<T> {
    /// A worker without a thread. The threads have this name, and work for the robot of the calling thread.
    ///
    /// - `capacity`: the maximum number of items that wait.
    /// - `on_panic`: called with the text of a panic of `handle`. The item is lost; the next one is handled.
    /// - `handle`: see [`Handler`].
    pub(crate) fn new(
        name: &'static str,
        capacity: usize,
        on_panic: impl Fn(&str) + Send + Sync + 'static,
        handle: impl FnMut(Option<T>) -> Option<Duration> + Send + 'static,
    ) -> Self {
        Self::with_idle_time(name, capacity, IDLE_TIME, on_panic, handle)
    }

    fn with_idle_time(
        name: &'static str,
        capacity: usize,
        idle_time: Duration,
        on_panic: impl Fn(&str) + Send + Sync + 'static,
        handle: impl FnMut(Option<T>) -> Option<Duration> + Send + 'static,
    ) -> Self {
        let state = State {
            waiting: VecDeque::new(),
            handler: Some(Box::new(handle)),
            has_thread: false,
            is_busy: false,
            is_closed: false,
        };
        Self(Arc::new(Owner(Arc::new(Shared {
            name,
            robot: robot_name::current(),
            capacity,
            idle_time,
            on_panic: Box::new(on_panic),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }))))
    }

    /// Passes an item on, and starts the thread if there is none. Does not wait for the thread.
    ///
    /// # Errors
    /// [`Refused`], with the item.
    pub(crate) fn put(&self, item: T) -> Result<(), Refused<T>> {
        let shared = &self.0.0;
        let mut state = shared.lock();
        if state.waiting.len() >= shared.capacity {
            return Err(Refused::Full(item));
        }
        // Under the lock: otherwise an item of another caller could wait for a thread that does not start.
        if !state.has_thread {
            let thread = Arc::clone(shared);
            let started = std::thread::Builder::new()
                .name(shared.name.to_owned())
                .spawn(move || thread.run());
            if let Err(error) = started {
                return Err(Refused::NoThread(item, error));
            }
            state.has_thread = true;
        }
        state.waiting.push_back(item);
        drop(state);
        shared.changed.notify_all();
        Ok(())
    }
}

impl<T> Worker<T> {
    /// Waits until all items are handled, or until the time has passed. Returns whether they are.
    pub(crate) fn wait_until_idle(&self, patience: Duration) -> bool {
        let shared = &self.0.0;
        let (state, _) = shared
            .changed
            .wait_timeout_while(shared.lock(), patience, |state| !state.is_idle())
            .unwrap_or_else(PoisonError::into_inner);
        state.is_idle()
    }

    /// Whether there is a thread. Without one, no item waits, and the handler waits for no time.
    #[cfg_attr(not(feature = "ros"), expect(dead_code, reason = "only rooms with ROS ask"))]
    pub(crate) fn has_thread(&self) -> bool {
        self.0.0.lock().has_thread
    }
}

impl<T> State<T> {
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && !self.is_busy
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread.
    fn run(&self) {
        robot_name::set(self.robot.clone());
        let mut state = self.lock();
        let Some(mut handler) = state.handler.take() else {
            return;
        };
        let mut due = None;
        let mut idle_since = Instant::now();
        loop {
            let item = state.waiting.pop_front();
            let now = Instant::now();
            if item.is_some() || due.is_some_and(|due| due <= now) {
                state.is_busy = true;
                drop(state);
                due = self.handle(&mut handler, item, due);
                idle_since = Instant::now();
                state = self.lock();
                state.is_busy = false;
                continue;
            }
            self.changed.notify_all();
            let end = idle_since + self.idle_time;
            if state.is_closed || (due.is_none() && end <= now) {
                break;
            }
            let left = due.unwrap_or(end).saturating_duration_since(now);
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        // With the lock: the next item starts the next thread, which finds the handler.
        state.handler = Some(handler);
        state.has_thread = false;
    }

    /// Returns when the handler is due. A handler that panics keeps its time, with a pause.
    fn handle(&self, handler: &mut Handler<T>, item: Option<T>, due: Option<Instant>) -> Option<Instant> {
        // A fault of a test, which takes no item.
        self.catch(fault::point);
        match self.catch(|| handler(item)) {
            Some(pause) => pause.map(|pause| Instant::now() + pause),
            None => due.map(|due| due.max(Instant::now() + PAUSE_AFTER_PANIC)),
        }
    }

    /// Calls `act`. `None` after a panic, which is reported.
    fn catch<R>(&self, act: impl FnOnce() -> R) -> Option<R> {
        catch_unwind(AssertUnwindSafe(act))
            .map_err(|panic| (self.on_panic)(&panic_text(&*panic)))
            .ok()
    }
}

impl<T> Drop for Owner<T> {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread::ThreadId;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);
    const LONG: Duration = Duration::from_secs(3600);

    fn never(text: &str) {
        unreachable!("{text}");
    }

    /// A worker that reports each item with its thread.
    fn reporter(capacity: usize, idle_time: Duration) -> (Worker<u32>, Receiver<(u32, ThreadId)>) {
        let (report, reports) = channel();
        let handle = move |item: Option<u32>| {
            report.send((item.unwrap(), std::thread::current().id())).unwrap();
            None
        };
        (
            Worker::with_idle_time("reporter", capacity, idle_time, never, handle),
            reports,
        )
    }

    /// A worker that waits in each item until the test lets it go on.
    fn blocked() -> (Worker<u32>, Receiver<u32>, Sender<()>) {
        let (report, reports) = channel();
        let (let_go, gate) = channel();
        let handle = move |item: Option<u32>| {
            report.send(item.unwrap()).unwrap();
            let _ = gate.recv_timeout(PATIENCE);
            None
        };
        (
            Worker::with_idle_time("blocked", 2, LONG, never, handle),
            reports,
            let_go,
        )
    }

    #[test]
    fn items_are_handled_in_order_by_one_thread() {
        let (worker, reports) = reporter(1000, LONG);
        assert!(!worker.0.0.lock().has_thread, "there is no work");
        let other = worker.clone();
        for number in 0..100 {
            other.put(number).unwrap();
        }
        drop((worker, other));
        let handled: Vec<_> = reports.iter().collect();
        assert!(handled.iter().map(|(number, _)| *number).eq(0..100));
        assert!(handled.iter().all(|(_, thread)| *thread == handled[0].1));
    }

    #[test]
    fn the_thread_ends_without_work_and_starts_again_with_it() {
        let (worker, reports) = reporter(10, Duration::from_millis(1));
        let mut threads = Vec::new();
        for number in 0..3 {
            worker.put(number).unwrap();
            threads.push(reports.recv_timeout(PATIENCE).unwrap().1);
            let deadline = Instant::now() + PATIENCE;
            while worker.0.0.lock().has_thread {
                assert!(Instant::now() < deadline);
                std::thread::yield_now();
            }
        }
        assert!(threads[0] != threads[1] && threads[1] != threads[2]);
    }

    #[test]
    fn the_number_of_items_that_wait_is_limited() {
        let (worker, reports, let_go) = blocked();
        worker.put(0).unwrap();
        assert_eq!(reports.recv_timeout(PATIENCE), Ok(0));
        worker.put(1).unwrap();
        worker.put(2).unwrap();
        assert!(matches!(worker.put(3), Err(Refused::Full(3))));
        assert!(!worker.wait_until_idle(Duration::from_millis(1)));
        for _ in 0..3 {
            let_go.send(()).unwrap();
        }
        assert!(worker.wait_until_idle(PATIENCE));
        assert!(reports.try_iter().eq([1, 2]));
    }

    #[test]
    fn g8_a_panic_is_reported_and_the_next_item_is_handled() {
        let (report, reports) = channel();
        let panics = report.clone();
        let worker = Worker::new(
            "panics",
            10,
            move |text| panics.send(text.to_owned()).unwrap(),
            move |item: Option<&str>| {
                let item = item.unwrap();
                assert_ne!(item, "bad", "an item");
                report.send(item.to_owned()).unwrap();
                None
            },
        );
        for item in ["one", "bad", "two"] {
            worker.put(item).unwrap();
        }
        assert!(worker.wait_until_idle(PATIENCE));
        let reports: Vec<String> = reports.try_iter().collect();
        assert_eq!(reports.len(), 3, "{reports:?}");
        assert!(reports[0] == "one" && reports[1].contains("an item") && reports[2] == "two");
    }

    /// Puts one item to a worker whose handler wants to be called again until it was called `count` times. Returns for each
    /// call whether it was with an item. `on_call` gets the number of the call.
    fn repeated_calls(
        count: usize,
        on_panic: fn(&str),
        on_call: impl Fn(usize) + Send + 'static,
    ) -> Vec<bool> {
        let (report, reports) = channel();
        let mut calls = 0;
        let handle = move |item: Option<()>| {
            report.send(item.is_some()).unwrap();
            calls += 1;
            on_call(calls);
            (calls < count).then_some(Duration::from_millis(1))
        };
        let worker = Worker::with_idle_time("again", 1, Duration::ZERO, on_panic, handle);
        worker.put(()).unwrap();
        let calls = std::iter::from_fn(|| reports.recv_timeout(PATIENCE).ok());
        let calls = calls.take(count).collect();
        assert!(worker.wait_until_idle(PATIENCE));
        calls
    }

    #[test]
    fn g8_a_handler_that_panics_is_still_called_at_its_time() {
        let calls = repeated_calls(3, |_| (), |call| assert_ne!(call, 2, "the second call"));
        assert_eq!(calls, [true, false, false]);
    }

    #[test]
    fn the_handler_is_called_again_after_the_time_that_it_returns() {
        assert_eq!(repeated_calls(4, never, |_| ()), [true, false, false, false]);
    }
}
