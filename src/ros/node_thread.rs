//! A thread with a node, and access to it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::ready::Ready;
use super::spin::{self, Rounds, Task};
use super::{RosError, RosNode};
use crate::robot_name;

/// Access to a node from any thread: its thread runs the tasks one after the other. Clones share the thread.
#[derive(Clone, Debug)]
pub(super) struct NodeThread {
    tasks: Sender<Option<Task>>,
    ready: Ready,
    rounds: Arc<Rounds>,
}

impl NodeThread {
    /// Starts the thread. If the thread ends with a fault, it calls `end` with the fault.
    ///
    /// # Errors
    /// [`RosError::Context`] if the thread cannot be started.
    pub(super) fn start(
        mut node: RosNode,
        title: &str,
        end: impl FnOnce(Result<(), String>) + Send + 'static,
    ) -> Result<(Self, JoinHandle<()>), RosError> {
        let (tasks, inbox) = channel();
        let node_thread = Self {
            tasks,
            ready: node.ready().clone(),
            rounds: Arc::default(),
        };
        let rounds = Arc::clone(&node_thread.rounds);
        let thread = std::thread::Builder::new()
            .name(title.to_owned())
            .spawn(robot_name::inherit(move || {
                let ended = spin::run(&mut node, &inbox, &rounds);
                let has_failed = ended.is_err();
                end(ended);
                if has_failed {
                    spin::keep_until_the_end(&inbox);
                }
                // Dropped on its own thread and before the process ends, so peers see its endpoints disappear.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(node)));
            }))
            .map_err(|error| RosError::Context(error.to_string()))?;
        Ok((node_thread, thread))
    }

    /// For tests: access to a node whose thread has ended.
    #[cfg(test)]
    pub(super) fn ended() -> Self {
        let (tasks, _) = channel();
        Self {
            tasks,
            ready: Ready::default(),
            rounds: Arc::default(),
        }
    }

    /// Sends a task to the thread and ends its sleep; `None` ends the thread. False if the thread has ended.
    pub(super) fn give(&self, task: Option<Task>) -> bool {
        let is_given = self.tasks.send(task).is_ok();
        self.ready.wake();
        is_given
    }

    /// See [`Ready::set_at_rest`].
    pub(super) fn set_at_rest(&self, is_at_rest: bool) {
        self.ready.set_at_rest(is_at_rest);
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
        let is_given = self.give(Some(Box::new(move |node| {
            let _ = sender.send(task(node));
        })));
        if !is_given {
            return Err(RosError::Down);
        }
        receiver.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => RosError::Timeout,
            RecvTimeoutError::Disconnected => RosError::Down,
        })
    }

    /// The number of rounds of its loop: at least two in a second.
    pub(super) fn rounds(&self) -> u64 {
        self.rounds.count()
    }
}
