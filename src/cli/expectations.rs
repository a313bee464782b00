//! What a scenario expects of its run, and the comparison with what happened.

use serde::Deserialize;
use serde_json::Value;

use super::mock_run::{MockRun, Snapshot};
use super::yaml::Mapping;
use crate::bt::{NodeIndex, TreeDef};

/// The expectations of one scenario.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    pub(super) root: Option<String>,
    #[serde(default)]
    pub(super) nodes: Mapping<String, String>,
    pub(super) halted: Option<Mapping<u64, Vec<String>>>,
    #[serde(default)]
    blackboard: Mapping<String, Value>,
    error: Option<String>,
    /// Part of the reason for which the tree is refused.
    pub(super) refused: Option<String>,
}

impl Expect {
    /// The first expectation that needs a running tree.
    pub(super) fn first_runtime_expectation(&self) -> Option<&'static str> {
        let parts = [
            ("root", self.root.is_some()),
            ("nodes", !self.nodes.is_empty()),
            ("halted", self.halted.is_some()),
            ("blackboard", !self.blackboard.is_empty()),
            ("error", self.error.is_some()),
        ];
        parts
            .into_iter()
            .find_map(|(name, is_set)| is_set.then_some(name))
    }

    /// Compares a run with the expectations.
    ///
    /// # Errors
    /// All differences, with the full expected and observed values.
    pub(super) fn compare(&self, run: &MockRun, snapshots: &[Snapshot]) -> Result<(), String> {
        let def = run.definition();
        let mut differences = Vec::new();
        if let Some(expected) = &self.root {
            let got: Vec<char> = snapshots
                .iter()
                .map(|snapshot| snapshot.result.as_ref().map_or('!', |status| status.letter()))
                .collect();
            compare_letters("root", &letters(expected), &got, &mut differences);
        }
        for (name, expected) in &self.nodes {
            let node = find(def, name)?;
            let got: Vec<char> = snapshots
                .iter()
                .map(|snapshot| snapshot.statuses[node.index()].letter())
                .collect();
            compare_letters(name, &letters(expected), &got, &mut differences);
        }
        if let Some(expected) = &self.halted {
            for (number, snapshot) in (1..).zip(snapshots) {
                let expected: Vec<NodeIndex> = expected
                    .get(&number)
                    .into_iter()
                    .flatten()
                    .map(|name| find(def, name))
                    .collect::<Result<_, _>>()?;
                // Only leaves count, because their parents are always halted with them.
                let got: Vec<NodeIndex> = snapshot
                    .halted
                    .iter()
                    .copied()
                    .filter(|node| expected.contains(node) || def.children(*node).len() == 0)
                    .collect();
                if got != expected {
                    let names = |nodes: &[NodeIndex]| {
                        let names: Vec<&str> = nodes.iter().map(|node| &*def.node(*node).path).collect();
                        names.join(", ")
                    };
                    differences.push(format!(
                        "halted in tick {number}: expected [{}], got [{}]",
                        names(&expected),
                        names(&got)
                    ));
                }
            }
        }
        let blackboard = run.blackboard();
        for (key, expected) in &self.blackboard {
            let got = blackboard.get(key).unwrap_or(&Value::Null);
            if !is_equal(expected, got) {
                differences.push(format!("blackboard {key}: expected {expected}, got {got}"));
            }
        }
        let error = snapshots.last().and_then(|last| last.result.as_ref().err());
        match (&self.error, error) {
            (Some(part), Some(error)) if error.to_string().contains(part) => {}
            (Some(part), Some(error)) => {
                differences.push(format!("expected an error with `{part}`, got: {error}"));
            }
            (Some(part), None) => differences.push(format!("expected an error with `{part}`, got none")),
            (None, Some(error)) if self.root.as_ref().is_none_or(|root| !root.contains('!')) => {
                differences.push(format!("error: {error}"));
            }
            (None, _) => {}
        }
        if differences.is_empty() {
            Ok(())
        } else {
            Err(differences.join("\n"))
        }
    }
}

/// The letters of a table, without spaces and bars.
pub(super) fn letters(table: &str) -> Vec<char> {
    table
        .chars()
        .filter(|letter| !letter.is_whitespace() && *letter != '|')
        .collect()
}

fn compare_letters(what: &str, expected: &[char], got: &[char], differences: &mut Vec<String>) {
    let same = expected.len() == got.len() && expected.iter().zip(got).all(|(e, g)| e == g || *e == '.');
    if !same {
        let with_spaces =
            |letters: &[char]| letters.iter().map(char::to_string).collect::<Vec<_>>().join(" ");
        let marks: Vec<char> = (0..expected.len().max(got.len()))
            .map(|index| match (expected.get(index), got.get(index)) {
                (Some(e), Some(g)) if e == g || *e == '.' => ' ',
                _ => '^',
            })
            .collect();
        differences.push(format!(
            "{what}:\n  expected {}\n  got      {}\n           {}",
            with_spaces(expected),
            with_spaces(got),
            with_spaces(&marks).trim_end()
        ));
    }
}

/// A node by path, by name, or by ID if the ID is unique.
fn find(def: &TreeDef, name: &str) -> Result<NodeIndex, String> {
    let nodes_with = |test: &dyn Fn(&crate::bt::NodeInfo) -> bool| -> Vec<NodeIndex> {
        def.nodes()
            .filter(|(_, info)| test(info))
            .map(|(node, _)| node)
            .collect()
    };
    for nodes in [
        nodes_with(&|info| *info.path == *name),
        nodes_with(&|info| *info.name == *name),
        nodes_with(&|info| *info.id == *name),
    ] {
        match nodes.as_slice() {
            [] => {}
            [node] => return Ok(*node),
            several => {
                let paths: Vec<&str> = several.iter().map(|node| &*def.node(*node).path).collect();
                return Err(format!(
                    "`{name}` is the name of several nodes: write one of {}",
                    paths.join(", ")
                ));
            }
        }
    }
    let paths: Vec<&str> = def.nodes().map(|(_, info)| &*info.path).collect();
    Err(format!("no node `{name}`; the nodes are {}", paths.join(", ")))
}

/// Returns whether two values are equal; 1 equals 1.0.
fn is_equal(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b || (a.is_boolean() && a.as_bool().map(i64::from) == b.as_i64()),
    }
}
