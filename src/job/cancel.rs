//! Cancellation tokens for futures whose result is no longer needed.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Mutex, PoisonError};

#[derive(Default)]
struct Shared {
    cancelled: AtomicBool,
    /// The wakers of the waiting tasks, by [`Cancelled::key`]. The lock is only held to add or take wakers, because the
    /// tick may cancel and must not wait (guarantee G1). No waker is dropped under the lock, because it may own a task
    /// that waits on this token.
    wakers: Mutex<BTreeMap<usize, Waker>>,
    /// The next key.
    next: AtomicUsize,
}

/// A flag that is set once, when the leaf of a job is halted or its tree is dropped. Clones share the flag.
#[derive(Clone, Default)]
pub struct CancellationToken(Arc<Shared>);

impl CancellationToken {
    /// Creates a token that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the token and wakes all waiting tasks.
    pub fn cancel(&self) {
        self.set();
        self.wake();
    }

    /// Sets the token. No code of a user runs.
    pub(super) fn set(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
    }

    /// Wakes all waiting tasks, after the token was set. A waker that panics does not affect the others.
    pub(super) fn wake(&self) {
        let wakers = std::mem::take(&mut *self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner));
        for waker in wakers.into_values() {
            // The panic is reported by its hook.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }

    /// Whether the token is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// Waits until the token is set.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled {
            key: self.0.next.fetch_add(1, Ordering::Relaxed),
            token: self.clone(),
        }
    }

    /// Runs a future until it is done or the token is set. In the second case the future is dropped and the result is
    /// `None`.
    pub async fn run<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let mut cancelled = pin!(self.cancelled());
        std::future::poll_fn(|cx| {
            if cancelled.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            future.as_mut().poll(cx).map(Some)
        })
        .await
    }
}

impl std::fmt::Debug for CancellationToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CancellationToken")
            .field(&self.is_cancelled())
            .finish()
    }
}

/// A future that is ready when the token is set.
#[derive(Debug)]
#[must_use = "a future does nothing until it is awaited"]
pub struct Cancelled {
    token: CancellationToken,
    /// Tells this future apart from the others that wait on the token.
    key: usize,
}

impl Future for Cancelled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let shared = &self.token.0;
        if shared.cancelled.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        let mut wakers = shared.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = wakers
            .get(&self.key)
            .is_some_and(|waker| waker.will_wake(cx.waker()));
        let old = if is_known {
            None
        } else {
            wakers.insert(self.key, cx.waker().clone())
        };
        drop(wakers);
        drop(old);
        // The token may have been set between the check and the registration of the waker.
        if shared.cancelled.load(Ordering::SeqCst) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        let wakers = &self.token.0.wakers;
        let mut wakers = wakers.lock().unwrap_or_else(PoisonError::into_inner);
        let waker = wakers.remove(&self.key);
        drop(wakers);
        drop(waker);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Task(AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn poll(future: &mut Cancelled, task: &Arc<Task>) -> Poll<()> {
        let waker = Waker::from(Arc::clone(task));
        pin!(future).poll(&mut Context::from_waker(&waker))
    }

    fn waiting(token: &CancellationToken) -> usize {
        let wakers = token.0.wakers.lock();
        wakers.unwrap_or_else(PoisonError::into_inner).len()
    }

    #[test]
    fn only_the_current_waker_of_each_waiting_future_is_kept() {
        let token = CancellationToken::new();
        let (task, earlier) = (Arc::new(Task::default()), Arc::new(Task::default()));
        for _ in 0..100 {
            // A subtask of a long job: it has its own waker and ends.
            assert!(poll(&mut token.cancelled(), &Arc::default()).is_pending());
        }
        assert_eq!(waiting(&token), 0);
        let [mut moved, mut other] = [token.cancelled(), token.cancelled()];
        for task in [&earlier, &task, &task] {
            assert!(poll(&mut moved, task).is_pending());
        }
        assert!(poll(&mut other, &task).is_pending());
        assert_eq!(waiting(&token), 2);
        assert_eq!(Arc::strong_count(&earlier), 1, "its waker was dropped");
        token.cancel();
        assert_eq!(task.0.load(Ordering::SeqCst), 2);
        assert!(poll(&mut moved, &task).is_ready() && poll(&mut other, &task).is_ready());
        assert_eq!((waiting(&token), Arc::strong_count(&task)), (0, 1));
    }

    /// The last waker of a task drops its future, which may wait on the same token.
    #[test]
    fn a_waker_that_owns_a_waiting_future_may_be_dropped() {
        struct Owner(Mutex<Option<Cancelled>>);
        impl Wake for Owner {
            fn wake(self: Arc<Self>) {
                self.0.lock().unwrap().take();
            }
        }
        let token = CancellationToken::new();
        let mut waits = token.cancelled();
        let owned = Owner(Mutex::new(Some(token.cancelled())));
        let waker = Waker::from(Arc::new(owned));
        assert!(
            pin!(&mut waits)
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        drop(waker);
        assert!(poll(&mut waits, &Arc::default()).is_pending());
        assert_eq!(waiting(&token), 1);
        drop(waits);
        assert_eq!(waiting(&token), 0);
    }
}
