//! The hand-over between threads, under every interleaving.
//!
//! What is tested are the library's own files, compiled with loom's locks, atomics and threads in the place of the
//! standard library's (`crate::sync`). loom runs each test as often as there are orders in which its threads can meet,
//! and calls it a failure where all wait for one another: a wake-up that is lost is a test that fails. Time does not
//! pass here, so nothing is mended by a timeout.
//!
//! | what | property |
//! |---|---|
//! | `job::CancellationToken`, `job::Job` | a cancel is never missed; a result comes once, a lost job is known as lost |
//! | `ros::Wake` | a ring before, during or after falling asleep ends the sleep |
//! | `ros::Inbox`, `ros::Fan` | no notice or message is lost, doubled or overtaken |
//! | `ros::GoalsBoard` | whoever sees it settled sees what came of his request |
//! | `ros::Piggyback` | what waits for whoever comes by is said once, whoever it is |
//! | `navigator::Handle` | an acknowledgement comes after the effect, and always comes, or is known not to |

#![allow(
    dead_code,
    reason = "what a test of one file does not call is called elsewhere in the library"
)]

mod fault {
    /// No fault is injected here.
    pub(crate) fn point() {}
}
mod job;
mod navigator;
mod ros;
mod sync;

use navtree::{bt, goal, nav};

/// Runs a test under every interleaving, of those with at most three involuntary switches of thread: most faults need
/// one or two, and each more multiplies the time.
fn explore(test: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.max_branches = 20_000;
    model.check(test);
}
