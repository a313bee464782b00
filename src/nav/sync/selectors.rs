//! Nodes that select a plugin by a topic: a table, one row per node. [`Selector`] has the behaviour.

use crate::bt::{Registry, RegistryError};
use crate::nav::selector::{Selector, SelectorNode};

/// A row: the node, what it selects, and the same as a part of the names of the ports and of the topic.
macro_rules! selectors {
    ($($node:ident selects the $what:literal: $name:literal,)*) => {
        $(
            #[doc = concat!("Reads the ", $what, " from a topic.")]
            #[derive(Debug)]
            pub struct $node;

            impl SelectorNode for $node {
                const ID: &'static str = stringify!($node);
                const WHAT: &'static str = $what;
                const DEFAULT_PORT: &'static str = concat!("default_", $name);
                const OUTPUT_PORT: &'static str = concat!("selected_", $name);
                const TOPIC: &'static str = concat!($name, "_selector");
                const DOC: &'static str = concat!(
                    "Writes the last ", $what, " published on a topic, or the default. FAILURE if there is neither. ",
                    "A selection remains until another one is published, even across navigations, because its ",
                    "topic is latched."
                );
            }
        )*

        /// Registers every node of this table.
        pub(in crate::nav) fn register(registry: &mut Registry) -> Result<(), RegistryError> {
            $(registry.register::<Selector<$node>>()?;)*
            Ok(())
        }
    };
}

selectors! {
    ControllerSelector selects the "controller": "controller",
    GoalCheckerSelector selects the "goal checker": "goal_checker",
    // A node of Nav2's main branch.
    PathHandlerSelector selects the "path handler": "path_handler",
    PlannerSelector selects the "planner": "planner",
    ProgressCheckerSelector selects the "progress checker": "progress_checker",
    SmootherSelector selects the "smoother": "smoother",
}
