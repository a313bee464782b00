//! The node parameters that leaves go by.

use std::time::Duration;

use crate::bt::HaltOrder;
use crate::goal::GoalOptions;

/// Defaults for ports that a tree leaves out, and the switches that bring back Nav2's behaviour where navtree differs
/// (`docs/differences.md`). Names and defaults are Nav2's.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `global_frame`.
    pub global_frame: String,
    /// `robot_base_frame`.
    pub robot_base_frame: String,
    /// `transform_tolerance`: accepted, and used by nothing here. In Nav2 it is the time for which a tick is blocked
    /// to wait for a transform; as an age limit its default of 0.1 s would fail with odometry of 10 Hz.
    pub transform_tolerance: Duration,
    /// `transform_age_limit`: a newest transform older than this counts as missing; `None`: of any age, as in Nav2.
    pub transform_age_limit: Option<Duration>,
    /// The larger of `response_timeout` and `default_server_timeout`: for the acceptance of a goal or the answer of a
    /// service.
    pub response_timeout: Duration,
    /// The larger of `response_timeout` above and `wait_for_service_timeout`: for a server that is absent.
    pub absent_timeout: Duration,
    /// `default_cancel_timeout`: how long a stopping goal may hold back the next on the same server.
    pub cancel_timeout: Duration,
    /// `give_up_timeout`: how long stopping a goal is tried in all.
    pub give_up_timeout: Duration,
    /// `odom_topic`.
    pub odom_topic: String,
    /// `filter_duration` of the odometry smoother.
    pub filter_duration: Duration,
    /// `goal_reached_tol`, metres.
    pub goal_reached_tolerance: f64,
    /// `goal_updater_topic`.
    pub goal_updater_topic: String,
    /// `goals_updater_topic`.
    pub goals_updater_topic: String,
    /// `max_goal_poses`: how many poses a goal, or a list of goals on a topic, may have.
    pub max_goal_poses: usize,
    /// A goal that another client or a Cancel node cancelled counts as a success of its leaf, as in Nav2. Default false: a failure.
    pub canceled_is_success: bool,
    /// `GoalUpdated` and its kin forget their reference when a reactive parent resets them, as in Nav2 (E7), where
    /// they then never fire. Default false.
    pub latch_on_activation: bool,
    /// `battery_unknown_is_low`: `IsBatteryLow` holds as long as no battery has said anything. Default false, as in
    /// Nav2.
    pub battery_unknown_is_low: bool,
    /// `halt_before_start`: in which order what a tick stops and starts gets to the servers. The default is
    /// [`HaltOrder::BeforeStarts`].
    pub halt_order: HaltOrder,
}

impl Settings {
    /// The times of a goal or call whose leaf says nothing else.
    pub fn goal_options(&self) -> GoalOptions {
        GoalOptions {
            accept_timeout: self.response_timeout,
            absent_timeout: self.absent_timeout,
            cancel_timeout: self.cancel_timeout,
            give_up_timeout: self.give_up_timeout,
            ..GoalOptions::default()
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            global_frame: "map".to_owned(),
            robot_base_frame: "base_link".to_owned(),
            transform_tolerance: Duration::from_millis(100),
            transform_age_limit: Some(Duration::from_secs(1)),
            // Nav2's 20 ms fail in the field (nav2 #4278, #5666): nothing waits here, so patience costs nothing.
            response_timeout: Duration::from_secs(1),
            absent_timeout: Duration::from_secs(1),
            cancel_timeout: Duration::from_secs(2),
            give_up_timeout: Duration::from_secs(60),
            odom_topic: "odom".to_owned(),
            filter_duration: Duration::from_millis(300),
            goal_reached_tolerance: 0.25,
            goal_updater_topic: "goal_update".to_owned(),
            goals_updater_topic: "goals_update".to_owned(),
            max_goal_poses: 10_000,
            canceled_is_success: false,
            latch_on_activation: false,
            battery_unknown_is_low: false,
            halt_order: HaltOrder::default(),
        }
    }
}
