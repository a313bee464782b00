//! Warnings about trees that are valid but probably wrong; one file per warning.
//!
//! The warnings use the declared results and effects of nodes ([`NodeEffects`]). For a node known only from a palette
//! or from mocks, no warning is given: a warning must be true.

mod never_fires;
mod never_written;
mod two_asynchronous;
mod unreachable;

pub(crate) use never_written::Written;

use rustc_hash::FxHashMap;

use super::behavior::Behavior;
use super::definition::{NodeDef, NodeIndex, NodeInfo};
use super::dialect::Dialect;
use super::guard::Guards;
use super::node_effects::{NodeEffects, Outcomes};
use super::problem::Problem;
use super::spec::label;

/// The parts of a definition before it is finished.
pub(crate) struct Subject<'l> {
    pub(crate) info: &'l [NodeInfo],
    pub(crate) behaviors: &'l [(Box<dyn Behavior>, u32)],
    /// The children of node `i` are `children[first_child[i]..first_child[i + 1]]`.
    pub(crate) first_child: &'l [u32],
    pub(crate) children: &'l [u32],
    pub(crate) guards: &'l FxHashMap<u32, Guards>,
    pub(crate) dialect: Dialect,
    pub(crate) written: Written<'l>,
    /// Whether [`NodeEffects::latches_on_request`] is requested.
    pub(crate) latch_on_activation: bool,
}

impl Subject<'_> {
    fn children(&self, node: usize) -> &[u32] {
        &self.children[self.first_child[node] as usize..self.first_child[node + 1] as usize]
    }

    /// The children that a node may tick. A child that is never ticked neither runs nor resets anything.
    fn ticked(&self, node: usize, node_effects_list: &[NodeEffects]) -> impl Iterator<Item = usize> {
        let children = self.children(node).iter().take(node_effects_list[node].reached);
        children.map(|child| *child as usize)
    }

    fn id(&self, node: usize) -> &str {
        &self.info[node].id
    }

    /// The node for messages.
    fn label(&self, node: usize) -> String {
        label(&self.info[node].id, &self.info[node].name)
    }

    fn parent(&self, node: usize) -> Option<usize> {
        self.info[node].parent.map(NodeIndex::index)
    }

    /// The effects of every node, computed from the leaves up: children have higher indices.
    fn node_effects_list(&self) -> Vec<NodeEffects> {
        let mut node_effects_list = vec![NodeEffects::synchronous(); self.info.len()];
        let mut of_children = Vec::new();
        for node in (0..self.info.len()).rev() {
            of_children.clear();
            of_children.extend(
                self.children(node)
                    .iter()
                    .map(|child| node_effects_list[*child as usize]),
            );
            node_effects_list[node] = self.node_effects(node, &of_children);
        }
        node_effects_list
    }

    fn node_effects(&self, node: usize, children: &[NodeEffects]) -> NodeEffects {
        let (behavior, flags) = &self.behaviors[node];
        let kind = self.info[node].kind;
        let mut node_effects = if flags & NodeDef::UNKNOWN != 0 {
            // It is unknown whether this node keeps running, so it causes no warning.
            NodeEffects::always(Outcomes::COMPLETED | Outcomes::SKIPPED)
        } else if flags & NodeDef::PRIORITY != 0 {
            // An unknown control node may tick its children in any order.
            NodeEffects {
                reactive: behavior.node_effects(kind, children).reactive,
                ..NodeEffects::of(kind, children)
            }
        } else {
            behavior.node_effects(kind, children)
        };
        node_effects.latches |= node_effects.latches_on_request && self.latch_on_activation;
        if let Some(guards) = self.guards.get(&(node as u32)) {
            for (script, forced) in [
                (&guards.failure_if, Outcomes::FAILURE),
                (&guards.success_if, Outcomes::SUCCESS),
                (&guards.skip_if, Outcomes::SKIPPED),
                (&guards.while_true, Outcomes::SKIPPED),
            ] {
                if script.is_some() {
                    node_effects = node_effects.or(forced).at_times();
                }
            }
        }
        node_effects
    }
}

/// Checks a compiled tree.
pub(crate) fn lint(subject: &Subject<'_>, problems: &mut Vec<Problem>) {
    never_written::lint(&subject.written, problems);
    let node_effects_list = subject.node_effects_list();
    unreachable::lint(subject, &node_effects_list, problems);
    never_fires::lint(subject, &node_effects_list, problems);
    two_asynchronous::lint(subject, &node_effects_list, problems);
}

/// The warnings for small trees.
#[cfg(test)]
mod testing {
    use crate::bt::builder::{NodeBuilder, forest, tree};
    use crate::bt::{
        Behavior, Context, Node, NodeEffects, NodeKind, NodeStatus, Output, Ports, Registry, Text, Tick,
        compile,
    };

    struct Leaf {
        node_effects: NodeEffects,
    }

    impl Behavior for Leaf {
        fn tick(&self, _cx: &mut Context<'_>) -> Tick {
            Ok(NodeStatus::Success)
        }

        fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
            self.node_effects
        }
    }

    struct Ask(Output<Text>);

    impl Node for Ask {
        const ID: &'static str = "Ask";
        const KIND: NodeKind = NodeKind::Action;
        const DOC: &'static str = "";

        fn bind(ports: &mut Ports<'_>) -> Self {
            Self(ports.output("answer").bind())
        }
    }

    impl Behavior for Ask {
        fn tick(&self, cx: &mut Context<'_>) -> Tick {
            self.0.set(cx, "yes".into())?;
            Ok(NodeStatus::Success)
        }
    }

    fn registry() -> Registry {
        let mut registry = Registry::builtin();
        let action = NodeEffects::of(NodeKind::Action, &[]);
        let condition = NodeEffects::of(NodeKind::Condition, &[]);
        for (id, kind, node_effects) in [
            ("Drive", NodeKind::Action, action),
            ("Say", NodeKind::Action, NodeEffects::synchronous()),
            ("IsDay", NodeKind::Condition, condition),
            ("HasMoved", NodeKind::Condition, condition.latching()),
        ] {
            let make = move |ports: &mut Ports<'_>| {
                if id == "Say" {
                    ports.input::<Text>("text").default("{unset}").bind();
                }
                Box::new(Leaf { node_effects }) as Box<dyn Behavior>
            };
            registry.register_with(id, kind, kind.arity(), "", make).unwrap();
        }
        registry.register::<Ask>().unwrap();
        registry.provide_key("charge");
        registry.provide_key("there");
        registry.enums_mut().insert("NIGHT", 1).unwrap();
        registry
    }

    /// The warnings for a tree.
    pub(super) fn messages(root: NodeBuilder) -> Vec<String> {
        messages_of([("Main", root)])
    }

    /// The warnings for several trees; `Main` is the main tree.
    pub(super) fn messages_of<const N: usize>(trees: [(&'static str, NodeBuilder); N]) -> Vec<String> {
        let forest = forest(trees.map(|(id, root)| tree(id, root)));
        let problems = match compile(&forest, "Main", &registry()) {
            Ok(compiled) => compiled.warnings,
            Err(problems) => problems,
        };
        problems
            .iter()
            .map(|problem| format!("{:?}: {}", problem.kind, problem.message))
            .collect()
    }
}
