//! Converts `<SubTree>` and `<SubTreePlus>`.

use super::Converter;
use crate::bt::is_port_name;
use crate::xml::code::Code;
use crate::xml::diagnostic::Diagnostic;
use crate::xml::document::{Attribute, Element};

/// Returns whether a flag is set.
fn is_on(attribute: &Attribute<'_>) -> bool {
    !matches!(attribute.value(), "false" | "0" | "False" | "FALSE")
}

impl<'c> Converter<'c> {
    /// Converts a plain subtree, which uses bare keys of its caller, or the whole blackboard of its caller.
    pub(super) fn subtree(&mut self, element: Element<'c>) {
        let shared = element.attribute("__shared_blackboard");
        if let Some(attribute) = shared {
            if is_on(&attribute) {
                self.replace(attribute.span(), "_autoremap=\"true\"");
                self.note(
                    attribute.name_span(),
                    "`_autoremap` shares every key with the caller but those that begin with `_`",
                );
            } else {
                self.remove(attribute);
            }
        }
        let is_shared = shared.as_ref().is_some_and(is_on);
        for attribute in element.attributes() {
            let name = attribute.name();
            if matches!(name, "ID" | "name" | "__shared_blackboard") {
                continue;
            }
            if is_shared {
                if is_port_name(name) {
                    self.note(
                        attribute.span(),
                        "removed: it has no effect beside a shared blackboard",
                    );
                    self.remove(attribute);
                }
                continue;
            }
            self.remapping(attribute);
        }
    }

    fn remapping(&mut self, attribute: Attribute<'c>) {
        let (name, key) = (attribute.name(), attribute.value().trim_matches(' '));
        if name.starts_with("_description") {
            return;
        }
        if !is_port_name(name) {
            let message =
                format!("version 4 does not hand over `{name}`: it takes the attribute for a remark");
            self.refuse(
                attribute.name_span(),
                message,
                "give the key of the subtree a name that begins with a letter",
            );
        } else if key.starts_with('{') || key.starts_with("${") {
            // The author intended a pointer; version 3 used a key with braces in its name.
            self.note(
                attribute.value_span(),
                "in version 3 the braces are part of the key's name, so nothing was handed over; now it is",
            );
            let raw = attribute.raw_value().trim_matches(' ');
            self.replace(attribute.value_span(), raw.trim_start_matches('$'));
        } else {
            if self.undecided {
                let message = format!(
                    "this is the text `{key}` as the file runs now, which does not say its version and is read as \
                     version 4; converted as version 3 it is the key `{key}`"
                );
                let note = Diagnostic::new(Code::ConversionNote, attribute.value_span(), message)
                    .help("if the tree works as it is, do not convert it: only write `BTCPP_format=\"4\"`");
                self.diagnostics.push(note);
            }
            let raw = attribute.raw_value().trim_matches(' ');
            self.replace(attribute.value_span(), format!("{{{raw}}}"));
        }
    }

    /// Converts a `<SubTreePlus>`. Except for two names, it has the form of version 4.
    pub(super) fn subtree_plus(&mut self, element: Element<'c>) {
        self.rename(element, "SubTree");
        for attribute in element.attributes() {
            if attribute.name() == "__autoremap" {
                self.replace(attribute.name_span(), "_autoremap");
                if is_on(&attribute) {
                    self.note(
                        attribute.name_span(),
                        "`__autoremap` shares every key with the caller; `_autoremap` all but those that begin with `_`",
                    );
                }
            } else if is_port_name(attribute.name()) && attribute.value().parse::<f64>().is_ok() {
                self.note(
                    attribute.value_span(),
                    "version 3 hands this over as a text and version 4 as a number",
                );
            }
        }
    }
}
