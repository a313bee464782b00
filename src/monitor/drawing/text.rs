//! Drawings as indented text.

use std::fmt::Write;

use super::{Marks, label, ports};
use crate::bt::{NodeIndex, TreeDef};

/// One line per node with its ports and its mark, and lines that show the structure.
pub fn text(def: &TreeDef, marks: &Marks) -> String {
    let mut out = String::new();
    write_node(def, marks, NodeIndex::ROOT, ["", ""], &mut out);
    out
}

/// Recursion is bounded by the depth limit of definitions.
fn write_node(def: &TreeDef, marks: &Marks, node: NodeIndex, [first, rest]: [&str; 2], out: &mut String) {
    let _ = write!(out, "{first}{}", label(def, node));
    for (name, value) in ports(def, node) {
        let _ = write!(out, " {name}={value:?}");
    }
    if let Some(mark) = marks.get(node) {
        let _ = write!(out, "  # {}", mark.note);
    }
    out.push('\n');
    let children: Vec<NodeIndex> = def.children(node).collect();
    for (position, child) in children.iter().enumerate() {
        let last = position + 1 == children.len();
        let branch = format!("{rest}{}", if last { "└─ " } else { "├─ " });
        let below = format!("{rest}{}", if last { "   " } else { "│  " });
        write_node(def, marks, *child, [&branch, &below], out);
    }
}
