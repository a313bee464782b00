//! Binds the ports of a node to the attributes of its file.

use super::Enums;
use super::blackboard::{ScopeId, SlotId, is_key};
use super::change::{Change, Confidence};
use super::definition::Span;
use super::dialect::Dialect;
use super::guard::Guards;
use super::literal_checks::WrittenLiteral;
use super::node::Manifest;
use super::numeral::{ignored, ignored_in_list};
use super::port::Binding;
use super::port_decl::{Direction, PortDecl, PortSink};
use super::problem::{Problem, ProblemKind};
use super::registry::is_port_name;
use super::scope::{PortText, Scopes, port_text};
use super::script::{Access, Script, ScriptResult};
use super::script_binder::{compile_script, name_slot};
use super::spec::{AttributeSpec, NodeSpec};
use super::suggest::nearest;
use super::types::{Family, PortValue};
use super::value::Value;

pub(crate) struct Binder<'b, 's> {
    pub(crate) spec: &'b NodeSpec<'s>,
    pub(crate) scope: ScopeId,
    pub(crate) dialect: Dialect,
    pub(crate) manifest: &'b Manifest,
    pub(crate) scopes: &'b mut Scopes,
    pub(crate) enums: &'b Enums,
    pub(crate) problems: &'b mut Vec<Problem>,
}

impl<'b, 's> Binder<'b, 's> {
    fn named(&self, name: &str) -> Option<&'b AttributeSpec<'s>> {
        let mut attributes = self.spec.attributes.iter();
        attributes.find(|attribute| attribute.name == name)
    }

    fn attribute(&self, declaration: &PortDecl) -> Option<&'b AttributeSpec<'s>> {
        let named = self.named(&declaration.name);
        named.or_else(|| self.named(declaration.alias?))
    }

    /// Whether an unknown attribute is most likely a misspelling of the port: that is reported instead of the absence.
    fn is_misspelt(&self, declaration: &PortDecl) -> bool {
        let ports = || self.manifest.ports.iter().map(|port| &*port.name);
        let unknown = self.spec.attributes.iter().map(|attribute| &*attribute.name);
        let mut unknown = unknown.filter(|name| !self.manifest.knows(name) && is_port_name(name));
        unknown.any(|name| nearest(name, ports()) == Some(&*declaration.name))
    }

    fn missing(&mut self, declaration: &PortDecl) {
        if self.is_misspelt(declaration) {
            return;
        }
        if declaration.required || declaration.needed {
            let id = self.spec.label();
            let (kind, message) = if declaration.required {
                (
                    ProblemKind::MissingPort,
                    format!("{id} needs the port `{}`", declaration.name),
                )
            } else {
                let message = format!("{id} always fails without the port `{}`", declaration.name);
                (ProblemKind::MissingInput, message)
            };
            let mut problem = Problem::new(kind, self.spec.span, message);
            let name = declaration.name.to_string();
            // The key of the same name is the usual one: `goal="{goal}"`. A number or a text is written as it is.
            let is_key = declaration.direction != Direction::Input
                || declaration.info.family == Family::Object
                || self.scopes.knows(self.scope, &name);
            let value = if is_key {
                format!("{{{name}}}")
            } else {
                "…".to_owned()
            };
            let doc = match &*declaration.doc {
                "" => String::new(),
                doc => format!(": {doc}"),
            };
            problem = problem.help(format!("add `{name}=\"{value}\"`{doc}"));
            if is_key {
                let node = self.spec.span;
                problem = problem.change(Change::AddAttribute { node, name, value }, Confidence::Guess);
            }
            self.problems.push(problem);
        }
    }

    /// Reports attributes that are no port, condition script or metadata.
    pub(crate) fn check_attributes(&mut self) {
        for attribute in &self.spec.attributes {
            if self.manifest.knows(&attribute.name) || !is_port_name(&attribute.name) {
                continue;
            }
            if let Some(help) = self.switch_by_variable() {
                let message = format!("{} does not choose by a variable", self.spec.label());
                self.problems
                    .push(Problem::new(ProblemKind::UnknownPort, attribute.name_span, message).help(help));
                return;
            }
            let message = format!("{} has no port `{}`", self.spec.label(), attribute.name);
            let ports = self.manifest.ports.iter().map(|port| &*port.name);
            let mut problem = Problem::new(ProblemKind::UnknownPort, attribute.name_span, message);
            problem = match nearest(&attribute.name, ports.clone()) {
                Some(near) => {
                    if self.named(near).is_none() {
                        let confidence = Confidence::of_near_name(&attribute.name, near);
                        let change = Change::Write(attribute.name_span, near.to_owned());
                        problem = problem.change(change, confidence);
                    }
                    problem.help(format!("did you mean `{near}`?"))
                }
                None if self.manifest.ports.is_empty() => problem.help("this node has no ports"),
                None => problem.help(format!("its ports are: {}", ports.collect::<Vec<_>>().join(", "))),
            };
            self.problems.push(problem);
        }
    }

    /// The help for a `Switch` with the ports of a `Switch2`: other systems give the name to another node each.
    fn switch_by_variable(&self) -> Option<String> {
        let attributes = || self.spec.attributes.iter();
        let has_variable = attributes().any(|attribute| attribute.name == "variable");
        if self.spec.id != "Switch" || !has_variable || !self.manifest.ports.is_empty() {
            return None;
        }
        let cases = attributes().filter(|attribute| attribute.name.starts_with("case_"));
        let cases = cases.count().clamp(2, 6);
        Some(format!(
            "write `Switch{cases}`, which compares `variable` with {cases} cases; `Switch` is another name of ReactiveFallback"
        ))
    }

    /// Whether an attribute counts as not given. BehaviorTree.CPP 3 reads an empty text only when it ticks the node, and
    /// Nav2's nodes then take it for an absent attribute. Version 4 refuses it when it loads the tree.
    fn is_left_out(&mut self, declaration: &PortDecl, attribute: &AttributeSpec<'_>) -> bool {
        let is_left_out = self.dialect == Dialect::V3
            && attribute.value.is_empty()
            && declaration.direction == Direction::Input
            && !declaration.required
            && (declaration.info.parse)("", self.enums).is_err();
        if is_left_out {
            let message = format!("port `{}` is empty and counts as not given", declaration.name);
            let problem = Problem::new(ProblemKind::EmptyInput, attribute.name_span, message);
            let change = Change::RemoveAttribute(attribute.name_span);
            self.problems.push(
                problem
                    .help("remove the attribute: version 4 refuses an empty one")
                    .change(change, Confidence::Sure),
            );
        }
        is_left_out
    }

    /// Whether a text is the key of an output without braces. Version 3 takes it as the key.
    fn is_bare_output(&self, text: &str, declaration: &PortDecl, by_default: bool) -> bool {
        self.dialect == Dialect::V3
            && declaration.direction == Direction::Output
            && !text.is_empty()
            && !by_default
    }

    fn ignored<'t>(literal: &'t str, declaration: &PortDecl) -> Option<&'t str> {
        match declaration.element {
            Some(element) => ignored_in_list(literal, element),
            None => ignored(literal, declaration.info),
        }
    }

    fn literal_output(&mut self, literal: &str, declaration: &PortDecl, span: Span) {
        let message = format!(
            "port `{}` is an output, and `{literal}` is not a blackboard key",
            declaration.name
        );
        let problem = Problem::new(ProblemKind::LiteralOutput, span, message);
        self.problems.push(if is_port_name(literal) {
            // A name in an output can only be a key.
            with_braces(problem, literal, Confidence::Sure)
        } else {
            problem.help("write a key in braces, for example `{key}`, or remove the attribute")
        });
    }

    fn bad_literal(&mut self, literal: &str, reason: &str, declaration: &PortDecl, span: Span) {
        let (name, of) = (&declaration.name, declaration.info.name);
        let message = format!("port `{name}` is of type {of}: {reason}");
        let mut problem = Problem::new(ProblemKind::BadLiteral, span, message);
        if is_port_name(literal) {
            // A text can also be a misspelt value.
            let confidence = if literal == name || self.scopes.knows(self.scope, literal) {
                Confidence::Sure
            } else {
                Confidence::Guess
            };
            problem = with_braces(problem, literal, confidence);
        }
        self.problems.push(problem);
    }

    fn check_range(&mut self, value: &Value, declaration: &PortDecl, span: Span) {
        if let Some(range) = declaration.range
            && let Ok(number) = f64::from_value(value)
            && !range.contains(number)
        {
            let (name, doc) = (&declaration.name, &declaration.doc);
            let message = format!("port `{name}` is {number}; it must be {range}");
            let problem = Problem::new(ProblemKind::OutOfRange, span, message);
            self.problems.push(problem.help(format!("{name}: {doc}")));
        }
    }

    fn pointer(&mut self, key: &str, declaration: &PortDecl, by_default: bool, span: Span) -> Binding {
        if !is_key(key) {
            let message = format!("`{key}` is not a key: write a name with at most one `@` before it");
            self.problems
                .push(Problem::new(ProblemKind::BadKey, span, message));
            return Binding::Absent;
        }
        let slot = self.scopes.resolve(self.scope, key);
        self.scopes.declare(
            slot,
            declaration.info,
            declaration.direction,
            by_default,
            span,
            self.problems,
        );
        let direction = declaration.direction;
        self.scopes.access(
            slot,
            direction != Direction::Output,
            direction != Direction::Input,
        );
        Binding::Slot(slot)
    }
}

/// Adds the help and the change for a key whose braces are missing.
fn with_braces(problem: Problem, key: &str, confidence: Confidence) -> Problem {
    let change = Change::Write(problem.span, format!("{{{key}}}"));
    problem
        .help(format!("did you mean `{{{key}}}`?"))
        .change(change, confidence)
}

impl PortSink for Binder<'_, '_> {
    fn port(&mut self, declaration: &PortDecl) -> Binding {
        let given = self.attribute(declaration);
        let given = given.filter(|attribute| !self.is_left_out(declaration, attribute));
        let (text, by_default, span) = match (given, &declaration.default) {
            (Some(attribute), _) => (&*attribute.value, false, attribute.value_span),
            (None, Some(text)) => (&**text, true, self.spec.span),
            (None, None) => {
                self.missing(declaration);
                return Binding::Absent;
            }
        };
        match port_text(text, self.dialect) {
            PortText::Pointer(key) => self.pointer(key, declaration, by_default, span),
            PortText::SameName => self.pointer(&declaration.name, declaration, by_default, span),
            PortText::Literal(key) if self.is_bare_output(key, declaration, by_default) => {
                let message = format!(
                    "the key `{key}` of the output `{}` has no braces",
                    declaration.name
                );
                let problem = Problem::new(ProblemKind::BareOutput, span, message);
                let change = Change::Write(span, format!("{{{key}}}"));
                let problem = problem.change(change, Confidence::Sure);
                self.problems.push(problem.help(format!("write `{{{key}}}`")));
                self.pointer(key, declaration, by_default, span)
            }
            PortText::Literal(literal) => {
                if declaration.direction == Direction::Output {
                    // An output without a key discards its values. A text means that the braces are missing.
                    if !literal.is_empty() && !by_default {
                        self.literal_output(literal, declaration, span);
                    }
                    // Version 4 parses the literals of all ports at load time, and an empty text is not a number.
                    let is_read = self.dialect == Dialect::V4 && declaration.info.is_numeric();
                    if literal.is_empty() && is_read {
                        self.bad_literal(
                            "",
                            "the attribute is empty: write a key in braces, or remove the attribute",
                            declaration,
                            span,
                        );
                    }
                    return Binding::Absent;
                }
                match (declaration.info.parse)(literal, self.enums) {
                    Ok(value) => {
                        if let Some(rest) = Self::ignored(literal, declaration) {
                            let message = format!("port `{}`: `{rest}` is ignored", declaration.name);
                            let mut problem = Problem::new(ProblemKind::TrailingText, span, message);
                            if let Some(number) = literal.strip_suffix(rest) {
                                let change = Change::Write(span, number.trim_end().to_owned());
                                problem = problem.change(change, Confidence::Guess);
                            }
                            self.problems.push(
                                problem.help("write only the number, or numbers separated by `;` for a list"),
                            );
                        }
                        if !by_default {
                            self.check_range(&value, declaration, span);
                        }
                        Binding::Literal(value)
                    }
                    Err(message) => {
                        self.bad_literal(literal, &message, declaration, span);
                        Binding::Absent
                    }
                }
            }
        }
    }

    fn former(&mut self, name: &'static str, version: &'static str) {
        if let Some(attribute) = self.named(name) {
            let message = format!("{} has no port `{name}` in {version}", self.spec.label());
            let problem = Problem::new(ProblemKind::FormerPort, attribute.name_span, message);
            let change = Change::RemoveAttribute(attribute.name_span);
            self.problems.push(
                problem
                    .help("it has no effect: remove the attribute")
                    .change(change, Confidence::Sure),
            );
        }
    }

    fn raw(&mut self, name: &str) -> Option<String> {
        let attribute = self
            .spec
            .attributes
            .iter()
            .find(|attribute| attribute.name == name)?;
        Some(attribute.value.to_string())
    }

    fn attributes(&self) -> Vec<String> {
        let names = self
            .spec
            .attributes
            .iter()
            .map(|attribute| attribute.name.to_string());
        names
            .filter(|name| is_port_name(name) && !Guards::NAMES.contains(&name.as_str()))
            .collect()
    }

    fn all_attributes(&self) -> Vec<String> {
        let names = self
            .spec
            .attributes
            .iter()
            .map(|attribute| attribute.name.to_string());
        names
            .filter(|name| !Guards::NAMES.contains(&name.as_str()))
            .collect()
    }

    fn script(&mut self, declaration: &PortDecl) -> Option<Script> {
        match self.attribute(declaration) {
            Some(attribute) => {
                let result = declaration.script.unwrap_or(ScriptResult::Ignored);
                if attribute.value.is_empty() && result == ScriptResult::Ignored {
                    let message = format!("`{}` does nothing: its script is empty", self.spec.id);
                    let span = attribute.value_span;
                    self.problems
                        .push(Problem::new(ProblemKind::EmptyScript, span, message));
                    return None;
                }
                compile_script(
                    attribute,
                    result,
                    self.scope,
                    self.scopes,
                    self.enums,
                    self.problems,
                )
            }
            None => {
                self.missing(declaration);
                None
            }
        }
    }

    fn key(&mut self, key: &str, access: Access) -> Option<SlotId> {
        if !is_key(key) {
            let message = format!("`{key}` is not a key: write a name with at most one `@` before it");
            self.problems
                .push(Problem::new(ProblemKind::BadKey, self.spec.span, message));
            return None;
        }
        Some(name_slot(self.scopes, self.scope, key, access, self.spec.span))
    }

    fn stores(&mut self, name: &str, slot: SlotId) {
        let Some(attribute) = self.named(name) else {
            return;
        };
        if let PortText::Literal(text) = port_text(&attribute.value, self.dialect) {
            self.scopes.literal_checks.write(WrittenLiteral {
                slot,
                value: Value::text(text),
                span: attribute.value_span,
                kind: ProblemKind::BadLiteral,
            });
        }
    }

    fn compile(&mut self, name: &str, text: &str, names: &[(&str, i64)]) -> Option<Script> {
        let attribute = AttributeSpec {
            name: name.into(),
            value: text.into(),
            name_span: self.spec.span,
            value_span: self.spec.span,
            escapes: Box::default(),
        };
        let mut enums = self.enums.clone();
        for (name, value) in names {
            // A registered name of that kind keeps its value.
            let _ = enums.insert(name, *value);
        }
        let result = ScriptResult::Ignored;
        compile_script(&attribute, result, self.scope, self.scopes, &enums, self.problems)
    }

    fn writes_any(&mut self) {
        self.scopes.writes_any = true;
    }

    fn children(&self) -> usize {
        self.spec.children.len()
    }

    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn problem(&mut self, port: &str, message: String) {
        let span = self.named(port).map_or(self.spec.span, |it| it.value_span);
        self.problems
            .push(Problem::new(ProblemKind::Refused, span, message));
    }

    fn warn(&mut self, port: &str, message: String) {
        let span = self.named(port).map_or(self.spec.span, |it| it.name_span);
        self.problems
            .push(Problem::new(ProblemKind::Unsupported, span, message));
    }

    fn doubt(&mut self, port: &str, message: String) {
        let span = self.named(port).map_or(self.spec.span, |it| it.value_span);
        self.problems
            .push(Problem::new(ProblemKind::OutOfRange, span, message));
    }
}
