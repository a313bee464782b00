//! `navtree show`: writes a tree as text or as a picture.

use std::path::PathBuf;

use super::{Exit, RegistryArguments, TreeArguments};
use crate::bt::{Registry, TreeDef};
use crate::monitor::drawing::{Drawing, Layout, Marks};
use crate::xml::{Colour, Loader};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Tree file.
    file: PathBuf,
    /// Tree to use, by its ID. Default: the main tree of the file.
    #[arg(long, value_name = "ID")]
    tree: Option<String>,
    #[command(flatten)]
    drawing: DrawingArguments,
    #[command(flatten)]
    registry: RegistryArguments,
    #[command(flatten)]
    trees: TreeArguments,
}

/// Options of every command that draws trees.
#[derive(clap::Args)]
pub(crate) struct DrawingArguments {
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Direction of a picture.
    #[arg(long, value_enum, default_value_t = Direction::LeftToRight)]
    layout: Direction,
    /// Hide what is below the nodes of this name or ID. Can be given several times.
    #[arg(long, value_name = "NAME")]
    fold: Vec<String>,
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

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Direction {
    /// Children stand to the right of their parent. Fits a page.
    LeftToRight,
    /// Children stand below their parent.
    TopDown,
}

impl DrawingArguments {
    /// Draws a tree.
    ///
    /// # Errors
    /// The tree has no node that is to be folded.
    pub(crate) fn draw(&self, def: &TreeDef, marks: &Marks) -> Result<String, String> {
        let layout = match self.layout {
            Direction::LeftToRight => Layout::LeftToRight,
            Direction::TopDown => Layout::TopDown,
        };
        let drawing = Drawing::new(def, marks, layout).fold(&self.fold)?;
        Ok(match self.format {
            Format::Text => drawing.text(),
            Format::Dot => drawing.dot(),
            Format::Svg => drawing.svg(),
            Format::Mermaid => drawing.mermaid(),
        })
    }
}

pub(crate) fn run(arguments: &Arguments, mut registry: Registry) -> Exit {
    let prepared = super::check_paths_exist([&arguments.file]).and_then(|()| {
        let project = arguments.registry.apply(&arguments.file, &mut registry)?;
        arguments.trees.levels(&project)
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
        Ok(loaded) => match arguments.drawing.draw(&loaded.def, &Marks::default()) {
            Ok(text) => {
                super::out(&text);
                Exit::Success
            }
            Err(message) => {
                super::errln!("navtree show: {message}");
                Exit::Failed
            }
        },
        Err(refused) => {
            for diagnostic in &refused.diagnostics {
                super::errln!("{}", diagnostic.render(&refused.sources, Colour::Never));
            }
            Exit::Problems
        }
    }
}
