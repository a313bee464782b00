//! Escapes and unescapes attribute values: entities, and line ends as tinyxml2 reads them (`\r\n` and a single `\r`
//! become `\n`). Unlike in the XML recommendation, line ends and tabs are kept, because the scripts of BehaviorTree.CPP
//! contain them.

use std::borrow::Cow;
use std::ops::Range;

use super::source::offset_u32;

/// Maximum length of a reference: `&#x10FFFF;`.
const MAX_LENGTH: usize = 12;

/// One step through a raw value: its meaning, and its length in bytes.
enum Unit {
    Char(char),
    /// A `&` that starts no known reference.
    Unknown,
}

fn unit(raw: &str, at: usize) -> Option<(Unit, usize)> {
    let rest = raw.get(at..)?;
    let first = rest.chars().next()?;
    Some(match first {
        '&' => match reference(rest) {
            Some((meaning, length)) => (Unit::Char(meaning), length),
            None => (Unit::Unknown, 1),
        },
        '\r' => (Unit::Char('\n'), if rest.starts_with("\r\n") { 2 } else { 1 }),
        plain => (Unit::Char(plain), plain.len_utf8()),
    })
}

fn reference(rest: &str) -> Option<(char, usize)> {
    let end = rest.bytes().take(MAX_LENGTH).position(|byte| byte == b';')?;
    let name = rest.get(1..end)?;
    let meaning = match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix('x') {
                Some(hex) if hex.bytes().all(|byte| byte.is_ascii_hexdigit()) => u32::from_str_radix(hex, 16),
                None if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse(),
                _ => return None,
            };
            char::from_u32(code.ok()?).filter(|meaning| !is_forbidden(*meaning))?
        }
    };
    Some((meaning, end + 1))
}

/// True for characters that an XML document may not contain.
pub(super) fn is_forbidden(character: char) -> bool {
    matches!(character, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}')
}

/// The unescaped value, and the ranges of unknown references in `raw` (they stay unchanged).
pub(crate) fn unescape(raw: &str) -> (Cow<'_, str>, Vec<Range<usize>>) {
    if !raw.bytes().any(|byte| byte == b'&' || byte == b'\r') {
        return (Cow::Borrowed(raw), Vec::new());
    }
    let mut text = String::with_capacity(raw.len());
    let mut unknown: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while let Some((unit, length)) = unit(raw, at) {
        match unit {
            Unit::Char(meaning) => text.push(meaning),
            Unit::Unknown => {
                text.push('&');
                let found = at..at + reference_like(raw, at);
                match unknown.last_mut() {
                    // `&&` is one problem.
                    Some(last) if last.end == at && found.len() == 1 && raw[..at].ends_with('&') => {
                        last.end = found.end;
                    }
                    _ => unknown.push(found),
                }
            }
        }
        at += length;
    }
    (Cow::Owned(text), unknown)
}

/// The length to underline for an unknown reference: only the `&` if it does not look like a reference.
fn reference_like(raw: &str, at: usize) -> usize {
    let bytes = raw.as_bytes().iter().skip(at + 1);
    let name = bytes
        .take(32)
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'#')
        .count();
    match raw.as_bytes().get(at + 1 + name) {
        Some(b';') if name > 0 => name + 2,
        _ => 1,
    }
}

/// Pairs of byte offsets in the unescaped value and in `raw`, after each character with different lengths in both. They
/// are used to underline a position inside a script.
pub(super) fn escapes(raw: &str) -> Box<[(u32, u32)]> {
    let (mut at, mut meant) = (0, 0);
    let mut escapes = Vec::new();
    while let Some((unit, length)) = unit(raw, at) {
        let means = match unit {
            Unit::Char(character) => character.len_utf8(),
            Unit::Unknown => 1,
        };
        at += length;
        meant += means;
        if means != length {
            escapes.push((offset_u32(meant), offset_u32(at)));
        }
    }
    escapes.into_boxed_slice()
}

/// Escapes a text for an attribute or element content. Characters that XML does not allow become U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // A parser would read it as a line feed.
            '\r' => out.push_str("&#13;"),
            _ if is_forbidden(letter) => out.push('\u{FFFD}'),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::single_range_in_vec_init)]

    use super::*;
    use crate::bt::{self, AttributeSpec};

    #[test]
    fn references_are_resolved_and_unknown_ones_reported() {
        for (raw, meaning, unknown) in [
            ("plain", "plain", &[][..]),
            ("a &lt; b &amp;&amp; c", "a < b && c", &[]),
            ("&#65;&#x42;&#x1F600;", "AB😀", &[]),
            ("a\r\nb\rc\nd\t", "a\nb\nc\nd\t", &[]),
            ("&nbsp; x", "&nbsp; x", &[0..6]),
            ("a && b", "a && b", &[2..4]),
            ("a&b && c&d;", "a&b && c&d;", &[1..2, 4..6, 8..11]),
            (
                "&#0;&#xD800;&#;&#x;&#+1;",
                "&#0;&#xD800;&#;&#x;&#+1;",
                &[0..4, 4..12, 12..15, 15..19, 19..20],
            ),
            ("&", "&", &[0..1]),
            ("&lt", "&lt", &[0..1]),
            ("&é;", "&é;", &[0..1]),
        ] {
            let (text, found) = unescape(raw);
            assert_eq!((text.as_ref(), found.as_slice()), (meaning, unknown), "{raw}");
        }
    }

    #[test]
    fn decoded_positions_map_to_source_positions() {
        let raw = "a &lt; é\r\n&amp;b && &c;";
        let attribute = AttributeSpec {
            value_span: bt::Span {
                start: 100,
                end: 100 + offset_u32(raw.len()),
                ..bt::Span::default()
            },
            escapes: escapes(raw),
            ..AttributeSpec::new("", unescape(raw).0)
        };
        for (meant, written) in [
            ("a <", "a &lt;"),
            ("<", "&lt;"),
            ("é\n&", "é\r\n&amp;"),
            ("b", "b"),
            ("&&", "&&"),
            ("c;", "c;"),
        ] {
            let start = attribute.value.find(meant).unwrap();
            let part = attribute.part(start..start + meant.len());
            assert_eq!(
                &raw[part.start as usize - 100..part.end as usize - 100],
                written,
                "{meant}"
            );
        }
        assert_eq!(attribute.part(0..999), attribute.value_span);
    }

    #[test]
    fn what_was_escaped_is_read_back() {
        for text in &["a", "<\"&amp;'>", "]]>", "\t\r\né"] {
            assert_eq!(unescape(&escape(text)).0, *text);
        }
        assert_eq!(escape("\x1b[1m"), "\u{FFFD}[1m");
    }
}
