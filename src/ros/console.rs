//! The log of an executable on its console.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Logs to standard error: as `RUST_LOG` says, or at the level of `--ros-args --log-level`, or at `info`. For the
/// executables; a second call does nothing.
pub fn start_log() {
    let arguments: Vec<String> = std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(directive(&arguments)));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // Launch files and tests read it through pipes, where colours are noise.
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .try_init();
}

/// What the arguments ask for. `--log-level name:=level` sets one logger's level; there is one here.
fn directive(arguments: &[String]) -> &'static str {
    let levels = arguments.windows(2).filter(|pair| pair[0] == "--log-level");
    let level = levels.map(|pair| pair[1].rsplit(":=").next().unwrap_or_default().to_lowercase());
    match level.last().as_deref() {
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
