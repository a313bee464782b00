//! Substitution rules in BehaviorTree.CPP's JSON format: they replace nodes of a tree by other nodes.
//!
//! ```
//! use navtree::bt::builder::{forest, leaf, sequence, tree};
//! use navtree::bt::{NodeStatus, Registry, Substitutions, Time, Tree, compile};
//!
//! let mut registry = Registry::builtin();
//! registry.action("Drive", |_| Ok(NodeStatus::Success)).unwrap();
//! let rules = Substitutions::from_json(
//!     r#"{
//!         "TestNodeConfigs": { "Slow": { "return_status": "FAILURE", "async_delay": 100 } },
//!         "SubstitutionRules": { "Drive": "Slow" }
//!     }"#,
//! )?;
//! registry.set_substitutions(&rules)?;
//!
//! let forest = forest([tree("Main", sequence([leaf("Drive")]))]);
//! let mut tree = Tree::new(compile(&forest, "Main", &registry).unwrap().def);
//! assert_eq!(tree.tick(Time::ZERO).unwrap(), NodeStatus::Running);
//! assert_eq!(tree.tick(Time::from_millis(100)).unwrap(), NodeStatus::Failure);
//! # Ok::<(), navtree::bt::SubstitutionError>(())
//! ```

use std::sync::Arc;
use std::time::Duration;

use super::behavior::Behavior;
use super::definition::NodeInfo;
use super::dialect::Dialect;
use super::event::matches;
use super::nodes::{TestNode, TestNodeConfig};
use super::port_decl::Ports;
use super::registry::{NodeType, Registry};
use super::status::NodeStatus;
use super::substitute::Substitute;

/// Rules in the order in which they were added. The first matching rule applies; BehaviorTree.CPP does not define
/// which.
#[derive(Clone, Debug, Default)]
pub struct Substitutions {
    rules: Vec<(String, StandIn)>,
}

#[derive(Clone, Debug)]
enum StandIn {
    /// A node of another registered type.
    Node(String),
    Test(Arc<TestNodeConfig>),
}

/// An error in substitution rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubstitutionError {
    /// The text is not JSON or has the wrong structure.
    #[error("the substitution rules cannot be read: {0}")]
    Form(String),
    /// A test configuration has no result.
    #[error("the test configuration `{0}` needs a return_status or a return_status_script")]
    NoStatus(String),
    /// A node cannot return this status.
    #[error("the test configuration `{config}` returns `{status}`: SUCCESS, FAILURE, RUNNING or SKIPPED")]
    BadStatus {
        /// The configuration.
        config: String,
        /// The status.
        status: String,
    },
    /// A rule names neither a test configuration nor a node type.
    #[error(
        "the rule for `{filter}` names `{target}`, which is neither a test configuration nor a registered node"
    )]
    UnknownTarget {
        /// The filter of the rule.
        filter: String,
        /// The unknown target.
        target: String,
    },
}

#[derive(serde::Deserialize)]
struct Document {
    #[serde(rename = "TestNodeConfigs", default)]
    configs: serde_json::Map<String, serde_json::Value>,
    #[serde(rename = "SubstitutionRules")]
    rules: serde_json::Map<String, serde_json::Value>,
}

#[derive(serde::Deserialize)]
struct Config {
    return_status: Option<String>,
    #[serde(default)]
    return_status_script: String,
    #[serde(default)]
    async_delay: i64,
    #[serde(default)]
    success_script: String,
    #[serde(default)]
    failure_script: String,
    #[serde(default)]
    post_script: String,
}

impl Substitutions {
    /// No rules.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the nodes that match the filter by nodes of a registered type. The filter is an instance name, a
    /// registered ID, or a path pattern (`*` matches any characters, `?` one).
    pub fn node(&mut self, filter: impl Into<String>, id: impl Into<String>) -> &mut Self {
        self.rules.push((filter.into(), StandIn::Node(id.into())));
        self
    }

    /// Replaces the nodes that match the filter by test nodes.
    pub fn test(&mut self, filter: impl Into<String>, config: TestNodeConfig) -> &mut Self {
        self.rules.push((filter.into(), StandIn::Test(Arc::new(config))));
        self
    }

    /// Reads BehaviorTree.CPP's JSON.
    ///
    /// # Errors
    /// [`SubstitutionError`].
    pub fn from_json(text: &str) -> Result<Self, SubstitutionError> {
        let form = |error: serde_json::Error| SubstitutionError::Form(error.to_string());
        let document: Document = serde_json::from_str(text).map_err(form)?;
        let mut configs = Vec::with_capacity(document.configs.len());
        for (name, value) in document.configs {
            let config: Config = serde_json::from_value(value)
                .map_err(|error| SubstitutionError::Form(format!("TestNodeConfigs, {name}: {error}")))?;
            configs.push((name.clone(), Arc::new(config.read(&name)?)));
        }
        let mut rules = Self::new();
        for (filter, target) in document.rules {
            let Some(target) = target.as_str() else {
                return Err(SubstitutionError::Form(format!(
                    "SubstitutionRules, {filter}: {target} is not a text"
                )));
            };
            let config = configs.iter().find(|(name, _)| name == target);
            let stand_in = match config {
                Some((_, config)) => StandIn::Test(Arc::clone(config)),
                None => StandIn::Node(target.to_owned()),
            };
            rules.rules.push((filter, stand_in));
        }
        Ok(rules)
    }
}

impl Config {
    fn read(self, name: &str) -> Result<TestNodeConfig, SubstitutionError> {
        let return_status = match &self.return_status {
            Some(status) => NodeStatus::from_name(status)
                .filter(|status| *status != NodeStatus::Idle || !self.return_status_script.is_empty())
                .ok_or_else(|| SubstitutionError::BadStatus {
                    config: name.to_owned(),
                    status: status.clone(),
                })?,
            None if self.return_status_script.is_empty() => {
                return Err(SubstitutionError::NoStatus(name.to_owned()));
            }
            None => NodeStatus::Success,
        };
        Ok(TestNodeConfig {
            return_status,
            return_status_script: self.return_status_script,
            async_delay: Duration::from_millis(self.async_delay.try_into().unwrap_or(0)),
            success_script: self.success_script,
            failure_script: self.failure_script,
            post_script: self.post_script,
            complete: None,
        })
    }
}

impl Registry {
    /// Sets the rules for all trees that are compiled from now on. Replaces the previous rules.
    ///
    /// # Errors
    /// [`SubstitutionError::UnknownTarget`].
    pub fn set_substitutions(&mut self, rules: &Substitutions) -> Result<(), SubstitutionError> {
        let mut resolved = Vec::with_capacity(rules.rules.len());
        for (filter, stand_in) in &rules.rules {
            let stand_in = match stand_in {
                StandIn::Test(config) => Resolved::Test(Arc::clone(config)),
                StandIn::Node(id) => match self.get(id, Dialect::V4) {
                    Some(node) => Resolved::Node(node.clone()),
                    None => {
                        return Err(SubstitutionError::UnknownTarget {
                            filter: filter.clone(),
                            target: id.clone(),
                        });
                    }
                },
            };
            resolved.push((filter.clone(), stand_in));
        }
        self.set_substitute(Some(Arc::new(Rules(resolved))));
        Ok(())
    }
}

/// Rules with resolved node types.
struct Rules(Vec<(String, Resolved)>);

enum Resolved {
    Node(NodeType),
    Test(Arc<TestNodeConfig>),
}

impl Substitute for Rules {
    fn behavior(&self, node: &NodeInfo, ports: &mut Ports<'_>) -> Option<Box<dyn Behavior>> {
        let (_, stand_in) = self.0.iter().find(|(filter, _)| {
            **filter == *node.name || **filter == *node.id || matches(filter, &node.path)
        })?;
        match stand_in {
            Resolved::Test(config) => Some(Box::new(TestNode::bind(config, ports))),
            Resolved::Node(stand_in) => {
                let children = ports.children();
                let (least, most) = stand_in.manifest.children;
                if children < least || children > most {
                    let id = &stand_in.manifest.id;
                    ports.problem(format!("`{id}` cannot replace a node with {children} children"));
                    return None;
                }
                Some((stand_in.make)(ports))
            }
        }
    }

    fn adopt(&self, leaf: &NodeInfo, ports: &mut Ports<'_>) -> Option<Box<dyn Behavior>> {
        self.behavior(leaf, ports)
    }

    fn covers_subtrees(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::Time;
    use crate::bt::builder::{leaf as node, sequence, subtree};
    use crate::bt::testing::{Running, Scene, leaf};

    fn with(json: &'static str) -> impl FnOnce(&mut Registry) {
        move |registry| {
            registry
                .set_substitutions(&Substitutions::from_json(json).unwrap())
                .unwrap();
        }
    }

    #[test]
    fn names_ids_and_patterns_of_paths_match() {
        for filter in ["a", "ScriptedAction", "*a", "?"] {
            let mut rules = Substitutions::new();
            rules.node(filter, "AlwaysFailure");
            let scene = Scene::new(sequence([leaf("a", "S")]));
            scene
                .registry(|registry| registry.set_substitutions(&rules).unwrap())
                .check(
                    "= a
                 F .",
                );
        }
    }

    #[test]
    fn a_test_node_completes_after_its_delay_and_runs_its_scripts() {
        let json = r#"{
            "TestNodeConfigs": { "Test": {
                "return_status": "SUCCESS", "async_delay": 100,
                "success_script": "x := 1", "failure_script": "x := 2", "post_script": "y := x"
            } },
            "SubstitutionRules": { "a": "Test" }
        }"#;
        Scene::new(sequence([leaf("a", "F")])).registry(with(json)).check(
            "= a
             @0 R . x=none
             @99 R . x=none
             @100 S . x=1 y=1
             @110 R .",
        );
    }

    #[test]
    fn a_script_returns_the_status_as_text_or_by_name() {
        for (script, letter) in [
            ("'FAILURE'", "F"),
            ("want == 1 ? SUCCESS : FAILURE", "S"),
            ("want == 2 ? SUCCESS : SKIPPED", "-"),
            ("1", "R"),
            ("'nonsense'", "E"),
            ("IDLE", "E"),
        ] {
            let mut rules = Substitutions::new();
            rules.test(
                "a",
                TestNodeConfig {
                    return_status_script: script.to_owned(),
                    ..TestNodeConfig::default()
                },
            );
            let scene = Scene::new(sequence([leaf("a", "S")])).set("want", 1_i32);
            let scene = scene.registry(|registry| registry.set_substitutions(&rules).unwrap());
            scene.check(&format!("=\n {letter}"));
        }
    }

    #[test]
    fn a_function_returns_the_status() {
        let mut rules = Substitutions::new();
        rules.test(
            "a",
            TestNodeConfig {
                complete: Some(Arc::new(|cx| {
                    if cx.now() < Time::from_millis(50) {
                        NodeStatus::Failure
                    } else {
                        NodeStatus::Success
                    }
                })),
                ..TestNodeConfig::default()
            },
        );
        let scene = Scene::new(sequence([leaf("a", "S")]));
        scene
            .registry(|registry| registry.set_substitutions(&rules).unwrap())
            .check(
                "=
             @0 F
             @50 S",
            );
    }

    #[test]
    fn a_subtree_is_replaced_entirely_and_keeps_its_id() {
        let json = r#"{ "SubstitutionRules": { "Inner::2": "AlwaysFailure", "SubTree": "AlwaysSuccess" } }"#;
        let scene = Scene::new(sequence([subtree("Inner"), subtree("Other")]));
        let scene = scene.with("Inner", leaf("a", "S")).with("Other", leaf("b", "F"));
        let mut run = Running::new(scene.registry(with(json)).compile().unwrap(), false);
        run.check(
            "= a b
             F . .",
        );
        let def = run.tree.definition();
        let ids: Vec<&str> = def.nodes().map(|(_, node)| &*node.id).collect();
        assert_eq!(ids, ["Sequence", "SubTree", "SubTree"]);
    }

    #[test]
    fn ports_are_checked_against_the_original_node() {
        let json = r#"{ "SubstitutionRules": { "Sleep": "AlwaysSuccess" } }"#;
        Scene::new(node("Sleep").port("msec", 5))
            .registry(with(json))
            .check("=\n S");
        let refused = Scene::new(node("Sleep").port("msek", 5))
            .registry(with(json))
            .refused();
        assert!(refused.contains("msec") || refused.contains("msek"), "{refused}");
        let json = r#"{ "SubstitutionRules": { "a": "Inverter" } }"#;
        let refused = Scene::new(leaf("a", "S")).registry(with(json)).refused();
        assert_eq!(refused, "`Inverter` cannot replace a node with 0 children");
    }

    #[test]
    fn invalid_rules_are_refused() {
        let error = |json| Substitutions::from_json(json).unwrap_err().to_string();
        assert!(error("{}").contains("SubstitutionRules"));
        assert!(error("[").contains("cannot be read"));
        assert!(error(r#"{"TestNodeConfigs": {"T": {}}, "SubstitutionRules": {}}"#).contains("`T` needs"));
        let idle = r#"{"TestNodeConfigs": {"T": {"return_status": "IDLE"}}, "SubstitutionRules": {}}"#;
        assert!(error(idle).contains("`IDLE`"));
        let rules = Substitutions::from_json(r#"{"SubstitutionRules": {"a": "Nobody"}}"#).unwrap();
        let error = Registry::builtin().set_substitutions(&rules).unwrap_err();
        assert!(error.to_string().contains("`Nobody`"), "{error}");
    }
}
