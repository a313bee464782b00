//! The places of the panes.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};

use super::{View, header, lines};
use crate::monitor::top::screen::{Pane, Screen};
use crate::monitor::top::screen_keys::HELP;
use crate::monitor::top::words::faint;

/// Smallest size at which all panes are shown. On a smaller one: the tree and one more.
const WIDE: (u16, u16) = (100, 24);

/// Draws everything.
pub(in crate::monitor::top) fn draw(frame: &mut Frame<'_>, screen: &Screen) {
    let head = header(screen);
    let height = u16::try_from(head.len()).unwrap_or(1);
    let [top, middle, bottom] = Layout::vertical([
        Constraint::Length(height),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(head), top);
    frame.render_widget(Paragraph::new(footer(screen)), bottom);
    for (pane, area) in places(screen, middle) {
        draw_pane(frame, screen, pane, area);
    }
    if screen.has_help {
        draw_help(frame, middle);
    }
}

/// Maximum number of lines with counters of the node.
const MAX_COUNTERS: u16 = 6;

/// The places of the shown panes.
fn places(screen: &Screen, area: Rect) -> Vec<(Pane, Rect)> {
    if area.width < WIDE.0 || area.height < WIDE.1 {
        let [above, below] = Layout::vertical([Constraint::Fill(3), Constraint::Fill(2)]).areas(area);
        let second = if screen.focus == Pane::Tree {
            Pane::Log
        } else {
            screen.focus
        };
        return vec![(Pane::Tree, above), (second, below)];
    }
    let [left, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
    let [tree, log] = Layout::vertical([Constraint::Fill(3), Constraint::Fill(1)]).areas(left);
    let counters = screen
        .robot()
        .map_or(0, |robot| robot.report.counters.lines().len());
    let counters = u16::try_from(counters).unwrap_or(u16::MAX).min(MAX_COUNTERS);
    let [node, goals, blackboard, ticks] = Layout::vertical([
        Constraint::Fill(2),
        Constraint::Fill(2),
        Constraint::Fill(3),
        Constraint::Length(5 + counters),
    ])
    .areas(right);
    vec![
        (Pane::Tree, tree),
        (Pane::Log, log),
        (Pane::Node, node),
        (Pane::Goals, goals),
        (Pane::Blackboard, blackboard),
        (Pane::Ticks, ticks),
    ]
}

fn draw_pane(frame: &mut Frame<'_>, screen: &Screen, pane: Pane, area: Rect) {
    let has_focus = screen.focus == pane;
    let border = if has_focus {
        Style::new().add_modifier(Modifier::BOLD)
    } else {
        faint()
    };
    let block = Block::new()
        .borders(Borders::ALL)
        .border_style(border)
        .title(pane.title());
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let (Some(robot), Some(run)) = (screen.robot(), screen.run()) else {
        return;
    };
    let state = run.at(screen.time);
    let view = View {
        screen,
        robot,
        run,
        state: &state,
        height: usize::from(inner.height),
        width: usize::from(inner.width),
    };
    let lines = lines(pane, &view);
    // The tree scrolls with the selection.
    let first = if has_focus && pane != Pane::Tree {
        screen.scroll
    } else {
        0
    };
    let first = first.min(lines.len().saturating_sub(1));
    let shown: Vec<Line<'_>> = lines.into_iter().skip(first).take(view.height).collect();
    frame.render_widget(Paragraph::new(Text::from(shown)), inner);
}

fn footer(screen: &Screen) -> Line<'static> {
    if screen.is_searching {
        return Line::from(format!("/{}", screen.search));
    }
    let mark = |is_on: bool, text: &str| {
        if is_on {
            format!("[{text}]")
        } else {
            text.to_owned()
        }
    };
    Line::styled(
        [
            mark(screen.is_following, "f follow"),
            mark(screen.is_active_only, "a active"),
            mark(screen.time.is_some(), "p pause"),
            mark(screen.has_all_changes, "c changes"),
            mark(!screen.search.is_empty(), "/ search"),
            "Tab pane".to_owned(),
            "? help".to_owned(),
            "q end".to_owned(),
        ]
        .join("  "),
        faint(),
    )
}

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let rows: Vec<[ratatui::text::Span<'static>; 2]> = HELP
        .iter()
        .map(|(keys, meaning)| [(*keys).into(), (*meaning).into()])
        .collect();
    let lines = crate::monitor::top::words::columns(&rows, [20, 60]);
    let height = u16::try_from(lines.len() + 2)
        .unwrap_or(u16::MAX)
        .min(area.height);
    let place = Rect {
        width: 60.min(area.width),
        height,
        ..area
    };
    frame.render_widget(Clear, place);
    frame.render_widget(
        Paragraph::new(lines).block(Block::new().borders(Borders::ALL).title("Keys")),
        place,
    );
}
