//! `navtree run`: the ROS 2 node.

use std::process::ExitCode;

pub(crate) fn run() -> ExitCode {
    crate::ros::start_log();
    crate::navigator::run()
}
