//! What the page is told at the beginning of a run: its tree, the files, and their problems.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::bt::{Registry, TreeDef};
use crate::record::replay::stored_files;
use crate::record::stored::StoredNavigation;
use crate::xml::{Checked, Loader, Severity, Sources};

/// Where the run comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::monitor) enum Mode {
    /// A node that runs.
    Live,
    /// A recording.
    Recording,
    /// A tree that does not run.
    Tree,
}

/// The beginning of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::monitor) struct RunHead {
    pub(in crate::monitor) mode: Mode,
    /// The ID of the tree.
    pub(in crate::monitor) tree: String,
    /// The nodes in the order of their numbers.
    pub(in crate::monitor) nodes: Vec<NodeHead>,
    pub(in crate::monitor) files: Vec<FileHead>,
    /// The key of each slot.
    pub(in crate::monitor) keys: Vec<String>,
    /// The problems of the files, from [`problems`]; null for a node that runs, whose files are checked later.
    pub(in crate::monitor) problems: Json,
    pub(in crate::monitor) navigation: Option<NavigationHead>,
}

/// A node of the tree.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::monitor) struct NodeHead {
    pub(in crate::monitor) name: String,
    /// The ID of its type.
    pub(in crate::monitor) id: String,
    pub(in crate::monitor) kind: String,
    pub(in crate::monitor) path: String,
    /// The number of its parent.
    pub(in crate::monitor) parent: Option<usize>,
    /// The number of its file.
    pub(in crate::monitor) file: Option<usize>,
    /// Its line there, from 1.
    pub(in crate::monitor) line: Option<u32>,
    /// The attributes of its element.
    pub(in crate::monitor) ports: Vec<(String, String)>,
}

/// A file of the tree.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::monitor) struct FileHead {
    pub(in crate::monitor) name: String,
    pub(in crate::monitor) text: String,
}

/// The goal of a navigation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::monitor) struct NavigationHead {
    /// The action: `navigate_to_pose`.
    pub(in crate::monitor) action: String,
    /// The ID of the goal.
    pub(in crate::monitor) goal: String,
    /// ROS time of the beginning, in s.
    pub(in crate::monitor) stamp: f64,
    /// Coordinates in m, and their frame.
    pub(in crate::monitor) poses: Vec<(f64, f64, String)>,
}

/// Describes a run for the page. `problems`: those of its files, from [`problems`].
pub(super) fn run_head(
    mode: Mode,
    def: &TreeDef,
    navigation: Option<&StoredNavigation>,
    keys: &[String],
    problems: Json,
) -> RunHead {
    let files = def.files();
    let file_index = |name: &str| files.iter().position(|(file, _)| *file == name);
    let nodes = def
        .nodes()
        .map(|(node, info)| {
            let place = def.place(node).unwrap_or_default();
            let mut parts = place.rsplitn(3, ':');
            let (_column, line, file) = (parts.next(), parts.next(), parts.next());
            let attributes = def.attributes(node);
            NodeHead {
                name: info.name.to_string(),
                id: info.id.to_string(),
                kind: info.kind.name().to_owned(),
                path: info.path.to_string(),
                parent: info.parent.map(crate::bt::NodeIndex::index),
                file: file.and_then(file_index),
                line: line.and_then(|line| line.parse::<u32>().ok()),
                ports: attributes
                    .map(|(name, value)| (name.to_string(), value.to_string()))
                    .collect(),
            }
        })
        .collect();
    RunHead {
        mode,
        tree: def.id().to_string(),
        nodes,
        files: files
            .iter()
            .map(|(name, text)| FileHead {
                name: (*name).to_owned(),
                text: (*text).to_owned(),
            })
            .collect(),
        keys: keys.to_vec(),
        problems,
        navigation: navigation.map(navigation_head),
    }
}

fn navigation_head(navigation: &StoredNavigation) -> NavigationHead {
    let poses = navigation.poses.iter().map(|pose| {
        let position = &pose.pose.position;
        (position.x, position.y, pose.header.frame_id.to_string())
    });
    NavigationHead {
        action: navigation.action.clone(),
        goal: navigation.goal.to_string(),
        stamp: navigation.stamp.as_nanos() as f64 / 1e9,
        poses: poses.collect(),
    }
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
