//! Why a running node was stopped.

use std::fmt;

/// The reason that a halt carries, for leaves, logs and cancel messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HaltReason {
    /// It lost its turn: a sibling took over under a reactive parent, or a condition stopped holding.
    Preempted,
    /// The parent completed without it.
    ParentFinished,
    /// A time limit above it ran out.
    TimedOut,
    /// The client cancelled the navigation goal.
    GoalCanceled,
    /// A new goal or another tree takes the place of this run.
    TreeSwapped,
    /// The node is deactivated.
    Deactivated,
    /// The process ends.
    ShuttingDown,
    /// A node of the tree raised an error.
    TreeFailed,
}

/// In which order what a tick starts outside of the tree and what it stops there get to the world.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum HaltOrder {
    /// Whatever lost its turn is stopped before anything is started that won (guarantee G2). A reactive parent has to
    /// tick a child to learn that it wins, so what is to be started is kept until the tick has ended.
    #[default]
    BeforeStarts,
    /// In the order in which the nodes are ticked and halted, as in BehaviorTree.CPP (#1031): for a moment both are
    /// under way.
    AsTicked,
}

impl fmt::Display for HaltReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Preempted => "lost its turn",
            Self::ParentFinished => "parent finished",
            Self::TimedOut => "timed out",
            Self::GoalCanceled => "goal cancelled",
            Self::TreeSwapped => "tree swapped",
            Self::Deactivated => "deactivated",
            Self::ShuttingDown => "shutting down",
            Self::TreeFailed => "tree failed",
        })
    }
}
