//! The state machine of one goal on one action server.

use std::time::Duration;

use super::{
    CancelCode, GoalEvent, GoalOptions, GoalStatus, IncidentKind, OutcomeKind, Phase, Step, TerminalStatus,
};
use crate::bt::Time;

/// The cancels of an adopted goal are numbered from the next multiple of this, above those from before its adoption.
const ADOPTED_CANCELS: u32 = 1 << 16;

/// The knowledge about an adopted goal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Found {
    /// Its server may have accepted it, or may accept it later.
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
    /// Whether the server cancels or cancelled the goal while its leaf waits for it or for the goal that replaces it.
    /// Another client requested this; our own cancels are only sent when no leaf waits.
    canceled_by_another: bool,
    /// The remaining wait for an absent server, over all absences. A server that comes and goes must not delay a leaf
    /// forever.
    absent_left: Duration,
    /// The remaining time to hold back the next goal (G5), counted while the server is present. `None` after that was
    /// reported.
    stop_left: Option<Duration>,
    refusal_reported: bool,
    /// The interval between two result requests during execution, or between two cancels while one of several servers
    /// does not know the goal.
    poll: Duration,
    questions: u32,
    cancels: u32,
    /// Cancels up to this number may have arrived before the server had the goal. "Unknown goal" in answer to them
    /// proves nothing.
    cancels_in_doubt: u32,
}

impl ActionGoal {
    /// Creates the goal of a waiting leaf. [`GoalEvent::Release`] sends it and is due at `wait_until` at the latest.
    pub fn new(options: GoalOptions, wait_until: Time) -> Self {
        Self {
            options,
            phase: Phase::Queued,
            due: Some(wait_until),
            run_deadline: None,
            stop_deadline: None,
            give_up: None,
            shut_down: None,
            accepted: false,
            noted: false,
            acknowledged: false,
            terminal: false,
            canceled_by_another: false,
            absent_left: options.absent_timeout,
            stop_left: Some(options.cancel_timeout),
            refusal_reported: false,
            poll: Duration::ZERO,
            questions: 0,
            cancels: 0,
            cancels_in_doubt: 0,
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
        let mut goal = Self::new(options, now);
        goal.accepted = found != Found::Perhaps;
        goal.noted = found == Found::Noted;
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

    /// The time until which the goal holds back the next one on its server (G5), if it does.
    pub fn holds_back_until(&self) -> Option<Time> {
        match self.phase {
            Phase::CancelPending | Phase::Canceling => self.stop_deadline,
            _ => None,
        }
    }

    /// The time when [`GoalEvent::Release`] is due, while the goal is queued.
    pub fn queued_until(&self) -> Option<Time> {
        (self.phase == Phase::Queued).then_some(self.due).flatten()
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
        if event.shows_the_goal() {
            self.be_noted();
        }
        if let GoalEvent::Status(GoalStatus::Canceling | GoalStatus::Canceled) = event
            && self.is_waited_for()
            && !self.canceled_by_another
        {
            self.canceled_by_another = true;
            steps.push(Step::TellCanceling);
        }
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

    fn on_queued(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
        match event {
            GoalEvent::Release { present: true } => self.send(now, steps),
            GoalEvent::Release { present: false } => {
                self.enter(Phase::Absent, Some(now + self.absent_left));
            }
            GoalEvent::Halt | GoalEvent::Withdrawn | GoalEvent::ShutDown { .. } => self.end(),
            // The goal was not sent, so no arriving event is about it. A release ends the wait.
            _ => {}
        }
    }

    fn on_absent(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
        match event {
            GoalEvent::ServerBack => self.send(now, steps),
            GoalEvent::Requeue { until } => {
                self.absent_left = self.due.map_or(Duration::ZERO, |due| due.since(now));
                self.enter(Phase::Queued, Some(until));
            }
            GoalEvent::Halt | GoalEvent::Withdrawn | GoalEvent::ShutDown { .. } => self.end(),
            GoalEvent::Deadline if self.is_due(now) => self.finish(OutcomeKind::ServerGone, steps),
            _ => {}
        }
    }

    fn on_sent(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
        match event {
            GoalEvent::Accepted => self.execute(now, steps),
            GoalEvent::Rejected => self.finish(OutcomeKind::Rejected, steps),
            GoalEvent::SendFailed => self.finish(OutcomeKind::SendFailed, steps),
            // The status topic and the answer to the goal request have no order, and the answer alone can be lost. A
            // goal in the status list was accepted.
            GoalEvent::Status(status) if status.is_active() => self.execute(now, steps),
            GoalEvent::Status(status) if status.end().is_some() => {
                self.execute(now, steps);
                self.await_result(true, now);
            }
            GoalEvent::Result(end) => self.finish_with(end, steps),
            GoalEvent::Halt | GoalEvent::Replace => self.doom(now),
            GoalEvent::Withdrawn => self.end(),
            GoalEvent::ShutDown { deadline } => {
                self.doom(now);
                self.give_up_by(deadline);
                self.cancel(now, steps);
            }
            GoalEvent::ServerGone => self.lose_server(true, now, steps),
            GoalEvent::Deadline if self.is_due(now) => {
                steps.push(Step::Report(IncidentKind::AcceptTimedOut));
                steps.push(Step::Finish(OutcomeKind::AcceptTimeout));
                self.doom(now);
                self.cancel(now, steps);
            }
            _ => {}
        }
    }

    fn on_executing(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
        match event {
            GoalEvent::Feedback => steps.push(Step::TellFeedback),
            GoalEvent::Status(status) if status.end().is_some() => self.await_result(true, now),
            GoalEvent::StatusMissing => {
                steps.push(Step::RequestResult);
                self.await_result(false, now);
            }
            GoalEvent::Result(end) => self.finish_with(end, steps),
            // Request the result once more before this answer counts: the server may have answered before it noted the
            // goal.
            GoalEvent::ResultUnknown => self.await_result(false, now),
            GoalEvent::Halt => self.cancel_and_watch(now, steps),
            GoalEvent::ShutDown { deadline } => {
                self.cancel_and_watch(now, steps);
                self.give_up_by(deadline);
            }
            GoalEvent::Replace => {
                // The newer goal has its accept timeout to arrive, then the server has the cancel timeout to end this
                // one.
                let patience = self.options.accept_timeout + self.options.cancel_timeout;
                self.run_deadline = None;
                self.enter(Phase::Replaced, Some(now + patience));
            }
            GoalEvent::ServerGone => self.lose_server(true, now, steps),
            GoalEvent::Deadline if self.has_run_too_long(now) => self.time_out(now, steps),
            GoalEvent::Deadline if self.is_due(now) => {
                steps.push(Step::RequestResult);
                self.keep_asking_from(self.poll.saturating_mul(2), now);
            }
            _ => {}
        }
    }

    /// Requests the result again after `poll`, then at doubled intervals.
    fn keep_asking_from(&mut self, poll: Duration, now: Time) {
        self.poll = poll;
        self.enter(Phase::Executing, Some(now + poll));
    }

    fn on_finishing(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
        match event {
            GoalEvent::Status(status) if status.end().is_some() => {
                self.terminal = true;
                self.run_deadline = None;
            }
            // The status list without the goal was an old one.
            GoalEvent::Status(status) if status.is_active() && !self.terminal => {
                self.questions = 0;
                self.keep_asking_from(self.options.result_poll, now);
            }
            GoalEvent::Result(end) => self.finish_with(end, steps),
            GoalEvent::ResultUnknown => self.lose_result(now, steps),
            GoalEvent::Halt | GoalEvent::Replace if self.terminal => self.end(),
            GoalEvent::Halt | GoalEvent::Replace => self.cancel_and_watch(now, steps),
            GoalEvent::ShutDown { .. } if self.terminal => self.end(),
            GoalEvent::ShutDown { deadline } => {
                self.cancel_and_watch(now, steps);
                self.give_up_by(deadline);
            }
            GoalEvent::ServerGone if self.terminal => self.lose_result(now, steps),
            GoalEvent::ServerGone => self.lose_server(true, now, steps),
            GoalEvent::Deadline if self.has_run_too_long(now) => self.time_out(now, steps),
            GoalEvent::Deadline if self.is_due(now) => {
                if self.questions < self.options.result_questions {
                    self.questions += 1;
                    steps.push(Step::RequestResult);
                    self.due = Some(
                        now + self
                            .options
                            .result_retry
                            .saturating_mul(1 << self.questions.min(31)),
                    );
                } else {
                    self.lose_result(now, steps);
                }
            }
            _ => {}
        }
    }

    fn on_replaced(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
        if let GoalEvent::Status(GoalStatus::Canceling | GoalStatus::Canceled)
        | GoalEvent::Result(TerminalStatus::Canceled) = event
            && !self.canceled_by_another
        {
            // This node has not cancelled the goal, and a server aborts a goal that it replaces.
            self.canceled_by_another = true;
            steps.push(Step::StopNewer);
        }
        match event {
            GoalEvent::Status(status) if status.end().is_some() => self.be_over(),
            GoalEvent::Result(_) => self.be_over(),
            // The server may have answered before it noted the goal and may be executing it. The answer to a cancel
            // decides.
            GoalEvent::ResultUnknown if self.noted => self.cancel_and_watch(now, steps),
            GoalEvent::StatusMissing => steps.push(Step::RequestResult),
            GoalEvent::Halt => self.cancel_and_watch(now, steps),
            GoalEvent::ShutDown { deadline } => {
                self.cancel_and_watch(now, steps);
                self.give_up_by(deadline);
            }
            GoalEvent::ServerGone => self.lose_server(false, now, steps),
            GoalEvent::Deadline if self.is_due(now) => {
                steps.push(Step::Report(IncidentKind::NotPreempted));
                self.cancel_and_watch(now, steps);
            }
            _ => {}
        }
    }

    fn on_cancel_pending(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
        match event {
            GoalEvent::Accepted => self.cancel_late(now, steps),
            GoalEvent::Status(status) if status.is_active() => self.cancel_late(now, steps),
            GoalEvent::Status(status) if status.end().is_some() => self.be_over(),
            GoalEvent::Result(_) => self.be_over(),
            GoalEvent::Rejected | GoalEvent::SendFailed | GoalEvent::Withdrawn => self.end(),
            GoalEvent::CancelAnswered { code, .. } => match code {
                // Only a server that has the goal gives these answers.
                CancelCode::None | CancelCode::GoalTerminated => {
                    self.accepted = true;
                    self.acknowledged = true;
                    steps.push(Step::RequestResult);
                    self.enter(Phase::Canceling, Some(now + self.options.cancel_retry));
                }
                CancelCode::Rejected => {
                    self.accepted = true;
                    self.refuse(steps);
                    self.enter(Phase::Canceling, Some(now + self.options.cancel_retry));
                }
                // The goal request may still be under way.
                CancelCode::UnknownGoal | CancelCode::UnknownToOne => {}
            },
            GoalEvent::ServerGone => self.lose_server(false, now, steps),
            GoalEvent::ShutDown { deadline } => {
                self.give_up_by(deadline);
                self.cancel(now, steps);
            }
            GoalEvent::Deadline => {
                if self.give_up.is_some_and(|deadline| deadline <= now) {
                    steps.push(Step::Report(IncidentKind::GaveUpUnanswered));
                    self.end();
                    return;
                }
                self.report_slow_stop(now, steps);
                if self.is_due(now) {
                    self.cancel(now, steps);
                }
            }
            _ => {}
        }
    }

    fn on_canceling(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
        match event {
            GoalEvent::Status(GoalStatus::Canceling) => self.acknowledged = true,
            GoalEvent::Status(status) if status.end().is_some() => self.be_over(),
            GoalEvent::Result(_) => self.be_over(),
            GoalEvent::CancelAnswered { attempt, code } => match code {
                CancelCode::None => self.acknowledged = true,
                // Ended or already cancelling: rcl does not distinguish these. The result decides.
                CancelCode::GoalTerminated => {
                    self.acknowledged = true;
                    steps.push(Step::RequestResult);
                }
                CancelCode::Rejected => self.refuse(steps),
                // The server had the goal when the cancel arrived and has forgotten it: the goal has ended, or the
                // server was restarted. A missing result proves less, because its request is not known.
                CancelCode::UnknownGoal if self.is_denied_by(attempt) => self.end(),
                // The server of the goal is dead and still on the graph, or executes the goal while another one
                // answers. The next goal need not wait for a dead server.
                CancelCode::UnknownToOne if self.is_denied_by(attempt) => {
                    self.be_out_of_reach(now);
                    self.poll = self.options.cancel_retry;
                    self.due = Some(now + self.poll);
                }
                CancelCode::UnknownGoal | CancelCode::UnknownToOne => {}
            },
            GoalEvent::ServerGone => self.lose_server(false, now, steps),
            GoalEvent::ShutDown { deadline } => self.give_up_by(deadline),
            GoalEvent::Deadline => {
                if self.give_up.is_some_and(|deadline| deadline <= now) {
                    steps.push(Step::Report(IncidentKind::GaveUpStopping));
                    self.end();
                    return;
                }
                self.report_slow_stop(now, steps);
                if self.is_due(now) {
                    if self.acknowledged {
                        // An accepted cancel is trusted for one period, because some servers accept it and continue.
                        self.acknowledged = false;
                        steps.push(Step::RequestResult);
                        self.due = Some(now + self.options.cancel_retry);
                    } else {
                        self.cancel(now, steps);
                    }
                }
            }
            _ => {}
        }
    }

    fn on_unreachable(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
        // Cancels are due if one of several servers does not know the goal. Their interval grows and does not depend on
        // servers that come and go: a dead one stays on the graph, and a newly started one may take a tenth of a second
        // per answer.
        let is_denied = self.due.is_some();
        if is_denied && event.shows_the_goal() {
            // Another server has the goal.
            self.hold_back(now);
            self.enter(Phase::Canceling, Some(now + self.options.cancel_retry));
            return self.on_canceling(event, now, steps);
        }
        match event {
            GoalEvent::CancelAnswered {
                attempt,
                code: CancelCode::UnknownGoal,
            } if is_denied && self.is_denied_by(attempt) => self.end(),
            // Feedback and status may be old messages from a queue. An acceptance has an effect in any state of the
            // graph (G3).
            GoalEvent::Accepted => self.cancel_late(now, steps),
            // The message still proves that the server had accepted the goal. It may be the only proof.
            GoalEvent::Status(status) if status.is_active() => self.accepted = true,
            GoalEvent::CancelAnswered { .. } if event.shows_the_goal() => self.accepted = true,
            GoalEvent::ServerBack if !is_denied => {
                if self.accepted {
                    self.cancel_and_watch(now, steps);
                } else {
                    // The request most likely went to a server that no longer exists. The next goal waits for the
                    // answers to two cancels, not for the whole cancel timeout.
                    let patience = self.options.cancel_retry.saturating_mul(2);
                    self.stop_left = self.stop_left.map(|left| left.min(patience));
                    self.doom(now);
                    self.cancel(now, steps);
                }
            }
            GoalEvent::Status(status) if status.end().is_some() => self.be_over(),
            GoalEvent::Rejected | GoalEvent::SendFailed | GoalEvent::Withdrawn if !self.accepted => {
                self.end();
            }
            GoalEvent::Result(_) => self.be_over(),
            // The server is most likely dead, and the end of the process does not wait for a proof.
            GoalEvent::ShutDown { .. } if is_denied => {
                self.cancel(now, steps);
                self.end();
            }
            GoalEvent::ShutDown { deadline } => self.give_up_by(deadline),
            GoalEvent::Deadline if self.give_up.is_some_and(|deadline| deadline <= now) => {
                steps.push(Step::Report(if is_denied {
                    IncidentKind::GaveUpStopping
                } else {
                    IncidentKind::GaveUpUnreachable
                }));
                self.end();
            }
            GoalEvent::Deadline if self.is_due(now) => {
                self.cancel(now, steps);
                self.poll = self.poll.saturating_mul(2);
                self.due = Some(now + self.poll.min(self.options.cancel_retry.saturating_mul(8)));
            }
            _ => {}
        }
    }

    fn enter(&mut self, phase: Phase, due: Option<Time>) {
        self.phase = phase;
        self.due = due;
    }

    fn is_due(&self, now: Time) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    fn end(&mut self) {
        self.run_deadline = None;
        self.stop_deadline = None;
        self.give_up = None;
        self.enter(Phase::Ended, None);
    }

    fn finish(&mut self, outcome: OutcomeKind, steps: &mut Vec<Step>) {
        steps.push(Step::Finish(outcome));
        self.end();
    }

    /// The server reported the end of the goal.
    fn be_over(&mut self) {
        self.terminal = true;
        self.end();
    }

    fn finish_with(&mut self, end: TerminalStatus, steps: &mut Vec<Step>) {
        self.terminal = true;
        self.finish(OutcomeKind::Ended(end), steps);
    }

    fn lose_result(&mut self, now: Time, steps: &mut Vec<Step>) {
        steps.push(Step::Report(IncidentKind::ResultLost));
        self.finish(OutcomeKind::ResultLost, steps);
        if !self.terminal {
            // No server reported the end of the goal, so it is cancelled.
            self.cancel_and_watch(now, steps);
        }
    }

    /// A cancel that was sent before the server showed the goal, or before it had time to note it, may have arrived
    /// before the goal.
    fn be_noted(&mut self) {
        let is_sent = !matches!(self.phase, Phase::Queued | Phase::Absent | Phase::Ended);
        if is_sent && !self.noted {
            self.noted = true;
            self.cancels_in_doubt = self.cancels;
        }
    }

    /// Whether "unknown goal" in answer to that cancel proves that the server does not have the goal.
    fn is_denied_by(&self, attempt: u32) -> bool {
        attempt > self.cancels_in_doubt.saturating_add(u32::from(!self.noted))
    }

    fn send(&mut self, now: Time, steps: &mut Vec<Step>) {
        steps.push(Step::Send);
        self.enter(Phase::Sent, Some(now + self.options.accept_timeout));
    }

    fn execute(&mut self, now: Time, steps: &mut Vec<Step>) {
        self.accepted = true;
        steps.push(Step::TellAccepted);
        steps.push(Step::RequestResult);
        self.run_deadline = self.options.result_timeout.map(|limit| now + limit);
        self.keep_asking_from(self.options.result_poll, now);
    }

    fn has_run_too_long(&self, now: Time) -> bool {
        self.run_deadline.is_some_and(|deadline| deadline <= now)
    }

    fn time_out(&mut self, now: Time, steps: &mut Vec<Step>) {
        steps.push(Step::Report(IncidentKind::ResultTimedOut));
        steps.push(Step::Finish(OutcomeKind::ResultTimeout));
        self.cancel_and_watch(now, steps);
    }

    /// A goal that is only missing from the status list is not known to have ended: a later list may show it executing,
    /// and the leaf's wait keeps its deadline.
    fn await_result(&mut self, terminal: bool, now: Time) {
        self.terminal = terminal;
        self.questions = 0;
        if terminal {
            self.run_deadline = None;
        }
        self.enter(Phase::Finishing, Some(now + self.options.result_retry));
    }

    /// The leaf no longer waits and the server has not answered. The cancel waits for the answer, at most for the
    /// accept timeout: goal and cancel requests have no order, and a cancel that overtakes its goal has no effect. At
    /// the end of the process, cancels are sent at once and repeated.
    fn doom(&mut self, now: Time) {
        self.hold_back(now);
        // Not renewed for a server that comes and goes: such goals would add up.
        self.track_until(now + self.options.give_up_timeout);
        self.phase = Phase::CancelPending;
    }

    fn cancel(&mut self, now: Time, steps: &mut Vec<Step>) {
        self.cancels = self.cancels.saturating_add(1);
        if !self.accepted {
            self.cancels_in_doubt = self.cancels;
        }
        steps.push(Step::Cancel {
            attempt: self.cancels,
        });
        self.due = Some(now + self.options.cancel_retry);
    }

    fn cancel_and_watch(&mut self, now: Time, steps: &mut Vec<Step>) {
        self.acknowledged = false;
        self.run_deadline = None;
        self.hold_back(now);
        self.give_up = None;
        self.track_until(now + self.options.give_up_timeout);
        self.phase = Phase::Canceling;
        self.cancel(now, steps);
    }

    fn cancel_late(&mut self, now: Time, steps: &mut Vec<Step>) {
        self.accepted = true;
        steps.push(Step::Report(IncidentKind::AcceptedLate));
        self.cancel_and_watch(now, steps);
        steps.push(Step::RequestResult);
    }

    /// The next goal on the server waits for this one. A late answer does not extend the wait, an absence of the server
    /// interrupts it, and a goal that was reported as slow holds back nothing.
    fn hold_back(&mut self, now: Time) {
        if let (None, Some(left)) = (self.stop_deadline, self.stop_left) {
            self.stop_deadline = Some(now + left);
        }
    }

    /// The server vanished, or a second one with its name appeared. The cancel reaches the server of the goal if it is
    /// alive.
    fn lose_server(&mut self, tell_leaf: bool, now: Time, steps: &mut Vec<Step>) {
        self.cancel(now, steps);
        steps.push(Step::Report(IncidentKind::ServerGone));
        if tell_leaf {
            steps.push(Step::Finish(OutcomeKind::ServerGone));
        }
        if self.accepted {
            self.be_noted();
        }
        self.run_deadline = None;
        self.track_until(now + self.options.give_up_timeout);
        self.be_out_of_reach(now);
    }

    /// Until the server is back, the next goal on the server does not wait for this one.
    fn be_out_of_reach(&mut self, now: Time) {
        if let Some(deadline) = self.stop_deadline.take() {
            self.stop_left = Some(deadline.since(now));
        }
        self.acknowledged = false;
        self.enter(Phase::Unreachable, None);
    }

    fn give_up_by(&mut self, deadline: Time) {
        self.shut_down = Some(deadline);
        self.track_until(deadline);
    }

    /// Sets the end of tracking: never later than one already set, never after the end of the process.
    fn track_until(&mut self, time: Time) {
        self.give_up = [Some(time), self.give_up, self.shut_down]
            .into_iter()
            .flatten()
            .min();
    }

    fn report_slow_stop(&mut self, now: Time, steps: &mut Vec<Step>) {
        if self.stop_deadline.is_some_and(|deadline| deadline <= now) {
            self.stop_deadline = None;
            self.stop_left = None;
            steps.push(Step::Report(IncidentKind::NotStoppedInTime));
        }
    }

    fn refuse(&mut self, steps: &mut Vec<Step>) {
        if !self.refusal_reported {
            self.refusal_reported = true;
            steps.push(Step::Report(IncidentKind::CancelRefused));
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
