//! Names for numbers, shared by scripts, ports and `Switch`.

use rustc_hash::FxHashMap;

/// The enumeration table of a registry: one flat namespace, as in BehaviorTree.CPP.
#[derive(Clone, Debug, Default)]
pub struct Enums {
    values: FxHashMap<String, i64>,
}

impl Enums {
    /// Adds a name.
    ///
    /// # Errors
    /// The existing value of the name, if it differs.
    pub fn insert(&mut self, name: &str, value: i64) -> Result<(), i64> {
        match self.values.insert(name.to_owned(), value) {
            Some(before) if before != value => {
                self.values.insert(name.to_owned(), before);
                Err(before)
            }
            _ => Ok(()),
        }
    }

    /// The number of a name.
    pub fn get(&self, name: &str) -> Option<i64> {
        if self.values.is_empty() {
            None
        } else {
            self.values.get(name).copied()
        }
    }

    /// All names, unordered.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }
}
