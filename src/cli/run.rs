//! `navtree run`: the ROS 2 node.

use std::process::ExitCode;

use crate::bt::Registry;
use crate::monitor;

pub(crate) fn run(registry: Registry) -> ExitCode {
    let prepared = crate::navigator::prepare();
    let _log = crate::ros::start_log();
    crate::navigator::run(prepared, registry, monitor::start)
}
