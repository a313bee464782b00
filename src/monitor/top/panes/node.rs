//! The selected node: its type, status, activations, ports and place.

use ratatui::text::{Line, Span};

use super::View;
use super::tree::note;
use crate::monitor::top::words::{clean, columns, faint, style, word};

/// Widest name of a port.
const NAME: usize = 28;

/// The lines of the selected node.
pub(super) fn lines(view: &View<'_>) -> Vec<Line<'static>> {
    let node = view.screen.selected;
    let (Some(head), Some(state)) = (view.run.head.nodes.get(node), view.state.nodes.get(node)) else {
        return Vec::new();
    };
    let shown = state.shown();
    let file = head.file.and_then(|file| view.run.head.files.get(file));
    let place = match (file, head.line) {
        (Some(file), Some(line)) => format!("{}:{line}", file.name.rsplit('/').next().unwrap_or_default()),
        _ => String::new(),
    };
    let mut lines = vec![
        Line::from(vec![
            Span::raw(clean(&head.name)),
            Span::styled(
                format!("  {} {}", clean(&head.id), clean(&head.kind).to_lowercase()),
                faint(),
            ),
        ]),
        Line::from(vec![
            Span::styled(word(shown), style(shown, false)),
            Span::raw(format!("  {}", clean(&note(state, view)))),
        ]),
        Line::from(format!("activations: {}  {}", state.activations, clean(&place))),
    ];
    let ports: Vec<[Span<'static>; 2]> = head
        .ports
        .iter()
        .map(|(name, value)| [Span::styled(name.clone(), faint()), Span::raw(value.clone())])
        .collect();
    lines.extend(columns(&ports, [NAME, view.width]));
    lines
}
