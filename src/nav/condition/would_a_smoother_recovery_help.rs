//! `WouldASmootherRecoveryHelp`: checks whether another path may help after a smoother error.

use super::are_error_codes_present::{fixed_list, is_one_of};
use crate::bt::{Behavior, Context, Input, Node, NodeKind, Ports, Tick};

/// UNKNOWN, TIMEOUT, SMOOTHED_PATH_IN_COLLISION, FAILED_TO_SMOOTH_PATH.
const CODES: &[u16] = &[500, 502, 503, 504];

/// Checks an error code.
#[derive(Debug)]
pub struct WouldASmootherRecoveryHelp {
    error_code: Input<u16>,
}

impl Node for WouldASmootherRecoveryHelp {
    const ID: &'static str = "WouldASmootherRecoveryHelp";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS if the smoother error is one for which another path may help.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            error_code: fixed_list(ports),
        }
    }
}

impl Behavior for WouldASmootherRecoveryHelp {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        is_one_of(cx, &self.error_code, CODES)
    }
}
