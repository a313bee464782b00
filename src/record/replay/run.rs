//! Drives a tree through the steps of a recording.

use std::path::Path;
use std::sync::Arc;

use super::link::{ReplayLink, SharedScript};
use super::script::Script;
use super::step::{Step, StepKind, steps};
use crate::bt::{Registry, ScopeId, Time, Tree, TreeDef};
use crate::nav::{Link, ProvidedKeys, World};
use crate::record::codec::{StoredValue, type_info};
use crate::record::reader::Recording;
use crate::record::stored::StoredRecord;
use crate::record::stream::{Distributor, Stream};
use crate::record::{RecordedLink, Tracer};
use crate::xml::{AmentIndex, Loader, Memory};

/// The reason why a recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The tree cannot be loaded.
    #[error("the tree of the recording cannot be loaded:\n{0}")]
    Tree(String),
    /// Records are missing.
    #[error("{0}")]
    Incomplete(String),
    /// The state at the beginning does not fit the tree.
    #[error("the state at the beginning does not fit the tree: {0}")]
    State(String),
}

/// The first step whose trace differs from the recorded one.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// The index of the record within the trace of the step.
    pub index: usize,
    /// The recorded trace.
    pub recorded: Vec<StoredRecord>,
    /// The trace of the replay.
    pub replayed: Vec<StoredRecord>,
}

/// One replayed step.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What the tree did.
    pub trace: Vec<StoredRecord>,
    /// How this differs from the recording.
    pub difference: Option<Difference>,
    /// What the tree asked and the recording does not tell. The trace is not reliable from here on.
    pub unrecorded: Option<String>,
}

/// Loads the tree of a recording.
///
/// # Errors
/// [`ReplayError::Tree`].
pub fn load_tree(recording: &Recording, mut registry: Registry) -> Result<Arc<TreeDef>, ReplayError> {
    prepare_registry(recording, &mut registry);
    let files = &recording.files;
    let (memory, index) = stored_files(files);
    let paths: Vec<&Path> = files.iter().map(|(name, _)| Path::new(name)).collect();
    Loader::new(&registry)
        .files(&memory, index)
        .load_files(&paths, Some(&recording.navigation.tree))
        .map(|loaded| loaded.def)
        .map_err(|refused| ReplayError::Tree(refused.to_string()))
}

/// Files by name and text, and the packages in whose share folders they were.
pub fn stored_files(files: &[(String, String)]) -> (Memory, AmentIndex) {
    let packages = files.iter().filter_map(|(name, _)| package_of(name));
    let packages: Vec<(String, String)> = packages.collect();
    let markers = packages.iter().map(|(prefix, package)| {
        let marker = format!("{prefix}/share/ament_index/resource_index/packages/{package}");
        (marker, String::new())
    });
    let memory = Memory::new(files.iter().cloned().chain(markers));
    let index = AmentIndex::new(packages.iter().map(|(prefix, _)| prefix));
    (memory, index)
}

/// Sets what the parameters of the node change in the loading of trees.
pub fn prepare_registry(recording: &Recording, registry: &mut Registry) {
    let navigation = &recording.navigation;
    let error_codes: Vec<&str> = navigation.keys.error_codes.iter().map(|key| &**key).collect();
    ProvidedKeys {
        goal: &navigation.keys.goal,
        goals: &navigation.keys.goals,
        path: &navigation.keys.path,
        error_codes: &error_codes,
    }
    .declare(registry);
    registry.set_latch_on_activation(navigation.settings.latch_on_activation);
    registry.watch_foreign_nodes();
}

/// The workspace prefix and the package of a file in a share folder.
fn package_of(name: &str) -> Option<(String, String)> {
    let (prefix, rest) = name.split_once("/share/")?;
    let (package, _) = rest.split_once('/')?;
    Some((prefix.to_owned(), package.to_owned()))
}

/// A replay, step by step.
pub struct Replay {
    tree: Tree,
    /// The definition of the recorded tree: its slots are those of the records.
    recorded: Arc<TreeDef>,
    /// Keys of the slots that the recorded run added.
    added: Vec<(u32, ScopeId, Arc<str>)>,
    script: SharedScript,
    distributor: Distributor,
    steps: std::vec::IntoIter<Step>,
    is_same_tree: bool,
    /// The recording tells the place of each message in its tick.
    has_places: bool,
    /// What of the recording cannot be read back.
    problems: Vec<String>,
}

impl Replay {
    /// Begins a replay of the recorded tree.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub fn new(recording: &Recording, registry: Registry) -> Result<Self, ReplayError> {
        let def = load_tree(recording, registry)?;
        Self::begin(recording, &def, &def)
    }

    /// Begins a replay with another tree.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub fn with_tree(
        recording: &Recording,
        registry: Registry,
        load: impl FnOnce(&Registry) -> Result<Arc<TreeDef>, String>,
    ) -> Result<Self, ReplayError> {
        let recorded = load_tree(recording, registry.clone())?;
        let mut prepared = registry;
        prepare_registry(recording, &mut prepared);
        let def = load(&prepared).map_err(ReplayError::Tree)?;
        Self::begin(recording, &recorded, &def)
    }

    fn begin(
        recording: &Recording,
        recorded: &Arc<TreeDef>,
        def: &Arc<TreeDef>,
    ) -> Result<Self, ReplayError> {
        check_whole(recording)?;
        let is_same_tree = Arc::ptr_eq(recorded, def);
        let beginning = recording
            .records
            .iter()
            .position(|(_, record)| matches!(record, StoredRecord::Began(_)))
            .unwrap_or(0);
        let began = recording
            .records
            .get(beginning)
            .map_or(Time::ZERO, |(time, _)| *time);
        let mut script = Script::new(&recording.records, is_same_tree);
        script.set_start(began, recording.navigation.stamp);
        let script = SharedScript::new(script);
        let stream = Stream::default();
        let distributor = stream.distribute();
        let link = RecordedLink::new(Box::new(ReplayLink(script.clone())), stream.clone());
        let tree = make_tree(recording, def, Box::new(link), began)?;
        let after = recording.records.get(beginning + 1..).unwrap_or_default();
        let mut replay = Self {
            tree,
            recorded: Arc::clone(recorded),
            added: Vec::new(),
            script,
            distributor,
            steps: steps(after).into_iter(),
            is_same_tree,
            has_places: recording.has_places_of_messages(),
            problems: Vec::new(),
        };
        replay.restore(recording)?;
        replay.tree.set_observer(Some(Box::new(Tracer::new(stream, def))));
        Ok(replay)
    }

    /// Puts tree and world into their state at the beginning of the navigation.
    fn restore(&mut self, recording: &Recording) -> Result<(), ReplayError> {
        let navigation = &recording.navigation;
        let checkpoint = navigation.checkpoint.checkpoint(&mut self.problems);
        let first_added = u32::try_from(self.recorded.slots.len()).unwrap_or(u32::MAX);
        self.added = (first_added..)
            .zip(&checkpoint.added)
            .map(|(slot, (scope, key))| (slot, *scope, Arc::clone(key)))
            .collect();
        if self.is_same_tree {
            self.tree.restore(&checkpoint).map_err(ReplayError::State)?;
        } else {
            for (slot, entry) in (0..).zip(&checkpoint.entries) {
                if let Some((ScopeId::ROOT, key)) = key_of(&self.recorded, &self.added, slot) {
                    let target = self.tree.resolve(ScopeId::ROOT, &key);
                    self.tree.write_recorded(target, entry.value.clone(), entry.info);
                }
            }
        }
        let state = navigation.world.checkpoint(&mut self.problems);
        if let Some(world) = self.tree.resource::<World>() {
            world.restore(&state);
            world.begin_session(navigation.run_accepted);
            world.begin_navigation(navigation.accepted);
        }
        Ok(())
    }

    /// The definition of the replayed tree.
    pub fn definition(&self) -> &Arc<TreeDef> {
        self.tree.definition()
    }

    /// The tree, for its statuses and its blackboard.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// What of the recording could not be read back so far.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.problems.clone();
        problems.extend(self.script.lock().problems.iter().cloned());
        problems
    }

    /// Number of answers that stand in for answers that were not recorded.
    pub fn stand_ins(&self) -> u64 {
        self.script.lock().stand_ins
    }

    /// Runs the next step. `None` after the last one.
    pub fn step(&mut self) -> Option<(Step, Replayed)> {
        let step = self.steps.next()?;
        for record in &step.before {
            self.act_as_navigator(record);
        }
        self.distributor.distribute();
        self.script.lock().begin(&step);
        match step.kind {
            StepKind::Tick => {
                // The trace contains the error of a tick.
                let _ = self.tree.tick(step.time);
            }
            StepKind::Halt(reason) => self.tree.halt(reason, step.time),
        }
        let mut script = self.script.lock();
        script.end();
        let unrecorded = script.unrecorded.clone();
        drop(script);
        let batch = self.distributor.distribute();
        let records = batch.iter().flat_map(|batch| batch.records.iter());
        let trace: Vec<StoredRecord> = records
            .map(|record| StoredRecord::of(&record.event))
            .filter(StoredRecord::is_trace)
            .collect();
        let difference = if self.has_places {
            difference(&step.trace, &trace)
        } else {
            difference(&without_places(&step.trace), &without_places(&trace))
        };
        let replayed = Replayed {
            trace,
            difference,
            unrecorded: unrecorded.filter(|_| !self.is_same_tree),
        };
        Some((step, replayed))
    }

    /// Does what the navigator did between two steps.
    fn act_as_navigator(&mut self, record: &StoredRecord) {
        match record {
            StoredRecord::Key { slot, scope, key } => {
                self.added.push((slot.index(), *scope, Arc::clone(key)));
                if self.is_same_tree {
                    self.tree.resolve(*scope, key);
                }
            }
            StoredRecord::Wrote {
                slot,
                value,
                type_name,
                ..
            } => {
                let value = match value.as_ref().map(StoredValue::value).transpose() {
                    Ok(value) => value,
                    Err(problem) => {
                        self.problems.push(problem);
                        return;
                    }
                };
                let info = type_name.as_deref().and_then(type_info);
                let target = if self.is_same_tree {
                    Some(*slot)
                } else {
                    match key_of(&self.recorded, &self.added, slot.index()) {
                        Some((ScopeId::ROOT, key)) => Some(self.tree.resolve(ScopeId::ROOT, &key)),
                        // A path under a key of a subtree, which the navigator cleared.
                        _ => None,
                    }
                };
                if let Some(target) = target {
                    self.tree.write_recorded(target, value, info);
                }
            }
            StoredRecord::Replaced { accepted, .. } => {
                if let Some(world) = self.tree.resource::<World>() {
                    world.begin_navigation(*accepted);
                    world.failures.forget();
                }
            }
            _ => {}
        }
    }
}

/// Makes the tree with its world, as the navigator does.
fn make_tree(
    recording: &Recording,
    def: &Arc<TreeDef>,
    link: Box<dyn Link>,
    began: Time,
) -> Result<Tree, ReplayError> {
    let settings = &recording.navigation.settings;
    let mut world = World::new(link, settings.clone());
    // For the feedback of the navigator; trees share it.
    let _ = world.open_odometry();
    let mut tree = Tree::new(Arc::clone(def));
    tree.set_halt_order(settings.halt_order);
    tree.insert_resource(world);
    tree.attach(began)
        .map_err(|error| ReplayError::State(error.to_string()))?;
    Ok(tree)
}

/// The scope and the key of a slot of the recorded run.
fn key_of(def: &TreeDef, added: &[(u32, ScopeId, Arc<str>)], slot: u32) -> Option<(ScopeId, Arc<str>)> {
    if let Some((scope, key)) = def.key(crate::bt::SlotId::from_index(slot)) {
        return Some((scope, Arc::clone(key)));
    }
    let found = added.iter().find(|(of, _, _)| *of == slot);
    found.map(|(_, scope, key)| (*scope, Arc::clone(key)))
}

/// Checks that a recording has everything since its beginning.
fn check_whole(recording: &Recording) -> Result<(), ReplayError> {
    let lost = recording.lost();
    if lost > 0 {
        return Err(ReplayError::Incomplete(format!(
            "{lost} records are missing, because the recorder was too slow for them: `navtree log` shows the others"
        )));
    }
    if recording
        .metadata
        .get("complete")
        .is_some_and(|complete| complete == "false")
    {
        return Err(ReplayError::Incomplete(
            "the beginning of the navigation is missing: it was longer than recorder_minutes, recorder_megabytes and \
             its file on the disk (half of recordings_megabytes; none with `record_on: never`): raise them; \
             `navtree log` shows the rest"
                .to_owned(),
        ));
    }
    Ok(())
}

/// A trace with its messages at its end.
fn without_places(trace: &[StoredRecord]) -> Vec<StoredRecord> {
    let is_message = |record: &&StoredRecord| matches!(record, StoredRecord::Published { .. });
    let (messages, others): (Vec<_>, Vec<_>) = trace.iter().partition(is_message);
    others.into_iter().chain(messages).cloned().collect()
}

/// Compares two traces in their stored form, which tells apart all numbers, NaN included.
fn difference(recorded: &[StoredRecord], replayed: &[StoredRecord]) -> Option<Difference> {
    let bytes = |record: Option<&StoredRecord>| record.map(|record| rmp_serde::to_vec_named(record).ok());
    let count = recorded.len().max(replayed.len());
    let index = (0..count).find(|index| {
        let (left, right) = (recorded.get(*index), replayed.get(*index));
        left != right && bytes(left) != bytes(right)
    })?;
    Some(Difference {
        index,
        recorded: recorded.to_vec(),
        replayed: replayed.to_vec(),
    })
}
