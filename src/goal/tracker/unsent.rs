//! Requests that are withdrawn before the owner carries them out.

use super::{GoalTracker, Request};
use crate::bt::Time;
use crate::goal::{CallEvent, CancelTag, Effect, GoalEvent, GoalId, Phase, Ticket};

/// The owner of a GoalTracker may pass several commands and events before it carries out their effects. A request that
/// is halted in between must not be sent and then stopped: the robot would start to move, or a service would have an
/// unwanted effect. Such a request was not sent, so it is not counted, cancelled, or waited for.
impl<P> GoalTracker<P> {
    /// Ends a goal that its leaf leaves as never sent, or applies the event to a goal that was sent.
    pub(super) fn withdraw_or(
        &mut self,
        goal: GoalId,
        event: GoalEvent,
        now: Time,
        out: &mut Vec<Effect<P>>,
    ) {
        let event = if self.take_back(goal, out) {
            GoalEvent::Withdrawn
        } else {
            event
        };
        self.apply(goal, event, None, now, out);
    }

    /// Like [`GoalTracker::withdraw_or`], for a call.
    pub(super) fn withdraw_call_or(
        &mut self,
        ticket: Ticket,
        event: CallEvent,
        now: Time,
        out: &mut Vec<Effect<P>>,
    ) {
        let event = if self.take_back_call(ticket, out) {
            CallEvent::Withdrawn
        } else {
            event
        };
        self.apply_call(ticket, event, None, now, out);
    }

    /// Ends a goal whose request has not left.
    pub(super) fn withdraw(&mut self, goal: GoalId, now: Time, out: &mut Vec<Effect<P>>) {
        if self.take_back(goal, out) {
            self.apply(goal, GoalEvent::Withdrawn, None, now, out);
        }
    }

    /// Removes the request of a goal that has not left. True if there was one.
    pub(super) fn take_back(&mut self, goal: GoalId, out: &mut Vec<Effect<P>>) -> bool {
        let Some(entry) = self.goals.get_mut(&goal).filter(|entry| {
            matches!(
                entry.goal.phase(),
                Phase::Sent | Phase::CancelPending | Phase::Unreachable
            ) && !entry.goal.is_accepted()
        }) else {
            return false;
        };
        let is_match =
            |effect: &Effect<P>| matches!(effect, Effect::SendGoal { goal: other, .. } if *other == goal);
        let Some(index) = out.iter().rposition(is_match) else {
            return false;
        };
        if let Effect::SendGoal { payload, .. } = out.remove(index) {
            entry.payload = Some(payload);
            self.counters.sent = self.counters.sent.saturating_sub(1);
        }
        // There is nothing to cancel.
        let kept = out.len();
        out.retain(|effect| {
            !matches!(effect, Effect::SendCancel { tag: CancelTag::Goal { goal: other, .. }, .. } if *other == goal)
        });
        self.counters.cancels = self.counters.cancels.saturating_sub((kept - out.len()) as u64);
        true
    }

    /// Like [`GoalTracker::take_back`], for a call or a leaf's cancel request.
    pub(super) fn take_back_call(&mut self, ticket: Ticket, out: &mut Vec<Effect<P>>) -> bool {
        let Some(call) = self.calls.get_mut(&ticket).filter(|call| call.request.is_none()) else {
            return false;
        };
        let is_match = |effect: &Effect<P>| match effect {
            Effect::CallService { ticket: other, .. }
            | Effect::SendCancel {
                tag: CancelTag::Leaf(other),
                ..
            } => *other == ticket,
            _ => false,
        };
        let Some(index) = out.iter().rposition(is_match) else {
            return false;
        };
        match out.remove(index) {
            Effect::CallService { payload, .. } => {
                call.request = Some(Request::Service(payload));
                self.counters.calls = self.counters.calls.saturating_sub(1);
            }
            Effect::SendCancel { .. } => {
                call.request = Some(Request::Cancel);
                self.counters.cancels = self.counters.cancels.saturating_sub(1);
            }
            _ => {}
        }
        true
    }
}
