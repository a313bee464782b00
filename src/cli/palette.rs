//! Palettes: node types that are declared in a file and have no behaviour here, so that trees with them can be checked
//! and drawn.

use std::path::{Path, PathBuf};

use crate::bt::{Behavior, Context, NodeKind, Registry, Tick, is_model_name};
use crate::xml::{Diagnostics, Document, Element, Sources};

/// Declares every node of the palettes that is not registered. Its attributes are taken as they come.
pub(crate) fn add_palettes(registry: &mut Registry, files: &[PathBuf]) -> Result<(), String> {
    files.iter().try_for_each(|file| add_palette(registry, file))
}

fn add_palette(registry: &mut Registry, file: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut sources = Sources::new();
    let mut diagnostics = Diagnostics::new();
    let source = sources.add_file(file, text);
    let document = Document::parse(&source, &mut diagnostics);
    if diagnostics.has_errors() {
        let lines: Vec<String> = diagnostics
            .iter()
            .map(|problem| problem.one_line(&sources))
            .collect();
        return Err(lines.join("\n"));
    }
    let models = document.root().into_iter().flat_map(Element::children);
    for entry in models
        .filter(|child| child.name() == "TreeNodesModel")
        .flat_map(Element::children)
    {
        let kind = match entry.name() {
            "Action" => NodeKind::Action,
            "Condition" => NodeKind::Condition,
            "Control" => NodeKind::Control,
            "Decorator" => NodeKind::Decorator,
            _ => continue,
        };
        if let Some(id) = entry
            .value("ID")
            .filter(|id| is_model_name(id) && !registry.contains(id))
        {
            registry.register_open(id, kind, |ports| {
                for name in ports.attributes() {
                    let _ = ports.inout::<crate::bt::Value>(name).bind();
                }
                Box::new(Declared)
            });
        }
    }
    Ok(())
}

/// A node that is known by name only.
struct Declared;

impl Behavior for Declared {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        Err(cx.throw("this node is declared in a palette and has no behaviour here"))
    }
}
