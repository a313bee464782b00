//! The node reference page.

use std::fmt::Write;

use crate::bt::{Direction, Manifest, NodeKind, Registry};

/// One section per kind and one entry per node, as Markdown.
pub fn reference(registry: &Registry) -> String {
    let mut out = "# Nodes\n\nGenerated from the declarations of the nodes by `navtree models --markdown`.\n"
        .to_owned();
    let kinds = [
        (NodeKind::Control, "Controls"),
        (NodeKind::Decorator, "Decorators"),
        (NodeKind::Condition, "Conditions"),
        (NodeKind::Action, "Actions"),
    ];
    for (kind, title) in kinds {
        let _ = write!(out, "\n## {title}\n");
        for manifest in registry.manifests().filter(|manifest| manifest.kind == kind) {
            write_entry(manifest, "", &mut out);
        }
    }
    out.push_str(
        "\n## In version 3 files\n\nThese IDs mean something else, or exist only, in files of format 3.\n",
    );
    for manifest in registry.manifests_v3() {
        write_entry(manifest, " (version 3)", &mut out);
    }
    out
}

fn write_entry(manifest: &Manifest, suffix: &str, out: &mut String) {
    let _ = write!(out, "\n### {}{suffix}\n\n{}\n", manifest.id, manifest.doc);
    let children = match manifest.children {
        (0, 0) | (1, 1) => String::new(),
        (1, usize::MAX) => "\nOne child or more.\n".to_owned(),
        (least, usize::MAX) => format!("\n{least} children or more.\n"),
        (least, most) if least == most => format!("\nExactly {least} children.\n"),
        (least, most) => format!("\n{least} to {most} children.\n"),
    };
    out.push_str(&children);
    if manifest.ports.is_empty() {
        return;
    }
    out.push_str("\n| port | direction | type | default | meaning |\n|---|---|---|---|---|\n");
    for port in &manifest.ports {
        let direction = match port.direction {
            Direction::Input => "in",
            Direction::Output => "out",
            Direction::InOut => "in, out",
        };
        let default = match (&port.default, port.required) {
            (Some(text), _) => format!("`{}`", cell(text)),
            (None, true) => "required".to_owned(),
            (None, false) if port.needed => "needed".to_owned(),
            (None, false) => String::new(),
        };
        let kind = match port.script {
            Some(_) => "script",
            None => port.info.name,
        };
        let unit = if port.unit.is_empty() {
            String::new()
        } else {
            format!(", {}", port.unit)
        };
        let alias = port
            .alias
            .map_or_else(String::new, |alias| format!(" Also accepted: `{alias}`."));
        let range = port
            .range
            .map_or_else(String::new, |range| format!(" Range: {range}."));
        let _ = writeln!(
            out,
            "| `{}` | {direction} | {kind}{unit} | {default} | {}{range}{alias} |",
            port.name,
            cell(&port.doc)
        );
    }
}

/// Escapes a text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\r', '\n'], " ")
}
