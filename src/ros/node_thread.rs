//! A thread with a node on it, and the way there.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::interrupt::Interrupt;
use super::spin::{self, SpinMetrics, Task};
use super::{RosError, RosNode, SpinReading};

/// The way to a node from any thread: tasks, which its thread does one after the other. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct NodeThread {
    tasks: Sender<Option<Task>>,
    interrupt: Arc<Interrupt>,
    metrics: Arc<SpinMetrics>,
}

/// What the thread is made of, until it is started.
pub(super) struct NodeThreadStart {
    node: RosNode,
    inbox: Receiver<Option<Task>>,
    node_thread: NodeThread,
}

impl NodeThread {
    /// The way to a node whose thread is yet to be started.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub(super) fn open(mut node: RosNode) -> Result<(Self, NodeThreadStart), RosError> {
        let (tasks, inbox) = channel();
        let node_thread = Self {
            tasks,
            interrupt: Arc::new(Interrupt::open(&mut node)?),
            metrics: Arc::default(),
        };
        let start = NodeThreadStart {
            node,
            inbox,
            node_thread: node_thread.clone(),
        };
        Ok((node_thread, start))
    }

    /// For a test: the way to a node whose thread has ended.
    #[cfg(test)]
    pub(super) fn ended() -> Self {
        let (tasks, _) = channel();
        Self {
            tasks,
            interrupt: Arc::new(Interrupt::of_nobody()),
            metrics: Arc::default(),
        }
    }

    /// Gives the thread something to do, and ends its wait for it; `None` is its end. False where it has ended.
    pub(super) fn give(&self, task: Option<Task>) -> bool {
        let given = self.tasks.send(task).is_ok();
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
        task: impl FnOnce(&mut RosNode) -> T + Send + 'static,
    ) -> Result<T, RosError> {
        let (sender, receiver) = channel();
        let given = self.give(Some(Box::new(move |node| {
            let _ = sender.send(task(node));
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

impl NodeThreadStart {
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
            node_thread,
        } = self;
        std::thread::Builder::new()
            .name(title.to_owned())
            .spawn(move || {
                let NodeThread {
                    interrupt,
                    metrics,
                    tasks,
                } = node_thread;
                // The end of all other senders is the end of the thread.
                drop(tasks);
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
