//! Nav2's node library: one file a node, one skeleton for all. No r2r.
//!
//! Nodes reach the world through the [`World`] resource of their tree; behind it is a [`Link`], which room `ros`
//! implements over the middleware and tests implement on a virtual clock. [`registry`] has every node that a Nav2
//! tree can name, beside those of BehaviorTree.CPP.
//!
//! | folder | what |
//! |---|---|
//! | [`action`] | clients of actions, by [`ActionLeaf`] |
//! | [`service`] | clients of services, by [`ServiceLeaf`] |
//! | [`cancel`] | nodes that cancel an action server's goals, by [`CancelLeaf`] |
//! | [`condition`], [`control`], [`decorator`] | what the names say |
//! | [`sync`] | actions that need no server |
//! | [`any`] | actions, services, topics and parameters of any interface |
#![forbid(unsafe_code)]

pub mod action;
mod action_leaf;
pub mod any;
pub mod cancel;
mod cancel_leaf;
#[cfg(test)]
mod census;
pub mod condition;
pub mod control;
pub mod decorator;
mod endpoint;
mod frames;
mod goal_watch;
mod link;
mod odometry;
mod rehearsal;
mod selector;
pub mod service;
mod service_leaf;
mod settings;
mod strict_json;
pub mod sync;
pub mod testing;
mod topic;
mod tracking;
pub mod values;
mod world;

pub use action_leaf::{ActionLeaf, ActionNode, Ending, FeedbackOf, GoalOf, OnFeedback, Refusal, ResultOf};
pub use cancel_leaf::{CancelLeaf, CancelNode};
pub use endpoint::Endpoint;
pub use link::{
    EndpointKind, Event, Form, Link, LinkError, Part, Payload, TopicId, TopicSpec, TransformError,
};
pub use odometry::{OdometrySample, OdometrySmoother};
pub use rehearsal::{rehearse, rehearse_with_spans};
pub use selector::{Selector, SelectorNode};
pub use service_leaf::{RequestOf, ResponseOf, ServiceLeaf, ServiceNode};
pub use settings::Settings;
pub use world::{Note, Progress, Sample, World};

use crate::bt::{Registry, RegistryError};

/// Adds every node of Nav2 to a registry.
///
/// # Errors
/// [`RegistryError`] where one of the IDs is taken.
pub fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    action::register(registry)?;
    any::register(registry)?;
    cancel::register(registry)?;
    condition::register(registry)?;
    control::register(registry)?;
    decorator::register(registry)?;
    service::register(registry)?;
    sync::register(registry)
}

/// What a navigator writes to the blackboard before it ticks, under the default names (`spec/nav2.md` 2.7).
const PROVIDED: [&str; 6] = [
    "goal",
    "goals",
    "path",
    "number_recoveries",
    "follow_path_error_code",
    "compute_path_error_code",
];

/// BehaviorTree.CPP's nodes, navtree's own and Nav2's.
pub fn registry() -> Registry {
    let mut registry = Registry::builtin();
    let outcome = register(&mut registry);
    debug_assert_eq!(outcome, Ok(()), "the IDs are distinct");
    for key in PROVIDED {
        registry.provide_key(key);
    }
    registry.adopt_all();
    registry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::Loader;
    use std::path::{Path, PathBuf};

    /// Nav2's own trees. They are not part of this repository: they are looked for beside it.
    fn corpus() -> Vec<PathBuf> {
        let places = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        let mut roots = places.map(|place| place.join("shared/corpus"));
        let root = roots.find(|root| root.is_dir()).unwrap_or_default();
        let folders = std::fs::read_dir(root).into_iter().flatten().flatten();
        let files =
            folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
        let mut files: Vec<PathBuf> = files.map(|file| file.path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "xml"));
        files.sort();
        files
    }

    #[test]
    fn nav2s_own_trees_compile() {
        let files = corpus();
        if files.is_empty() {
            println!("skipped: Nav2's trees are not here");
        }
        let registry = registry();
        for file in files {
            // Nav2's docking example writes `inverter`, which BehaviorTree.CPP refuses too.
            if file.ends_with("application_example.xml") {
                continue;
            }
            if let Err(refused) = Loader::new(&registry).load_file(&file, None) {
                panic!("{}:\n{refused}", file.display());
            }
        }
    }

    #[test]
    fn every_node_is_documented() {
        for manifest in registry().manifests() {
            assert!(!manifest.doc.is_empty(), "{}", manifest.id);
            for port in &manifest.ports {
                assert!(!port.doc.is_empty(), "{} {}", manifest.id, port.name);
            }
        }
    }
}
