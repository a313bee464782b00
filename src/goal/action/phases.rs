//! The transitions of each phase.

use std::time::Duration;

use super::ActionGoal;
use crate::bt::Time;
use crate::goal::{CancelCode, GoalEvent, GoalStatus, IncidentKind, OutcomeKind, Phase, Step};

impl ActionGoal {
    pub(super) fn on_queued(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
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

    pub(super) fn on_absent(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
        match event {
            GoalEvent::ServerBack => {
                self.absent_left = self.due.map_or(Duration::ZERO, |due| due.since(now));
                self.enter(Phase::Queued, None);
            }
            GoalEvent::Halt | GoalEvent::Withdrawn | GoalEvent::ShutDown { .. } => self.end(),
            GoalEvent::Deadline if self.is_due(now) => self.finish(OutcomeKind::ServerGone, steps),
            _ => {}
        }
    }

    pub(super) fn on_sent(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
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
            GoalEvent::TakenBack => self.enter(Phase::Queued, None),
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

    pub(super) fn on_executing(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
        match event {
            GoalEvent::Feedback => steps.push(Step::TellFeedback),
            GoalEvent::Status(status) if status.end().is_some() => self.await_result(true, now),
            GoalEvent::StatusMissing => {
                steps.push(Step::RequestResult);
                self.await_result(false, now);
            }
            GoalEvent::Result(end) => self.finish_with(end, steps),
            GoalEvent::ResultUnknown if self.result_in_doubt => self.repeat_result_request(steps),
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
                let patience = self.options.response_timeout + self.options.cancel_timeout;
                self.run_deadline = None;
                self.enter(Phase::Replaced, Some(now + patience));
            }
            GoalEvent::ServerGone => self.lose_server(true, now, steps),
            GoalEvent::Deadline if self.has_run_too_long(now) => self.time_out(now, steps),
            GoalEvent::Deadline if self.is_due(now) => {
                // An earlier request would have been answered by now.
                self.result_in_doubt = false;
                steps.push(Step::RequestResult);
                self.keep_asking_from(self.poll.saturating_mul(2), now);
            }
            _ => {}
        }
    }

    /// Requests the result again after `poll`, then at doubled intervals.
    pub(super) fn keep_asking_from(&mut self, poll: Duration, now: Time) {
        self.poll = poll;
        self.enter(Phase::Executing, Some(now + poll));
    }

    /// The request that was denied came before the server had noted the goal.
    fn repeat_result_request(&mut self, steps: &mut Vec<Step>) {
        self.result_in_doubt = false;
        steps.push(Step::RequestResult);
    }

    pub(super) fn on_finishing(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
        match event {
            GoalEvent::Status(status) if status.end().is_some() => {
                self.terminal = true;
                self.run_deadline = None;
            }
            GoalEvent::ResultUnknown if self.result_in_doubt => self.repeat_result_request(steps),
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

    pub(super) fn on_replaced(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
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

    pub(super) fn on_cancel_pending(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
        match event {
            GoalEvent::Accepted => self.cancel_late(now, steps),
            GoalEvent::Status(status) if status.is_active() => self.cancel_late(now, steps),
            GoalEvent::Status(status) if status.end().is_some() => self.be_over_after_cancel(now),
            GoalEvent::Result(_) => self.be_over_after_cancel(now),
            GoalEvent::Rejected | GoalEvent::SendFailed | GoalEvent::Withdrawn => self.end(),
            GoalEvent::CancelAnswered { attempt, code } => match code {
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
                // The request may still be on its way. But if the server was gone, the server that answers now never got it.
                CancelCode::UnknownGoal if self.server_was_gone && attempt == self.cancels => {
                    self.denied_cancel = Some(attempt);
                }
                CancelCode::UnknownGoal | CancelCode::UnknownToOne => {}
            },
            GoalEvent::ServerGone => self.lose_server(false, now, steps),
            GoalEvent::ShutDown { deadline } => {
                self.give_up_by(deadline);
                self.cancel(now, steps);
            }
            GoalEvent::Deadline => {
                if self.is_to_be_given_up(now) {
                    if self.has_lost_request() {
                        self.end();
                    } else {
                        self.give_up(IncidentKind::GaveUpUnanswered, steps);
                    }
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

    pub(super) fn on_canceling(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
        if self.terminal {
            return self.on_canceled(event, now);
        }
        match event {
            GoalEvent::Status(GoalStatus::Canceling) => self.acknowledged = true,
            GoalEvent::Status(status) if status.end().is_some() => self.be_over_after_cancel(now),
            GoalEvent::Result(_) => self.be_over_after_cancel(now),
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
                    self.was_denied = true;
                    self.be_out_of_reach(now);
                    self.poll = self.options.cancel_retry;
                    self.due = Some(now + self.poll);
                }
                CancelCode::UnknownGoal | CancelCode::UnknownToOne => {}
            },
            GoalEvent::ServerGone => self.lose_server(false, now, steps),
            GoalEvent::ShutDown { deadline } => self.give_up_by(deadline),
            GoalEvent::Deadline => {
                if self.is_to_be_given_up(now) {
                    let what = if self.was_denied {
                        IncidentKind::GaveUpDenied
                    } else {
                        IncidentKind::GaveUpStopping
                    };
                    self.give_up(what, steps);
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

    /// The goal is over, and the answer to its cancel will show who cancelled it.
    fn on_canceled(&mut self, event: GoalEvent, now: Time) {
        match event {
            GoalEvent::CancelAnswered { .. } | GoalEvent::ServerGone | GoalEvent::ShutDown { .. } => {
                self.end();
            }
            GoalEvent::Deadline if self.is_due(now) => self.end(),
            _ => {}
        }
    }

    pub(super) fn on_unreachable(&mut self, event: GoalEvent, now: Time, steps: &mut Vec<Step>) {
        // Cancels are due if one of several servers does not know the goal. Their interval grows and does not depend on
        // servers that come and go: a dead one stays on the graph, and a newly started one may take a tenth of a second
        // per answer.
        let is_denied = self.is_denied();
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
                self.give_up(IncidentKind::GaveUpDenied, steps);
            }
            GoalEvent::ShutDown { deadline } => self.give_up_by(deadline),
            GoalEvent::Deadline if self.is_to_be_given_up(now) => {
                let what = if is_denied {
                    IncidentKind::GaveUpDenied
                } else {
                    IncidentKind::GaveUpUnreachable
                };
                self.give_up(what, steps);
            }
            GoalEvent::Deadline if self.is_due(now) => {
                self.cancel(now, steps);
                self.poll = self.poll.saturating_mul(2);
                self.due = Some(now + self.poll.min(self.options.cancel_retry.saturating_mul(8)));
            }
            _ => {}
        }
    }
}
