//! The `nav_sim` executable: arguments, then the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    let _log = navtree::ros::start_log();
    match navtree::sim::node::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nav_sim: {error}");
            ExitCode::FAILURE
        }
    }
}
