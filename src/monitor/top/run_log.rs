//! The log of a run: which leaf ran, failed or was halted, and why; recoveries.

use rustc_hash::FxHashMap;

use super::node_state::Shown;
use super::state::State;
use super::words::duration;
use crate::bt::{NodeStatus, Time};
use crate::monitor::web::{Change, ChangeKind};

/// Number of lines from which on the older half is forgotten.
const MAX_LINES: usize = 40_000;

/// A line of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LogLine {
    pub(super) time: Time,
    /// The number of the node of which it tells.
    pub(super) node: Option<u32>,
    pub(super) text: String,
    pub(super) kind: Shown,
}

/// The log so far.
#[derive(Clone, Debug, Default)]
pub(super) struct RunLog {
    lines: Vec<LogLine>,
    /// The leaves that run, and since when.
    open: FxHashMap<u32, Time>,
}

impl RunLog {
    /// The lines up to a time.
    pub(super) fn until(&self, time: Option<Time>) -> &[LogLine] {
        let count = time.map_or(self.lines.len(), |time| {
            self.lines.partition_point(|line| line.time <= time)
        });
        &self.lines[..count]
    }

    /// Adds the line of a change, if there is one. `before`: the state before the change; `keys`: the names of the slots.
    pub(super) fn add(&mut self, change: &Change, is_leaf: bool, before: &State, keys: &[String]) {
        let line = match &change.kind {
            ChangeKind::Status(node, status) if is_leaf => self.status(*node, *status, change.time, before),
            ChangeKind::Halted(node, reason) if is_leaf => {
                Some((Some(*node), format!("is halted: {reason}"), Shown::Halted))
            }
            ChangeKind::Wrote(slot, by, Some(value), _) => recovery(*slot, *by, value, keys),
            ChangeKind::TickFailed(error) => {
                Some((None, format!("the tree raised an error: {error}"), Shown::Failure))
            }
            ChangeKind::TreeHalt(reason) => {
                Some((None, format!("the tree is halted: {reason}"), Shown::Halted))
            }
            ChangeKind::Replaced(_) => {
                let text = "another goal replaces the goal; the tree continues".to_owned();
                Some((None, text, Shown::Idle))
            }
            ChangeKind::Ended(status, code, message) => {
                Some((None, end_text(status, *code, message), end_kind(status)))
            }
            ChangeKind::LogLine(level, text) => Some((None, format!("[{level}] {text}"), level_kind(level))),
            ChangeKind::Lost(count) => Some((None, format!("{count} records are missing"), Shown::Failure)),
            _ => None,
        };
        if let Some((node, text, kind)) = line {
            let time = change.time;
            self.lines.push(LogLine {
                time,
                node,
                text,
                kind,
            });
            if self.lines.len() > MAX_LINES {
                self.lines.drain(..MAX_LINES / 2);
            }
        }
    }

    fn status(&mut self, node: u32, status: NodeStatus, time: Time, before: &State) -> Option<Line> {
        if status == NodeStatus::Running {
            if self.open.contains_key(&node) {
                return None;
            }
            self.open.insert(node, time);
            return Some((Some(node), "runs".to_owned(), Shown::Running));
        }
        let begin = self.open.remove(&node)?;
        let how = match status {
            NodeStatus::Success => "succeeds",
            NodeStatus::Failure => "fails",
            _ => return None,
        };
        let reason = before
            .nodes
            .get(node as usize)
            .and_then(|node| node.reason.as_ref());
        let why = reason
            .filter(|reason| status == NodeStatus::Failure && reason.time == time)
            .map_or_else(String::new, |reason| format!(": {}", reason.text));
        let text = format!("{how} after {}{why}", duration(time.since(begin)));
        Some((Some(node), text, status.into()))
    }
}

/// Node, text and kind of a line.
type Line = (Option<u32>, String, Shown);

fn recovery(slot: u32, by: Option<u32>, value: &str, keys: &[String]) -> Option<Line> {
    let is_count = keys
        .get(slot as usize)
        .is_some_and(|key| key == "number_recoveries");
    let is_recovery = is_count && value.parse::<u32>().is_ok_and(|number| number > 0);
    is_recovery.then(|| (by, format!("recovery {value}"), Shown::Failure))
}

/// The color of a line of the node's log.
fn level_kind(level: &str) -> Shown {
    match level {
        "ERROR" => Shown::Failure,
        "WARN" => Shown::Halted,
        _ => Shown::Idle,
    }
}

/// The end of a navigation in words.
fn end_text(status: &str, code: u16, message: &str) -> String {
    let how = if status == "canceled" {
        "was cancelled"
    } else {
        status
    };
    let code = if code == 0 {
        String::new()
    } else {
        format!(" (error code {code})")
    };
    let message = if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    };
    format!("the navigation {how}{code}{message}")
}

/// The kind of the end of a navigation.
pub(super) fn end_kind(status: &str) -> Shown {
    match status {
        "succeeded" => Shown::Success,
        "failed" => Shown::Failure,
        _ => Shown::Halted,
    }
}
