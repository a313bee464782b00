//! The declarations of the ports of a node.
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

use super::blackboard::SlotId;
use super::dialect::Dialect;
use super::port::{Binding, InOut, Input, Output};
use super::port_range::PortRange;
use super::script::{Access, Script, ScriptResult};
use super::types::{PortValue, Text, TypeInfo};
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
    /// Whether the node fails without the attribute. The checker reports it; the tree runs, as in Nav2.
    pub needed: bool,
    /// The numbers that make sense.
    pub range: Option<PortRange>,
    /// The result type of the script, if the text is a script.
    pub script: Option<ScriptResult>,
    /// Unit of a number: `m`, `s`, `ms`, `rad`.
    pub unit: &'static str,
    /// The description, in one sentence.
    pub doc: Cow<'static, str>,
}

/// Receives the declarations of a node: the collector of manifests, or the compiler of a definition.
pub(crate) trait PortSink {
    fn port(&mut self, declaration: &PortDecl) -> Binding;
    /// Declares a port that earlier versions had.
    fn former(&mut self, name: &'static str, version: &'static str);
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
    fn doubt(&mut self, port: &str, message: String);
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

    /// Declares a port that earlier versions had. A tree that sets it gets a warning, and the value has no effect.
    /// `version` is one without the port.
    pub fn former(&mut self, name: &'static str, version: &'static str) {
        self.sink.former(name, version);
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

    /// Reports the number of a port that makes no sense together with another port. The tree still runs.
    pub fn doubt_of(&mut self, port: &str, message: impl Into<String>) {
        self.sink.doubt(port, message.into());
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
            needed: false,
            range: None,
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

    /// Says that the node always fails without the attribute. The checker reports its absence, and the tree runs.
    pub fn needed(mut self) -> Self {
        self.declaration.needed = true;
        self
    }

    /// Sets the numbers that make sense. Another number gets a warning when the tree is loaded, or when it is read from
    /// the blackboard.
    pub fn range(mut self, range: PortRange) -> Self {
        self.declaration.range = Some(range);
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
        let binding = self.ports.sink.port(&self.declaration);
        Input::new(binding, self.declaration.name, self.declaration.range)
    }
}

impl<T: PortValue> PortBuilder<'_, '_, Output<T>> {
    /// Declares the port and returns its binding.
    pub fn bind(self) -> Output<T> {
        Output::new(&self.ports.sink.port(&self.declaration), self.declaration.name)
    }
}

impl<T: PortValue> PortBuilder<'_, '_, InOut<T>> {
    /// Declares the port and returns its binding.
    pub fn bind(self) -> InOut<T> {
        InOut::new(self.ports.sink.port(&self.declaration), self.declaration.name)
    }
}

impl PortBuilder<'_, '_, Option<Script>> {
    /// Declares the port and returns the compiled script. `None` if the attribute is absent or was refused.
    pub fn bind(self) -> Option<Script> {
        self.ports.sink.script(&self.declaration)
    }
}
