//! Nav2's node library; one file per node. Does not use r2r.
//!
//! Nodes use the [`World`] resource of their tree. It contains a [`Link`], which room `ros` implements with the
//! middleware and tests implement with a virtual clock. [`registry`] contains all nodes that a Nav2 tree can name,
//! including those of BehaviorTree.CPP.
//!
//! | folder | what |
//! |---|---|
//! | [`action`] | clients of actions, by [`ActionLeaf`] |
//! | [`service`] | clients of services, by [`ServiceLeaf`] |
//! | [`cancel`] | nodes that cancel an action server's goals, by [`CancelLeaf`] |
//! | [`condition`], [`control`], [`decorator`] | conditions, control nodes and decorators |
//! | [`sync`] | actions that need no server |
//! | [`any`] | actions, services, topics and parameters of any interface |
#![forbid(unsafe_code)]

pub mod action;
mod action_leaf;
mod action_node;
pub mod any;
pub mod cancel;
mod cancel_leaf;
#[cfg(test)]
mod check_tests;
pub mod condition;
pub mod control;
pub mod decorator;
mod dry_run;
mod endpoint;
mod failure;
mod fault;
mod frames;
mod goal_watch;
mod link;
#[cfg(test)]
mod mistake_tests;
#[cfg(test)]
mod node_parity_tests;
mod note;
mod odometry;
mod recovery_count;
mod selector;
pub mod service;
mod service_leaf;
mod service_node;
mod settings;
mod strict_json;
pub mod sync;
mod table;
pub mod testing;
mod topic;
mod tracking;
pub mod values;
mod world;

pub use action_leaf::ActionLeaf;
pub use action_node::{ActionNode, FeedbackOf, GoalOf, GoalOutcome, OnFeedback, Refusal, ResultOf};
pub use cancel_leaf::{CancelLeaf, CancelNode};
pub use dry_run::{dry_run, dry_run_with_spans};
pub use endpoint::Endpoint;
pub use failure::{Failures, LeafFailure};
pub use fault::Fault;
pub use link::{
    EndpointKind, Event, Form, Link, LinkError, MAX_JSON_TEXT, Opened, Part, Payload, TopicId, TopicSpec,
    TransformError,
};
pub use note::Note;
pub use odometry::{OdometrySample, OdometrySmoother};
pub use selector::{Selector, SelectorNode};
pub use service_leaf::ServiceLeaf;
pub use service_node::{RequestOf, ResponseOf, ServiceNode};
pub use settings::Settings;
#[cfg(feature = "ros")]
pub(crate) use strict_json::ZERO_BYTE;
pub(crate) use strict_json::refuse_zero_bytes;
pub use world::{Progress, Sample, World, WorldCheckpoint};

use std::sync::Arc;

use crate::bt::{Registry, RegistryError};
use crate::msg::{Goals, Path, PoseStamped};

/// Adds all Nav2 nodes to a registry.
///
/// # Errors
/// [`RegistryError`] if one of the IDs is already registered.
pub fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    action::register(registry)?;
    any::register(registry)?;
    cancel::register(registry)?;
    condition::register(registry)?;
    condition::recovery_help::register(registry)?;
    control::register(registry)?;
    decorator::register(registry)?;
    service::register(registry)?;
    sync::register(registry)?;
    sync::selectors::register(registry)
}

/// The keys that a navigator writes to the blackboard before it ticks. [`registry`] declares the default names; the
/// parameters may change them.
#[derive(Clone, Copy, Debug)]
pub struct ProvidedKeys<'k> {
    /// `goal_blackboard_id`.
    pub goal: &'k str,
    /// `goals_blackboard_id`.
    pub goals: &'k str,
    /// `path_blackboard_id`.
    pub path: &'k str,
    /// `error_code_names`.
    pub error_codes: &'k [&'k str],
}

impl ProvidedKeys<'_> {
    const DEFAULT: ProvidedKeys<'static> = ProvidedKeys {
        goal: "goal",
        goals: "goals",
        path: "path",
        error_codes: &["follow_path_error_code", "compute_path_error_code"],
    };

    /// Declares the keys in a registry and replaces the default names.
    pub fn declare(self, registry: &mut Registry) {
        let default = Self::DEFAULT;
        for key in [default.goal, default.goals, default.path]
            .iter()
            .chain(default.error_codes)
        {
            registry.withdraw_key(key);
        }
        registry.provide_key_as::<Arc<PoseStamped>>(self.goal);
        registry.provide_key_as::<Arc<Goals>>(self.goals);
        registry.provide_key_as::<Arc<Path>>(self.path);
        registry.provide_key_as::<i32>("number_recoveries");
        for key in self.error_codes {
            registry.provide_key_as::<u16>(*key);
        }
    }
}

/// BehaviorTree.CPP's nodes, navtree's own and Nav2's.
pub fn registry() -> Registry {
    let mut registry = Registry::builtin();
    let outcome = register(&mut registry);
    debug_assert_eq!(outcome, Ok(()), "the IDs are distinct");
    registry.mark_extras(&any::IDS);
    ProvidedKeys::DEFAULT.declare(&mut registry);
    registry.adopt_all();
    registry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::{Loaded, Loader};
    use std::path::{Path as FilePath, PathBuf};

    /// Nav2's own trees.
    fn corpus() -> Vec<PathBuf> {
        let root = crate::shared_trees::folder("corpus");
        let folders = root.and_then(|root| std::fs::read_dir(root).ok());
        let folders = folders.into_iter().flatten().flatten();
        let files =
            folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
        let mut files: Vec<PathBuf> = files.map(|file| file.path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "xml"));
        files.sort();
        files
    }

    #[test]
    fn the_trees_of_nav2_compile() {
        let files = corpus();
        let registry = registry();
        for file in files {
            // Nav2's docking example writes `inverter`, which BehaviorTree.CPP refuses as well.
            if file.ends_with("application_example.xml") {
                continue;
            }
            if let Err(refused) = Loader::new(&registry).load_file(&file, None) {
                panic!("{}:\n{refused}", file.display());
            }
        }
    }

    #[test]
    fn conditions_that_never_fire_with_latch_on_activation_are_reported() {
        for condition in ["GoalUpdated", "DistanceTraveled", "TimeExpired"] {
            for (latch, expected) in [(false, 0), (true, 1)] {
                let mut registry = registry();
                registry.set_latch_on_activation(latch);
                let text = format!(
                    "<root BTCPP_format=\"4\"><BehaviorTree ID=\"T\">\n<ReactiveFallback><{condition}/><Wait/>\
                     </ReactiveFallback></BehaviorTree></root>"
                );
                let loaded = Loader::new(&registry).load_text("t.xml", &text, FilePath::new("."), None);
                let Loaded {
                    warnings, sources, ..
                } = loaded.unwrap();
                let reports: Vec<_> = warnings
                    .iter()
                    .map(|warning| warning.one_line(&sources))
                    .collect();
                assert_eq!(reports.len(), expected, "{condition} {reports:?}");
                let place = format!("t.xml:2:20: warning[NT0702]: `{condition}` can never fire");
                assert!(reports.iter().all(|line| line.starts_with(&place)), "{reports:?}");
            }
        }
    }

    /// The problems of a tree of one node with such keys.
    fn report(node: &str, keys: ProvidedKeys<'_>) -> String {
        let mut registry = registry();
        keys.declare(&mut registry);
        let text =
            format!("<root BTCPP_format=\"4\">\n<BehaviorTree ID=\"T\">\n{node}</BehaviorTree></root>");
        let loaded = Loader::new(&registry).load_text("t.xml", &text, FilePath::new("."), None);
        loaded
            .err()
            .map_or_else(String::new, |refused| refused.one_line())
    }

    #[test]
    fn the_keys_of_the_navigator_have_types() {
        for (node, column, key, is, port) in [
            (
                "<ComputePathThroughPoses goals=\"{goal}\" path=\"{path}\"/>",
                33,
                "goal",
                "geometry_msgs/PoseStamped",
                "list<geometry_msgs/PoseStamped>",
            ),
            (
                "<FollowPath path=\"{goal}\"/>",
                19,
                "goal",
                "geometry_msgs/PoseStamped",
                "nav_msgs/Path",
            ),
            (
                "<Sleep msec=\"{goals}\"/>",
                14,
                "goals",
                "list<geometry_msgs/PoseStamped>",
                "unsigned",
            ),
            (
                "<FollowPath path=\"{number_recoveries}\"/>",
                19,
                "number_recoveries",
                "int",
                "nav_msgs/Path",
            ),
            (
                "<FollowPath path=\"{compute_path_error_code}\"/>",
                19,
                "compute_path_error_code",
                "uint16",
                "nav_msgs/Path",
            ),
        ] {
            let line = report(node, ProvidedKeys::DEFAULT);
            let expected = format!(
                "t.xml:3:{column}: error[NT0404]: the key `{key}` is of type {is} and this port of type {port}"
            );
            assert!(line.starts_with(&expected), "{line}");
        }
        for node in [
            "<ComputePathThroughPoses goals=\"{goals}\" path=\"{path}\"/>",
            "<ComputePathToPose goal=\"{goal}\" path=\"{path}\" error_code_id=\"{compute_path_error_code}\"/>",
            "<Sleep msec=\"{number_recoveries}\"/>",
            "<SetBlackboard value=\"{goal}\" output_key=\"other\"/>",
        ] {
            assert_eq!(report(node, ProvidedKeys::DEFAULT), "");
        }
    }

    #[test]
    fn the_typed_keys_follow_the_parameters_of_the_navigator() {
        let keys = ProvidedKeys {
            goal: "target",
            error_codes: &["code"],
            ..ProvidedKeys::DEFAULT
        };
        assert_eq!(report("<Sleep msec=\"{goal}\"/>", keys), "");
        assert_eq!(
            report("<FollowPath path=\"{follow_path_error_code}\"/>", keys),
            ""
        );
        assert!(report("<Sleep msec=\"{target}\"/>", keys).contains("NT0404"));
        assert!(report("<FollowPath path=\"{code}\"/>", keys).contains("uint16"));
    }

    #[test]
    fn a_key_passed_to_a_subtree_keeps_its_type() {
        let text = "<root BTCPP_format=\"4\" main_tree_to_execute=\"A\">\n\
            <BehaviorTree ID=\"A\"><SubTree ID=\"B\" way=\"{goal}\"/></BehaviorTree>\n\
            <BehaviorTree ID=\"B\"><FollowPath path=\"{way}\"/></BehaviorTree></root>";
        let registry = registry();
        let loaded = Loader::new(&registry).load_text("t.xml", text, FilePath::new("."), None);
        let line = loaded.unwrap_err().one_line();
        assert!(
            line.starts_with("t.xml:3:40: error[NT0404]: the key `goal`"),
            "{line}"
        );
    }

    #[test]
    fn every_node_is_documented() {
        for manifest in registry().manifests() {
            assert!(manifest.doc.ends_with('.'), "{}", manifest.id);
            for port in &manifest.ports {
                assert!(port.doc.ends_with('.'), "{} {}", manifest.id, port.name);
            }
        }
    }
}
