//! Conditions that check whether a recovery may help after an error code: a table, one row per node.

use super::are_error_codes_present::{fixed_list, is_one_of};
use crate::bt::{Behavior, Context, Input, Node, NodeKind, Ports, Registry, RegistryError, Tick};

/// A row: the node, the codes after which it succeeds, and its documentation.
macro_rules! recovery_conditions {
    ($($(#[$comment:meta])* $node:ident $codes:expr, $doc:literal;)*) => {
        $(
            #[doc = $doc]
            $(#[$comment])*
            #[derive(Debug)]
            pub struct $node {
                error_code: Input<u16>,
            }

            impl Node for $node {
                const ID: &'static str = stringify!($node);
                const KIND: NodeKind = NodeKind::Condition;
                const DOC: &'static str = $doc;

                fn bind(ports: &mut Ports<'_>) -> Self {
                    Self {
                        error_code: fixed_list(ports),
                    }
                }
            }

            impl Behavior for $node {
                fn tick(&self, cx: &mut Context<'_>) -> Tick {
                    is_one_of(cx, &self.error_code, &$codes)
                }
            }
        )*

        /// Registers every node of this table.
        pub(in crate::nav) fn register(registry: &mut Registry) -> Result<(), RegistryError> {
            $(registry.register::<$node>()?;)*
            Ok(())
        }
    };
}

recovery_conditions! {
    /// UNKNOWN, PATIENCE_EXCEEDED, FAILED_TO_MAKE_PROGRESS, NO_VALID_CONTROL.
    WouldAControllerRecoveryHelp [100, 104, 105, 106],
        "SUCCESS if the controller error is one for which clearing a costmap or a retry may help.";
    /// UNKNOWN, TIMEOUT and NO_VALID_PATH of both planner actions.
    WouldAPlannerRecoveryHelp [200, 207, 208, 300, 307, 308],
        "SUCCESS if the planner error is one for which clearing a costmap or a retry may help.";
    /// UNKNOWN, TIMEOUT, NO_VALID_ROUTE. A node of Nav2's main branch.
    WouldARouteRecoveryHelp [400, 404, 405],
        "SUCCESS if the route server error is one for which a retry may help.";
    /// UNKNOWN, TIMEOUT, SMOOTHED_PATH_IN_COLLISION, FAILED_TO_SMOOTH_PATH.
    WouldASmootherRecoveryHelp [500, 502, 503, 504],
        "SUCCESS if the smoother error is one for which another path may help.";
}
