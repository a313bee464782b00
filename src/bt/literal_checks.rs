//! Checks literals that reach an entry indirectly and fail only at run time: arguments of a subtree, defaults of its
//! model, and values written by `SetBlackboard` or a script. Also checks scripts that calculate with a value that is
//! not a number. BehaviorTree.CPP finds these errors when it ticks the node.
//!
//! Reports only certain errors. If another node writes the entry too, its reader may never read the literal. A bad
//! subtree argument is a warning: a condition may prevent the port from reading it, for example `none` for no angle.

use super::Enums;
use super::blackboard::{SlotId, convert};
use super::definition::Span;
use super::numeral::ignored;
use super::problem::{Problem, ProblemKind};
use super::scope::Scopes;
use super::types::{Family, PortValue, TypeInfo};
use super::value::Value;

/// Maximum number of remembered items of each kind. A small file can have a long script in a million instances.
const MAX_CHECKS: usize = 500_000;

/// The possible mismatches of a tree, collected while its ports are bound.
#[derive(Default)]
pub(crate) struct LiteralChecks {
    readers: Vec<Reader>,
    written: Vec<WrittenLiteral>,
    operands: Vec<ScriptOperand>,
}

impl LiteralChecks {
    /// Records a port that reads an entry whose initial value is a literal.
    pub(crate) fn read(&mut self, reader: Reader) {
        push(&mut self.readers, reader);
    }

    /// Records a node or a script that writes a literal.
    pub(crate) fn write(&mut self, literal: WrittenLiteral) {
        push(&mut self.written, literal);
    }

    /// Records a script that calculates with an entry or compares it.
    pub(crate) fn calculate(&mut self, operand: ScriptOperand) {
        push(&mut self.operands, operand);
    }
}

fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() < MAX_CHECKS {
        list.push(item);
    }
}

pub(crate) struct Reader {
    pub(crate) slot: SlotId,
    pub(crate) info: &'static TypeInfo,
    pub(crate) span: Span,
}

pub(crate) struct WrittenLiteral {
    pub(crate) slot: SlotId,
    pub(crate) value: Value,
    pub(crate) span: Span,
    /// The problem kind: of a script or of a literal.
    pub(crate) kind: ProblemKind,
}

pub(crate) struct ScriptOperand {
    pub(crate) slot: SlotId,
    pub(crate) operator: &'static str,
    pub(crate) span: Span,
}

/// Reports the mismatches. If entries may be removed from the blackboard, they lose their types; written values are not
/// checked then.
pub(crate) fn check(scopes: &Scopes, enums: &Enums, may_be_removed: bool, problems: &mut Vec<Problem>) {
    readers(scopes, enums, problems);
    if !may_be_removed {
        written(scopes, enums, problems);
        operands(scopes, problems);
    }
}

fn readers(scopes: &Scopes, enums: &Enums, problems: &mut Vec<Problem>) {
    if scopes.writes_any {
        return;
    }
    for reader in &scopes.literal_checks.readers {
        let slot = &scopes.slots[reader.slot.0 as usize];
        let Some(value) = slot.initial.as_ref().filter(|_| !slot.rewritten && !slot.global) else {
            continue;
        };
        match mismatch(value, reader.info, enums) {
            Some(reason) => {
                let message = format!(
                    "`{}` goes to a port of type {}: {reason}",
                    slot.key, reader.info.name
                );
                problems.push(
                    // Not an error: the value may be a sentinel that a condition keeps from the port.
                    Problem::new(ProblemKind::UnreadableArgument, slot.typed_at, message)
                        .related(reader.span, "this port reads it"),
                );
            }
            None => trailing(value, reader.info, slot.typed_at, &slot.key, problems),
        }
    }
}

fn written(scopes: &Scopes, enums: &Enums, problems: &mut Vec<Problem>) {
    for literal in &scopes.literal_checks.written {
        let slot = &scopes.slots[literal.slot.0 as usize];
        let declared = slot
            .info
            .filter(|info| info.is_strong() && info.family != Family::Text);
        let Some(info) = declared else { continue };
        // `SetBlackboard` writes the literal unchanged if the entry does not exist.
        if literal.kind == ProblemKind::BadLiteral && slot.initial.is_none() {
            continue;
        }
        let problem = match unfit_number(&literal.value, info, slot.initial.as_ref(), enums) {
            Some(reason) => {
                let message = format!(
                    "the key `{}` is of type {}, and {:?} is not one ({reason})",
                    slot.key, info.name, literal.value
                );
                Problem::new(ProblemKind::UnfitNumber, literal.span, message).help(
                    "the key stores the text unchanged; a node that cannot read it fails or uses its default",
                )
            }
            None => match mismatch(&literal.value, info, enums) {
                Some(reason) => {
                    let message = format!("the key `{}` is of type {}: {reason}", slot.key, info.name);
                    Problem::new(literal.kind, literal.span, message)
                }
                None => {
                    trailing(&literal.value, info, literal.span, &slot.key, problems);
                    continue;
                }
            },
        };
        problems.push(problem.related(slot.typed_at, format!("the key got the type {} here", info.name)));
    }
}

fn operands(scopes: &Scopes, problems: &mut Vec<Problem>) {
    for operand in &scopes.literal_checks.operands {
        let slot = &scopes.slots[operand.slot.0 as usize];
        let declared = slot.info.or(slot.provided);
        let Some(info) = declared.filter(|info| info.family == Family::Object) else {
            continue;
        };
        let message = format!(
            "`{}` does not apply to the key `{}`, which is of type {}",
            operand.operator, slot.key, info.name
        );
        let mut problem = Problem::new(ProblemKind::BadScript, operand.span, message);
        problem = match slot.info {
            Some(_) => problem.related(slot.typed_at, format!("the key got the type {} here", info.name)),
            None => problem.help("navtree or the calling program writes this key"),
        };
        problems.push(problem);
    }
}

/// The reason why a number does not fit a number type, if it does not. `None` also if an entry that starts as an
/// integer refuses the type itself.
fn unfit_number(
    value: &Value,
    info: &'static TypeInfo,
    begins: Option<&Value>,
    enums: &Enums,
) -> Option<String> {
    let is_number = matches!(value, Value::Int(_) | Value::UInt(_) | Value::Real(_));
    let stays_integer = matches!(begins, Some(Value::Int(_) | Value::UInt(_)));
    if !is_number
        || !info.is_numeric()
        || (stays_integer && convert(value, f64::TYPE, i64::TYPE, enums).is_err())
    {
        return None;
    }
    let clash = convert(value, f64::TYPE, info, enums).err()?;
    Some(clash.reason)
}

/// The reason why a value does not convert to a type, if it does not.
fn mismatch(value: &Value, info: &'static TypeInfo, enums: &Enums) -> Option<String> {
    match value {
        // An empty text means "no value"; nodes then use their defaults.
        Value::Text(text) if text.is_empty() => None,
        Value::Text(text) => (info.parse)(text, enums).err(),
        // Nodes read booleans from more numbers than scripts may write.
        _ if info.family == Family::Bool => None,
        Value::Int(_) | Value::UInt(_) | Value::Real(_) => {
            let clash = convert(value, f64::TYPE, info, enums).err()?;
            Some(if info.family == Family::Object {
                format!("{value:?} is a number")
            } else {
                format!("{value:?} does not convert to one ({})", clash.reason)
            })
        }
        Value::Empty | Value::Object(_) => None,
    }
}

/// Warns of text after a number, which is ignored.
fn trailing(value: &Value, info: &TypeInfo, span: Span, key: &str, problems: &mut Vec<Problem>) {
    if let Value::Text(text) = value
        && let Some(rest) = ignored(text, info)
    {
        let message = format!("the key `{key}` is of type {}: `{rest}` is ignored", info.name);
        problems.push(Problem::new(ProblemKind::TrailingText, span, message));
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{NodeBuilder, forest, leaf, sequence, subtree, tree};
    use crate::bt::{Behavior, Context, List, Node, NodeKind, NodeStatus, Ports, Registry, Tick, compile};
    use std::sync::Arc;

    /// A node with a port of an object type.
    struct Take;

    impl Node for Take {
        const ID: &'static str = "Take";
        const KIND: NodeKind = NodeKind::Action;
        const DOC: &'static str = "";

        fn bind(ports: &mut Ports<'_>) -> Self {
            ports.input::<Arc<List<i64>>>("list").bind();
            ports.output::<i32>("count").bind();
            Self
        }
    }

    impl Behavior for Take {
        fn tick(&self, _cx: &mut Context<'_>) -> Tick {
            Ok(NodeStatus::Success)
        }
    }

    /// The problems of `Main`, with another tree `T`.
    fn said(main: NodeBuilder, inner: NodeBuilder) -> Vec<String> {
        let mut registry = Registry::builtin();
        registry.register::<Take>().unwrap();
        for key in ["x", "p"] {
            registry.provide_key(key);
        }
        registry.provide_key_as::<Arc<List<i64>>>("given");
        let problems = match compile(&forest([tree("Main", main), tree("T", inner)]), "Main", &registry) {
            Ok(compiled) => compiled.warnings,
            Err(problems) => problems,
        };
        problems
            .iter()
            .map(|it| format!("{:?}: {}", it.kind, it.message))
            .collect()
    }

    fn sleep(key: &str) -> NodeBuilder {
        leaf("Sleep").port("msec", format!("{{{key}}}"))
    }

    fn script(code: &str) -> NodeBuilder {
        leaf("Script").port("code", code)
    }

    fn set(value: &str, key: &str) -> NodeBuilder {
        leaf("SetBlackboard").port("value", value).port("output_key", key)
    }

    #[test]
    fn a_literal_argument_of_a_subtree_is_checked_against_its_ports() {
        let call = |value: &str| subtree("T").port("b", value);
        let expected = "UnreadableArgument: `b` goes to a port of type unsigned: `abc` is not a whole number";
        assert_eq!(said(call("abc"), sleep("b")), [expected]);
        assert_eq!(
            said(call("5.5"), sleep("b")),
            [
                "UnreadableArgument: `b` goes to a port of type unsigned: 5.5 does not convert to one (the number does not fit)"
            ]
        );
        assert_eq!(
            said(call("12abc"), sleep("b")),
            ["TrailingText: the key `b` is of type unsigned: `abc` is ignored"]
        );
        for (value, inner) in [
            ("5", sleep("b")),
            ("5.0", sleep("b")),
            ("", sleep("b")),
            // Another node may write the entry before it is read.
            ("abc", sequence([script("b := '5'"), sleep("b")])),
            ("abc", sequence([set("5", "b"), sleep("b")])),
            ("abc", sequence([leaf("Take").port("count", "{b}"), sleep("b")])),
            ("abc", sequence([set("5", "{k}"), sleep("b")])),
            ("abc", leaf("Script").port("code", "b == 'abc'")),
        ] {
            let said = said(call(value), inner.clone());
            let wrong = said.iter().any(|said| !said.starts_with("NeverWritten"));
            assert!(!wrong, "{value} {inner:?} {said:?}");
        }
    }

    #[test]
    fn a_literal_written_to_an_entry_must_convert_to_its_type() {
        let none = || leaf("AlwaysSuccess");
        let of = |node: NodeBuilder| said(sequence([node, sleep("x")]), none());
        assert_eq!(
            of(set("abc", "x")),
            ["BadLiteral: the key `x` is of type unsigned: `abc` is not a whole number"]
        );
        for code in ["x := 'abc'", "x = 'abc'", "n := 1; x := 'abc'"] {
            assert_eq!(
                of(script(code)),
                ["BadScript: the key `x` is of type unsigned: `abc` is not a whole number"],
                "{code}"
            );
        }
        for (code, number) in [("x := 2.5", "2.5"), ("x = -1", "-1.0")] {
            let unfit = "is not one (the number does not fit)";
            assert_eq!(
                of(script(code)),
                [format!(
                    "UnfitNumber: the key `x` is of type unsigned, and {number} {unfit}"
                )]
            );
        }
        // An entry that starts as an integer stays an integer.
        let call = subtree("T").port("b", "3");
        assert_eq!(
            said(call, sequence([script("b := 0.5"), sleep("b")])),
            ["BadScript: the key `b` is of type int: 0.5 does not convert to one (the number does not fit)"]
        );
        assert_eq!(
            of(set("12abc", "x")),
            ["TrailingText: the key `x` is of type unsigned: `abc` is ignored"]
        );
        for node in [
            set("5", "x"),
            set("abc", "y"),
            script("x := 5; y := 'abc'"),
            script("x := '5'; x := 2.0"),
            // Not evaluated, or not always.
            script("y := 1; y == 2 ? (x := 'abc') : 3"),
            // The entry loses its type.
            sequence([leaf("UnsetBlackboard").port("key", "x"), set("abc", "x")]),
        ] {
            assert_eq!(of(node.clone()), [""; 0], "{node:?}");
        }
    }

    #[test]
    fn arithmetic_with_an_object_is_refused() {
        let of = |code: &str, take: &str| {
            let condition = leaf("ScriptCondition").port("code", code);
            said(
                sequence([condition, leaf("Take").port("list", take)]),
                leaf("AlwaysSuccess"),
            )
        };
        for (code, operator) in [
            ("p + 1", "+"),
            ("1 + p", "+"),
            ("-p", "-"),
            ("p == 1", "=="),
            ("2 < p", "<"),
        ] {
            assert_eq!(
                of(code, "{p}"),
                [format!(
                    "BadScript: `{operator}` does not apply to the key `p`, which is of type list<int>"
                )],
                "{code}"
            );
        }
        assert_eq!(
            of("given && true", "1"),
            ["BadScript: `&&` does not apply to the key `given`, which is of type list<int>"]
        );
        for code in ["x + 1", "q := p; 1 > 0", "x > 5 ? p + 1 : 1"] {
            assert_eq!(of(code, "{p}"), [""; 0], "{code}");
        }
    }
}
