//! What the parameters say about running goals.

use std::time::Duration;

use super::NavigatorKind;
use crate::bt::Time;

/// Names and defaults are Nav2's where it has them.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `bt_loop_duration`.
    pub period: Duration,
    /// `1 / feedback_rate`. Nav2 sends feedback with every tick.
    pub feedback_period: Duration,
    /// How long a new goal may wait for a transform that is not there yet.
    pub arrival_patience: Duration,
    /// Until when other nodes may not have been discovered yet; a new goal waits for a transform until then in any case.
    pub discovered: Time,
    /// How long everything that a tree has started may take to stop when it has ended or was halted, before its client
    /// is told the end all the same, and what has not stopped; zero: nothing is waited for, and nothing is late.
    pub stop_timeout: Duration,
    /// `clock_timeout`: how long a goal may wait for the first message on `/clock`, by the clock that no simulation stops;
    /// zero: for ever.
    pub clock_timeout: Duration,
    /// `allow_navigator_preemption`.
    pub allow_navigator_preemption: bool,
    /// `allow_tree_preemption`: a goal with another tree takes the place of the one that runs.
    pub allow_tree_preemption: bool,
    /// `always_reload_bt_xml`: a goal that begins gets a tree of its own, as in Nav2; one that takes another's place goes on
    /// with the tree that runs.
    pub always_reload: bool,
    /// `goal_blackboard_id`.
    pub goal_key: String,
    /// `goals_blackboard_id`.
    pub goals_key: String,
    /// `path_blackboard_id`.
    pub path_key: String,
    /// The keys looked at for a result's error code: `error_code_names`, and each of `error_code_name_prefixes` with
    /// `_error_code`.
    pub error_code_keys: Vec<String>,
    /// `bt_log_idle_transitions`.
    pub log_idle_transitions: bool,
    /// `random_seed`: what the seeds of all trees are made of.
    pub random_seed: u64,
}

impl Options {
    /// The key that a goal of this kind is written to. A tree may write the key of the other kind itself.
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
