//! The state machine of one service call, or of one cancel request of a leaf.

use super::{GoalOptions, IncidentKind};
use crate::bt::Time;

/// The phase of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CallPhase {
    /// Not sent: the server is absent.
    Absent,
    /// Sent, not answered yet.
    Sent,
    /// Sent, not answered yet, and the leaf no longer waits. Kept to recognize a late answer.
    Left,
    /// Ended. No event changes anything.
    Ended,
}

impl CallPhase {
    /// All phases, in the order of the life of a call.
    pub const ALL: [Self; 4] = [Self::Absent, Self::Sent, Self::Left, Self::Ended];

    /// Whether a leaf waits for the outcome.
    pub fn has_leaf(self) -> bool {
        matches!(self, Self::Absent | Self::Sent)
    }
}

/// An event of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CallEvent {
    /// The server answered.
    Response,
    /// The request could not be sent.
    Failed,
    /// The leaf was halted. A sent request cannot be withdrawn and may still have its effect.
    Halt,
    /// The leaf was halted, and its world still waits for the outcome.
    Detached,
    /// The leaf was halted before the request left. The request is not sent.
    Withdrawn,
    /// The server vanished.
    ServerGone,
    /// The server is present.
    ServerBack,
    /// The process ends: like a halt, with a time of giving up.
    ShutDown {
        /// The time of giving up.
        deadline: Time,
    },
    /// Time has passed and a timer may be due.
    Deadline,
}

/// An action that a call requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CallStep {
    /// Send the request.
    Send,
    /// Notify the leaf of the outcome.
    Finish(CallVerdict),
    /// Count the answer as late.
    CountLate,
    /// Count the request as never answered: the transport may drop its data.
    CountAbandoned,
    /// Report an incident to the user.
    Report(IncidentKind),
}

/// The outcome of a call for the leaf.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CallVerdict {
    /// The server answered.
    Response,
    /// The request could not be sent.
    SendFailed,
    /// The server did not answer in time.
    ResponseTimeout,
    /// The server is absent.
    ServerGone,
}

/// One call as a state machine: no identity, no payload, no clock. Total: see [`ServiceCall::on`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ServiceCall {
    options: GoalOptions,
    phase: CallPhase,
    due: Option<Time>,
}

impl ServiceCall {
    /// Creates the call of a leaf. It is sent at once if the server is present.
    pub fn new(options: GoalOptions, present: bool, now: Time, steps: &mut Vec<CallStep>) -> Self {
        let mut call = Self {
            options,
            phase: CallPhase::Absent,
            due: Some(now + options.absent_timeout),
        };
        if present {
            call.on(CallEvent::ServerBack, now, steps);
        }
        call
    }

    /// The current phase.
    pub fn phase(&self) -> CallPhase {
        self.phase
    }

    /// The time of the next [`CallEvent::Deadline`].
    pub fn next_deadline(&self) -> Option<Time> {
        self.due
    }

    /// The transition function. Total: an event that has no meaning in a phase changes nothing.
    pub fn on(&mut self, event: CallEvent, now: Time, steps: &mut Vec<CallStep>) {
        let due = self.due.is_some_and(|due| due <= now);
        match (self.phase, event) {
            (CallPhase::Absent, CallEvent::ServerBack) => {
                steps.push(CallStep::Send);
                self.phase = CallPhase::Sent;
                self.due = Some(now + self.options.response_timeout);
            }
            (CallPhase::Absent, CallEvent::Halt | CallEvent::ShutDown { .. }) => self.end(),
            (CallPhase::Absent, CallEvent::Detached) => {
                steps.push(CallStep::Finish(CallVerdict::SendFailed));
                self.end();
            }
            (CallPhase::Absent, CallEvent::Deadline) if due => {
                steps.push(CallStep::Finish(CallVerdict::ServerGone));
                self.end();
            }
            (CallPhase::Sent, CallEvent::Response) => {
                steps.push(CallStep::Finish(CallVerdict::Response));
                self.end();
            }
            (CallPhase::Sent, CallEvent::Failed) => {
                steps.push(CallStep::Finish(CallVerdict::SendFailed));
                self.end();
            }
            (CallPhase::Sent, CallEvent::ServerGone) => {
                steps.push(CallStep::Report(IncidentKind::ServerGone));
                steps.push(CallStep::Finish(CallVerdict::ServerGone));
                steps.push(CallStep::CountAbandoned);
                self.end();
            }
            (CallPhase::Sent, CallEvent::Deadline) if due => {
                steps.push(CallStep::Report(IncidentKind::CallTimedOut));
                steps.push(CallStep::Finish(CallVerdict::ResponseTimeout));
                self.leave(now + self.options.give_up_timeout);
            }
            (CallPhase::Sent, CallEvent::Halt) => self.leave(now + self.options.give_up_timeout),
            (CallPhase::Sent, CallEvent::ShutDown { deadline }) => self.leave(deadline),
            (CallPhase::Left, CallEvent::Response) => {
                steps.push(CallStep::CountLate);
                self.end();
            }
            (CallPhase::Left, CallEvent::Failed) => self.end(),
            (CallPhase::Absent | CallPhase::Sent | CallPhase::Left, CallEvent::Withdrawn) => self.end(),
            // The process does not wait for answers without a waiting leaf. A request of the last moment must still
            // reach its server.
            (CallPhase::Left, CallEvent::ServerGone | CallEvent::ShutDown { .. }) => {
                steps.push(CallStep::CountAbandoned);
                self.end();
            }
            (CallPhase::Left, CallEvent::Deadline) if due => {
                steps.push(CallStep::CountAbandoned);
                self.end();
            }
            (
                CallPhase::Absent,
                CallEvent::Response | CallEvent::Failed | CallEvent::ServerGone | CallEvent::Deadline,
            )
            | (CallPhase::Sent, CallEvent::Detached | CallEvent::ServerBack | CallEvent::Deadline)
            | (
                CallPhase::Left,
                CallEvent::Halt | CallEvent::Detached | CallEvent::ServerBack | CallEvent::Deadline,
            )
            | (CallPhase::Ended, _) => {}
        }
    }

    fn leave(&mut self, until: Time) {
        self.phase = CallPhase::Left;
        self.due = Some(until);
    }

    fn end(&mut self) {
        self.phase = CallPhase::Ended;
        self.due = None;
    }
}

#[cfg(test)]
impl ServiceCall {
    /// Shifts all times back by `by`.
    pub(super) fn shift_back(&mut self, by: std::time::Duration) {
        self.due = self
            .due
            .map(|due| Time::from_nanos(due.as_nanos() - by.as_nanos() as u64));
    }
}
