//! Scripts in ports: compiled with the tree, or at run time if an entry holds the text.

use std::ops::Range;

use crate::bt::scope::{PortText, port_text};
use crate::bt::script::{Access, Names, Script, ScriptResult};
use crate::bt::{Context, Input, Ports, SlotId, Text, Thrown, Value};

/// A port with a script, or with an entry that holds one.
#[derive(Debug)]
pub(super) enum Code {
    /// The file contains the script. `None` if it was refused.
    Fixed(Option<Script>),
    /// An entry holds the script, which is compiled again when it changes.
    Entry(Input<Text>),
}

/// The script of an entry, compiled.
#[derive(Default)]
struct Compiled(Option<(Text, Script)>);

impl Code {
    pub(super) fn bind(
        ports: &mut Ports<'_>,
        name: &'static str,
        result: ScriptResult,
        doc: &'static str,
    ) -> Self {
        let dialect = ports.dialect();
        let pointer = ports
            .raw(name)
            .is_some_and(|text| !matches!(port_text(&text, dialect), PortText::Literal(_)));
        if pointer {
            return Self::Entry(ports.input::<Text>(name).required().doc(doc).bind());
        }
        Self::Fixed(ports.script(name, result).required().doc(doc).bind())
    }

    pub(super) fn run(&self, cx: &mut Context<'_>) -> Result<Value, Thrown> {
        match self {
            Self::Fixed(Some(script)) => cx.run(script),
            Self::Fixed(None) => Ok(Value::Empty),
            Self::Entry(entry) => {
                let state = compiled(cx, entry)?;
                let result = state
                    .0
                    .as_ref()
                    .map_or(Ok(Value::Empty), |(_, script)| cx.run(script));
                cx.put_state(state);
                result
            }
        }
    }

    pub(super) fn test(&self, cx: &mut Context<'_>) -> Result<bool, Thrown> {
        match self {
            Self::Fixed(Some(script)) => cx.test(script),
            Self::Fixed(None) => Ok(false),
            Self::Entry(entry) => {
                let state = compiled(cx, entry)?;
                let result = state.0.as_ref().map_or(Ok(false), |(_, script)| cx.test(script));
                cx.put_state(state);
                result
            }
        }
    }
}

/// The state with the compiled script of an entry. Compiles a changed text. Put the state back.
fn compiled(cx: &mut Context<'_>, entry: &Input<Text>) -> Result<Box<Compiled>, Thrown> {
    let text = entry.require(cx)?;
    let mut state = cx.take_state::<Compiled>();
    if state.0.as_ref().is_none_or(|(of, _)| *of != text) {
        let enums = cx.enums();
        match Script::compile(&text, enums, &mut NamesAtRunTime(cx)) {
            Ok(script) => state.0 = Some((text, script)),
            Err(error) => return Err(cx.throw(format!("script `{text}`: {error}"))),
        }
        cx.check_entries()?;
    }
    Ok(state)
}

struct NamesAtRunTime<'c, 't>(&'c mut Context<'t>);

impl Names for NamesAtRunTime<'_, '_> {
    fn slot(&mut self, key: &str, _access: Access, _range: Range<usize>) -> SlotId {
        self.0.resolve(key)
    }
}
