//! Accepted goals that wait for their start.

use std::collections::VecDeque;

use super::global_frame::Expressed;
use super::goal::{NavigationError, Request};
use crate::bt::Time;
use crate::goal::GoalId;

/// A goal with a loaded tree. Transforms of its poses to the global frame may be missing.
struct PendingGoal {
    request: Request,
    deadline: Time,
    /// The work on its poses that is done.
    expressed: Expressed,
}

/// The readiness of a goal.
pub(crate) enum Readiness {
    /// The goal can start; its poses are in the global frame.
    Ready,
    /// The transform of its poses is not complete.
    Unfinished,
    /// A transform is missing and may arrive later.
    NotYet(String),
    /// The goal can never start.
    Hopeless(NavigationError, String),
}

/// The outcome of [`PendingGoals::settle`].
#[derive(Default)]
pub(crate) struct Settled {
    /// The goal to start, with poses in the global frame.
    pub(crate) taken: Option<Request>,
    /// The goals older than the goal to start.
    pub(crate) displaced: Vec<Request>,
    /// The refused goals, with the reason.
    pub(crate) refused: Vec<(Request, NavigationError, String)>,
}

/// Waiting goals, in order of arrival. The newest goal that is ready starts, and all older goals end: a late transform
/// does not replace a newer goal by an older one. The active goal is therefore older than all of these.
#[derive(Default)]
pub(crate) struct PendingGoals(VecDeque<PendingGoal>);

impl PendingGoals {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the newest goal.
    pub(crate) fn push(&mut self, request: Request, deadline: Time) {
        self.0.push_back(PendingGoal {
            request,
            deadline,
            expressed: Expressed::default(),
        });
    }

    /// Removes a goal that its client cancelled.
    pub(crate) fn remove(&mut self, goal: GoalId) -> Option<Request> {
        let of_goal = |pending: &PendingGoal| pending.request.client.id() == goal;
        let position = self.0.iter().position(of_goal)?;
        self.0.remove(position).map(|pending| pending.request)
    }

    /// Removes all goals.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Request> {
        self.0.drain(..).map(|pending| pending.request)
    }

    pub(crate) fn requests_mut(&mut self) -> impl Iterator<Item = &mut Request> {
        self.0.iter_mut().map(|pending| &mut pending.request)
    }

    /// Checks the goals, the newest first, until one is ready. `look` reads and updates the work on the poses
    /// that is done.
    pub(crate) fn settle(
        &mut self,
        now: Time,
        mut look: impl FnMut(&mut Request, &mut Expressed) -> Readiness,
    ) -> Settled {
        let mut settled = Settled::default();
        let mut waiting = VecDeque::new();
        while let Some(mut pending) = self.0.pop_back() {
            match look(&mut pending.request, &mut pending.expressed) {
                Readiness::Ready => {
                    settled.taken = Some(pending.request);
                    settled.displaced = self.drain().collect();
                }
                Readiness::NotYet(reason) if now >= pending.deadline => {
                    let error = NavigationError::TransformFailed;
                    settled.refused.push((pending.request, error, reason));
                }
                Readiness::NotYet(_) | Readiness::Unfinished => waiting.push_front(pending),
                Readiness::Hopeless(error, reason) => settled.refused.push((pending.request, error, reason)),
            }
        }
        self.0 = waiting;
        settled
    }
}
