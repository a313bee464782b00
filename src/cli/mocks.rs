//! Mocked leaves that follow a file: `MOCKS.yaml` of `navtree trace` and the `mocks` of a scenario.

use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;

use super::yaml::Mapping;
use crate::bt::{
    Behavior, Context, InOut, NodeInfo, NodeKind, NodeStatus, PortValue, Ports, Registry, Substitute, Text,
    Tick, TreeDef, Value, matches,
};

/// Mocks by key: a leaf's full path, its instance name, its registered ID or a pattern of paths (`*` any characters,
/// `?` one character). A script has one outcome per tick and repeats. If several keys match, the most exact one counts,
/// in this order; of several patterns, the one with the most literal characters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mocks(Mapping<String, Script>);

impl<'de> Deserialize<'de> for Mocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Mocks;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping from leaves to their outcomes")
            }

            /// A file with comments only.
            fn visit_none<E: Error>(self) -> Result<Mocks, E> {
                Ok(Mocks::default())
            }

            /// `mocks:` without a value.
            fn visit_unit<E: Error>(self) -> Result<Mocks, E> {
                Ok(Mocks::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Mocks, A::Error> {
                Mapping::deserialize(MapAccessDeserializer::new(map)).map(Mocks)
            }
        }
        deserializer.deserialize_any(Entries)
    }
}

impl Mocks {
    /// Replaces the matching leaves by mocks, also leaves of unknown types.
    pub(crate) fn apply(self, registry: &mut Registry) {
        registry.set_substitute(Some(Arc::new(self)));
    }

    /// Returns whether there are no mocks.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys that match no leaf of a tree. They are probably misspelt.
    pub(crate) fn unused(&self, def: &TreeDef) -> Vec<&str> {
        let matches_a_leaf = |key: &str| {
            def.nodes()
                .any(|(_, node)| is_leaf(node) && (names(node).contains(&key) || matches(key, &node.path)))
        };
        let keys = self.0.keys().map(String::as_str);
        keys.filter(|key| !matches_a_leaf(key)).collect()
    }

    /// The script of the most exact key that matches: path before name before ID before pattern. Of equally exact
    /// patterns, the first by name counts.
    fn find(&self, node: &NodeInfo) -> Option<&Script> {
        let exact = names(node).into_iter().find_map(|key| self.0.get(key));
        exact.or_else(|| {
            let matching = self.0.iter().filter(|(pattern, _)| matches(pattern, &node.path));
            matching
                .min_by_key(|(pattern, _)| Reverse(literal_length(pattern)))
                .map(|(_, outcomes)| outcomes)
        })
    }
}

impl Substitute for Mocks {
    fn behavior(&self, node: &NodeInfo, ports: &mut Ports<'_>) -> Option<Box<dyn Behavior>> {
        if !is_leaf(node) {
            return None;
        }
        let script = self.find(node)?.clone();
        let outputs = ports.attributes().into_iter().map(|name| {
            let port = ports.inout::<Value>(name.clone()).bind();
            (name, port)
        });
        Some(Box::new(Mock {
            script,
            outputs: outputs.collect(),
        }))
    }

    fn adopt(&self, leaf: &NodeInfo, ports: &mut Ports<'_>) -> Option<Box<dyn Behavior>> {
        self.behavior(leaf, ports)
    }
}

/// The names of a leaf in a file, the most exact first.
pub(crate) fn names(leaf: &NodeInfo) -> [&str; 3] {
    [&*leaf.path, &*leaf.name, &*leaf.id]
}

/// Number of literal characters of a pattern.
fn literal_length(pattern: &str) -> usize {
    pattern
        .chars()
        .filter(|character| !matches!(character, '*' | '?'))
        .count()
}

/// Returns whether a node is a leaf. Only leaves are mocked: a control node often has the name of its leaf, and a
/// pattern matches both.
pub(crate) fn is_leaf(node: &NodeInfo) -> bool {
    matches!(node.kind, NodeKind::Action | NodeKind::Condition)
}

/// A list of outcomes; a single outcome means a list of one. Implemented by hand: serde reads a list of three as a
/// mapping of three fields, and has no useful error message for a value with several forms.
#[derive(Clone, Debug)]
struct Script {
    steps: Arc<[Step]>,
}

impl<'de> Deserialize<'de> for Script {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(Outcomes {
                is_list_element: false,
            })
            .map(|steps| Self { steps: steps.into() })
    }
}

#[derive(Debug)]
struct Step {
    result: Result<NodeStatus, String>,
    set: Vec<(String, Json)>,
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let steps = deserializer.deserialize_any(Outcomes {
            is_list_element: true,
        })?;
        steps
            .into_iter()
            .next()
            .ok_or_else(|| D::Error::custom("the list of outcomes is empty"))
    }
}

/// Reads the value of a key, or with `is_list_element` an element of its list. Errors are reported during the read,
/// because only then the parser knows the position.
struct Outcomes {
    is_list_element: bool,
}

impl<'de> Visitor<'de> for Outcomes {
    type Value = Vec<Step>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SUCCESS, FAILURE, RUNNING, SKIPPED or a mapping")?;
        f.write_str(if self.is_list_element {
            ""
        } else {
            ", or a list of these"
        })
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Vec<Step>, E> {
        let (result, set) = (Ok(status(name).map_err(E::custom)?), Vec::new());
        Ok(vec![Step { result, set }])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Step>, A::Error> {
        if self.is_list_element {
            return Err(A::Error::custom("an outcome cannot be a list"));
        }
        let mut steps = Vec::new();
        while let Some(step) = list.next_element()? {
            steps.push(step);
        }
        if steps.is_empty() {
            return Err(A::Error::custom("the list of outcomes is empty"));
        }
        Ok(steps)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<Step>, A::Error> {
        let outcome = Mapping::deserialize(MapAccessDeserializer::new(map))?;
        Ok(vec![Step::new(&outcome).map_err(A::Error::custom)?])
    }
}

impl Step {
    fn new(fields: &Mapping<String, Json>) -> Result<Self, String> {
        let (mut result, mut error, mut set) = (None, None, Vec::new());
        for (field, value) in fields {
            match (field.as_str(), value) {
                ("status", Json::String(name)) => result = Some(status(name)?),
                ("throw", Json::String(message)) => error = Some(message.clone()),
                ("throw", other) => error = Some(other.to_string()),
                ("set", Json::Object(ports)) => {
                    if let Some((port, _)) = ports.iter().find(|(_, value)| value.is_null()) {
                        return Err(format!("`{port}` has no value: write a value"));
                    }
                    set = ports
                        .iter()
                        .map(|(port, value)| (port.clone(), value.clone()))
                        .collect();
                }
                ("status" | "set", other) => return Err(format!("`{field}` cannot be {other}")),
                _ => {
                    return Err(format!(
                        "`{field}` is not a field of an outcome: the fields are `status`, `set` and `throw`"
                    ));
                }
            }
        }
        let result = match (error, result) {
            (Some(message), _) => Err(message),
            (None, Some(status)) => Ok(status),
            (None, None) => return Err("an outcome needs `status` or `throw`".to_owned()),
        };
        Ok(Self { result, set })
    }
}

fn status(name: &str) -> Result<NodeStatus, String> {
    NodeStatus::from_name(name)
        .filter(|status| *status != NodeStatus::Idle)
        .ok_or_else(|| format!("`{name}` is not SUCCESS, FAILURE, RUNNING or SKIPPED"))
}

struct Mock {
    script: Script,
    outputs: Vec<(String, InOut<Value>)>,
}

impl Behavior for Mock {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        // The number of the tick is the only state of a mock. Nothing resets it.
        let tick_count = cx.state::<TickCount>();
        let step = &self.script.steps[tick_count.0 % self.script.steps.len()];
        tick_count.0 += 1;
        for (name, value) in &step.set {
            let Some((_, port)) = self.outputs.iter().find(|(output, _)| output == name) else {
                return Err(cx.throw(format!(
                    "the mock sets the port `{name}`, which the tree file does not set"
                )));
            };
            let Some(slot) = port.output.slot() else {
                return Err(cx.throw(format!(
                    "the mock sets the port `{name}`, whose value is not a {{key}}"
                )));
            };
            let (value, info) = to_value(value);
            if let Err(clash) = cx.write(slot, value, info) {
                return Err(cx.throw(format!("port `{name}`: {clash}")));
            }
        }
        match &step.result {
            Ok(status) => Ok(*status),
            Err(message) => Err(cx.throw(message.clone())),
        }
    }
}

#[derive(Default)]
struct TickCount(usize);

/// Converts a YAML scalar to a value. A list or mapping becomes JSON text, which typed ports read.
pub(crate) fn to_value(value: &Json) -> (Value, &'static crate::bt::TypeInfo) {
    match value {
        Json::Bool(truth) => (Value::Int(i64::from(*truth)), bool::TYPE),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(whole), _, _) => (Value::Int(whole), i64::TYPE),
            (None, Some(whole), _) => (Value::UInt(whole), u64::TYPE),
            (None, None, Some(real)) => (Value::Real(real), f64::TYPE),
            (None, None, None) => (Value::text(number.to_string()), Text::TYPE),
        },
        Json::String(text) => (Value::text(text.as_str()), Text::TYPE),
        other => (Value::text(format!("json:{other}")), Text::TYPE),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::yaml;
    use super::*;

    #[test]
    fn a_mock_without_a_status_is_refused_with_its_name_and_position() {
        for (text, message) in [
            (
                "a: [SUCCESS, MAYBE]",
                "m:1:14: a[1]: `MAYBE` is not SUCCESS, FAILURE, RUNNING or SKIPPED",
            ),
            ("b: SUCCESS\na: []", "m:2:4: a: the list of outcomes is empty"),
            (
                "a: {status: SUCCESS, sets: {x: 1}}",
                "m:1:4: a: `sets` is not a field of an outcome: the fields are `status`, `set` and `throw`",
            ),
            (
                "a: {status: SUCCESS, set: {x: }}",
                "m:1:4: a: `x` has no value: write a value",
            ),
            (
                "a: 5",
                "m:1:4: a: invalid type: integer `5`, expected SUCCESS, FAILURE, RUNNING, SKIPPED or a mapping, or a list of these",
            ),
            (
                "a: SUCCESS\na: FAILURE",
                "m:2:4: a: invalid type: string \"FAILURE\", expected each key once: this key is already set above",
            ),
            (
                "- a",
                "m:1:1: invalid type: sequence, expected a mapping from leaves to their outcomes",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), message);
        }
        parse("a: [SUCCESS, {status: RUNNING, set: {x: 1}}]\nb: {throw: no}").unwrap();
        parse("# nothing").unwrap();
    }

    #[test]
    fn a_64_bit_integer_is_converted_without_loss() {
        for (number, value) in [
            ("1", Value::Int(1)),
            ("-9223372036854775808", Value::Int(i64::MIN)),
            ("18446744073709551615", Value::UInt(u64::MAX)),
            ("1.0", Value::Real(1.0)),
        ] {
            assert_eq!(
                to_value(&serde_json::from_str(number).unwrap()).0,
                value,
                "{number}"
            );
        }
    }

    #[test]
    fn a_list_of_three_is_three_outcomes() {
        let mocks = parse("a: [FAILURE, {status: RUNNING, set: {x: 1}}, SUCCESS]").unwrap();
        assert_eq!(mocks.0["a"].steps.len(), 3);
    }

    fn parse(text: &str) -> Result<Mocks, String> {
        serde_yaml::from_str(text).map_err(|error| yaml::parser_error(Path::new("m"), &error))
    }
}
