//! Words and forms of texts that several parts of the screen use.

use std::time::Duration;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::node_state::Shown;

/// A duration for people: short, and as exact as it is useful.
pub(super) fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let whole = time.as_secs();
    match whole {
        0..10 => format!("{seconds:.2} s"),
        10..100 => format!("{seconds:.1} s"),
        100..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// The sign of a status.
pub(super) fn mark(shown: Shown) -> &'static str {
    match shown {
        Shown::Idle => "·",
        Shown::Running => "▶",
        Shown::Success => "✔",
        Shown::Failure => "✘",
        Shown::Skipped => "–",
        Shown::Halted => "■",
    }
}

/// The word of a status.
pub(super) fn word(shown: Shown) -> &'static str {
    match shown {
        Shown::Idle => "idle",
        Shown::Running => "running",
        Shown::Success => "success",
        Shown::Failure => "failure",
        Shown::Skipped => "skipped",
        Shown::Halted => "halted",
    }
}

/// The colour of a status. `is_over`: the node has it no longer.
pub(super) fn style(shown: Shown, is_over: bool) -> Style {
    let style = match shown {
        Shown::Idle => return faint(),
        Shown::Running => Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD),
        Shown::Success => Style::new().fg(Color::Green),
        Shown::Failure => Style::new().fg(Color::Red),
        Shown::Skipped => Style::new().fg(Color::Blue),
        Shown::Halted => Style::new().fg(Color::Magenta),
    };
    if is_over {
        style.add_modifier(Modifier::DIM)
    } else {
        style
    }
}

/// The style of what is less important.
pub(super) fn faint() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// A text without the characters that control a terminal: names and values are not from this program.
pub(super) fn clean(text: &str) -> String {
    text.chars()
        .map(|char| if char.is_control() { '\u{fffd}' } else { char })
        .collect()
}

/// Lines with columns: each is as wide as its widest cell, but not wider than its maximum.
pub(super) fn columns<const N: usize>(rows: &[[Span<'static>; N]], widest: [usize; N]) -> Vec<Line<'static>> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].width());
        cells.max().unwrap_or(0).min(widest[column])
    };
    let widths: [usize; N] = std::array::from_fn(width);
    rows.iter()
        .map(|row| {
            let cells = row.iter().zip(widths);
            let mut spans = Vec::with_capacity(2 * N);
            for (cell, width) in cells {
                let text = fit(&cell.content, width);
                let gap = width.saturating_sub(Span::raw(text.as_str()).width()) + 2;
                spans.push(Span::styled(text, cell.style));
                spans.push(Span::raw(" ".repeat(gap)));
            }
            spans.pop();
            Line::from(spans)
        })
        .collect()
}

/// A text that is not wider than this.
pub(super) fn fit(text: &str, width: usize) -> String {
    if Span::raw(text).width() <= width {
        return clean(text);
    }
    let mut short = String::new();
    for char in text.chars() {
        short.push(char);
        if Span::raw(short.as_str()).width() >= width {
            short.pop();
            break;
        }
    }
    clean(&short) + "…"
}

/// The plain text of a line.
pub(super) fn plain(line: &Line<'_>) -> String {
    let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
    clean(text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        for (milliseconds, text) in [
            (0, "0.00 s"),
            (9_990, "9.99 s"),
            (12_340, "12.3 s"),
            (125_000, "2 min 5 s"),
            (7_260_000, "2 h 1 min"),
        ] {
            assert_eq!(duration(Duration::from_millis(milliseconds)), text);
        }
    }

    #[test]
    fn columns_are_aligned_and_no_text_controls_the_terminal() {
        let rows = [
            ["goal".into(), "1".into()],
            ["a\x1b[2Jlong name".into(), "2".into()],
        ];
        let lines = columns(&rows, [8, 4]);
        assert_eq!(plain(&lines[0]), "goal      1");
        assert_eq!(plain(&lines[1]), "a\u{fffd}[2Jlo…  2");
    }
}
