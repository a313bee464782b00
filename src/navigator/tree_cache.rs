//! A cache of trees, valid as long as their files do not change.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::file_stamp::FileStamp;
use crate::bt::TreeDef;
use crate::xml::Sources;

/// Maximum number of cached trees. A mission planner may write a file for each of its goals, for months.
const ROOM: usize = 64;

/// A definition with its source files, included ones too. It holds their texts, to show positions in them.
#[derive(Clone)]
pub(super) struct Written {
    pub(super) def: Arc<TreeDef>,
    pub(super) sources: Sources,
    /// The file of the search directories that has the tree, if it was found by its ID.
    pub(super) provider: Option<PathBuf>,
}

impl Written {
    /// Returns the old tree if both have identical source texts. A running tree with this definition then continues.
    pub(super) fn in_place_of(self, old: &Self) -> Self {
        let [new_files, old_files] = [&self, old].map(|it| {
            let files = it.sources.iter();
            files.map(|file| (file.name(), file.text()))
        });
        if new_files.eq(old_files) {
            old.clone()
        } else {
            self
        }
    }
}

/// A tree, and the files where it was found.
pub(super) struct Found {
    /// The searched files. The last one contains the tree.
    pub(super) among: Vec<FileStamp>,
    /// The tree needs several files. Then any additional file may change the result.
    pub(super) in_all: bool,
    pub(super) tree: Written,
    /// Warnings of the search.
    pub(super) warnings: Vec<String>,
}

impl Found {
    /// Returns whether another search would find the same tree.
    fn still_holds(&self, files: &[FileStamp]) -> bool {
        self.among.last().is_some_and(FileStamp::could_be_read)
            && files.starts_with(&self.among)
            && (!self.in_all || files.len() == self.among.len())
    }
}

#[derive(Default)]
struct Places {
    /// The trees by requested name, each with the number of its latest use.
    found: FxHashMap<String, (u64, Found)>,
    uses: u64,
}

impl Places {
    fn next_use(&mut self) -> u64 {
        self.uses = self.uses.wrapping_add(1);
        self.uses
    }

    fn has_room_for(&self, name: &str) -> bool {
        self.found.len() < ROOM || self.found.contains_key(name)
    }

    fn remove_oldest(&mut self) -> Option<Found> {
        let oldest = self.found.iter().min_by_key(|(_, (used, _))| *used);
        let name = oldest.map(|(name, _)| name.clone())?;
        self.found.remove(&name).map(|(_, found)| found)
    }
}

/// Caches trees by requested file or ID. If the definition is the same, a new goal continues with the running tree.
#[derive(Default)]
pub(super) struct TreeCache(Mutex<Places>);

impl TreeCache {
    fn places(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tree of this name, if `files` are unchanged. Included files are not checked.
    pub(super) fn get(&self, name: &str, files: &[FileStamp]) -> Option<Written> {
        let mut places = self.places();
        let now = places.next_use();
        let (used, found) = places.found.get_mut(name)?;
        found.still_holds(files).then(|| {
            *used = now;
            found.tree.clone()
        })
    }

    /// The file that had the tree of this ID at the last search, and the warnings of that search.
    pub(super) fn last_search(&self, id: &str) -> (Option<PathBuf>, Vec<String>) {
        let places = self.places();
        let found = places.found.get(id).map(|(_, found)| found);
        found.map_or_else(Default::default, |found| {
            (found.tree.provider.clone(), found.warnings.clone())
        })
    }

    /// Stores a tree and returns the tree to use: the cached one if both have identical source texts.
    pub(super) fn keep(&self, name: &str, mut found: Found) -> Written {
        let outdated = self.outdated_for(name);
        let mut places = self.places();
        for (other, seen) in outdated {
            // The tree may have been stored again while its files were checked.
            if places.found.get(&other).is_some_and(|(used, _)| *used == seen) {
                places.found.remove(&other);
            }
        }
        if let Some((_, old)) = places.found.get(name) {
            found.tree = found.tree.in_place_of(&old.tree);
        }
        // A running tree holds its definition itself.
        while !places.has_room_for(name) && places.remove_oldest().is_some() {}
        let tree = found.tree.clone();
        let now = places.next_use();
        places.found.insert(name.to_owned(), (now, found));
        tree
    }

    /// The trees with missing or changed files, each with its latest use. Empty if there is room for `name`.
    fn outdated_for(&self, name: &str) -> Vec<(String, u64)> {
        let kept: Vec<(String, u64, Vec<FileStamp>)> = {
            let places = self.places();
            if places.has_room_for(name) {
                return Vec::new();
            }
            let all = places.found.iter();
            all.map(|(name, (used, found))| (name.clone(), *used, found.among.clone()))
                .collect()
        };
        // Without the lock, because a disk may be slow.
        kept.into_iter()
            .filter(|(_, _, among)| among.iter().any(FileStamp::has_changed))
            .map(|(name, used, _)| (name, used))
            .collect()
    }

    /// Removes all trees.
    pub(super) fn clear(&self) {
        self.places().found.clear();
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

        fn keep(&self, name: &str) {
            self.folder.write(name, name);
            let found = Found {
                among: self.files(name),
                in_all: false,
                tree: Written {
                    def: Arc::clone(&self.def),
                    sources: Sources::new(),
                    provider: None,
                },
                warnings: Vec::new(),
            };
            self.tree_cache.keep(name, found);
        }

        fn has(&self, name: &str) -> bool {
            self.tree_cache.get(name, &self.files(name)).is_some()
        }

        fn count(&self) -> usize {
            self.tree_cache.places().found.len()
        }
    }

    fn mission(number: usize) -> String {
        format!("mission_{number}.xml")
    }

    #[test]
    fn the_tree_cache_is_bounded_and_keeps_trees_in_use() {
        let bench = Bench::new("missions");
        bench.keep("default.xml");
        for number in 0..3 * ROOM {
            bench.keep(&mission(number));
            assert!(bench.has("default.xml"), "used a moment ago: {number}");
            assert!(bench.has(&mission(number)));
            assert!(bench.count() <= ROOM, "{number}");
        }
        assert!(!bench.has(&mission(0)));
        assert!(Arc::strong_count(&bench.def) <= 1 + ROOM);
    }

    #[test]
    fn trees_whose_files_are_gone_or_changed_make_room_before_any_other() {
        let bench = Bench::new("gone-missions");
        bench.keep("oldest.xml");
        for number in 1..ROOM {
            bench.keep(&mission(number));
        }
        assert_eq!(bench.count(), ROOM);
        bench.folder.remove(&mission(ROOM - 1));
        bench.folder.write(&mission(ROOM - 2), "changed");
        bench.keep("new.xml");
        assert_eq!(bench.count(), ROOM - 1);
        assert!(bench.has("oldest.xml") && bench.has(&mission(1)));
    }
}
