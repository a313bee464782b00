//! The handler of the navigate action servers.

use std::marker::PhantomData;
use std::sync::Arc;

use super::Handle;
use super::client::{NavigateAction, WireGoal};
use super::goal::{NavigationError, NavigationId, Request, RequestedTree};
use crate::goal::{GoalId, TableError};
use crate::ros::{ActionHandler, GoalRequest, GoalTrackerHandle, ServerGoal};

/// Decides about the goals of one navigate action server.
pub(crate) struct Handler<A> {
    navigator: Handle,
    sender: GoalTrackerHandle,
    /// Maximum number of poses of a goal.
    max_poses: usize,
    /// The warning about too many goals was logged since the last accepted goal.
    has_warned: bool,
    action: PhantomData<fn(A)>,
}

impl<A: NavigateAction> Handler<A> {
    pub(crate) fn new(navigator: &Handle, sender: &GoalTrackerHandle, max_poses: usize) -> Self {
        Self {
            navigator: navigator.clone(),
            sender: sender.clone(),
            max_poses,
            has_warned: false,
            action: PhantomData,
        }
    }

    /// Why a goal is aborted instead of started.
    fn fault(&self, request: &GoalRequest<A>) -> Option<String> {
        let of_text = request
            .fault()
            .map(|fault| format!("{fault}: send text in UTF-8"));
        let (count, max) = (A::pose_count(request.goal()), self.max_poses);
        of_text.or_else(|| {
            (count > max).then(|| {
                format!(
                    "the goal has {count} poses, more than max_goal_poses ({max}): send fewer, or raise max_goal_poses"
                )
            })
        })
    }
}

impl<A: NavigateAction> ActionHandler<A> for Handler<A>
where
    ServerGoal<A>: Send,
{
    fn goal(&mut self, request: GoalRequest<A>) {
        let Some(permit) = self.navigator.admit() else {
            tracing::warn!("{}: goal rejected: the node is not active", A::KIND.action());
            return;
        };
        let wanted = Arc::clone(request.goal());
        let fault = self.fault(&request);
        let poses = if fault.is_some() {
            Vec::new()
        } else {
            A::poses(&wanted)
        };
        let sender = self.sender.clone();
        // Before the client learns of the acceptance: an update that it sends then counts.
        let accepted = self.sender.clock().steady();
        let executed = request.execute(|goal| {
            let goal = Request {
                kind: A::KIND,
                poses,
                tree: RequestedTree::Named(A::tree(&wanted).to_owned()),
                accepted,
                run_accepted: accepted,
                client: Box::new(WireGoal { goal, sender }),
            };
            match fault {
                Some(reason) => goal.refuse_now(NavigationError::Unknown, &reason),
                None => permit.submit(goal),
            }
        });
        match executed {
            Ok(()) => self.has_warned = false,
            Err(TableError::TooMany) if !std::mem::replace(&mut self.has_warned, true) => {
                tracing::warn!(
                    "{}: goals are rejected: {}",
                    A::KIND.action(),
                    TableError::TooMany
                );
            }
            Err(_) => {}
        }
    }

    fn cancel(&mut self, goal: GoalId) {
        let kind = A::KIND;
        self.navigator.cancel(NavigationId { kind, goal });
    }
}
