//! Checks the names, kinds and attributes of elements, as far as no port or key is involved.

use crate::bt::{Dialect, PortText, SubTreeForm, is_model_name, port_text, to_model_name};

use super::code::Code;
use super::diagnostic::Diagnostic;
use super::document::{Attribute, Element};
use super::fix::{Fix, escaped};
use super::forest::Builder;
use super::format::V4_ATTRIBUTES;
use super::source::Span;

impl<'d> Builder<'_, 'd> {
    /// Checks the ID of a tree. The same rules apply to node types.
    pub(super) fn check_tree_name(&mut self, name: &str, span: Span, dialect: Dialect) {
        if dialect == Dialect::V3 {
            return;
        }
        if self.registry.contains(name) && !self.registry.is_extra(name) {
            let message = format!("`{name}` is a node type; a tree needs another name");
            self.report(Code::NameClash, span, message);
        }
    }

    /// Reports a name that BehaviorTree.CPP takes up to version 4.8, and that newer versions refuse. Many robots use such
    /// names, as "Open Gripper".
    pub(super) fn check_name_is_plain(&mut self, name: &str, span: Span, owner: &str) {
        if is_model_name(name) {
            return;
        }
        let cause = match name.chars().find(|c| !is_model_name(c.encode_utf8(&mut [0; 4]))) {
            Some(' ') => "has a space".to_owned(),
            Some(c) if c.is_ascii_control() => "has a control character".to_owned(),
            Some(c) => format!("has a `{c}`"),
            None => "is reserved".to_owned(),
        };
        let message = format!("the name `{name}` of a {owner} {cause}; BehaviorTree.CPP 4.10 refuses it");
        let mut problem = Diagnostic::new(Code::BadTreeName, span, message);
        if let Some(plain) = to_model_name(name) {
            problem = problem.help(format!("write `{plain}`, here and where the {owner} is used"));
        }
        self.diagnostics.push(problem);
    }

    pub(super) fn check_subtree(&mut self, element: Element<'d>, dialect: Dialect, id: Option<(&str, Span)>) {
        if element.name() == "SubTreePlus" && dialect == Dialect::V4 {
            let problem = Diagnostic::new(
                Code::UnknownNode,
                element.name_span(),
                "version 4 has no `<SubTreePlus>`",
            )
            .help(
                "write `<SubTree>`, and `_autoremap` for `__autoremap`; `navtree convert` does it for a file",
            )
            .fix(Fix::rename_element(element, "SubTree"));
            self.diagnostics.push(problem);
        }
        if let Some((id, span)) = id {
            self.check_tree_name(id, span, dialect);
        }
        if let Some(child) = element.children().next() {
            let help = if child.name() == "remap" {
                "write each `<remap internal=\"a\" external=\"b\"/>` as an attribute `a=\"{b}\"` (version 3: `a=\"b\"`)"
            } else {
                "the nodes of the tree stand in its `<BehaviorTree>`"
            };
            let problem = Diagnostic::new(
                Code::SubTreeChildren,
                child.name_span(),
                "a `<SubTree>` has no children",
            )
            .also(element.name_span(), "this subtree")
            .help(help)
            .maybe_fix(remap_as_attribute(element, child, dialect));
            self.diagnostics.push(problem);
        }
    }

    pub(super) fn check_kind(&mut self, element: Element<'d>, id: &str, span: Span, dialect: Dialect) {
        let Some(registered) = self.registry.get(id, dialect) else {
            return;
        };
        let kind = registered.manifest().kind.name();
        if kind != element.name() {
            let message = format!("`{id}` is registered as {kind}, not as {}", element.name());
            let problem = Diagnostic::new(Code::KindMismatch, element.name_span(), message)
                .also(span, "")
                .help(format!("write `<{kind} ID=\"{id}\">` or `<{id}>`"))
                .fix(Fix::rename_element(element, kind));
            self.diagnostics.push(problem);
        }
    }

    /// Reports attributes that are silently metadata, although the author most likely intended an effect.
    pub(super) fn check_attribute(
        &mut self,
        attribute: Attribute<'d>,
        subtree: Option<SubTreeForm>,
        dialect: Dialect,
    ) {
        let name = attribute.name();
        let span = attribute.name_span();
        let mut other_version = |message: String, help: &str, fix: Option<Fix>| {
            let problem = Diagnostic::new(Code::OtherVersion, span, message)
                .help(help)
                .maybe_fix(fix);
            self.diagnostics.push(problem);
        };
        match dialect {
            Dialect::V4 if matches!(name, "__autoremap" | "__shared_blackboard") => other_version(
                format!("`{name}` has no effect in version 4"),
                "version 4 writes `_autoremap=\"true\"`",
                // A shared blackboard also shares the keys that the subtree writes for itself.
                (name == "__autoremap").then(|| Fix::name(span, "_autoremap")),
            ),
            Dialect::V3 if V4_ATTRIBUTES.contains(&name) && name != "_autoremap" => other_version(
                format!("`{name}` has no effect in version 3"),
                "scripts need `<root BTCPP_format=\"4\">`",
                None,
            ),
            Dialect::V3
                if subtree == Some(SubTreeForm::Plain) && attribute.value().starts_with(['{', '$']) =>
            {
                other_version(
                    "in version 3 a `<SubTree>` takes keys without braces; these become part of the key"
                        .to_owned(),
                    "remove the braces, or write `<SubTreePlus>`",
                    None,
                );
            }
            Dialect::V4 if name.starts_with('_') && !V4_ATTRIBUTES.contains(&name) => {
                let normalize = |name: &str| name.replace('_', "").to_ascii_lowercase();
                let normalized = normalize(name);
                if let Some(known) = V4_ATTRIBUTES.iter().find(|known| normalize(known) == normalized) {
                    let message = format!("`{name}` is only metadata and has no effect");
                    let problem = Diagnostic::new(Code::MisspeltDirective, span, message)
                        .help(format!("did you mean `{known}`?"))
                        .fix(Fix::name(span, known));
                    self.diagnostics.push(problem);
                } else if subtree.is_some()
                    && name != "_description"
                    && matches!(port_text(attribute.value(), dialect), PortText::Pointer(_))
                {
                    let message = format!("`{name}` is only metadata and hands no key to the subtree");
                    let problem = Diagnostic::new(Code::MisspeltDirective, span, message)
                        .help("give the key of the subtree a name that begins with a letter");
                    self.diagnostics.push(problem);
                }
            }
            Dialect::V3 | Dialect::V4 => {}
        }
    }
}

/// The fix that writes a `<remap>` of version 3's first form as an attribute of its subtree.
fn remap_as_attribute(subtree: Element<'_>, remap: Element<'_>, dialect: Dialect) -> Option<Fix> {
    let (internal, external) = (remap.attribute("internal")?, remap.attribute("external")?);
    if remap.name() != "remap" || subtree.attribute(internal.value()).is_some() {
        return None;
    }
    let key = match dialect {
        Dialect::V4 => format!("{{{}}}", external.value()),
        Dialect::V3 => external.value().to_owned(),
    };
    let attribute = format!("{}=\"{}\"", internal.value(), escaped(&key));
    Some(Fix::add_attribute(subtree, &attribute).and_remove(remap))
}
