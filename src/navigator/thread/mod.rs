//! The tick thread: it owns the navigator with all its trees. Other threads send requests through a [`Handle`] and get
//! an acknowledgement when the request is done.

mod handle;
mod tick_loop;

pub use handle::*;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::durations::Durations;
use super::goal::{NavigationId, Request};
use super::goal_queue::{ArrivalNumber, GoalQueue};
use super::{Heartbeat, Navigator, Snapshot};
use crate::bt::{HaltReason, Time};
use crate::robot_name;
use crate::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use crate::sync::thread::{self, JoinHandle};
use handle::refuse;
use tick_loop::Loop;

/// The clock that drives ticks: monotonic time or simulation time.
pub trait TickClock: Send + Sync {
    /// The current time.
    fn now(&self) -> Time;

    /// The current time, and the number of steps of this clock since the last call by which ticks at `start` +
    /// n·`period` have become due. `None` for a clock without steps, which passes through all times.
    fn now_and_due_steps(&self, _start: Time, _period: Duration) -> (Time, Option<u64>) {
        (self.now(), None)
    }

    /// The time that people, servers and the network use, also in a simulation. Deadlines for them use it.
    fn steady(&self) -> Time {
        self.now()
    }

    /// Returns whether there is a time for ticks. Simulation time is unknown before its first message.
    fn has_started(&self) -> bool {
        true
    }

    /// Maximum sleep on the wall clock until `due`. A simulation clock cannot know it: it returns its poll interval.
    fn wall_time_until(&self, due: Time) -> Duration;
}

/// Tick statistics, for diagnostics.
#[derive(Clone, Debug, Default)]
pub struct TickStatistics {
    /// The durations and the number of ticks.
    pub durations: Durations,
    /// The times from the due times of scheduled ticks to their starts.
    pub lateness: Durations,
    /// Ticks that were due and did not happen.
    pub missed: u64,
    /// Ticks that did not happen because the clock passed them in one step with another tick.
    pub skipped: u64,
}

/// The status of the tick thread.
#[derive(Clone, Debug)]
pub struct TickStatus {
    /// Statistics of the ticks so far.
    pub statistics: TickStatistics,
    /// The tick period.
    pub period: Duration,
    /// Ticks are paused on request.
    pub is_paused: bool,
    /// The state of the navigator.
    pub navigator: Snapshot,
}

enum Message {
    Cancel(NavigationId),
    /// Ends a cancelled goal that has left the queue before its start. Without the thread, it is aborted.
    NotStarted(Request),
    Wake,
    /// Something that a tree may wait for has happened; see [`Handle::event`].
    Event,
    /// Pauses the ticks of this goal. The tree keeps its state, and its goals continue. Replies whether its tree runs.
    Pause(NavigationId, Sender<bool>),
    /// Resumes ticks.
    Resume(Sender<()>),
    /// Ticks a paused tree once. Replies whether there is one.
    Step(Sender<bool>),
    /// Ends the current goal and those up to an arrival number. Replies when everything has stopped, or at its
    /// deadline, or at the given limit.
    Halt(HaltReason, Duration, ArrivalNumber, Sender<()>),
    /// Ends this goal with a message, and those up to an arrival number. Replies whether its tree runs.
    EndGoal(NavigationId, &'static str, ArrivalNumber, Sender<bool>),
    TickStatus(Sender<TickStatus>),
    Quit,
}

/// Time for the thread to end after the request. Only a leaf that hangs takes longer.
const JOIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Calls a function when it is dropped.
struct CallOnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> CallOnDrop<F> {
    fn new(function: F) -> Self {
        Self(Some(function))
    }
}

impl<F: FnOnce()> Drop for CallOnDrop<F> {
    fn drop(&mut self) {
        if let Some(function) = self.0.take() {
            function();
        }
    }
}

/// The tick thread. Dropping it ends the thread. A thread that is blocked by a leaf is left behind.
pub struct TickThread {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    /// Receives no message; its sender is dropped when the thread has ended.
    ended: Receiver<()>,
}

impl TickThread {
    /// Starts the thread. `make_navigator` runs on the new thread, because the navigator never leaves it. A watchdog
    /// reads `heartbeat`. `on_end` is called at the end of the thread, also after a panic.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start(
        make_navigator: impl FnOnce(&Handle) -> Navigator + Send + 'static,
        clock: Arc<dyn TickClock>,
        heartbeat: Heartbeat,
        on_end: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel();
        let queue = GoalQueue::default();
        let handle = Handle {
            sender,
            heartbeat: heartbeat.clone(),
            queue: queue.clone(),
            has_event: Arc::default(),
        };
        let inner = handle.clone();
        let (alive, ended) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("tick".to_owned())
            // Ticks recurse with the depth of the tree, which is limited. The default stack is large enough.
            .spawn(robot_name::inherit(move || {
                // Dropped last, also by a panic: `_alive` before `_on_end`, which allows `on_end` to check
                // `is_finished`.
                let _on_end = CallOnDrop::new(on_end);
                let _alive = alive;
                let _close = CallOnDrop::new({
                    let queue = queue.clone();
                    move || refuse(queue.close())
                });
                let receiver = receiver;
                heartbeat.begin();
                let mut navigator = make_navigator(&inner);
                navigator.share(queue);
                navigator.hand_over();
                heartbeat.end();
                let has_event = Arc::clone(&inner.has_event);
                drop(inner);
                Loop::new(navigator, clock, heartbeat, has_event).run(&receiver);
            }))?;
        Ok(Self {
            handle,
            thread: Some(thread),
            ended,
        })
    }

    /// A handle of the thread.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Returns whether the thread has ended, by a panic or a stop request.
    pub fn is_finished(&self) -> bool {
        matches!(self.ended.try_recv(), Err(TryRecvError::Disconnected))
    }
}

impl Drop for TickThread {
    fn drop(&mut self) {
        let _ = self.handle.sender.send(Message::Quit);
        if let Err(RecvTimeoutError::Timeout) = self.ended.recv_timeout(JOIN_TIMEOUT) {
            tracing::error!("tick thread not joined: a leaf still blocks it");
            return;
        }
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("tick thread panicked");
        }
    }
}
