//! The lines of a story.

use std::fmt;
use std::fmt::Write as _;
use std::time::Duration;

use super::activity::{Activity, Ending, activities};
use super::conclusion::{conclude, interruption};
use crate::bt::{ScopeId, SlotId, Time};
use crate::msg::PoseStamped;
use crate::record::codec::StoredValue;
use crate::record::event::{CommandKind, LogLevel};
use crate::record::series::RECOVERIES;
use crate::record::stored::{StoredNavigation, StoredRecord, TimedRecord};

/// One line: when, and what happened.
#[derive(Clone, PartialEq, Debug)]
pub struct StoryLine {
    /// Time since the beginning of the navigation.
    pub at: Duration,
    /// What happened.
    pub text: String,
}

/// A run in words.
#[derive(Clone, PartialEq, Debug)]
pub struct Story {
    /// What was to be done.
    pub title: String,
    /// What happened, in order.
    pub lines: Vec<StoryLine>,
    /// How it ended.
    pub end: String,
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        for line in &self.lines {
            writeln!(f, "{:>9.2} s  {}", line.at.as_secs_f64(), line.text)?;
        }
        writeln!(f, "{}", self.end)
    }
}

/// Tells the story of records that begin with a navigation.
pub fn tell(navigation: &StoredNavigation, records: &[TimedRecord]) -> Story {
    let began = beginning(records);
    let mut teller = Teller {
        navigation,
        began,
        lines: Vec::new(),
        recoveries: 0,
        recoveries_slot: None,
    };
    let activities = activities(records);
    teller.tell_activities(&activities);
    for (time, record) in records {
        teller.tell_record(*time, record);
    }
    teller.lines.sort_by_key(|line| line.at);
    Story {
        title: title(navigation),
        end: conclude(navigation, records, &activities, began, teller.recoveries),
        lines: teller.lines,
    }
}

fn beginning(records: &[TimedRecord]) -> Time {
    let began = records
        .iter()
        .find(|(_, record)| matches!(record, StoredRecord::Began(_)));
    began
        .or_else(|| records.first())
        .map_or(Time::ZERO, |(time, _)| *time)
}

fn title(navigation: &StoredNavigation) -> String {
    let mut title = format!("{} {}", navigation.action, navigation.goal);
    // A write to a string cannot fail.
    let _ = match navigation.poses.as_slice() {
        [] => Ok(()),
        [pose] => write!(title, " to {}", place(pose)),
        [.., last] => write!(
            title,
            " through {} poses to {}",
            navigation.poses.len(),
            place(last)
        ),
    };
    let _ = write!(title, " with tree `{}`", navigation.tree);
    if let Some(file) = navigation.files.first() {
        let _ = write!(title, " ({file})");
    }
    title
}

fn place(pose: &PoseStamped) -> String {
    format!("({:.2}, {:.2})", pose.pose.position.x, pose.pose.position.y)
}

struct Teller<'n> {
    navigation: &'n StoredNavigation,
    began: Time,
    lines: Vec<StoryLine>,
    recoveries: i64,
    recoveries_slot: Option<SlotId>,
}

impl Teller<'_> {
    fn line(&mut self, time: Time, text: String) {
        self.lines.push(StoryLine {
            at: time.since(self.began),
            text,
        });
    }

    /// One line for each goal or call; equal ones in a row share a line.
    fn tell_activities(&mut self, activities: &[Activity]) {
        let mut rest = activities;
        while let Some(first) = rest.first() {
            let same = |activity: &&Activity| {
                activity.leaf == first.leaf && activity.kind == first.kind && activity.ending == first.ending
            };
            // Another leaf may run all the time beside a repeated one, as a controller beside a planner.
            let count = rest
                .iter()
                .take_while(|activity| same(activity) && activity.ending != Ending::Open)
                .count()
                .max(1);
            let (group, others) = rest.split_at(count);
            self.tell_group(group);
            rest = others;
        }
    }

    fn tell_group(&mut self, group: &[Activity]) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            return;
        };
        let took = |activity: &Activity| activity.end.map(|end| end.since(activity.start));
        let verb = match first.kind {
            CommandKind::Call => "called",
            CommandKind::CancelServer => "cancelled the goals of",
            _ => "ran on",
        };
        let mut text = format!("{} {verb} {}", first.name(), first.server);
        if group.len() > 1 {
            let times = group.iter().filter_map(took);
            let longest = times.max().unwrap_or_default();
            let _ = write!(text, " {} times, for at most {}", group.len(), seconds(longest));
        } else if let Some(took) = took(first) {
            let _ = write!(text, " for {}", seconds(took));
        }
        if last.updates > 0 {
            let _ = write!(text, ", with {} newer goals", last.updates);
        }
        let _ = match &first.ending {
            Ending::Open => write!(text, ": still running at the end of the recording"),
            Ending::Succeeded => write!(text, ": succeeded"),
            Ending::Failed(why) => write!(text, ": failed: {why}"),
            Ending::Halted(reason) => write!(text, ": stopped by the tree: {reason}"),
        };
        let is_instant = group.len() == 1 && matches!(first.ending, Ending::Failed(_));
        // A failure is told when it happens, everything else when it begins.
        let at = first.end.filter(|_| is_instant).unwrap_or(first.start);
        self.line(at, text);
    }

    fn tell_record(&mut self, time: Time, record: &StoredRecord) {
        match record {
            StoredRecord::Wrote {
                slot,
                by: Some(_),
                value: Some(StoredValue::Int(count)),
                ..
            } if self.is_recoveries(*slot) && *count > self.recoveries => {
                self.recoveries = *count;
                self.line(time, format!("recovery {count} begins"));
            }
            StoredRecord::Key {
                slot,
                scope: ScopeId::ROOT,
                key,
            } if **key == *RECOVERIES => self.recoveries_slot = Some(*slot),
            StoredRecord::Replaced { goal, poses, .. } => {
                let to = poses
                    .last()
                    .map_or_else(String::new, |pose| format!(" to {}", place(pose)));
                self.line(
                    time,
                    format!("goal {goal}{to} replaces the goal; the tree continues"),
                );
            }
            StoredRecord::TickFailed(error) => self.line(time, format!("the tree raised an error: {error}")),
            StoredRecord::HaltBegan(reason) => {
                // A tree that ended by itself is halted too; that tells nothing.
                if let Some(words) = interruption(*reason) {
                    self.line(time, format!("the tree is halted: {words}"));
                }
            }
            // The other lines of the log tell what the story tells.
            StoredRecord::LogLine(line) => match line.level {
                LogLevel::Info => {}
                LogLevel::Warn => self.line(time, format!("warning: {}", line.text)),
                LogLevel::Error => self.line(time, format!("error: {}", line.text)),
            },
            StoredRecord::Lost(count) => {
                self.line(
                    time,
                    format!("{count} records are missing: the recorder was too slow"),
                );
            }
            _ => {}
        }
    }

    /// Whether a slot is the number of recoveries, which the tree knows, or which the run has added.
    fn is_recoveries(&self, slot: SlotId) -> bool {
        if self.recoveries_slot == Some(slot) {
            return true;
        }
        let slots = &self.navigation.slots;
        let added = &self.navigation.checkpoint.added;
        let index = slot.index() as usize;
        let name = slots
            .get(index)
            .or_else(|| added.get(index.checked_sub(slots.len())?));
        name.is_some_and(|(scope, name)| *scope == ScopeId::ROOT && **name == *RECOVERIES)
    }
}

/// `3.60 s`.
pub(super) fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::{HaltReason, NodeIndex};
    use crate::goal::{GoalId, ServerId, TerminalStatus, Ticket};
    use crate::msg::action::{FollowPath, FollowPathResult};
    use crate::msg::{Action, Pose};
    use crate::nav::{EndpointKind, Form, Payload};
    use crate::record::codec::encode_payload;
    use crate::record::event::LogLine;
    use crate::record::stored::{StoredNotice, StoredOutcome};

    fn start(ticket: u64, server: u32, leaf: &str) -> StoredRecord {
        StoredRecord::Command {
            kind: CommandKind::Start,
            ticket: Ticket(ticket),
            server: Some(ServerId(server)),
            leaf: Some(leaf.into()),
            payload: None,
        }
    }

    fn server(server: u32, name: &str, type_name: &str) -> StoredRecord {
        StoredRecord::Server {
            server: ServerId(server),
            kind: EndpointKind::Action,
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            form: Form::Plain,
        }
    }

    fn finished(ticket: u64, outcome: StoredOutcome) -> StoredRecord {
        StoredRecord::Notice(StoredNotice::Finished {
            ticket: Ticket(ticket),
            updates: 0,
            outcome,
        })
    }

    fn log(level: LogLevel, text: &str) -> StoredRecord {
        StoredRecord::LogLine(LogLine {
            level,
            text: text.to_owned(),
        })
    }

    #[test]
    fn a_story_tells_what_failed_why_and_what_recovered() {
        let navigation = StoredNavigation {
            action: "navigate_to_pose".to_owned(),
            tree: "Main".to_owned(),
            files: vec!["main.xml".to_owned()],
            slots: vec![(ScopeId::ROOT, "number_recoveries".into())],
            poses: vec![PoseStamped::in_frame("map", Pose::planar(3.0, 1.0, 0.0))],
            ..StoredNavigation::default()
        };
        let succeeded = || StoredOutcome::Succeeded(encode_payload(&Payload::new(())));
        let aborted = FollowPathResult {
            error_code: FollowPath::FAILED_TO_MAKE_PROGRESS,
            error_msg: "stuck at the door".to_owned(),
        };
        let records = [
            (
                0,
                server(1, "compute_path_to_pose", "nav2_msgs/action/ComputePathToPose"),
            ),
            (0, server(2, "follow_path", FollowPath::TYPE)),
            (0, server(3, "spin", "nav2_msgs/action/Spin")),
            (0, StoredRecord::Began(Box::new(navigation.clone()))),
            (0, start(1, 1, "Main/Plan")),
            (30, finished(1, succeeded())),
            (1000, start(2, 1, "Main/Plan")),
            (1050, finished(2, succeeded())),
            (1050, start(3, 2, "Main/FollowPath")),
            (
                3000,
                finished(3, StoredOutcome::Aborted(encode_payload(&Payload::new(aborted)))),
            ),
            (
                3010,
                StoredRecord::Wrote {
                    slot: SlotId::from_index(0),
                    by: Some(NodeIndex::ROOT),
                    value: Some(StoredValue::Int(1)),
                    type_name: None,
                },
            ),
            (3010, start(4, 3, "Main/Spin")),
            (3200, log(LogLevel::Warn, "a leaf blocks")),
            (3300, log(LogLevel::Info, "what the story tells")),
            (
                3500,
                StoredRecord::Command {
                    kind: CommandKind::Halt(HaltReason::GoalCanceled),
                    ticket: Ticket(4),
                    server: None,
                    leaf: None,
                    payload: None,
                },
            ),
            (
                3600,
                StoredRecord::Ended {
                    goal: GoalId::ZERO,
                    status: TerminalStatus::Canceled,
                    error_code: 0,
                    error_message: String::new(),
                },
            ),
        ];
        let records = records.map(|(time, record)| (Time::from_millis(time), record));
        let story = tell(&navigation, &records).to_string();
        let expected = "\
navigate_to_pose 00000000-0000-0000-0000-000000000000 to (3.00, 1.00) with tree `Main` (main.xml)
     0.00 s  Plan ran on compute_path_to_pose 2 times, for at most 0.05 s: succeeded
     3.00 s  FollowPath ran on follow_path for 1.95 s: failed: FAILED_TO_MAKE_PROGRESS (105): stuck at the door
     3.01 s  Spin ran on spin for 0.49 s: stopped by the tree: goal cancelled
     3.01 s  recovery 1 begins
     3.20 s  warning: a leaf blocks
The navigation was cancelled after 3.60 s
0 ticks, 1 recovery, 0.00 m driven
";
        assert_eq!(story, expected);
    }
}
