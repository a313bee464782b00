//! The behavior of a node that is not a subtree, and of a node that a substitution rule replaces.

use super::Compiler;
use crate::bt::behavior::Behavior;
use crate::bt::binder::Binder;
use crate::bt::blackboard::ScopeId;
use crate::bt::change::{Change, Confidence};
use crate::bt::definition::{NodeDef, NodeIndex, NodeInfo};
use crate::bt::dialect::Dialect;
use crate::bt::kind::NodeKind;
use crate::bt::node::Manifest;
use crate::bt::node_effects::Outcomes;
use crate::bt::nodes::SubTree;
use crate::bt::port_decl::Ports;
use crate::bt::problem::{Problem, ProblemKind};
use crate::bt::registry::NodeType;
use crate::bt::spec::{NodeSpec, TreeSpec};
use crate::bt::suggest::nearest;

/// Controls that BehaviorTree.CPP 3.8 runs without children.
const RUN_WITHOUT_CHILDREN: [&str; 2] = ["ReactiveFallback", "ReactiveSequence"];

/// The problem of a node with too few or too many children.
fn child_count(spec: &NodeSpec<'_>, least: usize, most: usize) -> Problem {
    let count = spec.children.len();
    let wanted = match (least, most) {
        (0, 0) => "no children".to_owned(),
        (1, 1) => "exactly one child".to_owned(),
        (1, usize::MAX) => "at least one child".to_owned(),
        (least, usize::MAX) => format!("at least {least} children"),
        (least, most) if least == most => format!("exactly {least} children"),
        (least, most) => format!("{least} to {most} children"),
    };
    let help = match (count, most) {
        (_, 0) => "a leaf has no children: move them behind it, into its parent",
        (0, _) => "put a node into it, or remove it",
        (_, 1) => "put its children into one `<Sequence>` or another control node",
        _ if count < least => "add the missing children; `<AlwaysSuccess/>` does nothing",
        _ => "move the other children behind it, or put several into one control node",
    };
    let message = format!("{} takes {wanted} and has {count}", spec.label());
    Problem::new(ProblemKind::ChildCount, spec.span, message).help(help)
}

impl Compiler<'_, '_> {
    /// Adds the behavior of a node that is not a subtree, and its flags.
    pub(super) fn add_behavior(
        &mut self,
        tree: &TreeSpec<'_>,
        spec: &NodeSpec<'_>,
        scope: ScopeId,
        node_type: Option<&NodeType>,
        index: NodeIndex,
    ) {
        let (behavior, substituted) = self.build(tree, spec, scope, node_type, index);
        let kind = self.info[index.index()].kind;
        let open = node_type.is_some_and(|node_type| node_type.manifest.open || node_type.declared_only);
        // A mock may replace any node.
        let unknown = open || substituted || node_type.is_none();
        let answers = || {
            !behavior
                .node_effects(kind, &[])
                .outcomes
                .contains(Outcomes::RUNNING)
        };
        let mut flags = match kind {
            NodeKind::Decorator if !behavior.resets_child() => NodeDef::RESETS_CHILD,
            NodeKind::Condition if !unknown && answers() => NodeDef::CONDITION,
            NodeKind::Condition
            | NodeKind::Action
            | NodeKind::Control
            | NodeKind::Decorator
            | NodeKind::SubTree => 0,
        };
        if unknown {
            flags |= NodeDef::UNKNOWN;
        }
        if self.registry.watches_foreign_nodes() && node_type.is_some_and(|node_type| node_type.foreign) {
            flags |= NodeDef::ANNOUNCED;
        }
        if self.compile_priorities(spec, scope, index, behavior.honours_priority()) {
            flags |= NodeDef::PRIORITY;
        }
        self.behaviors.push((behavior, flags));
    }

    /// Makes the behaviour of a node that is not a subtree, and checks its attributes against its declaration.
    fn build(
        &mut self,
        tree: &TreeSpec<'_>,
        spec: &NodeSpec<'_>,
        scope: ScopeId,
        node_type: Option<&NodeType>,
        index: NodeIndex,
    ) -> (Box<dyn Behavior>, bool) {
        let Some(node_type) = node_type else {
            let substitute = self.registry.substitute().filter(|_| spec.children.is_empty());
            let adopted = substitute.and_then(|it| {
                self.open_ports(tree, spec, scope, index, NodeKind::Action, |leaf, ports| {
                    it.adopt(leaf, ports)
                })
            });
            if adopted.is_none() {
                self.unknown_node(spec, tree.dialect);
            }
            return (adopted.unwrap_or_else(|| Box::new(SubTree)), false);
        };
        let manifest = &*node_type.manifest;
        let (least, most) = manifest.children;
        let count = spec.children.len();
        if count == 0 && tree.dialect == Dialect::V3 && RUN_WITHOUT_CHILDREN.contains(&&*spec.id) {
            let message = format!("{} has no children", spec.label());
            let problem = Problem::new(ProblemKind::NoChildren, spec.span, message);
            self.problems
                .push(problem.help("remove it, or give it a child: version 4 refuses it"));
        } else if count < least || count > most {
            self.problems.push(child_count(spec, least, most));
        }
        let mut binder = Binder {
            spec,
            scope,
            dialect: tree.dialect,
            manifest,
            scopes: &mut self.scopes,
            enums: self.registry.enums(),
            problems: &mut self.problems,
        };
        let behavior = (node_type.make)(&mut Ports { sink: &mut binder });
        binder.check_attributes();
        let info = &self.info[index.index()];
        let substitute = self.registry.substitute();
        match substitute.and_then(|it| it.behavior(info, &mut Ports { sink: &mut binder })) {
            Some(other) => (other, true),
            None => (behavior, false),
        }
    }

    /// Returns the node that replaces a subtree instance, if a substitution rule matches.
    pub(super) fn substitute_subtree(
        &mut self,
        tree: &TreeSpec<'_>,
        spec: &NodeSpec<'_>,
        scope: ScopeId,
        index: NodeIndex,
    ) -> Option<Box<dyn Behavior>> {
        let substitute = self.registry.substitute().filter(|it| it.covers_subtrees())?;
        self.open_ports(tree, spec, scope, index, NodeKind::SubTree, |node, ports| {
            substitute.behavior(node, ports)
        })
    }

    /// Makes a behaviour for a node without a declaration. Every attribute may be a port.
    fn open_ports(
        &mut self,
        tree: &TreeSpec<'_>,
        spec: &NodeSpec<'_>,
        scope: ScopeId,
        index: NodeIndex,
        kind: NodeKind,
        make: impl FnOnce(&NodeInfo, &mut Ports<'_>) -> Option<Box<dyn Behavior>>,
    ) -> Option<Box<dyn Behavior>> {
        let manifest = Manifest {
            id: spec.id.to_string(),
            kind,
            doc: String::new(),
            children: (0, 0),
            ports: Vec::new(),
            former: Vec::new(),
            open: true,
        };
        let mut binder = Binder {
            spec,
            scope,
            dialect: tree.dialect,
            manifest: &manifest,
            scopes: &mut self.scopes,
            enums: self.registry.enums(),
            problems: &mut self.problems,
        };
        make(&self.info[index.index()], &mut Ports { sink: &mut binder })
    }

    fn unknown_node(&mut self, spec: &NodeSpec<'_>, dialect: Dialect) {
        let mut problem = Problem::new(
            ProblemKind::UnknownNode,
            spec.span,
            format!("unknown node `{}`", spec.id),
        );
        let types = self.registry.manifests().map(|manifest| manifest.id.as_str());
        problem.help = if self.forest.trees.contains_key(&*spec.id) {
            Some(format!(
                "`{}` is a tree: write <SubTree ID=\"{}\"/>",
                spec.id, spec.id
            ))
        } else if dialect == Dialect::V4 && self.registry.get(&spec.id, Dialect::V3).is_some() {
            Some("this ID exists in version 3 files only (no BTCPP_format, or \"3\")".to_owned())
        } else if spec.id == "ManualSelector" {
            // BehaviorTree.CPP registers this node in version 3 builds with ncurses.
            Some(
                "it reads from a terminal, which a robot does not have; read the choice with a leaf"
                    .to_owned(),
            )
        } else {
            Some(match nearest(&spec.id, types) {
                Some(near) => {
                    let change = Change::Retype(spec.span, near.to_owned());
                    problem.change = Some((change, Confidence::Guess));
                    format!("did you mean `{near}`?")
                }
                None => "a node of your own program needs a declaration: put it into a `<TreeNodesModel>` of the file, or \
                         name a palette with --palette"
                    .to_owned(),
            })
        };
        self.problems.push(problem);
    }
}
