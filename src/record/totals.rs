//! What has happened since the start of the node, counted from its records.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::event::{CommandKind, Event};
use super::motion::{MotionTimer, MotionTimes};
use super::series::RECOVERIES;
use super::stream::Batch;
use crate::bt::{ScopeId, SlotId, TreeDef};
use crate::goal::{Notice, Outcome, ServerId, TerminalStatus, Ticket};

/// Maximum number of counters. A tree chooses the names of leaves and servers, so their number must have a limit.
const MAX_COUNTERS: usize = 1000;

/// The name of a counter and its labels.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CounterName {
    /// What is counted: `navigations`.
    pub name: &'static str,
    /// The labels and their values.
    pub labels: Vec<(&'static str, Arc<str>)>,
}

/// All counters so far. Cheap to clone; all clones are the same counters.
#[derive(Clone, Debug, Default)]
pub struct Totals(Arc<Mutex<Counters>>);

#[derive(Debug, Default)]
struct Counters {
    counts: BTreeMap<CounterName, u64>,
    lost: u64,
    def: Option<Arc<TreeDef>>,
    /// The entry `number_recoveries` of the main tree.
    recoveries: Option<SlotId>,
    servers: FxHashMap<ServerId, Arc<str>>,
    /// The server of each goal or call that has not ended.
    open: FxHashMap<Ticket, Arc<str>>,
    motion: MotionTimer,
}

impl Totals {
    fn lock(&self) -> MutexGuard<'_, Counters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts records.
    pub(super) fn take(&self, batch: &Batch) {
        let mut counters = self.lock();
        counters.lost += batch.lost;
        for record in batch.records.iter() {
            counters.motion.take(record);
            counters.take(&record.event);
        }
    }

    /// The counters with their names, sorted.
    pub fn counts(&self) -> Vec<(CounterName, u64)> {
        let counters = self.lock();
        let counts = counters.counts.iter();
        counts.map(|(name, count)| (name.clone(), *count)).collect()
    }

    /// The times from the beginning of navigations to the first motion of the robot.
    pub fn motion_times(&self) -> MotionTimes {
        self.lock().motion.times()
    }

    /// The number of records that the event stream has lost.
    pub fn lost(&self) -> u64 {
        self.lock().lost
    }
}

impl Counters {
    fn add(&mut self, name: &'static str, labels: Vec<(&'static str, Arc<str>)>) {
        let is_full = self.counts.len() >= MAX_COUNTERS;
        let name = CounterName { name, labels };
        match self.counts.get_mut(&name) {
            Some(count) => *count += 1,
            None if is_full => {}
            None => {
                self.counts.insert(name, 1);
            }
        }
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Server(info) => {
                self.servers.insert(info.server, info.name.as_str().into());
            }
            Event::InUse(in_use) => self.servers.retain(|server, _| in_use.has_server(*server)),
            Event::Began(navigation) => {
                self.recoveries = navigation.slot(RECOVERIES);
                let before = self.def.replace(Arc::clone(&navigation.tree));
                if before.is_some_and(|before| !Arc::ptr_eq(&before, &navigation.tree)) {
                    self.add("tree_swaps", Vec::new());
                }
            }
            Event::Ended(end) => {
                let status = match end.status {
                    TerminalStatus::Succeeded => "succeeded",
                    TerminalStatus::Aborted => "aborted",
                    TerminalStatus::Canceled => "canceled",
                };
                let code = end.error_code.to_string();
                self.add(
                    "navigations",
                    vec![("status", status.into()), ("error_code", code.into())],
                );
            }
            Event::Halted { node, reason } => {
                let is_leaf = |def: &Arc<TreeDef>| node.index() < def.len() && def.children(*node).len() == 0;
                if self.def.as_ref().is_some_and(is_leaf) {
                    self.add("leaf_halts", vec![("reason", reason.to_string().into())]);
                }
            }
            Event::Wrote {
                slot,
                by: Some(node),
                value: Some(crate::bt::Value::Int(count)),
                ..
            } if *count > 0 && self.recoveries == Some(*slot) => {
                let def = self.def.as_ref().filter(|def| node.index() < def.len());
                if let Some(leaf) = def.map(|def| Arc::clone(&def.node(*node).name)) {
                    self.add("recoveries", vec![("leaf", leaf)]);
                }
            }
            Event::Key(key) if is_recoveries(key.1, &key.2) => self.recoveries = Some(key.0),
            Event::Command {
                kind: CommandKind::Start | CommandKind::Call,
                ticket,
                server: Some(server),
                ..
            } => {
                let name = self.servers.get(server).cloned();
                self.open.insert(*ticket, name.unwrap_or_else(|| "?".into()));
            }
            Event::Command {
                kind: CommandKind::Halt(reason),
                ticket,
                ..
            } => self.end_goal(*ticket, "halted", &reason.to_string()),
            Event::Notice(Notice::Finished { ticket, outcome, .. }) => {
                let (outcome, reason) = outcome_words(outcome);
                self.end_goal(*ticket, outcome, reason);
            }
            _ => {}
        }
    }

    fn end_goal(&mut self, ticket: Ticket, outcome: &'static str, reason: &str) {
        if let Some(server) = self.open.remove(&ticket) {
            let labels = vec![
                ("server", server),
                ("outcome", outcome.into()),
                ("reason", reason.into()),
            ];
            self.add("goals", labels);
        }
    }
}

fn is_recoveries(scope: ScopeId, key: &str) -> bool {
    scope == ScopeId::ROOT && key == RECOVERIES
}

/// How a goal or call ended, and why.
fn outcome_words<P>(outcome: &Outcome<P>) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Succeeded(_) | Outcome::Response(_) | Outcome::CancelAnswered(_) => ("succeeded", ""),
        Outcome::Aborted(_) => ("failed", "aborted"),
        Outcome::Canceled(_) => ("failed", "canceled"),
        Outcome::CanceledByAnother => ("failed", "canceled by another client"),
        Outcome::CanceledBeforeAcceptance => ("failed", "canceled before its acceptance"),
        Outcome::Rejected => ("failed", "rejected"),
        Outcome::SendFailed => ("failed", "not sent"),
        Outcome::AcceptTimeout => ("failed", "not accepted in time"),
        Outcome::ResultTimeout => ("failed", "not ended in time"),
        Outcome::ResultLost => ("failed", "result lost"),
        Outcome::ServerGone => ("failed", "server absent"),
        Outcome::ResponseTimeout => ("failed", "not answered in time"),
        Outcome::ShuttingDown => ("failed", "shutting down"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::HaltReason;
    use crate::nav::{EndpointKind, Form};
    use crate::record::Stream;
    use crate::record::event::{End, Navigation, ServerInfo};

    #[test]
    fn goals_and_navigations_are_counted_by_their_end() {
        let stream = Stream::default();
        let mut distributor = stream.distribute();
        stream.write(Event::Server(Box::new(ServerInfo {
            server: ServerId(1),
            kind: EndpointKind::Action,
            name: "/spin".into(),
            type_name: String::new(),
            form: Form::Plain,
        })));
        let command = |ticket, kind| Event::Command {
            kind,
            ticket: Ticket(ticket),
            server: Some(ServerId(1)),
            leaf: None,
            payload: None,
        };
        for ticket in 0..3 {
            stream.write(command(ticket, CommandKind::Start));
        }
        stream.write(command(0, CommandKind::Halt(HaltReason::TimedOut)));
        for ticket in 0..3 {
            stream.write(Event::Notice(Notice::Finished {
                ticket: Ticket(ticket),
                updates: 0,
                outcome: Outcome::Rejected,
            }));
        }
        stream.write(Event::Ended(Box::new(End {
            first_goal: crate::goal::GoalId::ZERO,
            goal: crate::goal::GoalId::ZERO,
            status: TerminalStatus::Aborted,
            error_code: 105,
            has_failed: true,
            error_message: String::new(),
        })));
        let totals = Totals::default();
        totals.take(&distributor.distribute().unwrap());
        let words: Vec<String> = totals
            .counts()
            .iter()
            .map(|(counter, count)| {
                let labels: Vec<&str> = counter.labels.iter().map(|(_, value)| &**value).collect();
                format!("{} {}: {count}", counter.name, labels.join(" "))
            })
            .collect();
        assert_eq!(
            words,
            [
                "goals /spin failed rejected: 2",
                "goals /spin halted timed out: 1",
                "navigations aborted 105: 1"
            ]
        );
    }

    #[test]
    fn recoveries_and_tree_swaps_are_counted() {
        use crate::bt::Time;
        use crate::bt::builder::leaf;
        use crate::bt::testing::Scene;
        use crate::record::Tracer;

        let stream = Stream::default();
        let mut distributor = stream.distribute();
        let script = leaf("Script").name("Spin").port("code", "number_recoveries := 1");
        for _ in 0..2 {
            let mut tree = Scene::new(script.clone()).compile().unwrap();
            let def = Arc::clone(tree.definition());
            tree.set_observer(Some(Box::new(Tracer::new(stream.clone(), &def))));
            stream.write(Event::Began(Box::new(Navigation::of_tree(&mut tree))));
            tree.tick(Time::ZERO).unwrap();
        }
        // The key of a leaf that is no script is made by the first run.
        stream.write(Event::Key(Box::new((
            SlotId::from_index(7),
            ScopeId::ROOT,
            "number_recoveries".into(),
        ))));
        stream.write(Event::Wrote {
            slot: SlotId::from_index(7),
            by: Some(crate::bt::NodeIndex::ROOT),
            value: Some(crate::bt::Value::Int(2)),
            info: None,
        });
        let totals = Totals::default();
        totals.take(&distributor.distribute().unwrap());
        let counts: Vec<_> = totals
            .counts()
            .into_iter()
            .map(|(name, count)| (name.name, count))
            .collect();
        assert_eq!(counts, [("recoveries", 3), ("tree_swaps", 1)]);
    }

    #[test]
    fn the_number_of_counters_is_bounded() {
        let mut counters = Counters::default();
        for number in 0..2 * MAX_COUNTERS {
            counters.add("recoveries", vec![("leaf", number.to_string().into())]);
        }
        assert_eq!(counters.counts.len(), MAX_COUNTERS);
    }
}
