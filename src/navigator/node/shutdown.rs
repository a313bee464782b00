//! The end of the node: the reasons, the order and the time limits.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::Node;
use crate::bt::HaltReason;
use crate::navigator::goal_queue::SHUT;
use crate::navigator::{Signals, Unacknowledged};
use crate::ros::exit_within;
use crate::ros::lifecycle::{LifecycleState, Transition};

/// Time for the destruction of the remaining parts at the end of the process.
const TEARDOWN: Duration = Duration::from_secs(3);
/// Time limits of the shutdown.
#[derive(Clone, Copy, Debug)]
struct ShutdownTimeouts {
    /// The total: less than the five seconds after which `ros2 launch` escalates, and less than the three that a user
    /// waits without doubt.
    all: Duration,
    /// The part of it for the tree. After it, only the GoalTracker handles the goals of the tree.
    tree: Duration,
    /// The part of that for the goals and jobs of the tree. It is shorter, because the tick thread then sends the
    /// result, and it knows the goals that did not stop.
    stop: Duration,
}

impl ShutdownTimeouts {
    const REGULAR: Self = Self::of(2000, 1500, 1300);
    /// After a failed thread. If this thread receives from the servers, a longer wait has no use.
    const FAULT: Self = Self::of(1000, 700, 500);

    const fn of(all: u64, tree: u64, stop: u64) -> Self {
        Self {
            all: Duration::from_millis(all),
            tree: Duration::from_millis(tree),
            stop: Duration::from_millis(stop),
        }
    }
}

impl Node {
    /// Waits for the end, and shuts down in order (guarantee G8).
    pub(super) fn run(mut self, signals: Signals) -> ExitCode {
        let fault = self.wait(signals);
        let started = Instant::now();
        let (timeouts, code) = match &fault {
            None => (ShutdownTimeouts::REGULAR, 0),
            Some(_) => (ShutdownTimeouts::FAULT, 1),
        };
        // First of all, because the following calls may wait for a lock held by a thread that stalls in the middleware.
        exit_within(timeouts.all + TEARDOWN, code);
        // Before the transition: its halt has a longer limit, and it may wait for another transition.
        self.ticks.handle().shut();
        let reason = HaltReason::ShuttingDown;
        let halted = self.ticks.handle().halt_within(reason, timeouts.stop);
        // The transition of a lifecycle manager, if none has requested it, with our own time limit.
        let lifecycle = self.lifecycle.handle();
        if lifecycle.state() != LifecycleState::Finalized
            && lifecycle.change(Transition::ShutDown, timeouts.tree).is_err()
        {
            tracing::error!("the transition `shutdown` did not end in time");
        }
        let left = timeouts.all.saturating_sub(started.elapsed());
        self.goal_tracker.handle().shut_down(left);
        // The jobs of a tree that is blocked by a leaf are not cancelled yet.
        self.jobs.cancel_all();
        let goal_tracker = self.goal_tracker.handle();
        // When the GoalTracker has processed the shutdown, all earlier messages through it have left.
        let is_over =
            || goal_tracker.is_settled(|_| false) && goal_tracker.view().idle && self.jobs.is_empty();
        while started.elapsed() < timeouts.all && !is_over() {
            std::thread::sleep(Duration::from_millis(2));
        }
        for job in self.jobs.give_up() {
            tracing::error!("job still running when the process ends: {job}");
        }
        // The tick thread has answered its clients. Goals that are just being accepted, and goals of a tree that is
        // blocked by a leaf, must not wait for it.
        let reason = match halted.try_wait() {
            Ok(()) => SHUT,
            Err(Unacknowledged::NotYet) => "the node shut down while a leaf blocked the tick thread",
            Err(Unacknowledged::Never) => "the node shut down after its tick thread had ended",
        };
        if let Some(servers) = &self.servers {
            if let Some(server) = &servers.to_pose {
                server.abort_active(reason);
            }
            if let Some(server) = &servers.through_poses {
                server.abort_active(reason);
            }
        }
        drop(self.watchdog);
        // The guardian is not dismissed. It ends with this process; if a goal did not stop, the guardian first cancels
        // it again.
        if let Some(fault) = fault {
            tracing::error!("{fault}");
        }
        ExitCode::from(code)
    }

    /// Waits for a signal or the failure of a thread. Returns the fault of a failed thread.
    fn wait(&mut self, signals: Signals) -> Option<String> {
        let (runtime, mut end, mut child) = signals.split();
        runtime.block_on(async {
            loop {
                let restart = self.guardian.as_mut().and_then(|guardian| {
                    guardian.check();
                    guardian.restart_at()
                });
                tokio::select! {
                    () = end() => return None,
                    // Checked above.
                    _ = child.recv() => {}
                    () = sleep_until(restart), if restart.is_some() => {
                        if let Some(guardian) = &mut self.guardian {
                            guardian.restart();
                        }
                    }
                    () = self.thread_exit.notified() => {
                        if let Some(Err(fault)) = self.ros.handle().thread_exit() {
                            return Some(fault);
                        }
                        if self.ticks.is_finished() {
                            return Some("the tick thread has ended".to_owned());
                        }
                    }
                }
            }
        })
    }
}

async fn sleep_until(time: Option<Instant>) {
    if let Some(time) = time {
        tokio::time::sleep_until(time.into()).await;
    }
}
