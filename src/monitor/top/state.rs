//! What is known about a run at one moment.

use std::collections::BTreeMap;
use std::time::Duration;

use super::goal_table::GoalTable;
use super::node_state::{NodeState, Reason};
use super::tick_times::TickTimes;
use crate::bt::Time;
use crate::monitor::web::{Change, ChangeKind};

/// A blackboard entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) value: String,
    pub(super) type_name: String,
    /// The number of the node that wrote it; `None`: the navigator.
    pub(super) writer: Option<u32>,
    pub(super) time: Time,
}

/// The end of a navigation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct End {
    /// `succeeded`, `failed` or `canceled`.
    pub(super) status: String,
    pub(super) code: u16,
    pub(super) message: String,
}

/// The state of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct State {
    /// The nodes in the order of their numbers.
    pub(super) nodes: Vec<NodeState>,
    /// The blackboard, by slot.
    pub(super) values: BTreeMap<u32, Entry>,
    pub(super) goals: GoalTable,
    pub(super) ticks: TickTimes,
    /// The time of the last change.
    pub(super) time: Time,
    pub(super) end: Option<End>,
    pub(super) is_stopping: bool,
    /// The error that ended the tree.
    pub(super) error: String,
    /// Records that this client did not get.
    pub(super) lost: u64,
}

impl State {
    /// The state at the beginning of a run.
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            nodes: vec![NodeState::default(); nodes],
            ..Self::default()
        }
    }

    fn node(&mut self, node: u32) -> Option<&mut NodeState> {
        self.nodes.get_mut(node as usize)
    }

    /// Applies a change.
    pub(super) fn apply(&mut self, change: &Change) {
        let time = change.time;
        self.time = time;
        match &change.kind {
            ChangeKind::TickBegan => self.ticks.count += 1,
            ChangeKind::Ticked(took, missed) => self.ticks.add(Duration::from_nanos(*took), *missed),
            ChangeKind::TickFailed(error) => error.clone_into(&mut self.error),
            ChangeKind::Status(node, status) => {
                if let Some(node) = self.node(*node) {
                    node.change(*status, time);
                }
            }
            ChangeKind::Halted(node, reason) => {
                if let Some(node) = self.node(*node) {
                    node.halt(reason.to_string(), time);
                }
            }
            ChangeKind::Skipped(node) => {
                if let Some(node) = self.node(*node) {
                    node.skip(time);
                }
            }
            ChangeKind::Wrote(slot, writer, value, type_name) => {
                let entry = value.as_ref().map(|value| Entry {
                    value: value.clone(),
                    type_name: type_name.clone(),
                    writer: *writer,
                    time,
                });
                match entry {
                    Some(entry) => drop(self.values.insert(*slot, entry)),
                    None => drop(self.values.remove(slot)),
                }
            }
            ChangeKind::Sent(ticket, kind, leaf, server) => {
                self.goals.send(*ticket, kind, *leaf, server, time);
            }
            ChangeKind::GoalState(ticket, state, _) => self.goals.update(*ticket, state),
            ChangeKind::GoalEnded(ticket, state, details) => self.end_goal(*ticket, state, details, time),
            ChangeKind::Replaced(_) => self.is_stopping = false,
            ChangeKind::Stopping => self.is_stopping = true,
            ChangeKind::Ended(status, code, message) => {
                self.end = Some(End {
                    status: status.to_string(),
                    code: *code,
                    message: message.clone(),
                });
            }
            ChangeKind::Lost(count) => self.lost = self.lost.saturating_add(*count),
            ChangeKind::TickEnded(_)
            | ChangeKind::TreeHalt(_)
            | ChangeKind::Key(..)
            | ChangeKind::LogLine(..) => {}
        }
    }

    fn end_goal(&mut self, ticket: u64, state: &str, details: &str, time: Time) {
        let leaf = self.goals.end(ticket, state, details, time);
        let failed = leaf.filter(|_| state == "failed");
        if let Some(node) = failed.and_then(|leaf| self.node(leaf)) {
            let text = details.to_owned();
            node.reason = Some(Reason { text, time });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::node_state::Shown;
    use super::*;
    use crate::bt::HaltReason;
    use crate::bt::NodeStatus::{Failure, Idle, Running, Success};

    fn after(kinds: &[(u64, ChangeKind)]) -> State {
        let mut state = State::new(3);
        for (milliseconds, kind) in kinds {
            state.apply(&Change {
                time: Time::from_millis(*milliseconds),
                kind: kind.clone(),
            });
        }
        state
    }

    #[test]
    fn a_node_keeps_its_result_and_reason_after_a_reset() {
        use ChangeKind::{GoalEnded, Halted, Sent, Status};
        let failed = after(&[
            (1, Sent(5, "goal".into(), Some(1), "/spin".into())),
            (1, Status(1, Running)),
            (9, GoalEnded(5, "failed".into(), "stuck".into())),
            (9, Status(1, Failure)),
            (12, Status(1, Idle)),
        ]);
        let node = &failed.nodes[1];
        assert_eq!(
            (node.shown(), node.is_over(), node.since),
            (Shown::Failure, true, Time::from_millis(9))
        );
        assert_eq!(
            (node.activations, node.reason.as_ref().unwrap().text.as_str()),
            (1, "stuck")
        );
        let halted = after(&[
            (1, Status(1, Running)),
            (4, Halted(1, HaltReason::Preempted)),
            (4, Status(1, Idle)),
        ]);
        assert_eq!(halted.nodes[1].shown(), Shown::Halted);
        assert_eq!(halted.nodes[1].reason.as_ref().unwrap().text, "preempted");
        let again = after(&[
            (1, Status(1, Running)),
            (2, Status(1, Success)),
            (3, Status(1, Success)),
        ]);
        assert_eq!(again.nodes[1].activations, 2);
    }

    #[test]
    fn numbers_of_nodes_that_do_not_exist_change_nothing() {
        let state = after(&[
            (1, ChangeKind::Status(3, Running)),
            (1, ChangeKind::Halted(u32::MAX, HaltReason::Preempted)),
            (1, ChangeKind::GoalEnded(7, "failed".into(), String::new())),
        ]);
        assert_eq!(state.nodes, State::new(3).nodes);
    }
}
