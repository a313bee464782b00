//! Renders problems for people: an excerpt with an underline, in the style of rustc.
//!
//! The crate annotate-snippets was considered: the code to use it is as long as this file, and it copies and measures
//! whole files, and the file of an attacker may be one line of 64 MiB.

use std::fmt::Write as _;

use super::diagnostic::{Diagnostic, Label};
use super::source::{SourceFile, Sources, floor};

/// Characters of a long line shown before the position.
const BEFORE: usize = 50;
/// Characters of a long line shown after the position.
const AFTER: usize = 100;
/// Columns a tab takes in an excerpt.
const TAB: &str = "    ";

/// The use of ANSI colour sequences.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Colour {
    /// Plain text.
    #[default]
    Never,
    /// ANSI sequences, for terminals.
    Always,
}

impl Colour {
    fn paint(self, ansi: &str, text: &str) -> String {
        match self {
            Self::Never => text.to_owned(),
            Self::Always => format!("\x1b[{ansi}m{text}\x1b[0m"),
        }
    }
}

const BOLD: &str = "1";
const BLUE: &str = "1;34";

impl Diagnostic {
    fn ansi(&self) -> &'static str {
        match self.severity {
            super::Severity::Error => "1;31",
            super::Severity::Warning => "1;33",
            super::Severity::Note => "1;32",
        }
    }

    /// The problem with an excerpt of the source. The text ends with a line end.
    pub fn render(&self, sources: &Sources, colour: Colour) -> String {
        let kind = format!("{}[{}]", self.severity, self.code);
        let message = format!(": {}", clean(&self.message));
        let mut out = format!(
            "{}{}\n",
            colour.paint(self.ansi(), &kind),
            colour.paint(BOLD, &message)
        );

        let labels: Vec<&Label> = std::iter::once(&self.primary).chain(&self.secondary).collect();
        let widest = labels
            .iter()
            .filter_map(|label| Some(sources.get(label.span.file)?.position(label.span.start).line))
            .max()
            .unwrap_or(1);
        let gutter = " ".repeat(widest.to_string().len());
        let bar = colour.paint(BLUE, "|");

        let mut files: Vec<&SourceFile> = Vec::new();
        for label in &labels {
            if let Some(file) = sources.get(label.span.file)
                && !files.iter().any(|known| known.id() == file.id())
            {
                files.push(file);
            }
        }
        for (index, file) in files.iter().enumerate() {
            let here: Vec<&Label> = labels
                .iter()
                .copied()
                .filter(|label| label.span.file == file.id())
                .collect();
            let arrow = colour.paint(BLUE, if index == 0 { "-->" } else { ":::" });
            let place = file.position(here.first().map_or(0, |label| label.span.start));
            let _ = writeln!(out, "{gutter}{arrow} {}:{place}", clean(file.name()));
            if !file.text().is_empty() {
                let _ = writeln!(out, "{gutter} {bar}");
                self.excerpt(&mut out, file, &here, &gutter, colour);
            }
        }
        if let Some(help) = &self.help {
            let equals = colour.paint(BLUE, "=");
            let _ = writeln!(
                out,
                "{gutter} {bar}\n{gutter} {equals} {}: {}",
                colour.paint(BOLD, "help"),
                clean(help)
            );
        }
        out
    }

    fn excerpt(&self, out: &mut String, file: &SourceFile, labels: &[&Label], gutter: &str, colour: Colour) {
        let mut labels: Vec<(u32, &Label)> = labels
            .iter()
            .map(|label| (file.position(label.span.start).line, *label))
            .collect();
        labels.sort_by_key(|(line, label)| (*line, label.span.start));
        let bar = colour.paint(BLUE, "|");
        let mut shown: Option<(u32, Window<'_>)> = None;
        for (line, label) in labels {
            let window = match shown {
                Some((last, window)) if last == line => window,
                last => {
                    if last.is_some_and(|(last, _)| last + 1 < line) {
                        let _ = writeln!(out, "{}", colour.paint(BLUE, "..."));
                    }
                    let window = Window::around(file, line, label.span.start as usize);
                    let number = colour.paint(BLUE, &format!("{line:>width$} |", width = gutter.len()));
                    let _ = writeln!(out, "{number} {}", window.text().trim_end());
                    window
                }
            };
            shown = Some((line, window));
            let (column, width) = window.columns(label.span.start as usize, label.span.end as usize);
            let is_primary = std::ptr::eq(label, &raw const self.primary);
            let (mark, ansi) = if is_primary {
                ("^", self.ansi())
            } else {
                ("-", BLUE)
            };
            let marked = format!("{} {}", mark.repeat(width), clean(&label.text));
            let marked = colour.paint(ansi, marked.trim_end());
            let _ = writeln!(out, "{gutter} {bar} {}{marked}", " ".repeat(column));
        }
    }
}

/// The part of a line that an excerpt shows.
#[derive(Clone, Copy)]
struct Window<'a> {
    text: &'a str,
    start: usize,
    end: usize,
    line_start: usize,
    line_end: usize,
}

impl<'a> Window<'a> {
    fn around(file: &'a SourceFile, line: u32, offset: usize) -> Self {
        let text = file.text();
        let line = file.line(line);
        let offset = floor(text, offset.clamp(line.start, line.end));
        let before = text[line.start..offset].char_indices().rev();
        let start = before
            .take(BEFORE)
            .last()
            .map_or(offset, |(at, _)| line.start + at);
        let after = text[offset..line.end].char_indices();
        let end = after
            .take(AFTER)
            .last()
            .map_or(offset, |(at, last)| offset + at + last.len_utf8());
        Self {
            text,
            start,
            end,
            line_start: line.start,
            line_end: line.end,
        }
    }

    fn text(self) -> String {
        let lead = if self.start > self.line_start { "…" } else { "" };
        let tail = if self.end < self.line_end { "…" } else { "" };
        format!("{lead}{}{tail}", clean(&self.text[self.start..self.end]))
    }

    /// Start and length of the underline in columns: at least one column, at most to the end of the line.
    fn columns(self, start: usize, end: usize) -> (usize, usize) {
        let inside = |offset: usize| floor(self.text, offset.clamp(self.start, self.end));
        let width = |from: usize, to: usize| clean(&self.text[from..to]).chars().count();
        let (start, end) = (inside(start), inside(end));
        let lead = usize::from(self.start > self.line_start);
        (
            lead + width(self.start, start),
            width(start, end.max(start)).max(1),
        )
    }
}

/// Makes text from a file safe for a terminal: no control sequences, no changes of writing direction.
fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => out.push_str(TAB),
            '\u{feff}' => {}
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            control if control.is_control() => out.push('\u{fffd}'),
            plain => out.push(plain),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Code, Severity};
    use super::*;

    fn sample() -> (Sources, Diagnostic) {
        let mut sources = Sources::new();
        let mut text = String::from("<root>\n\t<Sequnce a='é'  b=''>\n");
        text.push_str(&"\n".repeat(8));
        text.push_str("  </Sequence>\n</root>\n");
        let file = sources.add_file(Path::new("trees/a.xml"), text);
        let other = sources.add_file(Path::new("b.xml"), "<x/>".into());
        let at = |part: &str| {
            let start = file.text().find(part).unwrap();
            file.span(start, start + part.len())
        };
        let diagnostic = Diagnostic::new(Code::MissingEndTag, at("Sequnce"), "`<Sequnce>` is never closed")
            .label("opened here")
            .also(at("b=''"), "")
            .also(at("</Sequence>"), "another name\x1b[2J")
            .also(other.span(0, 4), "elsewhere")
            .help("did you mean `Sequence`?");
        (sources, diagnostic)
    }

    #[test]
    fn an_excerpt_shows_all_places() {
        let (sources, diagnostic) = sample();
        let expected = "\
error[NT0102]: `<Sequnce>` is never closed
  --> trees/a.xml:2:3
   |
 2 |     <Sequnce a='é'  b=''>
   |      ^^^^^^^ opened here
   |                     ----
...
11 |   </Sequence>
   |   ----------- another name�[2J
  ::: b.xml:1:1
   |
 1 | <x/>
   | ---- elsewhere
   |
   = help: did you mean `Sequence`?
";
        assert_eq!(diagnostic.render(&sources, Colour::Never), expected);
        let coloured = diagnostic.render(&sources, Colour::Always);
        assert!(
            coloured.starts_with("\x1b[1;31merror[NT0102]\x1b[0m\x1b[1m: `<Seq"),
            "{coloured}"
        );
    }

    #[test]
    fn odd_places_are_shown_too() {
        let mut sources = Sources::new();
        let long = format!("<a>{}é{}</a>", "x".repeat(500), "y".repeat(500));
        let file = sources.add_text("long", Path::new(""), long);
        let empty = sources.add_text("empty", Path::new(""), String::new());
        let lines = sources.add_text("lines", Path::new(""), "<a\n b>\r\n".into());
        let render = |span| {
            let mut diagnostic = Diagnostic::new(Code::UnreadableFile, span, "m");
            diagnostic.severity = Severity::Warning;
            diagnostic.render(&sources, Colour::Never)
        };
        assert_eq!(render(empty.span(0, 0)), "warning[NT0001]: m\n --> empty:1:1\n");
        let shown = render(file.span(503, 900));
        assert!(shown.lines().all(|line| line.chars().count() < 180), "{shown}");
        assert!(
            shown.contains(&format!("1 | …{}é{}…\n", "x".repeat(50), "y".repeat(99))),
            "{shown}"
        );
        for (span, underlining) in [
            (lines.span(0, 6), "  | ^^"),
            (lines.span(2, 3), "  |   ^"),
            (lines.span(8, 8), "  | ^"),
            (lines.span(400, 500), "  | ^"),
        ] {
            assert_eq!(render(span).lines().last(), Some(underlining));
        }
    }
}
