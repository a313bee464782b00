//! Tells tree files from other XML files of a folder: package.xml, URDF, launch files.

/// Whether a file can hold trees: its first element is `root`, or has no name that can be read.
///
/// Reads only the text before the first element, so a large file of another kind costs nothing. A broken file counts as a
/// tree file, because a check has to report it.
pub(crate) fn may_hold_trees(bytes: &[u8]) -> bool {
    match root_name(bytes) {
        Some(name) => name == b"root" || contains(bytes, b"<BehaviorTree"),
        None => true,
    }
}

/// The name of the first element.
fn root_name(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    loop {
        rest = rest.trim_ascii_start().strip_prefix(b"<")?;
        let end: &[u8] = if rest.starts_with(b"!--") {
            b"-->"
        } else if rest.starts_with(b"?") {
            b"?>"
        } else if rest.starts_with(b"!") {
            b">"
        } else {
            break;
        };
        let start = rest.windows(end.len()).position(|window| window == end)?;
        rest = rest.get(start + end.len()..)?;
    }
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
    let end = rest.iter().position(is_end)?;
    rest.get(..end).filter(|name| !name.is_empty())
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_kinds_are_told_by_their_first_element() {
        for (text, expected) in [
            ("<root BTCPP_format='4'/>", true),
            ("\u{feff}<?xml version='1.0'?>\n<!-- <robot> -->\n<root>", true),
            ("<!DOCTYPE root><root/>", true),
            ("<Root><BehaviorTree ID='T'/></Root>", true),
            ("", true),
            ("<root", true),
            ("not XML", true),
            ("<!-- no end", true),
            ("<robot name='r'/>", false),
            (
                "<?xml version='1.0'?>\n<?xml-model href='p'?>\n<package format='3'>",
                false,
            ),
            ("<launch>\n</launch>", false),
            ("<rootless/>", false),
        ] {
            assert_eq!(may_hold_trees(text.as_bytes()), expected, "{text}");
        }
    }
}
