//! The blackboard of a run. Entries have numbers; keys are resolved when the tree is compiled.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::checkpoint::EntryState;
use super::types::{Family, PortValue, TypeInfo};
use super::value::Value;
use super::{Enums, Time};

/// A resolved key: the place of its entry after all remappings. Keys that are remapped to each other have the same
/// slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct SlotId(pub(crate) u32);

impl SlotId {
    /// The slot with this number.
    pub fn from_index(index: u32) -> Self {
        Self(index)
    }

    /// The number of the slot.
    pub fn index(self) -> u32 {
        self.0
    }
}

/// The key space of one subtree instance.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct ScopeId(pub(crate) u32);

impl ScopeId {
    /// The scope with this number.
    pub fn from_index(index: u32) -> Self {
        Self(index)
    }

    /// The number of the scope, in pre-order of the subtree instances.
    pub fn index(self) -> u32 {
        self.0
    }

    /// The scope of the main tree.
    pub const ROOT: Self = Self(0);
}

/// One entry.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// `None`: no such entry. `Some(Value::Empty)`: declared but not written.
    value: Option<Value>,
    /// The type of the entry, once it has one.
    info: Option<&'static TypeInfo>,
    /// The number of writes. `WasEntryUpdated` compares it to detect changes.
    sequence: u64,
    /// When it was last written.
    stamp: Time,
}

impl Entry {
    pub(crate) fn declared(value: Option<Value>, info: Option<&'static TypeInfo>) -> Self {
        let sequence = u64::from(value.as_ref().is_some_and(|value| !value.is_empty()));
        Self {
            value,
            info,
            sequence,
            stamp: Time::ZERO,
        }
    }

    pub(crate) fn state(&self) -> EntryState {
        EntryState {
            value: self.value.clone(),
            info: self.info,
            sequence: self.sequence,
            stamp: self.stamp,
        }
    }

    pub(crate) fn of(state: &EntryState) -> Self {
        Self {
            value: state.value.clone(),
            info: state.info,
            sequence: state.sequence,
            stamp: state.stamp,
        }
    }

    /// The value. `None` if the entry does not exist or has not been written.
    #[inline]
    pub fn value(&self) -> Option<&Value> {
        match &self.value {
            None | Some(Value::Empty) => None,
            some => some.as_ref(),
        }
    }

    #[inline]
    fn put(&mut self, value: Value, now: Time) {
        self.value = Some(value);
        self.sequence += 1;
        self.stamp = now;
    }

    /// Whether the entry exists, written or not.
    pub fn exists(&self) -> bool {
        self.value.is_some()
    }

    /// The type of the entry.
    pub fn info(&self) -> Option<&'static TypeInfo> {
        self.info
    }

    /// The number of writes.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The time of the last write.
    pub fn stamp(&self) -> Time {
        self.stamp
    }
}

/// The reason why a write was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the entry is of type {declared} and cannot hold {given}: {reason}")]
pub struct TypeClash {
    /// The type of the entry.
    pub declared: &'static str,
    /// The type of the written value.
    pub given: &'static str,
    /// The reason why it does not convert.
    pub reason: String,
}

/// All entries of one run, for all its scopes.
#[derive(Clone, Debug, Default)]
pub struct Blackboard {
    entries: Vec<Entry>,
    /// Keys created at run time, which no port or script names (`SetBlackboard` with a computed key, `set` of a
    /// caller).
    dynamic: Option<Box<DynamicKeys>>,
}

/// Whether a text is a valid key: not empty, with at most one `@`, at the beginning.
pub fn is_key(key: &str) -> bool {
    let name = key.strip_prefix('@').unwrap_or(key);
    !name.is_empty() && !name.contains('@')
}

/// The keys of each scope.
type DynamicKeys = FxHashMap<ScopeId, FxHashMap<Arc<str>, SlotId>>;

impl Blackboard {
    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        Self {
            entries,
            dynamic: None,
        }
    }

    /// The entry of a slot.
    #[inline]
    pub fn entry(&self, slot: SlotId) -> &Entry {
        &self.entries[slot.0 as usize]
    }

    /// The value of a slot, if it was written.
    #[inline]
    pub fn get(&self, slot: SlotId) -> Option<&Value> {
        self.entries[slot.0 as usize].value()
    }

    /// Writes without check or conversion. The entry keeps its type.
    #[inline]
    pub fn put(&mut self, slot: SlotId, value: Value, now: Time) {
        self.entries[slot.0 as usize].put(value, now);
    }

    /// Writes a value of type `info` under the rules of BehaviorTree.CPP: the first strong type stays, numbers
    /// convert without loss, text converts by the entry's own parser.
    ///
    /// # Errors
    /// [`TypeClash`]; the entry is unchanged.
    #[inline]
    pub fn set(
        &mut self,
        slot: SlotId,
        value: Value,
        info: &'static TypeInfo,
        enums: &Enums,
        now: Time,
    ) -> Result<(), TypeClash> {
        let entry = &mut self.entries[slot.0 as usize];
        let stays_real = matches!((&entry.value, &value), (Some(Value::Real(_)), Value::Int(_)));
        if !stays_real && entry.info.is_some_and(|declared| declared == info) {
            entry.put(value, now);
            return Ok(());
        }
        self.set_converted(slot, value, info, enums, now)
    }

    /// Writes the text that the entry already holds, without reference counting and without a move. Returns whether it
    /// holds it.
    #[inline]
    pub(crate) fn set_same_text(&mut self, slot: SlotId, text: *const str, now: Time) -> bool {
        let entry = &mut self.entries[slot.0 as usize];
        let same =
            matches!(&entry.value, Some(Value::Text(held)) if std::ptr::addr_eq(Arc::as_ptr(held), text));
        if same {
            entry.sequence += 1;
            entry.stamp = now;
        }
        same
    }

    #[inline(never)]
    fn set_converted(
        &mut self,
        slot: SlotId,
        value: Value,
        info: &'static TypeInfo,
        enums: &Enums,
        now: Time,
    ) -> Result<(), TypeClash> {
        let entry = &mut self.entries[slot.0 as usize];
        let value = match entry.info {
            // A script wrote a fraction first. The entry keeps its type.
            Some(declared) if declared == info && matches!(entry.value, Some(Value::Real(_))) => {
                convert(&value, info, f64::TYPE, enums)?
            }
            Some(declared) if declared.is_strong() => {
                if info.family == Family::Any {
                    value
                } else {
                    convert(&value, info, declared, enums)?
                }
            }
            // A text does not fix the type of the entry: a typed write may follow.
            _ => {
                if info.is_strong() && info.family != Family::Text {
                    entry.info = Some(info);
                }
                value
            }
        };
        entry.put(value, now);
        Ok(())
    }

    /// Reads a part of every entry to load them into the cache.
    #[inline]
    pub(crate) fn preload(&self) -> u64 {
        self.entries.iter().fold(0, |sum, entry| sum ^ entry.sequence)
    }

    /// Removes the value of the entry. The type remains.
    pub fn empty(&mut self, slot: SlotId) {
        self.entries[slot.0 as usize].value = Some(Value::Empty);
    }

    /// Removes the entry and its type, as `UnsetBlackboard` does.
    pub fn remove(&mut self, slot: SlotId) {
        self.entries[slot.0 as usize] = Entry::default();
    }

    pub(crate) fn restore(&mut self, slot: SlotId, entry: Entry) {
        if let Some(place) = self.entries.get_mut(slot.0 as usize) {
            *place = entry;
        }
    }

    /// The scope and the key of an entry that was created at run time.
    pub fn dynamic_key(&self, slot: SlotId) -> Option<(ScopeId, &Arc<str>)> {
        self.dynamic.as_ref()?.iter().find_map(|(scope, keys)| {
            let found = keys.iter().find(|(_, of)| **of == slot);
            found.map(|(key, _)| (*scope, key))
        })
    }

    pub(crate) fn dynamic(&self, scope: ScopeId, key: &str) -> Option<SlotId> {
        self.dynamic.as_ref()?.get(&scope)?.get(key).copied()
    }

    pub(crate) fn make_dynamic(&mut self, scope: ScopeId, key: &str) -> SlotId {
        let slot = SlotId(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        self.entries.push(Entry::default());
        let keys = self.dynamic.get_or_insert_default().entry(scope).or_default();
        keys.insert(key.into(), slot);
        slot
    }

    /// The number of entries in all scopes.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn dynamic_keys(&self, scope: ScopeId) -> impl Iterator<Item = (&str, SlotId)> {
        let scopes = self.dynamic.as_ref();
        let keys = scopes.and_then(|scopes| scopes.get(&scope)).into_iter().flatten();
        keys.map(|(key, slot)| (&**key, *slot))
    }
}

/// Converts a value of one type to the type of an entry.
pub(crate) fn convert(
    value: &Value,
    from: &'static TypeInfo,
    into: &'static TypeInfo,
    enums: &Enums,
) -> Result<Value, TypeClash> {
    let clash = |reason: String| TypeClash {
        declared: into.name,
        given: from.name,
        reason,
    };
    match (value, into.family) {
        (Value::Text(text), Family::Text) => Ok(Value::Text(Arc::clone(text))),
        (Value::Text(text), _) => (into.parse)(text, enums).map_err(clash),
        (Value::Int(_) | Value::UInt(_) | Value::Real(_), Family::Real) => {
            f64::from_value(value).map(Value::Real).map_err(clash)
        }
        (Value::Int(_) | Value::UInt(_) | Value::Real(_), Family::Integer { least, greatest }) => {
            whole(value)
                .filter(|number| (least..=greatest).contains(number))
                .map_or_else(
                    || Err(clash("the number does not fit".to_owned())),
                    |number| Ok(i64::try_from(number).map_or(Value::UInt(number as u64), Value::Int)),
                )
        }
        (Value::Int(_) | Value::UInt(_) | Value::Real(_), Family::Bool) => match whole(value) {
            Some(number @ (0 | 1)) => Ok(Value::Int(number as i64)),
            _ => Err(clash("only 0 and 1 are booleans".to_owned())),
        },
        _ => Err(clash(
            "once declared, the type of an entry does not change".to_owned(),
        )),
    }
}

fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::UInt(number) => Some(i128::from(*number)),
        Value::Real(number) if number.fract() == 0.0 && number.abs() < 1.8e19 => Some(*number as i128),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::types::Text;

    fn board() -> (Blackboard, SlotId) {
        (Blackboard::new(vec![Entry::default()]), SlotId(0))
    }

    fn write<T: PortValue>(board: &mut Blackboard, slot: SlotId, value: T) -> Result<(), TypeClash> {
        board.set(slot, value.into_value(), T::TYPE, &Enums::default(), Time::ZERO)
    }

    #[test]
    fn the_first_strong_type_is_kept() {
        let (mut board, slot) = board();
        write(&mut board, slot, Text::from("7")).unwrap();
        write(&mut board, slot, 8_u8).unwrap();
        write(&mut board, slot, 200_i32).unwrap();
        assert!(write(&mut board, slot, 300_i32).is_err());
        assert!(write(&mut board, slot, -1_i32).is_err());
        write(&mut board, slot, Text::from("9")).unwrap();
        assert_eq!(board.get(slot), Some(&Value::Int(9)));
        assert_eq!(board.entry(slot).sequence(), 4);
        assert_eq!(board.entry(slot).info().unwrap().name, "uint8");
    }

    #[test]
    fn a_removed_entry_does_not_exist() {
        let (mut board, slot) = board();
        write(&mut board, slot, 1.5_f64).unwrap();
        board.remove(slot);
        assert!(!board.entry(slot).exists());
        assert_eq!(board.get(slot), None);
    }
}
