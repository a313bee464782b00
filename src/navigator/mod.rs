//! The navigator: lifecycle, navigate actions, trees, preemption, tick loop.
//!
//! [`Navigator`] holds the logic without ROS; calls and a clock drive it. The thin parts that need r2r are in the same
//! room (feature `ros`).
#![forbid(unsafe_code)]

mod blackboard_io;
#[cfg(feature = "ros")]
mod client;
mod core;
mod durations;
#[cfg(test)]
mod event_tests;
mod feedback;
mod file_stamp;
#[cfg(test)]
mod foreign_cancel_tests;
mod global_frame;
mod goal;
mod goal_log;
mod goal_queue;
#[cfg(feature = "ros")]
mod handler;
mod heartbeat;
mod id_search;
mod kind;
mod library;
mod log;
mod missed_ticks;
#[cfg(test)]
mod next_goal_tests;
#[cfg(feature = "ros")]
mod node;
#[cfg(feature = "ros")]
mod node_handles;
#[cfg(feature = "ros")]
mod node_lifecycle;
mod options;
mod package_share;
#[cfg(feature = "ros")]
mod parameters;
#[cfg(feature = "ros")]
mod plugins;
#[cfg(test)]
mod preemption_tests;
#[cfg(test)]
mod received_message_tests;
mod recording;
#[cfg(test)]
pub(crate) mod recording_tests;
#[cfg(test)]
mod replaced_goal_tests;
mod robot;
mod schedule;
mod session;
mod shared_trees;
#[cfg(feature = "ros")]
mod signals;
mod slow_clock;
mod snapshot;
#[cfg(feature = "ros")]
mod stalled_threads;
mod standing_clock;
#[cfg(test)]
mod stopping_job_tests;
#[cfg(test)]
mod test_harness;
mod thread;
#[cfg(test)]
mod thread_tests;
mod tree_cache;
mod tree_loader;
mod watchdog;
#[cfg(test)]
mod watchdog_tests;

pub use self::core::Navigator;
pub use durations::Durations;
pub use goal::{
    ClientGoal, Feedback, NavigationError, NavigationId, NavigationResult, Request, RequestedTree,
    TerminalStatus,
};
pub use goal_queue::{ArrivalNumber, Epoch, GoalQueue};
pub use heartbeat::Heartbeat;
pub use kind::NavigatorKind;
pub use library::{Refusal, TreeLibrary};
#[cfg(feature = "ros")]
pub use node::{Prepared, StartError, prepare, run};
#[cfg(feature = "ros")]
pub use node_handles::NodeHandles;
pub use options::Options;
pub use package_share::share_file;
#[cfg(feature = "ros")]
pub use parameters::{GrootSettings, MonitorSettings};
pub use recording::NavigationRecorder;
pub(crate) use robot::Robot;
pub use schedule::Schedule;
pub use shared_trees::SharedTrees;
#[cfg(feature = "ros")]
pub(crate) use signals::Signals;
pub use snapshot::Snapshot;
pub use thread::{
    AdmissionPermit, Handle, Pending, TickClock, TickStatistics, TickStatus, TickThread, Unacknowledged,
};
pub use tree_loader::load_trees;
#[cfg(feature = "ros")]
pub(crate) use watchdog::halt_without_ticks;
pub use watchdog::{Watchdog, cancel_without_ticks};
