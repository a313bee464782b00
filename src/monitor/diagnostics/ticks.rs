//! `navtree: ticks`: whether the tree is ticked at its rate (G10), and the durations of ticks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::condition::Condition;
use crate::bt::Time;
use crate::msg::DiagnosticLevel as Level;
use crate::navigator::{TickStatistics, TickStatus};

/// The evaluated period.
const SPAN: Duration = Duration::from_secs(10);
/// The interval between two stored states.
const STEP: Duration = Duration::from_secs(1);
/// A thread that has not answered for this time is not between two ticks.
const SILENCE: Duration = Duration::from_secs(1);
/// The tolerated share of missed ticks in a whole period. The scheduler of a desktop sometimes misses one in a hundred.
const TOLERABLE: f64 = 0.01;
/// From this share of missed ticks on, a robot no longer reacts as its tree specifies.
const INTOLERABLE: f64 = 0.5;

/// The observed state of the tick thread.
#[derive(Clone, Copy, Debug)]
pub struct TicksSeen<'s> {
    /// Its last answer.
    pub tick_status: Option<&'s TickStatus>,
    /// The time of the request for the next answer.
    pub asked: Time,
    /// The leaf that occupies the tick thread, if there is one.
    pub leaf: Option<&'s Arc<str>>,
}

/// The latest states of the counters. Older ticks do not affect the status.
#[derive(Debug, Default)]
pub(super) struct Window(VecDeque<(Time, TickStatistics)>);

impl Window {
    /// Stores the current state.
    fn take(&mut self, tick_status: &TickStatus, now: Time) {
        if self.0.back().is_none_or(|(at, ..)| now.since(*at) >= STEP) {
            self.0.push_back((now, tick_status.statistics.clone()));
        }
        while self.0.get(1).is_some_and(|(at, ..)| now.since(*at) >= SPAN) {
            self.0.pop_front();
        }
    }

    pub(super) fn status(&mut self, seen: TicksSeen<'_>, now: Time) -> Condition {
        let Some(tick_status) = seen.tick_status else {
            let mut condition = Condition::ok("");
            condition.find(Level::Stale, "no status from the tick thread yet");
            return condition;
        };
        self.take(tick_status, now);
        let all = &tick_status.statistics;
        let before = self.0.front().map_or(all, |(_, earlier)| earlier);
        let lately = all.durations.since(&before.durations);
        let ticks = lately.total();
        let missed = all.missed.saturating_sub(before.missed);
        let skipped = all.skipped.saturating_sub(before.skipped);
        let due = (ticks + missed) as f64;
        let share = if due > 0.0 { missed as f64 / due } else { 0.0 };
        let nominal = 1.0 / tick_status.period.as_secs_f64();
        let activity = match &tick_status.navigator {
            navigator if navigator.is_stopping => "stopping goals and jobs of a tree",
            navigator if navigator.is_running && tick_status.is_paused => "paused",
            // `/clock` may stand still.
            navigator if navigator.is_running && ticks == 0 => "waiting for the next tick",
            navigator if navigator.is_running => "ticking",
            _ => "idle",
        };
        let mut condition = Condition::ok(activity);
        let silent = now.since(seen.asked);
        if silent >= SILENCE {
            match seen.leaf {
                Some(leaf) => condition.find(Level::Error, format!("leaf `{leaf}` blocks the tick thread")),
                None => condition.find(Level::Stale, "the tick thread does not answer"),
            }
            condition.value("no response for (s)", format_args!("{:.1}", silent.as_secs_f64()));
        }
        if missed as f64 > TOLERABLE * SPAN.as_secs_f64() * nominal {
            let level = if share > INTOLERABLE {
                Level::Error
            } else {
                Level::Warn
            };
            condition.find(
                level,
                format!("{missed} of {} ticks missed recently", ticks + missed),
            );
        }
        condition.value("activity", activity);
        condition.value("period (ms)", tick_status.period.as_secs_f64() * 1e3);
        if due > 0.0 {
            let share = ticks as f64 / (due + skipped as f64);
            condition.value("rate (Hz)", format_args!("{:.1}", nominal * share));
        }
        for (when, durations) in [("recently", &lately), ("in total", &all.durations)] {
            if durations.total() > 0 {
                let (median, last) = (durations.quantile(0.5), durations.quantile(0.99));
                condition.value(format!("median {when} (us)"), microseconds(median));
                condition.value(format!("99th percentile {when} (us)"), microseconds(last));
            }
        }
        condition.value("longest in total (us)", microseconds(all.durations.longest()));
        if all.lateness.total() > 0 {
            let late = all.lateness.quantile(0.99);
            condition.value("99th percentile of lateness in total (us)", microseconds(late));
        }
        condition.value("missed recently", missed);
        condition.value("skipped by /clock recently", skipped);
        condition.value("missed in total", all.missed);
        condition.value("ticks in total", all.durations.total());
        condition
    }
}

fn microseconds(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64() * 1e6)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{tick_status, value};
    use super::*;

    fn figures(ticks: u64, missed: u64) -> TickStatus {
        let mut tick_status = tick_status();
        tick_status.navigator.is_running = true;
        tick_status.statistics.missed = missed;
        (0..ticks).for_each(|_| tick_status.statistics.durations.record(Duration::from_micros(80)));
        tick_status
    }

    /// The condition at second `at`, with the last request to the thread at second `asked`.
    fn check(window: &mut Window, tick_status: &TickStatus, (asked, at): (u64, u64)) -> Condition {
        let leaf: Arc<str> = "Drive/arm".into();
        let seen = TicksSeen {
            tick_status: Some(tick_status),
            asked: Time::from_millis(1000 * asked),
            leaf: Some(&leaf),
        };
        window.status(seen, Time::from_millis(1000 * at))
    }

    #[test]
    fn g10_ticks_missed_lately_are_a_warning_and_those_of_long_ago_are_not() {
        let mut window = Window::default();
        let steady = check(&mut window, &figures(1000, 500), (0, 0));
        assert_eq!(
            steady.level,
            Level::Ok,
            "what came before is not judged: {steady:?}"
        );
        assert_eq!(check(&mut window, &figures(1500, 502), (5, 5)).level, Level::Ok);
        let late = check(&mut window, &figures(1900, 600), (9, 9));
        assert_eq!(
            (late.level, late.message.as_str()),
            (Level::Warn, "100 of 1000 ticks missed recently")
        );
        assert_eq!(
            (value(&late, "rate (Hz)"), value(&late, "missed in total")),
            ("90.0", "600")
        );
        for second in 10..=30 {
            check(
                &mut window,
                &figures(1900 + 100 * (second - 9), 600),
                (second, second),
            );
        }
        let again = check(&mut window, &figures(4100, 600), (31, 31));
        assert_eq!((again.level, again.message.as_str()), (Level::Ok, "ticking"));
        assert_eq!(
            (value(&again, "rate (Hz)"), value(&again, "missed recently")),
            ("100.0", "0")
        );
        let median: f64 = value(&again, "median recently (us)").parse().unwrap();
        assert!((80.0..=90.0).contains(&median), "{median}");
    }

    #[test]
    fn g10_a_slow_first_tick_is_not_reported() {
        let mut window = Window::default();
        check(&mut window, &figures(0, 0), (0, 0));
        assert_eq!(check(&mut window, &figures(1, 9), (1, 1)).level, Level::Ok);
    }

    #[test]
    fn g10_half_the_tick_rate_is_an_error() {
        let mut window = Window::default();
        check(&mut window, &figures(0, 0), (0, 0));
        assert_eq!(check(&mut window, &figures(100, 101), (2, 2)).level, Level::Error);
    }

    #[test]
    fn g10_ticks_that_a_slow_clock_does_not_allow_are_not_missed() {
        let mut window = Window::default();
        check(&mut window, &figures(0, 0), (0, 0));
        // /clock at 40 Hz.
        let mut tick_status = figures(200, 0);
        tick_status.statistics.skipped = 300;
        let slow = check(&mut window, &tick_status, (5, 5));
        assert_eq!((slow.level, slow.message.as_str()), (Level::Ok, "ticking"));
        assert_eq!(
            (
                value(&slow, "rate (Hz)"),
                value(&slow, "skipped by /clock recently")
            ),
            ("40.0", "300")
        );
    }

    #[test]
    fn a_run_without_ticks_is_not_called_ticking() {
        let mut window = Window::default();
        check(&mut window, &figures(7, 0), (0, 0));
        assert_eq!(check(&mut window, &figures(8, 0), (1, 1)).message, "ticking");
        // /clock stands still.
        for second in 2..=20 {
            check(&mut window, &figures(8, 0), (second, second));
        }
        let still = check(&mut window, &figures(8, 0), (21, 21));
        assert_eq!(still.message, "waiting for the next tick");
    }

    #[test]
    fn g8_a_leaf_that_blocks_the_thread_is_named() {
        let mut window = Window::default();
        assert_eq!(check(&mut window, &figures(7, 0), (5, 5)).level, Level::Ok);
        let kept = check(&mut window, &figures(7, 0), (5, 8));
        assert_eq!(kept.level, Level::Error);
        assert_eq!(kept.message, "leaf `Drive/arm` blocks the tick thread");
        assert_eq!(value(&kept, "no response for (s)"), "3.0");
    }

    #[test]
    fn the_state_is_unknown_until_the_thread_has_answered() {
        let nothing = TicksSeen {
            tick_status: None,
            asked: Time::ZERO,
            leaf: None,
        };
        assert_eq!(Window::default().status(nothing, Time::ZERO).level, Level::Stale);
        let mut window = Window::default();
        let seen = TicksSeen {
            tick_status: Some(&figures(7, 0)),
            ..nothing
        };
        assert_eq!(window.status(seen, Time::from_millis(5000)).level, Level::Stale);
    }
}
