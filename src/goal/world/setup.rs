//! The faults of a world, and the options of its leaf.

use std::time::Duration;

use crate::goal::{GoalOptions, UpdatePolicy};

/// The maximum number of each fault, and the options of the leaf. Time advances in seconds, from deadline to deadline:
/// between two deadlines no behavior depends on the elapsed time.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) activations: u64,
    /// Maximum number of messages under way at once.
    pub(crate) messages: usize,
    pub(crate) updates: u8,
    pub(crate) update_policy: UpdatePolicy,
    /// Lost messages. Any number may be arbitrarily late, which is nearly the same. A status list is repeated, because
    /// the topic is reliable and latched.
    pub(crate) losses: u8,
    /// Messages that arrive twice.
    pub(crate) duplicates: u8,
    /// Crashes of the server. It may come back without its goals before its absence is noticed. Then the client learns
    /// later that the process is another one, and the endpoints of the crashed one stay on the graph for a while.
    pub(crate) server_crashes: u8,
    /// Times that another server with its name appears, without goals.
    pub(crate) second_servers: u8,
    /// Times that a running server seems absent.
    pub(crate) partitions: u8,
    /// Times that the server drops the results of ended goals.
    pub(crate) dropped_results: u8,
    /// Crashes of the process with the GoalTracker. The next process adopts goals when adoption is allowed.
    pub(crate) process_crashes: u8,
    /// Whether the server may refuse to cancel.
    pub(crate) may_refuse_cancels: bool,
    /// Goals that the server accepts before they are in its table. In between, it answers requests as if they did not exist.
    pub(crate) early_acceptances: u8,
    /// Goals that another client cancels.
    pub(crate) foreign_cancels: u8,
    /// Times that the owner of the GoalTracker is late: it handles all arrived inputs before it applies any effect.
    pub(crate) delayed_effects: u8,
}

impl Setup {
    pub(crate) const NONE: Self = Self {
        activations: 1,
        messages: 3,
        updates: 0,
        update_policy: UpdatePolicy::ServerPreempts,
        losses: 0,
        duplicates: 0,
        server_crashes: 0,
        second_servers: 0,
        partitions: 0,
        dropped_results: 0,
        process_crashes: 0,
        may_refuse_cancels: false,
        early_acceptances: 0,
        foreign_cancels: 0,
        delayed_effects: 0,
    };

    pub(super) fn options(&self) -> GoalOptions {
        GoalOptions {
            response_timeout: Duration::from_secs(1),
            absent_timeout: Duration::from_secs(1),
            cancel_timeout: Duration::from_secs(1),
            cancel_retry: Duration::from_secs(1),
            result_timeout: Some(Duration::from_secs(2)),
            result_retry: Duration::from_secs(1),
            result_questions: 3,
            result_poll: Duration::from_secs(2),
            give_up_timeout: Duration::from_secs(2),
            update: self.update_policy,
        }
    }

    /// The maximum wait of a leaf, by its options: twice for stopping goals, once for an absent server, the acceptance,
    /// the result and a lost result. An update restarts the last three after the goal before it had its time to end.
    pub(super) fn max_leaf_wait(&self) -> Duration {
        let lost = 1 + 2 + 4 + 8;
        Duration::from_secs(1 + 1 + 1 + (1 + 2 + lost) + u64::from(self.updates) * (2 + 1 + 2 + lost))
    }

    /// The maximum tracking time of a goal without a leaf. A late acceptance and the return of the server restart it.
    pub(super) fn max_tracking_time(&self) -> Duration {
        let faults = self.server_crashes + self.second_servers + self.partitions;
        Duration::from_secs(2 * (3 + u64::from(faults)))
    }
}
