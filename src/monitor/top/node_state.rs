//! What is known about one node of a tree.

use crate::bt::{NodeStatus, Time};

/// What is shown of a node: its status, or its last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Shown {
    #[default]
    Idle,
    Running,
    Success,
    Failure,
    Skipped,
    Halted,
}

impl From<NodeStatus> for Shown {
    fn from(status: NodeStatus) -> Self {
        match status {
            NodeStatus::Idle => Self::Idle,
            NodeStatus::Running => Self::Running,
            NodeStatus::Success => Self::Success,
            NodeStatus::Failure => Self::Failure,
            NodeStatus::Skipped => Self::Skipped,
        }
    }
}

/// Why a node failed or was halted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reason {
    pub(super) text: String,
    pub(super) time: Time,
}

/// The state of one node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct NodeState {
    pub(super) status: NodeStatus,
    /// The last status except IDLE.
    pub(super) last: Shown,
    /// The time of the last change of `last`.
    pub(super) since: Time,
    /// The number of activations.
    pub(super) activations: u32,
    pub(super) reason: Option<Reason>,
}

impl NodeState {
    /// Applies a change of the stored status.
    pub(super) fn change(&mut self, status: NodeStatus, time: Time) {
        let before = std::mem::replace(&mut self.status, status);
        // A reset keeps the time of the result.
        if status != NodeStatus::Idle || before == NodeStatus::Running {
            self.since = time;
        }
        if status == NodeStatus::Idle {
            return;
        }
        if before != NodeStatus::Running {
            self.activations += 1;
        }
        // The reason of a failure comes with it, just before.
        let has_reason = self.reason.as_ref().is_some_and(|reason| reason.time == time);
        if status != NodeStatus::Failure || !has_reason {
            self.reason = None;
        }
        self.last = status.into();
    }

    /// Applies a halt.
    pub(super) fn halt(&mut self, reason: String, time: Time) {
        self.last = Shown::Halted;
        self.reason = Some(Reason { text: reason, time });
    }

    /// Applies a skip.
    pub(super) fn skip(&mut self, time: Time) {
        self.last = Shown::Skipped;
        self.since = time;
    }

    /// What is shown.
    pub(super) fn shown(&self) -> Shown {
        if self.status == NodeStatus::Idle {
            self.last
        } else {
            self.status.into()
        }
    }

    /// The node has the shown status no longer.
    pub(super) fn is_over(&self) -> bool {
        self.status == NodeStatus::Idle
    }
}
