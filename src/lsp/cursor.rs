//! What stands at the cursor.

use std::ops::Range;

use super::scan::{Tag, TagKind};

/// The part of a tag at the cursor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// The name of a start tag, or `<` alone.
    Name,
    /// The name of an end tag.
    EndName,
    /// The name of an attribute, or a place for one; the range is what is written of it.
    AttributeName(Range<usize>),
    /// The value of the attribute with this number; the range is between the quotes.
    Value(usize, Range<usize>),
}

/// The tag at the cursor, and the part of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Cursor<'t> {
    pub(super) tag: &'t Tag,
    pub(super) part: Part,
}

/// Finds the tag at an offset; `None` between tags.
pub(super) fn at(tags: &[Tag], offset: usize) -> Option<Cursor<'_>> {
    let number = tags
        .partition_point(|tag| tag.span.start < offset)
        .checked_sub(1)?;
    let tag = tags.get(number)?;
    let within = |range: &Range<usize>| range.start <= offset && offset <= range.end;
    if tag.is_complete && offset >= tag.span.end {
        return None;
    }
    if within(&tag.name) || tag.name.is_empty() && offset == tag.name.start {
        let part = if tag.kind == TagKind::End {
            Part::EndName
        } else {
            Part::Name
        };
        return Some(Cursor { tag, part });
    }
    if tag.kind == TagKind::End || tag.name.is_empty() || offset < tag.name.start {
        return None;
    }
    for (number, attribute) in tag.attributes.iter().enumerate() {
        if within(&attribute.name) {
            let part = Part::AttributeName(attribute.name.clone());
            return Some(Cursor { tag, part });
        }
        if let Some(value) = attribute.value.as_ref().filter(|value| within(value)) {
            let part = Part::Value(number, value.clone());
            return Some(Cursor { tag, part });
        }
    }
    // Behind a value without quote, nothing is known.
    let part = Part::AttributeName(offset..offset);
    Some(Cursor { tag, part })
}

/// The names of the elements that are open before an offset, outermost first.
pub(super) fn open_elements<'t>(text: &'t str, tags: &[Tag], offset: usize) -> Vec<&'t str> {
    let mut open: Vec<&str> = Vec::new();
    for tag in tags
        .iter()
        .take_while(|tag| tag.span.end <= offset && tag.is_complete || tag.span.end < offset)
    {
        let name = text.get(tag.name.clone()).unwrap_or_default();
        match tag.kind {
            TagKind::Empty => {}
            TagKind::Start if !tag.is_complete => {}
            TagKind::Start => open.push(name),
            TagKind::End => {
                if let Some(place) = open.iter().rposition(|open| *open == name) {
                    open.truncate(place);
                }
            }
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::super::scan::tags;
    use super::*;

    #[test]
    fn every_part_of_a_tag_is_told() {
        let text = "<a> <b c='d' ></b><e f='g\n<h";
        let tags = tags(text);
        let part = |offset| at(&tags, offset).map(|cursor| cursor.part);
        for (offset, expected) in [
            (0, None),
            (1, Some(Part::Name)),
            (2, Some(Part::Name)),
            (3, None),
            (4, None),
            (5, Some(Part::Name)),
            (7, Some(Part::AttributeName(7..8))),
            (10, Some(Part::Value(0, 10..11))),
            (13, Some(Part::AttributeName(13..13))),
            (14, None),
            (16, Some(Part::EndName)),
            (24, Some(Part::Value(0, 24..25))),
            (text.len(), Some(Part::Name)),
        ] {
            assert_eq!(part(offset), expected, "{offset}");
        }
        assert_eq!(open_elements(text, &tags, 10), ["a"]);
        assert_eq!(open_elements(text, &tags, 14), ["a", "b"]);
        assert_eq!(open_elements(text, &tags, text.len()), ["a"]);
    }
}
