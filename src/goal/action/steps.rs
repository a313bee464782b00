//! The changes that transitions of several phases share.

use super::ActionGoal;
use crate::bt::Time;
use crate::goal::{
    CancelCode, GoalEvent, GoalStatus, IncidentKind, OutcomeKind, Phase, Step, TerminalStatus,
};

impl ActionGoal {
    pub(super) fn enter(&mut self, phase: Phase, due: Option<Time>) {
        self.phase = phase;
        self.due = due;
    }

    pub(super) fn is_due(&self, now: Time) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    pub(super) fn end(&mut self) {
        self.run_deadline = None;
        self.stop_deadline = None;
        self.give_up = None;
        self.enter(Phase::Ended, None);
    }

    pub(super) fn finish(&mut self, outcome: OutcomeKind, steps: &mut Vec<Step>) {
        steps.push(Step::Finish(outcome));
        self.end();
    }

    /// Notes who cancelled the goal (G3). A server does not say that. It was another client or a Cancel node of the tree if
    /// this node has sent no cancel, or if its only cancel was refused, or found the goal ended or canceling.
    pub(super) fn note_cancel(&mut self, event: GoalEvent, steps: &mut Vec<Step>) {
        if matches!(self.phase, Phase::Queued | Phase::Absent | Phase::Ended) {
            return;
        }
        match event {
            GoalEvent::Status(GoalStatus::Canceling | GoalStatus::Canceled)
            | GoalEvent::Result(TerminalStatus::Canceled) => self.canceled = true,
            // After a second cancel, the order in which they arrived is not known.
            GoalEvent::CancelAnswered {
                attempt: 1,
                code: code @ (CancelCode::None | CancelCode::Rejected | CancelCode::GoalTerminated),
            } if self.cancels == 1 => {
                self.only_cancel.get_or_insert(code);
            }
            _ => {}
        }
        if self.canceled && self.may_hide_cancel() {
            self.canceled_by_another = true;
            // A leaf that waits gets the result.
            if !matches!(event, GoalEvent::Result(_)) || !self.is_waited_for() {
                steps.push(Step::TellCanceling);
            }
        }
    }

    /// Whether this node has not cancelled the goal, by what it knows, and a cancel of another client is not known yet. A
    /// status list may show one, also after the end of the goal.
    pub fn may_hide_cancel(&self) -> bool {
        let is_by_another = match (self.cancels, self.only_cancel) {
            (0, _) | (_, Some(CancelCode::GoalTerminated)) => true,
            (cancels, Some(CancelCode::Rejected)) => cancels == 1,
            _ => false,
        };
        is_by_another && !self.canceled_by_another
    }

    /// The server reported the end of the goal.
    pub(super) fn be_over(&mut self) {
        self.terminal = true;
        self.end();
    }

    /// Like [`Self::be_over`], for a goal that this node cancels. Another client may have cancelled it. Then the goal is
    /// tracked until the answer to the only cancel shows who has, for `cancel_retry` at most: until then, the session is
    /// not over. The goal holds back the next goal on the server no longer than before.
    pub(super) fn be_over_after_cancel(&mut self, now: Time) {
        let held_back_until = self.stop_deadline;
        let is_unknown = self.canceled && self.cancels == 1 && self.only_cancel.is_none();
        let answered_by = now + self.options.cancel_retry;
        let due = held_back_until.map_or(answered_by, |until| until.min(answered_by));
        self.be_over();
        if is_unknown && !self.canceled_by_another && self.shut_down.is_none() && due > now {
            self.stop_deadline = held_back_until.map(|_| due);
            self.enter(Phase::Canceling, Some(due));
        }
    }

    pub(super) fn finish_with(&mut self, end: TerminalStatus, steps: &mut Vec<Step>) {
        self.terminal = true;
        self.finish(OutcomeKind::Ended(end), steps);
    }

    pub(super) fn lose_result(&mut self, now: Time, steps: &mut Vec<Step>) {
        steps.push(Step::Report(IncidentKind::ResultLost));
        self.finish(OutcomeKind::ResultLost, steps);
        if !self.terminal {
            // No server reported the end of the goal, so it is cancelled.
            self.cancel_and_watch(now, steps);
        }
    }

    /// A cancel or a result request that was sent before the server showed the goal, or before it had time to note it,
    /// may have arrived before the goal.
    pub(super) fn be_noted(&mut self) {
        let is_sent = !matches!(self.phase, Phase::Queued | Phase::Absent | Phase::Ended);
        if is_sent && !self.noted {
            self.noted = true;
            self.cancels_in_doubt = self.cancels;
            self.result_in_doubt = self.accepted;
        }
    }

    /// Whether "unknown goal" in answer to that cancel proves that the server does not have the goal.
    pub(super) fn is_denied_by(&self, attempt: u32) -> bool {
        attempt > self.cancels_in_doubt.saturating_add(u32::from(!self.noted))
    }

    pub(super) fn send(&mut self, now: Time, steps: &mut Vec<Step>) {
        steps.push(Step::Send);
        self.enter(Phase::Sent, Some(now + self.options.response_timeout));
    }

    pub(super) fn execute(&mut self, now: Time, steps: &mut Vec<Step>) {
        self.accepted = true;
        steps.push(Step::TellAccepted);
        steps.push(Step::RequestResult);
        self.run_deadline = self.options.result_timeout.map(|limit| now + limit);
        self.keep_asking_from(self.options.result_poll, now);
    }

    pub(super) fn has_run_too_long(&self, now: Time) -> bool {
        self.run_deadline.is_some_and(|deadline| deadline <= now)
    }

    pub(super) fn time_out(&mut self, now: Time, steps: &mut Vec<Step>) {
        steps.push(Step::Report(IncidentKind::ResultTimedOut));
        steps.push(Step::Finish(OutcomeKind::ResultTimeout));
        self.cancel_and_watch(now, steps);
    }

    /// A goal that is only missing from the status list is not known to have ended: a later list may show it executing,
    /// and the leaf's wait keeps its deadline.
    pub(super) fn await_result(&mut self, terminal: bool, now: Time) {
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
    pub(super) fn doom(&mut self, now: Time) {
        self.hold_back(now);
        // Not renewed for a server that comes and goes: such goals would add up.
        self.track_until(now + self.options.give_up_timeout);
        self.phase = Phase::CancelPending;
    }

    pub(super) fn cancel(&mut self, now: Time, steps: &mut Vec<Step>) {
        self.cancels = self.cancels.saturating_add(1);
        if !self.accepted {
            self.cancels_in_doubt = self.cancels;
        }
        steps.push(Step::Cancel {
            attempt: self.cancels,
        });
        self.due = Some(now + self.options.cancel_retry);
    }

    pub(super) fn cancel_and_watch(&mut self, now: Time, steps: &mut Vec<Step>) {
        self.acknowledged = false;
        self.run_deadline = None;
        self.hold_back(now);
        self.give_up = None;
        self.track_until(now + self.options.give_up_timeout);
        self.phase = Phase::Canceling;
        self.cancel(now, steps);
    }

    pub(super) fn cancel_late(&mut self, now: Time, steps: &mut Vec<Step>) {
        self.accepted = true;
        steps.push(Step::Report(IncidentKind::AcceptedLate));
        self.cancel_and_watch(now, steps);
        steps.push(Step::RequestResult);
    }

    /// The next goal on the server waits for this one. A late answer does not extend the wait, an absence of the server
    /// interrupts it, and a goal that was reported as slow holds back nothing.
    pub(super) fn hold_back(&mut self, now: Time) {
        if let (None, Some(left)) = (self.stop_deadline, self.stop_left) {
            self.stop_deadline = Some(now + left);
        }
    }

    /// The server vanished, or a second one with its name appeared. The cancel reaches the server of the goal if it is
    /// alive.
    pub(super) fn lose_server(&mut self, tell_leaf: bool, now: Time, steps: &mut Vec<Step>) {
        self.cancel(now, steps);
        steps.push(Step::Report(IncidentKind::ServerGone));
        if tell_leaf {
            steps.push(Step::Finish(OutcomeKind::ServerGone));
        }
        if self.accepted {
            self.be_noted();
        }
        self.server_was_gone = true;
        self.denied_cancel = None;
        self.run_deadline = None;
        self.track_until(now + self.options.give_up_timeout);
        self.be_out_of_reach(now);
    }

    /// Until the server is back, the next goal on the server does not wait for this one.
    pub(super) fn be_out_of_reach(&mut self, now: Time) {
        if let Some(deadline) = self.stop_deadline.take() {
            self.stop_left = Some(deadline.since(now));
        }
        self.acknowledged = false;
        self.enter(Phase::Unreachable, None);
    }

    pub(super) fn is_to_be_given_up(&self, now: Time) -> bool {
        self.give_up.is_some_and(|deadline| deadline <= now)
    }

    pub(super) fn give_up(&mut self, what: IncidentKind, steps: &mut Vec<Step>) {
        steps.push(Step::Report(what));
        self.end();
    }

    pub(super) fn give_up_by(&mut self, deadline: Time) {
        self.shut_down = Some(deadline);
        self.track_until(deadline);
    }

    /// Sets the end of tracking: never later than one already set, never after the end of the process.
    pub(super) fn track_until(&mut self, time: Time) {
        self.give_up = [Some(time), self.give_up, self.shut_down]
            .into_iter()
            .flatten()
            .min();
    }

    pub(super) fn report_slow_stop(&mut self, now: Time, steps: &mut Vec<Step>) {
        if self.stop_deadline.is_some_and(|deadline| deadline <= now) {
            self.stop_deadline = None;
            self.stop_left = None;
            steps.push(Step::Report(IncidentKind::NotStoppedInTime));
        }
    }

    pub(super) fn refuse(&mut self, steps: &mut Vec<Step>) {
        if !self.refusal_reported {
            self.refusal_reported = true;
            steps.push(Step::Report(IncidentKind::CancelRefused));
        }
    }
}
