//! Ports: how a node declares what it reads and writes, and how it gets at it.
//!
//! A declaration and its binding are one expression, so that neither can be forgotten:
//!
//! ```
//! use navtree::bt::{Input, Output, Ports};
//!
//! struct Example {
//!     distance: Input<f64>,
//!     count: Output<i32>,
//! }
//!
//! fn bind(ports: &mut Ports<'_>) -> Example {
//!     Example {
//!         distance: ports.input("distance").unit("m").default("0.15").doc("how far to go").bind(),
//!         count: ports.output("count").doc("how often it was done").bind(),
//!     }
//! }
//! ```

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use super::Context;
use super::behavior::{Dialect, Thrown};
use super::blackboard::SlotId;
use super::script::{Access, Script, ScriptResult};
use super::types::{ObjectType, PortValue, Text, TypeInfo};
use super::value::Value;

/// Which way data goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Direction {
    /// Read.
    Input,
    /// Written.
    Output,
    /// Both.
    InOut,
}

impl Direction {
    /// `input_port`, `output_port` or `inout_port`: the element names of a palette.
    pub fn element(self) -> &'static str {
        match self {
            Self::Input => "input_port",
            Self::Output => "output_port",
            Self::InOut => "inout_port",
        }
    }
}

/// The declaration of a port.
#[derive(Clone, Debug)]
pub struct PortDecl {
    /// The attribute name.
    pub name: Cow<'static, str>,
    /// Another name that is accepted too.
    pub alias: Option<&'static str>,
    /// Where its text is a list whatever its type: the type of the elements between the semicolons.
    pub element: Option<&'static TypeInfo>,
    /// Which way data goes.
    pub direction: Direction,
    /// What it holds.
    pub info: &'static TypeInfo,
    /// What is used where the attribute is absent, in the text form of the attribute.
    pub default: Option<Cow<'static, str>>,
    /// Whether a file without the attribute is refused.
    pub required: bool,
    /// Whether the text is a script, and what for.
    pub script: Option<ScriptResult>,
    /// Unit of a number: `m`, `s`, `ms`, `rad`.
    pub unit: &'static str,
    /// One sentence.
    pub doc: Cow<'static, str>,
}

/// What an attribute turned into.
#[derive(Clone, Debug, Default)]
pub enum Binding {
    /// Absent, without default.
    #[default]
    Absent,
    /// A value that the file fixed; it is of the port's type.
    Literal(Value),
    /// A blackboard entry.
    Slot(SlotId),
}

/// Who answers a node's declarations: the collector of manifests, or the compiler of a definition.
pub(crate) trait PortSink {
    fn port(&mut self, declaration: &PortDecl) -> Binding;
    /// The attribute as written in the file, without default.
    fn raw(&mut self, name: &str) -> Option<String>;
    /// The names of all attributes that could be ports.
    fn attributes(&self) -> Vec<String>;
    /// The names of all attributes but conditions, also those that cannot be ports of a manifest.
    fn all_attributes(&self) -> Vec<String>;
    fn script(&mut self, declaration: &PortDecl) -> Option<Script>;
    /// The entry of a key that the node names in another way than as a port's pointer.
    fn key(&mut self, key: &str, access: Access) -> Option<SlotId>;
    /// The literal of a port, if it has one, is written to an entry.
    fn stores(&mut self, name: &str, slot: SlotId);
    /// A script that stands in no attribute, with more names than the registry's.
    fn compile(&mut self, name: &str, text: &str, names: &[(&str, i64)]) -> Option<Script>;
    fn writes_any(&mut self);
    fn children(&self) -> usize;
    fn dialect(&self) -> Dialect;
    /// Something wrong with the attribute of a port, or with the node where the name is empty or no attribute's.
    fn problem(&mut self, port: &str, message: String);
    fn warn(&mut self, port: &str, message: String);
}

/// Given to [`Node::bind`](super::Node::bind).
pub struct Ports<'b> {
    pub(crate) sink: &'b mut dyn PortSink,
}

impl<'b> Ports<'b> {
    /// A port that is read.
    pub fn input<T: PortValue>(
        &mut self,
        name: impl Into<Cow<'static, str>>,
    ) -> PortBuilder<'_, 'b, Input<T>> {
        PortBuilder::new(self, name.into(), Direction::Input, T::TYPE)
    }

    /// A port that is written.
    pub fn output<T: PortValue>(
        &mut self,
        name: impl Into<Cow<'static, str>>,
    ) -> PortBuilder<'_, 'b, Output<T>> {
        PortBuilder::new(self, name.into(), Direction::Output, T::TYPE)
    }

    /// A port that is read and written.
    pub fn inout<T: PortValue>(
        &mut self,
        name: impl Into<Cow<'static, str>>,
    ) -> PortBuilder<'_, 'b, InOut<T>> {
        PortBuilder::new(self, name.into(), Direction::InOut, T::TYPE)
    }

    /// A port whose text is a script, compiled when the tree is.
    pub fn script(
        &mut self,
        name: &'static str,
        result: ScriptResult,
    ) -> PortBuilder<'_, 'b, Option<Script>> {
        let mut builder = PortBuilder::new(self, name.into(), Direction::Input, Text::TYPE);
        builder.declaration.script = Some(result);
        builder
    }

    /// The attribute as the file has it: for names that have to be known when the tree is compiled.
    pub fn raw(&mut self, name: &str) -> Option<String> {
        self.sink.raw(name)
    }

    /// The names of the attributes that the file gives and that may be ports: for nodes that take any.
    pub fn attributes(&self) -> Vec<String> {
        self.sink.attributes()
    }

    /// The entry of a key that the node reads or writes although no port points at it: `SetBlackboard`'s `output_key`.
    /// `None` while declarations are collected.
    pub fn key(&mut self, key: &str, access: Access) -> Option<SlotId> {
        self.sink.key(key, access)
    }

    /// Says that the node writes the value of a port to an entry: a literal that cannot become the type of the entry is
    /// refused.
    pub fn stores(&mut self, name: &str, slot: SlotId) {
        self.sink.stores(name, slot);
    }

    /// Compiles a script that stands in no attribute: `name` is what messages call it, `names` are numbers beside the
    /// registry's enumerations. `None` where it was refused.
    pub fn compile(&mut self, name: &str, text: &str, names: &[(&str, i64)]) -> Option<Script> {
        self.sink.compile(name, text, names)
    }

    /// Says that the node writes entries whose keys are known at run time only.
    pub fn writes_any(&mut self) {
        self.sink.writes_any();
    }

    /// The names of all attributes that the file gives, conditions apart, also those that no manifest can declare: for
    /// nodes that take fields by dotted path.
    pub fn all_attributes(&self) -> Vec<String> {
        self.sink.all_attributes()
    }

    /// How many children the node has in this file (zero while declarations are collected).
    pub fn children(&self) -> usize {
        self.sink.children()
    }

    /// The language of the file.
    pub fn dialect(&self) -> Dialect {
        self.sink.dialect()
    }

    /// Refuses the node with a reason that a user can act on.
    pub fn problem(&mut self, message: impl Into<String>) {
        self.sink.problem("", message.into());
    }

    /// Refuses what the attribute of a port says.
    pub fn problem_of(&mut self, port: &str, message: impl Into<String>) {
        self.sink.problem(port, message.into());
    }

    /// Says that this build cannot serve a port that the file sets; the tree runs all the same.
    pub fn warn_of(&mut self, port: &str, message: impl Into<String>) {
        self.sink.warn(port, message.into());
    }
}

/// A declaration under way; [`PortBuilder::bind`] ends it.
#[must_use = "call bind() to declare the port"]
pub struct PortBuilder<'p, 'b, H> {
    ports: &'p mut Ports<'b>,
    declaration: PortDecl,
    handle: PhantomData<H>,
}

impl<'p, 'b, H> PortBuilder<'p, 'b, H> {
    fn new(
        ports: &'p mut Ports<'b>,
        name: Cow<'static, str>,
        direction: Direction,
        info: &'static TypeInfo,
    ) -> Self {
        let declaration = PortDecl {
            name,
            alias: None,
            element: None,
            direction,
            info,
            default: None,
            required: false,
            script: None,
            unit: "",
            doc: Cow::Borrowed(""),
        };
        Self {
            ports,
            declaration,
            handle: PhantomData,
        }
    }

    /// One sentence for the reference page.
    pub fn doc(mut self, doc: impl Into<Cow<'static, str>>) -> Self {
        self.declaration.doc = doc.into();
        self
    }

    /// The unit of a number.
    pub fn unit(mut self, unit: &'static str) -> Self {
        self.declaration.unit = unit;
        self
    }

    /// What is used where the attribute is absent, written as in a file: `10.0`, `{goal}`, `{=}`.
    pub fn default(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.declaration.default = Some(text.into());
        self
    }

    /// A file without the attribute is refused.
    pub fn required(mut self) -> Self {
        self.declaration.required = true;
        self
    }

    /// Another name for the same port, accepted silently.
    pub fn alias(mut self, name: &'static str) -> Self {
        self.declaration.alias = Some(name);
        self
    }
}

impl PortBuilder<'_, '_, InOut<Value>> {
    /// A literal is a list of such elements, `a;b;c`, although the port takes values of any type.
    pub fn list_of<T: PortValue>(mut self) -> Self {
        self.declaration.element = Some(T::TYPE);
        self
    }
}

impl<T: PortValue> PortBuilder<'_, '_, Input<T>> {
    /// Declares and takes the binding.
    pub fn bind(self) -> Input<T> {
        let source = Source::new(self.ports.sink.port(&self.declaration));
        Input {
            source,
            name: self.declaration.name,
        }
    }
}

impl<T: PortValue> PortBuilder<'_, '_, Output<T>> {
    /// Declares and takes the binding.
    pub fn bind(self) -> Output<T> {
        let slot = match self.ports.sink.port(&self.declaration) {
            Binding::Slot(slot) => Some(slot),
            Binding::Absent | Binding::Literal(_) => None,
        };
        Output {
            slot,
            name: self.declaration.name,
            kind: PhantomData,
        }
    }
}

impl<T: PortValue> PortBuilder<'_, '_, InOut<T>> {
    /// Declares and takes the binding.
    pub fn bind(self) -> InOut<T> {
        let binding = self.ports.sink.port(&self.declaration);
        let slot = match &binding {
            Binding::Slot(slot) => Some(*slot),
            Binding::Absent | Binding::Literal(_) => None,
        };
        let name = self.declaration.name;
        InOut {
            input: Input {
                source: Source::new(binding),
                name: name.clone(),
            },
            output: Output {
                slot,
                name,
                kind: PhantomData,
            },
        }
    }
}

impl PortBuilder<'_, '_, Option<Script>> {
    /// Declares and takes the compiled script; `None` where the attribute is absent or was refused.
    pub fn bind(self) -> Option<Script> {
        self.ports.sink.script(&self.declaration)
    }
}

/// Why a port could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PortError {
    /// The attribute is absent and has no default.
    #[error("the port is not set")]
    Absent,
    /// The entry was never written.
    #[error("nothing was written to its blackboard entry yet")]
    Unwritten,
    /// The entry holds something else.
    #[error("{0}")]
    Mismatch(String),
}

#[derive(Debug, Clone)]
enum Source<T> {
    Absent,
    Literal(T),
    Slot(SlotId),
}

impl<T: PortValue> Source<T> {
    fn new(binding: Binding) -> Self {
        match binding {
            Binding::Absent => Self::Absent,
            Binding::Slot(slot) => Self::Slot(slot),
            Binding::Literal(value) => T::from_value(&value).map_or(Self::Absent, Self::Literal),
        }
    }
}

/// A bound input port.
#[derive(Debug, Clone)]
pub struct Input<T> {
    source: Source<T>,
    name: Cow<'static, str>,
}

impl<T: PortValue> Input<T> {
    /// Reads it: a literal was parsed when the tree was compiled; an entry is converted where it has to be;
    /// texts and objects are shared, not copied.
    ///
    /// # Errors
    /// [`PortError`]: absent, not written yet, or of another type.
    #[inline]
    pub fn get(&self, cx: &Context<'_>) -> Result<T, PortError> {
        match &self.source {
            Source::Slot(slot) => match cx.blackboard().get(*slot) {
                Some(Value::Text(text)) if T::TYPE.is_strong() && T::TYPE.id != Text::TYPE.id => {
                    convert_text(text, cx)
                }
                Some(value) => T::from_value(value).map_err(PortError::Mismatch),
                None => Err(PortError::Unwritten),
            },
            Source::Literal(value) => Ok(value.clone()),
            Source::Absent => Err(PortError::Absent),
        }
    }

    /// Reads it, or takes `otherwise` where it is absent or not written.
    #[inline]
    pub fn get_or(&self, cx: &Context<'_>, otherwise: T) -> T {
        self.get(cx).unwrap_or(otherwise)
    }

    /// Reads it, or fails the tree with a message that names the port.
    ///
    /// # Errors
    /// [`Thrown`].
    #[inline]
    pub fn require(&self, cx: &mut Context<'_>) -> Result<T, Thrown> {
        match self.get(cx) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.refuse(cx, &error)),
        }
    }

    /// Reads it where it is there: `None` where the attribute is absent or nothing was written yet.
    ///
    /// # Errors
    /// [`Thrown`] where what was written is of another type: that is a fault of the tree, and not nothing.
    #[inline]
    pub fn optional(&self, cx: &mut Context<'_>) -> Result<Option<T>, Thrown> {
        match self.get(cx) {
            Ok(value) => Ok(Some(value)),
            Err(PortError::Absent | PortError::Unwritten) => Ok(None),
            Err(error) => Err(self.refuse(cx, &error)),
        }
    }

    #[cold]
    fn refuse(&self, cx: &mut Context<'_>, error: &PortError) -> Thrown {
        cx.throw(format!("port `{}`: {error}", self.name))
    }

    /// The entry behind it, where it is one.
    pub fn slot(&self) -> Option<SlotId> {
        match self.source {
            Source::Slot(slot) => Some(slot),
            Source::Absent | Source::Literal(_) => None,
        }
    }

    /// The value that the file fixed, where it did.
    pub fn literal(&self) -> Option<&T> {
        match &self.source {
            Source::Literal(value) => Some(value),
            Source::Absent | Source::Slot(_) => None,
        }
    }

    /// Whether the attribute (or a default) is there at all.
    pub fn is_set(&self) -> bool {
        !matches!(self.source, Source::Absent)
    }

    /// The number of writes to the entry so far; 0 for literals.
    pub fn sequence(&self, cx: &Context<'_>) -> u64 {
        self.slot()
            .map_or(0, |slot| cx.blackboard().entry(slot).sequence())
    }

    /// The attribute name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

#[cold]
fn convert_text<T: PortValue>(text: &str, cx: &Context<'_>) -> Result<T, PortError> {
    (T::TYPE.parse)(text, cx.enums())
        .and_then(|value| T::from_value(&value))
        .map_err(PortError::Mismatch)
}

impl Input<Text> {
    /// Reads a text without sharing it: nothing is counted, nothing copied.
    #[inline]
    pub fn as_str<'c>(&'c self, cx: &'c Context<'_>) -> Option<&'c str> {
        match &self.source {
            Source::Literal(text) => Some(text),
            Source::Slot(slot) => match cx.blackboard().get(*slot) {
                Some(Value::Text(text)) => Some(text),
                _ => None,
            },
            Source::Absent => None,
        }
    }
}

impl<T: ObjectType> Input<Arc<T>> {
    /// Looks at an object where it is: nothing is counted, nothing copied. `None` where there is none of the type.
    #[inline]
    pub fn as_object<'c>(&'c self, cx: &'c Context<'_>) -> Option<&'c T> {
        match &self.source {
            Source::Literal(object) => Some(object),
            Source::Slot(slot) => cx.blackboard().get(*slot)?.downcast_ref(),
            Source::Absent => None,
        }
    }
}

/// A bound output port.
#[derive(Debug, Clone)]
pub struct Output<T> {
    slot: Option<SlotId>,
    name: Cow<'static, str>,
    kind: PhantomData<fn(T)>,
}

impl<T: PortValue> Output<T> {
    /// Writes it. An absent port takes the value and forgets it.
    ///
    /// # Errors
    /// [`Thrown`] where the entry is of another type.
    #[inline]
    pub fn set(&self, cx: &mut Context<'_>, value: T) -> Result<(), Thrown> {
        let Some(slot) = self.slot else { return Ok(()) };
        match cx.write(slot, value.into_value(), T::TYPE) {
            Ok(()) => Ok(()),
            Err(clash) => Err(cx.throw(format!("port `{}`: {clash}", self.name))),
        }
    }

    /// The entry behind it.
    pub fn slot(&self) -> Option<SlotId> {
        self.slot
    }

    /// The attribute name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Output<Text> {
    /// As [`Output::set`] where the entry holds this very text, found by its address, already: it is written again
    /// without counting references, which is most of what a write costs. Otherwise nothing is done. Whether it was.
    #[inline]
    pub fn set_same(&self, cx: &mut Context<'_>, text: *const str) -> bool {
        self.slot.is_none_or(|slot| cx.write_same_text(slot, text))
    }
}

/// A bound port of both directions.
#[derive(Debug, Clone)]
pub struct InOut<T> {
    /// The reading side.
    pub input: Input<T>,
    /// The writing side.
    pub output: Output<T>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::builder::{forest, leaf, tree};
    use crate::bt::{Behavior, List, NodeKind, NodeStatus, Registry, Tick, Time, Tree, compile};

    struct Looks(Input<Arc<List<i64>>>);

    impl Behavior for Looks {
        fn tick(&self, cx: &mut Context<'_>) -> Tick {
            let looked = self.0.as_object(cx).map(|list| list.0.clone());
            assert_eq!(looked, self.0.get(cx).ok().map(|list| list.0.clone()));
            Ok(if looked == Some(vec![1, 2]) {
                NodeStatus::Success
            } else {
                NodeStatus::Failure
            })
        }
    }

    #[test]
    fn an_object_is_looked_at_where_it_is() {
        let mut registry = Registry::builtin();
        registry.provide_key("list");
        registry
            .register_with("Looks", NodeKind::Action, (0, 0), "", |ports| {
                Box::new(Looks(ports.input("from").bind()))
            })
            .unwrap();
        for (from, expected) in [
            (Some("{list}"), NodeStatus::Success),
            (Some("1;2"), NodeStatus::Success),
            (Some("1"), NodeStatus::Failure),
            (None, NodeStatus::Failure),
        ] {
            let root = from.map_or_else(|| leaf("Looks"), |from| leaf("Looks").port("from", from));
            let mut tree = Tree::new(
                compile(&forest([tree("Main", root)]), "Main", &registry)
                    .unwrap()
                    .def,
            );
            tree.set("list", Arc::new(List(vec![1_i64, 2]))).unwrap();
            tree.preload();
            assert_eq!(tree.tick(Time::ZERO).unwrap(), expected, "{from:?}");
        }
    }
}
