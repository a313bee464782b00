//! The screen as plain text, once.

use std::fmt::Write as _;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use super::panes::{View, header, lines};
use super::screen::{Pane, Screen};
use super::source::{Source, open};
use super::words::plain;
use crate::bt::Time;

/// Lines of the goals and of the log.
const SHORT: usize = 20;
/// Time for the state of the tick thread, which a leaf may block.
const REPORT_TIMEOUT: Duration = Duration::from_secs(2);
/// Width of the text.
const WIDTH: usize = 120;

/// Waits for all that happened so far and returns it as text. `at`: the time in the run; `None`: the newest.
///
/// # Errors
/// A source cannot be reached, or does not answer within `timeout`.
pub fn once(sources: Vec<Source>, at: Option<Duration>, timeout: Duration) -> Result<String, String> {
    let deadline = Instant::now() + timeout;
    let (mut screen, updates) = open(sources).map_err(|error| error.to_string())?;
    let report_deadline = deadline.min(Instant::now() + REPORT_TIMEOUT);
    loop {
        let is_behind = screen.robots.iter().any(|robot| !robot.is_up_to_date);
        let is_incomplete = screen.robots.iter().any(|robot| robot.report.is_incomplete());
        if !is_behind && !is_incomplete {
            break;
        }
        let until = if is_behind { deadline } else { report_deadline };
        let left = until.saturating_duration_since(Instant::now());
        match updates.recv_timeout(left) {
            Ok((number, update)) => screen.robots[number].take(update),
            Err(_) if !is_behind => break,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(format!("no complete answer within {} s", timeout.as_secs_f64()));
            }
        }
        if let Some(trouble) = screen.robots.iter().find_map(|robot| robot.trouble.as_ref()) {
            return Err(trouble.clone());
        }
    }
    screen.time = at.map(|at| Time::ZERO + at);
    Ok(text(&mut screen))
}

/// All robots, one after the other.
pub(super) fn text(screen: &mut Screen) -> String {
    let mut text = String::new();
    for number in 0..screen.robots.len() {
        screen.shown = number;
        screen.selected = 0;
        screen.follow();
        if number > 0 {
            text.push('\n');
        }
        robot_text(screen, &mut text);
    }
    text
}

fn robot_text(screen: &Screen, text: &mut String) {
    for line in header(screen) {
        let _ = writeln!(text, "{}", plain(&line));
    }
    let (Some(robot), Some(run)) = (screen.robot(), screen.run()) else {
        return;
    };
    let state = run.at(screen.time);
    for pane in Pane::ALL {
        let height = match pane {
            Pane::Tree | Pane::Blackboard | Pane::Node => usize::MAX,
            Pane::Goals | Pane::Ticks | Pane::Log => SHORT,
        };
        let view = View {
            screen,
            robot,
            run,
            state: &state,
            height,
            width: WIDTH,
        };
        let lines = lines(pane, &view);
        if lines.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{}", pane.title());
        for line in lines.iter().take(height) {
            let _ = writeln!(text, "  {}", plain(line));
        }
    }
}
