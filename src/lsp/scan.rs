//! Finds the tags of a text that may be half-written.
//!
//! The reader of room `xml` stops at a tag without end, because it cannot know what is missing. An editor needs
//! everything behind it. Here, a tag without `>` ends where the next one starts, and a value without quote at the end
//! of a line before a tag.

use std::borrow::Cow;
use std::ops::Range;

/// The kind of a tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TagKind {
    /// `<A>`.
    Start,
    /// `<A/>`.
    Empty,
    /// `</A>`.
    End,
}

/// An attribute of a tag.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TagAttribute {
    pub(super) name: Range<usize>,
    /// The text between the quotes; `None` without a quote.
    pub(super) value: Option<Range<usize>>,
}

/// A tag.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tag {
    pub(super) kind: TagKind,
    /// From `<` to the place after `>`, or to the end of what is written.
    pub(super) span: Range<usize>,
    pub(super) name: Range<usize>,
    pub(super) attributes: Vec<TagAttribute>,
    /// Whether it ends with `>`.
    pub(super) is_complete: bool,
}

/// All tags of a text, in order.
pub(super) fn tags(text: &str) -> Vec<Tag> {
    let mut tags = Vec::new();
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('<')) {
        let start = at + found;
        let rest = &text[start..];
        let ends = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")];
        if let Some((open, close)) = ends.iter().find(|(open, _)| rest.starts_with(open)) {
            let end = rest[open.len()..].find(close);
            at = end.map_or(text.len(), |end| start + open.len() + end + close.len());
            continue;
        }
        let tag = Scanner { text, at: start }.tag();
        at = tag.span.end.max(start + 1);
        tags.push(tag);
    }
    tags
}

/// The text with blanks in place of half-written tags, so that the rest can be read. All offsets stay.
pub(super) fn without_unfinished<'t>(text: &'t str, tags: &[Tag]) -> Cow<'t, str> {
    let mut unfinished = tags.iter().filter(|tag| !tag.is_complete).peekable();
    if unfinished.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for tag in unfinished {
        out.push_str(text.get(done..tag.span.start).unwrap_or_default());
        let written = text.get(tag.span.clone()).unwrap_or_default();
        out.extend(written.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        done = tag.span.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl Scanner<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while self.byte().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// The text up to a blank or a mark of XML.
    fn word(&mut self) -> Range<usize> {
        let start = self.at;
        let ends =
            |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'<' | b'>' | b'/' | b'=' | b'"' | b'\'');
        while self.byte().is_some_and(|byte| !ends(byte)) {
            self.at += 1;
        }
        start..self.at
    }

    fn tag(mut self) -> Tag {
        let start = self.at;
        self.at += 1;
        let is_end = self.byte() == Some(b'/');
        self.at += usize::from(is_end);
        let name = self.word();
        let mut tag = Tag {
            kind: if is_end { TagKind::End } else { TagKind::Start },
            span: start..self.at,
            name,
            attributes: Vec::new(),
            is_complete: false,
        };
        // `<` and a blank is no tag yet.
        if !tag.name.is_empty() {
            self.inside(&mut tag);
        }
        tag
    }

    /// Reads from the name of a tag to its end.
    fn inside(&mut self, tag: &mut Tag) {
        loop {
            self.skip_blanks();
            match self.byte() {
                None | Some(b'<') => return,
                Some(b'>') => {
                    self.at += 1;
                    tag.is_complete = true;
                    tag.span.end = self.at;
                    return;
                }
                Some(b'/') => {
                    self.at += 1;
                    tag.span.end = self.at;
                    if self.byte() == Some(b'>') && tag.kind == TagKind::Start {
                        tag.kind = TagKind::Empty;
                    }
                }
                Some(b'"' | b'\'' | b'=') => {
                    self.at += 1;
                    tag.span.end = self.at;
                }
                Some(_) => {
                    let (attribute, is_closed) = self.attribute();
                    tag.attributes.push(attribute);
                    tag.span.end = self.at;
                    if !is_closed {
                        return;
                    }
                }
            }
        }
    }

    /// An attribute, and whether its value has its closing quote.
    fn attribute(&mut self) -> (TagAttribute, bool) {
        let name = self.word();
        let after_name = self.at;
        self.skip_blanks();
        if self.byte() != Some(b'=') {
            self.at = after_name;
            return (TagAttribute { name, value: None }, true);
        }
        self.at += 1;
        let after_equals = self.at;
        self.skip_blanks();
        let Some(quote) = self.byte().filter(|byte| matches!(byte, b'"' | b'\'')) else {
            self.at = after_equals;
            return (TagAttribute { name, value: None }, true);
        };
        self.at += 1;
        let start = self.at;
        let rest = self.text.get(start..).unwrap_or_default();
        let end = rest.find(char::from(quote));
        let within = &rest[..end.unwrap_or(rest.len())];
        let (length, is_closed) = match (line_before_tag(within), end) {
            (Some(length), _) => (length, false),
            (None, Some(end)) => (end, true),
            // Nothing closes it: the value is what stands in its line.
            (None, None) => (within.find('\n').unwrap_or(within.len()), false),
        };
        self.at = start + length + usize::from(is_closed);
        let value = Some(start..start + length);
        (TagAttribute { name, value }, is_closed)
    }
}

/// The length of a value up to the end of the line before a tag, if a tag starts a line in it.
fn line_before_tag(value: &str) -> Option<usize> {
    let starts_tag = |rest: &str| {
        rest.trim_start().strip_prefix('<').is_some_and(|rest| {
            rest.starts_with(|next: char| next.is_ascii_alphabetic() || matches!(next, '/' | '!'))
        })
    };
    value
        .match_indices('\n')
        .map(|(at, _)| at)
        .find(|at| starts_tag(&value[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let of = |tag: &Tag| {
            let attributes = tag.attributes.iter().map(|attribute| {
                let value = attribute.value.clone().map(|value| &text[value]);
                format!(" {}={value:?}", &text[attribute.name.clone()])
            });
            let attributes: String = attributes.collect();
            format!(
                "{:?} {}{attributes} {}",
                tag.kind,
                &text[tag.name.clone()],
                tag.is_complete
            )
        };
        tags(text).iter().map(of).collect()
    }

    #[test]
    fn whole_tags_are_found() {
        let text = "<?xml version='1.0'?><!-- <x> --><a b = 'c>\"' d=\"\n\"><![CDATA[<y>]]></a ><e/>";
        assert_eq!(
            shown(text),
            [
                "Start a b=Some(\"c>\\\"\") d=Some(\"\\n\") true",
                "End a true",
                "Empty e true"
            ]
        );
        assert_eq!(without_unfinished(text, &tags(text)), text);
    }

    #[test]
    fn half_written_tags_end_before_the_next_one() {
        for (text, expected, rest) in [
            (
                "<a><b<c/>",
                &["Start a true", "Start b false", "Empty c true"][..],
                "<a>  <c/>",
            ),
            (
                "<a x='1 y\n <b/>",
                &["Start a x=Some(\"1 y\") false", "Empty b true"],
                "         \n <b/>",
            ),
            (
                "<a x=<b/>",
                &["Start a x=None false", "Empty b true"],
                "     <b/>",
            ),
            ("<a x='ä", &["Start a x=Some(\"ä\") false"], "        "),
            (
                "<a>< </a>",
                &["Start a true", "Start  false", "End a true"],
                "<a>  </a>",
            ),
        ] {
            assert_eq!(shown(text), expected, "{text}");
            assert_eq!(without_unfinished(text, &tags(text)), rest);
        }
    }
}
