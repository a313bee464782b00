//! `Switch2` to `Switch6`: ticks the child whose case equals a variable, or the last child.

use crate::bt::{
    Behavior, Context, Dialect, Enums, HaltReason, Input, Node, NodeKind, NodeStatus, Ports, Text, Tick,
    Value,
};

/// Compares a variable with `N` cases and ticks the matching child. The last child is the default.
#[derive(Debug)]
pub struct Switch<const N: usize> {
    variable: Input<Value>,
    cases: [Case; N],
    dialect: Dialect,
}

impl<const N: usize> Node for Switch<N> {
    const ID: &'static str = match N {
        2 => "Switch2",
        3 => "Switch3",
        4 => "Switch4",
        5 => "Switch5",
        _ => "Switch6",
    };
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks the child whose case equals the variable: case_1 selects the first child, \
        case_2 the second, and so on. Ticks the last child if no case matches. Compares at every tick; when the \
        selection changes, the child that was running is halted first. Two values are equal if they are equal \
        texts, equal integers or equal reals; enumeration names count as their numbers. Version 3 compares texts \
        only.";
    const CHILDREN: (usize, usize) = (N + 1, N + 1);

    fn bind(ports: &mut Ports<'_>) -> Self {
        // Untyped, unlike in BehaviorTree.CPP: another node may write any type.
        let variable = ports
            .input::<Value>("variable")
            .doc("Value to compare with the cases.")
            .bind();
        let cases = std::array::from_fn(|index| {
            ports
                .input::<Value>(format!("case_{}", index + 1))
                .doc(format!("Value that chooses child {}.", index + 1))
                .bind()
        });
        Self {
            variable,
            cases: cases.map(Case::new),
            dialect: ports.dialect(),
        }
    }
}

impl<const N: usize> Behavior for Switch<N> {
    /// `memory.index` is the running child, counted from 1.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let chosen = self
            .cases
            .iter()
            .position(|case| case.is_chosen(&self.variable, cx, self.dialect))
            .unwrap_or(N);
        let running = cx.memory().index as usize;
        if running != 0 && running != chosen + 1 {
            cx.halt_child(running - 1, HaltReason::Preempted);
        }
        let status = cx.tick_child(chosen)?;
        match status {
            NodeStatus::Running => cx.memory().index = chosen as u32 + 1,
            NodeStatus::Skipped => cx.memory().index = 0,
            NodeStatus::Success | NodeStatus::Failure | NodeStatus::Idle => {
                cx.memory().index = 0;
                cx.reset_children();
            }
        }
        Ok(status)
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        cx.memory().index = 0;
        cx.halt_children(reason);
    }
}

/// A case. It is usually a literal, so its numeric forms are prepared.
#[derive(Debug)]
struct Case {
    port: Input<Value>,
    literal: Option<Literal>,
}

#[derive(Debug)]
struct Literal {
    text: Text,
    whole: Option<i64>,
    real: Option<f64>,
}

impl Case {
    fn new(port: Input<Value>) -> Self {
        let literal = match port.literal() {
            Some(Value::Text(text)) => Some(Literal {
                text: text.clone(),
                whole: whole(text),
                real: real(text),
            }),
            _ => None,
        };
        Self { port, literal }
    }

    fn is_chosen(&self, variable: &Input<Value>, cx: &Context<'_>, dialect: Dialect) -> bool {
        let Some(variable) = Side::of(variable, cx) else {
            return false;
        };
        if let Some(literal) = &self.literal {
            return match (&variable, dialect) {
                (_, Dialect::V3) => variable.same_text(&Side::Text(&literal.text)),
                (Side::Text(text), _) if **text == *literal.text => true,
                // An enumeration name uses the table of the run's definition, which is not known when ports are bound.
                (Side::Text(_), _) => variable.equals(&Side::Text(&literal.text), cx.enums()),
                (Side::Number(_), _) => {
                    let named = cx.enums().get(&literal.text);
                    let whole = named.or(literal.whole);
                    let real = named.map(|number| number as f64).or(literal.real);
                    variable.is_number(whole, real, cx.enums())
                }
            };
        }
        let Some(case) = Side::of(&self.port, cx) else {
            return false;
        };
        match dialect {
            Dialect::V3 => variable.same_text(&case),
            Dialect::V4 => variable.equals(&case, cx.enums()),
        }
    }
}

/// One side of a comparison, read without allocation.
#[derive(Debug)]
enum Side<'c> {
    Text(&'c str),
    Number(&'c Value),
}

impl<'c> Side<'c> {
    fn of(port: &'c Input<Value>, cx: &'c Context<'_>) -> Option<Self> {
        let value = match port.literal() {
            Some(literal) => literal,
            None => cx.blackboard().get(port.slot()?)?,
        };
        match value {
            Value::Text(text) => Some(Self::Text(text)),
            number @ (Value::Int(_) | Value::UInt(_) | Value::Real(_)) => Some(Self::Number(number)),
            Value::Empty | Value::Object(_) => None,
        }
    }

    fn whole(&self, enums: &Enums) -> Option<i64> {
        match self {
            Self::Text(text) => enums.get(text).or_else(|| whole(text)),
            Self::Number(Value::Int(number)) => Some(*number),
            Self::Number(Value::UInt(number)) => i64::try_from(*number).ok(),
            Self::Number(_) => None,
        }
    }

    fn real(&self, enums: &Enums) -> Option<f64> {
        match self {
            Self::Text(text) => enums.get(text).map(|number| number as f64).or_else(|| real(text)),
            Self::Number(Value::Int(number)) => Some(*number as f64),
            Self::Number(Value::UInt(number)) => Some(*number as f64),
            Self::Number(Value::Real(number)) => Some(*number),
            Self::Number(_) => None,
        }
    }

    /// Whether both sides are the same text or the same number. Each side may be an enumeration name.
    fn equals(&self, other: &Side<'_>, enums: &Enums) -> bool {
        self.same_text(other) || other.is_number(self.whole(enums), self.real(enums), enums)
    }

    fn is_number(&self, whole: Option<i64>, real: Option<f64>, enums: &Enums) -> bool {
        if let (Some(a), Some(b)) = (self.whole(enums), whole)
            && a == b
        {
            return true;
        }
        matches!((self.real(enums), real), (Some(a), Some(b)) if (a - b).abs() <= f64::from(f32::EPSILON))
    }

    /// Whether both sides have the same text.
    fn same_text(&self, other: &Side<'_>) -> bool {
        let mut buffers = [Digits::default(), Digits::default()];
        let [mine, theirs] = &mut buffers;
        self.text(mine) == other.text(theirs)
    }

    fn text<'d>(&'d self, digits: &'d mut Digits) -> &'d str {
        match self {
            Self::Text(text) => text,
            Self::Number(value) => digits.of(value),
        }
    }
}

/// A number as text, on the stack.
struct Digits {
    bytes: [u8; 40],
    used: usize,
}

impl Default for Digits {
    fn default() -> Self {
        Self {
            bytes: [0; 40],
            used: 0,
        }
    }
}

impl Digits {
    fn of(&mut self, value: &Value) -> &str {
        use std::fmt::Write as _;
        // Longer texts are cut. They equal no case that a person writes.
        let _ = match value {
            Value::Int(number) => write!(self, "{number}"),
            Value::UInt(number) => write!(self, "{number}"),
            Value::Real(number) => write!(self, "{number:.6}"),
            Value::Empty | Value::Text(_) | Value::Object(_) => Ok(()),
        };
        std::str::from_utf8(&self.bytes[..self.used]).unwrap_or_default()
    }
}

impl std::fmt::Write for Digits {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.bytes.len() - self.used;
        let taken = text.len().min(room);
        self.bytes[self.used..self.used + taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.used += taken;
        if taken == text.len() {
            Ok(())
        } else {
            Err(std::fmt::Error)
        }
    }
}

/// The value of a text that is entirely a 32-bit number.
fn whole(text: &str) -> Option<i64> {
    if text.starts_with('+') {
        return None;
    }
    text.parse::<i32>().ok().map(i64::from)
}

/// The value of a text that is entirely a real number.
fn real(text: &str) -> Option<f64> {
    if text.starts_with('+') {
        None
    } else {
        text.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::Value;
    use crate::bt::builder::{NodeBuilder, node};
    use crate::bt::testing::{Running, Scene, leaf};

    fn switch(first: &str, second: &str) -> NodeBuilder {
        node("Switch2")
            .port("variable", "{it}")
            .port("case_1", first)
            .port("case_2", second)
            .children([leaf("a", "R"), leaf("b", "R"), leaf("default", "RS")])
    }

    /// The child selected by a variable.
    fn chosen(scene: Scene) -> &'static str {
        let mut tree = Running::new(scene.compile().unwrap(), false).tree;
        tree.tick(crate::bt::Time::ZERO).unwrap();
        let def = tree.definition().clone();
        let running = def
            .nodes()
            .find(|(node, info)| *info.id == *"ScriptedAction" && tree.status(*node).is_active());
        match &*running.unwrap().1.name {
            "a" => "a",
            "b" => "b",
            _ => "default",
        }
    }

    #[test]
    fn a_change_of_the_variable_halts_the_running_child() {
        let mut run = Running::new(
            Scene::new(switch("1", "two")).text("it", "1").compile().unwrap(),
            false,
        );
        run.check(
            "= a b default
             R R . .
             R R . .",
        );
        run.tree.set::<crate::bt::Text>("it", "two".into()).unwrap();
        run.check(
            "= a b default
             R . R . !a",
        );
        run.tree.set::<crate::bt::Text>("it", "three".into()).unwrap();
        run.check(
            "= a b default
             R . . R !b
             S . . S",
        );
    }

    #[test]
    fn enumeration_names_equal_their_numbers() {
        let scene = |first: &str, second: &str| {
            Scene::new(switch(first, second)).registry(|registry| {
                registry.enums_mut().insert("RED", 1).unwrap();
                registry.enums_mut().insert("BLUE", 2).unwrap();
            })
        };
        assert_eq!(chosen(scene("RED", "BLUE").set("it", 2_i32)), "b");
        assert_eq!(chosen(scene("1", "2").text("it", "RED")), "a");
        assert_eq!(chosen(scene("RED", "BLUE").text("it", "GREEN")), "default");
    }

    #[test]
    fn a_missing_variable_selects_the_default() {
        assert_eq!(chosen(Scene::new(switch("1", "2"))), "default");
        let tree = node("Switch2").children([leaf("a", "R"), leaf("b", "R"), leaf("default", "R")]);
        assert_eq!(chosen(Scene::new(tree)), "default");
    }

    #[test]
    fn equal_numbers_match_in_any_notation() {
        for (variable, first, second, expected) in [
            ("1", "1", "2", "a"),
            ("01", "2", "1", "b"),
            ("1.0", "1", "2", "a"),
            ("1x", "1", "2", "default"),
            ("RED", "1", "RED", "a"),
            ("2", "RED", "GREEN", "b"),
            ("+1", "1", "2", "default"),
            ("0.30000001", "0.3", "x", "a"),
        ] {
            let scene = Scene::new(switch(first, second))
                .text("it", variable)
                .registry(|registry| {
                    registry.enums_mut().insert("RED", 1).unwrap();
                    registry.enums_mut().insert("GREEN", 2).unwrap();
                });
            assert_eq!(chosen(scene), expected, "{variable} {first} {second}");
        }
        for (variable, expected) in [
            (Value::Int(7), "a"),
            (Value::Real(7.0), "a"),
            (Value::UInt(8), "b"),
            (Value::Int(9), "default"),
        ] {
            let scene = Scene::new(switch("7", "{case}"))
                .set("it", variable.clone())
                .set("case", 8.0);
            assert_eq!(chosen(scene), expected, "{variable:?}");
        }
    }

    #[test]
    fn version_3_compares_texts() {
        assert_eq!(chosen(Scene::new(switch("01", "1")).v3().text("it", "1")), "b");
        assert_eq!(chosen(Scene::new(switch("1.0", "7")).v3().set("it", 7_i32)), "b");
    }

    #[test]
    fn it_needs_one_child_more_than_cases() {
        let tree = node("Switch2").children([leaf("a", "S"), leaf("b", "S")]);
        assert_eq!(
            Scene::new(tree).refused(),
            "`Switch2` takes exactly 3 children and has 2"
        );
    }
}
