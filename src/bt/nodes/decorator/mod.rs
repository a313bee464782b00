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
pub use loop_over::Element;
pub use subtree::SubTree;

use super::table::nodes;
use crate::bt::Text;

nodes! {
    condition: If;
    delay: Delay;
    force: ForceFailure, ForceSuccess;
    inverter: Inverter;
    keep_running_until_failure: KeepRunningUntilFailure;
    loop_over: Loop of (i32, bool, f64, Text);
    max_time: MaxTime;
    precondition: Precondition;
    repeat: Repeat;
    retry: Retry;
    retry_until_successful: RetryUntilSuccessful;
    run_once: RunOnce;
    signal: Signal;
    timeout: Timeout;
    updated: SkipUnlessUpdated, WaitValueUpdate;
    "RetryUntilSuccesful": RetryUntilSuccessful;
    "BlackboardCheckInt": BlackboardCheck<i32>;
    "BlackboardCheckDouble": BlackboardCheck<f64>;
    "BlackboardCheckString": BlackboardCheck<Text>;
    "BlackboardCheckBool": BlackboardCheck<bool>;
}
