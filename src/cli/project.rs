//! `navtree.toml`: what a project tells the commands about its trees.
//!
//! ```toml
//! palettes = ["my_nodes.xml"]   # nodes of the project, relative to this file
//! keys = ["battery"]            # keys that the program writes before the tree runs
//! allow = ["NT0202"]            # levels, as -A, -W and -D
//! deny = ["warnings"]
//! ```

use std::path::{Path, PathBuf};

use toml_edit::{Document, Item};

use crate::bt::{Registry, nearest};
use crate::xml::{Disk, Files};

const NAME: &str = "navtree.toml";
const ENTRIES: [&str; 5] = ["palettes", "keys", "allow", "warn", "deny"];

/// The content of a `navtree.toml`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Project {
    /// Palette files, relative to the current directory.
    palettes: Vec<PathBuf>,
    keys: Vec<String>,
    /// Codes for each of `-A`, `-W` and `-D`.
    pub(crate) allow: Vec<String>,
    pub(crate) warn: Vec<String>,
    pub(crate) deny: Vec<String>,
    /// The directory of the file, if there is one.
    pub(crate) directory: Option<PathBuf>,
}

impl Project {
    /// Reads the `navtree.toml` of the directory of a tree file, or of the nearest directory above it. Without one, the
    /// project is empty.
    pub(crate) fn of(path: &Path) -> Result<Self, String> {
        let Some(directory) = Self::directory_of(path)? else {
            return Ok(Self::default());
        };
        let file = directory.join(NAME);
        let with_path = |error: String| format!("{}: {error}", file.display());
        let text = Disk.read(&file).map_err(|error| with_path(error.to_string()))?;
        let text = String::from_utf8(text).map_err(|error| with_path(error.to_string()))?;
        let mut project = Self::parse(&text, &directory).map_err(with_path)?;
        project.directory = Some(directory);
        Ok(project)
    }

    /// The directory of the `navtree.toml` that [`Project::of`] reads, if there is one.
    pub(crate) fn directory_of(path: &Path) -> Result<Option<PathBuf>, String> {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let path = std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut directories = path.ancestors();
        let found = directories.find(|directory| directory.join(NAME).is_file());
        Ok(found.map(Path::to_path_buf))
    }

    fn parse(text: &str, directory: &Path) -> Result<Self, String> {
        let document = Document::parse(text).map_err(|error| error.to_string())?;
        let mut project = Self::default();
        for (name, item) in document.as_table() {
            let texts = texts(name, item)?;
            match name {
                "palettes" => project.palettes = texts.iter().map(|file| directory.join(file)).collect(),
                "keys" => project.keys = texts,
                "allow" => project.allow = texts,
                "warn" => project.warn = texts,
                "deny" => project.deny = texts,
                _ => {
                    return Err(match nearest(name, ENTRIES) {
                        Some(near) => format!("there is no entry `{name}`: did you mean `{near}`?"),
                        None => format!(
                            "there is no entry `{name}`: the entries are {}",
                            ENTRIES.join(", ")
                        ),
                    });
                }
            }
        }
        Ok(project)
    }

    /// Declares the nodes of the palettes, and the keys.
    pub(crate) fn apply(&self, registry: &mut Registry) -> Result<(), String> {
        for key in &self.keys {
            registry.provide_key(key);
        }
        super::palette::add_palettes(registry, &self.palettes)
    }
}

/// A list of texts.
fn texts(name: &str, item: &Item) -> Result<Vec<String>, String> {
    let list = item.as_array();
    let texts = list.map(|list| list.iter().map(|text| text.as_str().map(str::to_owned)));
    texts
        .and_then(Iterator::collect)
        .ok_or_else(|| format!("`{name}` must be a list of texts, for example {name} = [\"…\"]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_entries_are_read_and_others_are_refused() {
        let text = "palettes = ['a.xml']\nkeys = ['k', 'l'] # written by us\ndeny = ['warnings']";
        let expected = Project {
            palettes: vec![PathBuf::from("dir/a.xml")],
            keys: vec!["k".into(), "l".into()],
            deny: vec!["warnings".into()],
            ..Project::default()
        };
        let parse = |text: &str| Project::parse(text, Path::new("dir"));
        assert_eq!(parse(text), Ok(expected));
        assert_eq!(parse(""), Ok(Project::default()));
        for (text, reason) in [
            (
                "palete = []",
                "there is no entry `palete`: did you mean `palettes`?",
            ),
            (
                "keys = 'k'",
                "`keys` must be a list of texts, for example keys = [\"…\"]",
            ),
            (
                "keys = [1]",
                "`keys` must be a list of texts, for example keys = [\"…\"]",
            ),
            ("keys", "TOML parse error at line 1, column 5"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(reason), "{error}");
        }
    }
}
