//! The files that the editor has open, and the files that belong to them.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use lsp_types::Uri;

use crate::bt::Registry;
use crate::xml::{
    AmentIndex, Diagnostics, Disk, Files, Levels, Loader, Overlay, Palette, Trial, may_hold_trees,
};

use super::file::File;
use super::keys::FileSet;

/// Maximum number of files that are looked at together.
const MAX_FILES: usize = 1000;

/// Maximum depth of the search for files below the directory of a project.
const MAX_DEPTH: usize = 16;

/// What a project tells about its trees.
pub struct Project {
    /// The node types, with those of the palettes.
    pub registry: Registry,
    /// The levels of warnings.
    pub levels: Levels,
    /// The directory of the project file, if there is one. All tree files below it belong together.
    pub directory: Option<PathBuf>,
}

/// Finds the project of a tree file.
pub trait Projects {
    /// The project of a file.
    ///
    /// # Errors
    /// Why the project file cannot be read.
    fn of(&self, path: &Path) -> Result<Project, String>;

    /// A further check of each compiled tree.
    fn trial(&self) -> Option<&Trial<'_>> {
        None
    }
}

/// An open file. One file can be open under several names, each with its own text.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) uri: Uri,
    pub(super) version: i32,
    /// The unique name of the file. It stays the same until the file is closed, also if its path becomes a link.
    pub(super) identity: PathBuf,
    pub(super) text: String,
}

/// The state of a file on disk, to notice a change.
type Stamp = Option<(SystemTime, u64)>;

pub(super) struct Workspace<'p> {
    projects: &'p dyn Projects,
    pub(super) overlay: Overlay,
    /// The open files, by the paths of their URIs. The overlay has the last text of each.
    pub(super) open: BTreeMap<PathBuf, Open>,
    /// Whether the editor takes completions with a place for the cursor.
    pub(super) snippets: bool,
    known_projects: RefCell<HashMap<PathBuf, Rc<Project>>>,
    known_files: RefCell<HashMap<PathBuf, (Stamp, Rc<File>)>>,
    sets: RefCell<HashMap<PathBuf, Rc<Vec<PathBuf>>>>,
}

impl<'p> Workspace<'p> {
    pub(super) fn new(projects: &'p dyn Projects) -> Self {
        Self {
            projects,
            overlay: Overlay::default(),
            open: BTreeMap::new(),
            snippets: false,
            known_projects: RefCell::default(),
            known_files: RefCell::default(),
            sets: RefCell::default(),
        }
    }

    /// Takes the text of an open file.
    pub(super) fn set(&mut self, uri: &Uri, version: i32, text: String) {
        let Some(path) = super::uri::path(uri) else { return };
        let known = self.open.get(&path).map(|open| open.identity.clone());
        let identity = known.unwrap_or_else(|| self.overlay.identity(&path));
        self.overlay.set(&identity, text.clone());
        self.known_files.borrow_mut().remove(&identity);
        let open = Open {
            uri: uri.clone(),
            version,
            identity,
            text,
        };
        self.open.insert(path, open);
    }

    /// Forgets the text of a file that the editor has closed. The text of another name of the file counts then.
    pub(super) fn close(&mut self, path: &Path) {
        let Some(Open { identity, .. }) = self.open.remove(path) else {
            return;
        };
        match self.open.values().find(|open| open.identity == identity) {
            Some(other) => self.overlay.set(&identity, other.text.clone()),
            None => self.overlay.remove(&identity),
        }
        self.known_files.borrow_mut().remove(&identity);
        self.forget();
    }

    /// The open file of a URI.
    pub(super) fn opened(&self, uri: &Uri) -> Option<&Open> {
        self.open.get(&super::uri::path(uri)?)
    }

    /// Whether a file is open under several names with different texts. Edits of it have no certain place.
    pub(super) fn is_ambiguous(&self, identity: &Path) -> bool {
        let mut texts = self.open.values().filter(|open| open.identity == identity);
        let text = self.overlay.text(identity);
        texts.any(|open| Some(open.text.as_str()) != text)
    }

    /// The URI of a file, as the editor names it. Edits of an open file must name it so.
    pub(super) fn uri_of(&self, identity: &Path) -> Option<Uri> {
        let open = self.open.values().find(|open| open.identity == identity);
        open.map(|open| open.uri.clone())
            .or_else(|| super::uri::of(identity))
    }

    /// Forgets what is known about projects and directories: a file was opened, saved or made.
    pub(super) fn forget(&mut self) {
        self.known_projects.borrow_mut().clear();
        // What a file says depends on the node types.
        self.known_files.borrow_mut().clear();
        self.sets.borrow_mut().clear();
    }

    /// The project of a file. A project file with an error counts as an empty one; the error goes to standard error.
    pub(super) fn project(&self, path: &Path) -> Rc<Project> {
        let directory = path.parent().unwrap_or(Path::new("")).to_path_buf();
        if let Some(known) = self.known_projects.borrow().get(&directory) {
            return Rc::clone(known);
        }
        let project = self.projects.of(path).unwrap_or_else(|message| {
            // An editor shows it in the log of the server.
            eprintln!("navtree lsp: {message}");
            Project {
                registry: crate::nav::registry(),
                levels: Levels::new(),
                directory: None,
            }
        });
        let project = Rc::new(project);
        self.known_projects
            .borrow_mut()
            .insert(directory, Rc::clone(&project));
        project
    }

    /// The files that belong to a file: those of its project, or of its directory.
    pub(super) fn set_of(&self, path: &Path) -> Rc<Vec<PathBuf>> {
        let project = self.project(path);
        let (directory, depth) = match &project.directory {
            Some(directory) => (directory.clone(), MAX_DEPTH),
            None => (path.parent().unwrap_or(Path::new("")).to_path_buf(), 0),
        };
        if let Some(known) = self.sets.borrow().get(&directory) {
            return Rc::clone(known);
        }
        let mut found = tree_files(&directory, depth, &self.overlay);
        for open in self.open.values().map(|open| &open.identity) {
            let is_inside = open.starts_with(&directory) && (depth > 0 || open.parent() == Some(&directory));
            if is_inside && !found.contains(open) {
                found.push(open.clone());
            }
        }
        found.sort();
        let found = Rc::new(found);
        self.sets.borrow_mut().insert(directory, Rc::clone(&found));
        found
    }

    /// A loader for the files that belong to a file.
    pub(super) fn loader<'l>(&'l self, project: &'l Project, set: &[PathBuf]) -> Loader<'l> {
        let loader = Loader::new(&project.registry)
            .levels(project.levels.clone())
            .with_models()
            .files(&self.overlay, AmentIndex::from_environment())
            .beside(set);
        match self.projects.trial() {
            Some(trial) => loader.trial(trial),
            None => loader,
        }
    }

    /// A file with what it says.
    fn file(&self, path: &Path, registry: &Registry) -> Option<Rc<File>> {
        let stamp = if self.overlay.text(path).is_some() {
            None
        } else {
            let metadata = std::fs::metadata(path).ok()?;
            Some((metadata.modified().ok()?, metadata.len()))
        };
        if let Some((known, file)) = self.known_files.borrow().get(path)
            && *known == stamp
        {
            return Some(Rc::clone(file));
        }
        let text = String::from_utf8(self.overlay.read(path).ok()?).ok()?;
        let mut file = File::read(path, text);
        file.read_keys(registry);
        let file = Rc::new(file);
        self.known_files
            .borrow_mut()
            .insert(path.to_path_buf(), (stamp, Rc::clone(&file)));
        Some(file)
    }

    /// Everything about an open file that a request needs.
    pub(super) fn view(&self, uri: &Uri) -> Option<View> {
        let path = super::uri::path(uri)?;
        let opened = self.open.get(&path);
        let path = opened.map_or_else(|| self.overlay.identity(&path), |open| open.identity.clone());
        let project = self.project(&path);
        let mut files = Vec::new();
        let mut waiting: Vec<PathBuf> = self.set_of(&path).to_vec();
        waiting.push(path.clone());
        let mut next = 0;
        while let Some(path) = waiting.get(next).cloned() {
            next += 1;
            if files.len() >= MAX_FILES || files.iter().any(|(known, _)| *known == path) {
                continue;
            }
            let Some(file) = self.file(&path, &project.registry) else {
                continue;
            };
            let includes = file.includes.iter();
            waiting.extend(includes.map(|(path, _)| self.overlay.identity(path)));
            files.push((path, file));
        }
        let here = files.iter().position(|(known, _)| *known == path)?;
        if let Some(open) = opened.filter(|open| open.text != files[here].1.text) {
            let mut file = File::read(&path, open.text.clone());
            file.read_keys(&project.registry);
            files[here].1 = Rc::new(file);
        }
        let uris = files.iter().enumerate().map(|(number, (path, _))| match opened {
            Some(open) if number == here => Some(open.uri.clone()),
            _ => self.uri_of(path),
        });
        let uris = uris.collect();
        let is_ambiguous = files.iter().map(|(path, _)| self.is_ambiguous(path)).collect();
        let mut palette = Palette::default();
        for (_, file) in &files {
            palette.add(&file.document, &mut Diagnostics::new());
        }
        let mut registry = None;
        if palette.ids().next().is_some() {
            let mut extended = project.registry.clone();
            palette.register_unknown(&mut extended);
            registry = Some(extended);
        }
        Some(View {
            project,
            files,
            uris,
            is_ambiguous,
            here,
            registry,
            snippets: self.snippets,
        })
    }
}

/// A file with the files that belong to it.
pub(super) struct View {
    project: Rc<Project>,
    files: Vec<(PathBuf, Rc<File>)>,
    /// The URI of each file.
    uris: Vec<Option<Uri>>,
    is_ambiguous: Vec<bool>,
    here: usize,
    /// The node types with those that the files declare, if they declare any.
    registry: Option<Registry>,
    /// Whether the editor takes completions with a place for the cursor.
    pub(super) snippets: bool,
}

impl View {
    /// The node types.
    pub(super) fn registry(&self) -> &Registry {
        self.registry.as_ref().unwrap_or(&self.project.registry)
    }

    /// The file.
    pub(super) fn file(&self) -> &File {
        &self.files[self.here].1
    }

    /// What a file of the set says.
    pub(super) fn content(&self, file: usize) -> Option<&File> {
        self.files.get(file).map(|(_, file)| &**file)
    }

    /// The number of the file in the set.
    pub(super) fn number(&self) -> usize {
        self.here
    }

    /// The URI of a file of the set, as the editor names it.
    pub(super) fn uri(&self, file: usize) -> Option<&Uri> {
        self.uris.get(file)?.as_ref()
    }

    /// The URI of a file that may be in the set.
    pub(super) fn uri_of(&self, identity: &Path) -> Option<Uri> {
        match self.files.iter().position(|(path, _)| path == identity) {
            Some(file) => self.uri(file).cloned(),
            None => super::uri::of(identity),
        }
    }

    /// Whether a file of the set is open under several names with different texts.
    pub(super) fn is_ambiguous(&self, file: usize) -> bool {
        self.is_ambiguous.get(file) == Some(&true)
    }

    /// All files.
    pub(super) fn set(&self) -> FileSet<'_> {
        let files = self.files.iter().map(|(path, file)| (path.clone(), &**file));
        FileSet::new(files.collect())
    }
}

/// Whether a file can hold trees. A directory can be full of other XML files, and each check reads the whole set.
fn has_trees(path: &Path) -> bool {
    Disk.read(path).is_ok_and(|bytes| may_hold_trees(&bytes))
}

/// The tree files in a directory, and below it to a depth.
fn tree_files(directory: &Path, depth: usize, overlay: &Overlay) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![(directory.to_path_buf(), depth)];
    while let Some((directory, depth)) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory && depth > 0 && !is_hidden {
                waiting.push((path, depth - 1));
            } else if path.extension().is_some_and(|extension| extension == "xml") && has_trees(&path) {
                found.push(overlay.identity(&path));
            }
            if found.len() >= MAX_FILES {
                return found;
            }
        }
    }
    found
}
