//! Edits of a text: collected first, then applied together.

use std::ops::Range;

/// Replacements of ranges that do not overlap.
#[derive(Default)]
pub(super) struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    /// Replaces a range by a text.
    pub(super) fn replace(&mut self, range: Range<usize>, with: impl Into<String>) {
        self.0.push((range, with.into()));
    }

    /// Applies all edits. If two overlap, the first in the text counts.
    pub(super) fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out = String::with_capacity(text.len() + 64);
        let mut done = 0;
        for (range, with) in self.0 {
            let Some(kept) = text.get(done..range.start) else {
                continue;
            };
            out.push_str(kept);
            out.push_str(&with);
            done = range.end;
        }
        out.push_str(text.get(done..).unwrap_or_default());
        out
    }
}
