//! A tree as data: what both interpreters are given. Small on purpose: every key is a number, every script is one
//! of a few forms.

use std::fmt;

/// The statuses of BehaviorTree.CPP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    Idle,
    Running,
    Success,
    Failure,
    Skipped,
}

impl Status {
    pub fn letter(self) -> char {
        match self {
            Self::Idle => 'I',
            Self::Running => 'R',
            Self::Success => 'S',
            Self::Failure => 'F',
            Self::Skipped => '-',
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "IDLE",
            Self::Running => "RUNNING",
            Self::Success => "SUCCESS",
            Self::Failure => "FAILURE",
            Self::Skipped => "SKIPPED",
        }
    }

    pub fn is_completed(self) -> bool {
        matches!(self, Self::Success | Self::Failure)
    }

    pub fn is_active(self) -> bool {
        !matches!(self, Self::Idle | Self::Skipped)
    }
}

/// The language of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    V3,
    V4,
}

/// The blackboard: a few entries that exist from the start. The last is text, because that is what a Switch
/// compares; the others are integers.
pub const KEYS: [&str; 4] = ["a", "b", "c", "s"];
pub const TEXT_KEY: usize = 3;

/// A condition script: `key == value` or `key != value`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Test {
    pub key: usize,
    pub equal: bool,
    pub value: i64,
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = if self.equal { "==" } else { "!=" };
        write!(f, "{} {operator} {}", KEYS[self.key], self.value)
    }
}

/// An assignment: `key = base + sign * key`, which is a counter or a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effect {
    pub key: usize,
    pub toggles: bool,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = KEYS[self.key];
        if self.toggles {
            write!(f, "{key} = 1 - {key}")
        } else {
            write!(f, "{key} += 1")
        }
    }
}

/// A script attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guard {
    FailureIf(Test),
    SuccessIf(Test),
    SkipIf(Test),
    While(Test),
    OnHalted(Effect),
    OnFailure(Effect),
    OnSuccess(Effect),
    Post(Effect),
}

impl Guard {
    pub fn attribute(self) -> (&'static str, String) {
        match self {
            Self::FailureIf(test) => ("_failureIf", test.to_string()),
            Self::SuccessIf(test) => ("_successIf", test.to_string()),
            Self::SkipIf(test) => ("_skipIf", test.to_string()),
            Self::While(test) => ("_while", test.to_string()),
            Self::OnHalted(effect) => ("_onHalted", effect.to_string()),
            Self::OnFailure(effect) => ("_onFailure", effect.to_string()),
            Self::OnSuccess(effect) => ("_onSuccess", effect.to_string()),
            Self::Post(effect) => ("_post", effect.to_string()),
        }
    }
}

/// One tick of a scripted leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    pub status: Status,
    /// What the leaf writes before it returns.
    pub write: Option<(usize, i64)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One outcome a tick, starting over at the end.
    Leaf(Vec<Outcome>),
    AlwaysSuccess,
    AlwaysFailure,
    Script(Effect),
    ScriptCondition(Test),
    WasEntryUpdated(usize),
    Sleep(u64),

    Sequence,
    AsyncSequence,
    SequenceWithMemory,
    Fallback,
    AsyncFallback,
    ReactiveSequence,
    ReactiveFallback,
    Parallel {
        success: i64,
        failure: i64,
    },
    ParallelAll {
        failures: i64,
    },
    IfThenElse,
    WhileDoElse,
    Switch {
        cases: Vec<i64>,
    },
    TryCatch {
        on_halt: bool,
    },

    Inverter,
    ForceSuccess,
    ForceFailure,
    Repeat(i64),
    Retry(i64),
    KeepRunningUntilFailure,
    Timeout(u64),
    Delay(u64),
    RunOnce {
        then_skip: bool,
    },
    Precondition {
        test: Test,
        otherwise: Status,
    },
    LoopInt {
        items: usize,
        if_empty: Status,
    },
    SkipUnlessUpdated(usize),
    WaitValueUpdate(usize),
    BlackboardCheckInt {
        key: usize,
        value: i64,
        mismatch: Status,
    },
    SubTree,
}

impl Kind {
    /// The ID in a file.
    pub fn id(&self, version: Version) -> &'static str {
        match self {
            Self::Leaf(_) => "Leaf",
            Self::AlwaysSuccess => "AlwaysSuccess",
            Self::AlwaysFailure => "AlwaysFailure",
            Self::Script(_) => "Script",
            Self::ScriptCondition(_) => "ScriptCondition",
            Self::WasEntryUpdated(_) => "WasEntryUpdated",
            Self::Sleep(_) => "Sleep",
            Self::Sequence => "Sequence",
            Self::AsyncSequence => "AsyncSequence",
            Self::SequenceWithMemory if version == Version::V3 => "SequenceStar",
            Self::SequenceWithMemory => "SequenceWithMemory",
            Self::Fallback => "Fallback",
            Self::AsyncFallback => "AsyncFallback",
            Self::ReactiveSequence => "ReactiveSequence",
            Self::ReactiveFallback => "ReactiveFallback",
            Self::Parallel { .. } => "Parallel",
            Self::ParallelAll { .. } => "ParallelAll",
            Self::IfThenElse => "IfThenElse",
            Self::WhileDoElse => "WhileDoElse",
            Self::Switch { cases, .. } => {
                ["Switch2", "Switch3", "Switch4", "Switch5", "Switch6"][cases.len() - 2]
            }
            Self::TryCatch { .. } => "TryCatch",
            Self::Inverter => "Inverter",
            Self::ForceSuccess => "ForceSuccess",
            Self::ForceFailure => "ForceFailure",
            Self::Repeat(_) => "Repeat",
            Self::Retry(_) => "RetryUntilSuccessful",
            Self::KeepRunningUntilFailure => "KeepRunningUntilFailure",
            Self::Timeout(_) => "Timeout",
            Self::Delay(_) => "Delay",
            Self::RunOnce { .. } => "RunOnce",
            Self::Precondition { .. } => "Precondition",
            Self::LoopInt { .. } => "LoopInt",
            Self::SkipUnlessUpdated(_) => "SkipUnlessUpdated",
            Self::WaitValueUpdate(_) => "WaitValueUpdate",
            Self::BlackboardCheckInt { .. } => "BlackboardCheckInt",
            Self::SubTree => "SubTree",
        }
    }

    /// Its ports, as a file says them.
    pub fn attributes(&self, version: Version) -> Vec<(&'static str, String)> {
        let pointer = |key: usize| format!("{{{}}}", KEYS[key]);
        match self {
            // A leading underscore makes this metadata: no port has to be declared for it.
            Self::Leaf(outcomes) => {
                let written = outcomes.iter().map(|outcome| match outcome.write {
                    Some((key, value)) => format!("{}{}{value}", outcome.status.letter(), KEYS[key]),
                    None => outcome.status.letter().to_string(),
                });
                vec![("_outcomes", written.collect::<Vec<_>>().join(" "))]
            }
            Self::Script(effect) => vec![("code", effect.to_string())],
            Self::ScriptCondition(test) => vec![("code", test.to_string())],
            Self::WasEntryUpdated(key) | Self::SkipUnlessUpdated(key) | Self::WaitValueUpdate(key) => {
                vec![("entry", pointer(*key))]
            }
            Self::Parallel { success, failure } => {
                let names = match version {
                    Version::V3 => ("success_threshold", "failure_threshold"),
                    Version::V4 => ("success_count", "failure_count"),
                };
                vec![(names.0, success.to_string()), (names.1, failure.to_string())]
            }
            Self::ParallelAll { failures } => vec![("max_failures", failures.to_string())],
            Self::Switch { cases } => {
                let names = ["case_1", "case_2", "case_3", "case_4", "case_5", "case_6"];
                let cases = names
                    .into_iter()
                    .zip(cases)
                    .map(|(name, case)| (name, case.to_string()));
                [("variable", pointer(TEXT_KEY))]
                    .into_iter()
                    .chain(cases)
                    .collect()
            }
            Self::TryCatch { on_halt } => vec![("catch_on_halt", on_halt.to_string())],
            Self::Repeat(cycles) => vec![("num_cycles", cycles.to_string())],
            Self::Retry(attempts) => vec![("num_attempts", attempts.to_string())],
            Self::Timeout(msec) | Self::Sleep(msec) => vec![("msec", msec.to_string())],
            Self::Delay(msec) => vec![("delay_msec", msec.to_string())],
            Self::RunOnce { then_skip } => vec![("then_skip", then_skip.to_string())],
            Self::Precondition { test, otherwise } => {
                vec![("if", test.to_string()), ("else", otherwise.name().to_owned())]
            }
            Self::LoopInt { items, if_empty } => vec![
                ("queue", vec!["7"; *items].join(";")),
                ("value", "{item}".to_owned()),
                ("if_empty", if_empty.name().to_owned()),
            ],
            Self::BlackboardCheckInt { key, value, mismatch } => vec![
                ("value_A", pointer(*key)),
                ("value_B", value.to_string()),
                ("return_on_mismatch", mismatch.name().to_owned()),
            ],
            Self::SubTree => match version {
                Version::V3 => vec![("__shared_blackboard", "true".to_owned())],
                Version::V4 => vec![("_autoremap", "true".to_owned())],
            },
            _ => Vec::new(),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    pub kind: Kind,
    pub guards: Vec<Guard>,
    pub children: Vec<Node>,
}

impl Node {
    /// How many nodes there are, this one included.
    pub fn size(&self) -> usize {
        1 + self.children.iter().map(Self::size).sum::<usize>()
    }

    /// The tree as a file would have it, with the number of each node.
    pub fn text(&self, version: Version) -> String {
        let mut text = String::new();
        self.write(version, 0, &mut 0, &mut text);
        text
    }

    fn write(&self, version: Version, depth: usize, number: &mut usize, text: &mut String) {
        text.push_str(&format!(
            "{:3} {}<{}",
            *number,
            "  ".repeat(depth),
            self.kind.id(version)
        ));
        *number += 1;
        let guards = self.guards.iter().map(|guard| guard.attribute());
        for (name, value) in self.kind.attributes(version).into_iter().chain(guards) {
            text.push_str(&format!(" {name}=\"{value}\""));
        }
        text.push_str(">\n");
        for child in &self.children {
            child.write(version, depth + 1, number, text);
        }
    }
}
