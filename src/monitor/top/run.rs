//! A run: its tree, its changes, and its state at any time.

use std::borrow::Cow;

use super::run_log::RunLog;
use super::state::State;
use crate::bt::Time;
use crate::monitor::web::{Change, ChangeKind, RunHead};

/// Number of changes that are kept. The page keeps as many.
const MAX_CHANGES: usize = 400_000;
/// Number of changes between two kept states.
const KEYFRAME: usize = 5_000;

/// A run so far.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) head: RunHead,
    /// The children of each node.
    pub(super) children: Vec<Vec<usize>>,
    /// The key of each slot.
    pub(super) keys: Vec<String>,
    /// The state after all changes.
    pub(super) now: State,
    pub(super) log: RunLog,
    changes: Vec<Change>,
    /// The state before the change of this number times `KEYFRAME`.
    frames: Vec<State>,
}

impl Run {
    /// A run that begins.
    pub(super) fn new(head: RunHead) -> Self {
        let count = head.nodes.len();
        let mut children = vec![Vec::new(); count];
        for (index, node) in head.nodes.iter().enumerate() {
            // Parents come before their children, so no node is below itself.
            if let Some(parent) = node.parent.filter(|parent| *parent < index) {
                children[parent].push(index);
            }
        }
        Self {
            keys: head.keys.clone(),
            head,
            children,
            now: State::new(count),
            log: RunLog::default(),
            changes: Vec::new(),
            frames: Vec::new(),
        }
    }

    /// Adds changes.
    pub(super) fn add(&mut self, changes: Vec<Change>) {
        for change in changes {
            if let ChangeKind::Key(slot, key) = change.kind {
                self.set_key(slot, key);
                continue;
            }
            let leaf = match change.kind {
                ChangeKind::Status(node, _) | ChangeKind::Halted(node, _) => self.is_leaf(node as usize),
                _ => false,
            };
            self.log.add(&change, leaf, &self.now, &self.keys);
            if self.changes.len().is_multiple_of(KEYFRAME) {
                self.frames.push(self.now.clone());
            }
            self.now.apply(&change);
            self.changes.push(change);
        }
        if self.changes.len() > MAX_CHANGES {
            let frames = MAX_CHANGES / 4 / KEYFRAME;
            self.frames.drain(..frames);
            self.changes.drain(..frames * KEYFRAME);
        }
    }

    /// Slots are numbered without gaps; a number far away is none.
    fn set_key(&mut self, slot: u32, key: String) {
        let slot = slot as usize;
        if slot <= self.keys.len() + KEYFRAME {
            let count = self.keys.len().max(slot + 1);
            self.keys.resize(count, String::new());
            self.keys[slot] = key;
        }
    }

    /// The node has no children.
    pub(super) fn is_leaf(&self, node: usize) -> bool {
        self.children.get(node).is_some_and(Vec::is_empty)
    }

    /// The name of a node; that of the navigator without a node.
    pub(super) fn name(&self, node: Option<u32>) -> &str {
        let Some(node) = node else {
            return "the navigator";
        };
        self.head
            .nodes
            .get(node as usize)
            .map_or("?", |node| node.name.as_str())
    }

    /// The key of a slot.
    pub(super) fn key(&self, slot: u32) -> String {
        let key = self.keys.get(slot as usize).filter(|key| !key.is_empty());
        key.cloned().unwrap_or_else(|| format!("#{slot}"))
    }

    /// The state after all changes up to a time; `None`: after all.
    pub(super) fn at(&self, time: Option<Time>) -> Cow<'_, State> {
        let Some(time) = time.filter(|time| *time < self.now.time) else {
            return Cow::Borrowed(&self.now);
        };
        let count = self.until(time);
        let frame = (count / KEYFRAME).min(self.frames.len().saturating_sub(1));
        let mut state = self.frames.get(frame).cloned().unwrap_or_default();
        for change in &self.changes[frame * KEYFRAME..count] {
            state.apply(change);
        }
        state.time = time;
        Cow::Owned(state)
    }

    fn until(&self, time: Time) -> usize {
        self.changes.partition_point(|change| change.time <= time)
    }

    /// The changes up to a time, the newest first.
    pub(super) fn changes_before(&self, time: Option<Time>) -> impl Iterator<Item = &Change> {
        let count = time.map_or(self.changes.len(), |time| self.until(time));
        self.changes[..count].iter().rev()
    }

    /// The time of the last tick before a time.
    pub(super) fn tick_before(&self, time: Time) -> Option<Time> {
        let count = self.changes.partition_point(|change| change.time < time);
        self.changes[..count]
            .iter()
            .rev()
            .find(|change| is_tick(change))
            .map(|change| change.time)
    }

    /// The time of the first tick after a time.
    pub(super) fn tick_after(&self, time: Time) -> Option<Time> {
        self.changes[self.until(time)..]
            .iter()
            .find(|change| is_tick(change))
            .map(|change| change.time)
    }
}

fn is_tick(change: &Change) -> bool {
    change.kind == ChangeKind::TickBegan
}
