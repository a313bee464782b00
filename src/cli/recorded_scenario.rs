//! Makes a scenario for `navtree test` of a recorded navigation.
//!
//! The navigation is replayed, and each tick of a leaf is noted. The leaves become mocks with these outcomes, except those
//! of BehaviorTree.CPP, which need no robot. Ticks that do the same as the one before become time between two ticks, so that
//! the scenario can be read. The scenario runs before it is returned; if it fails, all ticks are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use super::scenario::Scenario;
use crate::bt::{NodeIndex, NodeStatus, Registry, SlotId, Time, TreeDef};
use crate::record::Recording;
use crate::record::codec::StoredValue;
use crate::record::replay::{Replay, Replayed, Step, StepKind, Visit, Visits};
use crate::record::stored::StoredRecord;
use crate::xml::{Diagnostics, Document, Sources};

/// A scenario, and how far it is true to the recording.
pub(crate) struct RecordedScenario {
    /// The text of the file.
    pub(crate) text: String,
    /// Number of ticks and halts of the scenario, and of the recording.
    pub(crate) ticks: [usize; 2],
    /// How the scenario differs from the recording: a node needs what mocks do not have.
    pub(crate) differences: Option<String>,
}

/// Makes the scenario of a recording with this name.
///
/// # Errors
/// The recording cannot be replayed.
pub(crate) fn make(
    recording: &Recording,
    registry: &Registry,
    name: &str,
) -> Result<RecordedScenario, String> {
    let (def, moments) = replay(recording, registry)?;
    let xml = merge(&recording.files)?;
    let mut first = None;
    for is_whole in [false, true] {
        let kept = keep(&moments, is_whole);
        for round in [f64::round, f64::floor, f64::ceil] {
            let script = Script {
                def: &def,
                moments: &kept,
                round,
            };
            let text = script.write(recording, &xml, name);
            let differences = Scenario::parse(Path::new(name), &text).and_then(|scenarios| {
                let mut scenarios = scenarios.iter();
                scenarios.try_for_each(|scenario| scenario.run(Path::new("."), registry))
            });
            let made = RecordedScenario {
                text,
                ticks: [kept.len(), moments.len()],
                differences: differences.err(),
            };
            if made.differences.is_none() {
                return Ok(made);
            }
            first.get_or_insert(made);
        }
    }
    first.ok_or_else(|| "the recording has no tick".to_owned())
}

/// A scalar that a node or the navigator wrote, as YAML.
type Scalars = BTreeMap<String, String>;

/// A tick or a halt of the replay.
struct Moment {
    time: Time,
    is_halt: bool,
    /// The status of the root; `None` after an error.
    root: Option<NodeStatus>,
    statuses: Vec<NodeStatus>,
    /// The keys that the navigator wrote before.
    set: Scalars,
    visits: Vec<(Visit, Scalars)>,
    error: String,
    halted: Vec<NodeIndex>,
    skipped: Vec<NodeIndex>,
    changes: Vec<(NodeIndex, NodeStatus)>,
}

/// Replays a recording and notes what its leaves do.
fn replay(recording: &Recording, registry: &Registry) -> Result<(Arc<TreeDef>, Vec<Moment>), String> {
    let mut watched = registry.clone();
    let visits = Visits::watch(&mut watched);
    let mut replay = Replay::new(recording, watched).map_err(|error| error.to_string())?;
    let def = Arc::clone(replay.definition());
    let keys = Keys { recording };
    let mut moments = Vec::new();
    while let Some((step, replayed)) = replay.step() {
        if replayed.difference.is_some() {
            return Err(format!(
                "step {} cannot be replayed: `navtree replay` shows the difference",
                step.number
            ));
        }
        let statuses: Vec<NodeStatus> = def.nodes().map(|(node, _)| replay.tree().status(node)).collect();
        let mut moment = moment(&def, &step, &replayed, visits.take(), statuses);
        if moments.is_empty() {
            moment.set = keys.initial();
        }
        moment.set.extend(keys.written(&step.before));
        let is_error = moment.root.is_none();
        moments.push(moment);
        if is_error {
            // A scenario ends with an error.
            break;
        }
    }
    if moments.is_empty() {
        return Err("the recording has no tick".to_owned());
    }
    Ok((def, moments))
}

fn moment(
    def: &TreeDef,
    step: &Step,
    replayed: &Replayed,
    visits: Vec<Visit>,
    statuses: Vec<NodeStatus>,
) -> Moment {
    let mut moment = Moment {
        time: step.time,
        is_halt: step.kind != StepKind::Tick,
        root: Some(NodeStatus::Idle),
        statuses,
        set: Scalars::new(),
        visits: visits.into_iter().map(|visit| (visit, Scalars::new())).collect(),
        error: String::new(),
        halted: Vec::new(),
        skipped: Vec::new(),
        changes: Vec::new(),
    };
    for record in &replayed.trace {
        match record {
            StoredRecord::TickEnded(status) => moment.root = Some(*status),
            StoredRecord::TickFailed(error) => {
                moment.root = None;
                moment.error.clone_from(error);
            }
            StoredRecord::Changed { node, to, .. } => moment.changes.push((*node, *to)),
            StoredRecord::Halted { node, .. } if def.children(*node).len() == 0 => {
                moment.halted.push(*node);
            }
            StoredRecord::Skipped(node) => moment.skipped.push(*node),
            StoredRecord::Wrote {
                slot,
                by: Some(node),
                value: Some(value),
                ..
            } => {
                let path = &def.node(*node).path;
                let last = moment.visits.iter_mut().rfind(|((leaf, _), _)| leaf == path);
                if let (Some((_, set)), Some(port), Some(value)) =
                    (last, port_of(def, *node, *slot), scalar(value))
                {
                    set.insert(port.to_owned(), value);
                }
            }
            _ => {}
        }
    }
    moment
}

/// The port of a node that writes an entry.
fn port_of(def: &TreeDef, node: NodeIndex, slot: SlotId) -> Option<&str> {
    let scope = def.node(node).scope;
    let mut ports = def.attributes(node);
    let (name, _) = ports.find(|(name, value)| {
        let key = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let key = key.map(|key| if key == "=" { *name } else { key });
        key.is_some_and(|key| def.slot(scope, key) == Some(slot))
    })?;
    Some(name)
}

/// A value as YAML, if a scenario can set it. Mocks read no objects.
fn scalar(value: &StoredValue) -> Option<String> {
    match value {
        StoredValue::Int(number) => Some(number.to_string()),
        StoredValue::UInt(number) => Some(number.to_string()),
        StoredValue::Real(number) if number.is_finite() => Some(format!("{number:?}")),
        StoredValue::Text(text) => Some(quoted(text)),
        _ => None,
    }
}

/// A text in double quotes. YAML reads those of JSON.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// The keys of the main tree that the navigator wrote.
struct Keys<'r> {
    recording: &'r Recording,
}

impl Keys<'_> {
    fn key(&self, slot: usize) -> Option<&str> {
        let navigation = &self.recording.navigation;
        let known = navigation.slots.len();
        let added = &navigation.checkpoint.added;
        let of_run = self
            .recording
            .records
            .iter()
            .find_map(|(_, record)| match record {
                StoredRecord::Key { slot: of, scope, key } if of.index() as usize == slot => {
                    Some((scope, key))
                }
                _ => None,
            });
        let known = navigation
            .slots
            .get(slot)
            .or_else(|| added.get(slot.checked_sub(known)?));
        let (scope, key) = known.map(|(scope, key)| (scope, key)).or(of_run)?;
        (*scope == crate::bt::ScopeId::ROOT && crate::bt::is_key(key)).then_some(&**key)
    }

    /// The state at the beginning.
    fn initial(&self) -> Scalars {
        let entries = self.recording.navigation.checkpoint.entries.iter();
        let written = entries.enumerate().filter_map(|(slot, entry)| {
            let value = entry.value.as_ref().and_then(scalar)?;
            Some((self.key(slot)?.to_owned(), value))
        });
        written.collect()
    }

    fn written(&self, records: &[StoredRecord]) -> Scalars {
        let written = records.iter().filter_map(|record| match record {
            StoredRecord::Wrote {
                slot,
                value: Some(value),
                ..
            } => Some((self.key(slot.index() as usize)?.to_owned(), scalar(value)?)),
            _ => None,
        });
        written.collect()
    }
}

/// The moments that a scenario has: all of them, or those that are not like the one before, with the last one.
fn keep(moments: &[Moment], is_whole: bool) -> Vec<&Moment> {
    let is_new = |index: usize| {
        let (Some(before), Some(now)) = (moments.get(index.wrapping_sub(1)), moments.get(index)) else {
            return true;
        };
        let is_repeated = !now.is_halt
            && now.set.is_empty()
            && now.halted.is_empty()
            && now.statuses == before.statuses
            && now.changes == before.changes
            && now.skipped == before.skipped;
        !is_repeated || index + 1 == moments.len()
    };
    let kept = moments.iter().enumerate();
    kept.filter(|(index, _)| is_whole || is_new(*index))
        .map(|(_, moment)| moment)
        .collect()
}

/// All trees of a recording as one file.
fn merge(files: &[(String, String)]) -> Result<String, String> {
    let mut sources = Sources::new();
    let mut merged = String::new();
    let mut trees = Vec::new();
    for (name, text) in files {
        let file = sources.add_text(name, Path::new(""), text.clone());
        let mut diagnostics = Diagnostics::new();
        let document = Document::parse(&file, &mut diagnostics);
        let root = document
            .root()
            .ok_or_else(|| format!("{name} has no root element"))?;
        if merged.is_empty() {
            let format = root.value("BTCPP_format");
            let format = format.map(|format| format!(" BTCPP_format=\"{}\"", crate::xml::escape(format)));
            merged = format!("<root{}>\n", format.unwrap_or_default());
        }
        for element in root.children() {
            let id = element.value("ID").map(str::to_owned);
            let is_tree = element.name() == "BehaviorTree";
            if element.name() == "include" || (is_tree && trees.contains(&id)) {
                continue;
            }
            if is_tree {
                trees.push(id);
            }
            let _ = writeln!(merged, "  {}", file.slice(element.span()));
        }
    }
    merged.push_str("</root>\n");
    Ok(merged)
}

/// Writes the scenario of some moments.
struct Script<'m> {
    def: &'m TreeDef,
    moments: &'m [&'m Moment],
    /// Rounds a time in ms.
    round: fn(f64) -> f64,
}

impl Script<'_> {
    fn write(&self, recording: &Recording, xml: &str, name: &str) -> String {
        let navigation = &recording.navigation;
        let mut out = format!(
            "# A recorded navigation: {} {}.\nname: {}\nmain: {}\n",
            navigation.action,
            navigation.goal,
            quoted(name),
            quoted(&navigation.tree)
        );
        // A write to a string cannot fail.
        let is_plain = |letter: char| !letter.is_control() || matches!(letter, '\n' | '\r' | '\t');
        if xml.chars().all(is_plain) {
            out.push_str("xml: |2\n");
            for line in xml.lines() {
                let _ = writeln!(out, "  {line}");
            }
        } else {
            let _ = writeln!(out, "xml: {}", quoted(xml));
        }
        let (period, advances) = self.times();
        let _ = writeln!(out, "period: {period}\ndrain: true");
        if let Some(first) = self.moments.first()
            && !first.set.is_empty()
        {
            let _ = writeln!(out, "set: {}", flow(&first.set));
        }
        self.write_mocks(&mut out);
        self.write_events(&mut out, &advances);
        self.write_expectations(&mut out);
        out
    }

    /// The period, and what the clock advances before each moment besides it, in ms.
    fn times(&self) -> (u64, Vec<u64>) {
        let began = self.moments.first().map_or(Time::ZERO, |moment| moment.time);
        let times: Vec<u64> = self
            .moments
            .iter()
            .map(|moment| (self.round)(moment.time.since(began).as_secs_f64() * 1e3) as u64)
            .collect();
        // Only a tick moves the clock.
        let gaps: Vec<(bool, u64)> = times
            .windows(2)
            .zip(self.moments)
            .map(|(pair, before)| (!before.is_halt, pair[1].saturating_sub(pair[0])))
            .collect();
        let after_ticks = gaps.iter().filter(|(is_tick, _)| *is_tick).map(|(_, gap)| *gap);
        let period = after_ticks.min().unwrap_or(10);
        let advances = gaps
            .iter()
            .map(|(is_tick, gap)| gap - if *is_tick { period } else { 0 });
        (period, std::iter::once(0).chain(advances).collect())
    }

    fn write_mocks(&self, out: &mut String) {
        let builtin = Registry::builtin();
        let mut outcomes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let real: Vec<&str> = self
            .def
            .nodes()
            .filter(|(_, info)| builtin.contains(&info.id))
            .map(|(_, info)| &*info.path)
            .collect();
        for moment in self.moments {
            for ((leaf, status), set) in &moment.visits {
                if real.contains(&&**leaf) {
                    continue;
                }
                let outcome = match status {
                    None => format!("{{throw: {}}}", quoted(&moment.error)),
                    Some(status) if set.is_empty() => status.name().to_owned(),
                    Some(status) => format!("{{status: {}, set: {}}}", status.name(), flow(set)),
                };
                outcomes.entry(leaf).or_default().push(outcome);
            }
        }
        if outcomes.is_empty() {
            return;
        }
        out.push_str("mocks:\n");
        for (leaf, outcomes) in &outcomes {
            let _ = writeln!(out, "  {}: [{}]", quoted(leaf), outcomes.join(", "));
        }
    }

    fn write_events(&self, out: &mut String, advances: &[u64]) {
        let mut events = String::new();
        for (number, (moment, advance)) in (1..).zip(self.moments.iter().zip(advances)) {
            let mut parts = Vec::new();
            if *advance > 0 {
                parts.push(format!("advance: {advance}"));
            }
            if moment.is_halt {
                parts.push("halt: true".to_owned());
            }
            if number > 1 && !moment.set.is_empty() {
                parts.push(format!("set: {}", flow(&moment.set)));
            }
            if !parts.is_empty() {
                let _ = writeln!(events, "  {number}: {{{}}}", parts.join(", "));
            }
        }
        if !events.is_empty() {
            let _ = write!(out, "events:\n{events}");
        }
    }

    fn write_expectations(&self, out: &mut String) {
        let line =
            |letters: &mut dyn Iterator<Item = char>| letters.map(String::from).collect::<Vec<_>>().join(" ");
        let mut root = self
            .moments
            .iter()
            .map(|moment| moment.root.map_or('!', NodeStatus::letter));
        let _ = writeln!(out, "expect:\n  root: {}\n  nodes:", quoted(&line(&mut root)));
        let mut written = BTreeSet::new();
        for (node, info) in self.def.nodes() {
            let statuses = self
                .moments
                .iter()
                .filter_map(|moment| moment.statuses.get(node.index()));
            // Siblings can have the same path.
            let is_idle = statuses.clone().all(|status| *status == NodeStatus::Idle);
            if is_idle || !written.insert(&info.path) {
                continue;
            }
            let letters = line(&mut statuses.map(|status| status.letter()));
            let _ = writeln!(out, "    {}: {}", quoted(&info.path), quoted(&letters));
        }
        let mut halts = String::new();
        for (number, moment) in (1..).zip(self.moments) {
            let paths: Vec<String> = moment
                .halted
                .iter()
                .map(|node| quoted(&self.def.node(*node).path))
                .collect();
            if !paths.is_empty() {
                let _ = writeln!(halts, "    {number}: [{}]", paths.join(", "));
            }
        }
        if halts.is_empty() {
            out.push_str("  halted: {}\n");
        } else {
            let _ = write!(out, "  halted:\n{halts}");
        }
    }
}

/// A mapping on one line.
fn flow(scalars: &Scalars) -> String {
    let fields: Vec<String> = scalars
        .iter()
        .map(|(key, value)| format!("{}: {value}", quoted(key)))
        .collect();
    format!("{{{}}}", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::navigator::recording_tests::recordings_with_faults;

    #[test]
    fn the_scenario_of_a_navigation_with_faults_passes() {
        let registry = crate::nav::registry();
        let mut recoveries = 0;
        for seed in 0..10 {
            for file in recordings_with_faults(seed) {
                let recording = Recording::from_bytes(&file).unwrap();
                let made = make(&recording, &registry, "faults").unwrap();
                assert_eq!(made.differences, None, "seed {seed}:\n{}", made.text);
                let [ticks, all] = made.ticks;
                assert!(ticks * 3 < all, "seed {seed}: {ticks} of {all} ticks");
                recoveries += usize::from(made.text.contains("ClearEntireCostmap"));
            }
        }
        assert!(recoveries > 5, "{recoveries}");
    }

    #[test]
    fn a_changed_expectation_fails() {
        let registry = crate::nav::registry();
        let file = &recordings_with_faults(1)[0];
        let recording = Recording::from_bytes(file).unwrap();
        let text = make(&recording, &registry, "faults").unwrap().text;
        let changed = text.replacen("root: \"R R", "root: \"R S", 1);
        assert_ne!(changed, text);
        let scenarios = Scenario::parse(Path::new("t.yaml"), &changed).unwrap();
        assert!(scenarios[0].run(Path::new("."), &registry).is_err());
    }

    #[test]
    fn files_of_a_tree_become_one() {
        let file = |name: &str, trees: &str| {
            let text = format!("<root BTCPP_format=\"4\">{trees}</root>");
            (name.to_owned(), text)
        };
        let merged = merge(&[
            file(
                "a",
                "<include path=\"b\"/><BehaviorTree ID=\"A\"><SubTree ID=\"B\"/></BehaviorTree>",
            ),
            file("b", "<BehaviorTree ID=\"B\"><AlwaysSuccess/></BehaviorTree>"),
            file("c", "<BehaviorTree ID=\"B\"><AlwaysFailure/></BehaviorTree>"),
        ]);
        let expected = "\
<root BTCPP_format=\"4\">
  <BehaviorTree ID=\"A\"><SubTree ID=\"B\"/></BehaviorTree>
  <BehaviorTree ID=\"B\"><AlwaysSuccess/></BehaviorTree>
</root>
";
        assert_eq!(merged.unwrap(), expected);
    }
}
