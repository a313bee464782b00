//! `navtree: goals`: the goals that the GoalTracker tracks or has given up (G3).

use std::sync::Arc;

use super::condition::Condition;
use crate::goal::{AbandonedGoal, Counters, GoalId, GoalIncident, IncidentKind, LiveGoal, Phase};
use crate::msg::DiagnosticLevel as Level;
use crate::record::Totals;

/// The observed goals, each with the name of its server.
#[derive(Clone, Debug, Default)]
pub struct GoalsSeen {
    /// Goals that have not ended, oldest first.
    pub live: Vec<(LiveGoal, Arc<str>)>,
    /// Goals that were given up and may be executing, oldest first.
    pub abandoned: Vec<(AbandonedGoal, Arc<str>)>,
    /// The counters so far.
    pub counters: Counters,
    /// The last report, with the name of its server.
    pub last_report: Option<(GoalIncident, Arc<str>)>,
    /// The counters of the event stream.
    pub totals: Totals,
}

pub(super) fn status(seen: &GoalsSeen) -> Condition {
    let left = |goal: &LiveGoal| !goal.phase.has_leaf() && goal.phase.may_execute();
    let stopping = |goal: &LiveGoal| matches!(goal.phase, Phase::CancelPending | Phase::Canceling);
    let late =
        |goal: &LiveGoal| stopping(goal) && !goal.holds_back && !goal.is_presumed_lost && !goal.is_over;
    let unreachable = |goal: &LiveGoal| goal.phase == Phase::Unreachable;
    let count = |which: &dyn Fn(&LiveGoal) -> bool| seen.live.iter().filter(|(goal, _)| which(goal)).count();
    let mut condition = Condition::ok(match seen.live.len() {
        0 => "no goals".to_owned(),
        1 => "1 goal".to_owned(),
        count => format!("{count} goals"),
    });
    let mut named = Vec::new();
    for (abandoned, server) in &seen.abandoned {
        let goal = words(server, &abandoned.leaf, abandoned.goal);
        // A goal that was accepted by a server which is present is worse than one that may have been lost.
        let (level, how) = match abandoned.what {
            IncidentKind::GaveUpUnanswered => (Level::Warn, "was never answered"),
            IncidentKind::GaveUpUnreachable => (Level::Warn, "was lost with its server"),
            IncidentKind::GaveUpDenied => (
                Level::Error,
                "is not known to have stopped, and one of several servers does not know it,",
            ),
            _ => (Level::Error, "did not stop"),
        };
        condition.find(
            level,
            format!("{goal} {how} and was given up: it may still execute"),
        );
        named.push(("given up", goal));
    }
    for (goal, server) in seen.live.iter().filter(|(goal, _)| late(goal)) {
        let goal = words(server, &goal.leaf, goal.goal);
        condition.find(
            Level::Warn,
            format!("{goal} is not known to have stopped in time"),
        );
        named.push(("not stopped in time", goal));
    }
    for (goal, server) in seen.live.iter().filter(|(goal, _)| unreachable(goal)) {
        let goal = words(server, &goal.leaf, goal.goal);
        condition.find(Level::Warn, format!("{goal}: server gone or replaced"));
        named.push(("unreachable", goal));
    }
    condition.value("live", seen.live.len());
    condition.value("stopping", count(&|goal| left(goal) && !late(goal)));
    condition.value("not stopped in time", count(&late));
    condition.value("unreachable", count(&unreachable));
    condition.value("given up, may still execute", seen.abandoned.len());
    for (number, (what, goal)) in named.into_iter().enumerate() {
        condition.value(format!("{}. {what}", number + 1), goal);
    }
    if let Some((report, server)) = &seen.last_report {
        condition.value("last report", format_args!("{server}: {report}"));
    }
    let counters = seen.counters;
    for (key, counter) in [
        ("sent in total", counters.sent),
        ("accepted in total", counters.accepted),
        ("adopted in total", counters.adopted),
        ("ended in total", counters.ended),
        ("given up in total", counters.abandoned),
        ("unreachable in total", counters.unreachable),
        ("unanswered in total", counters.unanswered),
        ("cancels in total", counters.cancels),
        ("results lost in total", counters.results_lost),
        ("calls in total", counters.calls),
        ("calls abandoned in total", counters.calls_abandoned),
        ("late answers in total", counters.late),
    ] {
        condition.value(key, counter);
    }
    totals(&mut condition, &seen.totals);
    condition
}

/// Adds what the event stream counts.
fn totals(condition: &mut Condition, totals: &Totals) {
    for (counter, count) in totals.counts() {
        let labels = counter.labels.iter().map(|(_, value)| &**value);
        let words: Vec<&str> = std::iter::once(counter.name).chain(labels).collect();
        condition.value(words.join(" ").trim_end(), count);
    }
    let times = totals.motion_times();
    if times.count > 0 {
        let mean = times.sum.as_secs_f64() / times.count as f64;
        for (key, seconds) in [
            ("last time to motion (s)", times.last.as_secs_f64()),
            ("mean time to motion (s)", mean),
            ("longest time to motion (s)", times.longest.as_secs_f64()),
        ] {
            condition.value(key, format_args!("{seconds:.2}"));
        }
    }
    condition.value("records lost", totals.lost());
}

fn words(server: &str, leaf: &str, goal: GoalId) -> String {
    let leaf = if leaf.is_empty() {
        "an earlier activation or run"
    } else {
        leaf
    };
    format!("{server}: goal {goal} of {leaf}")
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;
    use crate::bt::HaltReason;
    use crate::goal::{ServerId, Ticket};

    fn live(phase: Phase, holds_back: bool) -> (LiveGoal, Arc<str>) {
        let goal = LiveGoal {
            goal: GoalId([0xab; 16]),
            server: ServerId(1),
            ticket: Some(Ticket(1)),
            leaf: "Drive/FollowPath".into(),
            phase,
            halted: (!phase.has_leaf()).then_some(HaltReason::GoalCanceled),
            holds_back,
            is_denied_again: false,
            is_presumed_lost: false,
            is_over: false,
        };
        (goal, "follow_path".into())
    }

    fn of(live: Vec<(LiveGoal, Arc<str>)>) -> Condition {
        status(&GoalsSeen {
            live,
            ..GoalsSeen::default()
        })
    }

    #[test]
    fn running_goals_and_goals_that_stop_in_time_or_have_ended_are_ok() {
        assert_eq!(of(vec![]).message, "no goals");
        let both = of(vec![live(Phase::Executing, false), live(Phase::Canceling, true)]);
        assert_eq!((both.level, both.message.as_str()), (Level::Ok, "2 goals"));
        assert_eq!((value(&both, "live"), value(&both, "stopping")), ("2", "1"));
        let (mut over, server) = live(Phase::Canceling, false);
        over.is_over = true;
        assert_eq!(of(vec![(over, server)]).level, Level::Ok);
    }

    #[test]
    fn g3_a_goal_that_does_not_stop_is_named_with_its_leaf_and_its_server() {
        let late = of(vec![live(Phase::Executing, false), live(Phase::Canceling, false)]);
        assert_eq!(late.level, Level::Warn);
        assert!(
            late.message.starts_with("follow_path: goal abab"),
            "{}",
            late.message
        );
        assert!(
            late.message
                .ends_with("of Drive/FollowPath is not known to have stopped in time"),
            "{}",
            late.message
        );
        assert!(value(&late, "1. not stopped in time").contains("Drive/FollowPath"));
        assert_eq!(value(&late, "stopping"), "0");
    }

    #[test]
    fn g3_a_goal_that_was_given_up_is_an_error_whatever_else_there_is() {
        let (goal, server) = live(Phase::Canceling, false);
        let abandoned = AbandonedGoal {
            goal: goal.goal,
            server: goal.server,
            ticket: None,
            leaf: goal.leaf.clone(),
            what: IncidentKind::GaveUpStopping,
        };
        let report = GoalIncident {
            server: goal.server,
            goal: Some(goal.goal),
            ticket: None,
            leaf: goal.leaf.clone(),
            halted: None,
            what: IncidentKind::GaveUpStopping,
        };
        let seen = GoalsSeen {
            live: vec![live(Phase::Canceling, false), live(Phase::Unreachable, false)],
            abandoned: vec![(abandoned, Arc::clone(&server))],
            counters: Counters {
                abandoned: 3,
                ..Counters::default()
            },
            last_report: Some((report, server)),
            totals: Totals::default(),
        };
        let condition = status(&seen);
        assert_eq!(condition.level, Level::Error);
        assert!(
            condition
                .message
                .contains("of Drive/FollowPath did not stop and was given up"),
            "{condition:?}"
        );
        assert!(value(&condition, "3. unreachable").starts_with("follow_path"));
        assert_eq!(value(&condition, "given up in total"), "3");
        assert!(
            value(&condition, "last report").starts_with("follow_path: Drive/FollowPath: goal did not stop")
        );
    }

    #[test]
    fn g3_a_goal_lost_with_its_server_is_reported_with_its_unknown_state() {
        let of_kind = |what| {
            let (goal, server) = live(Phase::Canceling, false);
            let abandoned = AbandonedGoal {
                goal: goal.goal,
                server: goal.server,
                ticket: None,
                leaf: goal.leaf,
                what,
            };
            status(&GoalsSeen {
                abandoned: vec![(abandoned, server)],
                ..GoalsSeen::default()
            })
        };
        for (what, how) in [
            (
                IncidentKind::GaveUpUnreachable,
                "was lost with its server and was given up",
            ),
            (
                IncidentKind::GaveUpUnanswered,
                "was never answered and was given up",
            ),
        ] {
            let condition = of_kind(what);
            assert_eq!(condition.level, Level::Warn);
            assert!(condition.message.contains(how), "{condition:?}");
            assert_eq!(value(&condition, "given up, may still execute"), "1");
        }
    }
}
