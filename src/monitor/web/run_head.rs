//! What the page is told at the beginning of a run: its tree, the files, and their problems.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::bt::{Registry, TreeDef};
use crate::record::replay::stored_files;
use crate::record::stored::StoredNavigation;
use crate::xml::{Checked, Loader, Severity, Sources};

/// Where the run comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// A node that runs.
    Live,
    /// A recording.
    Recording,
    /// A tree that does not run.
    Tree,
}

/// Describes a run for the page. `problems`: those of its files, from [`problems`].
pub(super) fn run_head(
    mode: Mode,
    def: &TreeDef,
    navigation: Option<&StoredNavigation>,
    keys: &[String],
    problems: &Json,
) -> Json {
    let files = def.files();
    let file_index = |name: &str| files.iter().position(|(file, _)| *file == name);
    let nodes: Vec<Json> = def
        .nodes()
        .map(|(node, info)| {
            let place = def.place(node).unwrap_or_default();
            let mut parts = place.rsplitn(3, ':');
            let (_column, line, file) = (parts.next(), parts.next(), parts.next());
            let attributes: Vec<_> = def.attributes(node).collect();
            json!({
                "name": info.name,
                "id": info.id,
                "kind": info.kind.name(),
                "path": info.path,
                "parent": info.parent.map(crate::bt::NodeIndex::index),
                "file": file.and_then(file_index),
                "line": line.and_then(|line| line.parse::<u32>().ok()),
                "ports": attributes,
            })
        })
        .collect();
    let files: Vec<Json> = files
        .iter()
        .map(|(name, text)| json!({"name": name, "text": text}))
        .collect();
    json!({
        "mode": match mode {
            Mode::Live => "live",
            Mode::Recording => "recording",
            Mode::Tree => "tree",
        },
        "tree": def.id(),
        "nodes": nodes,
        "files": files,
        "keys": keys,
        "problems": problems,
        "navigation": navigation.map(|navigation| json!({
            "action": navigation.action,
            "goal": navigation.goal.to_string(),
            "stamp": navigation.stamp.as_nanos() as f64 / 1e9,
            "poses": navigation.poses.iter().map(|pose| {
                let position = &pose.pose.position;
                json!([position.x, position.y, pose.header.frame_id])
            }).collect::<Vec<_>>(),
        })),
    })
}

/// The problems of files, as the page shows them.
pub(super) fn problems(checked: &Checked) -> Json {
    let problem = |problem: &crate::xml::Diagnostic| {
        let (file, line) = place(&checked.sources, problem.primary.span);
        json!({
            "severity": match problem.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            },
            "code": problem.code.to_string(),
            "message": problem.message,
            "help": problem.help,
            "file": file,
            "line": line,
        })
    };
    checked.diagnostics.iter().map(problem).collect()
}

/// The problems of files that are not on this disk, or no longer as they were.
pub(super) fn stored_problems(files: &[(String, String)], registry: &Registry) -> Json {
    let (memory, index) = stored_files(files);
    let paths: Vec<&Path> = files.iter().map(|(name, _)| Path::new(name)).collect();
    problems(&Loader::new(registry).files(&memory, index).check_files(&paths))
}

fn place(sources: &Sources, span: crate::xml::Span) -> (String, u32) {
    sources.get(span.file).map_or_else(
        || (String::new(), 1),
        |file| (file.name().to_owned(), file.position(span.start).line),
    )
}

/// The paths of the nodes, in the order of their numbers.
pub(super) fn node_paths(def: &TreeDef) -> Vec<Arc<str>> {
    def.nodes().map(|(_, info)| Arc::clone(&info.path)).collect()
}

/// The paths of the subtree instances, in the order of their numbers.
pub(super) fn scope_paths(def: &TreeDef) -> Vec<Arc<str>> {
    def.scopes().map(|(_, scope)| Arc::clone(&scope.path)).collect()
}
