//! The `nav_sim` executable: arguments, then the library.

use std::io::IsTerminal as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_default_env()
                .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info")),
        )
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
    match navtree::sim::node::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nav_sim: {error}");
            ExitCode::FAILURE
        }
    }
}
