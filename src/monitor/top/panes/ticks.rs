//! The ticks: their number, their work, those that were missed, and the counters of the node.

use std::time::Duration;

use ratatui::text::Line;

use super::View;
use crate::monitor::top::words::clean;

/// Signs for parts of the longest tick.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Numbers, and the work of the last ticks as bars.
pub(super) fn lines(view: &View<'_>) -> Vec<Line<'static>> {
    let ticks = &view.state.ticks;
    let mut lines = vec![Line::from(format!(
        "{} ticks, {} missed, {} records lost",
        ticks.count, ticks.missed, view.state.lost
    ))];
    if let (Some(last), Some((mean, max))) = (ticks.last.back(), ticks.mean_and_max()) {
        let milliseconds = |time: Duration| format!("{:.3} ms", time.as_secs_f64() * 1e3);
        lines.push(Line::from(format!(
            "last {}, mean {}, longest {} of {}",
            milliseconds(*last),
            milliseconds(mean),
            milliseconds(max),
            ticks.last.len()
        )));
        let shown = ticks.last.iter().rev().take(view.width).rev();
        lines.push(Line::from(shown.map(|took| bar(*took, max)).collect::<String>()));
    }
    let counters = view.robot.report.counters.lines();
    lines.extend(counters.iter().map(|line| Line::from(clean(line))));
    lines
}

fn bar(took: Duration, max: Duration) -> char {
    let part = took.as_secs_f64() / max.as_secs_f64().max(1e-9);
    BARS[((part * 8.0) as usize).min(7)]
}
