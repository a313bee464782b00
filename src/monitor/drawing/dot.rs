//! Drawings for Graphviz.

use std::fmt::Write;

use super::{label, ports};
use crate::bt::{NodeKind, TreeDef};

/// A `digraph` whose node names are the uids of the tree nodes.
pub fn dot(def: &TreeDef) -> String {
    let mut out = format!(
        "digraph \"{}\" {{\n  node [fontname=\"sans-serif\"];\n",
        escape(def.id())
    );
    for (node, info) in def.nodes() {
        let shape = match info.kind {
            NodeKind::Action => "box",
            NodeKind::Condition => "ellipse",
            NodeKind::Control => "hexagon",
            NodeKind::Decorator => "diamond",
            NodeKind::SubTree => "folder",
        };
        let ports: String = ports(def, node)
            .map(|(name, value)| format!("\\n{}={}", escape(name), escape(value)))
            .collect();
        let _ = writeln!(
            out,
            "  n{} [shape={shape}, label=\"{}{ports}\"];",
            node.index() + 1,
            escape(&label(def, node))
        );
        for child in def.children(node) {
            let _ = writeln!(out, "  n{} -> n{};", node.index() + 1, child.index() + 1);
        }
    }
    out.push_str("}\n");
    out
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
