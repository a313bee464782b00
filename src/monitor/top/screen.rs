//! What the user has chosen: the robot, the selected node, the search, the time, and what is hidden.

use std::collections::BTreeSet;

use super::robot::Robot;
use super::run::Run;
use super::state::State;
use crate::bt::{NodeStatus, Time};

/// A part of the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pane {
    Tree,
    Node,
    Goals,
    Blackboard,
    Ticks,
    Log,
}

impl Pane {
    /// All, in the order of the Tab key.
    pub(super) const ALL: [Self; 6] = [
        Self::Tree,
        Self::Node,
        Self::Goals,
        Self::Blackboard,
        Self::Ticks,
        Self::Log,
    ];

    /// The title.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Tree => "Tree",
            Self::Node => "Node",
            Self::Goals => "Goals",
            Self::Blackboard => "Blackboard",
            Self::Ticks => "Ticks",
            Self::Log => "Log",
        }
    }
}

/// All that is on the screen.
#[derive(Clone, Debug)]
pub(super) struct Screen {
    pub(super) robots: Vec<Robot>,
    /// The number of the shown robot.
    pub(super) shown: usize,
    pub(super) focus: Pane,
    /// The number of the selected node.
    pub(super) selected: usize,
    pub(super) folded: BTreeSet<usize>,
    /// Only nodes that are active are shown.
    pub(super) is_active_only: bool,
    /// The selection follows the leaf that runs.
    pub(super) is_following: bool,
    /// The shown time; `None`: the newest.
    pub(super) time: Option<Time>,
    /// Lines of the pane with the focus that are scrolled away.
    pub(super) scroll: usize,
    pub(super) search: String,
    /// The user writes the search.
    pub(super) is_searching: bool,
    /// The log shows all changes of statuses.
    pub(super) has_all_changes: bool,
    pub(super) has_help: bool,
}

impl Screen {
    /// The screen at the beginning.
    pub(super) fn new(robots: Vec<Robot>) -> Self {
        Self {
            robots,
            shown: 0,
            focus: Pane::Tree,
            selected: 0,
            folded: BTreeSet::new(),
            is_active_only: false,
            is_following: true,
            time: None,
            scroll: 0,
            search: String::new(),
            is_searching: false,
            has_all_changes: false,
            has_help: false,
        }
    }

    /// The shown robot.
    pub(super) fn robot(&self) -> Option<&Robot> {
        self.robots.get(self.shown)
    }

    /// The shown run.
    pub(super) fn run(&self) -> Option<&Run> {
        self.robot()?.run.as_ref()
    }

    /// The shown robot has another run: what was chosen for the one before may not exist.
    pub(super) fn begin_run(&mut self, is_same_tree: bool) {
        self.time = None;
        if !is_same_tree {
            self.selected = 0;
            self.folded.clear();
        }
    }

    /// Selects the leaf that runs, if the selection follows.
    pub(super) fn follow(&mut self) {
        if !self.is_following {
            return;
        }
        let Some(run) = self.run() else { return };
        let state = run.at(self.time);
        let running = state
            .nodes
            .iter()
            .enumerate()
            .rev()
            .find(|(node, of)| of.status == NodeStatus::Running && run.is_leaf(*node));
        if let Some((node, _)) = running {
            self.selected = node;
        }
    }

    /// The nodes that are not hidden, with their depths.
    pub(super) fn visible(&self, run: &Run, state: &State) -> Vec<(usize, usize)> {
        let mut visible = Vec::new();
        let mut waiting = vec![(0, 0)];
        while let Some((node, depth)) = waiting.pop() {
            let Some(of) = state.nodes.get(node) else {
                continue;
            };
            if self.is_active_only && !of.status.is_active() {
                continue;
            }
            visible.push((node, depth));
            if !self.folded.contains(&node) {
                let children = run.children[node].iter().rev();
                waiting.extend(children.map(|child| (*child, depth + 1)));
            }
        }
        visible
    }

    /// Whether a node is one that the user searches.
    pub(super) fn is_found(&self, run: &Run, node: usize) -> bool {
        let word = self.search.trim().to_lowercase();
        let Some(node) = run.head.nodes.get(node).filter(|_| !word.is_empty()) else {
            return false;
        };
        node.name.to_lowercase().contains(&word) || node.id.to_lowercase().contains(&word)
    }

    /// Selects the next node that the search finds, from the selected one on. `skip`: not the selected one itself.
    pub(super) fn find(&mut self, skip: bool) {
        let Some(run) = self.run() else { return };
        let count = run.head.nodes.len();
        let first = self.selected + usize::from(skip);
        let found = (first..first + count)
            .map(|node| node % count)
            .find(|node| self.is_found(run, *node));
        if let Some(found) = found {
            self.select(found);
        }
    }

    /// Selects a node, and unfolds what hides it.
    pub(super) fn select(&mut self, node: usize) {
        self.is_following = false;
        self.selected = node;
        let Some(run) = self.run() else { return };
        let mut above = Vec::new();
        let mut at = run.head.nodes.get(node).and_then(|node| node.parent);
        while let Some(parent) = at.filter(|_| above.len() <= run.head.nodes.len()) {
            above.push(parent);
            at = run.head.nodes.get(parent).and_then(|node| node.parent);
        }
        self.folded.retain(|folded| !above.contains(folded));
    }
}
