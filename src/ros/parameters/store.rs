//! The table of parameters, without ROS.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Declaration, ParameterValue};

/// The reason why a parameter cannot be declared or set. The client of the parameter service receives the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// Not declared.
    #[error("parameter `{0}` cannot be set because it was not declared")]
    Undeclared(String),
    /// Declared twice.
    #[error("parameter `{0}` has already been declared")]
    Declared(String),
    /// Can only be set at start.
    #[error("parameter `{0}` cannot be set because it is read-only")]
    ReadOnly(String),
    /// Has another type, is outside the range, or was refused by the validator.
    #[error("{0}")]
    Refused(String),
}

type Publisher = Box<dyn Fn(&[Change]) + Send>;
type Listener = Arc<dyn Fn(&str, &ParameterValue) + Send + Sync>;

/// The parameters of the node and their values. Cheap to clone. Reads never wait for a validator: validators run
/// without the table's lock, one change after the other.
#[derive(Clone, Default)]
pub struct ParameterStore {
    table: Arc<Mutex<Table>>,
    /// Held during a whole change, so the checked value is the one that is set.
    changing: Arc<Mutex<()>>,
}

#[derive(Default)]
struct Table {
    /// Values from the command line and parameter files, used when a parameter is declared.
    overrides: BTreeMap<String, ParameterValue>,
    declared: BTreeMap<String, Entry>,
    listeners: Vec<Listener>,
    /// Receives every change, including declarations; used by this room.
    publisher: Option<Publisher>,
}

struct Entry {
    declaration: Declaration,
    value: ParameterValue,
}

/// The change of one parameter.
pub(super) struct Change {
    pub(super) name: String,
    pub(super) value: ParameterValue,
    pub(super) new: bool,
}

impl std::fmt::Debug for ParameterStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map()
            .entries(
                self.table()
                    .declared
                    .iter()
                    .map(|(name, entry)| (name, &entry.value)),
            )
            .finish()
    }
}

impl ParameterStore {
    /// Creates a table without parameters, with values that override their defaults. An override for an undeclared
    /// parameter is allowed, because nodes share parameter files; [`ParameterStore::get`] finds it.
    pub fn new(overrides: impl IntoIterator<Item = (String, ParameterValue)>) -> Self {
        let store = Self::default();
        store.table().overrides.extend(overrides);
        store
    }

    /// Declares a parameter and sets it to its override or its default. Returns the value.
    ///
    /// # Errors
    /// [`ParameterError::Declared`]; [`ParameterError::Refused`] if the override is invalid: the parameter is then
    /// declared with its default, and the caller decides whether to continue.
    pub fn declare(&self, declaration: Declaration) -> Result<ParameterValue, ParameterError> {
        let _changing = self.changing();
        let name = declaration.name.clone();
        let given = {
            let table = self.table();
            if table.declared.contains_key(&name) {
                return Err(ParameterError::Declared(name));
            }
            table.overrides.get(&name).cloned()
        };
        let given = given.map(|value| value.coerced(declaration.parameter_type()));
        let refused = given
            .as_ref()
            .and_then(|value| validate(&declaration, value).err());
        let value = match (given, &refused) {
            (Some(value), None) => value,
            _ => declaration.default.clone(),
        };
        let entry = Entry {
            declaration,
            value: value.clone(),
        };
        let mut table = self.table();
        table.declared.insert(name.clone(), entry);
        table.publish(&[Change {
            name,
            value: value.clone(),
            new: true,
        }]);
        match refused {
            Some(error) => Err(error),
            None => Ok(value),
        }
    }

    /// The value of a parameter or of an undeclared override.
    pub fn get(&self, name: &str) -> Option<ParameterValue> {
        let table = self.table();
        match table.declared.get(name) {
            Some(entry) => Some(entry.value.clone()),
            None => table.overrides.get(name).cloned(),
        }
    }

    /// Whether the command line or a parameter file sets its value.
    pub fn is_overridden(&self, name: &str) -> bool {
        self.table().overrides.contains_key(name)
    }

    /// [`ParameterStore::get`] as text, in the form of a port value.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(|value| value.to_string())
    }

    /// Sets one parameter.
    ///
    /// # Errors
    /// [`ParameterError`]; the parameter keeps its value.
    pub fn set(&self, name: &str, value: impl Into<ParameterValue>) -> Result<(), ParameterError> {
        self.set_together(vec![(name.to_owned(), value.into())])
    }

    /// Sets all parameters or none: all are checked before the first is set.
    ///
    /// # Errors
    /// The first [`ParameterError`]; all parameters keep their values.
    pub fn set_together(&self, values: Vec<(String, ParameterValue)>) -> Result<(), ParameterError> {
        let _changing = self.changing();
        let mut checked = Vec::with_capacity(values.len());
        for (name, value) in values {
            let declaration = self
                .table()
                .declared
                .get(&name)
                .map(|entry| entry.declaration.clone())
                .ok_or_else(|| ParameterError::Undeclared(name.clone()))?;
            if declaration.read_only {
                return Err(ParameterError::ReadOnly(name));
            }
            let value = value.coerced(declaration.parameter_type());
            validate(&declaration, &value)?;
            checked.push((name, value));
        }
        let mut changes = Vec::new();
        let listeners = {
            let mut table = self.table();
            for (name, value) in checked {
                let Some(entry) = table.declared.get_mut(&name) else {
                    continue;
                };
                entry.value = value.clone();
                changes.push(Change {
                    name,
                    value,
                    new: false,
                });
            }
            table.publish(&changes);
            table.listeners.clone()
        };
        for change in &changes {
            for listener in &listeners {
                listener(&change.name, &change.value);
            }
        }
        Ok(())
    }

    /// Adds a function that is called after each change of a parameter. It must not wait, and must not set parameters.
    pub fn on_change(&self, listener: impl Fn(&str, &ParameterValue) + Send + Sync + 'static) {
        self.table().listeners.push(Arc::new(listener));
    }

    /// The names of parameters and of their groups, as defined by `rcl_interfaces/ListParameters`: `depth` levels below
    /// the prefixes, or all with depth 0.
    pub fn list(&self, prefixes: &[String], depth: u64) -> (Vec<String>, Vec<String>) {
        let levels = |name: &str| name.matches('.').count() as u64;
        let shallow = |rest: &str| depth == 0 || levels(rest) < depth;
        let mut names = Vec::new();
        let mut groups = Vec::new();
        for name in self.table().declared.keys() {
            let wanted = if prefixes.is_empty() {
                shallow(name)
            } else {
                prefixes.iter().any(|prefix| {
                    name == prefix
                        || name
                            .strip_prefix(prefix.as_str())
                            .and_then(|rest| rest.strip_prefix('.'))
                            .is_some_and(shallow)
                })
            };
            if !wanted {
                continue;
            }
            names.push(name.clone());
            if let Some((group, _)) = name.rsplit_once('.')
                && !groups.iter().any(|known| known == group)
            {
                groups.push(group.to_owned());
            }
        }
        (names, groups)
    }

    /// The declaration of a parameter.
    pub fn declaration(&self, name: &str) -> Option<Declaration> {
        self.table()
            .declared
            .get(name)
            .map(|entry| entry.declaration.clone())
    }

    /// The value of a declared parameter.
    pub(super) fn declared(&self, name: &str) -> Option<ParameterValue> {
        self.table().declared.get(name).map(|entry| entry.value.clone())
    }

    /// Publishes all later changes, and at once all declarations so far.
    pub(super) fn publish_with(&self, publisher: Publisher) {
        let mut table = self.table();
        let known: Vec<Change> = table
            .declared
            .iter()
            .map(|(name, entry)| Change {
                name: name.clone(),
                value: entry.value.clone(),
                new: true,
            })
            .collect();
        if !known.is_empty() {
            publisher(&known);
        }
        table.publisher = Some(publisher);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn publish(&self, changes: &[Change]) {
        if let Some(publisher) = &self.publisher
            && !changes.is_empty()
        {
            publisher(changes);
        }
    }
}

fn validate(declaration: &Declaration, value: &ParameterValue) -> Result<(), ParameterError> {
    declaration.check(value).map_err(ParameterError::Refused)?;
    match &declaration.validator {
        Some(validator) => validator(value).map_err(ParameterError::Refused),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> ParameterStore {
        let store = ParameterStore::new([
            ("rate".to_owned(), 20_i64.into()),
            ("stranger".to_owned(), "x".into()),
        ]);
        store
            .declare(Declaration::new("rate", 100.0, "ticks a second").within(1.0, 1000.0))
            .unwrap();
        store
            .declare(
                Declaration::new("tree", "a.xml", "the tree").validated("a tree", |value| {
                    match value.as_str() {
                        Some("broken.xml") => Err("broken.xml:3:5: no such node".to_owned()),
                        _ => Ok(()),
                    }
                }),
            )
            .unwrap();
        store
            .declare(Declaration::new("frame", "map", "the frame").read_only())
            .unwrap();
        store
    }

    #[test]
    fn overrides_take_the_place_of_defaults() {
        assert_eq!(store().get("rate"), Some(20.0.into()));
        assert_eq!(store().text("stranger").as_deref(), Some("x"));
        assert_eq!(store().text("nobody"), None);
    }

    #[test]
    fn an_override_that_cannot_be_leaves_the_default() {
        let store = ParameterStore::new([("rate".to_owned(), "fast".into())]);
        let refused = store.declare(Declaration::new("rate", 100.0, ""));
        assert!(matches!(refused, Err(ParameterError::Refused(_))));
        assert_eq!(store.get("rate"), Some(100.0.into()));
    }

    #[test]
    fn g7_refused_value_changes_nothing_and_says_why() {
        let store = store();
        let words = |result: Result<(), ParameterError>| result.unwrap_err().to_string();
        assert_eq!(
            words(store.set("tree", "broken.xml")),
            "broken.xml:3:5: no such node"
        );
        assert_eq!(
            words(store.set("rate", "fast")),
            "parameter `rate` is of type double, not string"
        );
        assert_eq!(
            words(store.set("rate", 5000_i64)),
            "parameter `rate` is 5000, outside of 1 to 1000"
        );
        assert_eq!(
            words(store.set("frame", "odom")),
            "parameter `frame` cannot be set because it is read-only"
        );
        assert_eq!(
            words(store.set("x", 1_i64)),
            "parameter `x` cannot be set because it was not declared"
        );
        assert_eq!(store.text("tree").as_deref(), Some("a.xml"));
        assert_eq!(store.text("rate").as_deref(), Some("20"));
    }

    #[test]
    fn parameters_are_set_atomically_together() {
        let store = store();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hears = Arc::clone(&heard);
        store.on_change(move |name, value| hears.lock().unwrap().push(format!("{name}={value}")));
        let both = |tree: &str| {
            vec![
                ("rate".to_owned(), ParameterValue::Double(50.0)),
                ("tree".to_owned(), tree.into()),
            ]
        };
        store.set_together(both("broken.xml")).unwrap_err();
        assert_eq!(store.text("rate").as_deref(), Some("20"));
        store.set_together(both("b.xml")).unwrap();
        assert_eq!(*heard.lock().unwrap(), ["rate=50", "tree=b.xml"]);
    }

    #[test]
    fn lists_by_prefix_and_depth() {
        let store = ParameterStore::default();
        for name in ["a", "b.c", "b.d.e", "bc"] {
            store.declare(Declaration::new(name, true, "")).unwrap();
        }
        let list = |prefixes: &[&str], depth| {
            let prefixes: Vec<String> = prefixes.iter().map(|text| (*text).to_owned()).collect();
            let (names, groups) = store.list(&prefixes, depth);
            format!("{} | {}", names.join(" "), groups.join(" "))
        };
        assert_eq!(list(&[], 0), "a b.c b.d.e bc | b b.d");
        assert_eq!(list(&[], 1), "a bc | ");
        assert_eq!(list(&["b"], 0), "b.c b.d.e | b b.d");
        assert_eq!(list(&["b"], 1), "b.c | b");
    }
}
