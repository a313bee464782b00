//! Goals that were accepted and wait to be taken up.

use std::collections::VecDeque;

use super::goal::{NavigationError, Request};
use crate::bt::Time;
use crate::goal::GoalId;

/// One of them: its tree is there, and its poses may not be expressible in the global frame yet.
struct PendingGoal {
    request: Request,
    deadline: Time,
    /// So many of its poses are in the global frame already.
    expressed: usize,
}

/// Whether a goal can be taken up.
pub(crate) enum Readiness {
    /// At once, its poses in the global frame.
    Ready,
    /// Its poses are being put into the global frame.
    Unfinished,
    /// A transform is missing, which may come yet.
    NotYet(String),
    /// Never.
    Hopeless(NavigationError, String),
}

/// What has become of them.
#[derive(Default)]
pub(crate) struct Settled {
    /// To be taken up, its poses in the global frame.
    pub(crate) taken: Option<Request>,
    /// Older than the one that is taken up.
    pub(crate) displaced: Vec<Request>,
    /// Not to be had, and why.
    pub(crate) refused: Vec<(Request, NavigationError, String)>,
}

/// Goals that wait, in the order in which they came. The newest that can be taken up is, and ends all that came before it:
/// a transform that comes late brings no older goal to the place of a newer one. So whatever runs is older than all of
/// these.
#[derive(Default)]
pub(crate) struct PendingGoals(VecDeque<PendingGoal>);

impl PendingGoals {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes in the newest.
    pub(crate) fn push(&mut self, request: Request, deadline: Time) {
        self.0.push_back(PendingGoal {
            request,
            deadline,
            expressed: 0,
        });
    }

    /// Takes one out, for its client does not want it any more.
    pub(crate) fn remove(&mut self, goal: GoalId) -> Option<Request> {
        let of_goal = |pending: &PendingGoal| pending.request.client.id() == goal;
        let position = self.0.iter().position(of_goal)?;
        self.0.remove(position).map(|pending| pending.request)
    }

    /// Takes all of them out.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Request> {
        self.0.drain(..).map(|pending| pending.request)
    }

    pub(crate) fn requests_mut(&mut self) -> impl Iterator<Item = &mut Request> {
        self.0.iter_mut().map(|pending| &mut pending.request)
    }

    /// Looks at them, the newest first, until one can be taken up. `look` is told how many of its poses are in the global
    /// frame, and tells it.
    pub(crate) fn settle(
        &mut self,
        now: Time,
        mut look: impl FnMut(&mut Request, &mut usize) -> Readiness,
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
