//! Drawings in Mermaid, for Markdown pages.

use std::fmt::Write;

use super::{Marks, label};
use crate::bt::{NodeKind, TreeDef};

/// A `flowchart` from the root down. The colour of a node is that of its mark.
pub fn mermaid(def: &TreeDef, marks: &Marks) -> String {
    let mut out = "flowchart TD\n".to_owned();
    for (node, info) in def.nodes() {
        let (open, close) = match info.kind {
            NodeKind::Action => ("[", "]"),
            NodeKind::Condition => ("([", "])"),
            NodeKind::Control => ("{{", "}}"),
            NodeKind::Decorator => ("{", "}"),
            NodeKind::SubTree => ("[[", "]]"),
        };
        let mut text = escape(&label(def, node));
        let mark = marks.get(node);
        if let Some(mark) = mark {
            let _ = write!(text, "<br/>{}", escape(&mark.note));
        }
        let _ = writeln!(out, "  n{}{open}\"{text}\"{close}", node.index() + 1);
        if let Some(mark) = mark {
            let _ = writeln!(out, "  style n{} fill:{}", node.index() + 1, mark.shade.colour());
        }
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
