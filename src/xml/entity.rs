//! Attribute values as written and as meant: entities, and line ends as tinyxml2 reads them (`\r\n` and a
//! lone `\r` are `\n`; unlike the XML recommendation, line ends and tabs stay what they are, because
//! BehaviorTree.CPP's scripts see them).

use std::borrow::Cow;
use std::ops::Range;

/// The longest reference that is looked for: `&#x10FFFF;`.
const LONGEST: usize = 12;

/// One step through a value as written: what it means, and how many bytes it takes.
enum Unit {
    Char(char),
    /// A `&` that starts nothing known.
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
    let end = rest.bytes().take(LONGEST).position(|byte| byte == b';')?;
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

/// True for the characters that may not stand in an XML document.
pub(super) fn is_forbidden(character: char) -> bool {
    matches!(character, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}')
}

/// The meaning of a value, and where in `raw` unknown references stand (they are kept as they are).
pub(super) fn unescape(raw: &str) -> (Cow<'_, str>, Vec<Range<usize>>) {
    if !raw.bytes().any(|byte| byte == b'&' || byte == b'\r') {
        return (Cow::Borrowed(raw), Vec::new());
    }
    let mut text = String::with_capacity(raw.len());
    let mut unknown = Vec::new();
    let mut at = 0;
    while let Some((unit, length)) = unit(raw, at) {
        match unit {
            Unit::Char(meaning) => text.push(meaning),
            Unit::Unknown => {
                text.push('&');
                unknown.push(at..at + reference_like(raw, at));
            }
        }
        at += length;
    }
    (Cow::Owned(text), unknown)
}

/// How much of an unknown reference to underline.
fn reference_like(raw: &str, at: usize) -> usize {
    let bytes = raw.as_bytes().iter().skip(at + 1);
    let name = bytes
        .take(32)
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'#')
        .count();
    let semicolon = raw.as_bytes().get(at + 1 + name) == Some(&b';');
    1 + name + usize::from(semicolon)
}

/// Where in `raw` the byte `offset` of its meaning stands. Used to underline a place inside a script.
pub(super) fn raw_offset(raw: &str, offset: usize) -> usize {
    let (mut at, mut meant) = (0, 0);
    while meant < offset
        && let Some((unit, length)) = unit(raw, at)
    {
        meant += match unit {
            Unit::Char(character) => character.len_utf8(),
            Unit::Unknown => 1,
        };
        at += length;
    }
    at
}

/// A text as it is written in an attribute or between elements. What no XML file may hold becomes U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // A parser would make a line feed of it.
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

    #[test]
    fn references_are_resolved_and_unknown_ones_reported() {
        for (raw, meaning, unknown) in [
            ("plain", "plain", &[][..]),
            ("a &lt; b &amp;&amp; c", "a < b && c", &[]),
            ("&#65;&#x42;&#x1F600;", "AB😀", &[]),
            ("a\r\nb\rc\nd\t", "a\nb\nc\nd\t", &[]),
            ("&nbsp; x", "&nbsp; x", &[0..6]),
            ("a && b", "a && b", &[2..3, 3..4]),
            (
                "&#0;&#xD800;&#;&#x;&#+1;",
                "&#0;&#xD800;&#;&#x;&#+1;",
                &[0..4, 4..12, 12..15, 15..19, 19..21],
            ),
            ("&", "&", &[0..1]),
            ("&lt", "&lt", &[0..3]),
            ("&é;", "&é;", &[0..1]),
        ] {
            let (text, found) = unescape(raw);
            assert_eq!((text.as_ref(), found.as_slice()), (meaning, unknown), "{raw}");
        }
    }

    #[test]
    fn offsets_map_back_to_the_source() {
        let raw = "a &lt; é\r\n&amp;b";
        let (text, _) = unescape(raw);
        for (meant, written) in [("a", "a"), ("<", "&lt;"), ("é", "é"), ("&b", "&amp;"), ("b", "b")] {
            let offset = raw_offset(raw, text.find(meant).unwrap());
            assert!(raw[offset..].starts_with(written), "{meant}");
        }
        assert_eq!(raw_offset(raw, 999), raw.len());
    }

    #[test]
    fn what_was_escaped_is_read_back() {
        for text in &["a", "<\"&amp;'>", "]]>", "\t\r\né"] {
            assert_eq!(unescape(&escape(text)).0, *text);
        }
        assert_eq!(escape("\x1b[1m"), "\u{FFFD}[1m");
    }
}
