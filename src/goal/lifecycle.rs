//! Generates `docs/goal-lifecycle.md` by running the state machines.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use super::action::Timer;
use super::{
    ActionGoal, CallEvent, CallPhase, CallStep, CancelCode, GoalEvent, GoalOptions, GoalStatus, Phase,
    ServiceCall, Step, TerminalStatus,
};
use crate::bt::Time;

const NOW: Time = Time::from_millis(1_000);

fn options() -> GoalOptions {
    GoalOptions {
        result_timeout: Some(Duration::from_secs(30)),
        ..GoalOptions::default()
    }
}

/// A goal in each phase, twice if the knowledge about the server matters.
fn goals() -> Vec<(&'static str, ActionGoal)> {
    let release = GoalEvent::Release { present: true };
    let accepted = GoalEvent::Accepted;
    let shown = GoalEvent::Status(GoalStatus::Executing);
    let over = GoalEvent::Status(GoalStatus::Succeeded);
    let recipes: [(&str, &[GoalEvent]); 14] = [
        ("", &[]),
        ("", &[GoalEvent::Release { present: false }]),
        ("", &[release]),
        ("", &[release, accepted, shown]),
        ("the server said that it is over", &[release, accepted, over]),
        (
            "the status list no longer has it, or the server denied it",
            &[release, accepted, shown, GoalEvent::StatusMissing],
        ),
        ("", &[release, accepted, shown, GoalEvent::Replace]),
        ("", &[release, GoalEvent::Halt]),
        (
            "the server has shown it",
            &[release, accepted, shown, GoalEvent::Halt],
        ),
        (
            "the server has accepted it, and not shown it yet",
            &[release, accepted, GoalEvent::Halt],
        ),
        (
            "it had been accepted",
            &[release, accepted, shown, GoalEvent::ServerGone],
        ),
        ("its request was unanswered", &[release, GoalEvent::ServerGone]),
        (
            "another server of the name denies it",
            &[
                release,
                accepted,
                shown,
                GoalEvent::Halt,
                GoalEvent::CancelAnswered {
                    attempt: 1,
                    code: CancelCode::UnknownToOne,
                },
            ],
        ),
        ("", &[GoalEvent::Halt]),
    ];
    recipes
        .into_iter()
        .map(|(note, events)| {
            let mut goal = ActionGoal::new(options(), NOW + Duration::from_secs(2));
            for event in events {
                goal.on(*event, NOW, &mut Vec::new());
            }
            (note, goal)
        })
        .collect()
}

/// All events, with the cases that a goal distinguishes.
fn events() -> Vec<(&'static str, GoalEvent)> {
    let cancel = |code| GoalEvent::CancelAnswered { attempt: 1, code };
    vec![
        ("released, server there", GoalEvent::Release { present: true }),
        ("released, server absent", GoalEvent::Release { present: false }),
        (
            "server back, others must stop first",
            GoalEvent::Requeue {
                until: NOW + Duration::from_secs(2),
            },
        ),
        ("accepted", GoalEvent::Accepted),
        ("rejected", GoalEvent::Rejected),
        ("send failed", GoalEvent::SendFailed),
        ("feedback", GoalEvent::Feedback),
        (
            "status accepted or executing",
            GoalEvent::Status(GoalStatus::Executing),
        ),
        ("status canceling", GoalEvent::Status(GoalStatus::Canceling)),
        (
            "status succeeded, canceled or aborted",
            GoalEvent::Status(GoalStatus::Succeeded),
        ),
        ("status unknown", GoalEvent::Status(GoalStatus::Unknown)),
        ("status list without it", GoalEvent::StatusMissing),
        ("result", GoalEvent::Result(TerminalStatus::Succeeded)),
        ("no result: unknown goal", GoalEvent::ResultUnknown),
        ("cancel answered: none (0)", cancel(CancelCode::None)),
        ("cancel answered: rejected (1)", cancel(CancelCode::Rejected)),
        (
            "cancel answered: unknown goal (2)",
            cancel(CancelCode::UnknownGoal),
        ),
        (
            "cancel answered: terminated (3)",
            cancel(CancelCode::GoalTerminated),
        ),
        (
            "cancel answered: unknown to one of several",
            cancel(CancelCode::UnknownToOne),
        ),
        ("cancel failed", GoalEvent::CancelFailed),
        ("halt", GoalEvent::Halt),
        ("taken back", GoalEvent::Withdrawn),
        ("superseded", GoalEvent::Replace),
        ("server gone", GoalEvent::ServerGone),
        ("server back", GoalEvent::ServerBack),
        (
            "shut down",
            GoalEvent::ShutDown {
                deadline: NOW + Duration::from_secs(3),
            },
        ),
    ]
}

const TIMERS: [(&str, Timer); 4] = [
    ("*timer of the phase*", Timer::Phase),
    ("*result timeout*", Timer::Run),
    ("*cancel timeout*", Timer::Stop),
    ("*give-up timeout*", Timer::GiveUp),
];

fn steps_text(steps: &[Step]) -> String {
    let words: Vec<String> = steps
        .iter()
        .map(|step| match step {
            Step::Send => "send the goal".to_owned(),
            Step::RequestResult => "ask for the result".to_owned(),
            Step::Cancel { .. } => "send a cancel".to_owned(),
            Step::TellAccepted => "tell the leaf: accepted".to_owned(),
            Step::TellFeedback => "tell the leaf: feedback".to_owned(),
            Step::Finish(verdict) => format!("tell the leaf: {}", plain(&format!("{verdict:?}"))),
            Step::StopNewer => "cancel the newer goal, tell the leaf: `CanceledByAnother`".to_owned(),
            Step::Report(what) => format!("report `{what:?}`"),
        })
        .collect();
    words.join(", ")
}

/// `Ended(Succeeded)` stands for any of the three ends.
fn plain(verdict: &str) -> String {
    if verdict.starts_with("Ended") {
        "its end and result".to_owned()
    } else {
        format!("`{verdict}`")
    }
}

/// The adoption of a goal, which is not an event of its state machine.
const FOUND: &str = "
## Goals that are found

A status list shows every goal that its server knows. The GoalTracker cancels a goal that no leaf and no tracker owns. The
guardian cancels the goals of a killed node first: see [guardian.md](guardian.md).

| which goal | when | begins in | report |
|---|---|---|---|
| of this run and not known to have ended: it was abandoned, or the server did not know it | when a status list shows it active | Canceling | `FoundAfterGivingUp` |
| | when its acceptance arrives | Canceling | `AcceptedAfterGivingUp` |
| | when its server had vanished and is back | Canceling; CancelPending, if it is not known to have been accepted | `RetriedAfterGivingUp` |
| of an earlier run of the same node on the same robot (see below), with `stop_goals_of_earlier_run` | when one of the server's first status lists shows it active: those of the 10 s after the first list that arrives while the server is available, and those of the 10 s after the server vanished and returned. Only while this node is active and no other node on the graph has its full name; goals that were shown before are cancelled as soon as this is true | Canceling | `Adopted` |
| of any other client | never | | |

The first four bytes of a goal's id are a hash of the node's full name, the ROS domain and the parameter `robot_id`. A node
treats a goal with the same four bytes that it has not sent as a goal of an earlier run. Two robots that share a server (a
lift, a dock) through a bridge differ in their domain, their namespace or their `robot_id`. Its default is made
from the machine's id (`/etc/machine-id`) and the host name. Set it if both change with each start, as in most containers.

A goal of an earlier run is cancelled four seconds after its server has first shown it, because a running node may appear on
the graph three seconds later than the server that it uses.

A node that was killed stays on the graph of each process that saw it alive until the middleware's lease on it ends: 20 s
with Fast DDS. A successor that starts after the kill does not see it and does not wait for the lease
(`test/test_process_death.py`). A node of the same name that started before the kill waits for it. A discovery server forwards
the endpoints of the killed node, but not its name. A publisher of `/parameter_events` without a node name may be a node of this
name for 10 s; after that the node logs a warning and cancels the goals.
";

/// One row per transition. The edges go into the diagram.
fn goal_section(text: &mut String, edges: &mut BTreeSet<(Phase, Phase, String)>) {
    for (note, goal) in goals() {
        let phase = goal.phase();
        let note = if note.is_empty() {
            String::new()
        } else {
            format!(": {note}")
        };
        let _ = writeln!(text, "\n### {phase:?}{note}\n");
        let mut rows = String::new();
        let mut ignored = Vec::new();
        let mut try_event = |name: &str, mut after: ActionGoal, event, now| {
            let before = after.clone();
            let mut steps = Vec::new();
            after.on(event, now, &mut steps);
            if after == before && steps.is_empty() {
                return false;
            }
            let next = after.phase();
            if next != phase {
                edges.insert((phase, next, name.trim_matches('*').to_owned()));
            }
            let done = match steps_text(&steps) {
                empty if empty.is_empty() && next == phase => "(remembered)".to_owned(),
                done => done,
            };
            let _ = writeln!(rows, "| {name} | {next:?} | {done} |");
            true
        };
        for (name, event) in events() {
            if !try_event(name, goal.clone(), event, NOW) {
                ignored.push(name);
            }
        }
        for (name, timer) in TIMERS {
            if let Some((goal, time)) = goal.with_only(timer)
                && !try_event(name, goal, GoalEvent::Deadline, time)
            {
                ignored.push(name);
            }
        }
        if !rows.is_empty() {
            let _ = write!(text, "| event | next | done |\n|---|---|---|\n{rows}\n");
        }
        let _ = writeln!(text, "Changes nothing: {}.", ignored.join("; "));
    }
}

fn call_section(text: &mut String) {
    let shut_down = CallEvent::ShutDown {
        deadline: NOW + Duration::from_secs(3),
    };
    let events = [
        ("answered", CallEvent::Response),
        ("failed", CallEvent::Failed),
        ("halt", CallEvent::Halt),
        ("taken back", CallEvent::Withdrawn),
        ("server gone", CallEvent::ServerGone),
        ("server back", CallEvent::ServerBack),
        ("shut down", shut_down),
        ("*timer*", CallEvent::Deadline),
    ];
    for phase in CallPhase::ALL {
        let mut call = ServiceCall::new(options(), phase != CallPhase::Absent, NOW, &mut Vec::new());
        match phase {
            CallPhase::Absent | CallPhase::Sent => {}
            CallPhase::Left => call.on(CallEvent::Halt, NOW, &mut Vec::new()),
            CallPhase::Ended => call.on(CallEvent::Response, NOW, &mut Vec::new()),
        }
        assert_eq!(call.phase(), phase);
        let _ = writeln!(text, "\n### {phase:?}\n");
        let mut rows = String::new();
        let mut ignored = Vec::new();
        for (name, event) in events {
            let mut after = call.clone();
            let mut steps = Vec::new();
            let now = call.next_deadline().filter(|_| event == CallEvent::Deadline);
            after.on(event, now.unwrap_or(NOW), &mut steps);
            if after == call && steps.is_empty() {
                ignored.push(name);
                continue;
            }
            let done: Vec<String> = steps
                .iter()
                .map(|step| match step {
                    CallStep::Send => "send the request".to_owned(),
                    CallStep::Finish(verdict) => format!("tell the leaf: `{verdict:?}`"),
                    CallStep::CountLate => "count it as late".to_owned(),
                    CallStep::CountAbandoned => "count it as never answered".to_owned(),
                    CallStep::Report(what) => format!("report `{what:?}`"),
                })
                .collect();
            let _ = writeln!(rows, "| {name} | {:?} | {} |", after.phase(), done.join(", "));
        }
        if !rows.is_empty() {
            let _ = write!(text, "| event | next | done |\n|---|---|---|\n{rows}\n");
        }
        let _ = writeln!(text, "Changes nothing: {}.", ignored.join("; "));
    }
}

fn document() -> String {
    let mut tables = String::new();
    let mut edges = BTreeSet::new();
    goal_section(&mut tables, &mut edges);
    let mut pairs: Vec<(Phase, Phase, Vec<String>)> = Vec::new();
    for (from, to, event) in edges {
        match pairs.iter_mut().find(|pair| (pair.0, pair.1) == (from, to)) {
            Some(pair) => pair.2.push(event),
            None => pairs.push((from, to, vec![event])),
        }
    }
    let mut text = String::from(
        "# The life of a goal

<!-- Generated from the state machines in src/goal by a test; do not edit.
     NAVTREE_BLESS=1 cargo test --no-default-features --lib goal::lifecycle writes it anew. -->

A leaf that halts releases its goal at once; the GoalTracker tracks the goal until it ends. Each goal on an action
server is one `ActionGoal`, each call of a service one `ServiceCall`. Both are pure functions: the input is an event and
the time, the output is the next phase and the actions to take. This page lists every event in every phase.

The leaf waits for the outcome in Queued, Absent, Sent, Executing and Finishing. In the other phases it has released
the goal (or, in Replaced, waits for a newer goal) and gets no more notices.

*Another client cancels a goal*: an update that comes later is not sent. An update that crosses the cancel on the wire is
cancelled too, and the leaf gets `CanceledByAnother`. A server aborts a goal that it replaces, so Replaced sees this cancel
as *status canceling* or as the end *canceled*. After *status canceling*, the leaf gets `Canceled` also if the goal then
ends aborted, or ends succeeded while an update waits. A leaf whose updates cancel the old goal first cannot distinguish the
two cancels after it has sent its own.

A goal or a call is not sent at once, but after all events that have arrived are handled. If its leaf or a shut-down
halts it before it is sent, it is never sent: it gets the event *taken back* instead of *halt* or *shut down*. If its server
vanishes before it is sent, a goal gets *server gone* and then *taken back*. A call gets only *server gone*, and is not
counted.

*Server gone*: the server has left the graph, or a second server of its name has appeared. In the second case the server was
restarted before the node noticed its end, or there are two servers. (The endpoints of a killed server stay on the graph until
the middleware's lease on them ends, 20 s with Fast DDS.) The GoalTracker sends one cancel at once, in case the server still
runs, and another one when the server is back. If two servers of one name are on the graph, one of them may be dead, and a
client gets the answer of one of them. If this server does not know the goal (*unknown to one of several*), the next goal is
sent, and the tracking continues. If this server has no result for the goal, the answer is ignored.

```mermaid
stateDiagram-v2
    [*] --> Queued
",
    );
    for (from, to, events) in &pairs {
        // A diagram has space for a few words per arrow; the tables contain the rest.
        let mut shown = events.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        if events.len() > 3 {
            shown.push_str(", …");
        }
        let _ = writeln!(text, "    {from:?} --> {to:?}: {}", shown.replace(':', ""));
    }
    text.push_str("    Ended --> [*]\n```\n");
    text.push_str(
        "
The timers:

| timer | in | is |
|---|---|---|
| of the phase | Queued | the wait for stopping goals is over (the cancel timeout of the last of them); *released* follows |
| | Absent | `absent_timeout` |
| | Sent | `accept_timeout` |
| | Executing | `result_poll`, doubled with each question |
| | Finishing | `result_retry`, doubled with each of `result_questions`; then the leaf gets `ResultLost`, and the goal is cancelled if no server reported its end |
| | Replaced | `accept_timeout` + `cancel_timeout` |
| | CancelPending | the rest of `accept_timeout`, then `cancel_retry`; after *shut down* `cancel_retry` at once |
| | Canceling | `cancel_retry` |
| | Unreachable | if another server of the name does not know the goal: `cancel_retry`, doubled with each cancel up to eight times that |
| result timeout | Executing | `result_timeout` |
| cancel timeout | CancelPending, Canceling | `cancel_timeout`: the next goal on that server no longer waits for this one (G5) |
| give-up timeout | CancelPending, Canceling, Unreachable | `give_up_timeout`, or the end of the process |

## A goal on an action server
",
    );
    text.push_str(&tables);
    text.push_str(FOUND);
    text.push_str(
        "\n## A call of a service\n\nAlso a cancel request that a leaf makes for the goals of any client.\n",
    );
    call_section(&mut text);
    text
}

#[test]
fn g3_the_life_cycle_document_says_what_the_code_does() {
    crate::golden_file::check("docs/goal-lifecycle.md", &document());
}

#[test]
fn every_phase_is_in_the_document() {
    let phases: BTreeSet<Phase> = goals().iter().map(|(_, goal)| goal.phase()).collect();
    assert_eq!(phases.into_iter().collect::<Vec<_>>(), Phase::ALL);
}
