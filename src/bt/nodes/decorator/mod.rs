//! Nodes with one child.

mod blackboard_check;
mod condition;
mod delay;
mod force;
mod inverter;
mod keep_running_until_failure;
mod loop_over;
mod max_time;
mod precondition;
mod repeat;
mod retry;
mod retry_until_successful;
mod rounds;
mod run_once;
mod signal;
mod subtree;
mod timeout;
mod updated;

pub use blackboard_check::{BlackboardCheck, Checked};
pub use condition::If;
pub use delay::Delay;
pub use force::{ForceFailure, ForceSuccess};
pub use inverter::Inverter;
pub use keep_running_until_failure::KeepRunningUntilFailure;
pub use loop_over::{Element, Loop};
pub use max_time::MaxTime;
pub use precondition::Precondition;
pub use repeat::Repeat;
pub use retry::Retry;
pub use retry_until_successful::RetryUntilSuccessful;
pub use run_once::RunOnce;
pub use signal::Signal;
pub use subtree::SubTree;
pub use timeout::Timeout;
pub use updated::{SkipUnlessUpdated, WaitValueUpdate};

use crate::bt::Text;
use crate::bt::registry::{Registry, RegistryError};

pub(super) fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    registry.register::<Inverter>()?;
    registry.register::<ForceSuccess>()?;
    registry.register::<ForceFailure>()?;
    registry.register::<Repeat>()?;
    registry.register::<RetryUntilSuccessful>()?;
    registry.register_v3::<RetryUntilSuccessful>("RetryUntilSuccesful");
    registry.register::<KeepRunningUntilFailure>()?;
    registry.register::<Timeout>()?;
    registry.register::<Delay>()?;
    registry.register::<RunOnce>()?;
    registry.register::<Precondition>()?;
    registry.register::<Loop<i32>>()?;
    registry.register::<Loop<bool>>()?;
    registry.register::<Loop<f64>>()?;
    registry.register::<Loop<Text>>()?;
    registry.register::<SkipUnlessUpdated>()?;
    registry.register::<WaitValueUpdate>()?;
    registry.register::<If>()?;
    registry.register::<MaxTime>()?;
    registry.register::<Retry>()?;
    registry.register::<Signal>()?;
    registry.register_v3::<BlackboardCheck<i32>>("BlackboardCheckInt");
    registry.register_v3::<BlackboardCheck<f64>>("BlackboardCheckDouble");
    registry.register_v3::<BlackboardCheck<Text>>("BlackboardCheckString");
    registry.register_v3::<BlackboardCheck<bool>>("BlackboardCheckBool");
    Ok(())
}
