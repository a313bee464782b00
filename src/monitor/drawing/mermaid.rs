//! Drawings in Mermaid, for Markdown pages.

use std::fmt::Write;

use super::{Drawing, Layout};
use crate::bt::NodeKind;

impl Drawing<'_> {
    /// A `flowchart` that begins with the root. The colour of a node is that of its mark.
    pub fn mermaid(&self) -> String {
        let direction = match self.layout {
            Layout::LeftToRight => "LR",
            Layout::TopDown => "TD",
        };
        let mut out = format!("flowchart {direction}\n");
        for (node, info) in self.nodes() {
            let (open, close) = match info.kind {
                NodeKind::Action => ("[", "]"),
                NodeKind::Condition => ("([", "])"),
                NodeKind::Control => ("{{", "}}"),
                NodeKind::Decorator => ("{", "}"),
                NodeKind::SubTree => ("[[", "]]"),
            };
            let mut text = escape(&self.label(node));
            for note in self.notes(node) {
                let _ = write!(text, "<br/>{}", escape(&note));
            }
            let _ = writeln!(out, "  n{}{open}\"{text}\"{close}", node.index() + 1);
            if let Some(colour) = self.colour(node) {
                let _ = writeln!(out, "  style n{} fill:{colour}", node.index() + 1);
            }
            for child in self.children(node) {
                let _ = writeln!(out, "  n{} --> n{}", node.index() + 1, child.index() + 1);
            }
        }
        out
    }
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
