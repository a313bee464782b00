//! A diagnostic, and the list of all diagnostics of a load.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::code::{Code, Severity};
use super::fix::Fix;
use super::limits;
use super::source::{FileId, Sources, Span};

/// A position and its relation to the problem.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Label {
    /// The position.
    pub span: Span,
    /// A short text beside the underline; may be empty.
    pub text: String,
}

/// One problem: its description, its position and its solution.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Diagnostic {
    /// The kind of problem.
    pub code: Code,
    /// The default severity of the code, unless the user changed it.
    pub severity: Severity,
    /// One line, lower case, without a full stop.
    pub message: String,
    /// The main position.
    pub primary: Label,
    /// Further positions that explain the main one.
    pub secondary: Vec<Label>,
    /// The solution.
    pub help: Option<String>,
    /// The change of the file that is the solution, if there is one answer.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// A problem at `span`, with the severity of its code.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            message: on_one_line(message.into()),
            primary: Label {
                span,
                text: String::new(),
            },
            secondary: Vec::new(),
            help: code.usual_help().map(str::to_owned),
            fix: None,
        }
    }

    /// Sets the text beside the underline of the main position.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Adds a further position.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label {
            span,
            text: text.into(),
        });
        self
    }

    /// Sets the solution.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Sets the solution, if there is one.
    #[must_use]
    pub fn maybe_help(mut self, text: Option<String>) -> Self {
        self.help = text.or(self.help);
        self
    }

    /// Sets the change of the file that is the solution.
    #[must_use]
    pub fn fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }

    /// Sets the change of the file that is the solution, if there is one.
    #[must_use]
    pub fn maybe_fix(mut self, fix: Option<Fix>) -> Self {
        self.fix = fix.or(self.fix);
        self
    }

    /// The one-line form: `file:line:column: error[NT0101]: message`.
    pub fn one_line(&self, sources: &Sources) -> String {
        format!(
            "{}: {}[{}]: {}",
            sources.place(self.primary.span),
            self.severity,
            self.code,
            self.message
        )
    }
}

/// Makes a message one line. A message may quote a file: line breaks, texts of megabytes, characters that change the
/// writing direction of a terminal.
fn on_one_line(message: String) -> String {
    /// Maximum number of characters. A longer message is cut.
    const MAX_LENGTH: usize = 500;
    let is_odd = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
    };
    if message.len() <= MAX_LENGTH && !message.contains(is_odd) {
        return message;
    }
    let mut line = String::with_capacity(message.len().min(2 * MAX_LENGTH));
    for (count, letter) in message.chars().enumerate() {
        if count == MAX_LENGTH {
            line.push('…');
            break;
        }
        match letter {
            '\n' | '\r' | '\t' => line.push(' '),
            odd if is_odd(odd) => line.extend(odd.escape_unicode()),
            _ => line.push(letter),
        }
    }
    line
}

/// The problems of one load, without repetitions.
///
/// Keeps [`limits::DIAGNOSTICS`] errors and the same number of lesser problems, and only counts the rest: a hostile
/// file can have millions.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    items: Vec<Diagnostic>,
    seen: HashSet<(Code, Span, String)>,
    kept: [usize; 2],
    dropped: [usize; 2],
}

impl Diagnostics {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a problem, unless the same one is already in the list.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let class = class(diagnostic.severity);
        if self.kept[class] >= limits::DIAGNOSTICS {
            self.dropped[class] = self.dropped[class].saturating_add(1);
            return;
        }
        let key = (
            diagnostic.code,
            diagnostic.primary.span,
            diagnostic.message.clone(),
        );
        if self.seen.insert(key) {
            self.kept[class] += 1;
            self.items.push(diagnostic);
        }
    }

    /// Adds all of `others`.
    pub fn extend(&mut self, others: impl IntoIterator<Item = Diagnostic>) {
        for diagnostic in others {
            self.push(diagnostic);
        }
    }

    /// True if further problems of this severity are only counted. The caller must then skip costly searches for a
    /// better message: a hostile file would cause millions of them.
    pub fn is_full(&self, severity: Severity) -> bool {
        self.kept[class(severity)] >= limits::DIAGNOSTICS
    }

    /// True when there is an error.
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// Whether a file could not be read to its end: what is missing may be in the rest of it.
    pub(super) fn is_incomplete(&self) -> bool {
        self.items
            .iter()
            .any(|found| found.severity == Severity::Error && found.code < Code::WrongRoot)
    }

    /// The number of problems of a severity, including those that are not kept (not kept notes count as warnings).
    pub fn count(&self, severity: Severity) -> usize {
        let kept = self.items.iter().filter(|item| item.severity == severity).count();
        let dropped = match severity {
            Severity::Error => self.dropped[1],
            Severity::Warning => self.dropped[0],
            Severity::Note => 0,
        };
        kept.saturating_add(dropped)
    }

    /// True when nothing was found.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The problems, in the order of discovery until [`Diagnostics::sort`] is called.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.items.iter()
    }

    /// Sorts by file, position and code. Adds a problem if some were not kept.
    pub fn sort(&mut self) {
        let last_of_all = |item: &Diagnostic| item.code == Code::TooManyProblems;
        self.items.sort_by(|a, b| {
            let key = (last_of_all(a), a.primary.span, a.code, &a.message);
            key.cmp(&(last_of_all(b), b.primary.span, b.code, &b.message))
        });
        let dropped = self.dropped[0].saturating_add(self.dropped[1]);
        let noted = self.items.iter().any(last_of_all);
        if let Some(last) = self.items.last()
            && dropped > 0
            && !noted
        {
            self.items.push(Diagnostic::new(
                Code::TooManyProblems,
                last.primary.span,
                format!("{dropped} more problems are not listed"),
            ));
        }
    }

    /// Joins problems with one cause: an unknown name is one problem of a file, however often the file uses it. The first
    /// place stays the main one; call [`Diagnostics::sort`] first.
    pub fn join_repetitions(&mut self) {
        /// Maximum number of further places of one problem.
        const MAX_PLACES: usize = 10;
        let mut first_by_cause: HashMap<(Code, FileId, String), usize> = HashMap::new();
        let mut joined: Vec<Diagnostic> = Vec::with_capacity(self.items.len());
        for item in self.items.drain(..) {
            let is_of_name = matches!(item.code, Code::UnknownNode | Code::UnknownTree | Code::NameClash);
            if !is_of_name {
                joined.push(item);
                continue;
            }
            match first_by_cause.entry((item.code, item.primary.span.file, item.message.clone())) {
                Entry::Vacant(entry) => {
                    entry.insert(joined.len());
                    joined.push(item);
                }
                Entry::Occupied(entry) => {
                    let first = &mut joined[*entry.get()];
                    if let (Some(fix), Some(more)) = (&mut first.fix, item.fix) {
                        fix.edits.extend(more.edits);
                    }
                    if first.secondary.len() < MAX_PLACES {
                        first.secondary.push(Label {
                            span: item.primary.span,
                            text: "here too".to_owned(),
                        });
                    }
                }
            }
        }
        self.items = joined;
    }

    /// Calls `decide` for each problem, which sets its severity or (with `None`) removes it.
    pub fn regrade(&mut self, mut decide: impl FnMut(&Diagnostic) -> Option<Severity>) {
        self.items.retain_mut(|item| match decide(item) {
            Some(severity) => {
                item.severity = severity;
                true
            }
            None => false,
        });
        for slot in [0, 1] {
            self.kept[slot] = self
                .items
                .iter()
                .filter(|item| class(item.severity) == slot)
                .count();
        }
    }
}

/// Errors are counted separately: many warnings never hide an error.
fn class(severity: Severity) -> usize {
    usize::from(severity == Severity::Error)
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_message_is_one_readable_line() {
        assert_eq!(on_one_line("`a\nb`".into()), "`a b`");
        assert_eq!(on_one_line("\u{202E}evil\x1b".into()), "\\u{202e}evil\\u{1b}");
        assert_eq!(on_one_line("x".repeat(3000)).chars().count(), 501);
    }

    #[test]
    fn an_unknown_name_is_one_problem() {
        let mut sources = Sources::new();
        let file = sources.add_text("a.xml", Path::new(""), "x".repeat(50));
        let mut diagnostics = Diagnostics::new();
        for start in (0..20).rev() {
            diagnostics.push(Diagnostic::new(
                Code::UnknownNode,
                file.span(start, start + 1),
                "unknown",
            ));
            diagnostics.push(Diagnostic::new(
                Code::BadLiteral,
                file.span(start, start + 1),
                "bad",
            ));
        }
        diagnostics.push(Diagnostic::new(Code::UnknownNode, file.span(0, 1), "another"));
        diagnostics.sort();
        diagnostics.join_repetitions();
        let unknown: Vec<_> = diagnostics
            .iter()
            .filter(|item| item.code == Code::UnknownNode)
            .collect();
        assert_eq!(unknown.len(), 2);
        let first = unknown.iter().find(|item| item.message == "unknown").unwrap();
        assert_eq!((first.primary.span, first.secondary.len()), (file.span(0, 1), 10));
        assert_eq!(diagnostics.iter().count(), 22);
    }

    #[test]
    fn sorted_without_repetitions_and_bounded() {
        let mut sources = Sources::new();
        let file = sources.add_text("a.xml", Path::new(""), "x".repeat(5000));
        let mut diagnostics = Diagnostics::new();
        for start in (0..3000).rev() {
            for _ in 0..2 {
                diagnostics.push(Diagnostic::new(Code::NoRoot, file.span(start, start + 1), "m"));
            }
        }
        diagnostics.push(Diagnostic::new(Code::IgnoredText, file.span(0, 1), "w"));
        assert!(diagnostics.is_full(Severity::Error));
        diagnostics.sort();
        diagnostics.sort();
        let last = diagnostics.iter().next_back().unwrap();
        assert_eq!(last.code, Code::TooManyProblems);
        assert_eq!(last.message, "4001 more problems are not listed");
        assert_eq!(diagnostics.iter().count(), limits::DIAGNOSTICS + 2);
        assert_eq!(
            diagnostics.iter().next().unwrap().one_line(&sources),
            "a.xml:1:1: warning[NT0115]: w"
        );
    }
}
