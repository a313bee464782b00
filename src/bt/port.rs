//! Ports: the declarations of what a node reads and writes, and the access to it.
//!
//! One expression declares a port and binds it.
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
//!         distance: ports.input("distance").unit("m").default("0.15").doc("Distance to drive.").bind(),
//!         count: ports.output("count").doc("Number of drives.").bind(),
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

/// The direction of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Direction {
    /// Read.
    Input,
    /// Written.
    Output,
    /// Read and written.
    InOut,
}

impl Direction {
    /// The element name in a palette: `input_port`, `output_port` or `inout_port`.
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
    /// Another accepted name.
    pub alias: Option<&'static str>,
    /// The type of the list elements, if a literal is a list `a;b;c` although the port takes any type.
    pub element: Option<&'static TypeInfo>,
    /// Which way data goes.
    pub direction: Direction,
    /// The type of the value.
    pub info: &'static TypeInfo,
    /// The value of a port without attribute, in the text form of an attribute.
    pub default: Option<Cow<'static, str>>,
    /// Whether the attribute is required.
    pub required: bool,
    /// The result type of the script, if the text is a script.
    pub script: Option<ScriptResult>,
    /// Unit of a number: `m`, `s`, `ms`, `rad`.
    pub unit: &'static str,
    /// The description, in one sentence.
    pub doc: Cow<'static, str>,
}

/// The binding of an attribute.
#[derive(Clone, Debug, Default)]
pub enum Binding {
    /// No attribute and no default.
    #[default]
    Absent,
    /// A fixed value of the port's type.
    Literal(Value),
    /// A blackboard entry.
    Slot(SlotId),
}

/// Receives the declarations of a node: the collector of manifests, or the compiler of a definition.
pub(crate) trait PortSink {
    fn port(&mut self, declaration: &PortDecl) -> Binding;
    /// The attribute as written in the file, without default.
    fn raw(&mut self, name: &str) -> Option<String>;
    /// The names of all attributes that could be ports.
    fn attributes(&self) -> Vec<String>;
    /// The names of all attributes except conditions, including those that a manifest cannot declare.
    fn all_attributes(&self) -> Vec<String>;
    fn script(&mut self, declaration: &PortDecl) -> Option<Script>;
    /// The entry of a key that no port names with `{key}`.
    fn key(&mut self, key: &str, access: Access) -> Option<SlotId>;
    /// Declares that the literal of a port, if it has one, is written to an entry.
    fn stores(&mut self, name: &str, slot: SlotId);
    /// Compiles a script that is not the text of an attribute. `names` are added to the names of the registry.
    fn compile(&mut self, name: &str, text: &str, names: &[(&str, i64)]) -> Option<Script>;
    fn writes_any(&mut self);
    fn children(&self) -> usize;
    fn dialect(&self) -> Dialect;
    /// Reports a problem of a port's attribute. An empty or unknown name reports a problem of the node.
    fn problem(&mut self, port: &str, message: String);
    fn warn(&mut self, port: &str, message: String);
}

/// The argument of [`Node::bind`](super::Node::bind): declares and binds ports.
pub struct Ports<'b> {
    pub(crate) sink: &'b mut dyn PortSink,
}

impl<'b> Ports<'b> {
    /// Declares an input port.
    pub fn input<T: PortValue>(
        &mut self,
        name: impl Into<Cow<'static, str>>,
    ) -> PortBuilder<'_, 'b, Input<T>> {
        PortBuilder::new(self, name.into(), Direction::Input, T::TYPE)
    }

    /// Declares an output port.
    pub fn output<T: PortValue>(
        &mut self,
        name: impl Into<Cow<'static, str>>,
    ) -> PortBuilder<'_, 'b, Output<T>> {
        PortBuilder::new(self, name.into(), Direction::Output, T::TYPE)
    }

    /// Declares a port that is read and written.
    pub fn inout<T: PortValue>(
        &mut self,
        name: impl Into<Cow<'static, str>>,
    ) -> PortBuilder<'_, 'b, InOut<T>> {
        PortBuilder::new(self, name.into(), Direction::InOut, T::TYPE)
    }

    /// Declares a port that holds a script. The script is compiled with the tree.
    pub fn script(
        &mut self,
        name: &'static str,
        result: ScriptResult,
    ) -> PortBuilder<'_, 'b, Option<Script>> {
        let mut builder = PortBuilder::new(self, name.into(), Direction::Input, Text::TYPE);
        builder.declaration.script = Some(result);
        builder
    }

    /// The attribute as written in the file. For names that must be known when the tree is compiled.
    pub fn raw(&mut self, name: &str) -> Option<String> {
        self.sink.raw(name)
    }

    /// The names of the attributes in the file that may be ports. For nodes that accept any attribute.
    pub fn attributes(&self) -> Vec<String> {
        self.sink.attributes()
    }

    /// The entry of a key that the node reads or writes without a `{key}` port, for example `output_key` of
    /// `SetBlackboard`. `None` while declarations are collected.
    pub fn key(&mut self, key: &str, access: Access) -> Option<SlotId> {
        self.sink.key(key, access)
    }

    /// Declares that the node writes the value of a port to an entry. A literal that does not convert to the type of
    /// the entry is refused.
    pub fn stores(&mut self, name: &str, slot: SlotId) {
        self.sink.stores(name, slot);
    }

    /// Compiles a script that is not the text of an attribute. Messages call it `name`. `names` are numbers in addition
    /// to the registry's enumerations. Returns `None` if the script was refused.
    pub fn compile(&mut self, name: &str, text: &str, names: &[(&str, i64)]) -> Option<Script> {
        self.sink.compile(name, text, names)
    }

    /// Declares that the node writes entries whose keys are known only at run time.
    pub fn writes_any(&mut self) {
        self.sink.writes_any();
    }

    /// The names of all attributes in the file except conditions, including those that a manifest cannot declare. For
    /// nodes whose attributes are dotted field paths.
    pub fn all_attributes(&self) -> Vec<String> {
        self.sink.all_attributes()
    }

    /// The number of children of the node in this file. Zero while declarations are collected.
    pub fn children(&self) -> usize {
        self.sink.children()
    }

    /// The language of the file.
    pub fn dialect(&self) -> Dialect {
        self.sink.dialect()
    }

    /// Reports an error of the node. The message tells the user what to change.
    pub fn problem(&mut self, message: impl Into<String>) {
        self.sink.problem("", message.into());
    }

    /// Reports an error of the attribute of a port.
    pub fn problem_of(&mut self, port: &str, message: impl Into<String>) {
        self.sink.problem(port, message.into());
    }

    /// Reports a port that this build does not support. The tree still runs.
    pub fn warn_of(&mut self, port: &str, message: impl Into<String>) {
        self.sink.warn(port, message.into());
    }
}

/// A port declaration in progress. [`PortBuilder::bind`] completes it.
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

    /// Sets the description, one sentence for the reference page.
    pub fn doc(mut self, doc: impl Into<Cow<'static, str>>) -> Self {
        self.declaration.doc = doc.into();
        self
    }

    /// Sets the unit of a number.
    pub fn unit(mut self, unit: &'static str) -> Self {
        self.declaration.unit = unit;
        self
    }

    /// Sets the value that is used without attribute, in the form of the file: `10.0`, `{goal}`, `{=}`.
    pub fn default(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.declaration.default = Some(text.into());
        self
    }

    /// Makes the attribute required.
    pub fn required(mut self) -> Self {
        self.declaration.required = true;
        self
    }

    /// Adds another name for the same port, accepted without a warning.
    pub fn alias(mut self, name: &'static str) -> Self {
        self.declaration.alias = Some(name);
        self
    }
}

impl PortBuilder<'_, '_, InOut<Value>> {
    /// Makes literals lists of this element type, `a;b;c`, although the port takes values of any type.
    pub fn list_of<T: PortValue>(mut self) -> Self {
        self.declaration.element = Some(T::TYPE);
        self
    }
}

impl<T: PortValue> PortBuilder<'_, '_, Input<T>> {
    /// Declares the port and returns its binding.
    pub fn bind(self) -> Input<T> {
        let source = Source::new(self.ports.sink.port(&self.declaration));
        Input {
            source,
            name: self.declaration.name,
        }
    }
}

impl<T: PortValue> PortBuilder<'_, '_, Output<T>> {
    /// Declares the port and returns its binding.
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
    /// Declares the port and returns its binding.
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
    /// Declares the port and returns the compiled script. `None` if the attribute is absent or was refused.
    pub fn bind(self) -> Option<Script> {
        self.ports.sink.script(&self.declaration)
    }
}

/// The reason why a port has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PortError {
    /// The attribute is absent and the port has no default.
    #[error("the port is not set")]
    Absent,
    /// The entry has not been written.
    #[error("its blackboard entry has not been written yet")]
    Unwritten,
    /// The entry holds a value of another type.
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
    /// Reads the port. A literal was parsed when the tree was compiled. An entry is converted if necessary. Texts and
    /// objects are shared, not copied.
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

    /// Reads the port. Returns `otherwise` if the port has no value of its type.
    #[inline]
    pub fn get_or(&self, cx: &Context<'_>, otherwise: T) -> T {
        self.get(cx).unwrap_or(otherwise)
    }

    /// Reads the port. If this fails, fails the tree with a message that names the port.
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

    /// Reads an optional port. `None` if the attribute is absent or the entry has not been written.
    ///
    /// # Errors
    /// [`Thrown`] if the entry holds a value of another type. This is an error of the tree.
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

    /// The entry of the port, if it is bound to one.
    pub fn slot(&self) -> Option<SlotId> {
        match self.source {
            Source::Slot(slot) => Some(slot),
            Source::Absent | Source::Literal(_) => None,
        }
    }

    /// The literal of the port, if it has one.
    pub fn literal(&self) -> Option<&T> {
        match &self.source {
            Source::Literal(value) => Some(value),
            Source::Absent | Source::Slot(_) => None,
        }
    }

    /// Whether the port has an attribute or a default.
    pub fn is_set(&self) -> bool {
        !matches!(self.source, Source::Absent)
    }

    /// The number of writes to the entry so far; 0 for a literal.
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
    /// Borrows a text without reference counting and without a copy.
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
    /// Borrows an object without reference counting and without a copy. `None` if the entry holds no object of this
    /// type.
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
    /// Writes the entry. A write to an absent port has no effect.
    ///
    /// # Errors
    /// [`Thrown`] if the entry is of another type.
    #[inline]
    pub fn set(&self, cx: &mut Context<'_>, value: T) -> Result<(), Thrown> {
        let Some(slot) = self.slot else { return Ok(()) };
        match cx.write(slot, value.into_value(), T::TYPE) {
            Ok(()) => Ok(()),
            Err(clash) => Err(cx.throw(format!("port `{}`: {clash}", self.name))),
        }
    }

    /// The entry of the port.
    pub fn slot(&self) -> Option<SlotId> {
        self.slot
    }

    /// The attribute name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Output<Text> {
    /// Writes a text again if the entry already holds the text at this address; otherwise does nothing. Returns whether
    /// it did. Avoids reference counting, which is most of the cost of a write.
    #[inline]
    pub fn set_same(&self, cx: &mut Context<'_>, text: *const str) -> bool {
        self.slot.is_none_or(|slot| cx.write_same_text(slot, text))
    }
}

/// A bound port that is read and written.
#[derive(Debug, Clone)]
pub struct InOut<T> {
    /// The input side.
    pub input: Input<T>,
    /// The output side.
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
    fn an_object_is_borrowed_in_place() {
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
