//! `WouldARouteRecoveryHelp`: checks whether a retry may help after an error of the route server. A node of Nav2's main
//! branch.

use super::are_error_codes_present::{fixed_list, is_one_of};
use crate::bt::{Behavior, Context, Input, Node, NodeKind, Ports, Tick};

/// UNKNOWN, TIMEOUT, NO_VALID_ROUTE.
const CODES: &[u16] = &[400, 404, 405];

/// Checks an error code.
#[derive(Debug)]
pub struct WouldARouteRecoveryHelp {
    error_code: Input<u16>,
}

impl Node for WouldARouteRecoveryHelp {
    const ID: &'static str = "WouldARouteRecoveryHelp";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS if the route server error is one for which a retry may help.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            error_code: fixed_list(ports),
        }
    }
}

impl Behavior for WouldARouteRecoveryHelp {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        is_one_of(cx, &self.error_code, CODES)
    }
}
