//! The loop of the tick thread: messages, ticks and the waits between them.

use std::sync::Arc;
use std::time::Duration;

use super::super::goal::{NavigationError, NavigationId};
use super::super::missed_ticks::MissedTicks;
use super::super::slow_clock::SlowClock;
use super::super::standing_clock::StandingClock;
use super::super::{Heartbeat, Navigator, Schedule};
use super::{Message, TickClock, TickStatistics, TickStatus};
use crate::bt::{HaltReason, Time};
use crate::fault;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::mpsc::{Receiver, RecvTimeoutError, Sender};

pub(super) struct Loop {
    navigator: Navigator,
    clock: Arc<dyn TickClock>,
    heartbeat: Heartbeat,
    /// The time limit of a halt that waits.
    cut: Option<Time>,
    /// Set while a tree runs.
    schedule: Option<Schedule>,
    /// The goal whose ticks are paused. The pause ends with it, or when a newer goal takes its place.
    paused: Option<NavigationId>,
    /// A paused tree gets one tick.
    is_step_due: bool,
    /// Shared with [`Handle::event`](super::Handle::event).
    has_event: Arc<AtomicBool>,
    /// An event waits for its tick (`tick_on_event`).
    event_waits: bool,
    /// The start of the last tick, on the clock that a simulation does not stop.
    last_tick: Time,
    /// Replies to send when everything has stopped.
    halts: Vec<Sender<()>>,
    statistics: TickStatistics,
    missed: MissedTicks,
    slow_clock: SlowClock,
    standing_clock: StandingClock,
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
    pub(super) fn new(
        navigator: Navigator,
        clock: Arc<dyn TickClock>,
        heartbeat: Heartbeat,
        has_event: Arc<AtomicBool>,
    ) -> Self {
        Self {
            navigator,
            clock,
            heartbeat,
            cut: None,
            schedule: None,
            paused: None,
            is_step_due: false,
            has_event,
            event_waits: false,
            last_tick: Time::ZERO,
            halts: Vec::new(),
            statistics: TickStatistics::default(),
            missed: MissedTicks::default(),
            slow_clock: SlowClock::default(),
            standing_clock: StandingClock::default(),
            worked: Duration::ZERO,
            uncounted: Time::ZERO,
            waits_for_time: false,
            waits_since: None,
        }
    }

    pub(super) fn run(mut self, receiver: &Receiver<Message>) {
        loop {
            let timeout = self.timeout();
            let received = receiver.recv_timeout(timeout);
            fault::point();
            self.heartbeat.begin();
            self.uncounted = self.clock.steady();
            self.end_if_overtaken();
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
            if !goes_on {
                return;
            }
        }
    }

    /// Time until the next turn. If nothing runs, the thread waits for messages.
    fn timeout(&self) -> Duration {
        const IDLE: Duration = Duration::from_millis(500);
        match &self.schedule {
            Some(schedule) if self.paused.is_none() => {
                let mut next = self.clock.wall_time_until(schedule.due());
                // Without time nothing is ticked: after a restart of the simulation, /clock begins with 0.
                if self.event_waits && self.clock.has_started() {
                    next = next.min(self.event_tick_due().since(self.clock.steady()));
                }
                if self.navigator.has_queued_goals() {
                    next = next.min(self.navigator.poll_period());
                }
                next
            }
            // A goal was started by the last turn.
            None if self.navigator.is_running() && self.paused.is_none() && self.clock.has_started() => {
                Duration::ZERO
            }
            _ if self.navigator.is_idle() => IDLE,
            _ => self.navigator.poll_period(),
        }
    }

    /// The earliest time of a tick that an event brings.
    fn event_tick_due(&self) -> Time {
        self.last_tick + self.navigator.options().min_tick_interval
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
            Message::NotStarted(request) => self.navigator.end_not_started(request),
            // A goal that starts is ticked in the same turn.
            Message::Wake => {
                let has_new_goal = self.navigator.start_next_goal(now);
                self.event_waits |= has_new_goal && self.navigator.options().tick_on_event;
            }
            Message::Event => {
                // First: an event from now on may be too late for the next tick, so it needs a message of its own.
                self.has_event.store(false, Ordering::Release);
                self.event_waits = self.navigator.options().tick_on_event;
            }
            Message::Pause(goal, reply) => {
                // Another goal may have taken its place since the client looked.
                let is_running = self.navigator.running_goal() == Some(goal);
                if is_running {
                    self.paused = Some(goal);
                    // Paused ticks do not count as missed.
                    self.schedule = None;
                }
                let _ = reply.send(is_running);
            }
            Message::Resume(reply) => {
                self.unpause();
                let _ = reply.send(());
            }
            Message::Step(reply) => {
                let is_due = self.paused.is_some()
                    && self.navigator.is_running()
                    && self.clock.has_started()
                    && !self.navigator.is_stop_requested();
                // If the client no longer waits for the answer, it was told that nothing is done.
                self.is_step_due = reply.send(is_due).is_ok() && is_due;
            }
            Message::Halt(reason, limit, newest, reply) => {
                let cut = self.clock.steady() + limit;
                self.cut = Some(self.cut.map_or(cut, |earlier| earlier.min(cut)));
                self.unpause();
                self.navigator.stop_until(newest, reason, now);
                self.halts.push(reply);
            }
            Message::EndGoal(goal, message, newest, reply) => {
                let is_ended = self.navigator.end_goal(goal, message, newest, now);
                // Not earlier, as for a cancel.
                self.heartbeat.cancel_processed(goal);
                let _ = reply.send(is_ended);
            }
            Message::TickStatus(reply) => {
                let _ = reply.send(TickStatus {
                    statistics: self.statistics.clone(),
                    period: self.navigator.options().period,
                    is_paused: self.paused.is_some(),
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

    /// Ends the run if all leaves were halted without this thread.
    fn end_if_overtaken(&mut self) {
        if self.heartbeat.is_overtaken() {
            self.navigator.set_steady(self.clock.steady());
            self.navigator.end_if_overtaken(self.clock.now());
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
                "use_sim_time is set, but /clock gives no time: goals wait for its first message after time 0"
            );
        }
        let since = *self.waits_since.get_or_insert(steady);
        let limit = self.navigator.options().clock_timeout;
        if !limit.is_zero() && steady.since(since) >= limit {
            let reason = format!(
                "use_sim_time is set, but no message with a time after 0 has arrived on /clock for {limit:?}: start the \
                 publisher of /clock or its simulation, or unset use_sim_time"
            );
            tracing::error!("goals are aborted: {reason}");
            self.navigator.abort_all(NavigationError::Unknown, &reason, now);
            // A later goal has the full time again.
            self.waits_since = None;
        }
        false
    }

    fn unpause(&mut self) {
        (self.paused, self.schedule, self.is_step_due) = (None, None, false);
    }

    /// A pause is about one goal. The next one is ticked, also if it takes the place of that goal in the same tree.
    fn end_pause(&mut self) {
        if self.paused.is_some() && self.paused != self.navigator.running_goal() {
            self.unpause();
            tracing::info!(
                "the pause of the ticks has ended: its goal has ended, or a newer goal has replaced it"
            );
        }
    }

    fn step(&mut self) {
        // Before the first tick, which may block.
        self.navigator.tell_rest();
        self.end_pause();
        let began = self.clock.steady();
        self.navigator.set_steady(began);
        // Also after a message that took long: no tick comes before this call.
        self.end_if_overtaken();
        let now = self.clock.now();
        if self.cut.is_some_and(|cut| began >= cut) {
            self.navigator.end_wait();
        }
        if self.has_time(began, now) && self.navigator.is_running() && !self.navigator.is_stop_requested() {
            if let Some(line) = self.standing_clock.note(now, began) {
                tracing::warn!("{line}");
            }
            self.tick_if_due(began, now);
        } else {
            // There is a tree without ticks if the clock has no time, or before its stop.
            self.navigator.poll_without_tick(now);
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
            for reply in self.halts.drain(..) {
                let _ = reply.send(());
            }
        }
    }

    /// Ticks the running tree if its schedule or an event asks for it. `began`: the time of this turn, on the clock
    /// that a simulation does not stop.
    fn tick_if_due(&mut self, began: Time, now: Time) {
        let period = self.navigator.options().period;
        let event_tick_due = self.event_tick_due();
        let is_step = std::mem::take(&mut self.is_step_due);
        if is_step {
            // The time of the pause does not count as missed ticks.
            self.schedule = None;
        }
        let schedule = self.schedule.get_or_insert_with(|| {
            let schedule = Schedule::new(now, period);
            self.clock.now_and_due_steps(schedule.start(), schedule.period());
            schedule
        });
        let due = schedule.due();
        let is_scheduled = now >= due;
        if (self.paused.is_some() && !is_step)
            || !(is_scheduled || (self.event_waits && began >= event_tick_due))
        {
            // A goal waits for a transform on the clock that a simulation does not stop. `/clock` may stand still.
            let is_still = self.paused.is_some() || began.since(self.last_tick) > 2 * period;
            let has_new_goal = self.navigator.poll_without_tick(now);
            if is_still {
                // The next tick did not take the time of a pause, or of a simulation that stood still.
                (self.worked, self.uncounted) = (Duration::ZERO, self.clock.steady());
            }
            self.event_waits |= has_new_goal && self.navigator.options().tick_on_event;
            return;
        }
        self.event_waits = false;
        self.last_tick = began;
        if is_scheduled {
            self.statistics.lateness.record(now.since(due));
        }
        self.navigator.tick(now);
        // The duration is measured on this machine's clock, even in a simulation. It covers all work of the thread in
        // this period, not only the tick.
        let end = self.clock.steady();
        let took = std::mem::take(&mut self.worked) + end.since(self.uncounted);
        self.uncounted = end;
        self.statistics.durations.record(took);
        // A tick that an event brought is additional: the schedule does not change.
        let missed = if is_scheduled { self.count_missed(took) } else { 0 };
        self.navigator.record_tick(took, missed);
    }

    /// Moves the schedule behind the tick that has ended. Counts and returns the number of ticks that it missed.
    fn count_missed(&mut self, took: Duration) -> u64 {
        let Some(schedule) = &mut self.schedule else {
            return 0;
        };
        let period = schedule.period();
        let before = schedule.clone();
        let (now, steps) = self.clock.now_and_due_steps(schedule.start(), period);
        schedule.ticked(now, steps);
        let missed = schedule.missed() - before.missed();
        let skipped = schedule.skipped() - before.skipped();
        self.statistics.missed += missed;
        self.statistics.skipped += skipped;
        self.missed.note(missed, period, took);
        if let Some(line) = self.slow_clock.note(now, steps, skipped, period) {
            tracing::warn!("{line}");
        }
        missed
    }
}
