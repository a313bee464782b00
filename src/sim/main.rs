//! The `nav_sim` executable: arguments, then the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before any thread is started, including the thread of the log.
    let profile = navtree::ros::middleware::set_up_ignoring_itself();
    let _log = navtree::ros::start_log();
    match navtree::sim::node::run(profile) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nav_sim: {error}");
            ExitCode::FAILURE
        }
    }
}
