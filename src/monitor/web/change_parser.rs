//! Reads changes from the JSON of the feed: the inverse of [`to_json`](super::change::to_json).

use std::time::Duration;

use serde_json::Value as Json;

use super::change::{Change, ChangeKind, Word};
use crate::bt::{HaltReason, NodeStatus, Time};

/// The changes of one event. Their times are relative to the beginning of the run. `time`: the last time of the event
/// before; this function updates it. Changes of a kind that this program does not know are left out.
pub(in crate::monitor) fn from_json(list: &Json, time: &mut Time) -> Vec<Change> {
    let mut changes = Vec::new();
    for item in list.as_array().into_iter().flatten() {
        let Some(fields) = item.as_array().map(|values| Fields(values)) else {
            continue;
        };
        let is_time = matches!(fields.text(0), Some("t" | "@"));
        if let Some(milliseconds) = is_time.then(|| fields.number(1)).flatten() {
            *time = since_start(milliseconds / 1e3);
        }
        if let Some(kind) = fields.kind() {
            changes.push(Change { time: *time, kind });
        }
    }
    changes
}

/// The time after a number of seconds. Zero for a time before the beginning.
fn since_start(seconds: f64) -> Time {
    Time::ZERO + Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

/// The parts of one change.
struct Fields<'j>(&'j [Json]);

impl Fields<'_> {
    fn text(&self, index: usize) -> Option<&str> {
        self.0.get(index)?.as_str()
    }

    fn string(&self, index: usize) -> Option<String> {
        self.text(index).map(str::to_owned)
    }

    fn word(&self, index: usize) -> Option<Word> {
        self.string(index).map(Word::from)
    }

    fn number(&self, index: usize) -> Option<f64> {
        self.0.get(index)?.as_f64()
    }

    fn count(&self, index: usize) -> Option<u64> {
        self.0.get(index)?.as_u64()
    }

    fn index(&self, index: usize) -> Option<u32> {
        self.count(index)?.try_into().ok()
    }

    fn status(&self, index: usize) -> Option<NodeStatus> {
        NodeStatus::from_code(self.count(index)?.try_into().ok()?)
    }

    fn reason(&self, index: usize) -> Option<HaltReason> {
        let text = self.text(index)?;
        HaltReason::ALL
            .into_iter()
            .find(|reason| reason.to_string() == text)
    }

    fn kind(&self) -> Option<ChangeKind> {
        Some(match self.text(0)? {
            "t" => ChangeKind::TickBegan,
            "e" => ChangeKind::TickEnded(self.status(1)?),
            "x" => ChangeKind::TickFailed(self.string(1)?),
            "d" => ChangeKind::Ticked((self.number(1)? * 1e3).round() as u64, self.count(2)?),
            "H" => ChangeKind::TreeHalt(self.reason(1)?),
            "c" => ChangeKind::Status(self.index(1)?, self.status(2)?),
            "h" => ChangeKind::Halted(self.index(1)?, self.reason(2)?),
            "s" => ChangeKind::Skipped(self.index(1)?),
            "w" => ChangeKind::Wrote(
                self.index(1)?,
                self.index(2),
                self.string(3),
                self.string(4).unwrap_or_default(),
            ),
            "k" => ChangeKind::Key(self.index(1)?, self.string(2)?),
            "g" => ChangeKind::Sent(self.count(1)?, self.word(2)?, self.index(3), self.string(4)?),
            "n" => ChangeKind::GoalState(self.count(1)?, self.word(2)?, self.string(3)?),
            "f" => ChangeKind::GoalEnded(self.count(1)?, self.word(2)?, self.string(3)?),
            "R" => ChangeKind::Replaced(self.string(1)?),
            "S" => ChangeKind::Stopping,
            "E" => ChangeKind::Ended(self.word(1)?, self.count(2)?.try_into().ok()?, self.string(3)?),
            "L" => ChangeKind::LogLine(self.word(1)?, self.string(2)?),
            "l" => ChangeKind::Lost(self.count(1)?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::change::to_json;
    use super::*;

    #[test]
    fn each_change_survives_the_way_to_a_client() {
        let text = String::from;
        let kinds = [
            ChangeKind::TickBegan,
            ChangeKind::TickEnded(NodeStatus::Running),
            ChangeKind::TickFailed(text("no")),
            ChangeKind::Ticked(1500, 3),
            ChangeKind::TreeHalt(HaltReason::Deactivated),
            ChangeKind::Status(3, NodeStatus::Failure),
            ChangeKind::Halted(3, HaltReason::TimedOut),
            ChangeKind::Skipped(4),
            ChangeKind::Wrote(0, None, None, String::new()),
            ChangeKind::Wrote(1, Some(2), Some(text("5")), text("int")),
            ChangeKind::Key(7, text("goal")),
            ChangeKind::Sent(1, "goal".into(), Some(2), text("/spin")),
            ChangeKind::Sent(1, "goal".into(), None, text("/spin")),
            ChangeKind::GoalState(1, "accepted".into(), text("id")),
            ChangeKind::GoalEnded(1, "failed".into(), text("absent")),
            ChangeKind::Replaced(text("id")),
            ChangeKind::Stopping,
            ChangeKind::Ended("failed".into(), 105, text("stuck")),
            ChangeKind::LogLine("WARN".into(), text("a port is in use")),
            ChangeKind::Lost(9),
        ];
        let changes: Vec<Change> = (5..)
            .map(Time::from_millis)
            .zip(kinds)
            .map(|(time, kind)| Change { time, kind })
            .collect();
        let json = serde_json::from_str(&to_json(&changes, Time::ZERO)).unwrap();
        assert_eq!(from_json(&json, &mut Time::ZERO.clone()), changes);
    }

    #[test]
    fn what_is_not_a_change_is_left_out() {
        let mut time = Time::from_millis(1);
        let json = json!([
            ["?", 1],
            [],
            3,
            ["c", -1, 1],
            ["c", 1, 9],
            ["@", -4.0],
            ["S"],
            ["t", "x"]
        ]);
        let kinds: Vec<ChangeKind> = from_json(&json, &mut time)
            .into_iter()
            .map(|change| change.kind)
            .collect();
        assert_eq!(kinds, [ChangeKind::Stopping, ChangeKind::TickBegan]);
        assert_eq!(from_json(&json!(null), &mut time), []);
        assert_eq!(time, Time::ZERO);
    }
}
