//! The numbers of a node in the text format of Prometheus.

use std::fmt::Write;

use crate::goal;
use crate::navigator::TickStatus;
use crate::record::Totals;

/// What is measured.
#[derive(Debug)]
pub(super) struct Numbers<'n> {
    /// `None`: the tick thread does not answer.
    pub(super) ticks: Option<&'n TickStatus>,
    /// The counters of the GoalTracker.
    pub(super) goals: goal::Counters,
    /// Goals that have not ended, and goals that were abandoned and may still execute.
    pub(super) live_and_abandoned: (usize, usize),
    /// The counters of the records.
    pub(super) totals: &'n Totals,
}

/// All numbers. Names begin with `navtree_`.
pub(super) fn metrics(numbers: &Numbers<'_>) -> String {
    let mut text = Text::default();
    text.gauge(
        "tick_thread_answers",
        "1 if the tick thread answers.",
        u64::from(numbers.ticks.is_some()) as f64,
    );
    if let Some(status) = numbers.ticks {
        ticks(&mut text, status);
    }
    let (live, abandoned) = numbers.live_and_abandoned;
    text.gauge("goals_live", "Goals on servers that have not ended.", live as f64);
    text.gauge(
        "goals_abandoned",
        "Goals that did not stop and may still execute.",
        abandoned as f64,
    );
    for (name, help, count) in [
        ("goal_requests_total", "Goal requests sent.", numbers.goals.sent),
        (
            "goal_cancels_total",
            "Cancel requests sent.",
            numbers.goals.cancels,
        ),
        (
            "goals_abandoned_total",
            "Goals that did not stop in time and were abandoned.",
            numbers.goals.abandoned,
        ),
        (
            "goals_unreachable_total",
            "Goals whose server vanished and did not come back.",
            numbers.goals.unreachable,
        ),
        (
            "goals_unanswered_total",
            "Goal requests that were never answered.",
            numbers.goals.unanswered,
        ),
        (
            "records_lost_total",
            "Records that the event stream has lost.",
            numbers.totals.lost(),
        ),
    ] {
        text.head(name, help, "counter");
        text.sample(name, &[], count as f64);
    }
    totals(&mut text, numbers.totals);
    motion(&mut text, numbers.totals);
    text.0
}

fn ticks(text: &mut Text, status: &TickStatus) {
    let statistics = &status.statistics;
    text.gauge(
        "tick_period_seconds",
        "The period of ticks.",
        status.period.as_secs_f64(),
    );
    text.gauge(
        "ticks_paused",
        "1 if ticks are paused on request.",
        u64::from(status.is_paused) as f64,
    );
    for (name, help, count) in [
        (
            "ticks_missed_total",
            "Ticks that were due and did not happen.",
            statistics.missed,
        ),
        (
            "ticks_skipped_total",
            "Ticks that /clock passed over.",
            statistics.skipped,
        ),
    ] {
        text.head(name, help, "counter");
        text.sample(name, &[], count as f64);
    }
    for (name, help, durations) in [
        (
            "tick_duration_seconds",
            "Work of the tick thread for a tick.",
            &statistics.durations,
        ),
        (
            "tick_lateness_seconds",
            "Time from the due time of a tick to its start.",
            &statistics.lateness,
        ),
    ] {
        text.head(name, help, "summary");
        for (quantile, share) in [("0.5", 0.5), ("0.99", 0.99), ("1", 1.0)] {
            let duration = durations.quantile(share).as_secs_f64();
            text.sample(name, &[("quantile", quantile)], duration);
        }
        text.sample(&format!("{name}_count"), &[], durations.total() as f64);
        text.sample(&format!("{name}_sum"), &[], durations.sum().as_secs_f64());
    }
}

fn totals(text: &mut Text, totals: &Totals) {
    const HELP: [(&str, &str); 5] = [
        (
            "goals",
            "Goals and calls of leaves by server, outcome and reason.",
        ),
        ("leaf_halts", "Halts of running leaves by reason."),
        ("navigations", "Ended navigations by status and error code."),
        ("recoveries", "Recoveries by the leaf that counted them."),
        ("tree_swaps", "Navigations with another tree than the one before."),
    ];
    let counts = totals.counts();
    for (family, help) in HELP {
        let name = format!("{family}_total");
        text.head(&name, help, "counter");
        for (counter, count) in counts.iter().filter(|(counter, _)| counter.name == family) {
            let labels: Vec<(&str, &str)> = counter
                .labels
                .iter()
                .map(|(name, value)| (*name, &**value))
                .collect();
            text.sample(&name, &labels, *count as f64);
        }
    }
}

fn motion(text: &mut Text, totals: &Totals) {
    let times = totals.motion_times();
    let name = "time_to_motion_seconds";
    text.head(
        name,
        "Time from the beginning of a navigation until the robot has moved by 5 cm or 0.1 rad.",
        "summary",
    );
    text.sample(&format!("{name}_count"), &[], times.count as f64);
    text.sample(&format!("{name}_sum"), &[], times.sum.as_secs_f64());
    text.gauge(
        "time_to_motion_longest_seconds",
        "The longest time to motion.",
        times.longest.as_secs_f64(),
    );
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, help: &str, kind: &str) {
        // A write to a string cannot fail.
        let _ = writeln!(
            self.0,
            "# HELP navtree_{name} {help}\n# TYPE navtree_{name} {kind}"
        );
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escape(value)))
            .collect();
        let labels = match labels.as_slice() {
            [] => String::new(),
            some => format!("{{{}}}", some.join(",")),
        };
        let _ = writeln!(self.0, "navtree_{name}{labels} {value}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, help, "gauge");
        self.sample(name, &[], value);
    }
}

fn escape(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::monitor::diagnostics::tick_status;

    #[test]
    fn numbers_have_the_form_of_prometheus() {
        let mut status = tick_status();
        status.statistics.durations.record(Duration::from_millis(1));
        status.statistics.missed = 3;
        let totals = Totals::default();
        let text = metrics(&Numbers {
            ticks: Some(&status),
            goals: goal::Counters::default(),
            live_and_abandoned: (2, 1),
            totals: &totals,
        });
        for line in [
            "# TYPE navtree_ticks_missed_total counter",
            "navtree_ticks_missed_total 3",
            "navtree_goals_live 2",
            "navtree_tick_period_seconds 0.01",
            "# TYPE navtree_time_to_motion_seconds summary",
            "navtree_time_to_motion_seconds_count 0",
            "navtree_tick_duration_seconds_count 1",
            "navtree_tick_duration_seconds_sum 0.001",
            "navtree_tick_duration_seconds{quantile=\"1\"} 0.001",
        ] {
            assert!(text.lines().any(|found| found == line), "no {line} in\n{text}");
        }
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(
                name.starts_with("navtree_") && value.parse::<f64>().is_ok(),
                "{line}"
            );
        }
    }

    #[test]
    fn labels_are_escaped() {
        let mut text = Text::default();
        text.sample("x", &[("leaf", "a\"b\\c\nd")], 1.0);
        assert_eq!(text.0, "navtree_x{leaf=\"a\\\"b\\\\c\\nd\"} 1\n");
    }
}
