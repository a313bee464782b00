//! The clients of the node when the tick thread cannot answer them.

use std::sync::{Arc, OnceLock, Weak};

use super::servers::Servers;
use crate::job::JobRegistry;
use crate::navigator::client::NavigateAction;
use crate::navigator::goal::{NavigationResult, UNHANDLED};
use crate::ros::{ActionServer, GoalTrackerHandle};

/// Ends the goals of all clients without the tick thread, which a leaf blocks or which has ended (guarantee G8). Clones
/// share it.
#[derive(Clone)]
pub(crate) struct UnansweredClients {
    /// Empty until the node has its action servers. The node owns these.
    servers: Arc<OnceLock<Weak<Servers>>>,
    goal_tracker: GoalTrackerHandle,
    jobs: JobRegistry,
}

/// The reason for the clients of a tick thread that has not answered the end of the node: "shut down" or "deactivated".
pub(crate) fn unanswered(end: &str) -> String {
    format!("the node was {end} before its tick thread had answered: a leaf may block it")
}

impl UnansweredClients {
    pub(super) fn new(goal_tracker: &GoalTrackerHandle, jobs: &JobRegistry) -> Self {
        Self {
            servers: Arc::default(),
            goal_tracker: goal_tracker.clone(),
            jobs: jobs.clone(),
        }
    }

    /// Sets the action servers of the clients.
    pub(super) fn are_served_by(&self, servers: &Arc<Servers>) {
        let _ = self.servers.set(Arc::downgrade(servers));
    }

    /// Aborts all goals that have not ended. The message of the result names the goals and jobs of the tree that are not
    /// known to have stopped: a client that gets the end of a navigation assumes that the robot stands.
    pub(crate) fn abort(&self, reason: &str) {
        let unhandled = self.goal_tracker.has_unhandled().then(|| UNHANDLED.to_owned());
        let goals = self.goal_tracker.unsettled(|_| true).into_iter();
        let still_active: Vec<_> = goals.chain(self.jobs.give_up()).chain(unhandled).collect();
        let Some(servers) = self.servers.get().and_then(Weak::upgrade) else {
            return;
        };
        abort(servers.to_pose.as_ref(), reason, &still_active);
        abort(servers.through_poses.as_ref(), reason, &still_active);
    }
}

fn abort<A: NavigateAction>(server: Option<&ActionServer<A>>, reason: &str, still_active: &[String]) {
    if let Some(server) = server {
        let report = NavigationResult::stopped(reason).with_still_active(A::KIND, still_active);
        server.abort_active(|| A::result(&report));
    }
}
