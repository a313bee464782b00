//! Drawings for Graphviz.

use std::fmt::Write;

use super::{Drawing, Layout};
use crate::bt::NodeKind;

impl Drawing<'_> {
    /// A `digraph` whose node names are the uids of the tree nodes. The colour of a node is that of its mark.
    pub fn dot(&self) -> String {
        let direction = match self.layout {
            Layout::LeftToRight => "LR",
            Layout::TopDown => "TB",
        };
        let mut out = format!(
            "digraph \"{}\" {{\n  rankdir={direction};\n  node [fontname=\"sans-serif\"];\n",
            escape(self.def.id())
        );
        for (node, info) in self.nodes() {
            let shape = match info.kind {
                NodeKind::Action => "box",
                NodeKind::Condition => "ellipse",
                NodeKind::Control => "hexagon",
                NodeKind::Decorator => "diamond",
                NodeKind::SubTree => "folder",
            };
            let ports: String = self
                .ports(node)
                .map(|(name, value)| format!("\\n{}={}", escape(name), escape(value)))
                .collect();
            let notes: String = self
                .notes(node)
                .map(|note| format!("\\n{}", escape(&note)))
                .collect();
            let style = self.colour(node).map_or_else(String::new, |colour| {
                format!(", style=filled, fillcolor=\"{colour}\"")
            });
            let _ = writeln!(
                out,
                "  n{} [shape={shape}{style}, label=\"{}{ports}{notes}\"];",
                node.index() + 1,
                escape(&self.label(node))
            );
            for child in self.children(node) {
                let _ = writeln!(out, "  n{} -> n{};", node.index() + 1, child.index() + 1);
            }
        }
        out.push_str("}\n");
        out
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
