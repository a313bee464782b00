//! The version of tree files.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The version of a file, to detect a change. Two files may have the same length and modification time: copies of
/// `cp -p`, files of one checkout or of an image. Device and inode identify the file; a program can set back the
/// modification time, but not the time of the last status change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FileVersion {
    device: u64,
    inode: u64,
    length: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    /// Seconds and nanoseconds.
    status_changed: (i64, i64),
}

impl FileVersion {
    fn of(path: &Path) -> Option<Self> {
        let data = std::fs::metadata(path).ok()?;
        Some(Self {
            device: data.dev(),
            inode: data.ino(),
            length: data.len(),
            modified: (data.mtime(), data.mtime_nsec()),
            status_changed: (data.ctime(), data.ctime_nsec()),
        })
    }
}

/// The state of a file before it was read. A change during the read causes another read next time. Included files are
/// not checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FileStamp {
    path: PathBuf,
    /// `None`: the file could not be accessed, and contains no tree.
    version: Option<FileVersion>,
}

impl FileStamp {
    pub(super) fn file(path: PathBuf) -> Self {
        let version = FileVersion::of(&path);
        Self { path, version }
    }

    /// The tree files of directories, in search order.
    ///
    /// # Errors
    /// The directory that cannot be read.
    pub(super) fn files_of(directories: &[PathBuf]) -> Result<Vec<Self>, String> {
        let mut files = Vec::new();
        for directory in directories {
            let entries = std::fs::read_dir(directory)
                .map_err(|error| format!("bt_search_directories: {}: {error}", directory.display()))?;
            let mut found: Vec<PathBuf> = entries
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|path| path.extension().is_some_and(|extension| extension == "xml"))
                .collect();
            found.sort();
            files.extend(found.into_iter().map(Self::file));
        }
        Ok(files)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn could_be_read(&self) -> bool {
        self.version.is_some()
    }

    /// Returns whether the file has changed or is missing.
    pub(super) fn has_changed(&self) -> bool {
        FileVersion::of(&self.path) != self.version
    }
}
