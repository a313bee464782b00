//! Builds trees in code. The nesting of the functions is the nesting of the tree.
//!
//! ```
//! use navtree::bt::builder::{forest, leaf, reactive_sequence, retry, sequence, subtree, tree};
//! use navtree::bt::{NodeStatus, Registry, Time, Tree, compile};
//!
//! let mut registry = Registry::builtin();
//! registry.condition("BatteryOk", |_| NodeStatus::Success)?;
//! registry.action("Drive", |_| Ok(NodeStatus::Success))?;
//!
//! let forest = forest([
//!     tree("Patrol", reactive_sequence([
//!         leaf("BatteryOk"),
//!         sequence([
//!             retry(3, leaf("Drive").name("to the dock")),
//!             subtree("Return").port("_autoremap", true),
//!         ]),
//!     ])),
//!     tree("Return", leaf("Drive")),
//! ]);
//! let compiled = compile(&forest, "Patrol", &registry).unwrap();
//! let mut tree = Tree::new(compiled.def);
//! assert_eq!(tree.tick(Time::ZERO)?, NodeStatus::Success);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A project extends the builder with its own functions that return a [`NodeBuilder`].

use std::borrow::Cow;

use super::definition::Span;
use super::dialect::Dialect;
use super::spec::{AttributeSpec, ForestSpec, NodeSpec, SubTreeForm, TreeSpec};

/// A node under construction.
#[derive(Clone, Debug)]
#[must_use = "add the node to a tree"]
pub struct NodeBuilder {
    spec: NodeSpec<'static>,
}

impl NodeBuilder {
    fn new(id: Cow<'static, str>, subtree: Option<SubTreeForm>) -> Self {
        Self {
            spec: NodeSpec {
                id,
                subtree,
                name: None,
                attributes: Vec::new(),
                children: Vec::new(),
                span: Span::default(),
            },
        }
    }

    /// Sets the instance name. The default is the ID.
    pub fn name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.spec.name = Some(name.into());
        self
    }

    /// Sets a port in the text form of a file: `0.5`, `{key}`. Also sets other attributes (`_skipIf`).
    #[expect(
        clippy::needless_pass_by_value,
        reason = "literals read better without a reference"
    )]
    pub fn port(mut self, name: impl Into<Cow<'static, str>>, value: impl ToString) -> Self {
        self.spec
            .attributes
            .push(AttributeSpec::new(name, value.to_string()));
        self
    }

    /// Adds a child.
    pub fn child(mut self, child: Self) -> Self {
        self.spec.children.push(child.spec);
        self
    }

    /// Adds children.
    pub fn children(mut self, children: impl IntoIterator<Item = Self>) -> Self {
        self.spec
            .children
            .extend(children.into_iter().map(|child| child.spec));
        self
    }

    /// `_failureIf`: the node fails instead of starting if the script is true.
    pub fn failure_if(self, script: &str) -> Self {
        self.port("_failureIf", script)
    }

    /// `_successIf`: the node succeeds instead of starting if the script is true.
    pub fn success_if(self, script: &str) -> Self {
        self.port("_successIf", script)
    }

    /// `_skipIf`: the node is skipped instead of starting if the script is true.
    pub fn skip_if(self, script: &str) -> Self {
        self.port("_skipIf", script)
    }

    /// `_while`: the node runs only while the script is true. It is halted and skipped when the script becomes false.
    pub fn while_true(self, script: &str) -> Self {
        self.port("_while", script)
    }

    /// `_onHalted`: runs the script after the node was halted.
    pub fn on_halted(self, script: &str) -> Self {
        self.port("_onHalted", script)
    }

    /// `_onSuccess`: runs the script after the node succeeded.
    pub fn on_success(self, script: &str) -> Self {
        self.port("_onSuccess", script)
    }

    /// `_onFailure`: runs the script after the node failed.
    pub fn on_failure(self, script: &str) -> Self {
        self.port("_onFailure", script)
    }

    /// `_post`: runs the script after the node completed.
    pub fn post(self, script: &str) -> Self {
        self.port("_post", script)
    }

    /// `_priority`: a script with the priority among its siblings, evaluated when the parent starts from its first
    /// child. Higher priorities go first; equal ones keep the file order. The default is 1.
    pub fn priority(self, script: &str) -> Self {
        self.port("_priority", script)
    }
}

/// A node of any registered type.
pub fn node(id: impl Into<Cow<'static, str>>) -> NodeBuilder {
    NodeBuilder::new(id.into(), None)
}

/// An action or a condition.
pub fn leaf(id: impl Into<Cow<'static, str>>) -> NodeBuilder {
    node(id)
}

/// An instance of another tree.
pub fn subtree(id: impl Into<Cow<'static, str>>) -> NodeBuilder {
    NodeBuilder::new(id.into(), Some(SubTreeForm::Plain))
}

/// A tree.
pub fn tree(id: impl Into<Cow<'static, str>>, root: NodeBuilder) -> TreeSpec<'static> {
    TreeSpec {
        id: id.into(),
        root: root.spec,
        dialect: Dialect::V4,
        span: Span::default(),
    }
}

/// A set of trees that refer to each other.
pub fn forest(trees: impl IntoIterator<Item = TreeSpec<'static>>) -> ForestSpec<'static> {
    ForestSpec {
        trees: trees.into_iter().map(|tree| (tree.id.clone(), tree)).collect(),
        ..ForestSpec::default()
    }
}

macro_rules! controls {
    ($($name:ident, $id:literal;)*) => {$(
        #[doc = concat!("`", $id, "`.")]
        pub fn $name(children: impl IntoIterator<Item = NodeBuilder>) -> NodeBuilder {
            node($id).children(children)
        }
    )*};
}

controls! {
    sequence, "Sequence";
    sequence_with_memory, "SequenceWithMemory";
    reactive_sequence, "ReactiveSequence";
    fallback, "Fallback";
    reactive_fallback, "ReactiveFallback";
    parallel, "Parallel";
    parallel_all, "ParallelAll";
    if_then_else, "IfThenElse";
    while_do_else, "WhileDoElse";
    try_catch, "TryCatch";
    random_selector, "RandomSelector";
    stateful_sequence, "StatefulSequence";
    stateful_selector, "StatefulSelector";
    stateful_parallel, "StatefulParallel";
}

macro_rules! decorators {
    ($($name:ident, $id:literal;)*) => {$(
        #[doc = concat!("`", $id, "`.")]
        pub fn $name(child: NodeBuilder) -> NodeBuilder {
            node($id).child(child)
        }
    )*};
}

decorators! {
    inverter, "Inverter";
    force_success, "ForceSuccess";
    force_failure, "ForceFailure";
    keep_running_until_failure, "KeepRunningUntilFailure";
    run_once, "RunOnce";
}

/// `Repeat`: runs the child until it succeeded `times` times; -1 means no limit.
pub fn repeat(times: i32, child: NodeBuilder) -> NodeBuilder {
    node("Repeat").port("num_cycles", times).child(child)
}

/// `RetryUntilSuccessful`: runs the child until it succeeds or failed `attempts` times; -1 means no limit.
pub fn retry(attempts: i32, child: NodeBuilder) -> NodeBuilder {
    node("RetryUntilSuccessful")
        .port("num_attempts", attempts)
        .child(child)
}

/// `Timeout`: runs the child for at most `milliseconds`.
pub fn timeout(milliseconds: u32, child: NodeBuilder) -> NodeBuilder {
    node("Timeout").port("msec", milliseconds).child(child)
}

/// `Delay`: starts the child after `milliseconds`.
pub fn delay(milliseconds: u32, child: NodeBuilder) -> NodeBuilder {
    node("Delay").port("delay_msec", milliseconds).child(child)
}
