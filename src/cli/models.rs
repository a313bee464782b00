//! `navtree models`: writes the declarations of the nodes, for Groot, editors and people.

use std::path::PathBuf;

use super::Exit;
use crate::bt::Registry;
use crate::monitor::models;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print the XML schema of tree files instead of the palette.
    #[arg(long, conflicts_with = "markdown")]
    xsd: bool,
    /// Print the node reference page instead of the palette.
    #[arg(long)]
    markdown: bool,
    /// Palette (TreeNodesModel) file whose nodes are included.
    #[arg(long, value_name = "FILE")]
    palette: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, mut registry: Registry) -> Exit {
    if let Err(message) = super::palette::add_palettes(&mut registry, &arguments.palette) {
        super::errln!("navtree models: {message}");
        return Exit::Failed;
    }
    let text = if arguments.xsd {
        models::xsd(&registry)
    } else if arguments.markdown {
        models::reference(&registry)
    } else {
        models::palette(&registry)
    };
    super::out(&text);
    Exit::Success
}
