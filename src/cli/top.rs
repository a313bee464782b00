//! `navtree top`: shows runs in the terminal.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::view::{FileArguments, load_feed};
use super::{Exit, RegistryArguments, errln};
use crate::bt::Registry;
use crate::monitor::top::{Address, Source, once, show};

/// The environment variable with the token: an argument would be visible to all users of the machine.
const TOKEN_VARIABLE: &str = "NAVTREE_MONITOR_TOKEN";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Recordings (`.mcap`), tree files, or the addresses that nodes print: `http://127.0.0.1:8080/#TOKEN`.
    sources: Vec<PathBuf>,
    /// Port of a node on this machine (its parameter `monitor_port`). May be repeated.
    #[arg(long)]
    port: Vec<u16>,
    /// Token of the nodes (their parameter `monitor_token`).
    #[arg(long, env = TOKEN_VARIABLE, hide_env_values = true, default_value = "")]
    token: String,
    /// Print as text what is shown, and end.
    #[arg(long)]
    once: bool,
    /// With `--once`: the time in the run, in s. Default: the newest.
    #[arg(long, value_name = "SECONDS", requires = "once")]
    at: Option<f64>,
    /// With `--once`: maximum time to wait for the nodes, in s.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    timeout: f64,
    #[command(flatten)]
    registry: RegistryArguments,
}

pub(crate) fn run(arguments: &Arguments, registry: &Registry) -> Exit {
    match try_run(arguments, registry) {
        Ok(()) => Exit::Success,
        Err(message) => {
            errln!("navtree top: {message}");
            Exit::Failed
        }
    }
}

fn try_run(arguments: &Arguments, registry: &Registry) -> Result<(), String> {
    let ports = arguments.port.iter();
    let nodes = ports.map(|port| Source::Node(Address::local(*port, &arguments.token)));
    let mut named: Vec<Source> = nodes.collect();
    for source in &arguments.sources {
        named.push(open(source, arguments, registry)?);
    }
    let mut sources = Vec::new();
    for source in named {
        match source {
            Source::Node(address) => sources.extend(address.each_robot().into_iter().map(Source::Node)),
            feed @ Source::Feed(..) => sources.push(feed),
        }
    }
    if sources.is_empty() {
        return Err("give the port of a node (--port), its address, or a recording".to_owned());
    }
    if arguments.once {
        let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string());
        let at = arguments.at.map(seconds).transpose()?;
        super::out(&once(sources, at, seconds(arguments.timeout)?)?);
        return Ok(());
    }
    if !std::io::stdout().is_terminal() {
        return Err("the output is not a terminal: use --once".to_owned());
    }
    show(sources).map_err(|error| format!("the terminal: {error}"))
}

/// A file may be named `http…` as well.
fn is_address(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

fn open(source: &Path, arguments: &Arguments, registry: &Registry) -> Result<Source, String> {
    if let Some(address) = source.to_str().filter(|text| is_address(text)) {
        return Address::parse(address, &arguments.token).map(Source::Node);
    }
    let file = FileArguments {
        file: source,
        tree: None,
        registry: &arguments.registry,
    };
    let name = source.file_name().unwrap_or(source.as_os_str());
    Ok(Source::Feed(
        name.to_string_lossy().into_owned(),
        load_feed(&file, registry.clone())?,
    ))
}
