//! Fixes: the changes of files that solve a problem.

use std::ops::Range;

use crate::bt::{Change, Confidence};

use super::document::{Attribute, Document, Element};
use super::entity::escape;
use super::read::BLANK;
use super::source::Span;

/// A replacement of a part of a file.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Edit {
    /// The part to replace; an empty span is a place of insertion.
    pub span: Span,
    /// The new text, as it stands in the file.
    pub text: String,
}

/// A change of one or more files that solves a problem.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fix {
    /// What the fix does, as an order: ``write `Sequence` ``.
    pub title: String,
    /// The replacements. They do not overlap.
    pub edits: Vec<Edit>,
    /// Whether the fix is the only answer.
    pub confidence: Confidence,
}

impl Fix {
    /// A fix without edits.
    fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            edits: Vec::new(),
            confidence: Confidence::Sure,
        }
    }

    /// A fix that writes `text`, as it is, at `span`.
    pub(super) fn write(title: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        Self::new(title).and(span, text)
    }

    /// A fix that writes a name or a value at `span`.
    pub(super) fn name(span: Span, name: &str) -> Self {
        Self::write(format!("write `{name}`"), span, escaped(name))
    }

    /// A fix that writes the nearest known name at `span`, instead of `typed`.
    pub(super) fn near_name(span: Span, typed: &str, near: &str) -> Self {
        Self {
            confidence: Confidence::of_near_name(typed, near),
            ..Self::name(span, near)
        }
    }

    /// A fix that adds an attribute to an element, as it is.
    pub(super) fn add_attribute(element: Element<'_>, attribute: &str) -> Self {
        Self::new(format!("add `{attribute}`")).and_attribute(element, attribute)
    }

    /// A fix that removes an attribute with the blanks before it.
    pub(super) fn remove_attribute(attribute: Attribute<'_>, document: &Document) -> Self {
        let title = format!("remove `{}`", attribute.name());
        Self::write(title, with_blanks_before(attribute.span(), document), "")
    }

    /// A fix that gives an element another tag name.
    pub(super) fn rename_element(element: Element<'_>, name: &str) -> Self {
        let mut fix = Self::write(format!("write `<{name}>`"), element.name_span(), name);
        if let Some(end) = end_tag_name(element) {
            fix = fix.and(end, name);
        }
        fix
    }

    /// Adds an edit.
    pub(super) fn and(mut self, span: Span, text: impl Into<String>) -> Self {
        self.edits.push(Edit {
            span,
            text: text.into(),
        });
        self
    }

    /// Adds an attribute behind the last one of an element.
    pub(super) fn and_attribute(self, element: Element<'_>, attribute: &str) -> Self {
        let last = element
            .attributes()
            .last()
            .map_or(element.name_span(), Attribute::span);
        let place = Span {
            start: last.end,
            ..last
        };
        self.and(place, format!(" {attribute}"))
    }

    /// Removes an element with the blanks before it.
    pub(super) fn and_remove(self, element: Element<'_>) -> Self {
        let span = with_blanks_before(element.span(), element.document());
        self.and(span, "")
    }

    /// Sets how sure it is that the fix is the answer.
    pub(super) fn with_confidence(mut self, confidence: Confidence) -> Self {
        self.confidence = confidence;
        self
    }

    /// The fix for a change that the engine proposes; `None` if the text at its place is not the expected one.
    pub(super) fn of_change(change: &Change, confidence: Confidence, document: &Document) -> Option<Self> {
        let mut fix = match change {
            Change::Write(place, text) if text.is_empty() => {
                let place = Span::from(*place);
                let title = format!("remove `{}`", document.source().slice(place));
                Self::write(title, place, "")
            }
            Change::Write(place, text) => Self::name(Span::from(*place), text),
            Change::Retype(place, id) => {
                let element = document.element_at(Span::from(*place).start)?;
                let written = element.attribute("ID").filter(|id| !id.value().is_empty());
                match written {
                    Some(attribute) => Self::name(attribute.value_span(), id),
                    None => Self::rename_element(element, id),
                }
            }
            Change::Key { place, from, to } => {
                let place = key_place(Span::from(*place), &escaped(from), document)?;
                Self::name(place, to)
            }
            Change::RemoveAttribute(name) => {
                let attribute = document.attribute_at(Span::from(*name).start)?;
                Self::remove_attribute(attribute, document)
            }
            Change::AddAttribute { node, name, value } => {
                let element = document.element_at(Span::from(*node).start)?;
                Self::add_attribute(element, &format!("{name}=\"{}\"", escaped(value)))
            }
        };
        fix.confidence = confidence;
        Some(fix)
    }
}

/// Escapes a text for a value in quotes of either kind.
pub(crate) fn escaped(text: &str) -> String {
    escape(text).replace('\'', "&apos;")
}

/// The place of a key in a span that holds nothing else but braces.
fn key_place(span: Span, key: &str, document: &Document) -> Option<Span> {
    let written = document.source().slice(span);
    let at = written.find(key)?;
    let (before, after) = (written.get(..at)?, written.get(at + key.len()..)?);
    let is_whole = matches!(before.trim_matches(BLANK), "" | "{" | "${" | "@")
        && matches!(after.trim_matches(BLANK), "" | "}");
    let start = span.start as usize + at;
    is_whole.then(|| document.source().span(start, start + key.len()))
}

/// The span of the name in the end tag of an element that has one.
pub(crate) fn end_tag_name(element: Element<'_>) -> Option<Span> {
    if element.is_self_closing() {
        return None;
    }
    let source = element.document().source();
    let whole = element.span();
    let text = source.slice(whole);
    let tag = text.rfind("</")?;
    let name = text.get(tag + 2..)?.strip_suffix('>')?.trim_end_matches(BLANK);
    (name == element.name()).then(|| {
        let start = whole.start as usize + tag + 2;
        source.span(start, start + name.len())
    })
}

/// A span with the blanks before it.
fn with_blanks_before(span: Span, document: &Document) -> Span {
    let before = document.source().text().get(..span.start as usize);
    let kept = before.map_or(span.start as usize, |before| before.trim_end_matches(BLANK).len());
    document.source().span(kept, span.end as usize)
}

/// A text with replacements of ranges; `None` if two overlap or one is not within the text. Equal ones count once.
pub(super) fn apply<'e>(
    text: &str,
    edits: impl IntoIterator<Item = (Range<usize>, &'e str)>,
) -> Option<String> {
    let mut edits: Vec<(Range<usize>, &str)> = edits.into_iter().collect();
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    edits.dedup();
    let mut out = String::with_capacity(text.len() + 64);
    let mut done = 0;
    for (range, with) in edits {
        out.push_str(text.get(done..range.start)?);
        out.push_str(with);
        done = range.end;
    }
    out.push_str(text.get(done..)?);
    Some(out)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::diagnostic::Diagnostics;
    use super::super::source::Sources;
    use super::*;

    fn applied(text: &str, fix: &Fix) -> String {
        let range = |span: Span| span.start as usize..span.end as usize;
        let edits = fix.edits.iter();
        apply(text, edits.map(|edit| (range(edit.span), edit.text.as_str()))).unwrap()
    }

    #[test]
    fn edits_apply_together_unless_they_overlap() {
        for (edits, expected) in [
            (vec![], Some("abcdef")),
            (vec![(4..5, "E"), (0..1, "")], Some("bcdEf")),
            (vec![(2..2, "-"), (2..3, "C")], Some("ab-Cdef")),
            (vec![(1..2, "B"), (1..2, "B")], Some("aBcdef")),
            (vec![(1..3, ""), (2..4, "")], None),
            (vec![(5..9, "")], None),
        ] {
            assert_eq!(apply("abcdef", edits.clone()).as_deref(), expected, "{edits:?}");
        }
    }

    #[test]
    fn an_element_is_renamed_at_both_ends() {
        let mut sources = Sources::new();
        let file = sources.add_text("a", Path::new(""), "<a><b c=''></b ><b/></a>".into());
        let document = Document::parse(&file, &mut Diagnostics::new());
        let root = document.root().unwrap();
        let names: Vec<_> = root
            .subtree()
            .map(|element| applied(file.text(), &Fix::rename_element(element, "X")))
            .collect();
        assert_eq!(
            names,
            [
                "<X><b c=''></b ><b/></X>",
                "<a><X c=''></X ><b/></a>",
                "<a><b c=''></b ><X/></a>"
            ]
        );
        let element = root.children().next().unwrap();
        let fix = Fix::remove_attribute(element.attribute("c").unwrap(), &document);
        assert_eq!(applied(file.text(), &fix), "<a><b></b ><b/></a>");
    }
}
