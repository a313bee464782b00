//! A thread with a node, and access to it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::interrupt::Interrupt;
use super::spin::{self, SpinMetrics, Task};
use super::{RosError, RosNode, SpinReading};

/// Access to a node from any thread: its thread runs the tasks one after the other. Clones share the thread.
#[derive(Clone, Debug)]
pub(super) struct NodeThread {
    tasks: Sender<Option<Task>>,
    interrupt: Arc<Interrupt>,
    metrics: Arc<SpinMetrics>,
}

/// The parts of the thread before its start.
pub(super) struct NodeThreadStart {
    node: RosNode,
    inbox: Receiver<Option<Task>>,
    node_thread: NodeThread,
}

impl NodeThread {
    /// Creates the access to a node whose thread is not started yet.
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

    /// For tests: access to a node whose thread has ended.
    #[cfg(test)]
    pub(super) fn ended() -> Self {
        let (tasks, _) = channel();
        Self {
            tasks,
            interrupt: Arc::new(Interrupt::for_test()),
            metrics: Arc::default(),
        }
    }

    /// Sends a task to the thread and ends its wait; `None` ends the thread. False if the thread has ended.
    pub(super) fn give(&self, task: Option<Task>) -> bool {
        let given = self.tasks.send(task).is_ok();
        self.interrupt.raise();
        given
    }

    /// Runs a task on the thread and waits for the result. For threads that may wait; two threads must never wait for
    /// each other.
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

    /// The metrics of its loop.
    pub(super) fn metrics(&self) -> SpinReading {
        self.metrics.read()
    }
}

impl NodeThreadStart {
    /// The node, before the thread owns it.
    pub(super) fn node(&mut self) -> &mut RosNode {
        &mut self.node
    }

    /// Starts the thread. If the thread ends with a fault, it calls `end` with the fault.
    ///
    /// # Errors
    /// [`RosError::Context`] if the thread cannot be started.
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
                // The thread ends when all other senders are dropped.
                drop(tasks);
                let ended = spin::run(&mut node, &context, &inbox, &interrupt, &metrics);
                let failed = ended.is_err();
                end(ended);
                if failed {
                    spin::keep_until_the_end(&inbox);
                }
                // Dropped on its own thread and before the process ends, so peers see its endpoints disappear.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(node)));
            })
            .map_err(|error| RosError::Context(error.to_string()))
    }
}
