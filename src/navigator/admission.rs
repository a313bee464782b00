//! Between the wire and the tick thread: goals are accepted at once, their trees are read on a thread of their own.

use std::io;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

use super::client::{NavigateAction, WireGoal};
use super::goal::{ClientGoal, Request};
use super::{Handle, NavigatorKind, TreeLibrary};
use crate::goal::GoalId;
use crate::msg::PoseStamped;
use crate::ros::{ActionHandler, CustodianHandle, GoalRequest, ServerGoal};

enum Job {
    Goal {
        kind: NavigatorKind,
        poses: Vec<PoseStamped>,
        tree: String,
        client: Box<dyn ClientGoal>,
    },
    Cancel(GoalId),
}

/// Takes goals in while the node is active. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Admission {
    jobs: Sender<Job>,
    active: Arc<AtomicBool>,
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
                        Job::Goal {
                            kind,
                            poses,
                            tree,
                            client,
                        } => {
                            let tree = library.for_goal(kind, &tree);
                            handle.goal(Request {
                                kind,
                                poses,
                                tree,
                                client,
                            });
                        }
                        Job::Cancel(goal) => handle.cancel(goal),
                    }
                }
            })?;
        Ok(Self {
            jobs,
            active: Arc::default(),
            navigator,
        })
    }

    /// Whether goals are accepted.
    pub(crate) fn set_active(&self, active: bool) {
        self.active.store(active, Ordering::Release);
    }

    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire)
    }

    /// Hands in a goal that was accepted.
    pub(crate) fn goal(
        &self,
        kind: NavigatorKind,
        poses: Vec<PoseStamped>,
        tree: String,
        client: Box<dyn ClientGoal>,
    ) {
        // Where the thread is gone, the client is dropped, which aborts the goal.
        let _ = self.jobs.send(Job::Goal {
            kind,
            poses,
            tree,
            client,
        });
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
        if !self.admission.is_active() {
            tracing::warn!(
                "{}: a goal is rejected because the node is not active",
                A::KIND.action()
            );
            return;
        }
        if let Ok(goal) = request.execute() {
            let wanted = Arc::clone(goal.goal());
            let tree = A::tree(&wanted).to_owned();
            let sender = self.sender.clone();
            let client = Box::new(WireGoal { goal, sender });
            self.admission.goal(A::KIND, A::poses(&wanted), tree, client);
        }
    }

    fn cancel(&mut self, goal: GoalId) {
        self.admission.cancel(goal);
    }
}
