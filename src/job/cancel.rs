//! Telling a future that nobody waits for it any more.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, PoisonError};

#[derive(Default)]
struct Shared {
    cancelled: AtomicBool,
    /// Who waits. Held only to add or to take: the tick may cancel and must not wait (guarantee G1).
    wakers: Mutex<Vec<Waker>>,
}

/// Set once, when the leaf that started a job was halted or its tree dropped. Clones are the same token.
#[derive(Clone, Default)]
pub struct CancellationToken(Arc<Shared>);

impl CancellationToken {
    /// A token that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets it and wakes everyone who waits for it.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        let wakers = std::mem::take(&mut *self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner));
        for waker in wakers {
            waker.wake();
        }
    }

    /// Whether it is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// Waits until it is set.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled(self.clone())
    }

    /// Runs a future until it is done or the token is set; then it is dropped where it stands, and the answer is `None`.
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

/// Ready when the token is set.
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
        // It may have been set between the look and the entry.
        if shared.cancelled.load(Ordering::SeqCst) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}
