//! The feed of a recording or of a tree file.

use super::change::Change;
use super::feed::Feed;
use super::run_head::{Mode, node_paths, problems, run_head, scope_paths, stored_problems};
use super::translator::Translator;
use crate::bt::{Registry, Time, TreeDef};
use crate::record::Recording;
use crate::record::replay::{ReplayError, load_tree, prepare_registry};
use crate::record::stored::StoredRecord;
use crate::xml::Checked;

/// Number of changes in one event.
const FRAME: usize = 2000;

impl Feed {
    /// Shows a tree that does not run, instead of what was shown before.
    pub fn show_tree(&self, def: &TreeDef, checked: &Checked) {
        let head = run_head(Mode::Tree, def, None, &[], problems(checked));
        self.begin(&head, Time::ZERO);
    }
}

/// A recorded run of a tree.
///
/// # Errors
/// The tree of the recording cannot be loaded.
pub fn view_recording(recording: &Recording, registry: &Registry) -> Result<Feed, ReplayError> {
    let mut prepared = registry.clone();
    prepare_registry(recording, &mut prepared);
    let def = &load_tree(recording, registry.clone())?;
    let problems = stored_problems(&recording.files, &prepared);
    let navigation = &recording.navigation;
    let beginning = recording
        .records
        .iter()
        .position(|(_, record)| matches!(record, StoredRecord::Began(_)));
    let (before, records) = recording.records.split_at(beginning.unwrap_or(0));
    let origin = records.first().map_or(Time::ZERO, |(time, _)| *time);
    let mut translator = Translator::default();
    for (time, record) in before {
        translator.change(*time, record);
    }
    let initial = translator.begin(navigation, node_paths(def), scope_paths(def), origin);
    let keys: Vec<String> = navigation
        .slots
        .iter()
        .map(|(scope, key)| translator.key(*scope, key))
        .collect();
    let feed = Feed::new(usize::MAX);
    let head = run_head(Mode::Recording, def, Some(navigation), &keys, problems);
    feed.begin(&head, origin);
    feed.push(initial);
    let changes: Vec<Change> = records
        .iter()
        .filter_map(|(time, record)| translator.change(*time, record))
        .collect();
    for frame in changes.chunks(FRAME) {
        feed.push(frame.to_vec());
    }
    Ok(feed)
}
