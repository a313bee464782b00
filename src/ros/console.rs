//! The log of an executable: on its console, and on `/rosout` when there is a node.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::IsTerminal as _;
use std::panic::PanicHookInfo;

use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{Format, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, format};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::rosout::{rosout, wait_for_node};
use super::stderr::{Stderr, StderrFlush};
use crate::bt::panic_text;
use crate::robot_name;

/// The log of the process. On drop it waits a moment for the last lines.
#[derive(Debug)]
#[must_use = "what is logged last is written when this is dropped"]
pub struct Log(#[expect(dead_code, reason = "kept for its drop")] StderrFlush);

/// Logs to standard error, and to `/rosout` under the name of the first [`super::Ros`] that is started afterwards. Lines
/// of one of several robots begin with its name, and are published under the name of its node. The
/// level is that of `RUST_LOG`, or of `--ros-args --log-level`, or `info`. For the executables; a second call does
/// nothing.
///
/// A separate thread writes the console: a full pipe blocks its writer, which might be a tick (guarantee G1). Panics are
/// logged in the same way: std's hook writes to the pipe before the panic is caught, so a console that is not read would
/// delay the cancels after a panic (guarantee G8).
pub fn start_log() -> Log {
    let arguments: Vec<String> = std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(directive(&arguments)));
    let (writer, flush) = Stderr::new();
    let console = tracing_subscriber::fmt::layer()
        // Launch files and tests read it through pipes, where colors are noise.
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(writer)
        .event_format(NamingRobots(format()));
    let (layer, log) = rosout();
    let log_set_up = tracing_subscriber::registry()
        .with(filter)
        .with(console)
        .with(layer)
        .try_init();
    if log_set_up.is_ok() {
        std::panic::set_hook(Box::new(log_panic));
        wait_for_node(log);
    }
    Log(flush)
}

/// Begins a line with the robot that it is about, if there are several.
struct NamingRobots(Format);

impl<S, N> FormatEvent<S, N> for NamingRobots
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        if let Some(robot) = robot_name::current() {
            write!(writer, "[{robot}] ")?;
        }
        self.0.format_event(context, writer, event)
    }
}

/// Logs a panic, with a backtrace if `RUST_BACKTRACE` requests one.
fn log_panic(info: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("?");
    let text = panic_text(info.payload());
    let place = info
        .location()
        .map_or_else(String::new, |place| format!(" at {place}"));
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        tracing::error!("thread `{thread}` panicked{place}: {text}\n{backtrace}");
    } else {
        tracing::error!("thread `{thread}` panicked{place}: {text}");
    }
}

/// The filter requested by the arguments. `--log-level name:=level` sets the level of one logger; here there is one
/// logger.
fn directive(arguments: &[String]) -> &'static str {
    let levels = arguments.windows(2).filter(|pair| pair[0] == "--log-level");
    let mut level = levels.map(|pair| pair[1].rsplit(":=").next().unwrap_or_default().to_lowercase());
    match level.next_back().as_deref() {
        Some("debug") => "navtree=debug,nav_sim=debug,info",
        Some("warn" | "warning") => "warn",
        Some("error" | "fatal") => "error",
        // r2r logs late answers at error level; they are normal.
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
