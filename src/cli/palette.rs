//! `--palette`: node types that a file declares without a behavior, to check and draw trees with them. `--max-nodes`: the
//! limit of their size.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Project;
use crate::bt::Registry;
use crate::xml::{Diagnostics, Disk, Palette};

/// The option of every command that reads trees with nodes of the user's own.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct PaletteArguments {
    /// Palette (TreeNodesModel) file whose nodes count as known. Can be given several times.
    #[arg(long = "palette", value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl PaletteArguments {
    /// Declares what the project of a tree file provides, then the nodes of the palettes. Returns the project.
    ///
    /// # Errors
    /// A `navtree.toml` or a palette that cannot be read.
    pub(crate) fn apply(&self, file: &Path, registry: &mut Registry) -> Result<Project, String> {
        let project = Project::of(file)?;
        project.apply(registry)?;
        add_palettes(registry, &self.files)?;
        Ok(project)
    }
}

/// The options of every command that compiles trees.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct RegistryArguments {
    #[command(flatten)]
    palette: PaletteArguments,
    /// Maximum number of nodes of a tree, subtrees included. A larger tree is refused. Default: 250,000.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    max_nodes: Option<u32>,
}

impl RegistryArguments {
    /// Sets the limit, and declares as [`PaletteArguments::apply`].
    ///
    /// # Errors
    /// As [`PaletteArguments::apply`].
    pub(crate) fn apply(&self, file: &Path, registry: &mut Registry) -> Result<Project, String> {
        if let Some(nodes) = self.max_nodes.and_then(|nodes| usize::try_from(nodes).ok()) {
            registry.set_max_nodes(nodes);
        }
        self.palette.apply(file, registry)
    }
}

/// The project of each folder, with the nodes that its trees may use: those of the program, of the project and of
/// `--palette`.
pub(crate) struct FolderRegistries<'r> {
    registry: &'r Registry,
    arguments: &'r RegistryArguments,
    projects: Vec<(Project, Registry)>,
    /// The number of the project of each folder.
    folders: HashMap<PathBuf, usize>,
}

impl<'r> FolderRegistries<'r> {
    /// No folder has been read yet.
    pub(crate) fn new(registry: &'r Registry, arguments: &'r RegistryArguments) -> Self {
        Self {
            registry,
            arguments,
            projects: Vec::new(),
            folders: HashMap::new(),
        }
    }

    /// The nodes for a folder. Reads its project once.
    ///
    /// # Errors
    /// As [`PaletteArguments::apply`].
    pub(crate) fn of(&mut self, folder: &Path) -> Result<&Registry, String> {
        let number = self.number_of(folder)?;
        Ok(&self.projects[number].1)
    }

    /// The number of a folder's project in [`FolderRegistries::projects`]. Reads each project once.
    ///
    /// # Errors
    /// As [`PaletteArguments::apply`].
    pub(crate) fn number_of(&mut self, folder: &Path) -> Result<usize, String> {
        if let Some(number) = self.folders.get(folder) {
            return Ok(*number);
        }
        let directory = Project::directory_of(folder)?;
        let known = |(project, _): &(Project, Registry)| project.directory == directory;
        let number = match self.projects.iter().position(known) {
            Some(number) => number,
            None => {
                let mut registry = self.registry.clone();
                let project = self.arguments.apply(folder, &mut registry)?;
                self.projects.push((project, registry));
                self.projects.len() - 1
            }
        };
        self.folders.insert(folder.to_owned(), number);
        Ok(number)
    }

    /// The projects of all folders so far, each with its nodes.
    pub(crate) fn projects(&self) -> &[(Project, Registry)] {
        &self.projects
    }
}

/// Declares the nodes of the palettes. Says which of navtree's nodes they replace.
pub(crate) fn add_palettes(registry: &mut Registry, files: &[PathBuf]) -> Result<(), String> {
    for file in files {
        let mut diagnostics = Diagnostics::new();
        let (palette, sources) = Palette::read_file(file, &Disk, &mut diagnostics);
        if diagnostics.has_errors() {
            let lines = diagnostics.iter().map(|problem| problem.one_line(&sources));
            return Err(lines.collect::<Vec<_>>().join("\n"));
        }
        for note in palette.register(registry) {
            super::errln!("{}", note.one_line(&sources));
        }
    }
    Ok(())
}
