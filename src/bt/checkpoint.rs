//! The state of an idle tree, to continue its run in another process.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use super::blackboard::{Entry, ScopeId, SlotId};
use super::context::Context;
use super::definition::NodeIndex;
use super::run::Memory;
use super::tree::Tree;
use super::types::TypeInfo;
use super::value::Value;
use super::{NodeStatus, Time};

/// What a tree keeps between two runs: its blackboard, and the state of its nodes. Taken from a tree that is idle, so it
/// contains no activation. A replay of the next run starts from it (guarantee G9).
#[derive(Clone, Debug, Default)]
pub struct Checkpoint {
    /// The number of executions of the root.
    pub ticks: u64,
    /// Start times of the last tick and of the one before it.
    pub ticked: [Time; 2],
    /// The state of the random numbers.
    pub random: u64,
    /// The small state of each node.
    pub memories: Vec<Memory>,
    /// The large states of the nodes that keep one between activations; see
    /// [`Behavior::save`](super::Behavior::save).
    pub states: Vec<(NodeIndex, Value)>,
    /// All entries of the blackboard.
    pub entries: Vec<EntryState>,
    /// The scopes and keys of the entries that the run has added to those of its definition, in the order of their
    /// slots.
    pub added: Vec<(ScopeId, Arc<str>)>,
}

/// The state of one entry of a [`Checkpoint`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntryState {
    /// `None`: no such entry. `Some(Value::Empty)`: declared but not written.
    pub value: Option<Value>,
    /// The type of the entry, once it has one.
    pub info: Option<&'static TypeInfo>,
    /// The number of writes.
    pub sequence: u64,
    /// The time of the last write.
    pub stamp: Time,
}

impl Tree {
    /// The state of an idle tree.
    pub fn checkpoint(&mut self) -> Checkpoint {
        let def = Arc::clone(self.definition());
        let run = self.run_mut();
        let mut states = Vec::new();
        for (node, compiled) in (0..).zip(def.nodes.iter()) {
            let mut cx = Context { def: &def, run, node };
            let save = || compiled.behavior.save(&mut cx);
            // Without this state a replay differs. A panic here would end the navigation.
            let state = panic::catch_unwind(AssertUnwindSafe(save)).unwrap_or_default();
            states.extend(state.map(|state| (NodeIndex(node), state)));
        }
        let blackboard = &run.blackboard;
        let count = u32::try_from(blackboard.len()).unwrap_or(u32::MAX);
        let first_added = u32::try_from(def.slots.len()).unwrap_or(u32::MAX);
        Checkpoint {
            ticks: run.ticks,
            ticked: run.ticked,
            random: run.random.state(),
            memories: run.memories.to_vec(),
            states,
            entries: (0..count)
                .map(|slot| blackboard.entry(SlotId(slot)).state())
                .collect(),
            added: (first_added..count)
                .filter_map(|slot| {
                    let (scope, key) = blackboard.dynamic_key(SlotId(slot))?;
                    Some((scope, Arc::clone(key)))
                })
                .collect(),
        }
    }

    /// Puts a new tree of the same definition into the state of a checkpoint. Call [`Tree::attach`] before.
    ///
    /// # Errors
    /// The checkpoint belongs to another definition.
    pub fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), String> {
        let def = Arc::clone(self.definition());
        if checkpoint.memories.len() != def.len() {
            return Err(format!(
                "the checkpoint is of a tree with {} nodes, and this tree has {}",
                checkpoint.memories.len(),
                def.len()
            ));
        }
        if checkpoint.entries.len() != def.slots.len() + checkpoint.added.len() {
            return Err(format!(
                "the checkpoint has {} blackboard entries, and this tree has {}",
                checkpoint.entries.len(),
                def.slots.len() + checkpoint.added.len()
            ));
        }
        if checkpoint
            .added
            .iter()
            .any(|(scope, _)| scope.0 as usize >= def.scopes.len())
        {
            return Err("the checkpoint names a scope that this tree does not have".to_owned());
        }
        let run = self.run_mut();
        run.ticks = checkpoint.ticks;
        run.ticked = checkpoint.ticked;
        run.random.restore(checkpoint.random);
        run.statuses.fill(NodeStatus::Idle);
        run.memories.copy_from_slice(&checkpoint.memories);
        for (scope, key) in &checkpoint.added {
            if run.blackboard.dynamic(*scope, key).is_none() {
                run.blackboard.make_dynamic(*scope, key);
            }
        }
        for (slot, state) in (0..).map(SlotId).zip(&checkpoint.entries) {
            run.blackboard.restore(slot, Entry::of(state));
        }
        for (node, state) in &checkpoint.states {
            if let Some(compiled) = def.nodes.get(node.index()) {
                let mut cx = Context {
                    def: &def,
                    run,
                    node: node.0,
                };
                compiled.behavior.load(&mut cx, state);
            }
        }
        Ok(())
    }

    /// Writes an entry as the owner of the tree did in a recorded run, without check or conversion.
    pub fn write_recorded(&mut self, slot: SlotId, value: Option<Value>, info: Option<&'static TypeInfo>) {
        let run = self.run_mut();
        if (slot.0 as usize) < run.blackboard.len() {
            let sequence = run.blackboard.entry(slot).sequence();
            let state = EntryState {
                value,
                info,
                sequence: sequence + 1,
                stamp: run.now,
            };
            run.blackboard.restore(slot, Entry::of(&state));
        }
    }

    /// The entry of a key of a scope. Creates the entry if it does not exist.
    pub fn resolve(&mut self, scope: ScopeId, key: &str) -> SlotId {
        let def = Arc::clone(self.definition());
        super::keys::resolve(&def, &mut self.run_mut().blackboard, scope, key)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{leaf, sequence};
    use crate::bt::testing::Scene;
    use crate::bt::{HaltReason, ScopeId, Time, Tree};

    fn tree() -> Tree {
        let root = sequence([
            leaf("Script").port("code", "count := count + 1"),
            leaf("SetBlackboard")
                .port("value", "7")
                .port("output_key", "{which}"),
            leaf("Script").port("code", "total := total + 1"),
            leaf("WasEntryUpdated").port("entry", "{count}"),
        ]);
        Scene::new(root)
            .set("count", 0_i32)
            .set("total", 5_i32)
            .text("which", "new_key")
            .compile()
            .unwrap()
    }

    #[test]
    fn g9_a_restored_tree_continues_as_the_original() {
        let mut original = tree();
        for time in 0..3 {
            original.tick(Time::from_millis(time)).unwrap();
        }
        original.halt(HaltReason::GoalCanceled, Time::from_millis(3));
        let checkpoint = original.checkpoint();
        assert_eq!(checkpoint.added.len(), 1, "{:?}", checkpoint.added);

        let mut copy = Tree::new(original.definition().clone());
        copy.attach(Time::ZERO).unwrap();
        copy.restore(&checkpoint).unwrap();
        for time in 4..8 {
            let now = Time::from_millis(time);
            assert_eq!(original.tick(now), copy.tick(now));
            assert_eq!(original.export(ScopeId::ROOT), copy.export(ScopeId::ROOT));
            assert_eq!(original.ticks(), copy.ticks());
        }
    }

    #[test]
    fn a_checkpoint_of_another_tree_is_refused() {
        let checkpoint = tree().checkpoint();
        let mut other = Scene::new(leaf("AlwaysSuccess")).compile().unwrap();
        let error = other.restore(&checkpoint).unwrap_err();
        assert!(error.contains("5 nodes"), "{error}");
    }
}
