//! `navtree models`: what the nodes declare of themselves, for Groot, for editors and for people.

use super::Exit;
use crate::monitor::models;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The XML schema of tree files instead of the palette.
    #[arg(long, conflicts_with = "markdown")]
    xsd: bool,
    /// The node reference page instead of the palette.
    #[arg(long)]
    markdown: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Exit {
    let registry = crate::nav::registry();
    let text = if arguments.xsd {
        models::xsd(&registry)
    } else if arguments.markdown {
        models::reference(&registry)
    } else {
        models::palette(&registry)
    };
    print!("{text}");
    Exit::Good
}
