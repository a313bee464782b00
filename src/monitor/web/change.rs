//! What the page is told about a run: one change.

use std::borrow::Cow;

use serde_json::{Value as Json, json};

use crate::bt::{HaltReason, NodeStatus, Time};

/// One change, and its time on the clock of the tree.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::monitor) struct Change {
    pub(in crate::monitor) time: Time,
    pub(in crate::monitor) kind: ChangeKind,
}

/// A word of this program, or of the program at the other end of a connection.
pub(in crate::monitor) type Word = Cow<'static, str>;

/// What changed. Nodes and slots are indices of the definition; tickets are numbers of goals and calls.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::monitor) enum ChangeKind {
    TickBegan,
    TickEnded(NodeStatus),
    TickFailed(String),
    /// The work of a tick, in ns, and the ticks missed before it.
    Ticked(u64, u64),
    TreeHalt(HaltReason),
    Status(u32, NodeStatus),
    Halted(u32, HaltReason),
    Skipped(u32),
    /// Slot, writer (`None`: the navigator), value as text (`None`: removed), and type.
    Wrote(u32, Option<u32>, Option<String>, String),
    /// Slot, and the key that it has from now on.
    Key(u32, String),
    /// A goal, a call or a cancel was sent: ticket, word, leaf, server.
    Sent(u64, Word, Option<u32>, String),
    /// The state of a goal or call: ticket, word, details.
    GoalState(u64, Word, String),
    /// A goal or call is no longer of the tree: ticket, word, details.
    GoalEnded(u64, Word, String),
    /// Another goal continues with the tree.
    Replaced(String),
    Stopping,
    /// Status of the navigation, error code, message.
    Ended(Word, u16, String),
    /// A line of the log: level, text.
    LogLine(Word, String),
    Lost(u64),
}

/// What a later change of the same key replaces, when a client needs the state and not its history.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Key {
    /// The last status of a node, and separately its last reset: the page shows both.
    Status(u32, bool),
    Halted(u32),
    Skipped(u32),
    Slot(u32),
    Name(u32),
    Sent(u64),
    GoalState(u64),
    Tick(u8),
    Run(u8),
}

impl Change {
    /// The memory of the change, in bytes.
    pub(super) fn size(&self) -> usize {
        let texts = match &self.kind {
            ChangeKind::Wrote(_, _, value, type_name) => {
                value.as_ref().map_or(0, String::capacity) + type_name.capacity()
            }
            ChangeKind::TickFailed(text)
            | ChangeKind::Key(_, text)
            | ChangeKind::Sent(.., text)
            | ChangeKind::GoalState(.., text)
            | ChangeKind::GoalEnded(.., text)
            | ChangeKind::Replaced(text)
            | ChangeKind::Ended(.., text)
            | ChangeKind::LogLine(_, text) => text.capacity(),
            _ => 0,
        };
        size_of::<Self>() + texts
    }
}

impl ChangeKind {
    /// The key of the change; `None`: the state does not contain it.
    pub(super) fn key(&self) -> Option<Key> {
        Some(match self {
            Self::TickBegan => Key::Tick(0),
            Self::TickEnded(_) => Key::Tick(1),
            Self::Ticked(..) => Key::Tick(2),
            Self::TickFailed(_) => Key::Run(0),
            Self::TreeHalt(_) => Key::Run(1),
            Self::Replaced(_) => Key::Run(2),
            Self::Stopping => Key::Run(3),
            Self::Ended(..) => Key::Run(4),
            Self::Status(node, status) => Key::Status(*node, *status == NodeStatus::Idle),
            Self::Halted(node, _) => Key::Halted(*node),
            Self::Skipped(node) => Key::Skipped(*node),
            Self::Wrote(slot, ..) => Key::Slot(*slot),
            Self::Key(slot, _) => Key::Name(*slot),
            Self::Sent(ticket, ..) => Key::Sent(*ticket),
            Self::GoalState(ticket, ..) => Key::GoalState(*ticket),
            Self::GoalEnded(..) | Self::LogLine(..) | Self::Lost(_) => return None,
        })
    }

    fn json(&self) -> Json {
        match self {
            // The serializer writes the time of a tick with its begin.
            Self::TickBegan => Json::Null,
            Self::TickEnded(status) => json!(["e", *status as u8]),
            Self::TickFailed(error) => json!(["x", error]),
            Self::Ticked(took, missed) => json!(["d", *took as f64 / 1e3, missed]),
            Self::TreeHalt(reason) => json!(["H", reason.to_string()]),
            Self::Status(node, status) => json!(["c", node, *status as u8]),
            Self::Halted(node, reason) => json!(["h", node, reason.to_string()]),
            Self::Skipped(node) => json!(["s", node]),
            Self::Wrote(slot, by, value, type_name) => json!(["w", slot, by, value, type_name]),
            Self::Key(slot, key) => json!(["k", slot, key]),
            Self::Sent(ticket, word, leaf, server) => json!(["g", ticket, word, leaf, server]),
            Self::GoalState(ticket, word, details) => json!(["n", ticket, word, details]),
            Self::GoalEnded(ticket, word, details) => json!(["f", ticket, word, details]),
            Self::Replaced(goal) => json!(["R", goal]),
            Self::Stopping => json!(["S"]),
            Self::Ended(status, code, message) => json!(["E", status, code, message]),
            Self::LogLine(level, text) => json!(["L", level, text]),
            Self::Lost(count) => json!(["l", count]),
        }
    }
}

/// Changes as a JSON list, with times in ms since `origin`: `["t", time]` begins a tick, and `["@", time]` tells the time of
/// what follows.
pub(super) fn to_json<'c>(changes: impl IntoIterator<Item = &'c Change>, origin: Time) -> String {
    let mut list = Vec::new();
    let mut last = None;
    for change in changes {
        let time = change.time.as_nanos() as f64 - origin.as_nanos() as f64;
        let milliseconds = (time / 1e3).round() / 1e3;
        if change.kind == ChangeKind::TickBegan {
            list.push(json!(["t", milliseconds]));
        } else {
            if last != Some(change.time) {
                list.push(json!(["@", milliseconds]));
            }
            list.push(change.kind.json());
        }
        last = Some(change.time);
    }
    Json::Array(list).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_once() {
        let at = |milliseconds, kind| Change {
            time: Time::from_millis(milliseconds),
            kind,
        };
        let changes = [
            at(110, ChangeKind::TickBegan),
            at(110, ChangeKind::Status(2, NodeStatus::Running)),
            at(110, ChangeKind::Ticked(1500, 0)),
            at(115, ChangeKind::Halted(2, HaltReason::TimedOut)),
        ];
        assert_eq!(
            to_json(&changes, Time::from_millis(100)),
            r#"[["t",10.0],["c",2,1],["d",1.5,0],["@",15.0],["h",2,"timed out"]]"#
        );
    }
}
