//! Drawings in Mermaid, for Markdown pages.

use std::fmt::Write;

use super::label;
use crate::bt::{NodeKind, TreeDef};

/// A `flowchart` from the root down.
pub fn mermaid(def: &TreeDef) -> String {
    let mut out = "flowchart TD\n".to_owned();
    for (node, info) in def.nodes() {
        let (open, close) = match info.kind {
            NodeKind::Action => ("[", "]"),
            NodeKind::Condition => ("([", "])"),
            NodeKind::Control => ("{{", "}}"),
            NodeKind::Decorator => ("{", "}"),
            NodeKind::SubTree => ("[[", "]]"),
        };
        let text = escape(&label(def, node));
        let _ = writeln!(out, "  n{}{open}\"{text}\"{close}", node.index() + 1);
        for child in def.children(node) {
            let _ = writeln!(out, "  n{} --> n{}", node.index() + 1, child.index() + 1);
        }
    }
    out
}

/// Escapes a label with Mermaid's entities. Mermaid reads labels as HTML, and a label that begins with a backtick as
/// Markdown.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("#quot;"),
            '#' | '&' | '<' | '>' | '`' => {
                let _ = write!(out, "#{};", u32::from(letter));
            }
            '\r' | '\n' => out.push(' '),
            _ => out.push(letter),
        }
    }
    out
}
