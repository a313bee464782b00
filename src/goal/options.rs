//! How patient a leaf is, and what it does about goals that are still there.

use std::time::Duration;

/// The times and policies of one goal or call, from the leaf's ports and the node's parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GoalOptions {
    /// The longest wait for the goal's acceptance, or for a service's answer (Nav2's `server_timeout`). Afterwards the leaf
    /// fails, and the GoalTracker cancels what may still be accepted.
    pub accept_timeout: Duration,
    /// The longest wait for an absent server to appear (Nav2's `wait_for_service_timeout`). Afterwards the leaf fails.
    pub absent_timeout: Duration,
    /// How long a stopping goal holds back the next one on its server (G5). Afterwards it is reported as
    /// still running, and stopping it goes on. Also: how long a server may take to end a goal that a newer
    /// one of the same leaf replaced.
    pub cancel_timeout: Duration,
    /// Between two cancel requests for a goal that has not stopped, or two questions for its result.
    pub cancel_retry: Duration,
    /// The longest a goal may run after acceptance; `None`: as long as it likes. Afterwards the leaf fails and
    /// the goal is cancelled.
    pub result_timeout: Option<Duration>,
    /// How long a result may lag behind a status that says the goal is over, before it is asked for again; doubled
    /// with each question.
    pub result_retry: Duration,
    /// How often it is asked for again; without an answer to the last it is a lost result. The middleware repeats what
    /// a wireless link lost every three seconds: five doublings of 250 ms are 15.75 s, enough for five repeats. With
    /// three of them, one repeat, 7 of 25 navigations over a wire that loses every fifth frame failed of it.
    pub result_questions: u32,
    /// From the acceptance of a goal until its result is asked for again while it executes; doubled with each question.
    /// A server that was restarted answers that it knows no such goal. These questions are for restarts that the graph does
    /// not show ([`WireEvent::ServerGone`](super::WireEvent)); servers keep each question until the goal is over, so a goal
    /// of a day is asked after fifteen times.
    pub result_poll: Duration,
    /// How long a goal without a leaf is tracked in all; then that is given up, and reported as an error.
    pub give_up_timeout: Duration,
    /// What an update does to the goal it replaces.
    pub update: UpdatePolicy,
    /// Whether this goal waits for others that are stopping on the same server.
    pub after_halt: AfterHalt,
}

impl Default for GoalOptions {
    fn default() -> Self {
        Self {
            accept_timeout: Duration::from_secs(1),
            absent_timeout: Duration::from_secs(1),
            cancel_timeout: Duration::from_secs(2),
            cancel_retry: Duration::from_millis(250),
            result_timeout: None,
            result_retry: Duration::from_millis(250),
            result_questions: 5,
            result_poll: Duration::from_secs(5),
            give_up_timeout: Duration::from_secs(60),
            update: UpdatePolicy::ServerPreempts,
            after_halt: AfterHalt::Wait,
        }
    }
}

/// What an update (a new path for FollowPath) does to the goal it replaces.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum UpdatePolicy {
    /// The new goal is sent at once and the server ends the old one by itself, as Nav2's servers do. If it
    /// does not within the cancel timeout, the old goal is cancelled.
    #[default]
    ServerPreempts,
    /// The old goal is cancelled, and the new one is sent when it has ended. For servers that run goals side
    /// by side.
    CancelFirst,
}

/// Whether a start waits for goals of ours that are stopping on the same server (G5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AfterHalt {
    /// Wait, RUNNING, until they are over or their cancel timeout has passed.
    #[default]
    Wait,
    /// Send at once, behind their cancels.
    Immediately,
}
