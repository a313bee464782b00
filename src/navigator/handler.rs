//! What a navigate action's server asks of the node.

use std::marker::PhantomData;
use std::sync::Arc;

use super::admission::{Admission, WantedGoal};
use super::client::{NavigateAction, WireGoal};
use crate::goal::GoalId;
use crate::ros::{ActionHandler, CustodianHandle, GoalRequest, ServerGoal};

/// The decisions of one navigate action's server.
pub(crate) struct Handler<A> {
    admission: Admission,
    sender: CustodianHandle,
    action: PhantomData<fn(A)>,
}

impl<A> Handler<A> {
    pub(crate) fn new(admission: &Admission, sender: &CustodianHandle) -> Self {
        Self {
            admission: admission.clone(),
            sender: sender.clone(),
            action: PhantomData,
        }
    }
}

impl<A: NavigateAction> ActionHandler<A> for Handler<A>
where
    ServerGoal<A>: Send,
{
    fn goal(&mut self, request: GoalRequest<A>) {
        let Some(pass) = self.admission.admit() else {
            tracing::warn!(
                "{}: a goal is rejected because the node is not active",
                A::KIND.action()
            );
            return;
        };
        if let Ok(goal) = request.execute() {
            let wanted = Arc::clone(goal.goal());
            let sender = self.sender.clone();
            let goal = WantedGoal {
                kind: A::KIND,
                poses: A::poses(&wanted),
                tree: A::tree(&wanted).to_owned(),
                accepted: sender.clock().steady(),
                client: Box::new(WireGoal { goal, sender }),
            };
            self.admission.goal(pass, goal);
        }
    }

    fn cancel(&mut self, goal: GoalId) {
        self.admission.cancel(goal);
    }
}
