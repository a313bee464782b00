//! Scenarios: a tree, the behavior of its leaves, and the expected state after each tick.
//!
//! ```yaml
//! name: the battery check interrupts the patrol
//! tree: patrol.xml            # or `xml: |` with the text itself
//! main: Patrol                # if the file does not name it
//! set: {charge: 0.9}          # blackboard before the first tick
//! period: 10                  # milliseconds from tick to tick
//! seed: 7                     # seed of Random and RandomSelector; 0 if absent
//! drain: false                # tick again at once while woken
//! mocks:                      # by path, name, ID or a pattern of paths: the most exact key counts
//!   DriveTo: [RUNNING, RUNNING, SUCCESS]
//! substitutions: rules.json   # instead of mocks: BehaviorTree.CPP's rules, in its JSON
//! events:                     # before the tick of that number
//!   3: {set: {charge: 0.1}}
//!   5: {halt: true}           # halt the tree instead of this tick, like a cancelled goal
//!   6: {advance: 500}         # milliseconds without a tick
//!   7: {emit: {door.open: 2}} # events with their data, for that tick
//! expect:
//!   root: R R R F             # root status per tick: I R S F -, ! for an error, . for anything
//!   nodes:                    # stored statuses after each tick, by path, name or ID
//!     DriveTo: R R I I
//!   halted: {3: [DriveTo]}    # halts of that tick, in order; other ticks must have none
//!   blackboard: {charge: 0.1} # at the end
//!   error: no plan            # part of the error that ends the run
//! ```
//!
//! One file may contain several scenarios, as a list or as several documents.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::expectations::{Expect, letters};
use super::mock_run::{MockRun, Snapshot};
use super::mocks::Mocks;
use super::yaml::{self, Mapping};
use crate::bt::{Registry, Substitutions};
use crate::record::coverage::Coverage;
use crate::xml::Loader;

/// One scenario of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    #[serde(default)]
    pub(crate) name: String,
    tree: Option<PathBuf>,
    xml: Option<String>,
    main: Option<String>,
    #[serde(default)]
    set: Mapping<String, Value>,
    #[serde(default = "default_period")]
    period: u64,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    drain: bool,
    #[serde(default)]
    mocks: Mocks,
    substitutions: Option<PathBuf>,
    #[serde(default)]
    events: Mapping<u64, Event>,
    /// The number of ticks, if `expect` does not determine it.
    ticks: Option<u64>,
    #[serde(default)]
    expect: Expect,
}

fn default_period() -> u64 {
    10
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    #[serde(default)]
    set: Mapping<String, Value>,
    #[serde(default)]
    emit: Mapping<String, Value>,
    #[serde(default)]
    halt: bool,
    #[serde(default)]
    advance: u64,
}

/// Maximum number of ticks of a scenario: all observations are stored until its end.
const MAX_TICKS: u64 = 1_000_000;

/// The content of one document: a scenario, a list of scenarios, or nothing.
struct DocumentScenarios(Vec<Scenario>);

impl<'de> Deserialize<'de> for DocumentScenarios {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(ScenarioVisitor {
                is_list_element: false,
            })
            .map(Self)
    }
}

/// An element of a list.
struct ListElement(Vec<Scenario>);

impl<'de> Deserialize<'de> for ListElement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(ScenarioVisitor {
                is_list_element: true,
            })
            .map(Self)
    }
}

/// Reads scenarios, and checks each one while the parser knows its position.
struct ScenarioVisitor {
    is_list_element: bool,
}

impl<'de> Visitor<'de> for ScenarioVisitor {
    type Value = Vec<Scenario>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_list_element {
            "a scenario"
        } else {
            "a scenario or a list of them"
        })
    }

    /// A document with comments only.
    fn visit_none<E: Error>(self) -> Result<Vec<Scenario>, E> {
        Ok(Vec::new())
    }

    fn visit_unit<E: Error>(self) -> Result<Vec<Scenario>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Scenario>, A::Error> {
        let mut scenarios = Vec::new();
        while let Some(ListElement(more)) = list.next_element()? {
            scenarios.extend(more);
        }
        Ok(scenarios)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<Scenario>, A::Error> {
        let scenario = Scenario::deserialize(MapAccessDeserializer::new(map))?;
        scenario.check().map_err(|message| match scenario.name.as_str() {
            "" => A::Error::custom(message),
            name => A::Error::custom(format!("scenario `{name}`: {message}")),
        })?;
        Ok(vec![scenario])
    }
}

impl Scenario {
    /// Reads all scenarios of a file.
    ///
    /// # Errors
    /// The error in the file, after its name, line and column.
    pub(crate) fn read(path: &Path) -> Result<Vec<Self>, String> {
        Self::parse(path, &yaml::read(path)?)
    }

    /// Reads all scenarios of a text. The path is for messages, and for names.
    ///
    /// # Errors
    /// As [`Scenario::read`].
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Vec<Self>, String> {
        let mut scenarios = Vec::new();
        for document in serde_yaml::Deserializer::from_str(text) {
            let DocumentScenarios(more) =
                DocumentScenarios::deserialize(document).map_err(|error| yaml::parser_error(path, &error))?;
            scenarios.extend(more);
        }
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        for (number, scenario) in (1..).zip(&mut scenarios) {
            if scenario.name.is_empty() {
                scenario.name = format!("{} {number}", stem.as_deref().unwrap_or_default());
            }
        }
        Ok(scenarios)
    }

    /// Checks that the scenario has an expectation that can be observed.
    fn check(&self) -> Result<(), String> {
        if self.tree.is_some() == self.xml.is_some() {
            return Err("a scenario needs either `tree` (a file) or `xml` (its text)".to_owned());
        }
        if self.substitutions.is_some() && !self.mocks.is_empty() {
            return Err("a scenario has either `mocks` or `substitutions`".to_owned());
        }
        if self.expect.refused.is_some()
            && let Some(other) = self.expect.first_runtime_expectation()
        {
            return Err(format!(
                "`refused` means that the tree does not run, so `{other}` has no effect: remove one of them"
            ));
        }
        let root = self.expect.root.iter().map(|table| ("root", table, "IRSF-!."));
        let nodes = self.expect.nodes.iter();
        for (name, table, known) in root.chain(nodes.map(|(name, table)| (&**name, table, "IRSF-."))) {
            if let Some(letter) = letters(table).into_iter().find(|letter| !known.contains(*letter)) {
                return Err(format!("{name}: `{letter}` is not one of {known}"));
            }
        }
        let ticks = self.ticks();
        if ticks > MAX_TICKS {
            return Err(format!("{ticks} ticks: the maximum is {MAX_TICKS}"));
        }
        // An expectation that is never checked must not count as fulfilled.
        let halted = self
            .expect
            .halted
            .iter()
            .flatten()
            .map(|(tick, _)| ("halted", tick));
        let events = self.events.keys().map(|tick| ("events", tick));
        match halted.chain(events).find(|(_, tick)| !(1..=ticks).contains(tick)) {
            Some((what, tick)) => Err(format!(
                "`{what}` names tick {tick}, but only ticks 1 to {ticks} run: set `ticks`, or write more letters"
            )),
            None => Ok(()),
        }
    }

    /// Runs the scenario.
    ///
    /// # Errors
    /// All differences, with the full expected and observed values.
    pub(crate) fn run(&self, directory: &Path, registry: &Registry) -> Result<(), String> {
        self.run_observed(directory, registry, None)
    }

    /// Runs the scenario and counts what its nodes do.
    ///
    /// # Errors
    /// As [`Scenario::run`].
    pub(crate) fn run_observed(
        &self,
        directory: &Path,
        registry: &Registry,
        coverage: Option<&Coverage>,
    ) -> Result<(), String> {
        let mut registry = registry.clone();
        match &self.substitutions {
            Some(file) => apply_substitutions(&directory.join(file), &mut registry)?,
            None => self.mocks.clone().apply(&mut registry),
        }
        let loader = Loader::new(&registry).with_models();
        let loaded = match (&self.tree, &self.xml) {
            (Some(file), None) => loader.load_file(&directory.join(file), self.main.as_deref()),
            (None, Some(text)) => loader.load_text("scenario", text, directory, self.main.as_deref()),
            _ => return self.check(),
        };
        let loaded = match (loaded, &self.expect.refused) {
            (Ok(loaded), None) => loaded,
            (Ok(_), Some(reason)) => {
                return Err(format!("the tree was accepted: expected an error ({reason})"));
            }
            (Err(refused), None) => return Err(format!("the tree is rejected:\n{refused}")),
            (Err(refused), Some(reason)) => {
                let text = refused.to_string();
                return if text.contains(reason) {
                    Ok(())
                } else {
                    Err(format!("the tree is rejected, but not for `{reason}`:\n{text}"))
                };
            }
        };
        let unused = self.mocks.unused(&loaded.def);
        if !unused.is_empty() {
            // A mock that is never ticked must not count as used.
            return Err(format!(
                "no leaf of the tree has these mocks: {}",
                unused.join(", ")
            ));
        }
        let mut run = MockRun::new(loaded.def, Duration::from_millis(self.period), self.drain);
        if let Some(coverage) = coverage {
            run.observe(coverage.clone());
        }
        run.seed(self.seed);
        for (key, value) in &self.set {
            run.set(key, value)?;
        }
        let snapshots = self.run_ticks(&mut run)?;
        self.expect.compare(&run, &snapshots)
    }

    fn ticks(&self) -> u64 {
        let tables = self.expect.root.iter().chain(self.expect.nodes.values());
        let longest = tables.map(|table| letters(table).len() as u64).max();
        self.ticks.or(longest).unwrap_or(1)
    }

    fn run_ticks(&self, run: &mut MockRun) -> Result<Vec<Snapshot>, String> {
        let mut snapshots = Vec::new();
        for number in 1..=self.ticks() {
            let mut halted = false;
            if let Some(event) = self.events.get(&number) {
                for (key, value) in &event.set {
                    run.set(key, value)?;
                }
                for (name, data) in &event.emit {
                    run.emit(name, data);
                }
                run.advance(Duration::from_millis(event.advance));
                halted = event.halt;
            }
            let snapshot = if halted { run.halt() } else { run.tick() };
            let has_failed = snapshot.result.is_err();
            snapshots.push(snapshot);
            if has_failed {
                break;
            }
        }
        Ok(snapshots)
    }
}

/// Applies a file of substitution rules.
fn apply_substitutions(file: &Path, registry: &mut Registry) -> Result<(), String> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    Substitutions::from_json(&text)
        .and_then(|rules| registry.set_substitutions(&rules))
        .map_err(|error| format!("{name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Scenario>, String> {
        serde_yaml::from_str(text)
            .map(|DocumentScenarios(scenarios)| scenarios)
            .map_err(|error| yaml::parser_error(Path::new("m"), &error))
    }

    fn run(text: &str) -> Result<(), String> {
        read(text).unwrap()[0].run(Path::new("."), &crate::nav::registry())
    }

    const PATROL: &str = "
xml: |
  <root BTCPP_format='4'><BehaviorTree ID='M'>
    <ReactiveSequence><Check/><Drive name='drive'/></ReactiveSequence>
  </BehaviorTree></root>
mocks: {Check: [SUCCESS, SUCCESS, FAILURE], Drive: RUNNING}
expect: {root: R R F, nodes: {drive: R R I}, halted: {3: [drive]}}
";

    #[test]
    fn a_correct_scenario_passes() {
        run(PATROL).unwrap();
    }

    #[test]
    fn substitution_rules_replace_the_leaves_of_a_scenario() {
        let folder = std::env::temp_dir().join(format!("navtree-substitutions-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let rules = r#"{
            "TestNodeConfigs": { "Slow": { "return_status": "FAILURE", "async_delay": 20 } },
            "SubstitutionRules": { "drive": "Slow", "Check": "AlwaysSuccess" }
        }"#;
        std::fs::write(folder.join("rules.json"), rules).unwrap();
        let mocks = "mocks: {Check: [SUCCESS, SUCCESS, FAILURE], Drive: RUNNING}";
        let run = |text: &str| read(text).unwrap()[0].run(&folder, &crate::nav::registry());
        run(&PATROL
            .replace(mocks, "substitutions: rules.json")
            .replace(", nodes: {drive: R R I}, halted: {3: [drive]}", ""))
        .unwrap();
        let missing = run(&PATROL.replace(mocks, "substitutions: none.json")).unwrap_err();
        assert!(missing.contains("none.json"), "{missing}");
        let both = format!("{PATROL}\nsubstitutions: rules.json");
        assert!(
            read(&both)
                .unwrap_err()
                .contains("either `mocks` or `substitutions`")
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_failed_scenario_shows_expected_and_actual() {
        let message = run(&PATROL.replace("root: R R F", "root: R S F")).unwrap_err();
        assert_eq!(
            message,
            "root:\n  expected R S F\n  got      R R F\n             ^"
        );
    }

    #[test]
    fn an_impossible_expectation_is_rejected_with_its_location() {
        let head = "- {name: x, xml: a}\n- name: y\n  xml: a\n";
        for (text, message) in [
            (
                "expect: {root: R Q}",
                "m:2:3: [1]: scenario `y`: root: `Q` is not one of IRSF-!.",
            ),
            (
                "expect: {root: R R, halted: {3: [a]}}",
                "m:2:3: [1]: scenario `y`: `halted` names tick 3, but only ticks 1 to 2 run: set `ticks`, or write more \
                 letters",
            ),
            (
                "events: {0: {halt: true}}",
                "m:2:3: [1]: scenario `y`: `events` names tick 0, but only ticks 1 to 1 run: set `ticks`, or write more \
                 letters",
            ),
            (
                "ticks: 1000001",
                "m:2:3: [1]: scenario `y`: 1000001 ticks: the maximum is 1000000",
            ),
            (
                "expect: {refused: NT0301, nodes: {a: S}}",
                "m:2:3: [1]: scenario `y`: `refused` means that the tree does not run, so `nodes` has no effect: \
                 remove one of them",
            ),
            (
                "tree: b",
                "m:2:3: [1]: scenario `y`: a scenario needs either `tree` (a file) or `xml` (its text)",
            ),
            (
                "mocks: {A: [S]}",
                "m:4:15: [1].mocks.A[0]: `S` is not SUCCESS, FAILURE, RUNNING or SKIPPED",
            ),
        ] {
            assert_eq!(read(&format!("{head}  {text}\n")).unwrap_err(), message);
        }
        assert_eq!(read("# nothing").unwrap().len(), 0);
        assert_eq!(
            read("- 5").unwrap_err(),
            "m:1:3: [0]: invalid type: integer `5`, expected a scenario"
        );
    }

    #[test]
    fn duplicates_are_rejected() {
        let twice = "invalid type: integer `2`, expected each key once: this key is already set above";
        for (before, path, after) in [
            ("set: {x: 1, x: ", "set.x", "}"),
            ("events: {3: {}, 3: ", "events.3", "}"),
            ("events: {3: {set: {x: 1, x: ", "events.3.set.x", "}}}"),
            ("events: {3: {emit: {x: 1, x: ", "events.3.emit.x", "}}}"),
            ("mocks: {A: SUCCESS, A: ", "mocks.A", "}"),
            ("mocks: {A: {status: SUCCESS, status: ", "mocks.A.status", "}}"),
            ("expect: {nodes: {a: S, a: ", "expect.nodes.a", "}}"),
            ("expect: {halted: {1: [], 1: ", "expect.halted.1", "}}"),
            ("expect: {blackboard: {x: 1, x: ", "expect.blackboard.x", "}}"),
        ] {
            let expected = format!("m:2:{}: {path}: {twice}", before.len() + 1);
            assert_eq!(
                read(&format!("xml: a\n{before}2{after}\n")).unwrap_err(),
                expected
            );
        }
    }

    #[test]
    fn an_unexpected_halt_is_reported() {
        let message = run(&PATROL.replace("{3: [drive]}", "{}")).unwrap_err();
        assert_eq!(message, "halted in tick 3: expected [], got [drive]");
    }
}
