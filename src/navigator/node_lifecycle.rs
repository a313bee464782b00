//! What the node does in each transition of its life cycle.

use std::sync::Arc;
use std::time::Duration;

use super::admission::Admission;
use super::{Handle, TreeLibrary, plugins};
use crate::bt::HaltReason;
use crate::job::JobRegistry;
use crate::ros::lifecycle::{LifecycleState, Transition, TransitionResult};
use crate::ros::{Bond, GoalTrackerHandle, LifecycleHandler, ParameterStore};

/// How long a deactivation may take. Nav2's has no bound and hangs with a tree that hangs.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long what the tree had started may take to stop, even where `stop_timeout` is more: then its client is told.
const STOPPING: Duration = Duration::from_millis(4_800);
/// How long the tick thread may take to halt its tree before goals and jobs are cancelled without it.
const SOON: Duration = Duration::from_millis(300);

/// Everything is made when the process starts: trees are checked then, clients are connected when servers appear. So
/// what is left for transitions is to take goals, or not to, to refuse what a parameter file asks for in vain, and to read
/// trees again that were edited, as Nav2 does after a `cleanup`.
pub(crate) struct NodeLifecycle {
    pub(crate) parameters: ParameterStore,
    pub(crate) library: Arc<TreeLibrary>,
    pub(crate) admission: Admission,
    pub(crate) navigator: Handle,
    pub(crate) goal_tracker: GoalTrackerHandle,
    pub(crate) jobs: JobRegistry,
    /// The heartbeat for a lifecycle manager; `None` where its period is nil.
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
                self.library.forget();
                TransitionResult::Success
            }
            Transition::Activate => {
                self.admission.set_active(true);
                self.goal_tracker.set_active(true);
                if let Some(bond) = &self.bond {
                    bond.begin();
                }
                tracing::info!("active: goals are accepted");
                TransitionResult::Success
            }
            Transition::Deactivate | Transition::ShutDown => {
                self.admission.set_active(false);
                self.goal_tracker.set_active(false);
                if let Some(bond) = &self.bond {
                    bond.end();
                }
                let reason = match transition {
                    Transition::ShutDown => HaltReason::ShuttingDown,
                    _ => HaltReason::Deactivated,
                };
                let halted = self.navigator.halt_within(reason, STOPPING);
                let mut outcome = halted.wait(SOON);
                if outcome.is_err() {
                    // A leaf may keep the tick thread; the robot must stop all the same.
                    self.goal_tracker.halt_all(reason);
                    self.jobs.cancel_all();
                    outcome = halted.wait(PATIENCE);
                }
                if outcome.is_err() {
                    tracing::error!(
                        "not everything stopped within {PATIENCE:?}; it is still being cancelled"
                    );
                }
                TransitionResult::Success
            }
        }
    }
}
