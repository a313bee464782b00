//! Drawings for Graphviz.

use std::fmt::Write;

use super::{Marks, label, ports};
use crate::bt::{NodeKind, TreeDef};

/// A `digraph` whose node names are the uids of the tree nodes. The colour of a node is that of its mark.
pub fn dot(def: &TreeDef, marks: &Marks) -> String {
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
        let (note, style) = marks.get(node).map_or_else(Default::default, |mark| {
            let note = format!("\\n{}", escape(&mark.note));
            let style = format!(", style=filled, fillcolor=\"{}\"", mark.shade.colour());
            (note, style)
        });
        let _ = writeln!(
            out,
            "  n{} [shape={shape}{style}, label=\"{}{ports}{note}\"];",
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
