//! The first line: the tree, its status, the goal, the time and the connection.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::monitor::top::node_state::Shown;
use crate::monitor::top::robot::Robot;
use crate::monitor::top::run::Run;
use crate::monitor::top::run_log::end_kind;
use crate::monitor::top::screen::Screen;
use crate::monitor::top::state::State;
use crate::monitor::top::words::{clean, faint, style};
use crate::monitor::web::Mode;

/// The header: one line, and one more for each of several robots' names, a lost connection or an error.
pub(in crate::monitor::top) fn header(screen: &Screen) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if screen.robots.len() > 1 {
        lines.push(robots(screen));
    }
    let Some(robot) = screen.robot() else {
        return lines;
    };
    match &robot.run {
        Some(run) => lines.push(run_line(screen, robot, run)),
        None if robot.is_up_to_date => lines.push(Line::from("no navigation yet")),
        None if robot.trouble.is_none() => lines.push(Line::from(format!("connecting to {} …", robot.name))),
        None => {}
    }
    if let Some(trouble) = &robot.trouble {
        let text = format!("no connection, trying again: {}", clean(trouble));
        lines.push(Line::styled(text, style(Shown::Failure, false)));
    }
    lines
}

fn robots(screen: &Screen) -> Line<'static> {
    let names = screen.robots.iter().enumerate().map(|(index, robot)| {
        let text = format!(" {} {} ", index + 1, clean(&robot.name));
        if index == screen.shown {
            Span::styled(text, Style::new().add_modifier(Modifier::REVERSED))
        } else {
            Span::raw(text)
        }
    });
    Line::from(names.collect::<Vec<_>>())
}

fn run_line(screen: &Screen, robot: &Robot, run: &Run) -> Line<'static> {
    let state = run.at(screen.time);
    let (word, kind) = status(robot, run, &state, screen.time.is_none());
    let mut facts = Vec::new();
    match &run.head.navigation {
        Some(navigation) => {
            let goal = navigation
                .poses
                .last()
                .map(|(x, y, _)| format!(" to ({x:.2}, {y:.2})"));
            facts.push(format!("{}{}", navigation.action, goal.unwrap_or_default()));
        }
        None => facts.push(format!("{} nodes", run.head.nodes.len())),
    }
    if run.head.mode != Mode::Tree {
        let seconds = state.time.as_nanos() as f64 / 1e9;
        facts.push(format!("{seconds:.2} s"));
    }
    if screen.time.is_some() {
        facts.push("display paused".to_owned());
    }
    if let Some(end) = state
        .end
        .as_ref()
        .filter(|end| end.code != 0 || !end.message.is_empty())
    {
        facts.push(format!("error code {}: {}", end.code, end.message));
    }
    if !state.error.is_empty() {
        facts.push(state.error.clone());
    }
    Line::from(vec![
        Span::styled(clean(&run.head.tree), Style::new().add_modifier(Modifier::BOLD)),
        Span::raw("  "),
        Span::styled(word, style(kind, false)),
        Span::styled(format!("  {}", clean(&facts.join(" · "))), faint()),
    ])
}

fn status(robot: &Robot, run: &Run, state: &State, is_newest: bool) -> (String, Shown) {
    if run.head.mode == Mode::Tree {
        return ("tree".to_owned(), Shown::Idle);
    }
    if robot.report.paused && is_newest {
        return ("paused".to_owned(), Shown::Halted);
    }
    if let Some(end) = &state.end {
        let word = if end.status == "canceled" {
            "cancelled"
        } else {
            &end.status
        };
        return (clean(word), end_kind(&end.status));
    }
    if state.is_stopping {
        return ("stopping".to_owned(), Shown::Halted);
    }
    ("running".to_owned(), Shown::Running)
}
