//! The tick thread: owns the navigator and with it every tree. Whoever wants something of them asks through its
//! [`Handle`], and is answered when it is done.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use super::goal::Request;
use super::{Navigator, Schedule};
use crate::bt::{HaltReason, Time};
use crate::goal::GoalId;

/// The clock that drives ticks: monotonic, or simulation time.
pub trait TickClock: Send + Sync {
    /// Now.
    fn now(&self) -> Time;

    /// How long to sleep on the wall clock until `due`, at most. A simulation clock does not know: it answers with its
    /// poll interval, and wakes the thread by [`Handle::wake`] when it advances.
    fn wall_time_until(&self, due: Time) -> Duration;
}

/// Tick statistics, for diagnostics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TickStatistics {
    /// Ticks so far.
    pub ticks: u64,
    /// Ticks that were due and did not happen.
    pub missed: u64,
    /// The longest tick.
    pub longest: Duration,
}

enum Message {
    Goal(Request),
    Cancel(GoalId),
    Wake,
    /// Pauses or resumes ticking: the tree keeps its state, its goals go on.
    Pause(bool, Sender<()>),
    /// Ends the running goal and answers when everything has stopped, or its deadline has passed.
    Stop(HaltReason, Sender<()>),
    Statistics(Sender<TickStatistics>),
    Quit,
}

/// Reaches the tick thread from any other.
#[derive(Clone)]
pub struct Handle {
    sender: Sender<Message>,
}

impl Handle {
    /// Hands over a goal that was accepted.
    pub fn goal(&self, request: Request) {
        // A thread that is gone drops the request, and dropping its client answers it.
        let _ = self.sender.send(Message::Goal(request));
    }

    /// Cancels a goal: no tick is waited for.
    pub fn cancel(&self, goal: GoalId) {
        let _ = self.sender.send(Message::Cancel(goal));
    }

    /// Something has arrived, or the simulation clock has advanced.
    pub fn wake(&self) {
        let _ = self.sender.send(Message::Wake);
    }

    /// Pauses or resumes ticking, and returns when that is so. False where the thread is gone or did not answer.
    pub fn pause(&self, paused: bool, patience: Duration) -> bool {
        self.ask(patience, |reply| Message::Pause(paused, reply))
            .is_some()
    }

    /// Halts whatever runs and returns when it has stopped (guarantee G8). False where that took too long.
    pub fn stop(&self, reason: HaltReason, patience: Duration) -> bool {
        self.ask(patience, |reply| Message::Stop(reason, reply)).is_some()
    }

    /// Figures on the ticks so far.
    pub fn statistics(&self, patience: Duration) -> Option<TickStatistics> {
        self.ask(patience, Message::Statistics)
    }

    fn ask<T>(&self, patience: Duration, message: impl FnOnce(Sender<T>) -> Message) -> Option<T> {
        let (reply, answer) = mpsc::channel();
        self.sender.send(message(reply)).ok()?;
        answer.recv_timeout(patience).ok()
    }
}

/// The thread itself; dropping it ends it.
pub struct TickThread {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl TickThread {
    /// Starts ticking. `make` runs on the new thread, so that the navigator never leaves it.
    ///
    /// # Errors
    /// Where the thread cannot be made.
    pub fn start(
        make: impl FnOnce(&Handle) -> Navigator + Send + 'static,
        clock: Arc<dyn TickClock>,
    ) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel();
        let handle = Handle { sender };
        let inner = handle.clone();
        let thread = std::thread::Builder::new()
            .name("tick".to_owned())
            // Ticking recurses with the tree's depth, which is limited; the default stack suffices for it.
            .spawn(move || {
                let navigator = make(&inner);
                drop(inner);
                Loop {
                    navigator,
                    clock,
                    schedule: None,
                    paused: false,
                    stops: Vec::new(),
                    figures: TickStatistics::default(),
                }
                .run(&receiver);
            })?;
        Ok(Self {
            handle,
            thread: Some(thread),
        })
    }

    /// A handle.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Whether the thread has ended, which it does by itself only when it panicked.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for TickThread {
    fn drop(&mut self) {
        let _ = self.handle.sender.send(Message::Quit);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the tick thread had panicked");
        }
    }
}

struct Loop {
    navigator: Navigator,
    clock: Arc<dyn TickClock>,
    /// While a tree runs.
    schedule: Option<Schedule>,
    paused: bool,
    stops: Vec<Sender<()>>,
    figures: TickStatistics,
}

impl Loop {
    fn run(&mut self, receiver: &Receiver<Message>) {
        loop {
            let timeout = self.timeout();
            match receiver.recv_timeout(timeout) {
                Ok(message) => {
                    if !self.handle(message) {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.step();
        }
    }

    /// Until the next tick; when nothing runs, until somebody asks for something.
    fn timeout(&self) -> Duration {
        const IDLE: Duration = Duration::from_millis(500);
        match &self.schedule {
            Some(schedule) if !self.paused => self.clock.wall_time_until(schedule.due()),
            _ if self.navigator.is_idle() => IDLE,
            _ => self.navigator.poll_period(),
        }
    }

    fn handle(&mut self, message: Message) -> bool {
        let now = self.clock.now();
        match message {
            Message::Goal(request) => self.navigator.goal(request, now),
            Message::Cancel(goal) => self.navigator.cancel(goal, now),
            Message::Wake => {}
            Message::Pause(paused, reply) => {
                self.paused = paused;
                let _ = reply.send(());
            }
            Message::Stop(reason, reply) => {
                self.paused = false;
                self.navigator.stop_all(reason, now);
                self.stops.push(reply);
            }
            Message::Statistics(reply) => {
                let _ = reply.send(self.figures);
            }
            Message::Quit => {
                self.navigator.stop_all(HaltReason::ShuttingDown, now);
                return false;
            }
        }
        true
    }

    fn step(&mut self) {
        let now = self.clock.now();
        if self.navigator.is_running() {
            let period = self.navigator.options().period;
            let schedule = self.schedule.get_or_insert_with(|| Schedule::new(now, period));
            if !self.paused && now >= schedule.due() {
                self.navigator.tick(now);
                let after = self.clock.now();
                self.figures.ticks += 1;
                self.figures.longest = self.figures.longest.max(after.since(now));
                let before = schedule.missed();
                schedule.ticked(after);
                let missed = schedule.missed() - before;
                self.figures.missed += missed;
                if missed > 0 {
                    tracing::warn!("{missed} ticks missed: the last one took {:?}", after.since(now));
                }
            }
        } else {
            self.navigator.poll(now);
        }
        if !self.navigator.is_running() {
            self.schedule = None;
        }
        if self.navigator.is_idle() {
            for reply in self.stops.drain(..) {
                let _ = reply.send(());
            }
        }
    }
}
