//! Cancellation tokens for futures whose result is no longer needed.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, PoisonError};

#[derive(Default)]
struct Shared {
    cancelled: AtomicBool,
    /// The waiting tasks. The lock is only held to add or take wakers, because the tick may cancel and must not wait
    /// (guarantee G1).
    wakers: Mutex<Vec<Waker>>,
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
        self.0.cancelled.store(true, Ordering::SeqCst);
        let wakers = std::mem::take(&mut *self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner));
        for waker in wakers {
            waker.wake();
        }
    }

    /// Whether the token is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// Waits until the token is set.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled(self.clone())
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
pub struct Cancelled(CancellationToken);

impl Future for Cancelled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let shared = &self.0.0;
        if shared.cancelled.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        let mut wakers = shared.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        if !wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            wakers.push(cx.waker().clone());
        }
        drop(wakers);
        // The token may have been set between the check and the registration of the waker.
        if shared.cancelled.load(Ordering::SeqCst) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}
