//! Access to the tick thread from other threads.

use std::sync::Arc;
use std::time::Duration;

use super::super::Heartbeat;
use super::super::goal::{NavigationError, NavigationId, Request};
use super::super::goal_queue::{Epoch, GoalQueue, SHUT};
use super::{Message, TickStatus};
use crate::bt::HaltReason;
use crate::running_wait;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};

/// The future acknowledgement of a request.
#[derive(Debug)]
#[must_use = "what was asked for is done when it is acknowledged"]
pub struct Pending<T>(Receiver<T>);

/// The reason why there is no acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unacknowledged {
    /// It may still come: wait again.
    #[error("it is not done yet")]
    NotYet,
    /// The thread has ended, or a newer request has replaced this one.
    #[error("it will not be done")]
    Never,
}

impl<T> Pending<T> {
    /// Returns the acknowledgement, without waiting.
    ///
    /// # Errors
    /// [`Unacknowledged`].
    pub fn try_wait(&self) -> Result<T, Unacknowledged> {
        self.0.try_recv().map_err(|error| match error {
            TryRecvError::Empty => Unacknowledged::NotYet,
            TryRecvError::Disconnected => Unacknowledged::Never,
        })
    }

    /// Waits for the acknowledgement. The time in which the process does not run does not count.
    ///
    /// # Errors
    /// [`Unacknowledged`].
    pub fn wait(&self, patience: Duration) -> Result<T, Unacknowledged> {
        running_wait::receive(&self.0, patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => Unacknowledged::NotYet,
            RecvTimeoutError::Disconnected => Unacknowledged::Never,
        })
    }
}

/// Sends requests to the tick thread, from any other thread. Only the tick thread accesses trees. A request is
/// acknowledged when it is done, not when it is received.
#[derive(Clone)]
pub struct Handle {
    pub(super) sender: Sender<Message>,
    pub(super) heartbeat: Heartbeat,
    pub(super) queue: GoalQueue,
    /// A message about events was sent and the thread has not taken it.
    pub(super) has_event: Arc<AtomicBool>,
}

/// A permit to pass one goal to the tick thread. It is taken when the goal is accepted. If goals are refused before the
/// goal is handed in, the permit is no longer valid.
#[must_use = "a goal that was accepted is to be handed in"]
pub struct AdmissionPermit {
    handle: Handle,
    epoch: Epoch,
}

impl AdmissionPermit {
    /// Sends the goal. If goals were refused meanwhile, even for a short time, its client gets an error. Also if a name
    /// in the goal is too long.
    pub fn submit(self, request: Request) {
        if let Some(reason) = request.fault() {
            return request.refuse_now(NavigationError::Unknown, &reason);
        }
        match self.handle.queue.push(self.epoch, request) {
            Ok(()) => self.handle.wake(),
            Err(request) => request.refuse_now(NavigationError::None, SHUT),
        }
    }
}

impl Handle {
    /// Sends a goal that was accepted just now.
    pub fn goal(&self, request: Request) {
        match self.admit() {
            Some(permit) => permit.submit(request),
            None => request.refuse_now(NavigationError::None, SHUT),
        }
    }

    /// A permit for one goal; `None` if goals are refused.
    pub fn admit(&self) -> Option<AdmissionPermit> {
        self.queue.admit().map(|epoch| AdmissionPermit {
            handle: self.clone(),
            epoch,
        })
    }

    /// Refuses goals from now on. This includes goals which were admitted and have not started: their clients get the
    /// result at once (guarantee G8).
    pub fn shut(&self) {
        refuse(self.queue.shut());
    }

    /// Accepts goals again. A new thread accepts goals.
    pub fn open(&self) {
        self.queue.open();
    }

    /// The goals that have not started.
    pub(in crate::navigator) fn queue(&self) -> &GoalQueue {
        &self.queue
    }

    /// Cancels a goal without waiting for a tick. A goal that has not started does not start any more. It ends at once, even
    /// if a leaf of the current goal blocks the thread. Without a current goal the thread ends it, because only the thread
    /// knows which goals and jobs of earlier navigations have not stopped.
    pub fn cancel(&self, goal: NavigationId) {
        if let Some(request) = self.queue.remove(goal) {
            if self.heartbeat.current_goal().is_some() {
                request.cancel_now();
            } else {
                let _ = self.sender.send(Message::NotStarted(request));
            }
            return;
        }
        self.heartbeat.cancel_requested(goal);
        let _ = self.sender.send(Message::Cancel(goal));
    }

    /// Wakes the thread: a message has arrived, or the simulation clock has advanced.
    pub fn wake(&self) {
        let _ = self.sender.send(Message::Wake);
    }

    /// Something has happened that a tree or the end of a navigation may wait for. A navigation that can end ends. With
    /// `tick_on_event`, the next tick comes at once. Several events before it count as one.
    pub fn event(&self) {
        if !self.has_event.swap(true, Ordering::AcqRel) {
            let _ = self.sender.send(Message::Event);
        }
    }

    /// Pauses the ticks of a goal. After the answer, no node is ticked until [`Handle::resume`], the end of the goal or
    /// a newer goal; goals on servers continue. The answer is false if the goal's tree does not run: then nothing is
    /// paused, neither now nor later.
    pub fn pause(&self, goal: NavigationId) -> Pending<bool> {
        self.ask(|reply| Message::Pause(goal, reply))
    }

    /// Resumes ticks.
    pub fn resume(&self) -> Pending<()> {
        self.ask(Message::Resume)
    }

    /// Ticks a paused tree once. The answer is false if no tree runs, or if ticks are not paused.
    pub fn step(&self) -> Pending<bool> {
        self.ask(Message::Step)
    }

    /// Ends the [current goal](Heartbeat::current_goal), and the goals that wait behind it, for a person who is not
    /// their client. Their clients get ABORTED with `message`: those of the waiting goals at once, that of the current
    /// goal when the robot has stopped. A goal that has ended by itself keeps its result. The answer comes at once. It
    /// is false, or there is none, if nothing is ended: the goal has stopped, or another one runs. If a leaf blocks the
    /// thread, the watchdog stops the robot, as for a cancel of the client.
    pub fn end_goal(&self, goal: NavigationId, message: &'static str) -> Option<Pending<bool>> {
        self.heartbeat.current_goal().filter(|current| *current == goal)?;
        self.heartbeat.end_requested(goal, message);
        Some(self.ask(|reply| Message::EndGoal(goal, message, self.queue.halt_requested(), reply)))
    }

    /// Halts the current tree. Acknowledged when its goals and jobs have stopped, or were reported as not stopping
    /// (guarantee G8), and its client has the result. They are reported at their deadline, or after `limit` on the clock
    /// that a simulation does not stop. The limit also applies to earlier halts. Later goals are accepted, unless they
    /// are [refused](Handle::shut).
    pub fn halt(&self, reason: HaltReason, limit: Duration) -> Pending<()> {
        self.ask(|reply| Message::Halt(reason, limit, self.queue.halt_requested(), reply))
    }

    /// Halts all leaves without this thread, by `halt_all`, because a leaf may block the thread. The run of the tree ends:
    /// what its leaves ask for has no effect. `halt_all` must not wait.
    pub fn overtake<T>(&self, reason: HaltReason, halt_all: impl FnOnce() -> T) -> T {
        self.heartbeat.overtake(reason, halt_all)
    }

    /// The status of the thread.
    pub fn tick_status(&self) -> Pending<TickStatus> {
        self.ask(Message::TickStatus)
    }

    fn ask<T>(&self, message: impl FnOnce(Sender<T>) -> Message) -> Pending<T> {
        let (reply, answer) = mpsc::channel();
        // If the thread has ended, the message is dropped with its sender, and the receiver gets an error.
        let _ = self.sender.send(message(reply));
        Pending(answer)
    }
}

/// Ends goals that do not start any more.
pub(super) fn refuse(requests: Vec<Request>) {
    for request in requests {
        request.refuse_now(NavigationError::None, SHUT);
    }
}
