//! The end of the node: the reasons, the order and the time limits.

use std::time::Duration;

use super::Node;
use super::unanswered_clients::unanswered;
use crate::bt::HaltReason;
use crate::navigator::goal_queue::SHUT;
use crate::navigator::{Unacknowledged, halt_without_ticks};
use crate::ros::lifecycle::{LifecycleState, Transition};

/// Time for the destruction of the remaining parts at the end of the process.
pub(super) const TEARDOWN: Duration = Duration::from_secs(3);
/// Error message for goals without a result if the shutdown did not finish in time.
const UNSENT: &str = "the node shut down before this goal started, or before its result could be sent: if it started, the robot may still move";

/// Time limits of the shutdown.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShutdownTimeouts {
    /// The total: less than the five seconds after which `ros2 launch` escalates, and less than the three that a user
    /// waits without doubt.
    pub(super) all: Duration,
    /// The part of it for the tree. After it, only the GoalTracker handles the goals of the tree.
    tree: Duration,
    /// The part of that for the goals and jobs of the tree. It is shorter, because the tick thread then sends the
    /// result, and it knows the goals that did not stop.
    stop: Duration,
}

impl ShutdownTimeouts {
    pub(super) const REGULAR: Self = Self::of(2000, 1500, 1300);
    /// After a failed thread. If this thread receives from the servers, a longer wait has no use.
    pub(super) const FAULT: Self = Self::of(1000, 700, 500);

    const fn of(all: u64, tree: u64, stop: u64) -> Self {
        Self {
            all: Duration::from_millis(all),
            tree: Duration::from_millis(tree),
            stop: Duration::from_millis(stop),
        }
    }
}

impl Node {
    /// The fault for which the node must end, if there is one.
    pub(super) fn fault(&self) -> Option<String> {
        if let Some(Err(fault)) = self.ros.handle().thread_exit() {
            return Some(fault);
        }
        self.ticks
            .is_finished()
            .then(|| "the tick thread has ended".to_owned())
    }

    /// Shuts down in order (guarantee G8), and drops the node. With a fault, less time is left. Returns whether there was
    /// one, before or in the shutdown.
    pub(super) fn shut_down(self, fault: Option<String>) -> bool {
        let clock = self.ros.clock().clone();
        let started = clock.steady();
        let elapsed = || clock.steady().since(started);
        let timeouts = match &fault {
            None => ShutdownTimeouts::REGULAR,
            Some(_) => ShutdownTimeouts::FAULT,
        };
        // Before the transition: its halt has a longer limit, and it may wait for another transition.
        self.ticks.handle().shut();
        let reason = HaltReason::ShuttingDown;
        let halted = self.ticks.handle().halt(reason, timeouts.stop);
        // The transition of a lifecycle manager, if none has requested it, with our own time limit.
        let lifecycle = self.lifecycle.handle();
        if lifecycle.state() != LifecycleState::Finalized
            && lifecycle.change(Transition::ShutDown, timeouts.tree).is_err()
        {
            tracing::error!("the transition `shutdown` did not end in time");
        }
        let left = timeouts.all.saturating_sub(elapsed());
        // There may have been no transition, and a leaf may block the tick thread.
        let shut_down = || self.goal_tracker.handle().shut_down(left);
        halt_without_ticks(reason, self.ticks.handle(), &self.jobs, shut_down);
        let goal_tracker = self.goal_tracker.handle();
        // When the GoalTracker has processed the shutdown, all earlier messages through it have left.
        let is_over =
            || goal_tracker.is_settled(|_| false) && goal_tracker.view().idle && self.jobs.is_empty();
        while elapsed() < timeouts.all && !is_over() {
            std::thread::sleep(Duration::from_millis(2));
        }
        let is_over = is_over();
        // The tick thread has answered its clients. Goals that are just being accepted, goals of a tree that is blocked by
        // a leaf, and results behind a send that the middleware blocks, must not wait for it.
        let unanswered = unanswered("shut down");
        let reason = match halted.try_wait() {
            Ok(()) if is_over => SHUT,
            Ok(()) => UNSENT,
            Err(Unacknowledged::NotYet) => &unanswered,
            Err(Unacknowledged::Never) => "the node shut down after its tick thread had ended",
        };
        self.clients.abort(reason);
        for job in self.jobs.give_up() {
            tracing::error!("job still running at the end of the node: {job}");
        }
        let fault = fault.or_else(|| self.fault());
        if let Some(fault) = &fault {
            tracing::error!("{fault}");
        }
        fault.is_some()
    }
}
