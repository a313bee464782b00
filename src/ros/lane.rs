//! A thread with a node on it, and the way there.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::interrupt::Interrupt;
use super::spin::{self, Errand, SpinMetrics};
use super::{RosError, RosNode, SpinReading};

/// The way to a node from any thread: errands, which its thread does one after the other. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    errands: Sender<Option<Errand>>,
    interrupt: Arc<Interrupt>,
    metrics: Arc<SpinMetrics>,
}

/// What the thread is made of, until it is started.
pub(super) struct LaneStart {
    node: RosNode,
    inbox: Receiver<Option<Errand>>,
    lane: Lane,
}

impl Lane {
    /// The way to a node whose thread is yet to be started.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub(super) fn open(mut node: RosNode) -> Result<(Self, LaneStart), RosError> {
        let (errands, inbox) = channel();
        let lane = Self {
            errands,
            interrupt: Arc::new(Interrupt::open(&mut node)?),
            metrics: Arc::default(),
        };
        let start = LaneStart {
            node,
            inbox,
            lane: lane.clone(),
        };
        Ok((lane, start))
    }

    /// Gives the thread something to do, and ends its wait for it; `None` is its end. False where it has ended.
    pub(super) fn give(&self, errand: Option<Errand>) -> bool {
        let given = self.errands.send(errand).is_ok();
        self.interrupt.raise();
        given
    }

    /// Has something done there and waits for the answer. For threads that may wait, and never both ways.
    ///
    /// # Errors
    /// [`RosError::Down`]; [`RosError::Timeout`] after `patience`.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        patience: Duration,
        errand: impl FnOnce(&mut RosNode) -> T + Send + 'static,
    ) -> Result<T, RosError> {
        let (sender, receiver) = channel();
        let given = self.give(Some(Box::new(move |node| {
            let _ = sender.send(errand(node));
        })));
        if !given {
            return Err(RosError::Down);
        }
        receiver.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => RosError::Timeout,
            RecvTimeoutError::Disconnected => RosError::Down,
        })
    }

    /// What its loop has done so far.
    pub(super) fn metrics(&self) -> SpinReading {
        self.metrics.read()
    }
}

impl LaneStart {
    /// The node, before its thread has it.
    pub(super) fn node(&mut self) -> &mut RosNode {
        &mut self.node
    }

    /// Starts the thread. `end` is told on it why it ended, where that was a fault.
    ///
    /// # Errors
    /// [`RosError::Context`] where no thread can be had.
    pub(super) fn run(
        self,
        title: &str,
        context: &r2r::Context,
        end: impl FnOnce(Result<(), String>) + Send + 'static,
    ) -> Result<JoinHandle<()>, RosError> {
        let context = context.clone();
        let Self {
            mut node,
            inbox,
            lane,
        } = self;
        std::thread::Builder::new()
            .name(title.to_owned())
            .spawn(move || {
                let Lane {
                    interrupt,
                    metrics,
                    errands,
                } = lane;
                // The end of all other senders is the end of the thread.
                drop(errands);
                let ended = spin::run(&mut node, &context, &inbox, &interrupt, &metrics);
                let failed = ended.is_err();
                end(ended);
                if failed {
                    spin::keep_until_the_end(&inbox);
                }
                // Here, on its own thread and before the process ends: peers see the endpoints go.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(node)));
            })
            .map_err(|error| RosError::Context(error.to_string()))
    }
}
