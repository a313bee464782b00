//! The blackboards of a tree.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::packed::Packed;
use crate::bt::{ScopeId, SlotId, TreeDef};
use crate::record::codec::StoredValue;
use crate::record::stored::StoredNavigation;

/// Objects with more bytes are not sent: a costmap is not readable as text.
const MAX_OBJECT: usize = 64 * 1024;

/// The values of all blackboards.
#[derive(Debug, Default)]
pub(super) struct Board {
    /// The scope and the key of each slot.
    keys: Vec<(ScopeId, Arc<str>)>,
    values: BTreeMap<usize, Packed>,
    /// The name of each scope.
    names: Vec<Arc<str>>,
}

impl Board {
    /// The values at the beginning of a navigation.
    pub(super) fn new(navigation: &StoredNavigation, def: &TreeDef) -> Self {
        let checkpoint = &navigation.checkpoint;
        let keys = navigation.slots.iter().chain(&checkpoint.added).cloned();
        let name =
            |path: &Arc<str>, tree_id: &Arc<str>| Arc::clone(if path.is_empty() { tree_id } else { path });
        let mut board = Self {
            keys: keys.collect(),
            values: BTreeMap::new(),
            names: def
                .scopes()
                .map(|(_, scope)| name(&scope.path, &scope.tree_id))
                .collect(),
        };
        for (slot, entry) in checkpoint.entries.iter().enumerate() {
            board.set(slot, entry.value.as_ref());
        }
        board
    }

    /// A value was written or removed.
    pub(super) fn write(&mut self, slot: SlotId, value: Option<&StoredValue>) {
        self.set(slot.index() as usize, value);
    }

    fn set(&mut self, slot: usize, value: Option<&StoredValue>) {
        match value {
            None => drop(self.values.remove(&slot)),
            Some(StoredValue::Object(object)) if object.data.0.len() > MAX_OBJECT => {
                self.values.insert(slot, Packed::Nil);
            }
            Some(value) => drop(self.values.insert(slot, value.into())),
        }
    }

    /// The run has made an entry.
    pub(super) fn add_key(&mut self, slot: SlotId, scope: ScopeId, key: &Arc<str>) {
        let slot = slot.index() as usize;
        if slot == self.keys.len() {
            self.keys.push((scope, Arc::clone(key)));
        } else if let Some(known) = self.keys.get_mut(slot) {
            *known = (scope, Arc::clone(key));
        }
    }

    /// The blackboards with these names, as MessagePack. Unknown names are left out.
    pub(super) fn export(&self, names: &str) -> Vec<u8> {
        let mut boards = BTreeMap::new();
        for name in names.split(';') {
            let Some(scope) = self.names.iter().position(|known| **known == *name) else {
                continue;
            };
            let of_scope = self.values.iter().filter_map(|(slot, value)| {
                let (of, key) = self.keys.get(*slot)?;
                let is_own = of.index() as usize == scope && !matches!(value, Packed::Nil);
                is_own.then(|| (key.to_string(), value.clone()))
            });
            boards.insert(name.to_owned(), Packed::Map(of_scope.collect()));
        }
        Packed::Map(boards).to_bytes()
    }
}
