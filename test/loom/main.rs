//! Tests of the data passed between threads, under every interleaving.
//!
//! These tests compile the library's own files with loom's locks, atomics and threads instead of those of the standard
//! library (`crate::sync`). loom runs each test once for each possible order of its threads' steps. A test fails if all
//! threads wait for each other, so a lost wake-up is a failure. Time does not pass, so no timeout hides one.
//!
//! | subject | property |
//! |---|---|
//! | `job::CancellationToken`, `job::Job` | no cancel is missed; a result arrives once; a lost job is reported as lost |
//! | `ros::Wake` | a notification before, during or after the start of a sleep ends it |
//! | `ros::Inbox`, `ros::SharedSubscription` | no notice or message is lost, duplicated or reordered |
//! | `ros::GoalsBoard` | a thread that finds the board settled also finds the effects of its request |
//! | `ros::Ready` | no message of an entity is missed, and none keeps a thread awake for nothing |
//! | `navigator::Handle` | an acknowledgement follows its effect, and every wait for one ends |

#![allow(dead_code, reason = "other files of the library use what these tests do not")]

mod fault {
    /// No fault is injected here.
    pub(crate) fn point() {}
}
mod job;
mod navigator;
mod robot_name {
    /// A process of these tests has one robot.
    pub(crate) fn inherit<T>(body: impl FnOnce() -> T) -> impl FnOnce() -> T {
        body
    }
}
mod ros;
#[path = "../../src/running_wait.rs"]
mod running_wait;
mod sync;

use navtree::{bt, goal, msg, nav};

/// Runs a test under every interleaving with at most three involuntary thread switches. Most faults need one or two, and
/// each further switch multiplies the time.
fn explore(test: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.max_branches = 20_000;
    model.check(test);
}
