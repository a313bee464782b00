//! One call of a service, or one cancel request of a leaf: a question with one answer.

use super::{GoalOptions, IncidentKind};
use crate::bt::Time;

/// Where a call is in its life.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CallPhase {
    /// Not sent: the server is not there.
    Absent,
    /// Sent, not answered.
    Sent,
    /// Sent, not answered, and the leaf has gone: kept so that a late answer is known for what it is.
    Left,
    /// Over. Nothing changes any more.
    Ended,
}

impl CallPhase {
    /// Every phase, in the order of a life.
    pub const ALL: [Self; 4] = [Self::Absent, Self::Sent, Self::Left, Self::Ended];

    /// Whether a leaf waits for its outcome.
    pub fn has_leaf(self) -> bool {
        matches!(self, Self::Absent | Self::Sent)
    }
}

/// What can happen to a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CallEvent {
    /// The server answered.
    Response,
    /// The request could not be sent, or its answer not read.
    Failed,
    /// The leaf has gone. A request that has left cannot be withdrawn: its effect may happen yet.
    Halt,
    /// The leaf has gone, and the request had not left: it never does.
    Withdrawn,
    /// The server vanished.
    ServerGone,
    /// The server is there.
    ServerBack,
    /// The process ends: as a halt, and given up at that time.
    ShutDown {
        /// When to give up.
        deadline: Time,
    },
    /// Time has passed; something may be due.
    Deadline,
}

/// What a call wants done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CallStep {
    /// Send the request.
    Send,
    /// Tell the leaf how it ended.
    Finish(CallVerdict),
    /// Count the answer as late.
    CountLate,
    /// Count the request as never answered: the transport may drop what it keeps for it.
    CountAbandoned,
    /// Tell people.
    Report(IncidentKind),
}

/// How it ended for the leaf.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CallVerdict {
    /// The server answered.
    Response,
    /// The request could not be sent.
    SendFailed,
    /// No answer in time.
    ResponseTimeout,
    /// The server is not there.
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
    /// A call that a leaf wants, sent at once where the server is there.
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

    /// Where it is in its life.
    pub fn phase(&self) -> CallPhase {
        self.phase
    }

    /// When [`CallEvent::Deadline`] should come next.
    pub fn next_deadline(&self) -> Option<Time> {
        self.due
    }

    /// The transition function. Total: what makes no sense in a phase changes nothing.
    pub fn on(&mut self, event: CallEvent, now: Time, steps: &mut Vec<CallStep>) {
        let due = self.due.is_some_and(|due| due <= now);
        match (self.phase, event) {
            (CallPhase::Absent, CallEvent::ServerBack) => {
                steps.push(CallStep::Send);
                self.phase = CallPhase::Sent;
                self.due = Some(now + self.options.accept_timeout);
            }
            (CallPhase::Absent, CallEvent::Halt | CallEvent::ShutDown { .. }) => self.end(),
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
            // The process waits for no answer that nobody waits for; a request of the last moment has yet to get there.
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
            | (CallPhase::Sent, CallEvent::ServerBack | CallEvent::Deadline)
            | (CallPhase::Left, CallEvent::Halt | CallEvent::ServerBack | CallEvent::Deadline)
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
    /// As if everything had happened that much earlier.
    pub(super) fn shift_back(&mut self, by: std::time::Duration) {
        self.due = self
            .due
            .map(|due| Time::from_nanos(due.as_nanos() - by.as_nanos() as u64));
    }
}
