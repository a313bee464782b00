//! A cache of trees, valid as long as their files do not change.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::file_stamp::FileStamp;
use crate::bt::TreeDef;
use crate::xml::Sources;

/// Maximum number of cached trees. A mission planner may write a file for each of its goals, for months.
const CAPACITY: usize = 64;

/// A definition with its source files, included ones too. It holds their texts, to show positions in them.
#[derive(Clone)]
pub(super) struct LoadedTree {
    pub(super) def: Arc<TreeDef>,
    pub(super) sources: Sources,
    /// The file of the search directories that has the tree, if it was found by its ID.
    pub(super) provider: Option<PathBuf>,
}

impl LoadedTree {
    /// Puts this tree in the place of the old one, unless both have identical source texts: a running tree with the old
    /// definition then continues. Returns the tree that is not used. Drop it without a lock: code of its leaves may block.
    #[must_use]
    pub(super) fn replace(self, old: &mut Self) -> Self {
        let [new_files, old_files] = [&self, &*old].map(|tree| {
            let files = tree.sources.iter();
            files.map(|file| (file.name(), file.text()))
        });
        if new_files.eq(old_files) {
            self
        } else {
            std::mem::replace(old, self)
        }
    }
}

/// The result of a search: a tree, and the files where it was found.
pub(super) struct SearchResult {
    /// The searched files. The last one contains the tree.
    pub(super) files: Vec<FileStamp>,
    /// The tree needs several files. Then any additional file may change the result.
    pub(super) needs_all_files: bool,
    pub(super) tree: LoadedTree,
    /// Warnings of the search.
    pub(super) warnings: Vec<String>,
}

impl SearchResult {
    /// Returns whether another search would find the same tree.
    fn is_current(&self, files: &[FileStamp]) -> bool {
        self.files.last().is_some_and(FileStamp::could_be_read)
            && files.starts_with(&self.files)
            && (!self.needs_all_files || files.len() == self.files.len())
    }
}

#[derive(Default)]
struct CacheEntries {
    /// The trees by requested name, each with the number of its latest use.
    results: FxHashMap<String, (u64, SearchResult)>,
    use_count: u64,
}

impl CacheEntries {
    fn next_use(&mut self) -> u64 {
        self.use_count = self.use_count.wrapping_add(1);
        self.use_count
    }

    fn has_capacity_for(&self, name: &str) -> bool {
        self.results.len() < CAPACITY || self.results.contains_key(name)
    }

    fn remove_oldest(&mut self) -> Option<SearchResult> {
        let oldest = self.results.iter().min_by_key(|(_, (last_use, _))| *last_use);
        let name = oldest.map(|(name, _)| name.clone())?;
        self.results.remove(&name).map(|(_, result)| result)
    }
}

/// Caches trees by requested file or ID. If the definition is the same, a new goal continues with the running tree.
#[derive(Default)]
pub(super) struct TreeCache(Mutex<CacheEntries>);

impl TreeCache {
    fn lock(&self) -> MutexGuard<'_, CacheEntries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tree of this name, if `files` are unchanged. Included files are not checked.
    pub(super) fn get(&self, name: &str, files: &[FileStamp]) -> Option<LoadedTree> {
        let mut entries = self.lock();
        let now = entries.next_use();
        let (last_use, result) = entries.results.get_mut(name)?;
        result.is_current(files).then(|| {
            *last_use = now;
            result.tree.clone()
        })
    }

    /// The file that had the tree of this ID at the last search, and the warnings of that search.
    pub(super) fn last_search(&self, id: &str) -> (Option<PathBuf>, Vec<String>) {
        let entries = self.lock();
        let result = entries.results.get(id).map(|(_, result)| result);
        result.map_or_else(Default::default, |result| {
            (result.tree.provider.clone(), result.warnings.clone())
        })
    }

    /// Stores a tree and returns the tree to use: the cached one if both have identical source texts.
    pub(super) fn insert(&self, name: &str, mut result: SearchResult) -> LoadedTree {
        let outdated = self.outdated_for(name);
        let mut entries = self.lock();
        for (other, seen_use) in outdated {
            // The tree may have been stored again while its files were checked.
            if entries
                .results
                .get(&other)
                .is_some_and(|(last_use, _)| *last_use == seen_use)
            {
                entries.results.remove(&other);
            }
        }
        if let Some((_, old)) = entries.results.get(name) {
            let mut kept = old.tree.clone();
            drop(result.tree.replace(&mut kept));
            result.tree = kept;
        }
        // A running tree holds its definition itself.
        while !entries.has_capacity_for(name) && entries.remove_oldest().is_some() {}
        let tree = result.tree.clone();
        let now = entries.next_use();
        entries.results.insert(name.to_owned(), (now, result));
        tree
    }

    /// The trees with missing or changed files, each with its latest use. Empty if there is room for `name`.
    fn outdated_for(&self, name: &str) -> Vec<(String, u64)> {
        let uses: Vec<(String, u64, Vec<FileStamp>)> = {
            let entries = self.lock();
            if entries.has_capacity_for(name) {
                return Vec::new();
            }
            let all = entries.results.iter();
            all.map(|(name, (last_use, result))| (name.clone(), *last_use, result.files.clone()))
                .collect()
        };
        // Without the lock, because a disk may be slow.
        uses.into_iter()
            .filter(|(_, _, files)| files.iter().any(FileStamp::has_changed))
            .map(|(name, last_use, _)| (name, last_use))
            .collect()
    }

    /// Removes all trees.
    pub(super) fn clear(&self) {
        self.lock().results.clear();
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::test_harness::{load, registry};
    use super::*;

    /// A folder of test files, deleted on drop.
    pub(in super::super) struct Folder(pub(in super::super) PathBuf);

    impl Folder {
        pub(in super::super) fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("navtree-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        pub(in super::super) fn path(&self, file: &str) -> String {
            self.0.join(file).display().to_string()
        }

        pub(in super::super) fn write(&self, file: &str, text: &str) {
            std::fs::write(self.0.join(file), text).unwrap();
        }

        pub(in super::super) fn remove(&self, file: &str) {
            std::fs::remove_file(self.0.join(file)).unwrap();
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// A tree cache, and a folder with the files of its trees.
    struct Bench {
        folder: Folder,
        tree_cache: TreeCache,
        def: Arc<TreeDef>,
    }

    impl Bench {
        fn new(name: &str) -> Self {
            Self {
                folder: Folder::new(name),
                tree_cache: TreeCache::default(),
                def: load(&registry(), "<AlwaysSuccess/>"),
            }
        }

        fn files(&self, name: &str) -> Vec<FileStamp> {
            vec![FileStamp::file(self.folder.0.join(name))]
        }

        fn insert(&self, name: &str) {
            self.folder.write(name, name);
            let result = SearchResult {
                files: self.files(name),
                needs_all_files: false,
                tree: LoadedTree {
                    def: Arc::clone(&self.def),
                    sources: Sources::new(),
                    provider: None,
                },
                warnings: Vec::new(),
            };
            self.tree_cache.insert(name, result);
        }

        fn has(&self, name: &str) -> bool {
            self.tree_cache.get(name, &self.files(name)).is_some()
        }

        fn count(&self) -> usize {
            self.tree_cache.lock().results.len()
        }
    }

    fn mission(number: usize) -> String {
        format!("mission_{number}.xml")
    }

    #[test]
    fn the_tree_cache_is_bounded_and_keeps_trees_in_use() {
        let bench = Bench::new("missions");
        bench.insert("default.xml");
        for number in 0..3 * CAPACITY {
            bench.insert(&mission(number));
            assert!(bench.has("default.xml"), "used a moment ago: {number}");
            assert!(bench.has(&mission(number)));
            assert!(bench.count() <= CAPACITY, "{number}");
        }
        assert!(!bench.has(&mission(0)));
        assert!(Arc::strong_count(&bench.def) <= 1 + CAPACITY);
    }

    #[test]
    fn trees_whose_files_are_gone_or_changed_make_room_before_any_other() {
        let bench = Bench::new("gone-missions");
        bench.insert("oldest.xml");
        for number in 1..CAPACITY {
            bench.insert(&mission(number));
        }
        assert_eq!(bench.count(), CAPACITY);
        bench.folder.remove(&mission(CAPACITY - 1));
        bench.folder.write(&mission(CAPACITY - 2), "changed");
        bench.insert("new.xml");
        assert_eq!(bench.count(), CAPACITY - 1);
        assert!(bench.has("oldest.xml") && bench.has(&mission(1)));
    }
}
