//! The state machine of one goal on one action server.

mod phases;
mod steps;

use std::time::Duration;

use super::{CancelCode, GoalEvent, GoalOptions, Phase, Step};
use crate::bt::Time;

/// The cancels of an adopted goal are numbered from the next multiple of this, above those from before its adoption.
const ADOPTED_CANCELS: u32 = 1 << 16;

/// The knowledge about an adopted goal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Found {
    /// Its server, which was gone, may have accepted it, or may accept it later.
    Perhaps,
    /// Its server has just accepted it.
    Accepted,
    /// Its server has noted it.
    Noted,
}

/// One goal as a state machine: no identity, no payload, no clock. Total: see [`ActionGoal::on`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ActionGoal {
    options: GoalOptions,
    phase: Phase,
    /// The timer of the phase: the end of a wait, or the next result or cancel request.
    due: Option<Time>,
    /// The end of the leaf's wait for the result. `None` after the server reported the end of the goal.
    run_deadline: Option<Time>,
    /// The time until which a stopping goal holds back the next one (G5). `None` after that was reported.
    stop_deadline: Option<Time>,
    /// The end of tracking.
    give_up: Option<Time>,
    /// The latest end of tracking, set at the end of the process.
    shut_down: Option<Time>,
    /// Whether the server is known to have accepted the goal.
    accepted: bool,
    /// Whether the server has noted the goal: it has proved this by more than its answer to the goal request, or has
    /// had enough time. Before that, its denial of the goal may be wrong: servers of rclcpp answer first and note the
    /// goal afterwards, and with several threads they answer other requests in between.
    noted: bool,
    /// Whether the server is known to be cancelling the goal: the next step is a result request, not a cancel.
    acknowledged: bool,
    /// Whether the server reported the end of the goal, not merely that it does not know the goal.
    terminal: bool,
    /// Whether the server shows that it cancels or cancelled the goal.
    canceled: bool,
    /// The answer to the only cancel of this node.
    only_cancel: Option<CancelCode>,
    /// Whether another client or a Cancel node of the tree cancelled the goal.
    canceled_by_another: bool,
    /// The remaining wait for an absent server, over all absences. A server that comes and goes must not delay a leaf
    /// forever.
    absent_left: Duration,
    /// The remaining time to hold back the next goal (G5), counted while the server is present. `None` after that was
    /// reported.
    stop_left: Option<Duration>,
    refusal_reported: bool,
    /// Whether the server was gone once since the goal request, or another one had its name.
    server_was_gone: bool,
    /// The server was gone after the goal request, and the only server now does not know the goal, by its answer to the
    /// cancel with this number.
    denied_cancel: Option<u32>,
    /// Whether one of several servers denied the goal once: a list without it may be of that server.
    was_denied: bool,
    /// The interval between two result requests during execution, or between two cancels while one of several servers
    /// does not know the goal.
    poll: Duration,
    questions: u32,
    cancels: u32,
    /// The number of the last cancel that may have reached the server before the goal did. If the server answers
    /// "unknown goal" to this cancel or an earlier one, the goal may still arrive and run.
    cancels_in_doubt: u32,
    /// Whether a result request may have reached the server before it noted the goal. The server denies the goal in
    /// answer to this request although it may execute it.
    result_in_doubt: bool,
}

impl ActionGoal {
    /// Creates the goal of a waiting leaf. [`GoalEvent::Release`] sends it.
    pub fn new(options: GoalOptions) -> Self {
        Self {
            options,
            phase: Phase::Queued,
            due: None,
            run_deadline: None,
            stop_deadline: None,
            give_up: None,
            shut_down: None,
            accepted: false,
            noted: false,
            acknowledged: false,
            terminal: false,
            canceled: false,
            only_cancel: None,
            canceled_by_another: false,
            absent_left: options.absent_timeout,
            stop_left: Some(options.cancel_timeout),
            refusal_reported: false,
            server_was_gone: false,
            denied_cancel: None,
            was_denied: false,
            poll: Duration::ZERO,
            questions: 0,
            cancels: 0,
            cancels_in_doubt: 0,
            result_in_doubt: false,
        }
    }

    /// Creates a goal that is or may be on the server and must stop: left by an earlier run, or given up. It is
    /// cancelled at once. `cancels` is the number of earlier cancels, to which answers may still arrive.
    pub fn adopted(
        options: GoalOptions,
        found: Found,
        cancels: u32,
        now: Time,
        steps: &mut Vec<Step>,
    ) -> Self {
        let mut goal = Self::new(options);
        goal.accepted = found != Found::Perhaps;
        goal.noted = found == Found::Noted;
        goal.server_was_gone = found == Found::Perhaps;
        goal.cancels = (cancels | (ADOPTED_CANCELS - 1)).saturating_add(1);
        goal.cancels_in_doubt = goal.cancels;
        if !goal.accepted || goal.cancels > ADOPTED_CANCELS {
            // It has held back the next goal for long enough. It may never have arrived, or its server ignores cancels
            // and shows it again each time after it was given up.
            goal.stop_left = None;
        }
        if goal.accepted {
            goal.cancel_and_watch(now, steps);
        } else {
            goal.doom(now);
            goal.cancel(now, steps);
        }
        goal
    }

    /// The number of the last cancel.
    pub fn cancels(&self) -> u32 {
        self.cancels
    }

    /// Whether the goal was adopted and not sent by this state machine.
    pub fn is_found(&self) -> bool {
        self.cancels >= ADOPTED_CANCELS
    }

    /// The current phase.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether the server is known to have accepted the goal.
    pub fn is_accepted(&self) -> bool {
        self.accepted
    }

    /// Whether the server is known to have noted the goal: it has proved this by more than its answer to the goal request.
    pub fn is_noted(&self) -> bool {
        self.noted
    }

    /// Whether the goal request was lost with its server, by the answer to the last cancel.
    pub fn has_lost_request(&self) -> bool {
        self.denied_cancel == Some(self.cancels)
    }

    /// Whether the goal request is presumed lost: the new server denied the goal, and may not have answered the last cancel.
    /// This proves nothing at the give-up, but no result waits for such a goal.
    pub fn is_presumed_lost(&self) -> bool {
        self.denied_cancel.is_some() && !self.accepted
    }

    /// Whether one of several servers does not know the goal, by its last answer.
    pub fn is_denied(&self) -> bool {
        // Cancels are due only then.
        self.phase == Phase::Unreachable && self.due.is_some()
    }

    /// Whether the server reported the end of the goal. A goal that ended in another way is tracked again if it is seen
    /// again.
    pub fn is_over(&self) -> bool {
        self.terminal
    }

    /// Whether a leaf waits for the goal and another client has cancelled it. Then no update may restart the robot.
    pub fn is_canceled_by_another(&self) -> bool {
        self.canceled_by_another && self.is_waited_for()
    }

    fn is_waited_for(&self) -> bool {
        matches!(self.phase, Phase::Sent | Phase::Executing | Phase::Finishing)
    }

    /// Whether the goal holds back the next one on its server (G5): it is stopping and was not reported as slow.
    pub fn holds_back(&self) -> bool {
        matches!(self.phase, Phase::CancelPending | Phase::Canceling) && self.stop_deadline.is_some()
    }

    /// The time of the next [`GoalEvent::Deadline`].
    pub fn next_deadline(&self) -> Option<Time> {
        [self.due, self.run_deadline, self.stop_deadline, self.give_up]
            .into_iter()
            .flatten()
            .min()
    }

    /// The transition function. Total: an event that has no meaning in a phase changes nothing. The empty cells of the
    /// table in `docs/goal-lifecycle.md` are intended.
    pub fn on(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
        if event.shows_the_goal() || matches!(event, GoalEvent::Status(status) if status.end().is_some()) {
            self.be_noted();
        }
        self.note_cancel(event, steps);
        match self.phase {
            Phase::Queued => self.on_queued(event, now, steps),
            Phase::Absent => self.on_absent(event, now, steps),
            Phase::Sent => self.on_sent(event, now, steps),
            Phase::Executing => self.on_executing(event, now, steps),
            Phase::Finishing => self.on_finishing(event, now, steps),
            Phase::Replaced => self.on_replaced(event, now, steps),
            Phase::CancelPending => self.on_cancel_pending(event, now, steps),
            Phase::Canceling => self.on_canceling(event, now, steps),
            Phase::Unreachable => self.on_unreachable(event, now, steps),
            Phase::Ended => {}
        }
    }
}

#[cfg(test)]
impl ActionGoal {
    /// Shifts all times back by `by`.
    pub(super) fn shift_back(&mut self, by: Duration) {
        for time in [
            &mut self.due,
            &mut self.run_deadline,
            &mut self.stop_deadline,
            &mut self.give_up,
            &mut self.shut_down,
        ] {
            *time = time.map(|time| Time::from_nanos(time.as_nanos() - by.as_nanos() as u64));
        }
    }

    /// A copy with only this timer, and the time of the timer.
    pub(super) fn with_only(&self, timer: Timer) -> Option<(Self, Time)> {
        let mut goal = self.clone();
        let [due, run, stop, give_up] = [
            goal.due.take(),
            goal.run_deadline.take(),
            goal.stop_deadline.take(),
            goal.give_up.take(),
        ];
        let (kept, time) = match timer {
            Timer::Phase => (&mut goal.due, due?),
            Timer::Run => (&mut goal.run_deadline, run?),
            Timer::Stop => (&mut goal.stop_deadline, stop?),
            Timer::GiveUp => (&mut goal.give_up, give_up?),
        };
        *kept = Some(time);
        if matches!(timer, Timer::GiveUp) {
            // It tells a goal that was denied.
            goal.due = due;
        }
        Some((goal, time))
    }
}

/// The timers of a goal.
#[cfg(test)]
#[derive(Clone, Copy, Debug)]
pub(super) enum Timer {
    Phase,
    Run,
    Stop,
    GiveUp,
}
