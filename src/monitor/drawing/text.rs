//! Drawings as indented text.

use std::fmt::Write;

use super::{label, ports};
use crate::bt::{NodeIndex, TreeDef};

/// One line per node with its ports, and lines that show the structure.
pub fn text(def: &TreeDef) -> String {
    let mut out = String::new();
    write_node(def, NodeIndex::ROOT, "", "", &mut out);
    out
}

/// Recursion is bounded by the depth limit of definitions.
fn write_node(def: &TreeDef, node: NodeIndex, first: &str, rest: &str, out: &mut String) {
    let _ = write!(out, "{first}{}", label(def, node));
    for (name, value) in ports(def, node) {
        let _ = write!(out, " {name}={value:?}");
    }
    out.push('\n');
    let children: Vec<NodeIndex> = def.children(node).collect();
    for (position, child) in children.iter().enumerate() {
        let last = position + 1 == children.len();
        let branch = format!("{rest}{}", if last { "└─ " } else { "├─ " });
        let below = format!("{rest}{}", if last { "   " } else { "│  " });
        write_node(def, *child, &branch, &below, out);
    }
}
