//! An accepted goal, and its result.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use r2r::WrappedActionTypeSupport;

use super::{GetResult, Shared, lock};
use crate::goal::{GoalId, GoalStatus, TableError, TerminalStatus};
use crate::ros::action_client::uuid;
use crate::ros::convert::{Convert, ServedAction};
use crate::ros::{Reply, RosError, answers};

/// The result of an ended goal, and the requests for it. If it is dropped, the clients wait until their timeout.
pub struct Results<A: ServedAction> {
    pub(super) waiters: Vec<Reply<GetResult<A>>>,
    pub(super) end: TerminalStatus,
    pub(super) result: <A::Wire as WrappedActionTypeSupport>::Result,
}

impl<A: ServedAction> std::fmt::Debug for Results<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Results").finish_non_exhaustive()
    }
}

impl<A: ServedAction> Results<A> {
    /// Sends the result to all clients that requested it.
    pub fn send(self) {
        let status = self.end.status() as i8;
        for waiter in self.waiters {
            // Called on `goal-tracker` for a navigation: a response that the middleware blocks must not delay a cancel.
            answers::answer_later(
                waiter,
                A::Wire::make_result_response_msg(status, self.result.clone()),
            );
        }
    }
}

/// An accepted goal. Cheap to clone, usable from any thread. If the last clone is dropped before the goal has ended,
/// the goal is aborted, so no client waits for a goal without an owner; see also [`ServerGoal::leave_open`].
pub struct ServerGoal<A: ServedAction> {
    pub(super) inner: Arc<GoalInner<A>>,
}

impl<A: ServedAction> Clone for ServerGoal<A> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<A: ServedAction> std::fmt::Debug for ServerGoal<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ServerGoal({})", self.inner.id)
    }
}

pub(super) struct GoalInner<A: ServedAction> {
    pub(super) id: GoalId,
    pub(super) goal: Arc<A::Goal>,
    pub(super) server: Arc<Shared<A>>,
    /// See [`ServerGoal::leave_open`].
    pub(super) is_left_open: AtomicBool,
}

impl<A: ServedAction> ServerGoal<A> {
    /// Sets whether the goal stays active if its last clone is dropped, until
    /// [`ActionServer::abort_active`](super::ActionServer::abort_active).
    pub fn leave_open(&self, is_left_open: bool) {
        self.inner.is_left_open.store(is_left_open, Ordering::Relaxed);
    }

    /// The id that the client chose.
    pub fn id(&self) -> GoalId {
        self.inner.id
    }

    /// The requested goal.
    pub fn goal(&self) -> &Arc<A::Goal> {
        &self.inner.goal
    }

    /// The current status.
    pub fn status(&self) -> GoalStatus {
        self.inner.server.table().status(self.inner.id)
    }

    /// Whether a cancel was accepted and the goal has not ended.
    pub fn is_canceling(&self) -> bool {
        self.status() == GoalStatus::Canceling
    }

    /// Starts the execution: the status becomes EXECUTING.
    ///
    /// # Errors
    /// [`TableError::Over`], [`TableError::Unknown`].
    pub fn execute(&self) -> Result<(), TableError> {
        self.inner.server.table().execute(self.inner.id)?;
        self.inner.server.publish_status();
        Ok(())
    }

    /// Publishes feedback. Does nothing if the goal has ended: another thread may have ended it meanwhile.
    ///
    /// # Errors
    /// [`RosError::Send`].
    pub fn feedback(&self, feedback: &A::Feedback) -> Result<(), RosError> {
        let message = A::Wire::make_feedback_msg(uuid(self.inner.id), feedback.to_wire());
        let publisher = lock(&self.inner.server.feedback);
        if !self.status().is_active() {
            return Ok(());
        }
        publisher.publish(&message)
    }

    /// Ends the goal, and sends the result to all clients that requested it.
    ///
    /// # Errors
    /// [`TableError::Over`], [`TableError::Unknown`]; [`TableError::NotCanceling`] if `end` is canceled and no client
    /// requested a cancel.
    pub fn finish(&self, end: TerminalStatus, result: A::Result) -> Result<(), TableError> {
        self.inner.server.finish(self.inner.id, end, result)
    }

    /// Like [`ServerGoal::finish`], but the result is sent only by [`Results::send`]. For simulated faults.
    ///
    /// # Errors
    /// As [`ServerGoal::finish`].
    pub fn finish_without_result(
        &self,
        end: TerminalStatus,
        result: A::Result,
    ) -> Result<Results<A>, TableError> {
        let results = self.inner.server.end(self.inner.id, end, result)?;
        self.inner.server.publish_status();
        Ok(results)
    }

    /// Publishes the status of goals that no client sent, together with the real ones, and feedback on one of them. For
    /// simulated faults.
    pub fn publish_foreign_goals(&self, feedback: &A::Feedback) {
        let server = &self.inner.server;
        let foreign = GoalId(self.inner.id.0.map(|byte| !byte));
        server.publish_status_with(&[
            (foreign, GoalStatus::Executing),
            (GoalId([7; 16]), GoalStatus::Succeeded),
        ]);
        let message = A::Wire::make_feedback_msg(uuid(foreign), feedback.to_wire());
        let _ = lock(&server.feedback).publish(&message);
    }
}

impl<A: ServedAction> Drop for GoalInner<A> {
    fn drop(&mut self) {
        if !*self.is_left_open.get_mut() && self.server.table().status(self.id).is_active() {
            let _ = self.server.abort(self.id, "the server ended without a result");
        }
    }
}
