//! The goals in flight with server, state and age, and those that ended, and why.

use ratatui::text::{Line, Span};

use super::View;
use crate::monitor::top::goal_table::Goal;
use crate::monitor::top::node_state::Shown;
use crate::monitor::top::words::{columns, duration, faint, style};

/// Widest columns: leaf, server, state, age.
const WIDEST: [usize; 4] = [24, 28, 60, 12];

/// One line per goal: first those whose leaf was halted and that still stop, then those in flight.
pub(super) fn lines(view: &View<'_>) -> Vec<Line<'static>> {
    let stopping = view
        .robot
        .report
        .goals
        .iter()
        .filter(|_| view.screen.time.is_none())
        .map(|goal| {
            let state = Span::styled(goal.state.clone(), style(Shown::Halted, false));
            [
                Span::raw(goal.leaf.clone()),
                Span::raw(goal.server.clone()),
                state,
                Span::raw(""),
            ]
        });
    let rows: Vec<_> = stopping
        .chain(view.state.goals.iter().map(|goal| row(goal, view)))
        .collect();
    columns(&rows, WIDEST)
}

fn row(goal: &Goal, view: &View<'_>) -> [Span<'static>; 4] {
    let leaf = goal.leaf.map_or("?", |leaf| view.run.name(Some(leaf)));
    let server = match goal.kind.as_str() {
        "goal" => goal.server.clone(),
        kind => format!("{} ({kind})", goal.server),
    };
    let state = if goal.details.is_empty() {
        goal.state.clone()
    } else {
        format!("{}: {}", goal.state, goal.details)
    };
    let kind = match (goal.ended, goal.state.as_str()) {
        (None, _) => Shown::Running,
        (_, "succeeded") => Shown::Success,
        (_, "failed") => Shown::Failure,
        _ => Shown::Halted,
    };
    let age = goal.ended.unwrap_or(view.state.time).since(goal.sent);
    [
        Span::raw(leaf.to_owned()),
        Span::raw(server),
        Span::styled(state, style(kind, false)),
        Span::styled(duration(age), faint()),
    ]
}
