//! Reads a start tag, and the tags that begin inside it because its end is missing.

use std::ops::Range;

use quick_xml::events::BytesStart;

use super::read::{BLANK, Builder};

impl Builder<'_> {
    /// Handles a start tag or `<A/>`. If the next tag begins before the end of this one, both are read.
    pub(super) fn start(&mut self, tag: &BytesStart<'_>, mut span: Range<usize>, empty: bool) {
        let text = self.source.text();
        let end = span.end.saturating_sub(if empty { 2 } else { 1 });
        let name_of = |content: &str| content.find(BLANK).unwrap_or(content.len());
        let mut is_first = true;
        while let Some(inner) = text.get(span.start + 1..end).and_then(next_tag) {
            is_first = false;
            let inner = span.start + 1 + inner;
            let outer = text[span.start + 1..inner].trim_end_matches(BLANK);
            let (outer, is_closed) = match outer.strip_suffix('/') {
                Some(outer) => (outer.trim_end_matches(BLANK), true),
                None => (outer, false),
            };
            let name = span.start + 1..span.start + 1 + name_of(outer);
            self.unclosed_tag(&(inner..inner + 1 + name_of(&text[inner + 1..end])), &name);
            let tag = BytesStart::from_content(outer, name_of(outer));
            self.element(&tag, span.start..inner, is_closed);
            if let Some(&open) = self.open.last()
                && !is_closed
                && self.unended.last().is_none_or(|known| known.0 < open.0)
            {
                self.unended.push(open);
            }
            span.start = inner;
        }
        if is_first {
            self.element(tag, span, empty);
        } else {
            let content = text.get(span.start + 1..end).unwrap_or_default();
            let tag = BytesStart::from_content(content, name_of(content));
            self.element(&tag, span, empty);
        }
    }
}

/// The place of the next tag within the content of a tag, if that has a name and well-formed attributes before.
fn next_tag(content: &str) -> Option<usize> {
    // The usual case.
    if !content.contains('<') {
        return None;
    }
    let bytes = content.as_bytes();
    let mut quote = None;
    for (at, byte) in bytes.iter().enumerate() {
        let beside = |at: Option<usize>| at.and_then(|at| bytes.get(at)).copied();
        match (quote, byte) {
            (None, b'<') => return (at > 0).then_some(at),
            (None, b'"' | b'\'') if beside(at.checked_sub(1)) == Some(b'=') => quote = Some(byte),
            // A quote is missing: nobody knows which part is a value.
            (None, b'"' | b'\'') => return None,
            (Some(open), _) if open == byte => {
                let is_end = |next: u8| next.is_ascii_whitespace() || matches!(next, b'/' | b'<');
                if !beside(at.checked_add(1)).is_none_or(is_end) {
                    return None;
                }
                quote = None;
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_tag_begins_behind_well_formed_attributes() {
        for (content, expected) in [
            ("Wait", None),
            ("Wait a=\"1 < 2\"", None),
            ("Wait/ <Spin", Some(6)),
            ("Wait a=\"1\" <Spin b='2'", Some(11)),
            ("Wait a=\"1\"<Spin", Some(10)),
            ("<Spin", None),
            // A quote is missing.
            ("Wait a=\"1 b=\"2\" <Spin", None),
            ("Wait a=1\" <Spin", None),
        ] {
            assert_eq!(next_tag(content), expected, "{content}");
        }
    }
}
