//! The tree: the status of each node, the time in it, and why it failed or was halted.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::View;
use crate::bt::NodeStatus;
use crate::monitor::top::node_state::{NodeState, Shown};
use crate::monitor::top::words::{clean, duration, faint, mark, style};

/// One line per node that is not hidden, around the selected one.
pub(super) fn lines(view: &View<'_>) -> Vec<Line<'static>> {
    let visible = view.screen.visible(view.run, view.state);
    let selected = visible.iter().position(|(node, _)| *node == view.screen.selected);
    let last_first = visible.len().saturating_sub(view.height);
    let first = selected
        .unwrap_or(0)
        .saturating_sub(view.height / 2)
        .min(last_first);
    visible
        .iter()
        .skip(first)
        .take(view.height)
        .map(|(node, depth)| line(view, *node, *depth))
        .collect()
}

fn line(view: &View<'_>, node: usize, depth: usize) -> Line<'static> {
    let (head, state) = (&view.run.head.nodes[node], &view.state.nodes[node]);
    let shown = state.shown();
    let mut name_style = style(shown, state.is_over());
    if view.screen.is_found(view.run, node) {
        name_style = name_style.add_modifier(Modifier::UNDERLINED);
    }
    let fold = match (view.run.is_leaf(node), view.screen.folded.contains(&node)) {
        (true, _) => "",
        (false, true) => "▸ ",
        (false, false) => "▾ ",
    };
    let mut spans = vec![
        Span::raw("  ".repeat(depth)),
        Span::styled(format!("{} ", mark(shown)), style(shown, state.is_over())),
        Span::styled(fold, faint()),
        Span::styled(clean(&head.name), name_style),
    ];
    if head.name != head.id {
        spans.push(Span::styled(format!(" ({})", clean(&head.id)), faint()));
    }
    let note = note(state, view);
    if !note.is_empty() {
        spans.push(Span::styled(format!("  {}", clean(&note)), faint()));
    }
    let line = Line::from(spans);
    if node == view.screen.selected {
        line.style(Style::new().add_modifier(Modifier::REVERSED))
    } else {
        line
    }
}

/// The time in the status, or since the last one, and its reason.
pub(super) fn note(state: &NodeState, view: &View<'_>) -> String {
    let time = duration(view.state.time.since(state.since));
    if state.status == NodeStatus::Running {
        return time;
    }
    if state.last == Shown::Idle {
        return String::new();
    }
    let reason = state.reason.as_ref().map(|reason| format!(": {}", reason.text));
    format!("{time} ago{}", reason.unwrap_or_default())
}
