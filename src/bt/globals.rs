//! Entries that several trees share: the keys that a tree addresses with `@`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::blackboard::{Blackboard, SlotId};
use super::definition::TreeDef;
use super::types::{PortValue, TypeInfo};
use super::value::Value;
use super::{Enums, Time};

/// A blackboard that every tree reaches which was given it ([`Tree::share`](super::Tree::share)), under the keys that
/// the tree addresses as `@key`. Clones are the same blackboard.
///
/// Trees see it as it was when their tick began and show what they wrote when it has ended: the order of ticks decides,
/// not the moment within one, so a run repeats (guarantee G9), and no lock is held during a tick (guarantee G1).
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
    /// Counts the writes of all trees.
    version: u64,
}

impl Globals {
    /// A blackboard without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a key, named without `@`.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.entries().get(key).map(|shared| shared.value.clone())
    }

    /// Writes a key, named without `@`.
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

/// One tree's part in a shared blackboard.
pub(crate) struct Sharing {
    globals: Globals,
    slots: Vec<SharedSlot>,
}

struct SharedSlot {
    key: Arc<str>,
    slot: SlotId,
    /// Writes to the tree's own entry, and to the shared one, when both were the same.
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

    /// A key that became known during the run.
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

    /// Shows what the tree wrote.
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

    /// Takes in what others wrote; the tree's own writes of before the tick go first.
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
                // Of another type than this tree declares: whoever reads it says so, and names its port.
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
    fn trees_side_by_side_see_each_others_writes() {
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
    fn keys_without_the_sign_stay_with_their_tree() {
        let globals = Globals::new();
        let mut writer = tree(leaf("Script").port("code", "x := 1; @y := 2"), &globals);
        tick(&mut writer);
        assert_eq!((globals.get("x"), globals.get("y")), (None, Some(Value::Int(2))));
    }

    #[test]
    fn a_key_that_only_the_run_knows_is_shared_too() {
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
    fn a_value_of_the_wrong_type_is_the_readers_error() {
        let globals = Globals::new();
        let mut reader = tree(leaf("Sleep").port("msec", "{@x}"), &globals);
        globals.set("x", -1_i32);
        let error = reader.tick(Time::ZERO).unwrap_err();
        assert!(error.to_string().contains("port `msec`"), "{error}");
    }
}
