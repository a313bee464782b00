//! Keys that are known only at run time. Keys in the file are resolved when the tree is compiled.

use super::behavior::Thrown;
use super::blackboard::{Blackboard, ScopeId, SlotId, is_key};
use super::context::Context;
use super::definition::TreeDef;

/// Maximum length of a computed key, in bytes.
const MAX_KEY_LENGTH: usize = 1000;

/// Maximum number of blackboard entries that a run may add to those of its file.
const MAX_CREATED_ENTRIES: usize = 100_000;

impl Context<'_> {
    /// The entry of a key in this node's scope. Creates the entry if it does not exist. For keys that are known only at
    /// run time.
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

    /// The entry of a key that the tree computed, like [`resolve`](Self::resolve).
    ///
    /// # Errors
    /// [`Thrown`] if the text is not a key, or if the tree has created too many keys. Without this limit a tree could
    /// use all memory.
    pub fn resolve_computed(&mut self, key: &str) -> Result<SlotId, Thrown> {
        if !is_key(key) {
            return Err(self.throw(format!(
                "`{key}` is not a key: write a name with at most one `@` before it"
            )));
        }
        if key.len() > MAX_KEY_LENGTH {
            return Err(self.throw(format!(
                "the key has {} bytes; the maximum is {MAX_KEY_LENGTH}",
                key.len()
            )));
        }
        let slot = self.resolve(key);
        self.check_entries()?;
        Ok(slot)
    }

    /// Checks the number of entries that the run created.
    ///
    /// # Errors
    /// [`Thrown`].
    pub(crate) fn check_entries(&mut self) -> Result<(), Thrown> {
        let made = self.run.blackboard.len().saturating_sub(self.def.slots.len());
        if made > MAX_CREATED_ENTRIES {
            return Err(self.throw(format!(
                "the tree has created {made} blackboard entries at run time; the maximum is {MAX_CREATED_ENTRIES}: \
                 write the same keys again"
            )));
        }
        Ok(())
    }

    /// The entry of a key, if the run has one.
    pub fn find(&self, key: &str) -> Option<SlotId> {
        find(
            self.def,
            &self.run.blackboard,
            self.def.info[self.node as usize].scope,
            key,
        )
    }

    /// The entry of a key in this node's own scope, if it is not remapped to another scope.
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

/// The scope that owns a key after remapping, and its name there.
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
