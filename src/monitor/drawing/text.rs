//! Drawings as indented text.

use std::fmt::Write;

use super::Drawing;
use crate::bt::NodeIndex;

impl Drawing<'_> {
    /// One line per node with its ports and its mark, and lines that show the structure.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write_node(NodeIndex::ROOT, ["", ""], &mut out);
        out
    }

    /// Recursion is bounded by the depth limit of definitions.
    fn write_node(&self, node: NodeIndex, [first, rest]: [&str; 2], out: &mut String) {
        let _ = write!(out, "{first}{}", self.label(node));
        for (name, value) in self.ports(node) {
            let _ = write!(out, " {name}={value:?}");
        }
        for note in self.notes(node) {
            let _ = write!(out, "  # {note}");
        }
        out.push('\n');
        let children: Vec<NodeIndex> = self.children(node).collect();
        for (position, child) in children.iter().enumerate() {
            let last = position + 1 == children.len();
            let branch = format!("{rest}{}", if last { "└─ " } else { "├─ " });
            let below = format!("{rest}{}", if last { "   " } else { "│  " });
            self.write_node(*child, [&branch, &below], out);
        }
    }
}
