//! Files on disk, some of them with another text: unsaved files of an editor, and files that are being fixed.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use super::files::{Disk, Files};

/// The files of this machine, except those with a text in memory.
#[derive(Clone, Debug, Default)]
pub struct Overlay {
    /// The texts in memory, by [`Files::identity`].
    texts: HashMap<PathBuf, String>,
}

impl Overlay {
    /// Sets the text of a file, which need not exist.
    pub fn set(&mut self, path: &Path, text: String) {
        self.texts.insert(self.identity(path), text);
    }

    /// Makes the text on disk count again.
    pub fn remove(&mut self, path: &Path) {
        self.texts.remove(&self.identity(path));
    }

    /// The text in memory.
    pub fn text(&self, path: &Path) -> Option<&str> {
        let known = self.texts.get(path);
        let text = known.or_else(|| self.texts.get(&Disk.identity(path)));
        text.map(String::as_str)
    }

    /// The files with a text in memory, by [`Files::identity`], in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.texts
            .iter()
            .map(|(path, text)| (path.as_path(), text.as_str()))
    }
}

impl Files for Overlay {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.text(path) {
            Some(text) => Ok(text.as_bytes().to_vec()),
            None => Disk.read(path),
        }
    }

    fn exists(&self, path: &Path) -> bool {
        self.text(path).is_some() || Disk.exists(path)
    }

    /// The name of a file with a text in memory stays the same, also if its path becomes a link.
    fn identity(&self, path: &Path) -> PathBuf {
        if self.texts.contains_key(path) {
            return path.to_path_buf();
        }
        Disk.identity(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_memory_counts_instead_of_the_file() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let other = here.parent().unwrap().join("src/../Cargo.toml");
        let mut overlay = Overlay::default();
        assert_eq!(overlay.read(&here).unwrap(), Disk.read(&here).unwrap());
        overlay.set(&here, "x".into());
        assert_eq!(overlay.read(&other).unwrap(), b"x");
        assert!(overlay.exists(&other) && !overlay.exists(&here.join("none")));
        overlay.remove(&other);
        assert_eq!(overlay.text(&here), None);
    }
}
