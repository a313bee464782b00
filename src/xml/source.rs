//! Source files and positions in them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::bt;

/// Identifies one file of a [`Sources`] list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(u32);

impl FileId {
    /// The index of this file in its [`Sources`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Bytes `start..end` of one file. Offsets fit in 32 bits because a file may not exceed
/// [`super::limits::FILE_BYTES`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

impl Span {
    /// True if `other` is within this span.
    pub fn contains(self, other: Self) -> bool {
        self.file == other.file && self.start <= other.start && other.end <= self.end
    }

    /// The empty span at the start of this one.
    pub fn at_start(self) -> Self {
        Self {
            end: self.start,
            ..self
        }
    }
}

impl From<Span> for bt::Span {
    fn from(span: Span) -> Self {
        Self {
            file: span.file.0,
            start: span.start,
            end: span.end,
        }
    }
}

impl From<bt::Span> for Span {
    fn from(span: bt::Span) -> Self {
        Self {
            file: FileId(span.file),
            start: span.start,
            end: span.end,
        }
    }
}

/// Line and column as editors show them: both start at 1, and a column is one character.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1. A tab is one character.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// One file: its name, its text and the starts of its lines.
#[derive(Debug)]
pub struct SourceFile {
    id: FileId,
    name: String,
    directory: PathBuf,
    text: String,
    /// Computed for the first requested position: most files have no problem.
    line_starts: OnceLock<Vec<u32>>,
    /// Number of characters before each [`BLOCK`], also computed on demand: without it, a thousand positions in one
    /// line of 60 MB took seven seconds.
    characters: OnceLock<Vec<u32>>,
}

/// Bytes between two counts of characters.
const BLOCK: usize = 1 << 14;

/// Number of characters that begin in a part of a text, at any cut.
fn characters(bytes: &[u8]) -> u32 {
    let starts = bytes.iter().filter(|byte| **byte & 0b1100_0000 != 0b1000_0000);
    offset_u32(starts.count())
}

impl SourceFile {
    fn new(id: FileId, name: String, directory: PathBuf, text: String) -> Self {
        Self {
            id,
            name,
            directory,
            text,
            line_starts: OnceLock::new(),
            characters: OnceLock::new(),
        }
    }

    /// Number of characters that begin before a byte offset.
    fn characters_before(&self, offset: usize) -> u32 {
        let counts = self.characters.get_or_init(|| {
            let blocks = self.text.as_bytes().chunks(BLOCK);
            let counts = blocks.scan(0_u32, |before, block| {
                let here = *before;
                *before = before.saturating_add(characters(block));
                Some(here)
            });
            counts.collect()
        });
        let block = (offset / BLOCK).min(counts.len().saturating_sub(1));
        let rest = self
            .text
            .as_bytes()
            .get(block * BLOCK..offset)
            .unwrap_or_default();
        counts
            .get(block)
            .map_or(0, |before| before.saturating_add(characters(rest)))
    }

    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let breaks = self.text.match_indices('\n');
            let after = breaks.map(|(offset, _)| offset_u32(offset).saturating_add(1));
            std::iter::once(0).chain(after).collect()
        })
    }

    /// The id of this file.
    pub fn id(&self) -> FileId {
        self.id
    }

    /// The displayed name: the given path, or an artificial one like `<text>`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The base folder for relative includes of this file.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of `span`; empty if the span is not within this file.
    pub fn slice(&self, span: Span) -> &str {
        self.text
            .get(span.start as usize..span.end as usize)
            .unwrap_or_default()
    }

    /// The span of bytes `start..end` of this file.
    pub fn span(&self, start: usize, end: usize) -> Span {
        Span {
            file: self.id,
            start: offset_u32(start),
            end: offset_u32(end),
        }
    }

    /// Line and column of a byte offset. A byte order mark is not a column.
    pub fn position(&self, offset: u32) -> Position {
        let line_starts = self.line_starts();
        let index = line_starts
            .partition_point(|&start| start <= offset)
            .saturating_sub(1);
        let start = line_starts.get(index).copied().unwrap_or(0);
        let before = floor(&self.text, offset as usize);
        let line = self.text.get(start as usize..before).unwrap_or_default();
        let mark = line.len() - line.trim_start_matches('\u{feff}').len();
        let first = (start as usize + mark).min(before);
        let columns = self
            .characters_before(before)
            .saturating_sub(self.characters_before(first));
        Position {
            line: offset_u32(index).saturating_add(1),
            column: columns.saturating_add(1),
        }
    }

    /// The byte range of a line (from 1), without its line end.
    pub fn line(&self, line: u32) -> std::ops::Range<usize> {
        let index = (line as usize).saturating_sub(1);
        let line_starts = self.line_starts();
        let Some(&start) = line_starts.get(index) else {
            return self.text.len()..self.text.len();
        };
        let end = line_starts
            .get(index + 1)
            .map_or(self.text.len(), |&next| (next as usize).saturating_sub(1));
        let start = start as usize;
        let carriage_return = self.text.get(start..end).is_some_and(|line| line.ends_with('\r'));
        start..end - usize::from(carriage_return)
    }
}

/// All files of one load, to show a [`Span`].
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<Arc<SourceFile>>,
}

impl Sources {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file read from `path`; its includes are relative to the folder of `path`.
    pub fn add_file(&mut self, path: &Path, text: String) -> Arc<SourceFile> {
        let directory = path.parent().unwrap_or_else(|| Path::new("")).to_path_buf();
        self.add(path.display().to_string(), directory, text)
    }

    /// Adds a text that has no path; its includes are relative to `directory`.
    pub fn add_text(&mut self, name: &str, directory: &Path, text: String) -> Arc<SourceFile> {
        self.add(name.to_owned(), directory.to_path_buf(), text)
    }

    fn add(&mut self, name: String, directory: PathBuf, text: String) -> Arc<SourceFile> {
        let id = FileId(offset_u32(self.files.len()));
        let file = Arc::new(SourceFile::new(id, name, directory, text));
        self.files.push(Arc::clone(&file));
        file
    }

    /// The file with this id, if it is in this list.
    pub fn get(&self, id: FileId) -> Option<&Arc<SourceFile>> {
        self.files.get(id.index())
    }

    /// All files, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<SourceFile>> {
        self.files.iter()
    }

    /// `file:line:column` of the start of a span.
    pub fn place(&self, span: Span) -> String {
        match self.get(span.file) {
            Some(file) => format!("{}:{}", file.name(), file.position(span.start)),
            None => String::from("<unknown file>"),
        }
    }
}

impl bt::Places for Sources {
    fn place(&self, span: bt::Span) -> Option<String> {
        let span = Span::from(span);
        self.get(span.file)?;
        Some(self.place(span))
    }

    /// Read again from the text when there is a problem: a definition with the spans of all attributes would be half as
    /// large again.
    fn attribute(&self, element: bt::Span, name: &str) -> Option<bt::Span> {
        let text = self.get(Span::from(element).file)?.text();
        let mut rest = text.get(element.end as usize..)?;
        loop {
            rest = rest.trim_start();
            let (found, value) = rest.split_once('=')?;
            let found = found.trim_end();
            if found.contains(['<', '>', '/', '"', '\'']) {
                return None;
            }
            let value = value.trim_start();
            let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
            let (value, after) = value[1..].split_once(quote)?;
            if found == name {
                let end = offset_u32(text.len() - after.len() - 1);
                return Some(bt::Span {
                    start: end - offset_u32(value.len()),
                    end,
                    ..element
                });
            }
            rest = after;
        }
    }

    fn files(&self) -> Vec<(&str, &str)> {
        self.iter().map(|file| (file.name(), file.text())).collect()
    }
}

/// The last character boundary at or before `offset`.
pub(crate) fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// Offsets above 32 bits do not occur in files within the limits; saturation avoids a panic.
pub(crate) fn offset_u32(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters() {
        let mut sources = Sources::new();
        let file = sources.add_file(Path::new("trees/a.xml"), "ab\r\nçé\tx\n\n".into());
        for (offset, line, column) in [
            (0, 1, 1),
            (2, 1, 3),
            (4, 2, 1),
            (5, 2, 1),
            (6, 2, 2),
            (8, 2, 3),
            (9, 2, 4),
            (11, 3, 1),
            (12, 4, 1),
            (99, 4, 1),
        ] {
            assert_eq!(
                file.position(offset),
                Position { line, column },
                "offset {offset}"
            );
        }
        let lines: Vec<_> = (1..=5).map(|line| &file.text()[file.line(line)]).collect();
        assert_eq!(lines, ["ab", "çé\tx", "", "", ""]);
        assert_eq!(file.directory(), Path::new("trees"));
        assert_eq!(sources.place(file.span(4, 6)), "trees/a.xml:2:1");
    }

    #[test]
    fn columns_are_counted_across_the_blocks_of_a_long_line() {
        let text = format!("ab\n{}\u{feff}é", "x€𝄞é".repeat(BLOCK / 4));
        let mut sources = Sources::new();
        let file = sources.add_text("<text>", Path::new(""), text.clone());
        let around = (BLOCK - 9..BLOCK + 9).chain(2 * BLOCK - 9..2 * BLOCK + 9);
        for offset in (0..9).chain(around).chain(text.len() - 9..text.len() + 3) {
            let before = floor(&text, offset);
            let line = text[..before].rfind('\n').map_or(0, |end| end + 1);
            let column = offset_u32(text[line..before].chars().count()) + 1;
            assert_eq!(
                file.position(offset_u32(offset)).column,
                column,
                "offset {offset}"
            );
        }
    }

    #[test]
    fn a_byte_order_mark_counts_as_no_column() {
        let mut sources = Sources::new();
        let file = sources.add_text("<text>", Path::new(""), "\u{feff}<a/>".into());
        assert_eq!(file.position(3), Position { line: 1, column: 1 });
        assert_eq!(file.position(4), Position { line: 1, column: 2 });
    }
}
