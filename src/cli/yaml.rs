//! YAML files with mocks and scenarios: read with the same limits as tree files, and with the position of each error.

use std::collections::BTreeMap;
use std::collections::btree_map::Iter;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use crate::xml::{Disk, Files};

/// A mapping without repeated keys. serde's mappings silently keep the second value of a repeated key.
#[derive(Clone, Debug)]
pub(crate) struct Mapping<K, V>(BTreeMap<K, V>);

impl<K, V> Default for Mapping<K, V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K, V> Deref for Mapping<K, V> {
    type Target = BTreeMap<K, V>;

    fn deref(&self) -> &BTreeMap<K, V> {
        &self.0
    }
}

impl<'m, K, V> IntoIterator for &'m Mapping<K, V> {
    type Item = (&'m K, &'m V);
    type IntoIter = Iter<'m, K, V>;

    fn into_iter(self) -> Iter<'m, K, V> {
        self.0.iter()
    }
}

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de> for Mapping<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

struct Entries<K, V>(PhantomData<(K, V)>);

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Visitor<'de> for Entries<K, V> {
    type Value = Mapping<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Mapping<K, V>, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some(key) = map.next_key::<K>()? {
            if entries.contains_key(&key) {
                map.next_value::<RepeatedValue>()?;
            }
            entries.insert(key, map.next_value::<V>()?);
        }
        Ok(Mapping(entries))
    }
}

/// The value of a repeated key. Each value is an error, with the position from the parser.
struct RepeatedValue;

impl<'de> Deserialize<'de> for RepeatedValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RejectValue;
        impl Visitor<'_> for RejectValue {
            type Value = RepeatedValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("each key once: this key is already set above")
            }
        }
        deserializer.deserialize_any(RejectValue)
    }
}

/// Maximum depth of nested brackets: the time of the parser grows with the square of the depth.
const MAX_DEPTH: usize = 1000;

/// Maximum size of a file, in bytes.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Reads the text of a file.
///
/// # Errors
/// The reason why it cannot be used, after its name and, if available, the position.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    let name = path.display();
    let bytes = Disk.read(path).map_err(|error| format!("{name}: {error}"))?;
    if bytes.len() > MAX_BYTES {
        return Err(format!("{name}: is larger than {MAX_BYTES} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid_length = error.utf8_error().valid_up_to();
        let valid_text = String::from_utf8_lossy(error.as_bytes().get(..valid_length).unwrap_or_default());
        format!(
            "{name}:{}: not UTF-8 text: save the file as UTF-8",
            end_position(&valid_text)
        )
    })?;
    match offset_of_excess_depth(&text) {
        Some(offset) => Err(format!(
            "{name}:{}: brackets are nested more than {MAX_DEPTH} deep",
            end_position(text.get(..offset).unwrap_or_default())
        )),
        None => Ok(text),
    }
}

/// Formats an error of the parser as `file:line:column: message`.
pub(crate) fn parser_error(path: &Path, error: &serde_yaml::Error) -> String {
    let message = error.to_string();
    // Positions in a list: the parser writes `.[1]`.
    let message = message.strip_prefix('.').unwrap_or(&message);
    match error.location() {
        Some(location) => {
            let (line, column) = (location.line(), location.column());
            let message = message.replacen(&format!(" at line {line} column {column}"), "", 1);
            format!("{}:{line}:{column}: {message}", path.display())
        }
        None => format!("{}: {message}", path.display()),
    }
}

/// The byte offset of a key of the outermost mapping, if it is plain or between quotes.
pub(crate) fn key_offset(text: &str, key: &str) -> Option<usize> {
    text.match_indices(key).map(|(offset, _)| offset).find(|offset| {
        let before = text[..*offset].trim_end_matches(['"', '\'']);
        let after = text[offset + key.len()..].trim_start_matches(['"', '\'']);
        (before.is_empty() || before.ends_with(['\n', '{', ' ', ','])) && after.trim_start().starts_with(':')
    })
}

/// Line and column of the end of a text.
fn end_position(text: &str) -> String {
    let line = text.matches('\n').count() + 1;
    let column = text.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{line}:{column}")
}

/// The byte offset where brackets are nested deeper than [`MAX_DEPTH`]. Brackets inside quoted texts count too: no
/// normal file has a thousand of them unclosed.
fn offset_of_excess_depth(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Some(offset);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_begins_with_its_location() {
        let error = serde_yaml::from_str::<Vec<u8>>("[1,\n 2, x]").unwrap_err();
        let message = parser_error(Path::new("a.yaml"), &error);
        assert!(message.starts_with("a.yaml:2:5: [2]: invalid type"), "{message}");
        assert!(!message.contains("at line"), "{message}");
    }

    #[test]
    fn the_depth_of_nested_brackets_is_limited() {
        assert_eq!(offset_of_excess_depth(&"[]".repeat(5000)), None);
        assert_eq!(
            offset_of_excess_depth(&format!("\n{}", "[".repeat(5000))),
            Some(MAX_DEPTH + 1)
        );
    }

    #[test]
    fn a_file_that_is_not_regular_is_refused() {
        assert_eq!(
            read(Path::new("/dev/zero")).unwrap_err(),
            "/dev/zero: is not a regular file"
        );
    }
}
