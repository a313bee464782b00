//! Makes changes for the page of the records of a run.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::change::{Change, ChangeKind};
use crate::bt::{ScopeId, Time};
use crate::goal::{ServerId, TerminalStatus, Ticket};
use crate::record::codec::StoredValue;
use crate::record::event::CommandKind;
use crate::record::stored::{StoredNavigation, StoredNotice, StoredRecord};
use crate::record::story::{Ending, ending};

/// Maximum length of a value on the page, in characters.
const MAX_VALUE: usize = 600;

/// Objects with more bytes are not shown: a costmap is not readable as text.
const MAX_OBJECT: usize = 64 * 1024;

/// Knows the names of the numbers in records.
#[derive(Debug, Default)]
pub(super) struct Translator {
    servers: FxHashMap<ServerId, (String, String)>,
    /// The type of the server of each goal that has not ended.
    types: FxHashMap<Ticket, String>,
    leaves: FxHashMap<Arc<str>, u32>,
    scopes: Vec<Arc<str>>,
}

impl Translator {
    /// Begins a navigation. `nodes`: the paths of the nodes; `scopes`: those of the subtree instances. Returns the changes
    /// that set the initial blackboard.
    pub(super) fn begin(
        &mut self,
        navigation: &StoredNavigation,
        nodes: Vec<Arc<str>>,
        scopes: Vec<Arc<str>>,
        time: Time,
    ) -> Vec<Change> {
        self.types.clear();
        self.leaves = nodes.into_iter().zip(0..).collect();
        self.scopes = scopes;
        let checkpoint = &navigation.checkpoint;
        let first = navigation.slots.len();
        let added = (first..).zip(&checkpoint.added);
        let mut kinds: Vec<ChangeKind> = added
            .map(|(slot, (scope, key))| ChangeKind::Key(number(slot), self.key(*scope, key)))
            .collect();
        for (slot, entry) in checkpoint.entries.iter().enumerate() {
            let written = entry.value.as_ref().filter(|value| **value != StoredValue::Empty);
            if let Some(value) = written {
                let type_name = entry.type_name.clone().unwrap_or_default();
                let value = Some(value_text(value));
                kinds.push(ChangeKind::Wrote(number(slot), None, value, type_name));
            }
        }
        kinds.into_iter().map(|kind| Change { time, kind }).collect()
    }

    /// A key with the subtree instance to which it belongs.
    pub(super) fn key(&self, scope: ScopeId, key: &str) -> String {
        match self.scopes.get(scope.index() as usize) {
            Some(path) if !path.is_empty() => format!("{path}: {key}"),
            _ => key.to_owned(),
        }
    }

    /// The change that a record is for the page; `None` if the page does not show it.
    pub(super) fn change(&mut self, time: Time, record: &StoredRecord) -> Option<Change> {
        let kind = match record {
            StoredRecord::TickBegan => ChangeKind::TickBegan,
            StoredRecord::TickEnded(status) => ChangeKind::TickEnded(*status),
            StoredRecord::TickFailed(error) => ChangeKind::TickFailed(error.clone()),
            StoredRecord::Ticked { took_ns, missed } => ChangeKind::Ticked(*took_ns, *missed),
            StoredRecord::HaltBegan(reason) => ChangeKind::TreeHalt(*reason),
            StoredRecord::Changed { node, to, .. } => ChangeKind::Status(number(node.index()), *to),
            StoredRecord::Halted { node, reason } => ChangeKind::Halted(number(node.index()), *reason),
            StoredRecord::Skipped(node) => ChangeKind::Skipped(number(node.index())),
            StoredRecord::Wrote {
                slot,
                by,
                value,
                type_name,
            } => ChangeKind::Wrote(
                slot.index(),
                by.map(|node| number(node.index())),
                value.as_ref().map(value_text),
                type_name.clone().unwrap_or_default(),
            ),
            StoredRecord::Key { slot, scope, key } => ChangeKind::Key(slot.index(), self.key(*scope, key)),
            StoredRecord::Server {
                server,
                name,
                type_name,
                ..
            } => {
                self.servers.insert(*server, (name.clone(), type_name.clone()));
                return None;
            }
            StoredRecord::InUse(in_use) => {
                self.servers.retain(|server, _| in_use.has_server(*server));
                return None;
            }
            StoredRecord::Command {
                kind,
                ticket,
                server,
                leaf,
                ..
            } => self.command(*kind, *ticket, *server, leaf.as_ref()),
            StoredRecord::Notice(notice) => self.notice(notice)?,
            StoredRecord::Replaced { goal, .. } => ChangeKind::Replaced(goal.to_string()),
            StoredRecord::Stopping => ChangeKind::Stopping,
            StoredRecord::Ended {
                status,
                error_code,
                error_message,
                ..
            } => ChangeKind::Ended(status_word(*status).into(), *error_code, error_message.clone()),
            StoredRecord::LogLine(line) => ChangeKind::LogLine(line.level.name().into(), shorten(&line.text)),
            StoredRecord::Lost(count) => ChangeKind::Lost(*count),
            _ => return None,
        };
        Some(Change { time, kind })
    }

    fn command(
        &mut self,
        kind: CommandKind,
        ticket: Ticket,
        server: Option<ServerId>,
        leaf: Option<&Arc<str>>,
    ) -> ChangeKind {
        let word = match kind {
            CommandKind::Start => "goal",
            CommandKind::Call => "call",
            CommandKind::CancelServer => "cancel",
            CommandKind::Update => return ChangeKind::GoalState(ticket.0, "updated".into(), String::new()),
            CommandKind::Halt(reason) | CommandKind::Detach(reason) => {
                self.types.remove(&ticket);
                return ChangeKind::GoalEnded(ticket.0, "halted".into(), reason.to_string());
            }
        };
        let known = server.and_then(|server| self.servers.get(&server));
        let (name, type_name) = known.cloned().unwrap_or_default();
        self.types.insert(ticket, type_name);
        let leaf = leaf.and_then(|leaf| self.leaves.get(leaf)).copied();
        ChangeKind::Sent(ticket.0, word.into(), leaf, name)
    }

    fn notice(&mut self, notice: &StoredNotice) -> Option<ChangeKind> {
        Some(match notice {
            StoredNotice::Accepted { ticket, goal } => {
                ChangeKind::GoalState(ticket.0, "accepted".into(), goal.to_string())
            }
            StoredNotice::Canceling { ticket } => {
                ChangeKind::GoalState(ticket.0, "canceling".into(), String::new())
            }
            StoredNotice::Feedback { .. } => return None,
            StoredNotice::Finished { ticket, outcome, .. } => {
                let type_name = self.types.remove(ticket).unwrap_or_default();
                let (word, details) = match ending(outcome, &type_name) {
                    Ending::Succeeded => ("succeeded", String::new()),
                    Ending::Failed(reason) => ("failed", reason),
                    Ending::Halted(reason) => ("halted", reason.to_string()),
                    Ending::Open => return None,
                };
                ChangeKind::GoalEnded(ticket.0, word.into(), details)
            }
        })
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

fn status_word(status: TerminalStatus) -> &'static str {
    match status {
        TerminalStatus::Succeeded => "succeeded",
        TerminalStatus::Aborted => "failed",
        TerminalStatus::Canceled => "canceled",
    }
}

/// A value for people: short, and as JSON if it has parts.
fn value_text(value: &StoredValue) -> String {
    if let StoredValue::Text(text) = value {
        return shorten(text);
    }
    match value {
        StoredValue::Object(object) if object.data.0.len() > MAX_OBJECT => {
            format!("{} ({} kB)", object.type_name, object.data.0.len() / 1000)
        }
        other => shorten(&other.to_json().to_string()),
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE) {
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], text.chars().count()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::HaltReason;
    use crate::nav::{EndpointKind, Form};
    use crate::record::stored::StoredOutcome;

    #[test]
    fn a_goal_is_told_with_its_leaf_and_server() {
        let mut translator = Translator::default();
        translator.begin(
            &StoredNavigation::default(),
            vec!["Main".into(), "Spin::2".into()],
            vec!["".into()],
            Time::ZERO,
        );
        let server = StoredRecord::Server {
            server: ServerId(4),
            kind: EndpointKind::Action,
            name: "/spin".into(),
            type_name: String::new(),
            form: Form::Plain,
        };
        assert_eq!(translator.change(Time::ZERO, &server), None);
        let command = |kind| StoredRecord::Command {
            kind,
            ticket: Ticket(9),
            server: Some(ServerId(4)),
            leaf: Some("Spin::2".into()),
            payload: None,
        };
        let notice = |outcome| {
            StoredRecord::Notice(StoredNotice::Finished {
                ticket: Ticket(9),
                updates: 0,
                outcome,
            })
        };
        let mut kind = |record| translator.change(Time::ZERO, &record).unwrap().kind;
        assert_eq!(
            kind(command(CommandKind::Start)),
            ChangeKind::Sent(9, "goal".into(), Some(1), "/spin".into())
        );
        assert_eq!(
            kind(notice(StoredOutcome::ServerGone)),
            ChangeKind::GoalEnded(9, "failed".into(), "the server is absent".into())
        );
        assert_eq!(
            kind(command(CommandKind::Halt(HaltReason::Preempted))),
            ChangeKind::GoalEnded(9, "halted".into(), "preempted".into())
        );
    }

    #[test]
    fn values_are_short() {
        assert_eq!(value_text(&StoredValue::Int(7)), "7");
        let text = value_text(&StoredValue::Text("é".repeat(5000).into()));
        assert!(text.ends_with("é… (5000 characters)") && text.chars().count() < 700);
    }
}
