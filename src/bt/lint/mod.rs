//! What a tree may do and most likely does not want: one file a warning.
//!
//! All of it rests on what nodes say of themselves ([`Conduct`]). Nodes that are known from a palette or from mocks only
//! are given the benefit of the doubt: a warning must be true.

mod never_fires;
mod never_written;
mod two_asynchronous;
mod unreachable;

pub(crate) use never_written::Written;

use rustc_hash::FxHashMap;

use super::behavior::{Behavior, Dialect};
use super::conduct::{Conduct, Outcomes};
use super::definition::{NodeDef, NodeIndex, NodeInfo};
use super::guard::Guards;
use super::problem::Problem;

/// The parts of a definition that is about to be finished.
pub(crate) struct Subject<'l> {
    pub(crate) info: &'l [NodeInfo],
    pub(crate) behaviors: &'l [(Box<dyn Behavior>, u32)],
    /// The children of node `i` are `children[first_child[i]..first_child[i + 1]]`.
    pub(crate) first_child: &'l [u32],
    pub(crate) children: &'l [u32],
    pub(crate) guards: &'l FxHashMap<u32, Guards>,
    pub(crate) dialect: Dialect,
    pub(crate) written: Written<'l>,
    /// [`Conduct::latches_on_request`]: it is requested.
    pub(crate) latch_on_activation: bool,
}

impl Subject<'_> {
    fn children(&self, node: usize) -> &[u32] {
        &self.children[self.first_child[node] as usize..self.first_child[node + 1] as usize]
    }

    /// The children that a node may tick: one that is never ticked neither runs on nor resets anything.
    fn ticked(&self, node: usize, conducts: &[Conduct]) -> impl Iterator<Item = usize> {
        let children = self.children(node).iter().take(conducts[node].reached);
        children.map(|child| *child as usize)
    }

    fn id(&self, node: usize) -> &str {
        &self.info[node].id
    }

    fn parent(&self, node: usize) -> Option<usize> {
        self.info[node].parent.map(NodeIndex::index)
    }

    /// Every node's conduct, from the leaves up: children have higher numbers.
    fn conducts(&self) -> Vec<Conduct> {
        let mut conducts = vec![Conduct::synchronous(); self.info.len()];
        let mut of_children = Vec::new();
        for node in (0..self.info.len()).rev() {
            of_children.clear();
            of_children.extend(self.children(node).iter().map(|child| conducts[*child as usize]));
            conducts[node] = self.conduct(node, &of_children);
        }
        conducts
    }

    fn conduct(&self, node: usize, children: &[Conduct]) -> Conduct {
        let (behavior, flags) = &self.behaviors[node];
        let kind = self.info[node].kind;
        let mut conduct = if flags & NodeDef::UNKNOWN != 0 {
            // Whether it runs on is not known, and what is not known is not warned of.
            Conduct::always(Outcomes::COMPLETED | Outcomes::SKIPPED)
        } else if flags & NodeDef::PRIORITY != 0 {
            // Its children come in any order.
            Conduct {
                reactive: behavior.conduct(kind, children).reactive,
                ..Conduct::of(kind, children)
            }
        } else {
            behavior.conduct(kind, children)
        };
        conduct.latches |= conduct.latches_on_request && self.latch_on_activation;
        if let Some(guards) = self.guards.get(&(node as u32)) {
            for (script, forced) in [
                (&guards.failure_if, Outcomes::FAILURE),
                (&guards.success_if, Outcomes::SUCCESS),
                (&guards.skip_if, Outcomes::SKIPPED),
                (&guards.while_true, Outcomes::SKIPPED),
            ] {
                if script.is_some() {
                    conduct = conduct.or(forced).at_times();
                }
            }
        }
        conduct
    }
}

/// Looks a compiled tree over.
pub(crate) fn lint(subject: &Subject<'_>, problems: &mut Vec<Problem>) {
    never_written::lint(&subject.written, problems);
    let conducts = subject.conducts();
    unreachable::lint(subject, &conducts, problems);
    never_fires::lint(subject, &conducts, problems);
    two_asynchronous::lint(subject, &conducts, problems);
}

/// What the checker says of trees of a few leaves.
#[cfg(test)]
mod testing {
    use crate::bt::builder::{NodeBuilder, forest, tree};
    use crate::bt::{
        Behavior, Conduct, Context, Node, NodeKind, NodeStatus, Output, Ports, Registry, Text, Tick, compile,
    };

    struct Leaf {
        conduct: Conduct,
    }

    impl Behavior for Leaf {
        fn tick(&self, _cx: &mut Context<'_>) -> Tick {
            Ok(NodeStatus::Success)
        }

        fn conduct(&self, _kind: NodeKind, _children: &[Conduct]) -> Conduct {
            self.conduct
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
        let action = Conduct::of(NodeKind::Action, &[]);
        let condition = Conduct::of(NodeKind::Condition, &[]);
        for (id, kind, conduct) in [
            ("Drive", NodeKind::Action, action),
            ("Say", NodeKind::Action, Conduct::synchronous()),
            ("IsDay", NodeKind::Condition, condition),
            ("HasMoved", NodeKind::Condition, condition.latching()),
        ] {
            let make = move |ports: &mut Ports<'_>| {
                if id == "Say" {
                    ports.input::<Text>("text").default("{unset}").bind();
                }
                Box::new(Leaf { conduct }) as Box<dyn Behavior>
            };
            registry.register_with(id, kind, kind.arity(), "", make).unwrap();
        }
        registry.register::<Ask>().unwrap();
        registry.provide_key("charge");
        registry.provide_key("there");
        registry.enums_mut().insert("NIGHT", 1).unwrap();
        registry
    }

    /// What is said of a tree.
    pub(super) fn messages(root: NodeBuilder) -> Vec<String> {
        messages_of([("Main", root)])
    }

    /// What is said of several trees, `Main` the main one.
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
