//! The definitions of trees that the robots of a process share: a definition is immutable, and each robot has its own run
//! of it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::bt::TreeDef;
use crate::xml::Sources;

/// The definitions that a robot uses. Clones share them.
#[derive(Clone, Default)]
pub struct SharedTrees(Arc<Mutex<Vec<SharedTree>>>);

/// What a definition depends on, besides the texts of its files and the node types of the program.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct TreeKey {
    /// The parameters that the compiler uses, as text.
    pub(super) settings: Arc<str>,
    pub(super) paths: Vec<PathBuf>,
    /// The ID of the main tree.
    pub(super) main: Option<String>,
}

struct SharedTree {
    key: TreeKey,
    /// The robots own it.
    def: Weak<TreeDef>,
    sources: Sources,
}

impl SharedTrees {
    fn lock(&self) -> MutexGuard<'_, Vec<SharedTree>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The definition for this key, if a robot uses one, and if its files, included ones too, still have the same texts.
    pub(super) fn get(&self, key: &TreeKey) -> Option<(Arc<TreeDef>, Sources)> {
        let known = {
            let trees = self.lock();
            let tree = trees.iter().rev().find(|tree| tree.key == *key)?;
            (tree.def.upgrade()?, tree.sources.clone())
        };
        // Without the lock, because a disk may be slow.
        let is_current = known.1.iter().all(|file| {
            std::fs::read(Path::new(file.name())).is_ok_and(|bytes| bytes == file.text().as_bytes())
        });
        is_current.then_some(known)
    }

    /// Adds a definition.
    pub(super) fn add(&self, key: TreeKey, def: &Arc<TreeDef>, sources: &Sources) {
        let mut trees = self.lock();
        trees.retain(|tree| tree.def.strong_count() > 0 && tree.key != key);
        trees.push(SharedTree {
            key,
            def: Arc::downgrade(def),
            sources: sources.clone(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::NavigatorKind::ToPose;
    use super::super::TreeLibrary;
    use super::super::test_harness::{bench, registry};
    use super::super::tree_cache::tests::Folder;
    use super::*;

    const TREE: &str = r#"<root BTCPP_format="4"><include path="part.xml"/><BehaviorTree ID="Main"><SubTree ID="Part"/></BehaviorTree></root>"#;
    const PART: &str =
        r#"<root BTCPP_format="4"><BehaviorTree ID="Part"><AlwaysSuccess/></BehaviorTree></root>"#;

    fn robot(trees: &SharedTrees, settings: &str) -> TreeLibrary {
        TreeLibrary::new(registry(), Vec::new(), false, || bench().link()).sharing(trees, settings)
    }

    fn def(library: &TreeLibrary, folder: &Folder) -> Arc<TreeDef> {
        library.for_goal(ToPose, &folder.path("main.xml")).unwrap()
    }

    #[test]
    fn robots_with_the_same_settings_share_the_definition_of_a_file() {
        let folder = Folder::new("shared-trees");
        folder.write(
            "main.xml",
            TREE.replace(
                "path=\"part.xml\"",
                &format!("path=\"{}\"", folder.path("part.xml")),
            )
            .as_str(),
        );
        folder.write("part.xml", PART);
        let trees = SharedTrees::default();
        let robots = [robot(&trees, "a"), robot(&trees, "a"), robot(&trees, "b")];
        let [first, second, other] = robots.each_ref().map(|robot| def(robot, &folder));
        assert!(Arc::ptr_eq(&first, &second));
        assert!(!Arc::ptr_eq(&first, &other), "other settings");
        folder.write("part.xml", &PART.replace("AlwaysSuccess", "AlwaysFailure"));
        let later = def(&robot(&trees, "a"), &folder);
        assert!(!Arc::ptr_eq(&first, &later), "an included file has changed");
        let key_count = trees.lock().len();
        drop((robots, first, second, other, later));
        let again = def(&robot(&trees, "a"), &folder);
        assert_eq!(Arc::strong_count(&again), 1, "only a robot keeps it");
        assert!(key_count == 2 && trees.lock().len() == 1);
    }
}
