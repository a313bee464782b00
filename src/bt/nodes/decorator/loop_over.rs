//! `LoopInt`, `LoopBool`, `LoopDouble`, `LoopString`: tick the child once for each element of a queue.

use crate::bt::nodes::outcomes_of;
use crate::bt::{
    Behavior, Context, Enums, InOut, Input, List, Memory, Node, NodeEffects, NodeKind, NodeStatus, Outcomes,
    Output, PortValue, Ports, Queue, Text, Tick, Value,
};

/// Takes one element per round.
#[derive(Debug)]
pub struct Loop<T> {
    queue: InOut<Value>,
    /// The elements, if the file contains them.
    fixed: Option<Vec<Value>>,
    if_empty: Input<NodeStatus>,
    value: Output<T>,
}

/// A type of elements.
pub trait Element: PortValue {
    /// The ID of its node.
    const ID: &'static str;
}

impl Element for i32 {
    const ID: &'static str = "LoopInt";
}

impl Element for bool {
    const ID: &'static str = "LoopBool";
}

impl Element for f64 {
    const ID: &'static str = "LoopDouble";
}

impl Element for Text {
    const ID: &'static str = "LoopString";
}

impl<T: Element> Node for Loop<T> {
    const ID: &'static str = T::ID;
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Takes the first element of a queue, writes it to 'value' and ticks the child \
        until it completes. Handles one element per tick and returns RUNNING in between. FAILURE when the child \
        fails; if_empty when the queue is empty. The queue is a text with elements separated by semicolons, a \
        list, which is not changed, or a queue shared by several nodes, from which elements are removed.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let queue = ports
            .inout::<Value>("queue")
            .required()
            .list_of::<T>()
            .doc("Elements: a;b;c, or an entry that holds them.")
            .bind();
        let fixed = match queue.input.literal() {
            Some(Value::Text(text)) => match split::<T>(text, &Enums::default()) {
                Ok(elements) => Some(elements),
                Err(reason) => {
                    ports.problem_of("queue", format!("port `queue`: {reason}"));
                    None
                }
            },
            _ => None,
        };
        Self {
            queue,
            fixed,
            if_empty: ports
                .input::<NodeStatus>("if_empty")
                .default("SUCCESS")
                .doc("Result when no element is left.")
                .bind(),
            value: ports.output::<T>("value").doc("Current element.").bind(),
        }
    }
}

/// The elements of a text or a list at the start of the activation. Read again only if the entry holds another object.
#[derive(Default)]
struct Elements {
    source: Value,
    items: Vec<Value>,
}

/// `memory.mark` when [`Elements`] is of this activation.
const TAKEN: u64 = 1;

impl<T: Element> Behavior for Loop<T> {
    fn resets_child(&self) -> bool {
        true
    }

    /// `memory.index` is the next element; `memory.count` is 1 while the child is running.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        if cx.status() == NodeStatus::Idle {
            *cx.memory() = Memory::default();
        }
        if cx.memory().count == 0 {
            let Some(element) = self.take(cx)? else {
                return self.if_empty.require(cx);
            };
            match T::from_value(&element) {
                Ok(element) => self.value.set(cx, element)?,
                Err(reason) => return Err(cx.throw(format!("port `queue`: an element {reason}"))),
            }
        }
        cx.set_status(NodeStatus::Running);
        let status = cx.tick_only_child()?;
        cx.memory().count = u32::from(status == NodeStatus::Running);
        Ok(if status == NodeStatus::Failure {
            NodeStatus::Failure
        } else {
            NodeStatus::Running
        })
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        let empty = outcomes_of(&self.if_empty);
        NodeEffects::around(children, |child| {
            child.and(Outcomes::FAILURE) | Outcomes::RUNNING | empty
        })
        .at_times()
    }
}

impl<T: Element> Loop<T> {
    fn take(&self, cx: &mut Context<'_>) -> Result<Option<Value>, crate::bt::Thrown> {
        let next = cx.memory().index as usize;
        if let Some(fixed) = &self.fixed {
            cx.memory().index += 1;
            return Ok(fixed.get(next).cloned());
        }
        let value = self.queue.input.require(cx)?;
        if let Some(queue) = value.downcast::<Queue>() {
            return Ok(queue.pop());
        }
        let enums = cx.enums();
        if cx.memory().mark != TAKEN {
            let elements = cx.state::<Elements>();
            if elements.source != value {
                match read::<T>(&value, enums) {
                    Ok(items) => *elements = Elements { source: value, items },
                    Err(reason) => return Err(cx.throw(format!("port `queue`: {reason}"))),
                }
            }
            cx.memory().mark = TAKEN;
        }
        cx.memory().index += 1;
        Ok(cx.state::<Elements>().items.get(next).cloned())
    }
}

fn read<T: Element>(value: &Value, enums: &Enums) -> Result<Vec<Value>, String> {
    if let Value::Text(text) = value {
        return split::<T>(text, enums);
    }
    if let Some(list) = value.downcast::<List<i64>>() {
        return Ok(list.0.iter().map(|element| Value::Int(*element)).collect());
    }
    if let Some(list) = value.downcast::<List<f64>>() {
        return Ok(list.0.iter().map(|element| Value::Real(*element)).collect());
    }
    if let Some(list) = value.downcast::<List<bool>>() {
        return Ok(list
            .0
            .iter()
            .map(|element| Value::Int((*element).into()))
            .collect());
    }
    if let Some(list) = value.downcast::<List<String>>() {
        return Ok(list
            .0
            .iter()
            .map(|element| Value::text(element.as_str()))
            .collect());
    }
    Err(format!(
        "holds {}, but a queue, a list or a text with semicolons is required",
        value.type_name()
    ))
}

/// Splits `a;b;c`. Elements are not trimmed, a trailing separator is ignored, and an empty text has no elements.
fn split<T: Element>(text: &str, enums: &Enums) -> Result<Vec<Value>, String> {
    let text = text.strip_suffix(';').unwrap_or(text);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    text.split(';')
        .map(|element| (T::TYPE.parse)(element, enums))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{NodeBuilder, forest, node, tree};
    use crate::bt::testing::{Running, Scene, leaf};
    use crate::bt::{List, Queue, Registry, Value, compile};

    fn looped(id: &'static str, queue: &str, child: NodeBuilder) -> NodeBuilder {
        node(id).port("queue", queue).port("value", "{it}").child(child)
    }

    #[test]
    fn one_element_per_tick() {
        Scene::new(looped("LoopInt", "1;2;3", leaf("a", "S"))).check(
            "= a
             R S it=1
             R S it=2
             R S it=3
             S . it=3
             R S it=1",
        );
        Scene::new(looped("LoopString", "x;;y;", leaf("a", "RS-"))).check(
            "= a
             R R it=x
             R S it=x
             R - it=
             R R it=y
             R S it=y
             S . it=y",
        );
    }

    #[test]
    fn a_failing_child_fails_the_loop_and_the_next_activation_restarts_it() {
        Scene::new(looped("LoopDouble", "0.5;1.5", leaf("a", "SF"))).check(
            "= a
             R S it=0.5
             F F it=1.5
             R S it=0.5",
        );
    }

    #[test]
    fn an_empty_queue_returns_if_empty() {
        Scene::new(looped("LoopBool", "", leaf("a", "S")).port("if_empty", "SKIPPED")).check(
            "= a
             - .",
        );
        Scene::new(looped("LoopBool", "true", leaf("a", "S")).port("if_empty", "FAILURE")).check(
            "= a
             R S it=1
             F .",
        );
    }

    #[test]
    fn a_list_is_not_changed_and_a_text_is_split() {
        let tree = || looped("LoopInt", "{them}", leaf("a", "S"));
        Scene::new(tree())
            .set("them", std::sync::Arc::new(List(vec![7_i64, 8])))
            .check(
                "= a
             R S it=7
             R S it=8
             S .
             R S it=7",
            );
        Scene::new(tree()).text("them", "7;8").check(
            "= a
             R S it=7
             R S it=8
             S .
             R S it=7",
        );
    }

    #[test]
    fn a_shared_queue_is_emptied_and_may_grow_during_the_loop() {
        let queue = std::sync::Arc::new(Queue::from_iter([Value::Int(1)]));
        let scene = Scene::new(looped("LoopInt", "{them}", leaf("a", "S"))).set("them", queue.clone());
        let mut run = Running::new(scene.compile().unwrap(), false);
        run.check(
            "= a
             R S it=1",
        );
        queue.push(Value::Int(2));
        run.check(
            "= a
             R S it=2
             S .
             S .",
        );
    }

    #[test]
    fn a_value_that_is_not_a_queue_is_an_error() {
        let mut run = Running::new(
            Scene::new(looped("LoopInt", "{them}", leaf("a", "S")))
                .compile()
                .unwrap(),
            false,
        );
        run.check(
            "= a
             E .",
        );
        assert!(run.error.contains("port `queue`"), "{}", run.error);
        for (id, queue, rest) in [("LoopInt", "1,2,3", ",2,3"), ("LoopDouble", "1.5x;2", "x")] {
            let forest = forest([tree("Main", looped(id, queue, node("AlwaysSuccess")))]);
            let compiled = compile(&forest, "Main", &Registry::builtin()).unwrap();
            let warnings: Vec<_> = compiled.warnings.iter().map(|it| it.message.clone()).collect();
            assert_eq!(warnings, [format!("port `queue`: `{rest}` is ignored")]);
        }
        let refused = Scene::new(looped("LoopInt", "1;x", leaf("a", "S"))).refused();
        assert_eq!(refused, "port `queue`: `x` is not a whole number");
    }
}
