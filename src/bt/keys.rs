//! Keys that are known at run time only; those that a file names are resolved when the tree is compiled.

use super::behavior::Thrown;
use super::blackboard::{Blackboard, ScopeId, SlotId, is_key};
use super::context::Context;
use super::definition::TreeDef;

/// The longest key, in bytes, that a tree may work out while it runs.
const LONGEST_KEY: usize = 1000;

/// The most blackboard entries that a run of a tree may add to those that its file names.
const MOST_MADE_ENTRIES: usize = 100_000;

impl Context<'_> {
    /// The entry that a key leads to in this node's scope; made where it does not exist. For keys that are only
    /// known at run time: a key that the file names is resolved when the tree is compiled.
    pub fn resolve(&mut self, key: &str) -> SlotId {
        let slot = resolve(
            self.def,
            &mut self.run.blackboard,
            self.def.info[self.node as usize].scope,
            key,
        );
        if let (Some(global), Some(sharing)) = (key.strip_prefix('@'), &mut self.run.sharing) {
            sharing.add(global, slot);
        }
        slot
    }

    /// The entry that a key leads to which a tree has worked out itself, as [`resolve`](Self::resolve) gives it.
    ///
    /// # Errors
    /// [`Thrown`] where the text cannot be a key, and where a tree makes one key after the other: it would take all
    /// memory in the end.
    pub fn resolve_computed(&mut self, key: &str) -> Result<SlotId, Thrown> {
        if !is_key(key) {
            return Err(self.throw(format!("`{key}` is not a key: `@` may stand once, before a name")));
        }
        if key.len() > LONGEST_KEY {
            return Err(self.throw(format!("a key of {} bytes: {LONGEST_KEY} is the most", key.len())));
        }
        let slot = self.resolve(key);
        self.check_entries()?;
        Ok(slot)
    }

    /// Whether the tree keeps within the number of entries that it may make at run time.
    ///
    /// # Errors
    /// [`Thrown`].
    pub(crate) fn check_entries(&mut self) -> Result<(), Thrown> {
        let made = self.run.blackboard.len().saturating_sub(self.def.slots.len());
        if made > MOST_MADE_ENTRIES {
            return Err(self.throw(format!(
                "the tree has made {made} blackboard entries while it ran, and {MOST_MADE_ENTRIES} is the most: \
                 write the same keys again"
            )));
        }
        Ok(())
    }

    /// The entry that a key leads to, if the run has one.
    pub fn find(&self, key: &str) -> Option<SlotId> {
        find(
            self.def,
            &self.run.blackboard,
            self.def.info[self.node as usize].scope,
            key,
        )
    }

    /// The entry that a key has in this node's own scope, where it is not remapped into another.
    pub fn find_own(&self, key: &str) -> Option<SlotId> {
        let scope = self.def.info[self.node as usize].scope;
        let own = &self.def.scopes[scope.0 as usize].own;
        own.iter()
            .find(|(name, _)| **name == *key)
            .map(|(_, slot)| *slot)
            .or_else(|| self.run.blackboard.dynamic(scope, key))
    }
}

pub(crate) fn find(def: &TreeDef, board: &Blackboard, scope: ScopeId, key: &str) -> Option<SlotId> {
    let (scope, key) = owner(def, scope, key);
    def.scopes[scope.0 as usize]
        .keys
        .get(key)
        .copied()
        .or_else(|| board.dynamic(scope, key))
}

pub(crate) fn resolve(def: &TreeDef, board: &mut Blackboard, scope: ScopeId, key: &str) -> SlotId {
    let (scope, key) = owner(def, scope, key);
    if let Some(slot) = def.scopes[scope.0 as usize].keys.get(key) {
        return *slot;
    }
    board
        .dynamic(scope, key)
        .unwrap_or_else(|| board.make_dynamic(scope, key))
}

/// The scope that a key really lives in, and its name there.
fn owner<'k>(def: &'k TreeDef, scope: ScopeId, key: &'k str) -> (ScopeId, &'k str) {
    let (mut scope, mut key) = match key.strip_prefix('@') {
        Some(global) => (ScopeId::ROOT, global),
        None => (scope, key),
    };
    while !def.scopes[scope.0 as usize].keys.contains_key(key)
        && let Some((parent, outer)) = def.forward(scope, key)
    {
        (scope, key) = match outer.strip_prefix('@') {
            Some(global) => (ScopeId::ROOT, global),
            None => (parent, outer),
        };
    }
    (scope, key)
}
