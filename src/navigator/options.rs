//! The parameters for running goals.

use std::time::Duration;

use super::NavigatorKind;
use crate::bt::Time;

/// The options of a navigator. Names and defaults are Nav2's where Nav2 has them.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `bt_loop_duration`.
    pub period: Duration,
    /// `tick_on_event`: an event brings an additional tick at once.
    pub tick_on_event: bool,
    /// `min_tick_interval`: minimum time from one tick to the next tick that an event brings.
    pub min_tick_interval: Duration,
    /// `1 / feedback_rate`. Nav2 sends feedback with every tick.
    pub feedback_period: Duration,
    /// Time that a new goal may wait for a missing transform.
    pub arrival_patience: Duration,
    /// Time until the discovery of other nodes is complete. A new goal waits for a transform at least until then.
    pub discovered: Time,
    /// Time for the goals and jobs of a tree to stop after its end or halt. After it, the client gets the result with
    /// the list of those that have not stopped. Zero: do not wait, and report nothing as late.
    pub stop_timeout: Duration,
    /// `clock_timeout`: time that a goal may wait for the first message on `/clock`, on the clock that a simulation
    /// does not stop. Zero: no limit.
    pub clock_timeout: Duration,
    /// `allow_navigator_preemption`.
    pub allow_navigator_preemption: bool,
    /// `allow_tree_preemption`: a goal with another tree replaces the current goal.
    pub allow_tree_preemption: bool,
    /// `always_reload_bt_xml`: a new goal gets a new tree, as in Nav2; a goal that replaces the current one continues
    /// with the running tree.
    pub always_reload: bool,
    /// `goal_blackboard_id`.
    pub goal_key: String,
    /// `goals_blackboard_id`.
    pub goals_key: String,
    /// `path_blackboard_id`.
    pub path_key: String,
    /// The keys for the error code of a result: `error_code_names`, and each of `error_code_name_prefixes` with
    /// `_error_code`.
    pub error_code_keys: Vec<String>,
    /// `bt_log_idle_transitions`.
    pub log_idle_transitions: bool,
    /// `random_seed`: the seed for the seeds of all trees.
    pub random_seed: u64,
}

impl Options {
    /// The key for a goal of this kind. A tree may write the key of the other kind itself.
    pub(crate) fn seeded_key(&self, kind: NavigatorKind) -> &str {
        match kind {
            NavigatorKind::ToPose => &self.goal_key,
            NavigatorKind::ThroughPoses => &self.goals_key,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            period: Duration::from_millis(10),
            tick_on_event: false,
            min_tick_interval: Duration::from_millis(1),
            feedback_period: Duration::from_millis(100),
            arrival_patience: Duration::from_millis(500),
            discovered: Time::ZERO,
            stop_timeout: Duration::from_secs(3),
            clock_timeout: Duration::from_secs(10),
            allow_navigator_preemption: false,
            allow_tree_preemption: true,
            always_reload: false,
            goal_key: "goal".to_owned(),
            goals_key: "goals".to_owned(),
            path_key: "path".to_owned(),
            error_code_keys: vec![
                "follow_path_error_code".to_owned(),
                "compute_path_error_code".to_owned(),
            ],
            log_idle_transitions: true,
            random_seed: 0,
        }
    }
}
