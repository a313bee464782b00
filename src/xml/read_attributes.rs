//! Reads the attributes of one start tag.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use quick_xml::events::BytesStart;
use quick_xml::events::attributes::AttrError;

use super::code::Code;
use super::document::AttributeData;
use super::fix::Fix;
use super::read::{BLANK, Builder, NONE, range_u32, shortened};
use super::source::{floor, offset_u32};
use super::{entity, limits};

impl Builder<'_> {
    /// Adds the attributes of a tag whose name is at `element`.
    pub(super) fn read_attributes(&mut self, tag: &BytesStart<'_>, element: &Range<usize>) {
        let text = self.source.text();
        // quick-xml returns slices of the text, so their addresses give their positions.
        let range = |part: &str| {
            let start = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
            start..start + part.len()
        };
        let mut names = Names::new(self.attributes.len());
        for attribute in tag.attributes().with_checks(false) {
            let (key, raw) = match &attribute {
                Ok(attribute) => (attribute.key.as_ref(), attribute.value.as_ref()),
                Err(error) => match self.malformed_attribute(error, element) {
                    true => continue,
                    false => return,
                },
            };
            let (name, value) = (range(key), range(raw));
            if key.starts_with('<') {
                self.unclosed_tag(&name, element);
                return;
            }
            self.check_name(&name, "an attribute");
            self.check_value(&name, &value);
            if let Some(first) = names.seen(key, &self.attributes, text) {
                let first = self.source.span(first.start as usize, first.end as usize);
                let message = format!("attribute `{}` is given twice", shortened(key));
                let mut problem = self
                    .problem(Code::DuplicateAttribute, name.clone(), message)
                    .also(first, "first given here");
                let repeated = format!("{}{raw}", &text[name.end..value.start]);
                if text[first.end as usize..].starts_with(&repeated) {
                    let before = text[..name.start].trim_end_matches(BLANK).len();
                    let whole = self.source.span(before, value.end + 1);
                    let fix = Fix::write("remove the repetition", whole, "");
                    problem = problem.help("remove the repetition").fix(fix);
                }
                self.diagnostics.push(problem);
                continue;
            }
            let (meaning, unknown) = entity::unescape(raw);
            for unknown in unknown {
                self.unknown_entity(value.start, &unknown);
            }
            let unescaped = match meaning {
                Cow::Borrowed(_) => NONE,
                Cow::Owned(meaning) => {
                    self.unescaped.push(meaning.into_boxed_str());
                    offset_u32(self.unescaped.len() - 1)
                }
            };
            self.attributes.push(AttributeData {
                name: range_u32(&name),
                value: range_u32(&value),
                unescaped,
            });
            if self.attributes.len() > limits::ATTRIBUTES {
                return;
            }
            if self.attributes.len() - names.first > limits::ELEMENT_ATTRIBUTES {
                let most = limits::ELEMENT_ATTRIBUTES;
                let message = format!("this element has more than {most} attributes");
                self.report(Code::TooManyElements, element.clone(), message);
                return;
            }
        }
    }

    fn check_value(&mut self, name: &Range<usize>, value: &Range<usize>) {
        let text = self.source.text();
        let before = name.start.checked_sub(1).map(|at| text.as_bytes()[at]);
        if before.is_some_and(|before| !BLANK.contains(&char::from(before))) {
            let message = "a space is missing before this attribute";
            let place = self.source.span(name.start, name.start);
            let problem = self
                .problem(Code::MalformedAttribute, name.clone(), message)
                .fix(Fix::write("add a space", place, " "));
            self.diagnostics.push(problem);
        }
        if let Some(at) = text[value.clone()].bytes().position(|byte| byte == b'<') {
            let at = value.start + at;
            let problem = self
                .problem(
                    Code::LessThanInValue,
                    at..at + 1,
                    "`<` in the value of an attribute",
                )
                .also(
                    self.source.span(name.start, name.end),
                    "the value of this attribute",
                )
                .help("write `&lt;`; or is the closing quote missing?");
            self.diagnostics.push(problem);
        }
    }

    pub(super) fn unclosed_tag(&mut self, inner: &Range<usize>, element: &Range<usize>) {
        let problem = self
            .problem(
                Code::MalformedMarkup,
                inner.clone(),
                "a tag starts inside another tag",
            )
            .also(
                self.source.span(element.start, element.end),
                "this tag is still open",
            )
            .help("is a `>` or `/>` missing before it?");
        self.diagnostics.push(problem);
    }

    /// Returns false if the rest of the tag cannot be read.
    fn malformed_attribute(&mut self, error: &AttrError, element: &Range<usize>) -> bool {
        let (at, message) = match *error {
            AttrError::ExpectedEq(at) => (at, "expected `=` after the name of an attribute"),
            AttrError::ExpectedValue(at) => (at, "expected a quoted value after `=`"),
            AttrError::UnquotedValue(at) => (at, "the value of an attribute must be in quotes"),
            AttrError::ExpectedQuote(at, _) => (at, "the closing quote of a value is missing"),
            AttrError::Duplicated(at, _) => (at, "an attribute is given twice"),
        };
        // Offsets are relative to the tag name.
        let at = floor(self.source.text(), element.start + at);
        let before = self.source.text()[element.end..at.max(element.end)].trim_end_matches(BLANK);
        let word = element.end + before.rfind(BLANK).map_or(0, |blank| blank + 1);
        if self.source.text()[word..].starts_with('<') {
            self.unclosed_tag(&(word..element.end + before.len()), element);
            return false;
        }
        let problem = self
            .problem(Code::MalformedAttribute, at..at, message)
            .also(self.source.span(element.start, element.end), "in this tag")
            .help("attributes are written `name=\"value\"`");
        self.diagnostics.push(problem);
        true
    }
}

/// Finds repeated attribute names of one element: by a linear search for few attributes, by a map for many. A tag with
/// a million attributes does not take quadratic time.
struct Names<'t> {
    first: usize,
    map: HashMap<&'t str, usize>,
}

impl<'t> Names<'t> {
    const FEW: usize = 16;

    fn new(first: usize) -> Self {
        Self {
            first,
            map: HashMap::new(),
        }
    }

    /// The earlier position of `key` among the attributes since `first`.
    fn seen(&mut self, key: &str, attributes: &[AttributeData], text: &'t str) -> Option<Range<u32>> {
        let name = |index: usize| {
            let range = &attributes[index].name;
            &text[range.start as usize..range.end as usize]
        };
        let given = self.first..attributes.len();
        let found = if given.len() <= Self::FEW {
            given.into_iter().find(|&index| name(index) == key)
        } else {
            let known = if self.map.is_empty() {
                given.start
            } else {
                given.end - 1
            };
            self.map
                .extend((known..given.end).map(|index| (name(index), index)));
            self.map.get(key).copied()
        };
        found.map(|index| attributes[index].name.clone())
    }
}
