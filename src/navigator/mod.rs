//! The node: lifecycle, the navigate actions, preemption, swap, tick loop.
//!
//! [`Navigator`] is the whole of it without ROS, driven by calls and a clock; what needs r2r is thin and lives beside it
//! (feature `ros`).
#![forbid(unsafe_code)]

#[cfg(any(test, feature = "ros"))]
mod admission;
mod arrivals;
#[cfg(feature = "ros")]
mod client;
mod core;
mod durations;
mod feedback;
mod gate;
mod global_frame;
mod goal;
mod goal_log;
#[cfg(feature = "ros")]
mod handler;
#[cfg(feature = "ros")]
mod insight;
#[cfg(test)]
mod jobs;
mod kind;
mod library;
#[cfg(feature = "ros")]
mod life;
mod log;
mod missed;
#[cfg(test)]
mod next_goal;
#[cfg(feature = "ros")]
mod node;
mod options;
#[cfg(feature = "ros")]
mod parameters;
#[cfg(test)]
#[cfg(feature = "ros")]
mod parameters_page;
#[cfg(feature = "ros")]
mod plugins;
mod pulse;
#[cfg(test)]
mod received;
#[cfg(test)]
mod remote;
#[cfg(test)]
mod replaced;
#[cfg(test)]
mod rig;
mod robot;
mod schedule;
mod searched;
mod seed;
mod session;
mod shares;
mod shelf;
#[cfg(feature = "ros")]
mod signals;
mod slow_clock;
mod snapshot;
#[cfg(feature = "ros")]
mod stalled_threads;
#[cfg(test)]
mod stuck;
mod thread;
#[cfg(test)]
mod turns;
mod watchdog;

pub use self::core::Navigator;
pub use durations::Durations;
pub use goal::{ClientGoal, Ending, Feedback, NavigationError, Report, Request};
#[cfg(feature = "ros")]
pub use insight::Insight;
pub use kind::NavigatorKind;
pub use library::{Refusal, TreeLibrary};
#[cfg(feature = "ros")]
pub use node::{Prepared, StartError, prepare, run};
pub use options::Options;
pub use pulse::Pulse;
pub(crate) use robot::Robot;
pub use schedule::Schedule;
pub use shares::share_file;
#[cfg(feature = "ros")]
pub(crate) use signals::Signals;
pub use snapshot::Snapshot;
pub use thread::{Handle, Pass, Pending, Survey, TickClock, TickStatistics, TickThread, Unacknowledged};
pub use watchdog::Watchdog;
