//! The trees that goals may run: read, checked and compiled before anything that runs is touched (guarantee G7).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustc_hash::FxHashMap;

use super::NavigatorKind;
use crate::bt::{Registry, TreeDef, panic_text};
use crate::nav::{Link, rehearse};
use crate::xml::{Loaded, Loader};

/// Tells whether a file is still the one that was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Edition {
    modified: Option<SystemTime>,
    length: u64,
}

impl Edition {
    fn of(path: &Path) -> Option<Self> {
        let data = std::fs::metadata(path).ok()?;
        Some(Self {
            modified: data.modified().ok(),
            length: data.len(),
        })
    }
}

/// A file of the search directories. One that cannot be looked at has no edition, and no tree.
type Searched = (PathBuf, Option<Edition>);

/// A tree that was found by its ID.
struct Found {
    /// The files in which it was looked for, the one that had it last.
    among: Vec<Searched>,
    /// Whether no file had it alone: then any further file may change the answer.
    in_all: bool,
    def: Arc<TreeDef>,
}

impl Found {
    /// Whether looking for it again would find the same.
    fn still_holds(&self, files: &[Searched]) -> bool {
        files.starts_with(&self.among) && (!self.in_all || files.len() == self.among.len())
    }
}

/// A tree that was not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The file or ID, as it was asked for.
    pub name: String,
    /// What is wrong with it, with file, line and column.
    pub reason: String,
}

/// What is on the shelf.
#[derive(Default)]
struct Shelf {
    /// For each navigator, what its parameter says, and the definition from when that was last good.
    defaults: [Option<(String, Arc<TreeDef>)>; 2],
    /// Files read before. Includes are not watched: touch the main file, or set `always_reload_bt_xml`.
    read: FxHashMap<PathBuf, (Edition, Arc<TreeDef>)>,
    /// Trees found before, by ID. A goal that comes while its tree runs goes on with it where the definition is the same.
    found: FxHashMap<String, Found>,
    /// The default tree that was last refused, unless one was taken since.
    refused: Option<(Refusal, Instant)>,
}

/// Makes a link that a tree is tried on.
type Stage = Arc<dyn Fn() -> Box<dyn Link> + Send + Sync>;

/// Finds trees by file name or by ID. Used from the threads that answer clients, never from the tick thread.
pub struct TreeLibrary {
    registry: Registry,
    search_directories: Vec<PathBuf>,
    always_reload: bool,
    rehearse: Mutex<Stage>,
    shelf: Mutex<Shelf>,
}

impl TreeLibrary {
    /// A library without defaults. `rehearse` makes a link that every tree is tried on: what its nodes ask for in vain
    /// when they are given their world (interfaces, fields) is wrong with the tree.
    pub fn new(
        registry: Registry,
        search_directories: Vec<PathBuf>,
        always_reload: bool,
        rehearse: impl Fn() -> Box<dyn Link> + Send + Sync + 'static,
    ) -> Self {
        Self {
            registry,
            search_directories,
            always_reload,
            rehearse: Mutex::new(Arc::new(rehearse)),
            shelf: Mutex::default(),
        }
    }

    /// Has trees tried on another link from now on: one that knows more.
    pub fn rehearse_on(&self, rehearse: impl Fn() -> Box<dyn Link> + Send + Sync + 'static) {
        *self.rehearse.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(rehearse);
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a tree the default of a navigator, from its next goal on.
    ///
    /// # Errors
    /// What is wrong with it, with file, line and column; the default stays what it was.
    pub fn set_default(&self, kind: NavigatorKind, name: &str) -> Result<(), String> {
        let def = self.judge(name)?;
        self.shelf().defaults[kind.index()] = Some((name.to_owned(), def));
        Ok(())
    }

    /// Takes no file for read any more, whatever says that it is the same: also what it includes may have changed.
    pub fn forget(&self) {
        let mut shelf = self.shelf();
        shelf.read.clear();
        shelf.found.clear();
    }

    /// Reads the defaults anew where their files have changed or were forgotten.
    ///
    /// # Errors
    /// What is wrong with one of them, with file, line and column; all stay what they were.
    pub fn refresh(&self) -> Result<(), String> {
        let mut fresh = Vec::new();
        for (kind, name) in NavigatorKind::ALL.into_iter().zip(self.defaults()) {
            if let Some(name) = name {
                let def = self.judge(&name)?;
                fresh.push((kind, name, def));
            }
        }
        let mut shelf = self.shelf();
        for (kind, name, def) in fresh {
            // Another may have been set meanwhile.
            if let Some((of, default)) = &mut shelf.defaults[kind.index()]
                && *of == name
            {
                *default = def;
            }
        }
        Ok(())
    }

    /// Whether a tree could be made a default.
    ///
    /// # Errors
    /// What is wrong with it, with file, line and column.
    pub fn check(&self, name: &str) -> Result<(), String> {
        self.judge(name).map(|_| ())
    }

    /// A tree that is to be a default; whether there is one is remembered for [`TreeLibrary::refused`].
    fn judge(&self, name: &str) -> Result<Arc<TreeDef>, String> {
        let found = self.find(name);
        let refusal = found.as_ref().err().map(|reason| Refusal {
            name: name.to_owned(),
            reason: reason.clone(),
        });
        self.shelf().refused = refusal.map(|refusal| (refusal, Instant::now()));
        found
    }

    /// The tree that was last wanted as a default, if it was refused, and how long ago (guarantee G7).
    pub fn refused(&self) -> Option<(Refusal, Duration)> {
        let refused = self.shelf().refused.clone();
        refused.map(|(refusal, at)| (refusal, at.elapsed()))
    }

    /// For each navigator, the file or ID of its default tree.
    pub fn defaults(&self) -> [Option<String>; 2] {
        let shelf = self.shelf();
        NavigatorKind::ALL.map(|kind| {
            shelf.defaults[kind.index()]
                .as_ref()
                .map(|(name, _)| name.clone())
        })
    }

    /// The tree for a goal: `name` as its client gave it, or the default where that is empty.
    ///
    /// # Errors
    /// What is wrong with it, or that there is no default.
    pub fn for_goal(&self, kind: NavigatorKind, name: &str) -> Result<Arc<TreeDef>, String> {
        let default = self.shelf().defaults[kind.index()].clone();
        match default {
            Some((of, def)) if name.is_empty() || name == of => {
                if !self.always_reload {
                    return Ok(def);
                }
                match self.judge(&of) {
                    Ok(fresh) => {
                        self.shelf().defaults[kind.index()] = Some((of, Arc::clone(&fresh)));
                        Ok(fresh)
                    }
                    Err(message) => {
                        tracing::error!(
                            "the default tree cannot be reloaded, the old one goes on: {message}"
                        );
                        Ok(def)
                    }
                }
            }
            None if name.is_empty() => Err(format!(
                "there is no default tree: set the parameter {}",
                kind.tree_parameter()
            )),
            _ => self.find(name),
        }
    }

    fn find(&self, name: &str) -> Result<Arc<TreeDef>, String> {
        if name.ends_with(".xml") {
            self.by_file(Path::new(name))
        } else {
            self.by_id(name)
        }
    }

    fn by_file(&self, path: &Path) -> Result<Arc<TreeDef>, String> {
        let edition = Edition::of(path);
        if !self.always_reload
            && let Some(edition) = edition
            && let Some((of, def)) = self.shelf().read.get(path)
            && *of == edition
        {
            return Ok(Arc::clone(def));
        }
        let def = self.load(&[path], None)?;
        if let Some(edition) = edition {
            self.shelf()
                .read
                .insert(path.to_owned(), (edition, Arc::clone(&def)));
        }
        Ok(def)
    }

    /// A tree by ID, out of all files of the search directories, as on Nav2's main branch.
    fn by_id(&self, id: &str) -> Result<Arc<TreeDef>, String> {
        // Their editions are those from before they are read: what changes meanwhile is read again next time.
        let files = self.searched()?;
        if files.is_empty() {
            return Err(format!(
                "`{id}` is neither a file that ends in .xml nor a tree ID: bt_search_directories has no files"
            ));
        }
        if !self.always_reload
            && let Some(found) = self.shelf().found.get(id)
            && found.still_holds(&files)
        {
            return Ok(Arc::clone(&found.def));
        }
        // One broken file must not take the others with it: each is tried by itself first.
        let alone = files.iter().enumerate().find_map(|(position, (file, _))| {
            let def = self.load(&[file], Some(id)).ok()?;
            Some(Found {
                among: files[..=position].to_vec(),
                in_all: false,
                def,
            })
        });
        let found = match alone {
            Some(found) => found,
            None => {
                let all: Vec<&Path> = files.iter().map(|(file, _)| file.as_path()).collect();
                let def = self.load(&all, Some(id)).map_err(|reason| {
                    let count = files.len();
                    format!("no tree `{id}` in the {count} files of bt_search_directories: {reason}")
                })?;
                Found {
                    among: files,
                    in_all: true,
                    def,
                }
            }
        };
        let def = Arc::clone(&found.def);
        self.shelf().found.insert(id.to_owned(), found);
        Ok(def)
    }

    /// The files of the search directories, in the order in which trees are looked for in them.
    fn searched(&self) -> Result<Vec<Searched>, String> {
        let mut files = Vec::new();
        for directory in &self.search_directories {
            let entries = std::fs::read_dir(directory)
                .map_err(|error| format!("bt_search_directories: {}: {error}", directory.display()))?;
            let mut found: Vec<PathBuf> = entries
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|path| path.extension().is_some_and(|extension| extension == "xml"))
                .collect();
            found.sort();
            files.extend(found.into_iter().map(|path| {
                let edition = Edition::of(&path);
                (path, edition)
            }));
        }
        Ok(files)
    }

    /// Nodes are made while a tree is compiled, and made and dropped when it is rehearsed; nothing keeps those of others
    /// from panicking.
    fn load(&self, paths: &[&Path], main: Option<&str>) -> Result<Arc<TreeDef>, String> {
        catch_unwind(AssertUnwindSafe(|| self.try_load(paths, main))).unwrap_or_else(|panic| {
            let text = panic_text(&*panic);
            Err(format!("a node panicked when it was made: {text}"))
        })
    }

    fn try_load(&self, paths: &[&Path], main: Option<&str>) -> Result<Arc<TreeDef>, String> {
        match Loader::new(&self.registry).load_files(paths, main) {
            Ok(Loaded {
                def,
                warnings,
                sources,
            }) => {
                for warning in &warnings {
                    tracing::warn!("{}", warning.one_line(&sources));
                }
                self.rehearsed(def)
            }
            Err(refused) => Err(refused.one_line()),
        }
    }

    /// The tree, if everything that it names can be served.
    fn rehearsed(&self, def: Arc<TreeDef>) -> Result<Arc<TreeDef>, String> {
        let stage = Arc::clone(&self.rehearse.lock().unwrap_or_else(PoisonError::into_inner));
        let faults = rehearse(&def, stage())?;
        if faults.is_empty() {
            return Ok(def);
        }
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        Err(faults.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::rig::{Rig, bench};
    use super::*;
    use crate::msg::action::Spin;
    use crate::nav::testing::Plan;

    /// A search directory, gone with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("navtree-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        fn write(&self, file: &str, text: &str) {
            std::fs::write(self.0.join(file), text).unwrap();
        }

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

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn named(library: &TreeLibrary, id: &str) -> Arc<TreeDef> {
        library.for_goal(NavigatorKind::ThroughPoses, id).unwrap()
    }

    #[test]
    fn a_tree_named_by_id_is_the_same_until_a_file_that_has_a_say_changes() {
        let folder = Folder::new("one-of-files");
        folder.write("a.xml", "<root");
        folder.tree("b.xml", "Wanted", "<AlwaysSuccess/>");
        let library = folder.library(false);
        let first = named(&library, "Wanted");
        assert!(Arc::ptr_eq(&first, &named(&library, "Wanted")));
        folder.tree("c.xml", "Wanted", "<AlwaysFailure/>");
        assert!(Arc::ptr_eq(&first, &named(&library, "Wanted")), "found before it");

        folder.tree("b.xml", "Wanted", "<Inverter><AlwaysFailure/></Inverter>");
        let changed = named(&library, "Wanted");
        assert_eq!((first.len(), changed.len()), (1, 2));
        assert!(Arc::ptr_eq(&changed, &named(&library, "Wanted")));

        folder.tree(
            "a.xml",
            "Wanted",
            "<Sequence><AlwaysSuccess/><AlwaysSuccess/></Sequence>",
        );
        assert_eq!(named(&library, "Wanted").len(), 3, "the first file was mended");
        for file in ["a.xml", "b.xml", "c.xml"] {
            std::fs::remove_file(folder.0.join(file)).unwrap();
        }
        assert!(library.for_goal(NavigatorKind::ThroughPoses, "Wanted").is_err());
    }

    #[test]
    fn a_tree_that_needs_several_files_is_looked_for_again_when_any_changes() {
        let folder = Folder::new("several-files");
        folder.tree("a.xml", "Wanted", r#"<SubTree ID="Below"/>"#);
        folder.tree("b.xml", "Below", "<AlwaysSuccess/>");
        let library = folder.library(false);
        let first = named(&library, "Wanted");
        assert!(Arc::ptr_eq(&first, &named(&library, "Wanted")));
        folder.tree("b.xml", "Below", "<Inverter><AlwaysFailure/></Inverter>");
        let changed = named(&library, "Wanted");
        assert_eq!(changed.len(), first.len() + 1);
        folder.tree("c.xml", "Wanted", "<AlwaysFailure/>");
        assert_eq!(named(&library, "Wanted").len(), 1, "one file has it alone");
    }

    #[test]
    fn a_tree_named_by_id_is_read_for_each_goal_where_that_is_asked_for() {
        let folder = Folder::new("always-reload");
        folder.tree("a.xml", "Wanted", "<AlwaysSuccess/>");
        let library = folder.library(true);
        assert!(!Arc::ptr_eq(
            &named(&library, "Wanted"),
            &named(&library, "Wanted")
        ));
    }

    #[test]
    fn a_newer_goal_for_the_same_id_goes_on_with_the_tree_that_runs() {
        let folder = Folder::new("newer-goal");
        folder.tree("a.xml", "Wanted", r#"<Spin spin_dist="1.0"/>"#);
        let library = folder.library(false);
        let mut rig = Rig::new();
        rig.bench.action::<Spin>("spin", |_| Plan::endless());
        for number in 1..=3 {
            rig.goal(number, &named(&library, "Wanted"));
            rig.ticks(3);
        }
        assert_eq!(rig.bench.cancels("spin"), 0);
        assert_eq!(rig.bench.goals::<Spin>("spin").len(), 1);
        assert_eq!([rig.report().0, rig.report().0], [1, 2]);
    }
}
