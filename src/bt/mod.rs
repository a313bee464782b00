//! The engine: statuses, nodes, ports, blackboard, scripts, tick and halt. No ROS, no async, no I/O.

mod halt;
mod status;
mod time;

pub use halt::HaltReason;
pub use status::NodeStatus;
pub use time::Time;
