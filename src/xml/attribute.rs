//! Checks an attribute of a node that BehaviorTree.CPP takes for metadata.

use crate::bt::{Dialect, PortText, SubTreeForm, port_text};

use super::code::Code;
use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::Attribute;
use super::format::V4_ATTRIBUTES;

/// Reports attributes that are silently metadata, although the author most likely intended an effect.
pub(super) fn check_attribute(
    attribute: Attribute<'_>,
    subtree: Option<SubTreeForm>,
    dialect: Dialect,
    diagnostics: &mut Diagnostics,
) {
    let name = attribute.name();
    let span = attribute.name_span();
    let mut other_version = |message: String, help: &str| {
        diagnostics.push(Diagnostic::new(Code::OtherVersion, span, message).help(help));
    };
    match dialect {
        Dialect::V4 if matches!(name, "__autoremap" | "__shared_blackboard") => other_version(
            format!("`{name}` has no effect in version 4"),
            "version 4 writes `_autoremap=\"true\"`",
        ),
        Dialect::V3 if V4_ATTRIBUTES.contains(&name) && name != "_autoremap" => other_version(
            format!("`{name}` has no effect in version 3"),
            "scripts need `<root BTCPP_format=\"4\">`",
        ),
        Dialect::V3 if subtree == Some(SubTreeForm::Plain) && attribute.value().starts_with(['{', '$']) => {
            other_version(
                "in version 3 a `<SubTree>` takes keys without braces; these become part of the key"
                    .to_owned(),
                "remove the braces, or write `<SubTreePlus>`",
            );
        }
        Dialect::V4 if name.starts_with('_') && !V4_ATTRIBUTES.contains(&name) => {
            let normalize = |name: &str| name.replace('_', "").to_ascii_lowercase();
            let normalized = normalize(name);
            if let Some(known) = V4_ATTRIBUTES.iter().find(|known| normalize(known) == normalized) {
                let message = format!("`{name}` is only metadata and has no effect");
                let problem = Diagnostic::new(Code::MisspeltDirective, span, message)
                    .help(format!("did you mean `{known}`?"));
                diagnostics.push(problem);
            } else if subtree.is_some()
                && name != "_description"
                && matches!(port_text(attribute.value(), dialect), PortText::Pointer(_))
            {
                let message = format!("`{name}` is only metadata and hands no key to the subtree");
                let problem = Diagnostic::new(Code::MisspeltDirective, span, message)
                    .help("give the key of the subtree a name that begins with a letter");
                diagnostics.push(problem);
            }
        }
        Dialect::V3 | Dialect::V4 => {}
    }
}
