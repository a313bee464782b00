//! Byte offsets and the protocol's positions: lines from 0, and columns in UTF-16 code units.

use std::ops;

use lsp_types::{Position, Range};

/// The starts of the lines of a text. A line ends with `\n`, `\r\n` or `\r`.
#[derive(Debug, Default)]
pub(super) struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    pub(super) fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let ends = bytes.iter().enumerate().filter_map(|(at, byte)| match byte {
            b'\n' => Some(at + 1),
            b'\r' if bytes.get(at + 1) != Some(&b'\n') => Some(at + 1),
            _ => None,
        });
        Self {
            starts: std::iter::once(0).chain(ends).collect(),
        }
    }

    /// The byte offset of a position. A position outside of the text becomes the nearest one within.
    pub(super) fn offset(&self, text: &str, position: Position) -> usize {
        let Some(&start) = self.starts.get(position.line as usize) else {
            return text.len();
        };
        let next = self.starts.get(position.line as usize + 1);
        let line = text
            .get(start..next.map_or(text.len(), |next| *next))
            .unwrap_or_default()
            .trim_end_matches(['\n', '\r']);
        let mut column = 0;
        for (at, letter) in line.char_indices() {
            if column >= position.character as usize {
                return start + at;
            }
            column += letter.len_utf16();
        }
        start + line.len()
    }

    /// The position of a byte offset.
    pub(super) fn position(&self, text: &str, offset: usize) -> Position {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self
            .starts
            .partition_point(|start| *start <= offset)
            .saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or(0);
        let before = text.get(start..offset).unwrap_or_default();
        let column: usize = before.chars().map(char::len_utf16).sum();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Position::new(number(line), number(column))
    }

    /// The range of bytes.
    pub(super) fn range(&self, text: &str, bytes: ops::Range<usize>) -> Range {
        Range::new(self.position(text, bytes.start), self.position(text, bytes.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_utf16_code_units() {
        let text = "aä🙂b\r\n\rx\n";
        let lines = Lines::new(text);
        for (offset, line, column) in [
            (0, 0, 0),
            (1, 0, 1),
            (3, 0, 2),
            (7, 0, 4),
            (8, 0, 5),
            (10, 1, 0),
            (11, 2, 0),
            (12, 2, 1),
            (13, 3, 0),
        ] {
            let position = Position::new(line, column);
            assert_eq!(lines.position(text, offset), position);
            assert_eq!(lines.offset(text, position), offset, "{position:?}");
        }
        // Within a pair of surrogates, behind the end of a line, and behind the end.
        assert_eq!(lines.offset(text, Position::new(0, 3)), 7);
        assert_eq!(lines.offset(text, Position::new(0, 99)), 8);
        assert_eq!(lines.offset(text, Position::new(99, 0)), 13);
        assert_eq!(lines.position(text, 5), Position::new(0, 2));
    }
}
