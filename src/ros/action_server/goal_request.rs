//! A goal request of a client, and its answer.

use std::sync::Arc;

use r2r::WrappedActionTypeSupport;

use super::server_goal::ServerGoal;
use super::{SendGoal, Shared};
use crate::goal::{GoalId, Stamp, TableError};
use crate::ros::convert::{Convert, ServedAction};
use crate::ros::{Reply, answers};

/// A request for a goal. Dropping it without an answer rejects the goal.
pub struct GoalRequest<A: ServedAction> {
    pub(super) id: GoalId,
    pub(super) goal: Arc<A::Goal>,
    pub(super) fault: Option<String>,
    pub(super) server: Arc<Shared<A>>,
    pub(super) reply: Option<Reply<SendGoal<A>>>,
}

impl<A: ServedAction> std::fmt::Debug for GoalRequest<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GoalRequest({})", self.id)
    }
}

impl<A: ServedAction> GoalRequest<A> {
    /// The id that the client chose.
    pub fn id(&self) -> GoalId {
        self.id
    }

    /// The requested goal.
    pub fn goal(&self) -> &Arc<A::Goal> {
        &self.goal
    }

    /// The error in the goal's texts, if they differ from those that the client sent.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Accepts the goal, answers the client and starts the execution: the status becomes EXECUTING. `start` gets the goal
    /// before that status is published, so the work does not wait for the message.
    ///
    /// # Errors
    /// [`TableError::Duplicate`], [`TableError::TooMany`]: the goal was rejected. [`TableError::Over`]: another thread has
    /// ended it.
    pub fn execute(self, start: impl FnOnce(ServerGoal<A>)) -> Result<(), TableError> {
        let (goal, answer) = self.take()?;
        let server = Arc::clone(&goal.inner.server);
        let executed = server.table().execute(goal.id());
        answer.send();
        if executed.is_ok() {
            start(goal);
        }
        server.publish_status();
        executed
    }

    /// Accepts the goal. Its status is ACCEPTED until [`ServerGoal::execute`]. The client is answered by the returned
    /// [`Acceptance`]. For simulated faults.
    ///
    /// # Errors
    /// [`TableError::Duplicate`], [`TableError::TooMany`]: the goal was rejected.
    pub fn take(mut self) -> Result<(ServerGoal<A>, Acceptance<A>), TableError> {
        // On an error, the drop of `self` rejects the goal.
        let (goal, stamp) = self.server.accept(self.id, Arc::clone(&self.goal))?;
        let reply = self.reply.take();
        Ok((goal, Acceptance { reply, stamp }))
    }

    /// Rejects the goal, like dropping it.
    pub fn reject(self) {}

    /// Never answers: the client waits until its timeout. For simulated faults.
    pub fn ignore(mut self) {
        self.reply = None;
    }

    pub(super) fn answer(&mut self, accepted: bool, stamp: Stamp) {
        if let Some(reply) = self.reply.take() {
            answers::answer(reply, A::Wire::make_goal_response_msg(accepted, stamp.to_wire()));
        }
    }
}

impl<A: ServedAction> Drop for GoalRequest<A> {
    fn drop(&mut self) {
        self.answer(false, Stamp::ZERO);
    }
}

/// The answer to the request of an accepted goal. If it is dropped, the client waits until its timeout.
pub struct Acceptance<A: ServedAction> {
    pub(super) reply: Option<Reply<SendGoal<A>>>,
    pub(super) stamp: Stamp,
}

impl<A: ServedAction> std::fmt::Debug for Acceptance<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Acceptance").finish_non_exhaustive()
    }
}

impl<A: ServedAction> Acceptance<A> {
    /// A second copy of the answer. For simulated faults.
    pub fn again(&self) -> Self {
        Self {
            reply: self.reply.clone(),
            stamp: self.stamp,
        }
    }

    /// Sends the answer.
    pub fn send(self) {
        if let Some(reply) = self.reply {
            answers::answer(reply, A::Wire::make_goal_response_msg(true, self.stamp.to_wire()));
        }
    }
}
