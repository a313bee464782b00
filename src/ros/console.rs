//! The log of an executable: on its console, and on `/rosout` as soon as there is a node.

use std::io::IsTerminal as _;
use std::sync::{Mutex, PoisonError};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::stderr::{Stderr, StderrThread};
use super::{Rosout, rosout};

/// What waits for a node. A process has one log, and `tracing` keeps the other end of it in a global as well.
static WAITING: Mutex<Option<Rosout>> = Mutex::new(None);

/// The log of the process. Dropping it waits a moment for what is yet to be written.
#[derive(Debug)]
#[must_use = "what is logged last is written when this is dropped"]
pub struct Log(#[expect(dead_code, reason = "kept for its drop")] Option<StderrThread>);

/// Logs to standard error, and to `/rosout` under the name of the first [`super::Ros`] that is started afterwards: as
/// `RUST_LOG` says, or at the level of `--ros-args --log-level`, or at `info`. For the executables; a second call does
/// nothing.
///
/// The console is written by a thread of its own: a pipe that is full holds up who writes to it, and that may be a tick
/// (guarantee G1).
pub fn start_log() -> Log {
    let arguments: Vec<String> = std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(directive(&arguments)));
    let (writer, thread) = match Stderr::start() {
        Ok((stderr, thread)) => (BoxMakeWriter::new(stderr), Some(thread)),
        Err(_) => (BoxMakeWriter::new(std::io::stderr), None),
    };
    let console = tracing_subscriber::fmt::layer()
        // Launch files and tests read it through pipes, where colours are noise.
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(writer);
    let (layer, log) = rosout();
    let log_set_up = tracing_subscriber::registry()
        .with(filter)
        .with(console)
        .with(layer)
        .try_init();
    if log_set_up.is_ok() {
        *WAITING.lock().unwrap_or_else(PoisonError::into_inner) = Some(log);
    }
    Log(thread)
}

/// The log that waits for a node, once.
pub(super) fn take_log() -> Option<Rosout> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// What the arguments ask for. `--log-level name:=level` sets one logger's level; there is one here.
fn directive(arguments: &[String]) -> &'static str {
    let levels = arguments.windows(2).filter(|pair| pair[0] == "--log-level");
    let mut level = levels.map(|pair| pair[1].rsplit(":=").next().unwrap_or_default().to_lowercase());
    match level.next_back().as_deref() {
        Some("debug") => "navtree=debug,nav_sim=debug,info",
        Some("warn" | "warning") => "warn",
        Some("error" | "fatal") => "error",
        // r2r logs at error level that an answer came late: its clients' everyday life.
        _ => "info,r2r=off",
    }
}

#[cfg(test)]
mod tests {
    use super::directive;

    #[test]
    fn the_last_level_of_the_arguments_counts() {
        let of = |text: &str| directive(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(of("nav_sim"), "info,r2r=off");
        assert_eq!(
            of("nav_sim --ros-args --log-level DEBUG"),
            "navtree=debug,nav_sim=debug,info"
        );
        assert_eq!(
            of("nav_sim --log-level debug --ros-args --log-level nav_sim:=warn"),
            "warn"
        );
    }
}
