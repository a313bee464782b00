//! The number of recoveries of a run.

use crate::bt::{Context, PortValue, Thrown, Value};

/// The blackboard key of the recovery counter, always on the root blackboard. Nav2 counts in the scope of the node and
/// loses the recoveries of subtrees.
pub(crate) const RECOVERIES: &str = "@number_recoveries";

/// Counts a recovery.
pub(crate) fn count_recovery(cx: &mut Context<'_>) -> Result<(), Thrown> {
    let slot = cx.resolve(RECOVERIES);
    let count = match cx.blackboard().get(slot) {
        Some(Value::Int(count)) => *count,
        _ => 0,
    };
    let value = Value::Int(count.saturating_add(1).min(i64::from(i32::MAX)));
    cx.write(slot, value, <i32 as PortValue>::TYPE)
        .map_err(|clash| cx.throw(format!("number_recoveries: {clash}")))
}
