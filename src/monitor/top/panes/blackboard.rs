//! The blackboard: each key with its value, who wrote it, and when.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::View;
use crate::monitor::top::state::Entry;
use crate::monitor::top::words::{columns, duration, faint};

/// Age in ms below which a value is new.
const NEW: u128 = 500;

/// Widest key and writer.
const WIDEST: usize = 28;

/// One line per key, sorted.
pub(super) fn lines(view: &View<'_>) -> Vec<Line<'static>> {
    let mut entries: Vec<(String, &Entry)> = view
        .state
        .values
        .iter()
        .map(|(slot, entry)| (view.run.key(*slot), entry))
        .collect();
    entries.sort_unstable_by(|left, right| left.0.cmp(&right.0));
    let rows: Vec<_> = entries
        .into_iter()
        .map(|(key, entry)| row(key, entry, view))
        .collect();
    columns(&rows, [WIDEST, view.width.saturating_sub(40).max(20), WIDEST, 12])
}

fn row(key: String, entry: &Entry, view: &View<'_>) -> [Span<'static>; 4] {
    let age = view.state.time.since(entry.time);
    let is_new = age.as_millis() < NEW && !entry.time.as_nanos().eq(&0);
    let value = if is_new {
        Style::new().add_modifier(Modifier::BOLD)
    } else {
        Style::new()
    };
    [
        Span::raw(key),
        Span::styled(entry.value.clone(), value),
        Span::raw(view.run.name(entry.writer).to_owned()),
        Span::styled(format!("{} ago", duration(age)), faint()),
    ]
}
