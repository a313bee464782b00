//! An executor that runs only on request: for tests, and for programs with their own loop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};

use super::{BoxFuture, Spawn};

struct Task {
    future: BoxFuture,
    woken: Arc<Flag>,
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A queue of futures. Clones share the queue. The order of execution depends only on the calls (guarantee G9).
#[derive(Clone, Default)]
pub struct Local(Arc<Mutex<Vec<Task>>>);

impl Local {
    /// Creates an empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    fn tasks(&self) -> MutexGuard<'_, Vec<Task>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the futures in the order of their start, until each is done or waits.
    pub fn run_until_stalled(&self) {
        loop {
            // Run without the lock, because a future may start others.
            let tasks = std::mem::take(&mut *self.tasks());
            let mut progress = false;
            let mut waiting = Vec::new();
            for mut task in tasks {
                if !task.woken.0.swap(false, Ordering::SeqCst) {
                    waiting.push(task);
                    continue;
                }
                progress = true;
                let waker = Waker::from(Arc::clone(&task.woken));
                if task
                    .future
                    .as_mut()
                    .poll(&mut Context::from_waker(&waker))
                    .is_pending()
                {
                    waiting.push(task);
                }
            }
            let mut tasks = self.tasks();
            waiting.append(&mut tasks);
            *tasks = waiting;
            if !progress {
                return;
            }
        }
    }

    /// The number of futures that are not done.
    pub fn len(&self) -> usize {
        self.tasks().len()
    }

    /// Whether all futures are done.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Spawn for Local {
    fn spawn(&self, future: BoxFuture) {
        self.tasks().push(Task {
            future,
            woken: Arc::new(Flag(AtomicBool::new(true))),
        });
    }
}

impl std::fmt::Debug for Local {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Local").field("len", &self.len()).finish()
    }
}
