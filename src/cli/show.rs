//! `navtree show`: writes a tree as text or as a picture.

use std::path::PathBuf;

use super::{Exit, TreeArguments};
use crate::bt::{Registry, TreeDef};
use crate::monitor::drawing::{self, Marks};
use crate::xml::{Colour, Loader};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Tree file.
    file: PathBuf,
    /// Tree to use, by its ID. Default: the main tree of the file.
    #[arg(long, value_name = "ID")]
    tree: Option<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Palette (TreeNodesModel) file whose nodes count as known.
    #[arg(long, value_name = "FILE")]
    palette: Vec<PathBuf>,
    #[command(flatten)]
    trees: TreeArguments,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Indented text.
    Text,
    /// Graphviz (DOT).
    Dot,
    /// SVG picture.
    Svg,
    /// Mermaid diagram for Markdown.
    Mermaid,
}

impl Format {
    /// Draws a tree.
    pub(crate) fn draw(self, def: &TreeDef, marks: &Marks) -> String {
        match self {
            Self::Text => drawing::text(def, marks),
            Self::Dot => drawing::dot(def, marks),
            Self::Svg => drawing::svg(def, marks),
            Self::Mermaid => drawing::mermaid(def, marks),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, mut registry: Registry) -> Exit {
    let prepared = super::Project::of(&arguments.file).and_then(|project| {
        let levels = arguments.trees.levels(&project)?;
        super::check_paths_exist([&arguments.file])?;
        project.apply(&mut registry)?;
        super::add_palettes(&mut registry, &arguments.palette)?;
        Ok(levels)
    });
    let levels = match prepared {
        Ok(levels) => levels,
        Err(message) => {
            super::errln!("navtree show: {message}");
            return Exit::Failed;
        }
    };
    match Loader::new(&registry)
        .levels(levels)
        .with_models()
        .load_file(&arguments.file, arguments.tree.as_deref())
    {
        Ok(loaded) => {
            super::out(&arguments.format.draw(&loaded.def, &Marks::default()));
            Exit::Success
        }
        Err(refused) => {
            for diagnostic in &refused.diagnostics {
                super::errln!("{}", diagnostic.render(&refused.sources, Colour::Never));
            }
            Exit::Problems
        }
    }
}
