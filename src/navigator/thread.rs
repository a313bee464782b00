//! The tick thread: owns the navigator and with it every tree. Whoever wants something of them asks through its
//! [`Handle`], and is answered when it is done.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::admission_epoch::{AdmissionEpoch, SHUT};
use super::durations::Durations;
use super::goal::{NavigationError, Request};
use super::missed_ticks::MissedTicks;
use super::slow_clock::SlowClock;
use super::{Heartbeat, Navigator, NavigatorKind, Schedule, Snapshot};
use crate::bt::{HaltReason, Time, TreeDef};
use crate::fault;
use crate::goal::GoalId;
use crate::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use crate::sync::thread::{self, JoinHandle};

/// The clock that drives ticks: monotonic, or simulation time.
pub trait TickClock: Send + Sync {
    /// Now.
    fn now(&self) -> Time;

    /// Now, and by how many steps of this clock ticks have become due since that was last asked of the ticks at `start` +
    /// n·`period`. `None` where it has no steps: it has been every time between.
    fn now_and_due_steps(&self, _start: Time, _period: Duration) -> (Time, Option<u64>) {
        (self.now(), None)
    }

    /// The time that people, servers and the network live by: no simulation's. Deadlines for them go by it.
    fn steady(&self) -> Time {
        self.now()
    }

    /// Whether there is a time to tick by: a simulation's is unknown until it is heard of.
    fn has_started(&self) -> bool {
        true
    }

    /// How long to sleep on the wall clock until `due`, at most. A simulation clock does not know: it answers with its
    /// poll interval, and wakes the thread by [`Handle::wake`] when it advances.
    fn wall_time_until(&self, due: Time) -> Duration;
}

/// Tick statistics, for diagnostics.
#[derive(Clone, Debug, Default)]
pub struct TickStatistics {
    /// How long the ticks so far took, and how many there were.
    pub durations: Durations,
    /// Ticks that were due and did not happen.
    pub missed: u64,
    /// Ticks that the clock did not allow, because it passed them in one step with another.
    pub skipped: u64,
}

/// What the thread is doing and has done.
#[derive(Clone, Debug)]
pub struct TickStatus {
    /// Figures on the ticks so far.
    pub statistics: TickStatistics,
    /// From tick to tick.
    pub period: Duration,
    /// Nothing is ticked, because somebody wants it so.
    pub is_paused: bool,
    /// What is ticked.
    pub navigator: Snapshot,
}

enum Message {
    /// A goal, and the number of the admission_epoch under which it was let in.
    Goal(Request, u64),
    Cancel(GoalId),
    Wake,
    /// Pauses or resumes ticking: the tree keeps its state, its goals go on.
    Pause(bool, Sender<()>),
    /// Ends the running goal and answers when everything has stopped, its deadline has passed, or that time.
    Halt(HaltReason, Option<Duration>, Sender<()>),
    /// Puts a tree in the place of a navigator's.
    Swap(NavigatorKind, Arc<TreeDef>, Sender<Result<(), String>>),
    /// As [`Message::Halt`], and then the thread ends.
    Stop(HaltReason, Sender<()>),
    TickStatus(Sender<TickStatus>),
    Quit,
}

/// An acknowledgement that is yet to come.
#[derive(Debug)]
#[must_use = "what was asked for is done when it is acknowledged"]
pub struct Pending<T>(Receiver<T>);

/// Why there is no acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unacknowledged {
    /// It may come yet: wait again.
    #[error("it is not done yet")]
    NotYet,
    /// The thread has ended, or something newer took the place of what was asked for.
    #[error("it will not be done")]
    Never,
}

impl<T> Pending<T> {
    /// Whether it is done, without waiting.
    ///
    /// # Errors
    /// [`Unacknowledged`].
    pub fn look(&self) -> Result<T, Unacknowledged> {
        self.0.try_recv().map_err(|error| match error {
            TryRecvError::Empty => Unacknowledged::NotYet,
            TryRecvError::Disconnected => Unacknowledged::Never,
        })
    }

    /// Waits until it is done.
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

/// Reaches the tick thread from any other: nobody else touches a tree. What is asked for here is acknowledged when it is
/// done, not when it was understood.
#[derive(Clone)]
pub struct Handle {
    sender: Sender<Message>,
    heartbeat: Heartbeat,
    admission_epoch: AdmissionEpoch,
}

/// Leave to hand in one goal: had when its client is told that it is accepted, so that it is known for what it is where
/// goals are refused by the time its tree has been read.
#[must_use = "a goal that was accepted is to be handed in"]
pub struct AdmissionPermit {
    handle: Handle,
    number: u64,
}

impl AdmissionPermit {
    /// Whether its goal would be taken up, as far as is known here.
    pub fn holds(&self) -> bool {
        self.handle.admission_epoch.admits(self.number)
    }

    /// Hands over the goal. If goals have been refused since, however briefly, its client is told so.
    pub fn hand_in(self, request: Request) {
        self.handle.send_goal(request, self.number);
    }
}

impl Handle {
    /// Hands over a goal that was accepted just now.
    pub fn goal(&self, request: Request) {
        self.send_goal(request, self.admission_epoch.number());
    }

    fn send_goal(&self, request: Request, number: u64) {
        // A thread that is gone drops the request, and dropping its client answers it.
        let _ = self.sender.send(Message::Goal(request, number));
    }

    /// Leave to hand in a goal; `None` where goals are refused.
    pub fn admit(&self) -> Option<AdmissionPermit> {
        let number = self.admission_epoch.number();
        self.admission_epoch.admits(number).then(|| AdmissionPermit {
            handle: self.clone(),
            number,
        })
    }

    /// Refuses goals from now on: also those that were let in and have not reached the thread, which a halt that is
    /// asked for afterwards does not find (guarantee G8). [`Handle::stop`] does so by itself.
    pub fn shut(&self) {
        self.admission_epoch.shut();
    }

    /// Takes goals in again, as it does from the start.
    pub fn open(&self) {
        self.admission_epoch.open();
    }

    /// Cancels a goal: no tick is waited for.
    pub fn cancel(&self, goal: GoalId) {
        self.heartbeat.cancel_asked(goal);
        let _ = self.sender.send(Message::Cancel(goal));
    }

    /// Something has arrived, or the simulation clock has advanced.
    pub fn wake(&self) {
        let _ = self.sender.send(Message::Wake);
    }

    /// Stops ticking. Once acknowledged, no node is ticked until [`Handle::resume`]; goals on servers go on.
    pub fn pause(&self) -> Pending<()> {
        self.ask(|reply| Message::Pause(true, reply))
    }

    /// Goes on ticking.
    pub fn resume(&self) -> Pending<()> {
        self.ask(|reply| Message::Pause(false, reply))
    }

    /// Halts whatever runs. Acknowledged when everything that it had started has stopped, or has been reported for not
    /// stopping (guarantee G8), and its client has its result. Goals that come later are taken up, unless they are
    /// [refused](Handle::shut).
    pub fn halt(&self, reason: HaltReason) -> Pending<()> {
        self.ask(|reply| Message::Halt(reason, None, reply))
    }

    /// As [`Handle::halt`]; what has not stopped after so long, by a clock that no simulation stops, is reported even
    /// where it had more time. What an earlier halt waits for is cut short with it.
    pub fn halt_within(&self, reason: HaltReason, limit: Duration) -> Pending<()> {
        self.ask(|reply| Message::Halt(reason, Some(limit), reply))
    }

    /// Puts a tree in the place of a navigator's. A goal that runs goes on with the new tree, from its root, when what
    /// the old one had started has stopped; then it is acknowledged. Where the new tree cannot be had, that is the
    /// answer, and the old one goes on (guarantee G7).
    pub fn swap(&self, kind: NavigatorKind, def: Arc<TreeDef>) -> Pending<Result<(), String>> {
        self.ask(|reply| Message::Swap(kind, def, reply))
    }

    /// As [`Handle::halt`], and the thread ends: what is asked for afterwards is never done.
    pub fn stop(&self, reason: HaltReason) -> Pending<()> {
        self.admission_epoch.shut();
        self.ask(|reply| Message::Stop(reason, reply))
    }

    /// What the thread is doing and has done.
    pub fn tick_status(&self) -> Pending<TickStatus> {
        self.ask(Message::TickStatus)
    }

    fn ask<T>(&self, message: impl FnOnce(Sender<T>) -> Message) -> Pending<T> {
        let (reply, answer) = mpsc::channel();
        // Where the thread is gone, the message is dropped and its sender with it: whoever waits learns that.
        let _ = self.sender.send(message(reply));
        Pending(answer)
    }
}

/// How long the thread may take to end once it was told to: only a leaf that hangs takes longer.
const FAREWELL: Duration = Duration::from_millis(500);

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

/// The thread itself; dropping it ends it. A thread that a leaf does not let go is left behind.
pub struct TickThread {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    /// Nothing is ever sent here; its sender is gone when the thread has ended.
    ended: Receiver<()>,
}

impl TickThread {
    /// Starts ticking. `make` runs on the new thread, so that the navigator never leaves it. `heartbeat` is
    /// what a watchdog listens to. `tell` is called when the thread has ended, by a panic or otherwise.
    ///
    /// # Errors
    /// Where the thread cannot be made.
    pub fn start(
        make: impl FnOnce(&Handle) -> Navigator + Send + 'static,
        clock: Arc<dyn TickClock>,
        heartbeat: Heartbeat,
        tell: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel();
        let admission_epoch = AdmissionEpoch::new();
        let handle = Handle {
            sender,
            heartbeat: heartbeat.clone(),
            admission_epoch: admission_epoch.clone(),
        };
        let inner = handle.clone();
        let (alive, ended) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("tick".to_owned())
            // Ticking recurses with the tree's depth, which is limited; the default stack suffices for it.
            .spawn(move || {
                // Dropped last, also by a panic: first the sign of life, then whoever is to be told may look for it.
                let _tell = AtEnd::new(tell);
                let _alive = alive;
                let receiver = receiver;
                heartbeat.begin();
                let mut navigator = make(&inner);
                navigator.hand_over();
                heartbeat.end();
                drop(inner);
                Loop {
                    navigator,
                    clock,
                    heartbeat,
                    admission_epoch,
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

    /// A handle.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Whether the thread has ended, which it does by itself only when it panicked or was told to stop.
    pub fn is_finished(&self) -> bool {
        matches!(self.ended.try_recv(), Err(TryRecvError::Disconnected))
    }
}

impl Drop for TickThread {
    fn drop(&mut self) {
        let _ = self.handle.sender.send(Message::Quit);
        if let Err(RecvTimeoutError::Timeout) = self.ended.recv_timeout(FAREWELL) {
            tracing::error!("the tick thread is left behind: it has not come back from a leaf");
            return;
        }
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
    heartbeat: Heartbeat,
    admission_epoch: AdmissionEpoch,
    /// While somebody waits for a halt, and no longer than until then.
    cut: Option<Time>,
    /// While a tree runs.
    schedule: Option<Schedule>,
    paused: bool,
    /// Ends when everything has stopped.
    ending: bool,
    /// Whom to tell when everything has stopped.
    halts: Vec<Sender<()>>,
    /// Whom to tell when a new tree is in its place.
    swaps: Vec<(NavigatorKind, Sender<Result<(), String>>)>,
    statistics: TickStatistics,
    missed: MissedTicks,
    slow_clock: SlowClock,
    /// How long the thread has worked since the last tick, and from when on that is not counted yet.
    worked: Duration,
    uncounted: Time,
    /// People were told that goals wait for the clock to start.
    waits_for_time: bool,
    /// Since when they do, by the clock that no simulation stops.
    waits_since: Option<Time>,
}

impl Drop for Loop {
    /// Says how long the ticks took: what a machine or a tree that is too slow shows first.
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
            self.mend();
            let goes_on = match received {
                Ok(message) => self.handle(message),
                Err(RecvTimeoutError::Timeout) => true,
                Err(RecvTimeoutError::Disconnected) => false,
            };
            // What was said so far must not wait for a tick that hangs.
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
        self.navigator.set_steady(self.clock.steady());
        match message {
            Message::Goal(request, number) if self.admission_epoch.admits(number) => {
                self.navigator.goal(request, now);
            }
            Message::Goal(request, _) => request.refuse(NavigationError::None, SHUT),
            Message::Cancel(goal) => {
                self.heartbeat.cancel_taken(goal);
                self.navigator.cancel(goal, now);
            }
            Message::Wake => {}
            Message::Pause(paused, reply) => {
                self.paused = paused;
                // What is not ticked on purpose is not missed.
                self.schedule = None;
                let _ = reply.send(());
            }
            Message::Halt(reason, limit, reply) => {
                if let Some(limit) = limit {
                    let cut = self.clock.steady() + limit;
                    self.cut = Some(self.cut.map_or(cut, |earlier| earlier.min(cut)));
                }
                self.halt(reason, reply, now);
            }
            Message::Stop(reason, reply) => {
                self.halt(reason, reply, now);
                self.ending = true;
            }
            Message::Swap(kind, def, reply) => match self.navigator.swap(kind, &def, now) {
                Ok(()) => {
                    // Of several the last counts; who asked for an earlier one learns that it never came.
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

    fn halt(&mut self, reason: HaltReason, reply: Sender<()>, now: Time) {
        self.paused = false;
        self.navigator.stop_all(reason, now);
        self.halts.push(reply);
    }

    /// Where a watchdog has cancelled the goals of all leaves, they would be RUNNING for ever: ends their tree.
    fn mend(&mut self) {
        if let Some(goal) = self.heartbeat.take_cancelled_without() {
            self.navigator.set_steady(self.clock.steady());
            self.navigator.leaves_were_halted(goal, self.clock.now());
        }
    }

    /// Whether there is a time to tick by. That goals wait for it is said once, and they do not wait for ever.
    fn has_time(&mut self, steady: Time, now: Time) -> bool {
        let has_started = self.clock.has_started();
        // What only has to stop does so by the clock that no simulation stops.
        if has_started || !self.navigator.has_goals() {
            self.waits_for_time &= !has_started;
            self.waits_since = None;
            return has_started;
        }
        if !std::mem::replace(&mut self.waits_for_time, true) {
            tracing::warn!("use_sim_time is set and nothing has come on /clock: goals wait for it");
        }
        let since = *self.waits_since.get_or_insert(steady);
        let limit = self.navigator.options().clock_timeout;
        if !limit.is_zero() && steady.since(since) >= limit {
            let reason = format!(
                "use_sim_time is set and nothing has come on /clock for {limit:?}: start what publishes it, or unset \
                 use_sim_time"
            );
            tracing::error!("goals are aborted: {reason}");
            self.navigator.abort_all(NavigationError::Unknown, &reason, now);
            // A goal that comes before the next look has its own time.
            self.waits_since = None;
        }
        false
    }

    fn step(&mut self) {
        let began = self.clock.steady();
        self.navigator.set_steady(began);
        // After a message that was worked on for long, too: no tick comes before it.
        self.mend();
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
                // A goal that waits for a transform does so by the clock that nobody stops.
                self.navigator.poll(now);
            } else {
                self.navigator.tick(now);
                // How long it took is a matter of this machine, whatever a simulation's time did meanwhile.
                // And of all that the thread did in this period, not of the tick alone.
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
        // Whoever is told that something is done has had the results of it.
        self.navigator.hand_over();
        // What ran has stopped. A goal that came meanwhile may run already: whoever asked for a halt does not wait for it.
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
