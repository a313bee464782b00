//! Entries that several trees share: the keys that a tree addresses with `@`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::blackboard::{Blackboard, SlotId};
use super::definition::TreeDef;
use super::types::{PortValue, TypeInfo};
use super::value::Value;
use super::{Enums, Time};

/// A blackboard shared by all trees that use it ([`Tree::share`](super::Tree::share)), under the keys that a tree
/// addresses as `@key`. Clones are the same blackboard.
///
/// A tree sees the state at the beginning of its tick and publishes its writes at the end. The order of ticks
/// determines the result, not the moment within a tick, so a run is repeatable (guarantee G9). No lock is held during a
/// tick (guarantee G1).
///
/// ```
/// use navtree::bt::builder::{forest, leaf, tree};
/// use navtree::bt::{Globals, Registry, Time, Tree, Value, compile};
///
/// let forest = forest([
///     tree("Writer", leaf("Script").port("code", "@orders := 7")),
///     tree("Reader", leaf("ScriptCondition").port("code", "@orders == 7")),
/// ]);
/// let registry = Registry::builtin();
/// let globals = Globals::new();
/// let mut run = |id: &str| {
///     let mut tree = Tree::new(compile(&forest, id, &registry).unwrap().def);
///     tree.share(globals.clone());
///     tree.tick(Time::ZERO)
/// };
/// assert!(run("Reader").is_err());
/// run("Writer")?;
/// assert!(run("Reader").is_ok());
/// assert_eq!(globals.get("orders"), Some(Value::Int(7)));
/// # Ok::<(), navtree::bt::TickError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Globals(Arc<Mutex<FxHashMap<Arc<str>, Shared>>>);

#[derive(Clone, Debug)]
struct Shared {
    value: Value,
    info: Option<&'static TypeInfo>,
    /// Number of writes by all trees.
    version: u64,
}

impl Globals {
    /// An empty blackboard.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a key, without `@`.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.entries().get(key).map(|shared| shared.value.clone())
    }

    /// Writes a key, without `@`.
    pub fn set<T: PortValue>(&self, key: &str, value: T) {
        let info = T::TYPE.is_strong().then_some(T::TYPE);
        write(&mut self.entries(), &Arc::from(key), value.into_value(), info);
    }

    fn entries(&self) -> MutexGuard<'_, FxHashMap<Arc<str>, Shared>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write(
    entries: &mut FxHashMap<Arc<str>, Shared>,
    key: &Arc<str>,
    value: Value,
    info: Option<&'static TypeInfo>,
) -> u64 {
    let version = entries.get(key).map_or(0, |shared| shared.version) + 1;
    entries.insert(Arc::clone(key), Shared { value, info, version });
    version
}

/// The connection of one tree to a shared blackboard.
pub(crate) struct Sharing {
    globals: Globals,
    slots: Vec<SharedSlot>,
}

struct SharedSlot {
    key: Arc<str>,
    slot: SlotId,
    /// Write counts of the tree's own entry and of the shared one when both were equal.
    written: u64,
    version: u64,
}

impl Sharing {
    pub(crate) fn new(globals: Globals, def: &TreeDef) -> Self {
        let mut sharing = Self {
            globals,
            slots: Vec::new(),
        };
        for (key, slot) in &def.globals {
            sharing.add(key, *slot);
        }
        sharing
    }

    /// Adds a key that was first used during the run.
    pub(crate) fn add(&mut self, key: &str, slot: SlotId) {
        if self.slots.iter().all(|shared| shared.slot != slot) {
            self.slots.push(SharedSlot {
                key: key.into(),
                slot,
                written: 0,
                version: 0,
            });
        }
    }

    /// Publishes the writes of the tree.
    pub(crate) fn send(&mut self, board: &Blackboard) {
        let mut entries = self.globals.entries();
        for shared in &mut self.slots {
            let entry = board.entry(shared.slot);
            if entry.sequence() != shared.written
                && let Some(value) = entry.value()
            {
                shared.version = write(&mut entries, &shared.key, value.clone(), entry.info());
                shared.written = entry.sequence();
            }
        }
    }

    /// Reads the writes of others. The tree's own writes from before the tick are published first.
    pub(crate) fn receive(&mut self, board: &mut Blackboard, enums: &Enums, now: Time) {
        self.send(board);
        let entries = self.globals.entries();
        for shared in &mut self.slots {
            let Some(other) = entries
                .get(&shared.key)
                .filter(|other| other.version != shared.version)
            else {
                continue;
            };
            let info = other.info.unwrap_or(Value::TYPE);
            if board
                .set(shared.slot, other.value.clone(), info, enums, now)
                .is_err()
            {
                // The value has another type than this tree declares. A node that reads it reports the error and names
                // its port.
                board.put(shared.slot, other.value.clone(), now);
            }
            shared.version = other.version;
            shared.written = board.entry(shared.slot).sequence();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::Tree;
    use crate::bt::builder::{NodeBuilder, leaf, sequence, subtree};
    use crate::bt::testing::Scene;

    fn tree(root: NodeBuilder, globals: &Globals) -> Tree {
        let mut tree = Scene::new(root).compile().unwrap();
        tree.share(globals.clone());
        tree
    }

    fn tick(tree: &mut Tree) -> char {
        tree.tick(Time::ZERO).map_or('E', crate::bt::NodeStatus::letter)
    }

    #[test]
    fn trees_that_share_globals_see_each_others_writes() {
        let globals = Globals::new();
        let count = || leaf("Script").port("code", "@count += 1");
        let (mut one, mut other) = (tree(count(), &globals), tree(count(), &globals));
        globals.set("count", 1_i32);
        for expected in [2, 4] {
            assert_eq!(
                (tick(&mut one), globals.get("count")),
                ('S', Some(Value::Int(expected)))
            );
            assert_eq!(
                (tick(&mut other), globals.get("count")),
                ('S', Some(Value::Int(expected + 1)))
            );
        }
    }

    #[test]
    fn a_write_counts_as_an_update_in_the_other_tree_once() {
        let globals = Globals::new();
        let mut watcher = tree(leaf("WasEntryUpdated").port("entry", "{@x}"), &globals);
        assert_eq!(tick(&mut watcher), 'F');
        globals.set("x", 1_i32);
        assert_eq!([tick(&mut watcher), tick(&mut watcher)], ['S', 'F']);
    }

    #[test]
    fn keys_without_the_at_sign_are_not_shared() {
        let globals = Globals::new();
        let mut writer = tree(leaf("Script").port("code", "x := 1; @y := 2"), &globals);
        tick(&mut writer);
        assert_eq!((globals.get("x"), globals.get("y")), (None, Some(Value::Int(2))));
    }

    #[test]
    fn a_key_created_at_run_time_is_shared() {
        let globals = Globals::new();
        let set = leaf("SetBlackboard")
            .port("value", "7")
            .port("output_key", "{which}");
        let scene = Scene::new(sequence([subtree("Inner").port("which", "{which}")]));
        let mut writer = scene.with("Inner", set).text("which", "@x").compile().unwrap();
        writer.share(globals.clone());
        tick(&mut writer);
        assert_eq!(globals.get("x"), Some(Value::text("7")));
    }

    #[test]
    fn a_value_of_the_wrong_type_is_an_error_of_the_reader() {
        let globals = Globals::new();
        let mut reader = tree(leaf("Sleep").port("msec", "{@x}"), &globals);
        globals.set("x", -1_i32);
        let error = reader.tick(Time::ZERO).unwrap_err();
        assert!(error.to_string().contains("port `msec`"), "{error}");
    }
}
