//! `WouldAControllerRecoveryHelp`: checks whether clearing a costmap or a retry may help after a controller error.

use super::are_error_codes_present::{fixed_list, is_one_of};
use crate::bt::{Behavior, Context, Input, Node, NodeKind, Ports, Tick};

/// UNKNOWN, PATIENCE_EXCEEDED, FAILED_TO_MAKE_PROGRESS, NO_VALID_CONTROL.
const CODES: &[u16] = &[100, 104, 105, 106];

/// Checks an error code.
#[derive(Debug)]
pub struct WouldAControllerRecoveryHelp {
    error_code: Input<u16>,
}

impl Node for WouldAControllerRecoveryHelp {
    const ID: &'static str = "WouldAControllerRecoveryHelp";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str =
        "SUCCESS if the controller error is one for which clearing a costmap or a retry may help.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            error_code: fixed_list(ports),
        }
    }
}

impl Behavior for WouldAControllerRecoveryHelp {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        is_one_of(cx, &self.error_code, CODES)
    }
}
