//! Tracks whether the work of a tree is based on the newest values of some entries, the sources.
//!
//! The ports and scripts of the file show which entries may be derived from which. During a run, an entry is current if
//! the node that last wrote it had read only current entries. An unclear case counts as outdated.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::NodeStatus;
use super::blackboard::{Blackboard, SlotId};
use super::definition::{SlotAccess, TreeDef};
use super::kind::NodeKind;

/// A node that reads a source, or an entry that may be derived from a source.
#[derive(Debug)]
struct Reader {
    /// The sources and derived entries that it reads.
    reads: Vec<SlotId>,
    writes: Vec<SlotId>,
    /// The entries that it both reads and writes.
    in_place: Vec<SlotId>,
    is_leaf: bool,
    /// Whether it may continue after the tick that activates it.
    starts: bool,
    /// Whether it has effects. A node that only asks has none.
    acts: bool,
    /// Whether its effects happen within the tick that activates it: an action that derives no blackboard entry from
    /// its inputs.
    acts_at_once: bool,
    /// Whether its effects have ended when it succeeds.
    sees_end: bool,
}

/// The last successful effect of a leaf.
#[derive(Clone, Copy, Debug)]
struct Done {
    /// Whether the leaf had read current entries.
    is_current: bool,
    /// Whether the effect has ended. A message or a call only forwards its input; the receiver may not have begun.
    is_proof: bool,
}

/// All readers of one tree.
#[derive(Debug)]
struct Readers {
    sources: Vec<SlotId>,
    nodes: FxHashMap<u32, Reader>,
}

impl Readers {
    fn of(def: &TreeDef, sources: Vec<SlotId>) -> Self {
        let mut readers_of: FxHashMap<SlotId, Vec<u32>> = FxHashMap::default();
        for access in def.accesses.iter().filter(|access| access.reads) {
            readers_of.entry(access.slot).or_default().push(access.node);
        }
        let mut derived: FxHashSet<SlotId> = sources.iter().copied().collect();
        let mut open = sources.clone();
        let mut nodes = FxHashMap::default();
        while let Some(slot) = open.pop() {
            for node in readers_of.remove(&slot).unwrap_or_default() {
                nodes.entry(node).or_insert_with(|| {
                    let writes = written_by(def, node);
                    open.extend(writes.iter().copied().filter(|slot| derived.insert(*slot)));
                    let compiled = &def.nodes[node as usize];
                    let kind = def.info[node as usize].kind;
                    let acts = compiled.behavior.acts();
                    Reader {
                        reads: Vec::new(),
                        acts_at_once: acts && kind == NodeKind::Action && writes.is_empty(),
                        writes,
                        in_place: Vec::new(),
                        is_leaf: matches!(kind, NodeKind::Action | NodeKind::Condition),
                        starts: compiled.behavior.node_effects(kind, &[]).starts,
                        acts,
                        sees_end: compiled.behavior.sees_end(),
                    }
                });
            }
        }
        for (node, reader) in &mut nodes {
            let reads = accesses_of(def, *node).filter(|access| access.reads);
            reader.reads = reads
                .map(|access| access.slot)
                .filter(|slot| derived.contains(slot))
                .collect();
            let in_place = reader.reads.iter().filter(|slot| reader.writes.contains(slot));
            reader.in_place = in_place.copied().collect();
        }
        Self { sources, nodes }
    }
}

/// The accesses of one node. Accesses are sorted by node.
fn accesses_of(def: &TreeDef, node: u32) -> impl Iterator<Item = &SlotAccess> {
    let first = def.accesses.partition_point(|access| access.node < node);
    let rest = def.accesses.get(first..).unwrap_or_default().iter();
    rest.take_while(move |access| access.node == node)
}

fn written_by(def: &TreeDef, node: u32) -> Vec<SlotId> {
    def.slots_written_by(node).collect()
}

/// The provenance of one run.
pub(crate) struct Provenance {
    readers: Arc<Readers>,
    /// Whether the sources were written while the tree runs.
    is_renewed: bool,
    /// Write count of each entry at that moment.
    before: FxHashMap<SlotId, u64>,
    /// The current entries, with their write count when they became current.
    current: FxHashMap<SlotId, u64>,
    /// Entries that were current until a reader overwrote them: the node, and the write count then.
    overwritten: FxHashMap<SlotId, (u32, u64)>,
    /// Leaves that run on current entries.
    at_work: FxHashSet<u32>,
    /// Leaves that have succeeded, with their last effect.
    done: FxHashMap<u32, Done>,
    /// Whether the last leaf that acted, with success or not, used current entries. A leaf that proves nothing can only
    /// clear this.
    last: bool,
}

impl Provenance {
    pub(crate) fn new(def: &TreeDef, sources: Vec<SlotId>) -> Self {
        Self::with(Readers::of(def, sources))
    }

    fn with(readers: Readers) -> Self {
        Self {
            readers: Arc::new(readers),
            is_renewed: false,
            before: FxHashMap::default(),
            current: FxHashMap::default(),
            overwritten: FxHashMap::default(),
            at_work: FxHashSet::default(),
            done: FxHashMap::default(),
            last: false,
        }
    }

    /// Starts a new run.
    pub(crate) fn reset(&mut self) {
        self.is_renewed = false;
        self.done.clear();
        self.forget();
    }

    fn forget(&mut self) {
        self.before.clear();
        self.current.clear();
        self.overwritten.clear();
        self.at_work.clear();
        self.last = false;
    }

    /// Records that the sources were written.
    pub(crate) fn renew(&mut self, blackboard: &Blackboard) {
        self.forget();
        self.is_renewed = true;
        self.done.values_mut().for_each(|done| done.is_current = false);
        let writes = self.readers.nodes.values().flat_map(|reader| &reader.writes);
        self.before
            .extend(writes.map(|slot| (*slot, blackboard.entry(*slot).sequence())));
        let sources = self.readers.sources.iter();
        self.current
            .extend(sources.map(|slot| (*slot, blackboard.entry(*slot).sequence())));
    }

    /// Whether a run that ended with `status` worked on the newest values of the sources. A successful run did if every
    /// leaf that acted with success used current entries and the effect of at least one has ended. A failed run did if
    /// its last leaf used them.
    pub(crate) fn is_current(&self, status: NodeStatus) -> bool {
        if status == NodeStatus::Success {
            let mut done = self.done.values();
            done.clone().all(|done| done.is_current) && done.any(|done| done.is_proof)
        } else {
            self.last
        }
    }

    /// Whether an entry is based on the newest values of the sources. False if this is not certain.
    pub(crate) fn is_entry_current(&self, blackboard: &Blackboard, slot: SlotId) -> bool {
        !self.is_renewed || self.current.get(&slot) == Some(&blackboard.entry(slot).sequence())
    }

    /// Records that a running node has read its entries again.
    pub(crate) fn read_again(&mut self, blackboard: &Blackboard, node: u32) {
        if self.is_renewed && self.reads_current(blackboard, node) {
            self.at_work.insert(node);
        } else {
            self.at_work.remove(&node);
        }
    }

    /// Records a status change of a node.
    #[inline]
    pub(crate) fn changed(&mut self, blackboard: &Blackboard, node: u32, from: NodeStatus, to: NodeStatus) {
        let Some(reader) = self.readers.nodes.get(&node) else {
            return;
        };
        let (acts, acts_at_once, starts) = (reader.acts, reader.acts_at_once, reader.starts);
        let sees_end = reader.sees_end;
        match to {
            NodeStatus::Idle | NodeStatus::Skipped => {
                self.at_work.remove(&node);
            }
            _ if !reader.is_leaf => {
                self.write(blackboard, node);
            }
            NodeStatus::Running if from != NodeStatus::Running => self.read_again(blackboard, node),
            NodeStatus::Running => {}
            NodeStatus::Success | NodeStatus::Failure if from == NodeStatus::Running => {
                let is_current = self.at_work.remove(&node);
                if is_current && to == NodeStatus::Success {
                    self.mark(blackboard, node);
                }
                if acts {
                    let is_proof = sees_end;
                    self.acted(node, to, Done { is_current, is_proof });
                }
            }
            NodeStatus::Failure => {}
            // A leaf that is ticked again after it completed repeats its result.
            NodeStatus::Success if starts && from != NodeStatus::Idle => {}
            NodeStatus::Success => {
                let is_current = self.write(blackboard, node);
                if acts_at_once {
                    let is_proof = false;
                    self.acted(node, to, Done { is_current, is_proof });
                }
            }
        }
    }

    fn acted(&mut self, node: u32, status: NodeStatus, done: Done) {
        self.last = done.is_current && (done.is_proof || self.last);
        if status == NodeStatus::Success {
            self.done.insert(node, done);
        }
    }

    /// Handles a node that reads and writes within one tick. Returns whether it read only current entries.
    fn write(&mut self, blackboard: &Blackboard, node: u32) -> bool {
        let is_current = self.is_renewed && self.reads_current(blackboard, node);
        if is_current {
            self.mark(blackboard, node);
        }
        is_current
    }

    fn reads_current(&self, blackboard: &Blackboard, node: u32) -> bool {
        let Some(reader) = self.readers.nodes.get(&node) else {
            return false;
        };
        let mut written = reader
            .reads
            .iter()
            .filter(|slot| blackboard.get(**slot).is_some())
            .peekable();
        written.peek().is_some()
            && written.all(|slot| {
                let sequence = blackboard.entry(*slot).sequence();
                self.current.get(slot) == Some(&sequence)
                    || self.overwritten.get(slot) == Some(&(node, sequence))
            })
    }

    /// A node is about to write entries. Records its inputs, because it may overwrite an entry that it reads.
    #[inline]
    pub(crate) fn begin_write(&mut self, blackboard: &Blackboard, node: u32) {
        if !self.is_renewed {
            return;
        }
        let reader = self.readers.nodes.get(&node);
        for slot in reader.iter().flat_map(|reader| &reader.in_place) {
            let sequence = blackboard.entry(*slot).sequence();
            if self.current.get(slot) == Some(&sequence) {
                self.overwritten.insert(*slot, (node, sequence));
            } else if self.overwritten.get(slot) != Some(&(node, sequence)) {
                self.overwritten.remove(slot);
            }
        }
    }

    /// The node has written.
    #[inline]
    pub(crate) fn end_write(&mut self, blackboard: &Blackboard, node: u32) {
        if !self.is_renewed {
            return;
        }
        let reader = self.readers.nodes.get(&node);
        for slot in reader.iter().flat_map(|reader| &reader.in_place) {
            if let Some((by, sequence)) = self.overwritten.get_mut(slot)
                && *by == node
            {
                *sequence = blackboard.entry(*slot).sequence();
            }
        }
    }

    /// Marks the entries that a node wrote since the sources were renewed as current.
    fn mark(&mut self, blackboard: &Blackboard, node: u32) {
        let Some(reader) = self.readers.nodes.get(&node) else {
            return;
        };
        for slot in &reader.writes {
            let sequence = blackboard.entry(*slot).sequence();
            if self.before.get(slot).is_none_or(|before| sequence > *before) {
                self.current.insert(*slot, sequence);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Time;
    use super::super::blackboard::Entry;
    use super::super::value::Value;
    use super::NodeStatus::{Idle, Running, Success};
    use super::*;

    const GOALS: SlotId = SlotId(0);
    const PATH: SlotId = SlotId(1);
    /// Calls a server, and writes the goals in place.
    const FILTER: u32 = 1;
    const PLAN: u32 = 2;

    fn board() -> Blackboard {
        let mut board = Blackboard::new(vec![Entry::default(); 2]);
        board.put(GOALS, Value::Int(1), Time::ZERO);
        board
    }

    fn provenance() -> Provenance {
        let reader = |writes: SlotId, acts: bool| Reader {
            reads: vec![GOALS],
            writes: vec![writes],
            in_place: if writes == GOALS { vec![GOALS] } else { Vec::new() },
            is_leaf: true,
            starts: true,
            acts,
            acts_at_once: false,
            sees_end: true,
        };
        let nodes = [(FILTER, reader(GOALS, false)), (PLAN, reader(PATH, true))];
        let readers = Readers {
            sources: vec![GOALS],
            nodes: nodes.into_iter().collect(),
        };
        Provenance::with(readers)
    }

    /// Whether the plan of this run is based on the newest goals.
    fn plan(provenance: &mut Provenance, board: &mut Blackboard) -> bool {
        provenance.changed(board, PLAN, Idle, Running);
        board.put(PATH, Value::Int(1), Time::ZERO);
        provenance.changed(board, PLAN, Running, Success);
        provenance.is_current(Success)
    }

    #[test]
    fn a_source_overwritten_with_a_value_derived_from_its_old_one_is_outdated() {
        for is_late in [false, true] {
            let (mut provenance, mut board) = (provenance(), board());
            if is_late {
                provenance.changed(&board, FILTER, Idle, Running);
            }
            board.put(GOALS, Value::Int(2), Time::ZERO);
            provenance.renew(&board);
            if !is_late {
                provenance.changed(&board, FILTER, Idle, Running);
            }
            board.put(GOALS, Value::Int(3), Time::ZERO);
            provenance.changed(&board, FILTER, Running, Success);
            assert_eq!(plan(&mut provenance, &mut board), !is_late);
        }
    }

    #[test]
    fn a_running_leaf_with_an_outdated_input_is_not_current() {
        let (mut provenance, mut board) = (provenance(), board());
        provenance.renew(&board);
        provenance.changed(&board, PLAN, Idle, Running);
        // Written by a node with unknown behavior.
        board.put(GOALS, Value::Int(2), Time::ZERO);
        provenance.read_again(&board, PLAN);
        provenance.changed(&board, PLAN, Running, Success);
        assert!(!provenance.is_current(Success));
    }
}
