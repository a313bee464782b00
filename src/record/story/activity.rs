//! What the leaves of a run asked of servers: goals, calls and cancels, from their start to their end.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::Value as JsonValue;

use crate::bt::{HaltReason, Time};
use crate::goal::{ServerId, Ticket};
use crate::msg::action;
use crate::msg::{Action, action::GOAL_REJECTED};
use crate::record::codec::{Encoded, payload_json};
use crate::record::event::CommandKind;
use crate::record::stored::{StoredNotice, StoredOutcome, StoredRecord, TimedRecord};

/// One goal or call of a leaf.
#[derive(Clone, PartialEq, Debug)]
pub struct Activity {
    /// The path of the leaf.
    pub leaf: Arc<str>,
    /// The name of the server.
    pub server: String,
    /// What was requested.
    pub kind: CommandKind,
    /// When it was requested.
    pub start: Time,
    /// When it ended; `None`: not before the end of the recording.
    pub end: Option<Time>,
    /// How it ended.
    pub ending: Ending,
    /// Number of newer goals that replaced the first one.
    pub updates: u32,
}

/// The end of a goal or call.
#[derive(Clone, PartialEq, Debug)]
pub enum Ending {
    /// It has not ended.
    Open,
    /// It succeeded.
    Succeeded,
    /// It failed, for this reason.
    Failed(String),
    /// The tree stopped it.
    Halted(HaltReason),
}

impl Activity {
    /// The name of the leaf: the last part of its path, without the number that makes it unique.
    pub fn name(&self) -> &str {
        let last = self.leaf.rsplit('/').next().unwrap_or(&self.leaf);
        last.split_once("::").map_or(last, |(name, _)| name)
    }
}

/// All activities of a recording, in the order of their start.
pub fn activities(records: &[TimedRecord]) -> Vec<Activity> {
    let mut servers: FxHashMap<ServerId, (&str, &str)> = FxHashMap::default();
    let mut open: FxHashMap<Ticket, (usize, &str)> = FxHashMap::default();
    let mut found: Vec<Activity> = Vec::new();
    for (time, record) in records {
        match record {
            StoredRecord::Server {
                server,
                name,
                type_name,
                ..
            } => {
                servers.insert(*server, (name, type_name));
            }
            StoredRecord::Command {
                kind: kind @ (CommandKind::Start | CommandKind::Call | CommandKind::CancelServer),
                ticket,
                server,
                leaf,
                ..
            } => {
                let known = server.and_then(|server| servers.get(&server).copied());
                let (name, type_name) = known.unwrap_or_default();
                open.insert(*ticket, (found.len(), type_name));
                found.push(Activity {
                    leaf: leaf.clone().unwrap_or_default(),
                    server: name.to_owned(),
                    kind: *kind,
                    start: *time,
                    end: None,
                    ending: Ending::Open,
                    updates: 0,
                });
            }
            StoredRecord::Command {
                kind: CommandKind::Update,
                ticket,
                ..
            } => {
                if let Some((index, _)) = open.get(ticket) {
                    found[*index].updates += 1;
                }
            }
            StoredRecord::Command {
                kind: CommandKind::Halt(reason) | CommandKind::Detach(reason),
                ticket,
                ..
            } => {
                if let Some((index, _)) = open.remove(ticket) {
                    end(&mut found[index], *time, Ending::Halted(*reason));
                }
            }
            StoredRecord::Notice(StoredNotice::Finished { ticket, outcome, .. }) => {
                if let Some((index, type_name)) = open.remove(ticket) {
                    end(&mut found[index], *time, ending(outcome, type_name));
                }
            }
            _ => {}
        }
    }
    found
}

fn end(activity: &mut Activity, time: Time, ending: Ending) {
    activity.end = Some(time);
    activity.ending = ending;
}

/// How a goal or call ended, by its outcome and the type of its server.
pub fn ending(outcome: &StoredOutcome, type_name: &str) -> Ending {
    let failed = |words: &str| Ending::Failed(words.to_owned());
    match outcome {
        StoredOutcome::Succeeded(_) | StoredOutcome::CancelAnswered(_) => Ending::Succeeded,
        StoredOutcome::Response(response) => response_ending(response),
        StoredOutcome::Aborted(result) => Ending::Failed(words_of_error(result, type_name)),
        StoredOutcome::Canceled(_)
        | StoredOutcome::CanceledByAnother
        | StoredOutcome::CanceledBeforeAcceptance => failed("its goal was cancelled"),
        StoredOutcome::Rejected => failed("the server rejected the goal"),
        StoredOutcome::SendFailed => failed("the request could not be sent"),
        StoredOutcome::AcceptTimeout => failed("the server did not answer the goal in time"),
        StoredOutcome::ResultTimeout => failed("the goal took longer than its limit"),
        StoredOutcome::ResultLost => failed("the server has lost the result"),
        StoredOutcome::ServerGone => failed("the server is absent"),
        StoredOutcome::ResponseTimeout => failed("the server did not answer in time"),
        StoredOutcome::ShuttingDown => failed("the process is ending"),
    }
}

/// Services report failures in fields of their responses.
fn response_ending(response: &Encoded) -> Ending {
    let json = payload_json(response);
    for field in ["success", "is_valid"] {
        if json.get(field) == Some(&JsonValue::Bool(false)) {
            return Ending::Failed(format!("{field} is false"));
        }
    }
    Ending::Succeeded
}

/// `FAILED_TO_MAKE_PROGRESS (105): the message of the server`.
fn words_of_error(result: &Encoded, type_name: &str) -> String {
    let json = payload_json(result);
    let code = json.get("error_code").and_then(JsonValue::as_u64).unwrap_or(0);
    let code = u16::try_from(code).unwrap_or(u16::MAX);
    let message = json
        .get("error_msg")
        .and_then(JsonValue::as_str)
        .unwrap_or_default();
    let mut words = match (code, code_name(type_name, code)) {
        (0, _) => "aborted".to_owned(),
        (_, Some(name)) => format!("{name} ({code})"),
        (_, None) => format!("error code {code}"),
    };
    if !message.is_empty() {
        words = format!("{words}: {message}");
    }
    words
}

/// The name of an error code of an action.
fn code_name(type_name: &str, code: u16) -> Option<&'static str> {
    macro_rules! names {
        ($($file:ident: $action:ident,)*) => {
            match type_name {
                $(name if name == <action::$action as Action>::TYPE => <action::$action as Action>::code_name(code),)*
                _ if code == GOAL_REJECTED => Some("GOAL_REJECTED"),
                _ => None,
            }
        };
    }
    action::actions!(names)
}
