//! The tick thread: it owns the navigator with all its trees. Other threads send requests through a [`Handle`] and get
//! an acknowledgement when the request is done.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::durations::Durations;
use super::goal::{NavigationError, Request};
use super::goal_queue::{Epoch, GoalQueue, Place, SHUT};
use super::missed_ticks::MissedTicks;
use super::slow_clock::SlowClock;
use super::{Heartbeat, Navigator, NavigatorKind, Schedule, Snapshot};
use crate::bt::{HaltReason, Time, TreeDef};
use crate::fault;
use crate::goal::GoalId;
use crate::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use crate::sync::thread::{self, JoinHandle};

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

    /// Maximum sleep on the wall clock until `due`. A simulation clock cannot know it: it returns its poll interval,
    /// and wakes the thread by [`Handle::wake`] when it advances.
    fn wall_time_until(&self, due: Time) -> Duration;
}

/// Tick statistics, for diagnostics.
#[derive(Clone, Debug, Default)]
pub struct TickStatistics {
    /// The durations and the number of ticks.
    pub durations: Durations,
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
    Cancel(GoalId),
    Wake,
    /// Pauses or resumes ticks. The tree keeps its state, and its goals continue.
    Pause(bool, Sender<()>),
    /// Ends the current goal and those up to a place in the queue. Replies when everything has stopped, or at its
    /// deadline, or at the given limit.
    Halt(HaltReason, Option<Duration>, Place, Sender<()>),
    /// Replaces the tree of a navigator.
    Swap(NavigatorKind, Arc<TreeDef>, Sender<Result<(), String>>),
    /// Like [`Message::Halt`], and then the thread ends.
    Stop(HaltReason, Place, Sender<()>),
    TickStatus(Sender<TickStatus>),
    Quit,
}

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

    /// Waits for the acknowledgement.
    ///
    /// # Errors
    /// [`Unacknowledged`].
    pub fn wait(&self, patience: Duration) -> Result<T, Unacknowledged> {
        self.0.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => Unacknowledged::NotYet,
            RecvTimeoutError::Disconnected => Unacknowledged::Never,
        })
    }
}

/// Sends requests to the tick thread, from any other thread. Only the tick thread accesses trees. A request is
/// acknowledged when it is done, not when it is received.
#[derive(Clone)]
pub struct Handle {
    sender: Sender<Message>,
    heartbeat: Heartbeat,
    queue: GoalQueue,
}

/// A permit to pass one goal to the tick thread. It is taken when the goal is accepted. If goals are refused before the
/// goal is handed in, the permit is no longer valid.
#[must_use = "a goal that was accepted is to be handed in"]
pub struct AdmissionPermit {
    handle: Handle,
    epoch: Epoch,
}

impl AdmissionPermit {
    /// Sends the goal. If goals were refused meanwhile, even for a short time, its client gets an error.
    pub fn submit(self, request: Request) {
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
    /// result at once (guarantee G8). [`Handle::stop`] includes this call.
    pub fn shut(&self) {
        refuse(self.queue.shut());
    }

    /// Accepts goals again. A new thread accepts goals.
    pub fn open(&self) {
        self.queue.open();
    }

    /// The goals that have not started.
    pub(super) fn queue(&self) -> &GoalQueue {
        &self.queue
    }

    /// Cancels a goal without waiting for a tick. A goal that has not started ends at once, even if a leaf blocks the
    /// thread.
    pub fn cancel(&self, goal: GoalId) {
        if let Some(request) = self.queue.remove(goal) {
            request.cancel_now();
            return;
        }
        self.heartbeat.cancel_requested(goal);
        let _ = self.sender.send(Message::Cancel(goal));
    }

    /// Wakes the thread: a message has arrived, or the simulation clock has advanced.
    pub fn wake(&self) {
        let _ = self.sender.send(Message::Wake);
    }

    /// Pauses ticks. After the acknowledgement, no node is ticked until [`Handle::resume`]; goals on servers continue.
    pub fn pause(&self) -> Pending<()> {
        self.ask(|reply| Message::Pause(true, reply))
    }

    /// Resumes ticks.
    pub fn resume(&self) -> Pending<()> {
        self.ask(|reply| Message::Pause(false, reply))
    }

    /// Halts the current tree. Acknowledged when its goals and jobs have stopped, or were reported as not stopping
    /// (guarantee G8), and its client has the result. Later goals are accepted, unless they are
    /// [refused](Handle::shut).
    pub fn halt(&self, reason: HaltReason) -> Pending<()> {
        self.ask(|reply| Message::Halt(reason, None, self.queue.halt_requested(), reply))
    }

    /// Like [`Handle::halt`], with a limit on the clock that a simulation does not stop. After it, goals and jobs that
    /// have not stopped are reported even if their deadline is later. The limit also applies to earlier halts.
    pub fn halt_within(&self, reason: HaltReason, limit: Duration) -> Pending<()> {
        self.ask(|reply| Message::Halt(reason, Some(limit), self.queue.halt_requested(), reply))
    }

    /// Replaces the tree of a navigator. If the old tree has an active goal, the new tree runs it from its root when
    /// the goals and jobs of the old tree have stopped. The acknowledgement comes then. If the new tree cannot be made,
    /// the answer is the reason, and the old tree continues (guarantee G7).
    pub fn swap(&self, kind: NavigatorKind, def: Arc<TreeDef>) -> Pending<Result<(), String>> {
        self.ask(|reply| Message::Swap(kind, def, reply))
    }

    /// Like [`Handle::halt`], and then the thread ends. Later requests are never done.
    pub fn stop(&self, reason: HaltReason) -> Pending<()> {
        self.shut();
        self.ask(|reply| Message::Stop(reason, self.queue.halt_requested(), reply))
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
fn refuse(requests: Vec<Request>) {
    for request in requests {
        request.refuse_now(NavigationError::None, SHUT);
    }
}

/// Time for the thread to end after the request. Only a leaf that hangs takes longer.
const JOIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Calls a function when it is dropped.
pub(super) struct AtEnd<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> AtEnd<F> {
    pub(super) fn new(tell: F) -> Self {
        Self(Some(tell))
    }
}

impl<F: FnOnce()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        if let Some(tell) = self.0.take() {
            tell();
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
    /// Starts the thread. `make` runs on the new thread, because the navigator never leaves it. A watchdog reads
    /// `heartbeat`. `tell` is called at the end of the thread, by a panic or otherwise.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start(
        make: impl FnOnce(&Handle) -> Navigator + Send + 'static,
        clock: Arc<dyn TickClock>,
        heartbeat: Heartbeat,
        tell: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel();
        let queue = GoalQueue::default();
        let handle = Handle {
            sender,
            heartbeat: heartbeat.clone(),
            queue: queue.clone(),
        };
        let inner = handle.clone();
        let (alive, ended) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("tick".to_owned())
            // Ticks recurse with the depth of the tree, which is limited. The default stack is large enough.
            .spawn(move || {
                // Dropped last, also by a panic: `_alive` before `_tell`, which allows the function of `_tell` to check
                // `is_finished`.
                let _tell = AtEnd::new(tell);
                let _alive = alive;
                let _close = AtEnd::new({
                    let queue = queue.clone();
                    move || refuse(queue.close())
                });
                let receiver = receiver;
                heartbeat.begin();
                let mut navigator = make(&inner);
                navigator.share(queue);
                navigator.hand_over();
                heartbeat.end();
                drop(inner);
                Loop {
                    navigator,
                    clock,
                    heartbeat,
                    cut: None,
                    schedule: None,
                    paused: false,
                    ending: false,
                    halts: Vec::new(),
                    swaps: Vec::new(),
                    statistics: TickStatistics::default(),
                    missed: MissedTicks::default(),
                    slow_clock: SlowClock::default(),
                    worked: Duration::ZERO,
                    uncounted: Time::ZERO,
                    waits_for_time: false,
                    waits_since: None,
                }
                .run(&receiver);
            })?;
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

struct Loop {
    navigator: Navigator,
    clock: Arc<dyn TickClock>,
    heartbeat: Heartbeat,
    /// The time limit of a halt that waits.
    cut: Option<Time>,
    /// Set while a tree runs.
    schedule: Option<Schedule>,
    paused: bool,
    /// The thread ends when everything has stopped.
    ending: bool,
    /// Replies to send when everything has stopped.
    halts: Vec<Sender<()>>,
    /// Replies to send when the new tree is in place.
    swaps: Vec<(NavigatorKind, Sender<Result<(), String>>)>,
    statistics: TickStatistics,
    missed: MissedTicks,
    slow_clock: SlowClock,
    /// The work time of the thread since the last tick, and the time from which on it is not counted yet.
    worked: Duration,
    uncounted: Time,
    /// The warning that goals wait for the clock was logged.
    waits_for_time: bool,
    /// The time since which goals wait for the clock, on the clock that a simulation does not stop.
    waits_since: Option<Time>,
}

impl Drop for Loop {
    /// Logs the durations of the ticks, which are the first sign of a slow machine or a slow tree.
    fn drop(&mut self) {
        let TickStatistics {
            durations, missed, ..
        } = &self.statistics;
        if durations.total() > 0 {
            tracing::info!(
                "{} ticks, {missed} missed; they took {:?} in the median, {:?} at the 99th percentile, {:?} at most",
                durations.total(),
                durations.quantile(0.5),
                durations.quantile(0.99),
                durations.longest(),
            );
        }
    }
}

impl Loop {
    fn run(&mut self, receiver: &Receiver<Message>) {
        loop {
            let timeout = self.timeout();
            let received = receiver.recv_timeout(timeout);
            fault::point();
            self.heartbeat.begin();
            self.uncounted = self.clock.steady();
            self.handle_external_cancel();
            let goes_on = match received {
                Ok(message) => self.handle(message),
                Err(RecvTimeoutError::Timeout) => true,
                Err(RecvTimeoutError::Disconnected) => false,
            };
            // Earlier commands must not wait for a tick that hangs.
            self.navigator.hand_over();
            if goes_on {
                self.step();
            }
            if self.schedule.is_some() {
                self.worked += self.clock.steady().since(self.uncounted);
            } else {
                self.worked = Duration::ZERO;
            }
            self.heartbeat.end();
            if !goes_on || (self.ending && self.navigator.is_idle()) {
                return;
            }
        }
    }

    /// Time until the next tick. If nothing runs, the thread waits for messages.
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
        self.navigator.set_steady(self.clock.steady());
        match message {
            Message::Cancel(goal) => {
                self.navigator.cancel(goal, now);
                // Not earlier: a leaf may block the thread while it is halted, and the watchdog looks for this cancel.
                self.heartbeat.cancel_processed(goal);
            }
            // A goal that starts is ticked in the same turn.
            Message::Wake => self.navigator.settle_queue(now),
            Message::Pause(paused, reply) => {
                self.paused = paused;
                // Paused ticks do not count as missed.
                self.schedule = None;
                let _ = reply.send(());
            }
            Message::Halt(reason, limit, newest, reply) => {
                if let Some(limit) = limit {
                    let cut = self.clock.steady() + limit;
                    self.cut = Some(self.cut.map_or(cut, |earlier| earlier.min(cut)));
                }
                self.halt(reason, newest, reply, now);
            }
            Message::Stop(reason, newest, reply) => {
                self.halt(reason, newest, reply, now);
                self.ending = true;
            }
            Message::Swap(kind, def, reply) => match self.navigator.swap(kind, &def, now) {
                Ok(()) => {
                    // The last swap counts. The reply to an earlier one is dropped.
                    self.swaps.retain(|(of, _)| *of != kind);
                    self.swaps.push((kind, reply));
                }
                Err(reason) => {
                    let _ = reply.send(Err(reason));
                }
            },
            Message::TickStatus(reply) => {
                let _ = reply.send(TickStatus {
                    statistics: self.statistics.clone(),
                    period: self.navigator.options().period,
                    is_paused: self.paused,
                    navigator: self.navigator.snapshot(),
                });
            }
            Message::Quit => {
                self.navigator.stop_all(HaltReason::ShuttingDown, now);
                return false;
            }
        }
        true
    }

    fn halt(&mut self, reason: HaltReason, newest: Place, reply: Sender<()>, now: Time) {
        self.paused = false;
        self.navigator.stop_until(newest, reason, now);
        self.halts.push(reply);
    }

    /// Ends the tree if the watchdog has cancelled the goals of all its leaves: these leaves would be RUNNING without
    /// end.
    fn handle_external_cancel(&mut self) {
        if let Some(goal) = self.heartbeat.take_cancelled_externally() {
            self.navigator.set_steady(self.clock.steady());
            self.navigator.leaves_were_halted(goal, self.clock.now());
        }
    }

    /// Returns whether there is a time for ticks. Logs once that goals wait for it, and aborts them after
    /// `clock_timeout`.
    fn has_time(&mut self, steady: Time, now: Time) -> bool {
        let has_started = self.clock.has_started();
        // Goals and jobs that only stop use the clock that a simulation does not stop.
        if has_started || !self.navigator.has_goals() {
            self.waits_for_time &= !has_started;
            self.waits_since = None;
            return has_started;
        }
        if !std::mem::replace(&mut self.waits_for_time, true) {
            tracing::warn!(
                "use_sim_time is set, but no message has arrived on /clock: goals wait for the first one"
            );
        }
        let since = *self.waits_since.get_or_insert(steady);
        let limit = self.navigator.options().clock_timeout;
        if !limit.is_zero() && steady.since(since) >= limit {
            let reason = format!(
                "use_sim_time is set, but no message has arrived on /clock for {limit:?}: start the publisher of \
                 /clock, or unset use_sim_time"
            );
            tracing::error!("goals are aborted: {reason}");
            self.navigator.abort_all(NavigationError::Unknown, &reason, now);
            // A later goal has the full time again.
            self.waits_since = None;
        }
        false
    }

    fn step(&mut self) {
        let began = self.clock.steady();
        self.navigator.set_steady(began);
        // Also after a message that took long: no tick comes before this call.
        self.handle_external_cancel();
        let now = self.clock.now();
        if self.cut.is_some_and(|cut| began >= cut) {
            self.navigator.wait_no_longer();
        }
        if self.has_time(began, now) && self.navigator.is_running() {
            let period = self.navigator.options().period;
            let schedule = self.schedule.get_or_insert_with(|| {
                let schedule = Schedule::new(now, period);
                self.clock.now_and_due_steps(schedule.start(), schedule.period());
                schedule
            });
            if self.paused || now < schedule.due() {
                // A goal waits for a transform on the clock that a simulation does not stop.
                self.navigator.poll(now);
            } else {
                self.navigator.tick(now);
                // The duration is measured on this machine's clock, even in a simulation. It covers all work of the
                // thread in this period, not only the tick.
                let end = self.clock.steady();
                let took = std::mem::take(&mut self.worked) + end.since(self.uncounted);
                self.uncounted = end;
                self.statistics.durations.record(took);
                let before = schedule.clone();
                let (now, steps) = self.clock.now_and_due_steps(schedule.start(), schedule.period());
                schedule.ticked(now, steps);
                let missed = schedule.missed() - before.missed();
                let skipped = schedule.skipped() - before.skipped();
                self.statistics.missed += missed;
                self.statistics.skipped += skipped;
                self.missed.note(missed, period, took);
                if let Some(line) = self.slow_clock.note(now, steps, skipped, period) {
                    tracing::warn!("{line}");
                }
            }
        } else {
            self.navigator.poll(now);
        }
        if self.missed.is_pending()
            && let Some(summary) = self.missed.summary(self.clock.steady())
        {
            if summary.is_severe() {
                tracing::warn!("{summary}");
            } else {
                tracing::info!("{summary}");
            }
        }
        if !self.navigator.is_running() {
            self.schedule = None;
        }
        // The results leave before the acknowledgements.
        self.navigator.hand_over();
        // The halted tree has stopped. A newer goal may be active already; the halt does not wait for it.
        if !self.navigator.is_stopping() {
            self.cut = None;
            for (_, reply) in self.swaps.drain(..) {
                let _ = reply.send(Ok(()));
            }
            for reply in self.halts.drain(..) {
                let _ = reply.send(());
            }
        }
    }
}
