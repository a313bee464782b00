//! The loop of the thread that owns the node.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use super::RosNode;
use crate::bt::panic_text;
use crate::fault;

/// A task with the node.
pub(super) type Task = Box<dyn FnOnce(&mut RosNode) + Send>;

/// The longest sleep. What runs whenever the thread was awake, such as the lines of the log for `/rosout`, waits for no
/// event, so it waits for at most this.
const IDLE: Duration = Duration::from_millis(500);

/// The time for tasks in a round. Messages are taken after it, and the round counts for the watchdog, however many tasks
/// there are.
const TASK_TIME: Duration = Duration::from_millis(20);

/// The number of rounds of the loop, for the watchdog.
#[derive(Debug, Default)]
pub(super) struct Rounds(AtomicU64);

impl Rounds {
    /// The present number.
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs until the senders of `tasks` are gone or a task is `None`. Returns the fault, if it ended because of one.
pub(super) fn run(node: &mut RosNode, tasks: &Receiver<Option<Task>>, rounds: &Rounds) -> Result<(), String> {
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let ready = node.ready().clone();
        loop {
            fault::point();
            let end_of_tasks = Instant::now() + TASK_TIME;
            loop {
                match tasks.try_recv() {
                    Ok(Some(task)) => task(node),
                    Ok(None) | Err(TryRecvError::Disconnected) => return,
                    Err(TryRecvError::Empty) => break,
                }
                if Instant::now() >= end_of_tasks {
                    // More tasks may wait: no sleep.
                    ready.wake();
                    break;
                }
            }
            let latest = Instant::now() + IDLE;
            let until = node.next_due().map_or(latest, |due| due.min(latest));
            ready.sleep_until(until);
            rounds.0.fetch_add(1, Ordering::Relaxed);
            node.run_once();
        }
    }));
    ended.map_err(|panic| format!("error in the ROS thread: {}", panic_text(&*panic)))
}

/// Keeps a node whose loop has failed until its thread is told to end. Its clients, services and publishers can still
/// send cancels and results.
pub(super) fn keep_until_the_end(tasks: &Receiver<Option<Task>>) {
    while let Ok(Some(task)) = tasks.recv() {
        // The drop tells the sender of the task that there is no answer.
        drop(task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::rcl::tests::harness::{TIMEOUT, alone};
    use crate::ros::{Ros, RosHandle};

    /// Posts a task that posts the next one.
    fn post_without_end(ros: RosHandle) {
        ros.clone().post(move |_| post_without_end(ros));
    }

    #[test]
    fn tasks_without_end_keep_the_node_neither_from_its_messages_nor_from_the_beat_for_the_watchdog() {
        let name = "ros::spin::tests::\
                    tasks_without_end_keep_the_node_neither_from_its_messages_nor_from_the_beat_for_the_watchdog";
        alone(name, || {
            let ros = Ros::start("tasks", "").unwrap();
            post_without_end(ros.handle().clone());
            let beat = ros.handle().beats().1;
            let deadline = Instant::now() + TIMEOUT;
            while ros.handle().beats().1 < beat + 6 && Instant::now() < deadline {
                std::thread::yield_now();
            }
            assert!(ros.handle().beats().1 >= beat + 6);
        });
    }
}
