//! The library of trees for goals. It reads, checks and compiles a tree before any running tree is changed (guarantee
//! G7).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::NavigatorKind;
use super::file_stamp::FileStamp;
use super::id_search::IdSearch;
use super::shared_trees::{SharedTrees, TreeKey};
use super::tree_cache::{LoadedTree, SearchResult, TreeCache};
use crate::bt::{Registry, TreeDef, panic_text};
use crate::nav::{Fault, Link, dry_run};
use crate::xml::{Loaded, Loader};

/// A refused default tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The requested file or ID.
    pub name: String,
    /// The error, with file, line and column.
    pub reason: String,
}

/// A file or ID with its tree.
type NamedTree = (String, LoadedTree);

/// The trees of the parameters.
#[derive(Default)]
struct ParameterTrees {
    /// For each navigator, the value of its parameter and its last valid tree.
    defaults: [Option<NamedTree>; 2],
    /// For each navigator, the tree that was last checked as valid and is not its default yet.
    checked: [Option<NamedTree>; 2],
    /// The last refused default tree, if none was accepted since.
    last_refusal: Option<(Refusal, Instant)>,
}

/// Makes a link for the dry run of a tree.
type LinkFactory = Arc<dyn Fn() -> Box<dyn Link> + Send + Sync>;

/// Finds trees by file name or by ID. The threads that answer clients use it, never the tick thread.
pub struct TreeLibrary {
    registry: Registry,
    search_directories: Vec<PathBuf>,
    always_reload: bool,
    dry_run: Mutex<LinkFactory>,
    parameter_trees: Mutex<ParameterTrees>,
    tree_cache: TreeCache,
    /// The definitions of all robots of the process, and the settings of this one that the compiler uses.
    shared: Option<(SharedTrees, Arc<str>)>,
}

impl TreeLibrary {
    /// Creates a library without defaults. `dry_run` makes a link for the dry run of each tree: if its nodes request
    /// interfaces or fields that do not exist, the tree is refused.
    pub fn new(
        registry: Registry,
        search_directories: Vec<PathBuf>,
        always_reload: bool,
        dry_run: impl Fn() -> Box<dyn Link> + Send + Sync + 'static,
    ) -> Self {
        Self {
            registry,
            search_directories,
            always_reload,
            dry_run: Mutex::new(Arc::new(dry_run)),
            parameter_trees: Mutex::default(),
            tree_cache: TreeCache::default(),
            shared: None,
        }
    }

    /// Shares definitions with other robots of the process. `settings`: what makes this robot's definitions different from
    /// those of the others.
    #[must_use]
    pub fn sharing(mut self, trees: &SharedTrees, settings: &str) -> Self {
        self.shared = Some((trees.clone(), Arc::from(settings)));
        self
    }

    /// The node types of the trees.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Sets another link for the following dry runs, one that knows more interfaces.
    pub fn set_dry_run_link(&self, dry_run: impl Fn() -> Box<dyn Link> + Send + Sync + 'static) {
        let mut current = self.dry_run.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = std::mem::replace(&mut *current, Arc::new(dry_run));
        // Without the lock: it may own whole parts of the node.
        drop(current);
        drop(earlier);
    }

    fn parameter_trees(&self) -> MutexGuard<'_, ParameterTrees> {
        self.parameter_trees
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the default tree of a navigator, from its next goal on. A tree that was checked before is used as it was at
    /// the check, because its client was told that it is valid.
    ///
    /// # Errors
    /// The error in the tree, with file, line and column. The default does not change.
    pub fn set_default(&self, kind: NavigatorKind, name: &str) -> Result<(), String> {
        let checked =
            self.parameter_trees().checked[kind.index()].take_if(|(checked_name, _)| checked_name == name);
        let new_tree = match checked {
            Some((_, tree)) => tree,
            None => self.find_default(name)?,
        };
        let mut parameter_trees = self.parameter_trees();
        let default = &mut parameter_trees.defaults[kind.index()];
        let unused = if let Some((old_name, old)) = default
            && old_name == name
        {
            Some(new_tree.replace(old))
        } else {
            let before = default.replace((name.to_owned(), new_tree));
            before.map(|(_, tree)| tree)
        };
        drop(parameter_trees);
        // Not under the lock, for which the thread of the ROS node waits: code of the leaves may block.
        drop(unused);
        Ok(())
    }

    /// Clears the cache. Files that look unchanged are read again, because their included files may have changed.
    pub fn clear_cache(&self) {
        self.tree_cache.clear();
    }

    /// Reads the default trees again if their files have changed or the cache was cleared.
    ///
    /// # Errors
    /// The error in one of the trees, with file, line and column. All default trees stay the same.
    pub fn refresh(&self) -> Result<(), String> {
        let mut new_trees = Vec::new();
        for (kind, name) in NavigatorKind::ALL.into_iter().zip(self.defaults()) {
            if let Some(name) = name {
                let tree = self.find_default(&name)?;
                new_trees.push((kind, name, tree));
            }
        }
        for (kind, name, tree) in new_trees {
            self.replace_default(kind, &name, tree);
        }
        Ok(())
    }

    /// Replaces a default tree after it was read again, unless another default was set meanwhile. Returns the current
    /// tree.
    fn replace_default(&self, kind: NavigatorKind, name: &str, new_tree: LoadedTree) -> Arc<TreeDef> {
        let mut parameter_trees = self.parameter_trees();
        let default = match &mut parameter_trees.defaults[kind.index()] {
            Some((default_name, default)) if default_name == name => default,
            _ => return new_tree.def,
        };
        let unused = new_tree.replace(default);
        let def = Arc::clone(&default.def);
        drop(parameter_trees);
        // Not under the lock, as in `set_default`.
        drop(unused);
        def
    }

    /// Checks whether a tree can be the default of a navigator. If so, [`TreeLibrary::set_default`] uses the tree as it
    /// is now.
    ///
    /// # Errors
    /// The error in the tree, with file, line and column.
    pub fn check(&self, kind: NavigatorKind, name: &str) -> Result<(), String> {
        let tree = self.find_default(name)?;
        let unused = self.parameter_trees().checked[kind.index()].replace((name.to_owned(), tree));
        // Not under the lock, as in `set_default`.
        drop(unused);
        Ok(())
    }

    /// Finds a default tree, and records the outcome for [`TreeLibrary::last_refusal`].
    fn find_default(&self, name: &str) -> Result<LoadedTree, String> {
        let result = self.find(name);
        let refusal = result.as_ref().err().map(|reason| Refusal {
            name: name.to_owned(),
            reason: reason.clone(),
        });
        self.parameter_trees().last_refusal = refusal.map(|refusal| (refusal, Instant::now()));
        result
    }

    /// The last requested default tree, if it was refused, with the time since then (guarantee G7).
    pub fn last_refusal(&self) -> Option<(Refusal, Duration)> {
        let last_refusal = self.parameter_trees().last_refusal.clone();
        last_refusal.map(|(refusal, time)| (refusal, time.elapsed()))
    }

    /// The file or ID of the default tree of each navigator.
    pub fn defaults(&self) -> [Option<String>; 2] {
        let parameter_trees = self.parameter_trees();
        NavigatorKind::ALL.map(|kind| {
            parameter_trees.defaults[kind.index()]
                .as_ref()
                .map(|(name, _)| name.clone())
        })
    }

    /// The tree for a goal, if it is the default one and no file is to be read.
    pub fn in_memory(&self, kind: NavigatorKind, name: &str) -> Option<Arc<TreeDef>> {
        if self.always_reload {
            return None;
        }
        let (default_name, tree) = self.parameter_trees().defaults[kind.index()].clone()?;
        (name.is_empty() || name == default_name).then_some(tree.def)
    }

    /// The tree for a goal: `name` from the client, or the default if `name` is empty.
    ///
    /// # Errors
    /// The error in the tree, or that there is no default.
    pub fn for_goal(&self, kind: NavigatorKind, name: &str) -> Result<Arc<TreeDef>, String> {
        let default = self.parameter_trees().defaults[kind.index()].clone();
        match default {
            Some((default_name, LoadedTree { def, .. })) if name.is_empty() || name == default_name => {
                if !self.always_reload {
                    return Ok(def);
                }
                // With an error, the goal fails, as in Nav2: the old tree would run without a word to its client.
                let new_tree = self.find_default(&default_name)?;
                Ok(self.replace_default(kind, &default_name, new_tree))
            }
            None if name.is_empty() => Err(format!(
                "no default tree is set: set the parameter {}",
                kind.tree_parameter()
            )),
            _ => self.find(name).map(|tree| tree.def),
        }
    }

    fn find(&self, name: &str) -> Result<LoadedTree, String> {
        if name.ends_with(".xml") {
            self.find_by_file(name)
        } else {
            self.find_by_id(name)
        }
    }

    /// The cached tree, unless trees are read again for each goal.
    fn cached(&self, name: &str, files: &[FileStamp]) -> Option<LoadedTree> {
        (!self.always_reload).then(|| self.tree_cache.get(name, files))?
    }

    fn find_by_file(&self, name: &str) -> Result<LoadedTree, String> {
        let files = vec![FileStamp::file(name.into())];
        if let Some(tree) = self.cached(name, &files) {
            return Ok(tree);
        }
        let result = SearchResult {
            tree: self.load(&[Path::new(name)], None)?,
            files,
            needs_all_files: false,
            warnings: Vec::new(),
        };
        Ok(self.tree_cache.insert(name, result))
    }

    /// The files that have the default trees with this ID.
    fn providers_of_default(&self, id: &str) -> Vec<PathBuf> {
        let parameter_trees = self.parameter_trees();
        let defaults = parameter_trees.defaults.iter().flatten();
        defaults
            .filter(|(name, _)| name == id)
            .filter_map(|(_, tree)| tree.provider.clone())
            .collect()
    }

    /// Finds a tree by ID in all files of the search directories, as on Nav2's main branch. A broken file is not replaced
    /// by another file with this ID (guarantee G7).
    fn find_by_id(&self, id: &str) -> Result<LoadedTree, String> {
        let (tree, warnings) = self.search(id)?;
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        Ok(tree)
    }

    /// Finds a tree by ID. Also returns the warnings that the last search for it did not have.
    fn search(&self, id: &str) -> Result<(LoadedTree, Vec<String>), String> {
        let files = FileStamp::files_of(&self.search_directories)?;
        if files.is_empty() {
            return Err(format!(
                "`{id}` is neither a file that ends in .xml nor a tree ID: bt_search_directories has no files"
            ));
        }
        if let Some(tree) = self.cached(id, &files) {
            return Ok((tree, Vec::new()));
        }
        let (provider, old_warnings) = self.tree_cache.last_search(id);
        let mut providers = self.providers_of_default(id);
        providers.extend(provider);
        let search = IdSearch {
            id,
            files: &files,
            providers: &providers,
            define: &|path| Loader::new(&self.registry).definition(path, id),
            load: &|paths| self.load(paths, Some(id)),
        };
        let result = search.run()?;
        let warnings = result.warnings.iter();
        let new_warnings = warnings
            .filter(|warning| !old_warnings.contains(warning))
            .cloned()
            .collect();
        Ok((self.tree_cache.insert(id, result), new_warnings))
    }

    /// Loads a tree. Compilation and the dry run make and drop nodes, and nodes of other authors may panic.
    fn load(&self, paths: &[&Path], main: Option<&str>) -> Result<LoadedTree, String> {
        catch_unwind(AssertUnwindSafe(|| self.try_load(paths, main))).unwrap_or_else(|panic| {
            let text = panic_text(&*panic);
            Err(format!("a tree node panicked while it was created: {text}"))
        })
    }

    fn try_load(&self, paths: &[&Path], main: Option<&str>) -> Result<LoadedTree, String> {
        let Some((trees, settings)) = &self.shared else {
            return self.load_files(paths, main);
        };
        let key = TreeKey {
            settings: Arc::clone(settings),
            paths: paths.iter().map(|path| path.to_path_buf()).collect(),
            main: main.map(str::to_owned),
        };
        // The interfaces and the topics of each robot are its own.
        if let Some((def, sources)) = trees.get(&key) {
            return Ok(LoadedTree {
                def: self.check_by_dry_run(def)?,
                sources,
                provider: None,
            });
        }
        let tree = self.load_files(paths, main)?;
        trees.add(key, &tree.def, &tree.sources);
        Ok(tree)
    }

    fn load_files(&self, paths: &[&Path], main: Option<&str>) -> Result<LoadedTree, String> {
        match Loader::new(&self.registry).load_files(paths, main) {
            Ok(Loaded {
                def,
                warnings,
                sources,
            }) => {
                for warning in &warnings {
                    tracing::warn!("{}", warning.one_line(&sources));
                }
                let def = self.check_by_dry_run(def)?;
                Ok(LoadedTree {
                    def,
                    sources,
                    provider: None,
                })
            }
            Err(problems) => Err(problems.one_line()),
        }
    }

    /// Returns the tree if all its interfaces and fields exist.
    fn check_by_dry_run(&self, def: Arc<TreeDef>) -> Result<Arc<TreeDef>, String> {
        let make_link = Arc::clone(&self.dry_run.lock().unwrap_or_else(PoisonError::into_inner));
        Fault::none_of(&dry_run(&def, make_link())?)?;
        Ok(def)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;
    use std::sync::mpsc::{Sender, channel};

    use super::super::Options;
    use super::super::test_harness::{Rig, bench, load};
    use super::super::tree_cache::tests::Folder;
    use super::*;
    use crate::bt::{Behavior, Context, NodeKind, NodeStatus, Tick};
    use crate::msg::action::Spin;
    use crate::nav::Settings;
    use crate::nav::testing::Plan;

    impl Folder {
        fn tree(&self, file: &str, id: &str, xml: &str) {
            let text =
                format!(r#"<root BTCPP_format="4"><BehaviorTree ID="{id}">{xml}</BehaviorTree></root>"#);
            self.write(file, &text);
        }

        fn library(&self, always_reload: bool) -> TreeLibrary {
            let directories = vec![self.0.clone()];
            TreeLibrary::new(crate::nav::registry(), directories, always_reload, || {
                bench().link()
            })
        }
    }

    fn tree_for_goal(library: &TreeLibrary, id: &str) -> Arc<TreeDef> {
        library.for_goal(NavigatorKind::ThroughPoses, id).unwrap()
    }

    #[test]
    fn a_tree_named_by_id_stays_until_one_of_its_files_changes() {
        let folder = Folder::new("one-of-files");
        folder.write("a.xml", "<root");
        folder.tree("b.xml", "Wanted", "<AlwaysSuccess/>");
        let library = folder.library(false);
        let first = tree_for_goal(&library, "Wanted");
        assert!(Arc::ptr_eq(&first, &tree_for_goal(&library, "Wanted")));
        folder.tree("c.xml", "Wanted", "<AlwaysFailure/>");
        assert!(
            Arc::ptr_eq(&first, &tree_for_goal(&library, "Wanted")),
            "found before it"
        );

        folder.tree("b.xml", "Wanted", "<Inverter><AlwaysFailure/></Inverter>");
        let changed = tree_for_goal(&library, "Wanted");
        assert_eq!((first.len(), changed.len()), (1, 2));
        assert!(Arc::ptr_eq(&changed, &tree_for_goal(&library, "Wanted")));

        folder.tree(
            "a.xml",
            "Wanted",
            "<Sequence><AlwaysSuccess/><AlwaysSuccess/></Sequence>",
        );
        assert_eq!(
            tree_for_goal(&library, "Wanted").len(),
            3,
            "the first file was mended"
        );
        for file in ["a.xml", "b.xml", "c.xml"] {
            folder.remove(file);
        }
        assert!(library.for_goal(NavigatorKind::ThroughPoses, "Wanted").is_err());
    }

    /// A node type whose drop looks whether the library can be asked meanwhile.
    struct Probe(Arc<OnceLock<Arc<TreeLibrary>>>, Sender<bool>);

    impl Behavior for Probe {
        fn tick(&self, _: &mut Context<'_>) -> Tick {
            Ok(NodeStatus::Success)
        }
    }

    impl Drop for Probe {
        fn drop(&mut self) {
            let Some(library) = self.0.get().cloned() else {
                return;
            };
            let (answer, answered) = channel();
            std::thread::spawn(move || answer.send(library.defaults()).is_ok());
            let _ = self.1.send(answered.recv_timeout(Duration::from_secs(5)).is_ok());
        }
    }

    #[test]
    fn g8_a_tree_whose_drop_blocks_keeps_nobody_from_the_library() {
        let (folder, kind) = (Folder::new("slow-drop"), NavigatorKind::ThroughPoses);
        let shared = Arc::new(OnceLock::new());
        let (sender, drops) = channel();
        let mut registry = crate::nav::registry();
        let probe = Arc::clone(&shared);
        registry
            .register_with("Probe", NodeKind::Action, (0, 0), "", move |_| {
                Box::new(Probe(Arc::clone(&probe), sender.clone()))
            })
            .unwrap();
        let library = TreeLibrary::new(registry, vec![folder.0.clone()], true, || bench().link());
        let library = Arc::new(library);
        assert!(shared.set(Arc::clone(&library)).is_ok());
        let mut version = 0;
        let mut edit = || {
            version += 1;
            let text = format!("<Sequence>{}</Sequence>", "<Probe/>".repeat(version));
            folder.tree("a.xml", "Wanted", &text);
        };
        for _ in 0..2 {
            edit();
            library.check(kind, "Wanted").unwrap();
        }
        for _ in 0..3 {
            // The first one takes the checked tree.
            library.set_default(kind, "Wanted").unwrap();
            edit();
        }
        library.refresh().unwrap();
        let drops: Vec<bool> = drops.try_iter().collect();
        assert!(
            !drops.is_empty() && drops.iter().all(|is_free| *is_free),
            "{drops:?}"
        );
    }

    #[test]
    fn a_tree_of_several_files_is_read_again_when_one_changes() {
        let folder = Folder::new("several-files");
        folder.tree("a.xml", "Wanted", r#"<SubTree ID="Below"/>"#);
        folder.tree("b.xml", "Below", "<AlwaysSuccess/>");
        let library = folder.library(false);
        let first = tree_for_goal(&library, "Wanted");
        assert!(Arc::ptr_eq(&first, &tree_for_goal(&library, "Wanted")));
        folder.tree("b.xml", "Below", "<Inverter><AlwaysFailure/></Inverter>");
        let changed = tree_for_goal(&library, "Wanted");
        assert_eq!(changed.len(), first.len() + 1);
        // The first file counts, and not a later copy that needs no other file.
        folder.tree("c.xml", "Wanted", "<AlwaysFailure/>");
        assert_eq!(tree_for_goal(&library, "Wanted").len(), changed.len());
        folder.tree("0.xml", "Wanted", "<AlwaysFailure/>");
        assert_eq!(tree_for_goal(&library, "Wanted").len(), 1);
    }

    /// The requests for the tree `Wanted`, as error texts: of a goal, of a check and of the parameter.
    fn refusals(library: &TreeLibrary) -> [String; 3] {
        let kind = NavigatorKind::ThroughPoses;
        [
            library.for_goal(kind, "Wanted").map(|_| ()).unwrap_err(),
            library.check(kind, "Wanted").unwrap_err(),
            library.set_default(kind, "Wanted").unwrap_err(),
        ]
    }

    #[test]
    fn g7_a_broken_file_is_not_replaced_by_another_file_with_the_same_id() {
        for always_reload in [false, true] {
            let folder = Folder::new("broken-provider");
            folder.tree("a.xml", "Wanted", "<AlwaysSuccess/>");
            folder.tree("b.xml", "Wanted", "<Inverter><AlwaysFailure/></Inverter>");
            let library = folder.library(always_reload);
            assert_eq!(tree_for_goal(&library, "Wanted").len(), 1);
            // Of the second text, not even the ID is left: another program writes the file now.
            for text in [
                r#"<root><BehaviorTree ID="Wanted"><Nope/></BehaviorTree></root>"#,
                "<root",
            ] {
                folder.write("a.xml", text);
                for reason in refusals(&library) {
                    assert!(reason.contains(&folder.path("a.xml")), "{reason}");
                }
            }
            folder.tree("a.xml", "Wanted", "<AlwaysSuccess/>");
            assert_eq!(tree_for_goal(&library, "Wanted").len(), 1);
            folder.remove("a.xml");
            let (tree, warnings) = library.search("Wanted").unwrap();
            assert_eq!(tree.def.len(), 2);
            assert!(
                warnings.len() == 1
                    && warnings[0].contains(&folder.path("a.xml"))
                    && warnings[0].contains(&folder.path("b.xml")),
                "{warnings:?}"
            );
        }
    }

    #[test]
    fn g7_a_broken_file_of_the_default_tree_is_not_replaced_by_another_file_with_the_same_id() {
        let folder = Folder::new("broken-default");
        folder.tree("b.xml", "Wanted", "<AlwaysSuccess/>");
        let library = folder.library(false);
        let kind = NavigatorKind::ThroughPoses;
        library.set_default(kind, "Wanted").unwrap();
        folder.tree("a.xml", "Wanted", "<Inverter><AlwaysFailure/></Inverter>");
        folder.write("b.xml", "");
        // As the transitions `cleanup` and `configure` do.
        library.clear_cache();
        let reason = library.refresh().unwrap_err();
        assert!(reason.contains(&folder.path("b.xml")), "{reason}");
        assert!(library.last_refusal().is_some());
        let other = library.for_goal(NavigatorKind::ToPose, "Wanted").map(|_| ());
        assert!(other.unwrap_err().contains(&folder.path("b.xml")));
        assert_eq!(tree_for_goal(&library, "").len(), 1);
        folder.tree("b.xml", "Other", "<AlwaysSuccess/>");
        library.refresh().unwrap();
        assert_eq!(
            tree_for_goal(&library, "").len(),
            2,
            "the author has moved the tree"
        );
    }

    #[test]
    fn g7_a_broken_file_with_the_id_is_not_replaced_at_the_first_load() {
        let folder = Folder::new("broken-at-start");
        folder.tree("b.xml", "Wanted", "<AlwaysSuccess/>");
        for text in [
            r#"<root><BehaviorTree ID="Wanted"><Nope/></BehaviorTree></root>"#,
            r#"<root><BehaviorTree ID="Wanted"><AlwaysSuccess></BehaviorTree></root>"#,
            r#"<root><BehaviorTree ID="Wanted"></BehaviorTree></root>"#,
            r#"<root><BehaviorTree ID="Wanted"><AlwaysSuccess"#,
        ] {
            folder.write("a.xml", text);
            for reason in refusals(&folder.library(false)) {
                assert!(reason.contains(&folder.path("a.xml")), "{reason}");
            }
        }
        // An error in a file that includes the tree is no error of the tree.
        folder.write(
            "a.xml",
            r#"<root BTCPP_format="4"><include path="b.xml"/><BehaviorTree ID="A"/></root>"#,
        );
        assert_eq!(tree_for_goal(&folder.library(false), "Wanted").len(), 1);
    }

    #[test]
    fn g7_files_that_may_have_the_same_tree_are_named_once() {
        let folder = Folder::new("same-id");
        folder.write("a.xml", "<root");
        folder.tree("b.xml", "Wanted", "<AlwaysSuccess/>");
        folder.tree("c.xml", "Wanted", "<AlwaysFailure/>");
        folder.tree("d.xml", "Other", "<AlwaysFailure/>");
        let library = folder.library(true);
        let warnings = || library.search("Wanted").unwrap().1;
        let first = warnings();
        assert_eq!(first.len(), 2, "{first:?}");
        for (warning, other) in first.iter().zip(["a.xml", "c.xml"]) {
            for file in ["b.xml", other] {
                assert!(warning.contains(&folder.path(file)), "{warning}");
            }
        }
        assert_eq!(warnings(), [""; 0]);
        folder.remove("a.xml");
        folder.remove("c.xml");
        std::os::unix::fs::symlink(folder.path("b.xml"), folder.path("c.xml")).unwrap();
        assert_eq!(warnings(), [""; 0]);
    }

    /// A tree in `main.xml` that includes a tree from another file. This file is not searched for IDs.
    fn with_include(name: &str, leaf: &str) -> Folder {
        let folder = Folder::new(name);
        folder.write(
            "main.xml",
            r#"<root BTCPP_format="4" main_tree_to_execute="Wanted"><include path="below.part"/>
                 <BehaviorTree ID="Wanted"><SubTree ID="Below"/></BehaviorTree></root>"#,
        );
        folder.tree("below.part", "Below", leaf);
        folder
    }

    #[test]
    fn with_always_reload_a_tree_changes_only_with_its_file() {
        let folder = with_include("always-reload", "<AlwaysSuccess/>");
        let main = folder.path("main.xml");
        for name in ["", "Wanted", &main] {
            folder.tree("below.part", "Below", "<AlwaysSuccess/>");
            let library = folder.library(true);
            if name.is_empty() {
                library.set_default(NavigatorKind::ThroughPoses, &main).unwrap();
            }
            let first = tree_for_goal(&library, name);
            assert!(Arc::ptr_eq(&first, &tree_for_goal(&library, name)), "`{name}`");

            // Same length and same modification time: only the text shows the change.
            let included = folder.0.join("below.part");
            let before = std::fs::metadata(&included).unwrap();
            folder.tree("below.part", "Below", "<AlwaysFailure/>");
            let file = std::fs::File::options().write(true).open(&included).unwrap();
            file.set_modified(before.modified().unwrap()).unwrap();
            assert_eq!(file.metadata().unwrap().len(), before.len());
            let changed = tree_for_goal(&library, name);
            assert!(changed.nodes().any(|(_, node)| &*node.id == "AlwaysFailure"));
            assert!(Arc::ptr_eq(&changed, &tree_for_goal(&library, name)), "`{name}`");
        }
    }

    #[test]
    fn g7_with_always_reload_a_broken_default_tree_fails_its_goals_with_the_reason() {
        let folder = Folder::new("broken-reload");
        let (main, kind) = (folder.path("main.xml"), NavigatorKind::ThroughPoses);
        folder.tree("main.xml", "Wanted", "<AlwaysSuccess/>");
        let library = folder.library(true);
        library.set_default(kind, &main).unwrap();
        for name in ["", &main] {
            folder.tree("main.xml", "Wanted", "<Nope/>");
            let reason = library.for_goal(kind, name).map(|_| ()).unwrap_err();
            assert!(reason.starts_with(&format!("{main}:1:")), "{reason}");
            assert!(library.last_refusal().is_some());
            folder.remove("main.xml");
            let reason = library.for_goal(kind, name).map(|_| ()).unwrap_err();
            assert!(reason.contains(&main), "{reason}");
            folder.tree("main.xml", "Wanted", "<AlwaysSuccess/>");
            assert_eq!(tree_for_goal(&library, name).len(), 1);
            assert_eq!(library.last_refusal(), None);
        }
    }

    #[test]
    fn a_touched_or_evicted_file_does_not_change_the_default_tree() {
        let folder = with_include("touched", "<AlwaysSuccess/>");
        let library = folder.library(false);
        let main = folder.path("main.xml");
        library.set_default(NavigatorKind::ThroughPoses, &main).unwrap();
        let first = tree_for_goal(&library, "");
        library.clear_cache();
        library.refresh().unwrap();
        assert!(Arc::ptr_eq(&first, &tree_for_goal(&library, "")));
        let file = std::fs::File::options().write(true).open(&main).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        library.refresh().unwrap();
        assert!(Arc::ptr_eq(&first, &tree_for_goal(&library, "")));
        folder.tree("below.part", "Below", "<AlwaysFailure/>");
        library.clear_cache();
        library.refresh().unwrap();
        assert!(!Arc::ptr_eq(&first, &tree_for_goal(&library, "")));
    }

    /// Two files of the same length and modification time with different trees.
    fn equal_size_files(name: &str) -> Folder {
        let folder = Folder::new(name);
        for (file, leaf) in [("one.tree", "<AlwaysSuccess/>"), ("two.tree", "<AlwaysFailure/>")] {
            folder.tree(file, "Wanted", leaf);
            let file = std::fs::File::options().write(true).open(folder.path(file));
            let file = file.unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        }
        let length = |file: &str| std::fs::metadata(folder.path(file)).unwrap().len();
        assert_eq!(length("one.tree"), length("two.tree"));
        folder
    }

    #[test]
    fn a_file_that_is_switched_to_another_of_the_same_length_and_time_has_changed() {
        let folder = equal_size_files("switched");
        let used = folder.path("used.xml");
        let link = |source: &str| {
            let _ = std::fs::remove_file(&used);
            std::os::unix::fs::symlink(folder.path(source), &used).unwrap();
        };
        let rename = |source: &str| {
            let other = folder.path("other");
            std::fs::hard_link(folder.path(source), &other).unwrap();
            std::fs::rename(&other, &used).unwrap();
        };
        let kind = NavigatorKind::ThroughPoses;
        let has_second = |library: &TreeLibrary, name: &str| {
            let tree = tree_for_goal(library, name);
            tree.nodes().any(|(_, node)| &*node.id == "AlwaysFailure")
        };
        for switch in [&link as &dyn Fn(&str), &rename] {
            for name in [&*used, "Wanted"] {
                switch("one.tree");
                let library = folder.library(false);
                assert!(!has_second(&library, name));
                switch("two.tree");
                assert!(has_second(&library, name), "{name}: a goal");

                switch("one.tree");
                library.set_default(kind, name).unwrap();
                switch("two.tree");
                library.check(kind, name).unwrap();
                library.set_default(kind, name).unwrap();
                assert!(has_second(&library, ""), "{name}: a check");

                switch("one.tree");
                library.set_default(kind, name).unwrap();
                switch("two.tree");
                library.set_default(kind, name).unwrap();
                assert!(has_second(&library, ""), "{name}: the parameter");

                switch("one.tree");
                library.set_default(kind, name).unwrap();
                switch("two.tree");
                library.refresh().unwrap();
                assert!(has_second(&library, ""), "{name}: the transition `configure`");
            }
        }
    }

    #[test]
    fn a_default_tree_set_during_a_reload_stays_set() {
        let folder = Folder::new("set-meanwhile");
        folder.tree("a.xml", "A", "<AlwaysSuccess/>");
        folder.tree("b.xml", "B", "<AlwaysFailure/>");
        let library = Arc::new(folder.library(true));
        let kind = NavigatorKind::ThroughPoses;
        library.set_default(kind, "A").unwrap();
        let parameter = Arc::downgrade(&library);
        library.set_dry_run_link(move || {
            if let Some(library) = parameter.upgrade() {
                library.set_dry_run_link(|| bench().link());
                library.set_default(kind, "B").unwrap();
            }
            bench().link()
        });
        assert_eq!(tree_for_goal(&library, "").id(), "A", "the goal came first");
        assert_eq!(library.defaults()[kind.index()].as_deref(), Some("B"));
        assert_eq!(tree_for_goal(&library, "").id(), "B");
    }

    #[test]
    fn g7_a_checked_default_tree_is_used_as_it_was_checked() {
        let folder = Folder::new("found-good");
        folder.tree("a.xml", "A", "<AlwaysSuccess/>");
        let library = folder.library(false);
        let (kind, name) = (NavigatorKind::ThroughPoses, folder.path("a.xml"));
        library.check(kind, &name).unwrap();
        folder.write("a.xml", "<root");
        library.set_default(kind, &name).unwrap();
        assert_eq!(tree_for_goal(&library, "").id(), "A");
        // Only once: the next call reads the file again.
        assert!(library.set_default(kind, &name).is_err());
        library.check(kind, &name).unwrap_err();
        assert_eq!(tree_for_goal(&library, "").id(), "A");
    }

    #[test]
    fn a_newer_goal_continues_the_running_tree_also_with_always_reload() {
        let folder = with_include("newer-goal", r#"<Spin spin_dist="1.0"/>"#);
        let main = folder.path("main.xml");
        for (always_reload, name) in [
            (false, "Wanted"),
            (false, &*main),
            (true, "Wanted"),
            (true, &main),
            (true, ""),
        ] {
            let library = folder.library(always_reload);
            if name.is_empty() {
                library.set_default(NavigatorKind::ThroughPoses, &main).unwrap();
            }
            let mut rig = Rig::new();
            rig.bench.action::<Spin>("spin", |_| Plan::endless());
            for number in 1..=3 {
                rig.goal(number, &tree_for_goal(&library, name));
                rig.ticks(3);
            }
            assert_eq!(rig.bench.cancels("spin"), 0, "{always_reload} `{name}`");
            assert_eq!(rig.bench.goals::<Spin>("spin").len(), 1);
            assert_eq!([rig.report().0, rig.report().0], [1, 2]);
        }
    }

    #[test]
    fn a_new_goal_gets_a_fresh_tree_with_always_reload() {
        for (always_reload, turns) in [(false, 1), (true, 2)] {
            let options = Options {
                always_reload,
                ..Options::default()
            };
            let mut rig = Rig::with(Settings::default(), options);
            rig.bench.action::<Spin>("spin", |_| Plan::success());
            let tree = load(
                &crate::nav::registry(),
                "<RunOnce><Spin spin_dist=\"1.0\"/></RunOnce>",
            );
            for number in 1..=2 {
                rig.goal(number, &tree);
                rig.ticks(10);
                assert_eq!(rig.report().0, number);
            }
            assert_eq!(rig.bench.goals::<Spin>("spin").len(), turns, "{always_reload}");
        }
    }
}
