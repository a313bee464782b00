//! Converts between ports and messages, field by field.

use std::sync::Arc;

use serde_json::Value as JsonValue;

use super::json::{from_value, into_value};
use crate::bt::{Context, Input, Output, Ports, Text, Thrown, Value, nearest};
use crate::msg::Stamp;
use crate::nav::World;
use crate::nav::endpoint::{report_fault, world};
use crate::nav::link::{MAX_JSON_TEXT, Part};
use crate::nav::strict_json::no_field;

/// A field by its path: `pose.header.frame_id`.
#[derive(Debug)]
struct Field<P> {
    path: Vec<String>,
    port: P,
}

/// The attributes that begin with a prefix and a dot, with the paths after the prefix.
fn paths(ports: &Ports<'_>, prefix: &str) -> Vec<(String, Vec<String>)> {
    let names = ports.all_attributes().into_iter();
    names
        .filter_map(|name| {
            let path = name.strip_prefix(prefix)?.strip_prefix('.')?;
            let path = path.split('.').map(str::to_owned).collect();
            Some((name, path))
        })
        .collect()
}

/// Refuses field attributes without a matching port: a tree with `gaol.height` would send a goal with default values in
/// all fields. For other nodes, attributes with a dot are metadata.
pub(super) fn refuse_others(ports: &mut Ports<'_>, prefixes: &[&'static str]) {
    for name in ports.all_attributes() {
        let Some((prefix, _)) = name.split_once('.') else {
            continue;
        };
        if prefix.starts_with('_') || prefixes.contains(&prefix) {
            continue;
        }
        let help = match nearest(prefix, prefixes.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("write fields as {}.…", prefixes.join(".…, ")),
        };
        ports.problem_of(
            &name,
            format!("`{name}` is not a field of a message of this node: {help}"),
        );
    }
}

/// The message that a node sends: the whole message, and single fields over it.
#[derive(Debug)]
pub(super) struct MessageIn {
    part: Part,
    whole: Input<Value>,
    fields: Vec<Field<Input<Value>>>,
}

impl MessageIn {
    /// Declares the port `prefix` and the attributes `prefix.…`.
    pub(super) fn bind(ports: &mut Ports<'_>, part: Part, prefix: &'static str) -> Self {
        let whole = ports
            .input(prefix)
            .doc(format!(
                "The message: json:{{…}}, the text form of Nav2 (a point x;y;z), or a blackboard entry. {prefix}.x.y=\"…\" sets a single field. \
                 Other fields get their defaults. A stamp may be `now`."
            ))
            .bind();
        let fields = paths(ports, prefix)
            .into_iter()
            .map(|(name, path)| Field {
                path,
                port: ports.input(name).bind(),
            })
            .collect();
        Self { part, whole, fields }
    }

    /// A number that changes when one of the inputs is written.
    pub(super) fn version(&self, cx: &Context<'_>) -> u64 {
        let fields = self.fields.iter().map(|field| field.port.sequence(cx));
        fields.fold(self.whole.sequence(cx), u64::wrapping_add)
    }

    /// Copies the `now` stamps of an earlier message into a later one. A comparison of the two then ignores the time.
    pub(super) fn keep_stamps(&self, of: &JsonValue, into: &mut JsonValue) {
        let is_now =
            |port: &Input<Value>| matches!(port.literal(), Some(Value::Text(text)) if &**text == "now");
        for field in self.fields.iter().filter(|field| is_now(&field.port)) {
            let place = field
                .path
                .iter()
                .try_fold(&mut *into, |place, name| place.get_mut(name));
            if let (Some(place), Ok(stamp)) = (place, at(of, &field.path)) {
                *place = stamp.clone();
            }
        }
    }

    /// Compares the fields with the interface, and fixed values with the types of the fields.
    pub(super) fn check(&self, cx: &mut Context<'_>, type_name: &str) {
        let Some(template) = template(cx, self.part, type_name) else {
            return;
        };
        if template.is_null() {
            return;
        }
        let whole = self.whole.literal().map(|_| (&self.whole, [].as_slice()));
        let fields = self.fields.iter().map(|field| (&field.port, &*field.path));
        for (port, path) in whole.into_iter().chain(fields) {
            let fault = match at(&template, path) {
                Err(fault) => Some(format!("{type_name}: {fault}")),
                Ok(_) => port.literal().and_then(|literal| {
                    let fault = self.fits(cx, type_name, &template, path, literal).err()?;
                    Some(format!("{}: {fault}", port.name()))
                }),
            };
            if let Some(fault) = fault {
                report_fault(cx, port.name(), fault);
            }
        }
    }

    /// Checks that a value fits a field of a message with defaults.
    fn fits(
        &self,
        cx: &mut Context<'_>,
        type_name: &str,
        template: &JsonValue,
        path: &[String],
        value: &Value,
    ) -> Result<(), String> {
        let mut message = template.clone();
        set(&mut message, path, value, Stamp::ZERO, true)?;
        let world: &World = cx.resource().ok_or("the tree runs without a robot")?;
        world.check(self.part, type_name, &message).map_err(|error| {
            // The port already names the field.
            let fault = error.to_string();
            let named = format!("{}: ", path.join("."));
            fault.strip_prefix(&named).map_or(fault.clone(), str::to_owned)
        })
    }

    /// Builds the message.
    pub(super) fn build(&self, cx: &mut Context<'_>, type_name: &str) -> Result<JsonValue, String> {
        let world: &World = cx.resource().ok_or("the tree runs without a robot")?;
        let stamp = world.stamp();
        let template = world
            .template(self.part, type_name)
            .map_err(|error| error.to_string())?;
        let known = !template.is_null();
        let mut message = if known { template } else { empty() };
        if self.whole.is_set() {
            let value = self
                .whole
                .get(cx)
                .map_err(|error| format!("{}: {error}", self.whole.name()))?;
            let given = fill(&value, &message, stamp);
            let merged = given.and_then(|given| merge(&mut message, given, known));
            merged.map_err(|fault| format!("{}: {fault}", self.whole.name()))?;
        }
        for field in &self.fields {
            let value = field
                .port
                .get(cx)
                .map_err(|error| format!("{}: {error}", field.port.name()))?;
            set(&mut message, &field.path, &value, stamp, known)
                .map_err(|fault| format!("{}: {fault}", field.port.name()))?;
        }
        let world: &World = cx.resource().ok_or("the tree runs without a robot")?;
        match world.check(self.part, type_name, &message) {
            Ok(()) => Ok(message),
            Err(error) => Err(self
                .culprit(cx, type_name)
                .unwrap_or_else(|| format!("{}: {error}", self.whole.name()))),
        }
    }

    /// Finds the field that makes a message invalid.
    fn culprit(&self, cx: &mut Context<'_>, type_name: &str) -> Option<String> {
        let template = template(cx, self.part, type_name)?;
        self.fields.iter().find_map(|field| {
            let value = field.port.get(cx).ok()?;
            let fault = self.fits(cx, type_name, &template, &field.path, &value).err()?;
            Some(format!("{}: {fault}", field.port.name()))
        })
    }
}

/// A message of an interface with defaults. `None` if the interface is unknown, which was reported when it was opened.
fn template(cx: &mut Context<'_>, part: Part, type_name: &str) -> Option<JsonValue> {
    let world: &World = cx.resource()?;
    world.template(part, type_name).ok()
}

/// A value as JSON; `now` becomes the current stamp.
fn fill(value: &Value, like: &JsonValue, stamp: Stamp) -> Result<JsonValue, String> {
    let is_stamp = like.as_object().is_some_and(|fields| {
        fields.len() == 2 && fields.contains_key("sec") && fields.contains_key("nanosec")
    });
    match value {
        Value::Text(text) if &**text == "now" && (is_stamp || like.is_null()) => {
            Ok(serde_json::json!({"sec": stamp.sec, "nanosec": stamp.nanosec}))
        }
        _ => from_value(value, like),
    }
}

/// The field of a message.
fn at<'j>(message: &'j JsonValue, path: &[String]) -> Result<&'j JsonValue, String> {
    let mut place = message;
    for name in path {
        place = place.get(name).ok_or_else(|| no_field("", place, name))?;
    }
    Ok(place)
}

fn empty() -> JsonValue {
    JsonValue::Object(serde_json::Map::new())
}

/// Sets a field. A message of an unknown interface gets new fields.
fn set(
    message: &mut JsonValue,
    path: &[String],
    value: &Value,
    stamp: Stamp,
    known: bool,
) -> Result<(), String> {
    if known {
        at(message, path)?;
    }
    let mut place = message;
    for name in path {
        if place.is_null() {
            *place = empty();
        }
        let fields = place
            .as_object_mut()
            .ok_or("leads into a value that is not a message")?;
        place = fields.entry(name.clone()).or_insert(JsonValue::Null);
    }
    let value = fill(value, place, stamp)?;
    merge(place, value, known)
}

/// Merges the fields of one message into another. If the interface is known, the other has all valid fields.
fn merge(into: &mut JsonValue, from: JsonValue, known: bool) -> Result<(), String> {
    let (JsonValue::Object(fields), true) = (&from, into.is_object()) else {
        *into = from;
        return Ok(());
    };
    if known && let Some(name) = fields.keys().find(|name| into.get(name).is_none()) {
        return Err(no_field("", into, name));
    }
    if let (JsonValue::Object(into), JsonValue::Object(from)) = (into, from) {
        for (name, value) in from {
            merge(into.entry(name).or_insert(JsonValue::Null), value, known)?;
        }
    }
    Ok(())
}

/// The message that a node receives: the whole message, and single fields.
#[derive(Debug)]
pub(super) struct MessageOut {
    part: Part,
    whole: Output<Value>,
    fields: Vec<Field<Output<Value>>>,
    name: &'static str,
}

impl MessageOut {
    /// Declares the port `prefix` and the attributes `prefix.…`.
    pub(super) fn bind(ports: &mut Ports<'_>, part: Part, prefix: &'static str) -> Self {
        let whole = ports
            .output(prefix)
            .doc(format!(
                "The message, of {} MiB as JSON at most; {prefix}.x.y=\"{{key}}\" writes single fields.",
                MAX_JSON_TEXT >> 20
            ))
            .bind();
        let fields = paths(ports, prefix)
            .into_iter()
            .map(|(name, path)| Field {
                path,
                port: ports.output(name).bind(),
            })
            .collect();
        Self {
            part,
            whole,
            fields,
            name: prefix,
        }
    }

    /// Whether any part of the message is used.
    pub(super) fn is_wanted(&self) -> bool {
        self.whole.slot().is_some() || !self.fields.is_empty()
    }

    /// Compares the fields with the interface.
    pub(super) fn check(&self, cx: &mut Context<'_>, type_name: &str) {
        let Some(template) = template(cx, self.part, type_name) else {
            return;
        };
        if template.is_null() {
            return;
        }
        for field in &self.fields {
            if let Err(fault) = at(&template, &field.path) {
                report_fault(cx, field.port.name(), format!("{type_name}: {fault}"));
            }
        }
    }

    /// Checks that a port names a boolean field of the message.
    pub(super) fn check_boolean(&self, cx: &mut Context<'_>, type_name: &str, port: &Input<Text>) {
        let Some(path) = port.literal().filter(|path| !path.is_empty()) else {
            return;
        };
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        let Some(template) = template(cx, self.part, type_name).filter(|template| !template.is_null()) else {
            return;
        };
        let fault = match at(&template, &path) {
            Ok(JsonValue::Bool(_)) => return,
            Ok(_) => format!("`{}` of {type_name} is not a boolean", path.join(".")),
            Err(fault) => format!("{type_name}: {fault}"),
        };
        report_fault(cx, port.name(), format!("{}: {fault}", port.name()));
    }

    /// Writes the message. `Err` if a field does not fit its key, or if the message is null: it was too long.
    pub(super) fn write(
        &self,
        cx: &mut Context<'_>,
        message: &JsonValue,
    ) -> Result<Result<(), String>, Thrown> {
        if message.is_null() && self.is_wanted() {
            return Ok(Err(format!(
                "{}: messages of more than {} MiB as JSON do not reach trees: read this one in a node of its own",
                self.name,
                MAX_JSON_TEXT >> 20
            )));
        }
        let whole = self
            .whole
            .slot()
            .map(|_| (&self.whole, message, self.name.to_owned()));
        let mut outcome = Ok(());
        let fields = self
            .fields
            .iter()
            .filter_map(|field| match at(message, &field.path) {
                Ok(value) => Some((
                    &field.port,
                    value,
                    format!("{}.{}", self.name, field.path.join(".")),
                )),
                Err(_) => None,
            });
        for (port, value, name) in whole.into_iter().chain(fields) {
            let Some(slot) = port.slot() else { continue };
            let declared = cx.blackboard().entry(slot).info();
            match into_value(value, declared, cx.enums()) {
                Ok((value, info)) => {
                    if let Err(clash) = cx.write(slot, value, info) {
                        outcome = Err(format!("{name}: {clash}"));
                    }
                }
                Err(fault) => outcome = Err(format!("{name}: {fault}")),
            }
        }
        Ok(outcome)
    }
}

/// The text of a port that names an interface; empty if it has not been written.
pub(super) fn type_name(cx: &Context<'_>, port: &Input<Text>) -> Text {
    port.get(cx).unwrap_or_else(|_| Arc::from(""))
}

/// Logs the reason of a failure.
pub(super) fn note(cx: &mut Context<'_>, text: &str) -> Result<(), Thrown> {
    let path = crate::nav::endpoint::path_of(cx);
    world!(cx).note(&path, text);
    Ok(())
}
