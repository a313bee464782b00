//! Key spaces during compilation: resolves every key to a slot, through all remappings.

use std::collections::HashMap;
use std::sync::Arc;

use super::blackboard::{ScopeId, SlotId};
use super::definition::{ScopeDef, SlotAccess, SlotDef, Span};
use super::dialect::Dialect;
use super::literal_checks::{LiteralChecks, Reader};
use super::numeral;
use super::port_decl::Direction;
use super::problem::{Problem, ProblemKind};
use super::registry::Provided;
use super::spec::{ModelPort, NodeSpec, SubTreeForm};
use super::types::{Family, PortValue, TypeInfo};
use super::value::Value;

/// A slot with its uses.
pub(crate) struct SlotUse {
    pub(crate) key: Arc<str>,
    pub(crate) info: Option<&'static TypeInfo>,
    pub(crate) initial: Option<Value>,
    /// Place that determines its type.
    pub(crate) typed_at: Span,
    /// First place that reads it.
    pub(crate) read_at: Option<Span>,
    pub(crate) written: bool,
    /// First place that writes it.
    pub(crate) written_at: Option<Span>,
    /// First place that assigns to it with `=`, `+=` and the like, which do not create an entry.
    pub(crate) assigned_at: Option<Span>,
    /// Whether a node or script writes it in addition to its initial value.
    pub(crate) rewritten: bool,
    /// The scope that owns it.
    pub(crate) scope: ScopeId,
    /// Whether a file addresses it with `@`.
    pub(crate) global: bool,
    /// The type that the calling program writes, if it writes this key.
    pub(crate) provided: Option<&'static TypeInfo>,
}

/// The meaning of a port's text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PortText<'t> {
    Pointer(&'t str),
    /// `=` or `{=}`: the entry with the name of the port.
    SameName,
    Literal(&'t str),
}

/// Distinguishes pointers from literals. Spaces around the braces are allowed. Version 3 also accepts `${key}`.
pub(crate) fn port_text(text: &str, dialect: Dialect) -> PortText<'_> {
    let trimmed = text.trim_matches(' ');
    if trimmed == "=" || (trimmed == "{=}" && dialect == Dialect::V4) {
        return PortText::SameName;
    }
    let braced = if dialect == Dialect::V3 {
        trimmed.strip_prefix('$').unwrap_or(trimmed)
    } else {
        trimmed
    };
    match braced.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        Some(key) if !key.is_empty() => PortText::Pointer(key),
        _ => PortText::Literal(text),
    }
}

/// Whether an attribute of a subtree passes a key or a value to it. All other attributes are metadata.
fn is_handed_over(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// Whether a port of one type may use an entry that was declared with another type.
pub(crate) fn are_compatible(declared: &TypeInfo, port: &TypeInfo) -> bool {
    declared == port
        || !port.is_strong()
        || !declared.is_strong()
        || declared.family == Family::Text
        // BehaviorTree.CPP refuses two different number types. Here they convert without loss, or the access fails.
        || (declared.is_numeric() && port.is_numeric())
}

pub(crate) struct Scopes {
    scopes: Vec<ScopeDef>,
    pub(crate) slots: Vec<SlotUse>,
    /// The node that is being compiled.
    pub(crate) node: u32,
    /// The slots that each node uses, sorted by node.
    pub(crate) accesses: Vec<SlotAccess>,
    /// Whether a node writes keys that are known only at run time.
    pub(crate) writes_any: bool,
    /// Checks that need the whole tree.
    pub(crate) literal_checks: LiteralChecks,
    dialect: Dialect,
    provided: Arc<Provided>,
}

impl Scopes {
    pub(crate) fn new(dialect: Dialect, provided: Arc<Provided>) -> Self {
        Self {
            provided,
            scopes: Vec::new(),
            slots: Vec::new(),
            node: 0,
            accesses: Vec::new(),
            writes_any: false,
            literal_checks: LiteralChecks::default(),
            dialect,
        }
    }

    pub(crate) fn open(&mut self, tree_id: &str, path: &str, parent: Option<ScopeId>) -> ScopeId {
        let id = ScopeId(self.scopes.len() as u32);
        self.scopes.push(ScopeDef {
            tree_id: tree_id.into(),
            path: path.into(),
            parent,
            keys: HashMap::new(),
            own: Vec::new(),
            remaps: HashMap::new(),
            autoremap: false,
            takes_pointers: true,
        });
        id
    }

    /// Records that the current node uses a slot.
    pub(crate) fn access(&mut self, slot: SlotId, reads: bool, writes: bool) {
        self.accesses.push(SlotAccess {
            node: self.node,
            slot,
            reads,
            writes,
        });
    }

    pub(crate) fn tree_id(&self, scope: ScopeId) -> &str {
        &self.scopes[scope.0 as usize].tree_id
    }

    pub(crate) fn takes_pointers(&self, scope: ScopeId) -> bool {
        self.scopes[scope.0 as usize].takes_pointers
    }

    pub(crate) fn path(&self, scope: ScopeId) -> Arc<str> {
        Arc::clone(&self.scopes[scope.0 as usize].path)
    }

    /// Opens the scope of a subtree instance with the remappings and literals of its attributes and of its model.
    pub(crate) fn open_subtree(
        &mut self,
        spec: &NodeSpec<'_>,
        dialect: Dialect,
        parent: ScopeId,
        path: &str,
        models: &[ModelPort],
        problems: &mut Vec<Problem>,
    ) -> ScopeId {
        let attribute = |name: &str| spec.attributes.iter().find(|attribute| attribute.name == name);
        let mut flag = |name: &str| {
            let Some(attribute) = attribute(name) else {
                return false;
            };
            numeral::parse_bool(&attribute.value).unwrap_or_else(|message| {
                problems.push(Problem::new(
                    ProblemKind::BadLiteral,
                    attribute.value_span,
                    format!("{name}: {message}"),
                ));
                false
            })
        };
        let plus = spec.subtree == Some(SubTreeForm::Plus);
        let autoremap = flag("_autoremap") || (plus && flag("__autoremap"));
        if dialect == Dialect::V3 && flag("__shared_blackboard") {
            return parent;
        }
        let scope = self.open(&spec.id, path, Some(parent));
        let takes_pointers = plus || dialect == Dialect::V4;
        let def = &mut self.scopes[scope.0 as usize];
        (def.autoremap, def.takes_pointers) = (autoremap, takes_pointers);
        for attribute in &spec.attributes {
            if !is_handed_over(&attribute.name) {
                continue;
            }
            let key: Arc<str> = Arc::from(&*attribute.name);
            if !takes_pointers {
                // The value is the key of the parent without braces. Braces would be part of the name.
                self.remap(scope, key, attribute.value.trim_matches(' '));
                continue;
            }
            match port_text(&attribute.value, dialect) {
                PortText::Pointer(outer) => self.remap(scope, key, outer),
                // A bare `=` is a literal here, unlike in a port.
                PortText::SameName if attribute.value != "=" => {
                    let outer = Arc::clone(&key);
                    self.remap(scope, key, &outer);
                }
                PortText::SameName => self.literal(scope, &key, "=", attribute.value_span, true),
                PortText::Literal(text) => self.literal(scope, &key, text, attribute.value_span, plus),
            }
        }
        // Version 3 ignores models. `_autoremap` passes every port, including those with a default.
        if autoremap || dialect == Dialect::V3 {
            return scope;
        }
        self.fill_in_defaults(scope, spec, dialect, models, problems);
        scope
    }

    /// Handles the ports of a model that the subtree instance does not set.
    fn fill_in_defaults(
        &mut self,
        scope: ScopeId,
        spec: &NodeSpec<'_>,
        dialect: Dialect,
        models: &[ModelPort],
        problems: &mut Vec<Problem>,
    ) {
        let keep_text = spec.subtree == Some(SubTreeForm::Plus);
        for port in models {
            if spec
                .attributes
                .iter()
                .any(|given| given.name == port.name && is_handed_over(&given.name))
            {
                continue;
            }
            match &port.default {
                Some(text) => match port_text(text, dialect) {
                    PortText::Pointer(outer) => self.remap(scope, port.name.as_str().into(), outer),
                    PortText::SameName => self.remap(scope, port.name.as_str().into(), &port.name),
                    PortText::Literal(text) => self.literal(scope, &port.name, text, port.span, keep_text),
                },
                None => problems.push(
                    Problem::new(
                        ProblemKind::MissingModelPort,
                        spec.span,
                        format!(
                            "the subtree `{}` needs a value for its port `{}`",
                            spec.id, port.name
                        ),
                    )
                    .related(port.span, "declared here, without a default"),
                ),
            }
        }
    }

    fn remap(&mut self, scope: ScopeId, inner: Arc<str>, outer: &str) {
        self.scopes[scope.0 as usize].remaps.insert(inner, outer.into());
    }

    /// Handles a literal argument of a subtree. A text that is entirely a number becomes a number; version 3 keeps the
    /// text. A text leaves the type of the key open, like any text that is written first.
    fn literal(&mut self, scope: ScopeId, key: &str, text: &str, span: Span, keep_text: bool) {
        let (value, info) = match numeral::whole_number(text).filter(|_| !keep_text) {
            Some(Value::Int(whole)) if i32::try_from(whole).is_ok() => (Value::Int(whole), Some(i32::TYPE)),
            Some(Value::Int(whole)) => (Value::Int(whole), Some(i64::TYPE)),
            Some(real) => (real, Some(f64::TYPE)),
            None => (Value::text(text), None),
        };
        let slot = self.make(scope, key);
        let place = &mut self.slots[slot.0 as usize];
        place.info = info;
        place.initial = Some(value);
        place.typed_at = span;
        place.written = true;
    }

    fn make(&mut self, scope: ScopeId, key: &str) -> SlotId {
        let slot = SlotId(self.slots.len() as u32);
        let provided = match scope {
            ScopeId::ROOT => self.provided.get(key).copied().flatten(),
            _ => None,
        };
        let key: Arc<str> = key.into();
        self.slots.push(SlotUse {
            key: Arc::clone(&key),
            info: None,
            initial: None,
            typed_at: Span::default(),
            read_at: None,
            written: false,
            written_at: None,
            assigned_at: None,
            rewritten: false,
            scope,
            global: false,
            provided,
        });
        let scope = &mut self.scopes[scope.0 as usize];
        scope.own.push((Arc::clone(&key), slot));
        scope.keys.insert(key, slot);
        slot
    }

    /// Whether a key is used in a scope, or the calling program writes it.
    pub(crate) fn knows(&self, scope: ScopeId, key: &str) -> bool {
        self.scopes[scope.0 as usize].keys.contains_key(key)
            || (scope == ScopeId::ROOT && self.provided.contains_key(key))
    }

    /// The slot of a key, through remappings. Creates the slot if it does not exist.
    pub(crate) fn resolve(&mut self, scope: ScopeId, key: &str) -> SlotId {
        if let Some(global) = key.strip_prefix('@') {
            let slot = self.resolve(ScopeId::ROOT, global);
            self.slots[slot.0 as usize].global = true;
            return slot;
        }
        let def = &self.scopes[scope.0 as usize];
        if let Some(slot) = def.keys.get(key) {
            return *slot;
        }
        let Some(parent) = def.parent else {
            return self.make(scope, key);
        };
        // Keys are shared: a long key that passes through hundreds of subtrees is stored once.
        let (slot, key) = match def.remaps.get_key_value(key) {
            Some((inner, outer)) => {
                let (inner, outer) = (Arc::clone(inner), Arc::clone(outer));
                (self.resolve(parent, &outer), inner)
            }
            None if def.autoremap && (self.dialect == Dialect::V3 || !key.starts_with('_')) => {
                let slot = self.resolve(parent, key);
                let known = self.scopes[parent.0 as usize].keys.get_key_value(key);
                (slot, known.map_or_else(|| key.into(), |(key, _)| Arc::clone(key)))
            }
            None => return self.make(scope, key),
        };
        self.scopes[scope.0 as usize].keys.insert(key, slot);
        slot
    }

    /// Declares that a port of a type uses a slot, and compares the types. A port that points to the slot by `default`
    /// neither needs nor creates the entry, because the author of the file did not write it.
    pub(crate) fn declare(
        &mut self,
        slot: SlotId,
        info: &'static TypeInfo,
        direction: Direction,
        by_default: bool,
        span: Span,
        problems: &mut Vec<Problem>,
    ) {
        let place = &mut self.slots[slot.0 as usize];
        if let Some(provided) = place.provided
            && !are_compatible(provided, info)
        {
            let message = format!(
                "the key `{}` is of type {} and this port of type {}",
                place.key, provided.name, info.name
            );
            problems
                .push(Problem::new(ProblemKind::TypeClash, span, message).help(
                    "navtree or the calling program writes this key; use another key for other values",
                ));
            return;
        }
        match direction {
            Direction::Input if by_default => {}
            Direction::Input => place.read_at = place.read_at.or(Some(span)),
            Direction::Output | Direction::InOut => {
                place.written = true;
                place.rewritten = true;
                if !by_default {
                    place.written_at = place.written_at.or(Some(span));
                }
            }
        }
        let is_literal = matches!(&place.initial, Some(value) if !value.is_empty());
        if is_literal && direction == Direction::Input && info.is_strong() && info.family != Family::Text {
            self.literal_checks.read(Reader { slot, info, span });
        }
        if place.initial.is_none() {
            if !by_default {
                place.initial = Some(Value::Empty);
            }
            if place.info.is_none() {
                place.info = info.is_strong().then_some(info);
                place.typed_at = span;
                return;
            }
        }
        let Some(declared) = place.info else { return };
        if !are_compatible(declared, info) {
            let message = format!(
                "the key `{}` is of type {} and this port of type {}",
                place.key, declared.name, info.name
            );
            problems.push(Problem::new(ProblemKind::TypeClash, span, message).related(
                place.typed_at,
                format!("the key got the type {} here", declared.name),
            ));
        }
    }

    /// The slots of all keys that are addressed with `@`, with those keys.
    pub(crate) fn globals(&self) -> Box<[(Arc<str>, SlotId)]> {
        let slots = (0..).map(SlotId).zip(&self.slots);
        slots
            .filter(|(_, slot)| slot.global)
            .map(|(id, slot)| (Arc::clone(&slot.key), id))
            .collect()
    }

    pub(crate) fn into_parts(self) -> (Box<[ScopeDef]>, Box<[SlotDef]>) {
        let slots = self
            .slots
            .into_iter()
            .map(|slot| SlotDef {
                info: slot.info,
                initial: slot.initial,
            })
            .collect();
        (self.scopes.into_boxed_slice(), slots)
    }
}
