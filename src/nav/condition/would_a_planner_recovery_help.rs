//! `WouldAPlannerRecoveryHelp`: checks whether clearing a costmap or a retry may help after a planner error.

use super::are_error_codes_present::{fixed_list, is_one_of};
use crate::bt::{Behavior, Context, Input, Node, NodeKind, Ports, Tick};

/// UNKNOWN, TIMEOUT and NO_VALID_PATH of both planner actions.
const CODES: &[u16] = &[200, 207, 208, 300, 307, 308];

/// Checks an error code.
#[derive(Debug)]
pub struct WouldAPlannerRecoveryHelp {
    error_code: Input<u16>,
}

impl Node for WouldAPlannerRecoveryHelp {
    const ID: &'static str = "WouldAPlannerRecoveryHelp";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str =
        "SUCCESS if the planner error is one for which clearing a costmap or a retry may help.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            error_code: fixed_list(ports),
        }
    }
}

impl Behavior for WouldAPlannerRecoveryHelp {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        is_one_of(cx, &self.error_code, CODES)
    }
}
