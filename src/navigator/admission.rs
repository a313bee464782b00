//! Between the wire and the tick thread: goals are accepted at once, their trees are read on a thread of their own.

use std::io;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use super::client::{NavigateAction, WireGoal};
use super::goal::{ClientGoal, Request};
use super::{Handle, NavigatorKind, Pass, TreeLibrary};
use crate::goal::GoalId;
use crate::msg::PoseStamped;
use crate::ros::{ActionHandler, CustodianHandle, GoalRequest, ServerGoal};

enum Job {
    Goal(Pass, WantedGoal),
    Cancel(GoalId),
}

/// A goal that was accepted, before its tree is read.
pub(crate) struct WantedGoal {
    pub(crate) kind: NavigatorKind,
    pub(crate) poses: Vec<PoseStamped>,
    /// A file or an ID; empty for the default tree.
    pub(crate) tree: String,
    pub(crate) client: Box<dyn ClientGoal>,
}

/// Takes goals in while the node is active. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Admission {
    jobs: Sender<Job>,
    navigator: Handle,
}

impl Admission {
    /// Starts the thread that reads trees. It ends when the last clone is dropped.
    pub(crate) fn start(library: Arc<TreeLibrary>, navigator: Handle) -> io::Result<Self> {
        let (jobs, inbox) = channel();
        let handle = navigator.clone();
        std::thread::Builder::new()
            .name("trees".to_owned())
            .spawn(move || {
                while let Ok(job) = inbox.recv() {
                    match job {
                        Job::Goal(pass, goal) => {
                            // The node may have been deactivated by the time this is done.
                            let tree = library.for_goal(goal.kind, &goal.tree);
                            pass.hand_in(Request {
                                kind: goal.kind,
                                poses: goal.poses,
                                tree,
                                client: goal.client,
                            });
                        }
                        Job::Cancel(goal) => handle.cancel(goal),
                    }
                }
            })?;
        // Until the node is active.
        navigator.shut();
        Ok(Self { jobs, navigator })
    }

    /// Has goals taken in from now on, or refused: those too whose tree is being read.
    pub(crate) fn set_active(&self, active: bool) {
        if active {
            self.navigator.open();
        } else {
            self.navigator.shut();
        }
    }

    /// Leave for one goal, while the node is active.
    pub(crate) fn admit(&self) -> Option<Pass> {
        self.navigator.admit()
    }

    /// Hands in a goal that was accepted.
    pub(crate) fn goal(&self, pass: Pass, goal: WantedGoal) {
        // Where the thread is gone, the client is dropped, which aborts the goal.
        let _ = self.jobs.send(Job::Goal(pass, goal));
    }

    /// Cancels a goal: at once if it runs, and behind it if its tree is still being read.
    fn cancel(&self, goal: GoalId) {
        self.navigator.cancel(goal);
        let _ = self.jobs.send(Job::Cancel(goal));
    }
}

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
                client: Box::new(WireGoal { goal, sender }),
            };
            self.admission.goal(pass, goal);
        }
    }

    fn cancel(&mut self, goal: GoalId) {
        self.admission.cancel(goal);
    }
}
