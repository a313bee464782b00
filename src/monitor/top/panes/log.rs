//! The log: what the leaves did and why, or all changes of statuses.

use ratatui::text::{Line, Span};

use super::View;
use crate::bt::Time;
use crate::monitor::top::node_state::Shown;
use crate::monitor::top::run_log::LogLine;
use crate::monitor::top::words::{clean, faint, style};
use crate::monitor::web::{Change, ChangeKind};

/// Most lines that can be scrolled.
const MAX_LINES: usize = 1000;

/// The last lines, the newest first.
pub(super) fn lines(view: &View<'_>) -> Vec<Line<'static>> {
    let time = view.screen.time;
    if view.screen.has_all_changes {
        let changes = view.run.changes_before(time);
        return changes
            .filter_map(|change| change_line(view, change))
            .take(MAX_LINES)
            .collect();
    }
    let lines = view.run.log.until(time).iter().rev().take(MAX_LINES);
    lines.map(|line| log_line(view, line)).collect()
}

fn line(view: &View<'_>, time: Time, node: Option<u32>, text: &str, kind: Shown) -> Line<'static> {
    let seconds = time.as_nanos() as f64 / 1e9;
    let mut spans = vec![Span::styled(format!("{seconds:8.2} s  "), faint())];
    if node.is_some() {
        spans.push(Span::styled(
            format!("{} ", clean(view.run.name(node))),
            style(kind, false),
        ));
    }
    spans.push(Span::raw(clean(text)));
    Line::from(spans)
}

fn log_line(view: &View<'_>, of: &LogLine) -> Line<'static> {
    line(view, of.time, of.node, &of.text, of.kind)
}

fn change_line(view: &View<'_>, change: &Change) -> Option<Line<'static>> {
    let (node, text, kind) = match &change.kind {
        ChangeKind::Status(node, status) => (*node, status.name().to_owned(), (*status).into()),
        ChangeKind::Halted(node, reason) => (*node, format!("HALTED: {reason}"), Shown::Halted),
        ChangeKind::Skipped(node) => (*node, "SKIPPED".to_owned(), Shown::Skipped),
        _ => return None,
    };
    Some(line(view, change.time, Some(node), &text, kind))
}
