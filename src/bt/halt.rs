//! Halt reasons and the order of halts and starts.

use std::fmt;

/// The reason of a halt, for leaves, logs and cancel messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum HaltReason {
    /// A sibling took over under a reactive parent, or a condition became false.
    Preempted,
    /// The parent completed without it.
    ParentFinished,
    /// A time limit of an ancestor expired.
    TimedOut,
    /// The client, or an operator at the web page, cancelled the navigation goal.
    GoalCanceled,
    /// A new goal or another tree replaces this run.
    Replaced,
    /// The node is deactivated.
    Deactivated,
    /// The process shuts down.
    ShuttingDown,
    /// A node of the tree raised an error.
    TreeFailed,
}

/// The order in which the starts and halts of one tick take effect outside of the tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
pub enum HaltOrder {
    /// Halts take effect before starts (guarantee G2). A reactive parent must tick a child to learn that the child
    /// takes over, so starts are delayed until the end of the tick.
    #[default]
    BeforeStarts,
    /// Starts and halts take effect in the order of the tick, as in BehaviorTree.CPP (#1031). For a moment both nodes
    /// are active.
    AsTicked,
}

impl HaltReason {
    /// All reasons.
    pub const ALL: [Self; 8] = [
        Self::Preempted,
        Self::ParentFinished,
        Self::TimedOut,
        Self::GoalCanceled,
        Self::Replaced,
        Self::Deactivated,
        Self::ShuttingDown,
        Self::TreeFailed,
    ];
}

impl fmt::Display for HaltReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Preempted => "preempted",
            Self::ParentFinished => "parent finished",
            Self::TimedOut => "timed out",
            Self::GoalCanceled => "goal cancelled",
            Self::Replaced => "replaced by a newer goal or another tree",
            Self::Deactivated => "deactivated",
            Self::ShuttingDown => "shutting down",
            Self::TreeFailed => "tree failed",
        })
    }
}
