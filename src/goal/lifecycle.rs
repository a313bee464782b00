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
    let canceled = GoalEvent::Result(TerminalStatus::Canceled);
    let denied = GoalEvent::CancelAnswered {
        attempt: 1,
        code: CancelCode::UnknownToOne,
    };
    let recipes: [(&str, &[GoalEvent]); 18] = [
        ("", &[]),
        ("", &[GoalEvent::Release { present: false }]),
        ("", &[release]),
        ("", &[release, shown]),
        (
            "the result was requested before the server is known to have noted the goal",
            &[release, accepted, shown],
        ),
        ("the server has reported its end", &[release, shown, over]),
        (
            "the status list no longer contains it, or the server does not know it",
            &[release, shown, GoalEvent::StatusMissing],
        ),
        ("", &[release, accepted, shown, GoalEvent::Replace]),
        ("", &[release, GoalEvent::Halt]),
        (
            "the server was gone, and the one that is back does not know the goal",
            &[
                release,
                GoalEvent::Halt,
                GoalEvent::ServerGone,
                GoalEvent::ServerBack,
                GoalEvent::CancelAnswered {
                    attempt: 2,
                    code: CancelCode::UnknownGoal,
                },
            ],
        ),
        (
            "the server has noted the goal",
            &[release, accepted, shown, GoalEvent::Halt],
        ),
        (
            "the server has accepted the goal and may not have noted it",
            &[release, accepted, GoalEvent::Halt],
        ),
        (
            "one of several servers did not know the goal, and another one shows it",
            &[release, accepted, shown, GoalEvent::Halt, denied, shown],
        ),
        (
            "the goal has ended as canceled, and the answer to the only cancel will show who cancelled it",
            &[release, accepted, shown, GoalEvent::Halt, canceled],
        ),
        (
            "the server had accepted the goal",
            &[release, accepted, shown, GoalEvent::ServerGone],
        ),
        ("the server had not answered", &[release, GoalEvent::ServerGone]),
        (
            "another server with this name does not know the goal",
            &[release, accepted, shown, GoalEvent::Halt, denied],
        ),
        ("", &[GoalEvent::Halt]),
    ];
    recipes
        .into_iter()
        .map(|(note, events)| {
            let mut goal = ActionGoal::new(options());
            for event in events {
                goal.on(*event, NOW, &mut Vec::new());
            }
            (note, goal)
        })
        .collect()
}

/// All events, with the cases that a goal distinguishes. Answers are to the last of its cancels.
fn events(attempt: u32) -> Vec<(&'static str, GoalEvent)> {
    let cancel = |code| GoalEvent::CancelAnswered { attempt, code };
    vec![
        ("released, server present", GoalEvent::Release { present: true }),
        ("released, server absent", GoalEvent::Release { present: false }),
        ("taken back", GoalEvent::TakenBack),
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
        ("halt", GoalEvent::Halt),
        ("withdrawn", GoalEvent::Withdrawn),
        ("replaced", GoalEvent::Replace),
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
            Step::RequestResult => "request the result".to_owned(),
            Step::Cancel { .. } => "send a cancel request".to_owned(),
            Step::TellAccepted => "notify the leaf: accepted".to_owned(),
            Step::TellFeedback => "notify the leaf: feedback".to_owned(),
            Step::TellCanceling => "notify the leaf: canceling".to_owned(),
            Step::Finish(outcome) => format!("notify the leaf: {}", plain(&format!("{outcome:?}"))),
            Step::Report(what) => format!("report `{what:?}`"),
        })
        .collect();
    words.join(", ")
}

/// `Ended(Succeeded)` stands for any of the three ends.
fn plain(outcome: &str) -> String {
    if outcome.starts_with("Ended") {
        "status and result".to_owned()
    } else {
        format!("`{outcome}`")
    }
}

/// The adoption of a goal, which is not an event of its state machine.
const FOUND: &str = "
## Adopted goals

A status list contains every goal that its server knows. A goal of this node that has no entry in the GoalTracker is
cancelled. If a node was killed, its guardian cancels its goals first: see [guardian.md](guardian.md).

| goal | event | first phase | report |
|---|---|---|---|
| of this run, and its end is not known: the tracking was given up, or the server did not know it | a status list shows it active | Canceling | `FoundAfterGivingUp` |
| | its acceptance arrives | Canceling | `AcceptedAfterGivingUp` |
| | its server is back | Canceling; CancelPending if its acceptance is not known | `RetriedAfterGivingUp` |
| | one of several servers denied it, and a status list lacks it | Canceling | `RetriedAfterGivingUp` |
| of this run, and a list has shown its end: another server with the same name executes it, too | a status list shows it accepted or executing | Canceling | `ActiveAfterEnd` |
| of an earlier run of this node on this robot, with `stop_goals_of_earlier_run` | one of the first status lists of its server shows it active (see below) | Canceling | `Adopted` |
| of another client | never | | |

The first four bytes of a goal ID are a hash of the node's full name, the ROS domain and the parameter `robot_id`. A goal
with these four bytes that this process has not sent is a goal of an earlier run. Two robots that share a server (a lift, a
dock) through a bridge have different domains, namespaces or values of `robot_id`. The default of `robot_id` is the
machine's ID (`/etc/machine-id`) and the host name. Set it if both change at each start, as in most containers.

The node looks on the servers that its trees have opened: those of the default trees from the start, others when a tree
uses them. In the first 30 s of activity it also looks on all other action servers of the graph, and opens those with
such a goal (`src/ros/earlier_goals.rs`). If the build does not know the type of the action, it logs an error instead. A
discovery server of Fast DDS hides the other servers unless `ROS_SUPER_CLIENT=TRUE`; the node logs that. The first
status lists are those of the first 10 s in which the server is present, and those of 10 s after it was absent. The node
cancels a goal only while it is active, and only while no other node with its full name is on the graph. A goal that was
shown before is cancelled as soon as both are true. It is cancelled four seconds after its server has first shown it,
because the graph may show an active node up to three seconds later than the server that the node uses.

A killed node stays on the graph of each process that saw it alive, until the lease of the middleware ends (20 s with Fast
DDS). A node that starts after the kill does not see it and does not wait for the lease (`test/test_process_death.py`). A
node of the same name that was started before waits. A discovery server reports the endpoints of a killed node, but not its
name. A publisher of `/parameter_events` without a node name counts as a node of this name for 10 s. After that, the node
logs a warning and cancels the goals.
";

fn write_table(text: &mut String, rows: &str) {
    if rows.is_empty() {
        text.push_str("No event changes anything.\n");
    } else {
        let _ = write!(text, "| event | next phase | actions |\n|---|---|---|\n{rows}");
    }
}

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
        let mut try_event = |name: &str, mut after: ActionGoal, event, now| {
            let before = after.clone();
            let mut steps = Vec::new();
            after.on(event, now, &mut steps);
            if after == before && steps.is_empty() {
                return;
            }
            let next = after.phase();
            if next != phase {
                edges.insert((phase, next, name.trim_matches('*').to_owned()));
            }
            let done = match steps_text(&steps) {
                empty if empty.is_empty() && next == phase => "(changes the state only)".to_owned(),
                done => done,
            };
            let _ = writeln!(rows, "| {name} | {next:?} | {done} |");
        };
        for (name, event) in events(goal.cancels()) {
            try_event(name, goal.clone(), event, NOW);
        }
        for (name, timer) in TIMERS {
            if let Some((goal, time)) = goal.with_only(timer) {
                try_event(name, goal, GoalEvent::Deadline, time);
            }
        }
        write_table(text, &rows);
    }
}

fn call_section(text: &mut String) {
    let shut_down = CallEvent::ShutDown {
        deadline: NOW + Duration::from_secs(3),
    };
    let events = [
        ("response", CallEvent::Response),
        ("failed", CallEvent::Failed),
        ("halt", CallEvent::Halt),
        ("halt of a Cancel node", CallEvent::Detached),
        ("withdrawn", CallEvent::Withdrawn),
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
        for (name, event) in events {
            let mut after = call.clone();
            let mut steps = Vec::new();
            let now = call.next_deadline().filter(|_| event == CallEvent::Deadline);
            after.on(event, now.unwrap_or(NOW), &mut steps);
            if after == call && steps.is_empty() {
                continue;
            }
            let done: Vec<String> = steps
                .iter()
                .map(|step| match step {
                    CallStep::Send => "send the request".to_owned(),
                    CallStep::Finish(outcome) => format!("notify the leaf: `{outcome:?}`"),
                    CallStep::CountLate => "count a late answer".to_owned(),
                    CallStep::CountAbandoned => "count an unanswered call".to_owned(),
                    CallStep::Report(what) => format!("report `{what:?}`"),
                })
                .collect();
            let _ = writeln!(rows, "| {name} | {:?} | {} |", after.phase(), done.join(", "));
        }
        write_table(text, &rows);
    }
}

const INTRODUCTION: &str = "# The life of a goal

<!-- Generated from the state machines in src/goal by a test; do not edit.
     NAVTREE_BLESS=1 cargo test --no-default-features --lib goal::lifecycle writes it anew. -->

The GoalTracker follows each goal from its request to its end. A leaf that is halted does not wait for that end. A goal on
an action server is one `ActionGoal`, a call of a service is one `ServiceCall`. Both are state machines without a clock and
without a network: an event and the time go in, the next phase and the actions come out. The tables list every event that
has an effect in a phase. An event that is not in the table of a phase changes nothing there.

The parameter `response_timeout` sets the time of this name in the tables; `wait_for_service_timeout` sets `absent_timeout`.

A leaf waits for the outcome of its goal in Queued, Absent, Sent, Executing and Finishing. In the other phases no leaf gets
notices of the goal. In Replaced, the leaf waits for the outcome of the newer goal and gets the notices of that goal.

**Another client cancels a goal.** The server shows the goal as canceling, or returns the result *canceled*. The leaf is
notified (*canceling*) at once, and the navigation ends (guarantee G3). An update that comes later is not sent. An update
that was already on its way is cancelled too, and the leaf gets `CanceledByAnother` instead. A server aborts a goal that it
replaces, so a replaced goal that is *canceled* was cancelled by another client. If the goal has no waiting leaf any more,
because the leaf was halted or has got its end, the notice is for its navigation, not for the leaf. The result of a goal may
overtake the status list that shows the cancel: the list counts also after the end of the goal. After navtree has cancelled a
goal itself, the answer of the server shows who was first: if the only cancel of navtree comes too late (*terminated*) or is
refused, and the goal is *canceled*, then another client has cancelled it. So a goal that ends as *canceled* before this
answer stays in Canceling until the answer is there, for `cancel_retry` at most. After a second cancel of navtree, a cancel
of another client is not visible. During an update an activation has two goals on its server: if a Cancel node of the tree
cancels one of them, a cancel of the other one by another client is not visible. Neither is one whose goal the server has
forgotten before the cancel of navtree arrives (its `result_timeout` is 0), or has accepted and not noted by then: a server
with several threads answers *unknown goal*, and the same request may arrive again. A server that ends a goal as *canceled* without
any request looks like one that another client has asked: some C++ servers do so when they drop their goal. From the notice
until the tree has read it, no goal of that tree is sent: a tick that does not know of the notice may start one, and an
earlier one may wait for the cancelled goal. The order of a navigation goal and of the notice is not known until the tick
thread reads both, at the next tick at the latest: a goal that is accepted before that ends with the navigation.

**A Cancel node cancels the goals of a server.** The answer of the server names the goals that it cancels. A goal that the tree
has started before the Cancel node may be missing in the answer, if the server had not accepted it by then, or had accepted and
not noted it. navtree ends it itself: the leaf gets `CanceledBeforeAcceptance` and fails. Not if the goal has ended, if another
client has cancelled it, or if the server has accepted the goal and refuses the request with an error code. A server of rclpy
refuses with an empty answer instead, unless it has a `cancel_callback`: a goal that it was not known to have noted at the
request, or whose update waited then, ends too, although the server goes on with it. If a list of the server shows only later
that another client has cancelled the goal, the navigation ends then; the tree may have sent other goals meanwhile, which are
cancelled. An answer that comes after `response_timeout` ends nothing. A goal that waits to be sent, and an update, wait for
the answer, for `response_timeout` at most. An update that the tree requested before the Cancel node is not sent any more, also
if the goal that it replaces ended by itself before the server handled the request.

**Sending.** A goal request is sent after all events that have arrived by then were handled. A goal or a call that is halted
before it was sent is never sent: it gets *withdrawn* instead of *halt* or *shut down*. If the server disappears before a
goal was sent, the goal gets *server gone* and then *withdrawn*. A call gets only *server gone*, and is not counted as
unanswered.

**Server gone.** The server has left the graph, or a second server with its name has appeared. (Killed servers stay on the
graph until the lease of the middleware ends, 20 s with Fast DDS. So a restarted server is the second one.) One cancel
request is sent at once, for a server that continues, and another one when the server is back. If two servers have the same
name, navtree takes the first answer to a request, and does not know which server sent it. That server may not know the goal
(*unknown to one of several*). Then the next goal may start, and the old goal counts as stopped for the result of a
navigation. But navtree continues to cancel the old goal, because the other server may execute it. navtree ignores an answer
that there is no result. If both servers are alive, both may execute the goal, and the first end that is reported counts. If a
later list shows the goal accepted or executing, navtree cancels it. No list shows this if the other server began before that
end. If one of them has ended the goal when the cancel of navtree arrives, and the other one cancels it, the navigation may end
with the reason that another client cancelled the goal. If the wrong server is always the first to answer, the leaf gets `ResultLost`. So end one of them.

```mermaid
stateDiagram-v2
    [*] --> Queued
";

const TIMER_TABLE: &str = "
The timers:

| timer | phase | time |
|---|---|---|
| of the phase | Absent | `absent_timeout` |
| | Sent | `response_timeout` |
| | Executing | `result_poll`, doubled after each result request |
| | Finishing | `result_retry`, doubled after each of `result_questions` requests; then the leaf gets `ResultLost`, and a goal without a reported end is cancelled |
| | Replaced | `response_timeout` + `cancel_timeout` |
| | CancelPending | the rest of `response_timeout`, then `cancel_retry`; after *shut down* only `cancel_retry` |
| | Canceling | `cancel_retry` |
| | Unreachable | if another server with this name does not know the goal: `cancel_retry`, doubled after each cancel request, at most eight times `cancel_retry` |
| result timeout | Executing | `result_timeout` |
| cancel timeout | CancelPending, Canceling | `cancel_timeout`: the next goal on this server waits no longer (G5) |
| give-up timeout | CancelPending, Canceling, Unreachable | `give_up_timeout`, or the end of the process |

## A goal on an action server
";

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
    let mut text = String::from(INTRODUCTION);
    for (from, to, events) in &pairs {
        // A diagram has space for a few words per arrow; the tables contain the rest.
        let mut shown = events.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        if events.len() > 3 {
            shown.push_str(", …");
        }
        let _ = writeln!(text, "    {from:?} --> {to:?}: {}", shown.replace(':', ""));
    }
    text.push_str("    Ended --> [*]\n```\n");
    text.push_str(TIMER_TABLE);
    text.push_str(&tables);
    text.push_str(FOUND);
    text.push_str(
        "\n## A call of a service\n\nThe cancel request of a Cancel node, for the goals of all clients, is a call too.\n",
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
