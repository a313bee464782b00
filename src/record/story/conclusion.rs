//! The end of a story: how the navigation ended and why, where the robot stood, and what it took.

use std::fmt::Write as _;

use super::activity::{Activity, Ending};
use super::teller::seconds;
use crate::bt::{HaltReason, Time};
use crate::goal::TerminalStatus;
use crate::msg::{Point, distance_xy};
use crate::record::stored::{StoredNavigation, StoredRecord, TimedRecord};

/// What is known about the end of a run.
struct End<'r> {
    at: Time,
    status: TerminalStatus,
    error_code: u16,
    error_message: &'r str,
}

/// Tells the end of records whose navigation began at `began`, in two lines.
pub(super) fn conclude(
    navigation: &StoredNavigation,
    records: &[TimedRecord],
    activities: &[Activity],
    began: Time,
    recoveries: i64,
) -> String {
    let end = records.iter().rev().find_map(|(time, record)| match record {
        StoredRecord::Ended {
            status,
            error_code,
            error_message,
            ..
        } => Some(End {
            at: *time,
            status: *status,
            error_code: *error_code,
            error_message: without_recording(error_message),
        }),
        _ => None,
    });
    let took = |at: Time| seconds(at.since(began));
    let track = Track::of(navigation, records);
    let mut text = match &end {
        Some(end) => how(end, records, activities, &took(end.at)),
        None => {
            let last = records.last().map_or(began, |(time, _)| *time);
            let at = took(last);
            format!("The recording ends after {at}, while the navigation still runs")
        }
    };
    if let Some(distance) = track.distance_to_goal(navigation) {
        // A write to a string cannot fail.
        let _ = write!(text, ". The robot was {distance:.2} m from the goal");
    }
    text.push('\n');
    text += &numbers(records, recoveries, track.driven);
    text
}

/// `The navigation failed after 3.60 s: why`.
fn how(end: &End<'_>, records: &[TimedRecord], activities: &[Activity], took: &str) -> String {
    let halt = records.iter().rev().find_map(|(_, record)| match record {
        StoredRecord::HaltBegan(reason) => interruption(*reason),
        _ => None,
    });
    let how = match (end.status, halt) {
        (TerminalStatus::Succeeded, _) => "succeeded",
        (TerminalStatus::Canceled, _) => "was cancelled",
        (TerminalStatus::Aborted, Some(_)) => "was ended",
        (TerminalStatus::Aborted, None) => "failed",
    };
    let mut text = format!("The navigation {how} after {took}");
    if end.error_code != 0 {
        let _ = write!(text, " (error code {})", end.error_code);
    }
    if !end.error_message.is_empty() {
        let _ = write!(text, ": {}", end.error_message);
    } else if let Some(words) = halt.filter(|_| end.status != TerminalStatus::Succeeded) {
        let _ = write!(text, ": {words}");
    } else if let Some((leaf, why)) =
        last_failure(activities).filter(|_| end.status == TerminalStatus::Aborted)
    {
        let _ = write!(text, ". The last failure was that of {leaf}: {why}");
    }
    text
}

/// The message without the path of the recording, which the reader has.
fn without_recording(message: &str) -> &str {
    let (before, _) = message.rsplit_once("recording: ").unwrap_or((message, ""));
    before.trim_end_matches("; ")
}

/// Who or what ended a tree from outside; `None` if the tree ended by itself.
pub(super) fn interruption(reason: HaltReason) -> Option<&'static str> {
    Some(match reason {
        HaltReason::Preempted | HaltReason::ParentFinished | HaltReason::TreeFailed => return None,
        HaltReason::TimedOut => "a time limit expired",
        HaltReason::GoalCanceled => "the client or an operator cancelled the goal",
        HaltReason::Replaced => "a newer goal or another tree took over",
        HaltReason::Deactivated => "the node was deactivated",
        HaltReason::ShuttingDown => "the process was shut down",
    })
}

/// The leaf that failed last, and why.
fn last_failure(activities: &[Activity]) -> Option<(&str, &str)> {
    let failed = activities.iter().filter_map(|activity| match &activity.ending {
        Ending::Failed(why) => Some((activity.end, activity.name(), why.as_str())),
        _ => None,
    });
    let last = failed.max_by_key(|(end, ..)| *end);
    last.map(|(_, leaf, why)| (leaf, why))
}

/// `1431 ticks, 2 missed, 4 recoveries, 4.26 m driven`.
fn numbers(records: &[TimedRecord], recoveries: i64, driven: f64) -> String {
    let (mut ticks, mut all_missed) = (0_u64, 0);
    for (_, record) in records {
        match record {
            StoredRecord::TickBegan => ticks += 1,
            StoredRecord::Ticked { missed, .. } => all_missed += missed,
            _ => {}
        }
    }
    let missed = match all_missed {
        0 => String::new(),
        count => format!(", {count} missed"),
    };
    let recoveries = match recoveries {
        1 => "1 recovery".to_owned(),
        count => format!("{count} recoveries"),
    };
    let ticks = match ticks {
        1 => "1 tick".to_owned(),
        count => format!("{count} ticks"),
    };
    format!("{ticks}{missed}, {recoveries}, {driven:.2} m driven")
}

/// The robot's way in the global frame, as far as its pose was asked for.
struct Track {
    /// Length of the way, in m.
    driven: f64,
    last: Option<Point>,
}

impl Track {
    fn of(navigation: &StoredNavigation, records: &[TimedRecord]) -> Self {
        let settings = &navigation.settings;
        let mut robot = Vec::new();
        let mut track = Self {
            driven: 0.0,
            last: None,
        };
        for (_, record) in records {
            match record {
                StoredRecord::Frames {
                    frames,
                    target,
                    source,
                    ..
                } if **target == *settings.global_frame && **source == *settings.robot_base_frame => {
                    robot.push(*frames);
                }
                StoredRecord::Transform {
                    frames,
                    at: None,
                    transform,
                    ..
                } if robot.contains(frames) => {
                    let position = transform.to_pose().position;
                    if let Some(last) = &track.last {
                        track.driven += distance_xy(last, &position);
                    }
                    track.last = Some(position);
                }
                _ => {}
            }
        }
        track
    }

    /// The distance from the last known place of the robot to the goal, in m, if both are in the same frame.
    fn distance_to_goal(&self, navigation: &StoredNavigation) -> Option<f64> {
        let goal = navigation.poses.last()?;
        let is_global = *goal.header.frame_id == *navigation.settings.global_frame;
        is_global.then_some(distance_xy(self.last.as_ref()?, &goal.pose.position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::GoalId;
    use crate::record::event::CommandKind;

    fn told(status: TerminalStatus, halt: Option<HaltReason>, message: &str) -> String {
        let mut records: Vec<TimedRecord> = Vec::new();
        records.extend(halt.map(|reason| (Time::from_millis(900), StoredRecord::HaltBegan(reason))));
        records.push((
            Time::from_millis(1000),
            StoredRecord::Ended {
                goal: GoalId::ZERO,
                status,
                error_code: 0,
                error_message: message.to_owned(),
            },
        ));
        let failed = Activity {
            leaf: "Main/FollowPath::3".into(),
            server: "follow_path".to_owned(),
            kind: CommandKind::Start,
            start: Time::ZERO,
            end: Some(Time::from_millis(800)),
            ending: Ending::Failed("PATIENCE_EXCEEDED (104)".to_owned()),
            updates: 0,
        };
        let text = conclude(&StoredNavigation::default(), &records, &[failed], Time::ZERO, 0);
        text.lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn the_end_names_the_cause() {
        use TerminalStatus::{Aborted, Canceled, Succeeded};
        let finished = Some(HaltReason::ParentFinished);
        assert_eq!(
            told(Succeeded, finished, ""),
            "The navigation succeeded after 1.00 s"
        );
        assert_eq!(
            told(Aborted, finished, "no way; recording: /tmp/a.mcap"),
            "The navigation failed after 1.00 s: no way"
        );
        assert_eq!(
            told(Aborted, finished, ""),
            "The navigation failed after 1.00 s. The last failure was that of FollowPath: PATIENCE_EXCEEDED (104)"
        );
        assert_eq!(
            told(Canceled, Some(HaltReason::GoalCanceled), ""),
            "The navigation was cancelled after 1.00 s: the client or an operator cancelled the goal"
        );
        assert_eq!(
            told(Aborted, Some(HaltReason::Deactivated), ""),
            "The navigation was ended after 1.00 s: the node was deactivated"
        );
    }

    #[test]
    fn a_recording_without_an_end_says_so() {
        let records = [(Time::from_millis(2500), StoredRecord::TickBegan)];
        assert_eq!(
            conclude(&StoredNavigation::default(), &records, &[], Time::ZERO, 1),
            "The recording ends after 2.50 s, while the navigation still runs\n1 tick, 1 recovery, 0.00 m driven"
        );
    }
}
