//! `navtree view`: shows a recording or a tree in the browser.

use std::path::{Path, PathBuf};

use super::preview::Preview;
use super::{Exit, RegistryArguments, errln, outln};
use crate::bt::Registry;
use crate::monitor::web::{Feed, Robot, Robots, Site, Token, server, view_recording};
use crate::record::Recording;

/// Only programs of this machine can connect.
const LOOPBACK: &str = "127.0.0.1";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Recording (`.mcap`) or tree file.
    file: PathBuf,
    /// Tree to show, by its ID. Default: the main tree of the file.
    #[arg(long, value_name = "ID")]
    tree: Option<String>,
    /// Port of the page. 0: any free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    #[command(flatten)]
    registry: RegistryArguments,
}

pub(crate) fn run(arguments: &Arguments, registry: Registry) -> Exit {
    let file = FileArguments {
        file: &arguments.file,
        tree: arguments.tree.as_deref(),
        registry: &arguments.registry,
    };
    match load_feed(&file, registry).and_then(|feed| serve(feed, arguments.port)) {
        Ok(never) => match never {},
        Err(message) => {
            errln!("navtree view: {message}");
            Exit::Failed
        }
    }
}

fn serve(feed: Feed, port: u16) -> Result<std::convert::Infallible, String> {
    let token = Token::random()?;
    let listener = server::bind(LOOPBACK, port).map_err(|error| format!("{LOOPBACK}:{port}: {error}"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    outln!("http://{address}/#{}", token.as_str());
    errln!("Open this address in a browser on this machine. Ctrl-C ends.");
    let site = Site {
        robots: Robots::from_iter([Robot {
            name: "file".to_owned(),
            feed,
            controls: None,
        }]),
        token,
        name: None,
    };
    server::run(listener, site).map_err(|error| error.to_string())
}

/// What to show of a file.
pub(crate) struct FileArguments<'a> {
    /// Recording or tree file.
    pub(crate) file: &'a Path,
    /// The ID of the tree.
    pub(crate) tree: Option<&'a str>,
    /// Palettes, and the limit of nodes.
    pub(crate) registry: &'a RegistryArguments,
}

/// The feed of a recording or of a tree file. A tree is shown again when a file of it changes.
pub(crate) fn load_feed(arguments: &FileArguments<'_>, mut registry: Registry) -> Result<Feed, String> {
    super::check_paths_exist([arguments.file])?;
    arguments.registry.apply(arguments.file, &mut registry)?;
    let is_tree = arguments
        .file
        .extension()
        .is_some_and(|extension| extension == "xml");
    if is_tree {
        let preview = Preview {
            file: arguments.file.to_owned(),
            tree: arguments.tree.map(str::to_owned),
            registry,
        };
        return preview.start();
    }
    let recording =
        Recording::read(arguments.file).map_err(|error| format!("{}: {error}", arguments.file.display()))?;
    if let Some(damage) = &recording.damage {
        errln!(
            "{}: the rest of the file cannot be read: {damage}",
            arguments.file.display()
        );
    }
    view_recording(&recording, &registry).map_err(|error| error.to_string())
}
