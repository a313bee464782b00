//! Timeouts of a leaf's goals, and its policies for goals that are still on the server.

use std::time::Duration;

/// The timeouts and policies of one goal or call, from the leaf's ports and the node's parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GoalOptions {
    /// Maximum wait for the acceptance of a goal or the answer of a service (Nav2's `server_timeout`). Afterwards the
    /// leaf fails, and the GoalTracker cancels the goal if it is accepted later.
    pub response_timeout: Duration,
    /// Maximum wait for an absent server (Nav2's `wait_for_service_timeout`). Afterwards the leaf fails.
    pub absent_timeout: Duration,
    /// Maximum time for which a stopping goal holds back the next one on its server (G5). Afterwards the goal is
    /// reported as still running and its cancels continue. Also the maximum time for a server to end a goal that a
    /// newer goal of the same leaf replaced.
    pub cancel_timeout: Duration,
    /// Interval between two cancel requests for a goal that has not stopped, or between two requests for its result.
    pub cancel_retry: Duration,
    /// Maximum run time of a goal after acceptance; `None`: no limit. Afterwards the leaf fails and the goal is
    /// cancelled.
    pub result_timeout: Option<Duration>,
    /// Maximum lag of a result behind a status that shows the end of the goal, before the result is requested again.
    /// Doubled with each request.
    pub result_retry: Duration,
    /// Maximum number of these requests; the result is lost if the last one gets no answer. The middleware repeats a
    /// message that a wireless link lost every three seconds: five doublings of 250 ms are 15.75 s, enough for five
    /// repeats. With three requests, enough for one repeat, 7 of 25 navigations failed over a wire that loses every
    /// fifth frame.
    pub result_questions: u32,
    /// Time from the acceptance of a goal to the first repeated result request during execution. Doubled with each
    /// request. A restarted server answers that it does not know the goal, so these requests detect restarts that the
    /// graph does not show ([`WireEvent::ServerGone`](super::WireEvent)). Servers keep each request until the goal
    /// ends; a goal that runs for a day causes fifteen.
    pub result_poll: Duration,
    /// Maximum time to track a goal without a leaf. Afterwards the goal is given up and reported as an error.
    pub give_up_timeout: Duration,
    /// The effect of an update on the goal that it replaces.
    pub update: UpdatePolicy,
}

impl Default for GoalOptions {
    fn default() -> Self {
        Self {
            response_timeout: Duration::from_secs(1),
            absent_timeout: Duration::from_secs(1),
            cancel_timeout: Duration::from_secs(2),
            cancel_retry: Duration::from_millis(250),
            result_timeout: None,
            result_retry: Duration::from_millis(250),
            result_questions: 5,
            result_poll: Duration::from_secs(5),
            give_up_timeout: Duration::from_secs(60),
            update: UpdatePolicy::ServerPreempts,
        }
    }
}

/// The effect of an update (a new path for FollowPath) on the goal that it replaces.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum UpdatePolicy {
    /// The new goal is sent at once and the server ends the old one, as Nav2's servers do. If the server does not end
    /// it within the cancel timeout, the old goal is cancelled.
    #[default]
    ServerPreempts,
    /// The old goal is cancelled, and the new one is sent after its end. For servers that execute goals in parallel.
    CancelFirst,
}
