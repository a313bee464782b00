//! Levels of warnings: shown, silenced or made errors, by the user for all files, and in a file for a part of it.

use std::collections::HashMap;

use crate::bt::nearest;

use super::code::{Code, Severity};
use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::{Document, Element, Node};
use super::fix::Fix;
use super::source::{Span, offset_u32};

/// The user's level for a code; errors are not affected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// `-A`: do not show.
    Allow,
    /// `-W`: show as a warning.
    Warn,
    /// `-D`: an error.
    Deny,
}

/// The levels set by the user and by comments in files.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    /// The level of all warnings (`-D warnings`).
    warnings: Option<Level>,
    codes: HashMap<Code, Level>,
    allowed: Vec<(Code, Span)>,
}

impl Levels {
    /// No levels: each code has its default severity.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the level of one code. A later call replaces an earlier one.
    pub fn set(&mut self, code: Code, level: Level) {
        self.codes.insert(code, level);
    }

    /// Sets the level of all warnings without a level of their own.
    pub fn set_warnings(&mut self, level: Level) {
        self.warnings = Some(level);
    }

    /// Reads the comments `<!-- navtree: allow(NT0123, NT0456) -->` of a file. A comment applies to the element that
    /// follows it, with all its content; before the first tree of the file (or outside the root) it applies to the
    /// whole file.
    pub fn read_comments(&mut self, document: &Document, diagnostics: &mut Diagnostics) {
        let whole = document.source().span(0, document.source().text().len());
        let root = document.root();
        let first_tree = root
            .and_then(|root| root.children().find(|child| child.name() == "BehaviorTree"))
            .map(|tree| tree.span().start);
        let mut waiting: Vec<(Code, Option<Element<'_>>)> = Vec::new();
        for node in document.nodes() {
            match node {
                Node::Comment(comment) => {
                    let codes = allow_list(comment.content(), comment.span(), diagnostics);
                    let parent = node.parent();
                    let at_top = parent.is_none()
                        || (parent == root && first_tree.is_none_or(|first| comment.span().start < first));
                    if at_top {
                        self.allowed.extend(codes.into_iter().map(|code| (code, whole)));
                    } else {
                        waiting.extend(codes.into_iter().map(|code| (code, parent)));
                    }
                }
                Node::Element(element) => {
                    // In document order, the next element is the next sibling, or there is none.
                    let parent = element.parent();
                    for (code, comment_parent) in waiting.drain(..) {
                        if comment_parent == parent {
                            self.allowed.push((code, element.span()));
                        }
                    }
                }
                Node::Text(_) => {}
            }
        }
    }

    /// The severity with these levels; `None` if the problem is not shown.
    pub fn severity(&self, diagnostic: &Diagnostic) -> Option<Severity> {
        let own = diagnostic.severity;
        if own == Severity::Error {
            return Some(own);
        }
        let place = diagnostic.primary.span;
        let here = |(code, span): &(Code, Span)| *code == diagnostic.code && span.contains(place);
        if self.allowed.iter().any(here) {
            return None;
        }
        let general = self.warnings.filter(|_| own == Severity::Warning);
        match self.codes.get(&diagnostic.code).copied().or(general) {
            None => Some(own),
            Some(Level::Allow) => None,
            Some(Level::Warn) => Some(Severity::Warning),
            Some(Level::Deny) => Some(Severity::Error),
        }
    }

    /// Applies the levels to all problems.
    pub fn apply(&self, diagnostics: &mut Diagnostics) {
        diagnostics.regrade(|diagnostic| self.severity(diagnostic));
    }
}

/// The codes of `navtree: allow(…)`. A misspelt code is reported, because its lack of effect is hard to notice.
fn allow_list(content: &str, span: Span, diagnostics: &mut Diagnostics) -> Vec<Code> {
    let Some(directive) = content.trim().strip_prefix("navtree:") else {
        return Vec::new();
    };
    let list = directive
        .trim()
        .strip_prefix("allow(")
        .and_then(|rest| rest.strip_suffix(')'));
    let Some(list) = list else {
        let problem = Diagnostic::new(Code::UnknownAllow, span, "not a comment that navtree understands")
            .help("write `<!-- navtree: allow(NT0123) -->`");
        diagnostics.push(problem);
        return Vec::new();
    };
    let mut codes = Vec::new();
    for name in list.split(',').map(str::trim) {
        match name.parse::<Code>() {
            Ok(code) if code.severity() == Severity::Error => {
                let message = format!("`{code}` is an error and cannot be silenced");
                diagnostics.push(Diagnostic::new(
                    Code::UnknownAllow,
                    place(name, content, span),
                    message,
                ));
            }
            Ok(code) if codes.contains(&code) => {}
            Ok(code) => codes.push(code),
            Err(unknown) => {
                let near = (!diagnostics.is_full(Severity::Warning)).then(|| {
                    let known: Vec<String> = Code::all().map(|code| code.to_string()).collect();
                    nearest(name, known.iter().map(String::as_str)).map(str::to_owned)
                });
                let near = near.flatten();
                let span = place(name, content, span);
                let problem = Diagnostic::new(Code::UnknownAllow, span, unknown.to_string())
                    .maybe_fix(near.as_deref().map(|near| Fix::near_name(span, name, near)))
                    .maybe_help(near.map(|near| format!("did you mean `{near}`?")));
                diagnostics.push(problem);
            }
        }
    }
    codes
}

/// The span of `part` of a comment's content in the file.
fn place(part: &str, content: &str, comment: Span) -> Span {
    let offset = (part.as_ptr() as usize).saturating_sub(content.as_ptr() as usize);
    let start = comment.start.saturating_add(offset_u32("<!--".len() + offset));
    Span {
        start,
        end: start.saturating_add(offset_u32(part.len())),
        ..comment
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Sources;
    use super::*;

    const FILE: &str = "\
<root>
  <!-- navtree: allow(NT0203) -->
  <BehaviorTree>
    <A/>
    <!-- navtree: allow(NT0115, NT0202) -->
    <!-- for a reason -->
    <B><C/></B>
    <D><!-- navtree: allow(NT0115) --></D>
    <E/>
    <!-- navtree: allow(NT0155) -->
    <!-- navtree: allow(NT0101) -->
    <!-- navtree: alow(NT0115) -->
  </BehaviorTree>
</root>
";

    #[test]
    fn comments_silence_the_next_element_or_the_file() {
        let mut sources = Sources::new();
        let file = sources.add_text("f", Path::new(""), FILE.into());
        let mut diagnostics = Diagnostics::new();
        let document = Document::parse(&file, &mut diagnostics);
        let mut levels = Levels::new();
        levels.read_comments(&document, &mut diagnostics);
        let lines: Vec<_> = diagnostics.iter().map(|item| item.one_line(&sources)).collect();
        assert_eq!(
            lines,
            [
                "f:10:25: warning[NT0204]: `NT0155` is not a diagnostic code",
                "f:11:25: warning[NT0204]: `NT0101` is an error and cannot be silenced",
                "f:12:5: warning[NT0204]: not a comment that navtree understands",
            ]
        );
        let shown = |code, element: &str| {
            let start = FILE.find(element).unwrap();
            let span = file.span(start, start + 3);
            levels.severity(&Diagnostic::new(code, span, "")).is_some()
        };
        for (code, element, expected) in [
            (Code::IgnoredText, "<A/>", true),
            (Code::IgnoredText, "<B>", false),
            (Code::IgnoredText, "<C/>", false),
            (Code::MissingFormat, "<C/>", false),
            (Code::OtherEncoding, "<C/>", true),
            (Code::IgnoredText, "<D>", true),
            (Code::IgnoredText, "<E/>", true),
            (Code::UnknownFormat, "<roo", false),
            (Code::UnknownFormat, "<E/>", false),
        ] {
            assert_eq!(shown(code, element), expected, "{code} at {element}");
        }
    }

    #[test]
    fn the_command_line_grades_warnings_only() {
        let mut sources = Sources::new();
        let file = sources.add_text("f", Path::new(""), "x".into());
        let mut levels = Levels::new();
        levels.set_warnings(Level::Deny);
        levels.set(Code::IgnoredText, Level::Allow);
        levels.set(Code::OtherEncoding, Level::Warn);
        levels.set(Code::NoRoot, Level::Allow);
        let mut diagnostics = Diagnostics::new();
        for code in [
            Code::IgnoredText,
            Code::OtherEncoding,
            Code::NoRoot,
            Code::MissingFormat,
            Code::TooManyProblems,
        ] {
            diagnostics.push(Diagnostic::new(code, file.span(0, 1), ""));
        }
        levels.apply(&mut diagnostics);
        let graded: Vec<_> = diagnostics
            .iter()
            .map(|item| (item.code, item.severity))
            .collect();
        assert_eq!(
            graded,
            [
                (Code::OtherEncoding, Severity::Warning),
                (Code::NoRoot, Severity::Error),
                (Code::MissingFormat, Severity::Error),
                (Code::TooManyProblems, Severity::Note),
            ]
        );
    }
}
