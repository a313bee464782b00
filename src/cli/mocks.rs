//! Leaves that do what a file says: `MOCKS.yaml` of `navtree trace` and the `mocks` of a scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;

use crate::bt::{
    Behavior, Context, InOut, NodeInfo, NodeKind, NodeStatus, PortValue, Ports, Registry, Substitute, Text,
    Tick, Value, is_model_name,
};

/// From a leaf's full path, its instance name, its registered ID or a pattern (`*` any run, `?` one character) to what
/// it does, one entry a tick, over and over.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Mocks(BTreeMap<String, Json>);

impl Mocks {
    /// Reads a file's text.
    ///
    /// # Errors
    /// Place and reason.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mocks: Self = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
        mocks.check()?;
        Ok(mocks)
    }

    /// Every entry must say what to return.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (key, outcomes) in &self.0 {
            Script::new(outcomes).map_err(|message| format!("{key}: {message}"))?;
        }
        Ok(())
    }

    /// Declares the IDs that nobody knows, and puts the mocks in the place of the nodes they name.
    pub(crate) fn apply(self, registry: &mut Registry) {
        for key in self.0.keys() {
            let is_name = is_model_name(key) && !key.contains(['*', '?', '[']);
            if is_name && !registry.contains(key) {
                registry.register_open(key, NodeKind::Action, |ports| {
                    for name in ports.attributes() {
                        let _ = ports.inout::<Value>(name).bind();
                    }
                    Box::new(Unmocked)
                });
            }
        }
        registry.set_substitute(Some(Arc::new(self)));
    }

    /// The most exact rule that fits: path before name before ID before pattern.
    fn find(&self, node: &NodeInfo) -> Option<&Json> {
        let exact = [&*node.path, &*node.name, &*node.id]
            .into_iter()
            .find_map(|key| self.0.get(key));
        exact.or_else(|| {
            self.0
                .iter()
                .find(|(pattern, _)| matches(pattern, &node.path))
                .map(|(_, outcomes)| outcomes)
        })
    }
}

impl Substitute for Mocks {
    fn behavior(&self, node: &NodeInfo, ports: &mut Ports<'_>) -> Option<Box<dyn Behavior>> {
        // Leaves only: trees like to name a control after the leaf in it, and patterns fit both.
        if !matches!(node.kind, NodeKind::Action | NodeKind::Condition) {
            return None;
        }
        // Checked when the mocks were read.
        let script = Script::new(self.find(node)?).ok()?;
        let outputs = ports.attributes().into_iter().map(|name| {
            let port = ports.inout::<Value>(name.clone()).bind();
            (name, port)
        });
        Some(Box::new(Mock {
            script,
            outputs: outputs.collect(),
        }))
    }
}

/// Whether a pattern fits the whole text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut read) = (0, 0);
    // Where the last star stands, and how much of the text it takes in.
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == text[read] => {
                at += 1;
                read += 1;
            }
            _ => match star {
                Some((position, taken)) => {
                    star = Some((position, taken + 1));
                    at = position + 1;
                    read = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

/// A checked list of steps.
struct Script {
    steps: Vec<Step>,
}

struct Step {
    result: Result<NodeStatus, String>,
    set: Vec<(String, Json)>,
}

impl Script {
    /// A list of outcomes; one outcome may stand for a list of one. Read by hand: serde takes a list of three for a
    /// mapping of three fields, and cannot say what is wrong with something that may have several forms.
    fn new(outcomes: &Json) -> Result<Self, String> {
        let list = match outcomes {
            Json::Array(list) if list.is_empty() => return Err("the list of outcomes is empty".to_owned()),
            Json::Array(list) => list,
            one => std::slice::from_ref(one),
        };
        let steps = list.iter().map(Step::new);
        Ok(Self {
            steps: steps.collect::<Result<_, _>>()?,
        })
    }
}

impl Step {
    fn new(outcome: &Json) -> Result<Self, String> {
        let fields = match outcome {
            Json::String(name) => {
                let result = Ok(status(name)?);
                let set = Vec::new();
                return Ok(Self { result, set });
            }
            Json::Object(fields) => fields,
            other => return Err(format!("{other} is neither a status nor a mapping")),
        };
        let (mut result, mut thrown, mut set) = (None, None, Vec::new());
        for (field, value) in fields {
            match (field.as_str(), value) {
                ("status", Json::String(name)) => result = Some(status(name)?),
                ("throw", Json::String(message)) => thrown = Some(message.clone()),
                ("throw", other) => thrown = Some(other.to_string()),
                ("set", Json::Object(ports)) => {
                    set = ports
                        .iter()
                        .map(|(port, value)| (port.clone(), value.clone()))
                        .collect();
                }
                ("status" | "set", other) => return Err(format!("`{field}` cannot be {other}")),
                _ => {
                    return Err(format!(
                        "an outcome has `status`, `set` and `throw`, not `{field}`"
                    ));
                }
            }
        }
        let result = match (thrown, result) {
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
        // The whole memory of a mock is its turn; nothing resets it.
        let turn = cx.state::<Turn>();
        let step = &self.script.steps[turn.0 % self.script.steps.len()];
        turn.0 += 1;
        for (name, value) in &step.set {
            let Some((_, port)) = self.outputs.iter().find(|(of, _)| of == name) else {
                return Err(cx.throw(format!(
                    "the mock sets the port `{name}`, which the file does not give"
                )));
            };
            let Some(slot) = port.output.slot() else {
                return Err(cx.throw(format!("the mock sets the port `{name}`, which is not a {{key}}")));
            };
            let (value, info) = typed(value);
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
struct Turn(usize);

/// A YAML scalar as a value; anything larger as the JSON text that typed ports read.
pub(crate) fn typed(value: &Json) -> (Value, &'static crate::bt::TypeInfo) {
    match value {
        Json::Bool(truth) => (Value::Int(i64::from(*truth)), bool::TYPE),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => (Value::Int(whole), i64::TYPE),
            (None, Some(real)) => (Value::Real(real), f64::TYPE),
            (None, None) => (Value::text(number.to_string()), Text::TYPE),
        },
        Json::String(text) => (Value::text(text.as_str()), Text::TYPE),
        other => (Value::text(format!("json:{other}")), Text::TYPE),
    }
}

/// An ID that a mock names, at a place that no mock fits. Cannot happen, since the ID itself fits; said all the same.
struct Unmocked;

impl Behavior for Unmocked {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        Err(cx.throw("no mock says what this node does"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_whole_texts() {
        for (pattern, text, fits) in [
            ("*", "a/b", true),
            ("a/*", "a/b/c", true),
            ("*::3", "Sequence::3", true),
            ("a?c", "abc", true),
            ("a?c", "abbc", false),
            ("*b*d", "abcbd", true),
            ("b", "abc", false),
            ("", "", true),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn a_mock_without_a_status_is_refused_with_its_name() {
        assert_eq!(
            Mocks::parse("a: [SUCCESS, MAYBE]").unwrap_err(),
            "a: `MAYBE` is not SUCCESS, FAILURE, RUNNING or SKIPPED"
        );
        assert_eq!(
            Mocks::parse("a: []").unwrap_err(),
            "a: the list of outcomes is empty"
        );
        assert_eq!(
            Mocks::parse("a: {status: SUCCESS, sets: {x: 1}}").unwrap_err(),
            "a: an outcome has `status`, `set` and `throw`, not `sets`"
        );
        assert!(Mocks::parse("a: [SUCCESS, {status: RUNNING, set: {x: 1}}]\nb: {throw: no}").is_ok());
    }

    #[test]
    fn a_list_of_three_is_three_outcomes() {
        let mocks = Mocks::parse("a: [FAILURE, {status: RUNNING, set: {x: 1}}, SUCCESS]").unwrap();
        assert_eq!(Script::new(&mocks.0["a"]).unwrap().steps.len(), 3);
    }
}
