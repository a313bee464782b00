//! Executors.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::thread::Thread;

use crate::robot_name;

/// A future for an executor.
pub type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs futures to their end. It must not run them within the call, because the tick would wait for them.
pub trait Spawn: Send + Sync + 'static {
    /// Takes a future to run.
    fn spawn(&self, future: BoxFuture);
}

impl<F: Fn(BoxFuture) + Send + Sync + 'static> Spawn for F {
    fn spawn(&self, future: BoxFuture) {
        self(future);
    }
}

#[cfg(feature = "ros")]
impl Spawn for tokio::runtime::Handle {
    fn spawn(&self, future: BoxFuture) {
        drop(tokio::runtime::Handle::spawn(self, future));
    }
}

/// An executor with one thread per future: simple, and sufficient for a few leaves that wait for files or devices.
#[derive(Clone, Copy, Debug, Default)]
pub struct Threads;

impl Spawn for Threads {
    fn spawn(&self, future: BoxFuture) {
        let started = std::thread::Builder::new()
            .name("navtree job".to_owned())
            .spawn(robot_name::inherit(move || block_on(future)));
        if let Err(error) = started {
            // The closure dropped the future, so the leaf learns that the job is lost.
            tracing::error!("thread of a job not started: {error}");
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on(future: BoxFuture) {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    while future.as_mut().poll(&mut cx).is_pending() {
        std::thread::park();
    }
}
