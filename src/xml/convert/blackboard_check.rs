//! Converts `BlackboardCheckInt`, `…Double`, `…String` and `…Bool` to a reactive node with a script before its child.

use super::Converter;
use crate::bt::{Dialect, PortText, port_text};
use crate::xml::document::{Attribute, Element};
use crate::xml::escape;

impl<'c> Converter<'c> {
    /// The node compares at each tick and halts its child on a mismatch. A reactive node with a condition does the
    /// same.
    pub(super) fn blackboard_check(&mut self, element: Element<'c>, id: &str) {
        let (wrapper, operator) = match element.value("return_on_mismatch") {
            None | Some("FAILURE") => ("ReactiveSequence", "=="),
            Some("SUCCESS") => ("ReactiveFallback", "!="),
            Some(other) => {
                let message =
                    format!("version 4 has nothing that returns {other} while a comparison does not hold");
                return self.refuse(
                    element.name_span(),
                    message,
                    "build it from the nodes of version 4 by hand",
                );
            }
        };
        let (Some(a), Some(b)) = (element.attribute("value_A"), element.attribute("value_B")) else {
            let message = format!("`{id}` needs `value_A` and `value_B`");
            return self.refuse(element.name_span(), message, "write what is to be compared");
        };
        let kind = id.trim_start_matches("BlackboardCheck");
        let (Some(left), Some(right)) = (self.operand(kind, a), self.operand(kind, b)) else {
            return;
        };
        let code = escape(&format!("{left} {operator} {right}"));
        self.rename(element, wrapper);
        for attribute in element.attributes() {
            if matches!(
                attribute.name(),
                "ID" | "value_A" | "value_B" | "return_on_mismatch"
            ) {
                self.remove(attribute);
            }
        }
        let inside = element.start_tag_span().end as usize;
        self.edits
            .replace(inside..inside, format!("<ScriptCondition code=\"{code}\"/>"));
        self.note(
            element.name_span(),
            "a key that nothing has written is an error in a script; version 3 took it for a mismatch",
        );
        let is_key =
            |value: &Attribute<'_>| !matches!(port_text(value.value(), Dialect::V3), PortText::Literal(_));
        let keys = [a, b].iter().filter(|value| is_key(value)).count();
        if kind == "String" && keys > 0 {
            self.note(
                element.name_span(),
                "version 3 compares texts; a script compares numbers where one of the two is a number",
            );
        }
        if kind != "String" && keys == 2 {
            self.note(
                element.name_span(),
                "a script compares two keys that hold texts as texts, so that `1` and `01` differ; version 3 compares what \
                 they say",
            );
        }
        if kind == "Bool" && keys > 0 {
            self.note(
                element.name_span(),
                "of the texts that a key may hold a script takes `true`, `false` and numbers for truth values; version 3 \
                 also `True`, `TRUE`, `False` and `FALSE`",
            );
        }
    }

    /// The operand of a comparison, in script syntax.
    fn operand(&mut self, kind: &str, attribute: Attribute<'c>) -> Option<String> {
        let literal = match port_text(attribute.value(), Dialect::V3) {
            PortText::Pointer(key) => return self.key(attribute, key),
            PortText::SameName => return self.key(attribute, attribute.name()),
            PortText::Literal(literal) => literal,
        };
        let mut refuse = |message: String| {
            self.refuse(
                attribute.value_span(),
                message,
                "put the value into a key, and write `{key}`",
            );
            None
        };
        match kind {
            "String" if literal.contains('\'') => {
                refuse("a script has no text with an apostrophe".to_owned())
            }
            "String" => Some(format!("'{literal}'")),
            "Bool" => match literal {
                "1" | "true" | "True" | "TRUE" => Some("true".to_owned()),
                "0" | "false" | "False" | "FALSE" => Some("false".to_owned()),
                _ => refuse(format!("`{literal}` is neither true nor false")),
            },
            "Int" => match literal.parse::<i32>() {
                Ok(number) => Some(number.to_string()),
                Err(_) => refuse(format!("`{literal}` is no whole number")),
            },
            _ => match literal.parse::<f64>() {
                Ok(number) if number.is_finite() => Some(format!("{number:?}")),
                _ => refuse(format!("`{literal}` is no number")),
            },
        }
    }

    fn key(&mut self, attribute: Attribute<'c>, key: &str) -> Option<String> {
        let mut letters = key.chars();
        let is_name = letters
            .next()
            .is_some_and(|first| first.is_ascii_alphabetic() || matches!(first, '_' | '@'))
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            && !matches!(key, "true" | "false");
        if !is_name {
            let message = format!("a script cannot name the key `{key}`");
            self.refuse(
                attribute.value_span(),
                message,
                "use letters, digits and `_` in the key",
            );
            return None;
        }
        Some(key.to_owned())
    }
}
