//! The sources of file texts: the disk, or memory for tests and editors.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use super::limits;

/// A source of files.
pub trait Files {
    /// Reads all bytes of a file.
    ///
    /// # Errors
    /// Any error of the read; `FileTooLarge` for more than [`limits::FILE_BYTES`].
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// True if `path` exists.
    fn exists(&self, path: &Path) -> bool;

    /// A unique name for a file that several paths lead to. Two includes with equal names are the same file.
    fn identity(&self, path: &Path) -> PathBuf {
        lexical(path)
    }
}

/// The files of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        // A device or a pipe has no end. This is checked before it is opened, because the open call of a pipe blocks.
        let metadata = std::fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
        }
        if !metadata.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "is not a regular file",
            ));
        }
        let limit = u64::try_from(limits::FILE_BYTES).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        File::open(path)?
            .take(limit.saturating_add(1))
            .read_to_end(&mut bytes)?;
        if bytes.len() > limits::FILE_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("is larger than {} bytes", limits::FILE_BYTES),
            ));
        }
        Ok(bytes)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn identity(&self, path: &Path) -> PathBuf {
        path.canonicalize().unwrap_or_else(|_| lexical(path))
    }
}

/// Files in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Memory {
    /// Creates files with these paths and contents.
    pub fn new<P: Into<PathBuf>, B: Into<Vec<u8>>>(files: impl IntoIterator<Item = (P, B)>) -> Self {
        let files = files
            .into_iter()
            .map(|(path, bytes)| (lexical(&path.into()), bytes.into()))
            .collect();
        Self { files }
    }
}

impl Files for Memory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.files
            .get(&lexical(path))
            .cloned()
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such file"))
    }

    fn exists(&self, path: &Path) -> bool {
        self.files.contains_key(&lexical(path))
    }
}

/// The path without `.`, and without `..` as far as the path alone shows.
fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// The ament index: the location of the packages of the sourced ROS workspaces.
#[derive(Clone, Debug, Default)]
pub struct AmentIndex {
    prefixes: Vec<PathBuf>,
}

impl AmentIndex {
    /// Creates an index over these prefixes, in order of precedence.
    pub fn new<P: Into<PathBuf>>(prefixes: impl IntoIterator<Item = P>) -> Self {
        Self {
            prefixes: prefixes.into_iter().map(Into::into).collect(),
        }
    }

    /// The index of the environment of this process (`AMENT_PREFIX_PATH`).
    pub fn from_environment() -> Self {
        let path = std::env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
        let prefixes = std::env::split_paths(&path).filter(|prefix| !prefix.as_os_str().is_empty());
        Self::new(prefixes)
    }

    /// True when no workspace is sourced.
    pub fn is_empty(&self) -> bool {
        self.prefixes.is_empty()
    }

    /// The share folder of a package.
    pub fn share(&self, package: &str, files: &dyn Files) -> Option<PathBuf> {
        // Any other name could lead out of the index.
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if package.is_empty() || !package.bytes().all(plain) {
            return None;
        }
        self.prefixes
            .iter()
            .find(|prefix| {
                let marker = prefix.join("share/ament_index/resource_index/packages");
                files.exists(&marker.join(package))
            })
            .map(|prefix| prefix.join("share").join(package))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_compared_without_detours() {
        for (path, expected) in [
            ("a/./b/../c.xml", "a/c.xml"),
            ("../a.xml", "../a.xml"),
            ("a/../../b", "../b"),
            ("./a", "a"),
        ] {
            assert_eq!(lexical(Path::new(path)), Path::new(expected));
        }
    }

    #[test]
    fn files_without_end_are_rejected() {
        assert!(Disk.read(Path::new("/dev/zero")).is_err());
        assert!(Disk.read(Path::new(env!("CARGO_MANIFEST_DIR"))).is_err());
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(Disk.read(&manifest).unwrap().starts_with(b"[package]"));
        let detour = manifest.with_file_name("src/../Cargo.toml");
        assert_eq!(Disk.identity(&detour), Disk.identity(&manifest));
    }

    #[test]
    fn packages_are_found_in_the_first_prefix_that_has_them() {
        let marker = |prefix: &str, package: &str| {
            (
                format!("{prefix}/share/ament_index/resource_index/packages/{package}"),
                "",
            )
        };
        let files = Memory::new([
            marker("/overlay", "a"),
            marker("/opt", "a"),
            marker("/opt", "b_c"),
            marker("/opt", "../x"),
        ]);
        let index = AmentIndex::new(["/overlay", "/opt"]);
        for (package, share) in [
            ("a", Some("/overlay/share/a")),
            ("b_c", Some("/opt/share/b_c")),
            ("c", None),
            ("../x", None),
            ("", None),
        ] {
            assert_eq!(index.share(package, &files).as_deref(), share.map(Path::new));
        }
    }
}
