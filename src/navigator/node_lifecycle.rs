//! The actions of the node in its lifecycle transitions.

use std::sync::Arc;
use std::time::Duration;

use super::node::{UnansweredClients, unanswered};
use super::{Handle, Pending, TreeLibrary, Unacknowledged, halt_without_ticks, plugins};
use crate::bt::HaltReason;
use crate::job::JobRegistry;
use crate::ros::lifecycle::{LifecycleState, Transition, TransitionResult};
use crate::ros::{Bond, EarlierGoals, Endpoints, GoalTrackerHandle, LifecycleHandler, ParameterStore};

/// Time limit of a deactivation. Nav2 has no limit and hangs with a tree that hangs.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Time for the goals and jobs of the tree to stop, even if `stop_timeout` is longer. After it, the client gets its
/// result.
const STOPPING: Duration = Duration::from_millis(4_800);
/// Time for the tick thread to halt its tree before goals and jobs are cancelled without it.
const SOON: Duration = Duration::from_millis(300);

/// Handles lifecycle transitions. Everything is created at the start of the process: trees are checked then, and
/// clients connect when servers appear. The transitions only accept or refuse goals, refuse an invalid parameter file,
/// and read edited trees again, as Nav2 does after a `cleanup`.
pub(crate) struct NodeLifecycle {
    pub(crate) parameters: ParameterStore,
    pub(crate) library: Arc<TreeLibrary>,
    pub(crate) navigator: Handle,
    pub(crate) goal_tracker: GoalTrackerHandle,
    pub(crate) endpoints: Endpoints,
    pub(crate) earlier_goals: Option<EarlierGoals>,
    pub(crate) jobs: JobRegistry,
    pub(crate) clients: UnansweredClients,
    /// The halt of a deactivation that the tick thread did not acknowledge.
    pub(crate) unfinished_halt: Option<Pending<()>>,
    /// The heartbeat for a lifecycle manager; `None` if its period is zero.
    pub(crate) bond: Option<Bond>,
}

impl LifecycleHandler for NodeLifecycle {
    fn change(&mut self, transition: Transition, _from: LifecycleState) -> TransitionResult {
        match transition {
            Transition::Configure => {
                match plugins::refuse_foreign(&self.parameters).and_then(|()| self.library.refresh()) {
                    Ok(()) => TransitionResult::Success,
                    Err(reason) => {
                        tracing::error!("not configured: {reason}");
                        TransitionResult::Failure
                    }
                }
            }
            Transition::CleanUp => {
                self.library.clear_cache();
                TransitionResult::Success
            }
            Transition::Activate => {
                let halt = self.unfinished_halt.as_ref().map(Pending::try_wait);
                if halt == Some(Err(Unacknowledged::NotYet)) {
                    tracing::error!(
                        "not activated: the tick thread has not ended the last deactivation, perhaps because a leaf blocks \
                         it; restart the node, or try again when the leaf has returned"
                    );
                    return TransitionResult::Failure;
                }
                self.unfinished_halt = None;
                self.navigator.open();
                self.goal_tracker.set_active(true);
                self.earlier_goals = EarlierGoals::search(&self.endpoints);
                if let Some(bond) = &self.bond {
                    bond.begin();
                }
                tracing::info!("active: goals are accepted");
                TransitionResult::Success
            }
            Transition::Deactivate | Transition::ShutDown => {
                self.navigator.shut();
                if let Some(earlier_goals) = &mut self.earlier_goals {
                    earlier_goals.stop();
                }
                self.goal_tracker.set_active(false);
                let reason = match transition {
                    Transition::ShutDown => HaltReason::ShuttingDown,
                    _ => HaltReason::Deactivated,
                };
                let halted = self.navigator.halt(reason, STOPPING);
                // After the halt is on its way: this publishes, and a middleware may block.
                if let Some(bond) = &self.bond {
                    bond.end();
                }
                let mut outcome = halted.wait(SOON);
                if outcome.is_err() {
                    // A leaf may block the tick thread, and the robot must still stop.
                    let halt_goals = || self.goal_tracker.halt_all(reason);
                    halt_without_ticks(reason, &self.navigator, &self.jobs, halt_goals);
                    outcome = halted.wait(TIMEOUT - SOON);
                }
                if let Err(missing) = outcome {
                    let thread = match missing {
                        Unacknowledged::NotYet => "does not answer, perhaps because a leaf blocks it",
                        Unacknowledged::Never => "has ended",
                    };
                    tracing::error!("the tick thread {thread}: goals and jobs are cancelled without it");
                }
                // If the thread has ended, the node shuts down, and answers its clients then.
                if outcome == Err(Unacknowledged::NotYet) {
                    let end = match transition {
                        Transition::ShutDown => "shut down",
                        _ => "deactivated",
                    };
                    self.clients.abort(&unanswered(end));
                    self.unfinished_halt = Some(halted);
                }
                // Waits for its thread, so it comes after the robot has stopped.
                self.earlier_goals = None;
                TransitionResult::Success
            }
        }
    }
}
