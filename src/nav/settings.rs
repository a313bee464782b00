//! The node parameters that leaves use.

use std::time::Duration;

use crate::bt::HaltOrder;
use crate::goal::GoalOptions;

/// Defaults for omitted ports, and the switches that restore Nav2's behavior where navtree differs
/// (`docs/differences.md`). Names and defaults are those of Nav2.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Settings {
    /// `global_frame`.
    pub global_frame: String,
    /// `robot_base_frame`.
    pub robot_base_frame: String,
    /// `transform_tolerance`: accepted and not used. In Nav2 a tick blocks for this time to wait for a transform. As an
    /// age limit, its default of 0.1 s would fail with odometry at 10 Hz.
    pub transform_tolerance: Duration,
    /// `transform_age_limit`: maximum age of a newest transform, and of odometry that shows that the robot stands still.
    /// `None`: no limit, as in Nav2.
    pub transform_age_limit: Option<Duration>,
    /// The larger of `response_timeout` and `default_server_timeout`: timeout for the acceptance of a goal or the
    /// response of a service.
    pub response_timeout: Duration,
    /// The larger of `response_timeout` above and `wait_for_service_timeout`: timeout for an absent server.
    pub absent_timeout: Duration,
    /// `default_cancel_timeout`: maximum time for which a stopping goal delays the next goal on the same server.
    pub cancel_timeout: Duration,
    /// `give_up_timeout`: maximum time to stop a goal.
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
    /// `max_goal_poses`: maximum number of poses of a goal, or of a list of goals on a topic.
    pub max_goal_poses: usize,
    /// Whether a leaf succeeds if another client or a Cancel node cancels its goal, as in Nav2. Default false: the leaf
    /// fails.
    pub canceled_is_success: bool,
    /// Whether `GoalUpdated` and similar nodes drop their reference when a reactive parent resets them, as in Nav2
    /// (E7). They then never fire. Default false.
    pub latch_on_activation: bool,
    /// `battery_unknown_is_low`: whether `IsBatteryLow` succeeds before the first battery message. Default false, as in
    /// Nav2.
    pub battery_unknown_is_low: bool,
    /// `halt_before_start`: the order of halts and starts of one tick. Default [`HaltOrder::BeforeStarts`].
    pub halt_order: HaltOrder,
}

impl Settings {
    /// The default timeouts of a goal or call.
    pub fn goal_options(&self) -> GoalOptions {
        GoalOptions {
            response_timeout: self.response_timeout,
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
            // Nav2's 20 ms are too short in practice (nav2 #4278, #5666). No thread waits here, so a long timeout costs
            // nothing.
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
