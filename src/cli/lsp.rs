//! `navtree lsp`: the language server for editors, on standard input and output.

use std::path::Path;

use super::Exit;
use crate::bt::Registry;
use crate::lsp::{self, Projects};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    trees: super::TreeArguments,
}

/// The projects of the files that an editor opens.
struct OnDisk<'a> {
    arguments: &'a Arguments,
    registry: Registry,
}

impl Projects for OnDisk<'_> {
    fn of(&self, path: &Path) -> Result<lsp::Project, String> {
        let project = super::Project::of(path)?;
        let mut registry = self.registry.clone();
        project.apply(&mut registry)?;
        Ok(lsp::Project {
            registry,
            levels: self.arguments.trees.levels(&project)?,
            directory: project.directory,
        })
    }

    #[cfg(feature = "ros")]
    fn trial(&self) -> Option<&crate::xml::Trial<'_>> {
        Some(&super::check::dry_run)
    }
}

pub(crate) fn run(arguments: &Arguments, registry: Registry) -> Exit {
    // A mistake in the arguments is told at once, and not with each file.
    if let Err(message) = arguments.trees.levels(&super::Project::default()) {
        super::errln!("navtree lsp: {message}");
        return Exit::Failed;
    }
    match lsp::run(&OnDisk { arguments, registry }) {
        Ok(()) => Exit::Success,
        Err(error) => {
            super::errln!("navtree lsp: {error}");
            Exit::Failed
        }
    }
}
