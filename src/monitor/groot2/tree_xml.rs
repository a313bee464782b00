//! The tree for Groot2: the XML that BehaviorTree.CPP's `WriteTreeToXML` writes, with UIDs and paths.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::bt::{NodeIndex, NodeKind, Registry, ScopeDef, ScopeId, TreeDef};
use crate::monitor::models::write_models;
use crate::xml::escape;

/// The tree, one `BehaviorTree` element per subtree instance, and the models of its nodes.
pub(super) fn tree_xml(def: &TreeDef, registry: &Registry) -> String {
    let mut out = "<root BTCPP_format=\"4\">\n".to_owned();
    let mut roots = BTreeMap::new();
    for (node, info) in def.nodes() {
        roots.entry(info.scope.index()).or_insert(node);
    }
    let scopes: Vec<&ScopeDef> = def.scopes().map(|(_, scope)| scope).collect();
    for (scope, info) in def.scopes() {
        let Some(root) = roots.get(&scope.index()).copied() else {
            continue;
        };
        let _ = writeln!(
            out,
            "  <BehaviorTree ID=\"{}\" _fullpath=\"{}\">",
            escape(&info.tree_id),
            escape(&info.path)
        );
        write_nodes(def, &scopes, root, &mut out);
        out.push_str("  </BehaviorTree>\n");
    }
    out.push_str("  <TreeNodesModel>\n");
    let used: BTreeSet<&str> = def.nodes().map(|(_, info)| &*info.id).collect();
    write_models(
        registry
            .manifests()
            .filter(|manifest| used.contains(&*manifest.id)),
        &mut out,
    );
    out.push_str("  </TreeNodesModel>\n</root>\n");
    out
}

/// The UID of a node.
pub(super) fn uid(node: NodeIndex) -> u16 {
    u16::try_from(node.index() + 1).unwrap_or(u16::MAX)
}

/// The nodes in Groot2's order: the instances of trees in the order of their creation, and the nodes of each.
pub(super) fn order(def: &TreeDef) -> Vec<NodeIndex> {
    let mut nodes: Vec<(ScopeId, NodeIndex)> = def.nodes().map(|(node, info)| (info.scope, node)).collect();
    nodes.sort_by_key(|(scope, node)| (scope.index(), node.index()));
    nodes.into_iter().map(|(_, node)| node).collect()
}

/// The instance whose element contains a node. A node whose parent is a `SubTree` is the root of another instance.
fn scope_of(def: &TreeDef, node: NodeIndex) -> ScopeId {
    def.node(node).scope
}

/// Writes a node and all below it, but not what is in another instance. Without recursion: a tree may be deep.
fn write_nodes(def: &TreeDef, scopes: &[&ScopeDef], root: NodeIndex, out: &mut String) {
    enum Step {
        Open(NodeIndex, usize),
        Close(NodeIndex, usize),
    }
    let mut steps = vec![Step::Open(root, 2)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Close(node, depth) => {
                let _ = writeln!(out, "{:1$}</{2}>", "", depth * 2, element(def, node));
            }
            Step::Open(node, depth) => {
                let own = |child: &NodeIndex| scope_of(def, *child) == scope_of(def, node);
                let children: Vec<NodeIndex> = def.children(node).filter(own).collect();
                let end = if children.is_empty() { "/" } else { "" };
                let _ = writeln!(out, "{:1$}<{2}{end}>", "", depth * 2, tag(def, scopes, node));
                if !children.is_empty() {
                    steps.push(Step::Close(node, depth));
                    steps.extend(
                        children
                            .into_iter()
                            .rev()
                            .map(|child| Step::Open(child, depth + 1)),
                    );
                }
            }
        }
    }
}

fn element(def: &TreeDef, node: NodeIndex) -> &str {
    match def.node(node).kind {
        NodeKind::SubTree => "SubTree",
        _ => &def.node(node).id,
    }
}

/// The start tag of a node, without its brackets.
fn tag(def: &TreeDef, scopes: &[&ScopeDef], node: NodeIndex) -> String {
    let info = def.node(node);
    let mut tag = element(def, node).to_owned();
    if info.kind == NodeKind::SubTree {
        let instance = def.children(node).next().map(|child| scope_of(def, child));
        let instance = instance.and_then(|scope| scopes.get(scope.index() as usize));
        let (id, path) = instance.map_or(("", ""), |scope| (&*scope.tree_id, &*scope.path));
        let _ = write!(tag, " ID=\"{}\" _fullpath=\"{}\"", escape(id), escape(path));
    } else {
        let _ = write!(tag, " name=\"{}\"", escape(&info.name));
    }
    let _ = write!(tag, " _uid=\"{}\"", uid(node));
    for (name, value) in def.attributes(node) {
        if !matches!(name, "ID" | "name" | "_uid" | "_fullpath") {
            let _ = write!(tag, " {name}=\"{}\"", escape(value));
        }
    }
    tag
}
