//! The search for a tree by ID. A broken file is not replaced by another file with the same ID (guarantee G7).

use std::path::{Path, PathBuf};

use super::file_stamp::FileStamp;
use super::tree_cache::{LoadedTree, SearchResult};
use crate::xml::Definition;

/// The search for the tree of one ID.
pub(super) struct IdSearch<'s> {
    pub(super) id: &'s str,
    /// The files of the search directories, in search order.
    pub(super) files: &'s [FileStamp],
    /// The files that had the tree at earlier searches.
    pub(super) providers: &'s [PathBuf],
    /// Finds out whether a file defines the tree.
    pub(super) define: &'s dyn Fn(&Path) -> Definition,
    /// Loads the tree from files.
    pub(super) load: &'s dyn Fn(&[&Path]) -> Result<LoadedTree, String>,
}

/// A file with what it says about the tree.
struct Candidate<'s> {
    file: &'s FileStamp,
    definition: Definition,
}

impl Candidate<'_> {
    fn defines(&self) -> bool {
        matches!(self.definition, Definition::In(_))
    }
}

impl IdSearch<'_> {
    /// Finds the tree: in the first file that has it, alone or together with the files that do not define it; else in all
    /// files together. A file that defines the tree and is broken ends the search, and so does an earlier provider that
    /// cannot be read.
    ///
    /// # Errors
    /// The error in the file of the tree, or that there is no such tree.
    pub(super) fn run(&self) -> Result<SearchResult, String> {
        let candidates: Vec<Candidate<'_>> = self
            .files
            .iter()
            .map(|file| Candidate {
                file,
                definition: (self.define)(file.path()),
            })
            .collect();
        for candidate in &candidates {
            if let Definition::Unknown(reason) = &candidate.definition
                && self.was_provider(candidate)
            {
                return Err(self.broken_file_error(reason));
            }
        }
        let mut first = None;
        let mut failed = Vec::new();
        for (position, candidate) in candidates.iter().enumerate().filter(|(_, it)| it.defines()) {
            if first.is_some() && !self.was_provider(candidate) {
                continue;
            }
            let alone = (self.load)(&[candidate.file.path()]).map(|tree| (position, tree, false));
            let loaded = alone.or_else(|reason| {
                let together = self.with_others(candidate, &candidates);
                together.map(|tree| (position, tree, true)).ok_or(reason)
            });
            match loaded {
                Ok(found) => first = first.or(Some(found)),
                Err(reason) => failed.push((candidate, reason)),
            }
        }
        let Some((position, mut tree, needs_all_files)) = first else {
            return self.load_all_files(&candidates);
        };
        let provider = &candidates[position];
        for (candidate, reason) in failed {
            // A file that includes the file of the tree may have errors of its own.
            if candidate.definition != provider.definition || self.was_provider(candidate) {
                return Err(self.broken_file_error(&reason));
            }
        }
        tree.provider = Some(provider.file.path().to_owned());
        let last = if needs_all_files {
            self.files.len()
        } else {
            position + 1
        };
        Ok(SearchResult {
            files: self.files[..last].to_vec(),
            needs_all_files,
            tree,
            warnings: self.warnings(position, &candidates),
        })
    }

    /// Loads the tree from all files together: it may use trees of several files.
    fn load_all_files(&self, candidates: &[Candidate<'_>]) -> Result<SearchResult, String> {
        let all: Vec<&Path> = self.files.iter().map(FileStamp::path).collect();
        let mut tree = (self.load)(&all).map_err(|reason| {
            let (id, count) = (self.id, self.files.len());
            format!("no tree `{id}` in the {count} files of bt_search_directories: {reason}")
        })?;
        // Of several trees with this ID, the last one counts.
        let provider = candidates.iter().rfind(|candidate| candidate.defines());
        tree.provider = provider.map(|candidate| candidate.file.path().to_owned());
        let warnings = match &tree.provider {
            Some(provider) => self.moved_tree_warnings(provider, candidates),
            None => Vec::new(),
        };
        Ok(SearchResult {
            files: self.files.to_vec(),
            needs_all_files: true,
            tree,
            warnings,
        })
    }

    fn was_provider(&self, candidate: &Candidate<'_>) -> bool {
        self.providers.iter().any(|path| path == candidate.file.path())
    }

    /// Loads the tree from a file together with the files that do not define it: the tree may use their trees.
    fn with_others(&self, candidate: &Candidate<'_>, candidates: &[Candidate<'_>]) -> Option<LoadedTree> {
        let is_part = |other: &&Candidate<'_>| {
            other.definition == Definition::Absent || std::ptr::eq(*other, candidate)
        };
        let files: Vec<&Path> = candidates
            .iter()
            .filter(is_part)
            .map(|it| it.file.path())
            .collect();
        (self.load)(&files).ok().filter(|_| files.len() > 1)
    }

    fn broken_file_error(&self, reason: &str) -> String {
        let id = self.id;
        format!("the file of the tree `{id}` is broken, and no other file is used in its place: {reason}")
    }

    /// Warnings about the files that may be the intended ones instead of the file at `position`.
    fn warnings(&self, position: usize, candidates: &[Candidate<'_>]) -> Vec<String> {
        let (id, provider) = (self.id, &candidates[position]);
        let used = provider.file.path().display();
        let mut warnings = self.moved_tree_warnings(provider.file.path(), candidates);
        for (other, candidate) in candidates.iter().enumerate() {
            let path = candidate.file.path();
            match &candidate.definition {
                Definition::In(_) if candidate.definition != provider.definition => warnings.push(format!(
                    "the tree `{id}` is in {used} and in {}: the one in {used} is used",
                    path.display()
                )),
                Definition::Unknown(reason) if other < position && candidate.file.could_be_read() => {
                    warnings.push(format!(
                        "the tree `{id}` of {used} is used; {}, which comes before it, has errors and may have this \
                         tree too: {}",
                        path.display(),
                        reason.replace('\n', "; ")
                    ));
                }
                _ => {}
            }
        }
        warnings
    }

    /// Warnings that the tree comes from another file than before.
    fn moved_tree_warnings(&self, used: &Path, candidates: &[Candidate<'_>]) -> Vec<String> {
        let has_tree = |path: &Path| {
            candidates
                .iter()
                .any(|candidate| candidate.file.path() == path && candidate.defines())
        };
        let mut former_providers: Vec<&PathBuf> =
            self.providers.iter().filter(|path| !has_tree(path)).collect();
        former_providers.sort();
        former_providers.dedup();
        let (id, used) = (self.id, used.display());
        former_providers.into_iter()
            .map(|path| {
                format!(
                    "the tree `{id}` of {used} is used: {}, which had this tree before, is gone or has it no longer",
                    path.display()
                )
            })
            .collect()
    }
}
