//! `navtree run`: the ROS 2 node, for one robot or several.

use std::process::ExitCode;

use crate::bt::Registry;
use crate::monitor;

#[derive(clap::Args, Default)]
pub(crate) struct Arguments {
    /// Run a node for each of these robots, in the namespace of its name: `r1,r2`. Instead of the parameter `robots`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    robots: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, registry: Registry) -> ExitCode {
    let prepared = crate::navigator::prepare();
    let _log = crate::ros::start_log();
    let pages = monitor::Pages::default();
    let monitors = Box::new(move |node_handles: &_, period, settings: &_| {
        monitor::start(&pages, node_handles, period, settings)
    });
    crate::navigator::run(prepared, &arguments.robots, registry, monitors)
}
