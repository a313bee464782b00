//! Counts how often each node of a tree ran, and with which results, over several runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::reader::Recording;
use super::stored::StoredRecord;
use crate::bt::{HaltReason, NodeIndex, NodeStatus, Observer, Time, TreeDef};

/// How often a node ran, and how its activations ended. The same result in two ticks in a row counts once.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Number of activations.
    pub ran: u64,
    /// Those that ended with success.
    pub succeeded: u64,
    /// Those that ended with failure.
    pub failed: u64,
    /// Those that were halted.
    pub halted: u64,
    /// Number of times that it was skipped.
    pub skipped: u64,
}

impl Counts {
    fn change(&mut self, from: NodeStatus, to: NodeStatus) {
        self.ran += u64::from(from != NodeStatus::Running && to.is_active());
        self.succeeded += u64::from(to == NodeStatus::Success);
        self.failed += u64::from(to == NodeStatus::Failure);
    }
}

/// The counts of a tree. As an observer, it adds the changes of trees with the same ID. Clones share the counts.
#[derive(Clone, Debug)]
pub struct Coverage(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    tree: String,
    nodes: FxHashMap<Arc<str>, NodeIndex>,
    counts: Vec<Counts>,
}

impl State {
    fn counts_of(&mut self, path: &str) -> Option<&mut Counts> {
        let node = self.nodes.get(path)?;
        self.counts.get_mut(node.index())
    }
}

impl Coverage {
    /// The counts of a tree that has not run.
    pub fn new(def: &TreeDef) -> Self {
        Self(Arc::new(Mutex::new(State {
            tree: def.id().to_owned(),
            nodes: def
                .nodes()
                .map(|(node, info)| (Arc::clone(&info.path), node))
                .collect(),
            counts: vec![Counts::default(); def.len()],
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a recording. Returns the number of nodes of its tree that this tree does not have.
    ///
    /// # Errors
    /// The recording is of another tree.
    pub fn add(&self, recording: &Recording) -> Result<usize, String> {
        let mut state = self.lock();
        let navigation = &recording.navigation;
        if navigation.tree != state.tree {
            return Err(format!(
                "the recording is of the tree `{}`, not of `{}`",
                navigation.tree, state.tree
            ));
        }
        let paths: Vec<&str> = navigation.nodes.iter().map(String::as_str).collect();
        let unknown = paths.iter().filter(|path| !state.nodes.contains_key(**path));
        let unknown = unknown.count();
        if unknown == paths.len() {
            return Err(format!(
                "no node of the recording is in the tree `{}`",
                state.tree
            ));
        }
        for (_, record) in &recording.records {
            let (StoredRecord::Changed { node, .. }
            | StoredRecord::Halted { node, .. }
            | StoredRecord::Skipped(node)) = record
            else {
                continue;
            };
            let path = paths.get(node.index()).copied();
            let Some(counts) = path.and_then(|path| state.counts_of(path)) else {
                continue;
            };
            match record {
                StoredRecord::Changed { from, to, .. } => counts.change(*from, *to),
                StoredRecord::Halted { .. } => counts.halted += 1,
                _ => counts.skipped += 1,
            }
        }
        Ok(unknown)
    }

    /// The counts of all nodes, in pre-order.
    pub fn counts(&self) -> Vec<Counts> {
        self.lock().counts.clone()
    }

    fn count(&self, def: &TreeDef, node: NodeIndex, add: impl FnOnce(&mut Counts)) {
        let mut state = self.lock();
        if def.id() == state.tree
            && let Some(counts) = state.counts_of(&def.node(node).path)
        {
            add(counts);
        }
    }
}

impl Observer for Coverage {
    fn changed(&mut self, def: &TreeDef, node: NodeIndex, from: NodeStatus, to: NodeStatus, _: Time) {
        self.count(def, node, |counts| counts.change(from, to));
    }

    fn halted(&mut self, def: &TreeDef, node: NodeIndex, _: HaltReason, _: Time) {
        self.count(def, node, |counts| counts.halted += 1);
    }

    fn skipped(&mut self, def: &TreeDef, node: NodeIndex, _: Time) {
        self.count(def, node, |counts| counts.skipped += 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::builder::{leaf, reactive_sequence};
    use crate::bt::testing::Scene;
    use crate::record::stored::StoredNavigation;

    fn counts(ran: u64, succeeded: u64, failed: u64, halted: u64, skipped: u64) -> Counts {
        Counts {
            ran,
            succeeded,
            failed,
            halted,
            skipped,
        }
    }

    #[test]
    fn an_observed_tree_counts_results_halts_and_skips() {
        let root = reactive_sequence([
            leaf("ScriptCondition").port("code", "go"),
            leaf("AlwaysSuccess").port("_skipIf", "go"),
            leaf("Sleep").port("msec", "1000"),
        ]);
        let mut tree = Scene::new(root).set("go", true).compile().unwrap();
        let coverage = Coverage::new(tree.definition());
        tree.set_observer(Some(Box::new(coverage.clone())));
        tree.tick(Time::ZERO).unwrap();
        tree.tick(Time::from_millis(10)).unwrap();
        tree.set("go", false).unwrap();
        tree.tick(Time::from_millis(20)).unwrap();
        let all = coverage.counts();
        assert_eq!(all[0], counts(1, 0, 1, 0, 0));
        assert_eq!(all[2], counts(0, 0, 0, 0, 2));
        assert_eq!(all[3], counts(1, 0, 0, 1, 0));
    }

    #[test]
    fn a_recording_of_another_tree_is_refused_and_foreign_nodes_are_counted() {
        let tree = Scene::new(leaf("AlwaysSuccess")).compile().unwrap();
        let coverage = Coverage::new(tree.definition());
        let path = tree.definition().node(NodeIndex::ROOT).path.to_string();
        let mut recording = Recording {
            navigation: StoredNavigation {
                tree: tree.definition().id().to_owned(),
                nodes: vec!["Other".to_owned(), path],
                ..StoredNavigation::default()
            },
            ..Recording::default()
        };
        let changed = |node| StoredRecord::Changed {
            node: NodeIndex::from_index(node),
            from: NodeStatus::Idle,
            to: NodeStatus::Success,
        };
        recording.records = [0, 1, 7].map(|node| (Time::ZERO, changed(node))).into();
        assert_eq!(coverage.add(&recording), Ok(1));
        assert_eq!(coverage.counts(), [counts(1, 1, 0, 0, 0)]);
        recording.navigation.tree = "Another".to_owned();
        assert!(coverage.add(&recording).is_err());
    }
}
