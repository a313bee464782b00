//! Tests of goals that another client cancels on their server: the robot stays where it is, and the client of the
//! navigation gets the reason.

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::NavigatorKind::{self, ThroughPoses, ToPose};
use super::Options;
use super::goal::NavigationId;
use super::goal::TerminalStatus::{self, Aborted, Canceled, Succeeded};
use super::heartbeat::Heartbeat;
use super::replaced_goal_tests::{Delays, with_servers};
use super::test_harness::{Rig, load, registry};
use crate::bt::{HaltOrder, HaltReason, TreeDef};
use crate::goal::GoalId;
use crate::job::JobRegistry;
use crate::msg::Pose;
use crate::msg::action::{
    BackUp, ComputePathThroughPoses, ComputePathToPose, ComputePathToPoseResult, FollowPath, Spin, Wait,
};
use crate::msg::service::{ClearEntireCostmap, ClearEntireCostmapResponse};
use crate::nav::Settings;
use crate::nav::testing::Plan;
use crate::xml::Loader;

const PLAN: &str = r#"<ComputePathToPose goal="{goal}" path="{path}"/>"#;
const FOLLOW: &str = r#"<FollowPath path="{path}"/>"#;
const SPIN: &str = r#"<Spin spin_dist="1.0"/>"#;
const CANCELED: &str = "another client cancelled the goal";

/// A robot whose controller drives until it is stopped. Its costmaps are cleared at once.
fn driving_rig() -> Rig {
    driving_rig_with(Settings::default())
}

fn driving_rig_with(settings: Settings) -> Rig {
    driving(Rig::with(settings, Options::default()))
}

fn driving(rig: Rig) -> Rig {
    let mut rig = with_servers(rig, Delays::default());
    rig.bench.action::<FollowPath>("follow_path", |_| Plan::endless());
    rig.bench.action::<Spin>("spin", |_| Plan::endless());
    rig.bench.action::<BackUp>("backup", |_| Plan::endless());
    for costmap in ["local", "global"] {
        let name = format!("{costmap}_costmap/clear_entirely_{costmap}_costmap");
        rig.bench
            .service::<ClearEntireCostmap>(&name, |_| Some(ClearEntireCostmapResponse::default()));
    }
    rig
}

fn start(rig: &mut Rig, number: u8, kind: NavigatorKind, tree: &Arc<TreeDef>) {
    rig.bench.transform("map", "base_link", Pose::default());
    rig.goal_to(number, kind, "map", 1.0, tree);
}

fn plan_and_follow(name: &str) -> Arc<TreeDef> {
    let text = format!("<Sequence name=\"{name}\">{PLAN}{FOLLOW}</Sequence>");
    load(&registry(), &text)
}

/// Ticks until the robot follows a path.
fn drive(rig: &mut Rig) {
    for _ in 0..300 {
        if rig.bench.active("follow_path") == 1 {
            return;
        }
        rig.ticks(1);
    }
    panic!("the robot does not drive: {:?}", rig.reports.try_recv());
}

/// The number of goals so far that move the robot.
fn moves(rig: &Rig) -> usize {
    let [spins, backups] = [
        rig.bench.goals::<Spin>("spin").len(),
        rig.bench.goals::<BackUp>("backup").len(),
    ];
    rig.bench.goals::<FollowPath>("follow_path").len() + spins + backups
}

fn is_moving(rig: &Rig) -> bool {
    ["follow_path", "spin", "backup"]
        .iter()
        .any(|server| rig.bench.active(server) > 0)
}

fn file(folder: &FilePath, name: &str) -> Arc<TreeDef> {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    let loaded = Loader::new(&registry()).load_text(name, &text, folder, None);
    loaded.unwrap_or_else(|refused| panic!("{refused}")).def
}

/// Trees of navtree and of Nav2, and trees whose recovery runs after every failure.
fn trees() -> Vec<(String, NavigatorKind, Arc<TreeDef>)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let own = root.join("behavior_trees");
    let mut files = vec![
        (own.clone(), ToPose, "navigate_to_pose.xml"),
        (own, ThroughPoses, "navigate_through_poses.xml"),
    ];
    if let Some(nav2) = crate::shared_trees::folder("corpus/nav2_jazzy") {
        files.extend([
            (
                nav2.clone(),
                ToPose,
                "navigate_to_pose_w_replanning_and_recovery.xml",
            ),
            (
                nav2.clone(),
                ThroughPoses,
                "navigate_through_poses_w_replanning_and_recovery.xml",
            ),
            (
                nav2,
                ToPose,
                "navigate_w_recovery_and_replanning_only_if_path_becomes_invalid.xml",
            ),
        ]);
    }
    let texts = [
        format!(
            "<RecoveryNode number_of_retries=\"6\"><Sequence>{PLAN}{FOLLOW}</Sequence>{SPIN}</RecoveryNode>"
        ),
        format!(
            "<Sequence>{PLAN}<RetryUntilSuccessful num_attempts=\"-1\">{FOLLOW}</RetryUntilSuccessful></Sequence>"
        ),
        format!("<Sequence>{PLAN}<Fallback>{FOLLOW}{SPIN}</Fallback></Sequence>"),
        format!("<Sequence>{PLAN}<ForceSuccess>{FOLLOW}</ForceSuccess>{SPIN}</Sequence>"),
        format!("<Sequence>{PLAN}<ForceSuccess>{FOLLOW}</ForceSuccess></Sequence>"),
        format!("<Sequence>{PLAN}<Inverter>{FOLLOW}</Inverter>{SPIN}</Sequence>"),
        format!(
            "<Sequence>{PLAN}<Parallel success_count=\"1\" failure_count=\"2\">{FOLLOW}{SPIN}</Parallel></Sequence>"
        ),
    ];
    let files = files
        .into_iter()
        .map(|(folder, kind, name)| (name.to_owned(), kind, file(&folder, name)));
    let texts = texts
        .into_iter()
        .map(|text| (text.clone(), ToPose, load(&registry(), &text)));
    files.chain(texts).collect()
}

#[test]
fn g3_no_tree_moves_a_robot_again_that_another_client_has_stopped() {
    for (name, kind, tree) in trees() {
        let mut rig = driving_rig();
        start(&mut rig, 1, kind, &tree);
        drive(&mut rig);
        let before = moves(&rig);
        rig.bench.foreign_cancel("follow_path");
        rig.ticks(100);
        let (client, report) = rig.report();
        assert_eq!((client, report.status), (1, Aborted), "{name}");
        let (words, code) = (report.error_message, report.error_code);
        assert!(words.contains("FollowPath) failed"), "{name}: {words}");
        assert!(words.contains(CANCELED) && code == 0, "{name}: {code} {words}");
        assert_eq!((moves(&rig), is_moving(&rig)), (before, false), "{name}");
        assert!(rig.navigator.is_idle(), "{name}");

        // The next navigation drives.
        start(&mut rig, 2, kind, &tree);
        drive(&mut rig);
    }
}

#[test]
fn g3_a_goal_that_comes_while_another_client_stops_the_robot_does_not_move_it() {
    for (name, kind, tree) in trees() {
        let mut rig = driving_rig();
        start(&mut rig, 1, kind, &tree);
        drive(&mut rig);
        let before = moves(&rig);
        rig.bench.foreign_cancel("follow_path");
        start(&mut rig, 2, kind, &tree);
        rig.ticks(100);
        assert_eq!(rig.report().1.error_message, "replaced by a newer goal", "{name}");
        let (client, report) = rig.report();
        assert_eq!((client, report.status), (2, Aborted), "{name}");
        assert!(report.error_message.contains(CANCELED), "{name}: {report:?}");
        assert_eq!((moves(&rig), is_moving(&rig)), (before, false), "{name}");
    }
}

#[test]
fn g3_a_tree_that_fails_while_the_server_stops_for_another_client_does_not_move_the_robot() {
    for (name, kind, tree) in trees() {
        let mut rig = driving_rig();
        rig.bench
            .action::<FollowPath>("follow_path", |_| Plan::endless().stop_after(1_000));
        start(&mut rig, 1, kind, &tree);
        drive(&mut rig);
        let before = moves(&rig);
        rig.bench.foreign_cancel("follow_path");
        rig.bench
            .action::<ComputePathToPose>("compute_path_to_pose", |_| Plan::abort(208));
        rig.bench
            .action::<ComputePathThroughPoses>("compute_path_through_poses", |_| Plan::abort(208));
        rig.ticks(50);
        assert!(
            rig.reports.try_recv().is_err(),
            "{name}: the robot has not stopped"
        );
        rig.ticks(200);
        let (client, report) = rig.report();
        assert_eq!((client, report.status), (1, Aborted), "{name}");
        assert!(report.error_message.contains(CANCELED), "{name}: {report:?}");
        assert_eq!((moves(&rig), is_moving(&rig)), (before, false), "{name}");
    }
}

#[test]
fn g3_no_node_runs_in_the_tick_that_learns_of_the_cancel() {
    let text = format!(
        r#"<Sequence>{PLAN}<Script code="reacted := false"/>
             <Fallback>{FOLLOW}<Script code="reacted := true"/></Fallback></Sequence>"#
    );
    let mut rig = driving_rig();
    start(&mut rig, 1, ToPose, &load(&registry(), &text));
    drive(&mut rig);
    rig.bench.foreign_cancel("follow_path");
    rig.ticks(50);
    assert_eq!(rig.report().1.status, Aborted);
    let tree = rig.navigator.tree(ToPose).unwrap();
    let reacted = &tree.export(crate::bt::ScopeId::ROOT)["reacted"];
    assert_eq!(reacted.to_string(), "0.0", "a script writes false as a number");
}

#[test]
fn g3_a_cancel_node_that_cancelled_nothing_does_not_hide_a_cancel_of_another_client() {
    // In the first tick there is nothing to cancel yet.
    let follow_and_cancel = r#"<Parallel success_count="2" failure_count="1">
        <FollowPath path="{path}"/><Sequence><CancelControl/><Wait wait_duration="100"/></Sequence>
      </Parallel>"#;
    let text = format!("<Sequence>{PLAN}<Fallback>{follow_and_cancel}{SPIN}</Fallback></Sequence>");
    let mut rig = driving_rig();
    rig.bench.action::<Wait>("wait", |_| Plan::endless());
    start(&mut rig, 1, ToPose, &load(&registry(), &text));
    drive(&mut rig);
    rig.ticks(50);
    assert_eq!(rig.bench.active("follow_path"), 1);
    rig.bench.foreign_cancel("follow_path");
    rig.ticks(50);
    assert!(rig.report().1.error_message.contains(CANCELED));
    assert_eq!((moves(&rig), is_moving(&rig)), (1, false));
}

#[test]
fn a_tree_whose_cancel_node_stops_a_goal_goes_on() {
    let follow_and_stop = r#"<Parallel success_count="2" failure_count="1">
        <FollowPath path="{path}"/><Sequence><Wait wait_duration="0.1"/><CancelControl/></Sequence>
      </Parallel>"#;
    let text = format!("<Sequence>{PLAN}<Fallback>{follow_and_stop}<AlwaysSuccess/></Fallback></Sequence>");
    // The result comes before the answer to the cancel request, or after it.
    for stop_after in [0, 300] {
        let mut rig = driving_rig();
        rig.bench
            .action::<FollowPath>("follow_path", move |_| Plan::endless().stop_after(stop_after));
        start(&mut rig, 1, ToPose, &load(&registry(), &text));
        drive(&mut rig);
        rig.ticks(100);
        let (_, report) = rig.report();
        assert_eq!(report.status, Succeeded, "{stop_after} ms: {report:?}");
        assert!(!is_moving(&rig));
    }
}

#[test]
fn with_canceled_is_success_a_tree_goes_on_as_in_nav2() {
    let mut rig = driving_rig_with(Settings {
        canceled_is_success: true,
        ..Settings::default()
    });
    let text = format!("<Sequence>{PLAN}{FOLLOW}{SPIN}</Sequence>");
    start(&mut rig, 1, ToPose, &load(&registry(), &text));
    drive(&mut rig);
    rig.bench.foreign_cancel("follow_path");
    rig.ticks(5);
    assert_eq!(rig.bench.active("spin"), 1);
}

#[test]
fn with_canceled_is_success_only_a_goal_that_ends_cancelled_is_a_success() {
    let text = format!("<Sequence>{PLAN}{FOLLOW}{SPIN}</Sequence>");
    let ends_with = |end: fn(&mut Rig)| {
        let mut rig = driving_rig_with(Settings {
            canceled_is_success: true,
            ..Settings::default()
        });
        rig.bench
            .action::<FollowPath>("follow_path", |_| Plan::endless().stop_after(1_000));
        start(&mut rig, 1, ToPose, &load(&registry(), &text));
        drive(&mut rig);
        rig.bench.foreign_cancel("follow_path");
        rig.ticks(5);
        end(&mut rig);
        rig.ticks(200);
        rig.bench.goals::<Spin>("spin").len()
    };
    assert_eq!(ends_with(|_| ()), 1, "it has stopped");
    assert_eq!(ends_with(|rig| rig.bench.remove_server("follow_path")), 0);
}

#[test]
fn with_canceled_is_success_a_goal_that_fails_while_it_is_cancelled_is_no_success_because_of_a_new_path() {
    let text = format!(
        r#"<Sequence>
             <PipelineSequence><RateController hz="10">{PLAN}</RateController>{FOLLOW}</PipelineSequence>
             {SPIN}
           </Sequence>"#
    );
    let mut rig = driving_rig_with(Settings {
        canceled_is_success: true,
        ..Settings::default()
    });
    rig.bench
        .action::<FollowPath>("follow_path", |_| Plan::abort(105).after(400).stop_after(3_000));
    let mut x = 0.0;
    rig.bench
        .action::<ComputePathToPose>("compute_path_to_pose", move |_| {
            x += 1.0;
            let path = crate::msg::Path::through(
                crate::msg::Header::in_frame("map"),
                [Pose::default(), Pose::planar(x, 0.0, 0.0)],
            );
            let result = ComputePathToPoseResult {
                path: Arc::new(path),
                ..Default::default()
            };
            Plan::result(result).after(20)
        });
    start(&mut rig, 1, ToPose, &load(&registry(), &text));
    drive(&mut rig);
    rig.ticks(2);
    rig.bench.foreign_cancel("follow_path");
    rig.ticks(100);
    let (_, report) = rig.report();
    assert_eq!((report.status, moves(&rig)), (Aborted, 1));
    let cause = "FollowPath::5 (FollowPath) failed: FAILED_TO_MAKE_PROGRESS (105)";
    assert!(report.error_message.contains(cause), "{report:?}");
}

/// Another client cancels the goal after the next tick has received its notices, and before the GoalTracker gets the
/// commands of that tick.
fn cancel_during_the_next_tick(rig: &mut Rig) {
    rig.bench.delay_commands(5);
    rig.bench.foreign_cancel_after("follow_path", 2);
}

#[test]
fn g3_a_cancel_of_another_client_counts_in_the_tick_that_halts_the_leaf() {
    let text = format!(
        r#"<Sequence>{PLAN}<Script code="halted := false"/>
             <Fallback>
               <Timeout msec="500">{FOLLOW}</Timeout>
               <Sequence><Script code="halted := true"/>{SPIN}</Sequence>
             </Fallback></Sequence>"#
    );
    let tree = load(&registry(), &text);
    // Ticks of a navigation until the leaf is halted. With a delay of status lists, the cancel of the halt arrives first at
    // the GoalTracker and second at the server.
    let run = |before_the_halt: Option<usize>, status_delay: u64| {
        let mut rig = driving_rig();
        rig.bench
            .action::<FollowPath>("follow_path", |_| Plan::endless().stop_after(10));
        rig.bench.delay_statuses(status_delay);
        start(&mut rig, 1, ToPose, &tree);
        for tick in 1..300 {
            if before_the_halt == Some(tick) {
                cancel_during_the_next_tick(&mut rig);
            }
            rig.ticks(1);
            let tree = rig.navigator.tree(ToPose).unwrap();
            if tree.export(crate::bt::ScopeId::ROOT).get("halted") == Some(&serde_json::json!(1.0)) {
                return (rig, tick);
            }
        }
        panic!("the tree does not halt the leaf");
    };
    for status_delay in [0, 20, 2_000] {
        let (_, halting) = run(None, status_delay);
        let (mut rig, again) = run(Some(halting), status_delay);
        assert_eq!(halting, again);
        rig.ticks(100);
        let (client, report) = rig.report();
        assert_eq!((client, report.status), (1, Aborted));
        assert!(report.error_message.contains(CANCELED), "{report:?}");
        // Spin is sent only if nothing has shown the cancel by then.
        let moved = if status_delay == 0 { 1 } else { 2 };
        assert_eq!((moves(&rig), is_moving(&rig)), (moved, false), "{status_delay}");
    }
}

#[test]
fn g3_a_cancel_of_another_client_counts_although_the_success_of_the_goal_overtakes_its_list() {
    let run = |text: &str, has_next: bool, canceled_before: Option<usize>| {
        let tree = load(&registry(), text);
        let mut rig = driving_rig();
        rig.bench
            .action::<FollowPath>("follow_path", |_| Plan::success().after(305).stop_after(50));
        start(&mut rig, 1, ToPose, &tree);
        drive(&mut rig);
        rig.bench.delay_statuses(15);
        if has_next {
            rig.goal_to(2, ToPose, "map", 2.0, &tree);
        }
        for tick in 1..100 {
            if canceled_before == Some(tick) {
                rig.bench.foreign_cancel_after("follow_path", 1);
            }
            rig.ticks(1);
            if rig.bench.active("follow_path") == 0 {
                return (rig, tick);
            }
        }
        panic!("the goal does not end");
    };
    for (text, has_next) in [
        (format!("<Sequence>{PLAN}{FOLLOW}{SPIN}</Sequence>"), false),
        (format!("<Sequence>{PLAN}{FOLLOW}</Sequence>"), true),
    ] {
        let (_, last) = run(&text, has_next, None);
        let (mut rig, again) = run(&text, has_next, Some(last));
        assert_eq!(last, again, "the goal succeeds in spite of the cancel");
        rig.ticks(100);
        let (client, report) = rig.reports.try_iter().last().unwrap();
        assert_eq!(
            (client, report.status),
            (1 + u8::from(has_next), Aborted),
            "{report:?}"
        );
        assert!(report.error_message.contains(CANCELED), "{report:?}");
        assert!(!is_moving(&rig));
    }
}

#[test]
fn g3_a_goal_that_waits_hears_of_the_stop_of_another_client_when_the_robot_has_stopped() {
    let tree = plan_and_follow("only");
    let mut rig = driving_rig();
    rig.bench
        .action::<FollowPath>("follow_path", |_| Plan::endless().stop_after(200));
    start(&mut rig, 1, ToPose, &tree);
    drive(&mut rig);
    rig.goal_to(2, ToPose, "elsewhere", 2.0, &tree);
    rig.bench.foreign_cancel("follow_path");
    rig.ticks(10);
    assert!(is_moving(&rig) && rig.reports.try_recv().is_err());
    rig.ticks(30);
    let reports: Vec<_> = rig.reports.try_iter().collect();
    let words = reports
        .iter()
        .map(|(client, report)| (*client, &*report.error_message));
    let first = format!("FollowPath::3 (FollowPath) failed: {CANCELED}");
    let second = format!("{first}; this goal had not started");
    assert_eq!(words.collect::<Vec<_>>(), [(1, &*first), (2, &*second)]);
}

#[test]
fn g3_a_goal_that_waits_for_its_transform_does_not_move_a_robot_that_another_client_has_stopped() {
    let tree = plan_and_follow("only");
    let mut rig = driving_rig();
    start(&mut rig, 1, ToPose, &tree);
    drive(&mut rig);
    rig.goal_to(2, ToPose, "elsewhere", 1.0, &tree);
    rig.ticks(2);
    rig.bench.foreign_cancel("follow_path");
    rig.ticks(5);
    rig.bench.transform("map", "elsewhere", Pose::default());
    rig.ticks(50);
    let mut reports = [rig.report(), rig.report()];
    reports.sort_by_key(|(client, _)| *client);
    for (client, report) in reports {
        assert_eq!(report.status, Aborted, "{client}");
        assert!(report.error_message.contains(CANCELED), "{client}: {report:?}");
    }
    assert_eq!((moves(&rig), is_moving(&rig)), (1, false));
    // A goal that is accepted after the stop drives.
    start(&mut rig, 3, ToPose, &tree);
    drive(&mut rig);
}

/// The client of the first navigation cancels it.
fn cancel_first(rig: &mut Rig) {
    let now = rig.now();
    let first = NavigationId {
        kind: ToPose,
        goal: GoalId([1; 16]),
    };
    rig.navigator.cancel(first, now);
    rig.navigator.hand_over();
}

/// The transform arrives for which the second navigation waits. The first one has ended with a status, and the second one
/// ends without a drive, because another client has stopped the robot.
fn assert_second_does_not_drive(rig: &mut Rig, first: TerminalStatus, case: &dyn std::fmt::Debug) {
    rig.bench.transform("map", "elsewhere", Pose::default());
    rig.ticks(200);
    let mut reports: Vec<_> = rig.reports.try_iter().collect();
    reports.sort_by_key(|(client, _)| *client);
    let ends: Vec<_> = reports
        .iter()
        .map(|(client, report)| (*client, report.status))
        .collect();
    assert_eq!(ends, [(1, first), (2, Aborted)], "{case:?}");
    assert!(
        reports[1].1.error_message.contains("another client"),
        "{case:?}: {reports:?}"
    );
    assert_eq!((moves(rig), is_moving(rig)), (1, false), "{case:?}");
}

#[test]
fn g3_a_stop_that_is_seen_while_the_tree_is_halted_ends_the_goals_that_wait_for_it() {
    let tree = plan_and_follow("only");
    for is_before_the_halt in [true, false] {
        let mut rig = driving_rig();
        start(&mut rig, 1, ToPose, &tree);
        drive(&mut rig);
        rig.goal_to(2, ToPose, "elsewhere", 1.0, &tree);
        if is_before_the_halt {
            rig.bench.foreign_cancel("follow_path");
            rig.bench.wait(1);
        } else {
            cancel_during_the_next_tick(&mut rig);
        }
        cancel_first(&mut rig);
        rig.ticks(1);
        assert_second_does_not_drive(&mut rig, Canceled, &is_before_the_halt);
    }
}

#[test]
fn g3_a_stop_that_the_answer_to_a_cancel_shows_ends_the_goals_that_wait_for_it() {
    for cancel_delay in [0, 3, 10, 30] {
        let tree = plan_and_follow("only");
        let mut rig = driving_rig();
        rig.bench
            .action::<FollowPath>("follow_path", |_| Plan::endless().stop_after(6));
        rig.bench.delay_statuses(50);
        start(&mut rig, 1, ToPose, &tree);
        drive(&mut rig);
        rig.goal_to(2, ToPose, "elsewhere", 1.0, &tree);
        rig.ticks(10);
        // The goal has ended before the cancel of this node arrives, from the third delay on.
        rig.bench.delay_cancels(cancel_delay);
        cancel_during_the_next_tick(&mut rig);
        cancel_first(&mut rig);
        rig.bench.delay_commands(0);
        rig.ticks(1);
        assert_second_does_not_drive(&mut rig, Canceled, &cancel_delay);
    }
}

#[test]
fn g3_a_stop_that_is_seen_between_two_navigations_ends_the_goals_that_wait() {
    let tree = plan_and_follow("only");
    for (status_delay, is_during_a_tick) in [(5, false), (5, true), (20, false), (20, true)] {
        let mut rig = driving(Rig::with(
            Settings::default(),
            Options {
                stop_timeout: Duration::ZERO,
                ..Options::default()
            },
        ));
        rig.bench
            .action::<FollowPath>("follow_path", |_| Plan::endless().stop_after(6));
        rig.bench.delay_statuses(status_delay);
        start(&mut rig, 1, ToPose, &tree);
        drive(&mut rig);
        rig.goal_to(2, ToPose, "elsewhere", 1.0, &tree);
        rig.ticks(10);
        if is_during_a_tick {
            cancel_during_the_next_tick(&mut rig);
        } else {
            rig.bench.foreign_cancel("follow_path");
        }
        cancel_first(&mut rig);
        rig.bench.delay_commands(0);
        rig.ticks(10);
        assert_second_does_not_drive(&mut rig, Canceled, &(status_delay, is_during_a_tick));
    }
}

#[test]
fn a_goal_that_comes_after_the_stop_of_another_client_drives_when_the_robot_has_stopped() {
    for is_seen_before_the_halt in [true, false] {
        let tree = plan_and_follow("only");
        let mut rig = driving_rig();
        rig.bench
            .action::<FollowPath>("follow_path", |_| Plan::endless().stop_after(1_000));
        start(&mut rig, 1, ToPose, &tree);
        drive(&mut rig);
        if is_seen_before_the_halt {
            rig.bench.foreign_cancel("follow_path");
        } else {
            rig.bench.delay_cancels(5);
            cancel_during_the_next_tick(&mut rig);
            cancel_first(&mut rig);
            rig.bench.delay_commands(0);
        }
        rig.ticks(20);
        start(&mut rig, 2, ToPose, &tree);
        rig.ticks(20);
        assert_eq!((moves(&rig), is_moving(&rig)), (1, true), "it still stops");
        rig.ticks(200);
        assert_eq!((moves(&rig), is_moving(&rig)), (2, true), "the second one drives");
        let (client, report) = rig.report();
        let first = if is_seen_before_the_halt {
            Aborted
        } else {
            Canceled
        };
        assert_eq!((client, report.status), (1, first), "{report:?}");
    }
}

/// How a navigation ends whose Cancel node stops a goal of a halted leaf.
fn end_after_halt_and_cancel_node(order: HaltOrder, prepare: impl Fn(&mut Rig)) -> (TerminalStatus, String) {
    let text = format!(
        r#"<Sequence>{PLAN}
             <Fallback>
               <Timeout msec="50">{FOLLOW}</Timeout>
               <Sequence><CancelControl/><Wait wait_duration="0.1"/></Sequence>
             </Fallback></Sequence>"#
    );
    let mut rig = driving_rig_with(Settings {
        halt_order: order,
        ..Settings::default()
    });
    rig.bench.action::<Wait>("wait", |_| Plan::success().after(100));
    prepare(&mut rig);
    start(&mut rig, 1, ToPose, &load(&registry(), &text));
    rig.ticks(300);
    let (_, report) = rig.report();
    (report.status, report.error_message)
}

#[test]
fn a_tree_whose_cancel_node_stops_the_goal_of_a_halted_leaf_goes_on() {
    let goes_on = (Succeeded, String::new());
    for order in [HaltOrder::BeforeStarts, HaltOrder::AsTicked] {
        for status_delay in [0, 20, 100] {
            let end = end_after_halt_and_cancel_node(order, |rig| {
                rig.bench
                    .action::<FollowPath>("follow_path", |_| Plan::endless().stop_after(10));
                rig.bench.delay_statuses(status_delay);
            });
            assert_eq!(end, goes_on, "{order:?} {status_delay}");
        }
    }
    // The server accepts the goal after its leaf was halted.
    for (accepted_after, cancel_delay) in [(1, 0), (55, 0), (70, 60), (100, 100), (200, 400)] {
        let end = end_after_halt_and_cancel_node(HaltOrder::BeforeStarts, |rig| {
            rig.bench.delay_cancels(cancel_delay);
            rig.bench.action::<FollowPath>("follow_path", move |_| {
                Plan::endless().stop_after(10).answer_after(accepted_after)
            });
        });
        assert_eq!(end, goes_on, "{accepted_after} {cancel_delay}");
    }
}

/// Drives with a tree whose Cancel node has sent its request, answered after `cancel_delay` (milliseconds), when another
/// client cancels the goal. A second navigation waits for its transform.
fn open_cancel_node(text: &str, options: Options, cancel_delay: u64) -> Rig {
    let tree = load(&registry(), text);
    let mut rig = driving(Rig::with(Settings::default(), options));
    // Only the first navigation comes to its Cancel node.
    let mut waits = 0;
    rig.bench.action::<Wait>("wait", move |_| {
        waits += 1;
        match waits {
            1 => Plan::success().after(100),
            _ => Plan::endless(),
        }
    });
    start(&mut rig, 1, ToPose, &tree);
    drive(&mut rig);
    rig.goal_to(2, ToPose, "elsewhere", 1.0, &tree);
    rig.bench.delay_cancels(cancel_delay);
    while !rig
        .bench
        .order()
        .iter()
        .any(|what| what == "cancel to follow_path")
    {
        rig.ticks(1);
    }
    rig.bench.delay_cancels(cancel_delay.min(200));
    rig.bench.foreign_cancel("follow_path");
    rig
}

#[test]
fn g3_a_tree_sends_no_goal_before_the_answer_to_its_cancel_node_shows_who_stopped_the_robot() {
    let other_branch = format!(
        r#"{FOLLOW}<Sequence><Wait wait_duration="0.1"/><CancelControl/></Sequence>
           <Sequence><Sleep msec="200"/>{SPIN}</Sequence>"#
    );
    let same_server = format!(
        r#"<Fallback><Timeout msec="200">{FOLLOW}</Timeout>{FOLLOW}</Fallback>
           <Sequence><Wait wait_duration="0.1"/><CancelControl/></Sequence>"#
    );
    for branches in [other_branch, same_server] {
        let text = format!(
            r#"<Sequence>{PLAN}<Parallel success_count="-1" failure_count="1">{branches}</Parallel></Sequence>"#
        );
        let mut rig = open_cancel_node(&text, Options::default(), 400);
        let before = moves(&rig);
        rig.ticks(200);
        let (client, report) = rig.report();
        assert_eq!((client, report.status), (1, Aborted));
        assert!(report.error_message.contains(CANCELED), "{report:?}");
        assert_eq!((moves(&rig), is_moving(&rig)), (before, false), "{branches}");
    }
}

fn with_cancel_node(cancel_node: &str) -> String {
    format!(
        r#"<Parallel success_count="-1" failure_count="1">
             {FOLLOW}<Sequence><Wait wait_duration="0.1"/>{cancel_node}</Sequence>
           </Parallel>"#
    )
}

#[test]
fn g3_a_stop_that_an_open_cancel_node_hides_ends_the_goals_that_wait_for_it() {
    let body = with_cancel_node("<CancelControl/>");
    let halted_by_tree = format!("<Sequence>{PLAN}<Timeout msec=\"200\">{body}</Timeout></Sequence>");
    let halted_by_client = format!("<Sequence>{PLAN}{body}</Sequence>");
    for (text, status, cancel_delay) in [
        (&halted_by_client, Canceled, 40),
        (&halted_by_client, Canceled, 200),
        (&halted_by_tree, Aborted, 200),
    ] {
        let mut rig = open_cancel_node(text, Options::default(), cancel_delay);
        if status == Canceled {
            rig.ticks(1);
            cancel_first(&mut rig);
        } else {
            rig.ticks(12);
        }
        rig.ticks(5);
        assert_second_does_not_drive(&mut rig, status, &cancel_delay);
    }
}

#[test]
fn g3_a_stop_that_an_unanswered_cancel_node_hides_at_the_end_of_the_stop_ends_the_goals_that_wait_for_it() {
    let tree = |cancel_node| format!("<Sequence>{PLAN}{}</Sequence>", with_cancel_node(cancel_node));
    let patient = r#"<CancelControl server_timeout="20000"/>"#;
    for (cancel_node, stop_timeout) in [("<CancelControl/>", 500), ("<CancelControl/>", 0), (patient, 500)] {
        let options = Options {
            stop_timeout: Duration::from_millis(stop_timeout),
            ..Options::default()
        };
        let mut rig = open_cancel_node(&tree(cancel_node), options, 1_000_000);
        rig.ticks(1);
        cancel_first(&mut rig);
        rig.ticks(5);
        assert_second_does_not_drive(&mut rig, Canceled, &(cancel_node, stop_timeout));
    }
}

#[test]
fn g3_g8_a_halt_of_all_leaves_does_not_wait_for_the_answer_to_a_cancel_node() {
    let text = format!(
        "<Sequence>{PLAN}{}</Sequence>",
        with_cancel_node("<CancelControl/>")
    );
    for is_halted_before in [false, true] {
        let mut rig = open_cancel_node(&text, Options::default(), 400);
        let heartbeat = Heartbeat::new();
        rig.navigator.be_watched(heartbeat.clone(), JobRegistry::new());
        rig.ticks(1);
        if is_halted_before {
            cancel_first(&mut rig);
        }
        heartbeat.overtake(HaltReason::GoalCanceled, rig.bench.halting());
        rig.ticks(5);
        let now = rig.now();
        rig.navigator.end_if_overtaken(now);
        rig.ticks(2);
        let mut clients = [rig.report().0, rig.report().0];
        clients.sort_unstable();
        assert_eq!(clients, [1, 2], "{is_halted_before}");
    }
}

#[test]
fn a_cancel_node_whose_request_was_not_sent_cancels_nothing() {
    let text = format!(
        r#"<Sequence><ForceSuccess><CancelControl server_timeout="50"/></ForceSuccess>{PLAN}{FOLLOW}</Sequence>"#
    );
    let mut rig = driving_rig();
    rig.bench.remove_server("follow_path");
    start(&mut rig, 1, ToPose, &load(&registry(), &text));
    rig.ticks(8);
    rig.bench.action::<FollowPath>("follow_path", |_| Plan::endless());
    drive(&mut rig);
    assert_eq!(rig.bench.cancels("follow_path"), 0);
    rig.bench.foreign_cancel("follow_path");
    rig.ticks(20);
    let (_, report) = rig.report();
    assert!(
        report.error_message.ends_with(&format!("failed: {CANCELED}")),
        "{report:?}"
    );
}

/// The server accepts the goal after the Cancel node has sent its request, and another client cancels it before the server
/// handles that request. The answer does not name the goal, which is canceling.
#[test]
fn g3_a_cancel_node_that_misses_a_goal_does_not_hide_the_cancel_of_another_client() {
    let text = format!(
        r#"<Sequence>{PLAN}<Fallback><Parallel success_count="2" failure_count="1">
             <FollowPath path="{{path}}"/>
             <Sequence><Wait wait_duration="0.1"/><CancelControl/></Sequence>
           </Parallel>{SPIN}</Fallback></Sequence>"#
    );
    for status_delay in [0, 300] {
        let mut rig = driving_rig();
        rig.bench.delay_statuses(status_delay);
        rig.bench.delay_cancels(200);
        rig.bench.action::<Wait>("wait", |_| Plan::success().after(100));
        rig.bench.action::<FollowPath>("follow_path", |_| {
            Plan::endless().stop_after(500).answer_after(150)
        });
        start(&mut rig, 1, ToPose, &load(&registry(), &text));
        let is_requested = |rig: &Rig| {
            rig.bench
                .order()
                .iter()
                .any(|what| what == "cancel to follow_path")
        };
        for _ in 0..50 {
            if is_requested(&rig) && rig.bench.active("follow_path") == 1 {
                break;
            }
            rig.ticks(1);
        }
        rig.bench.foreign_cancel("follow_path");
        rig.ticks(200);
        let (_, report) = rig.report();
        assert!(
            report.error_message.contains("another client cancelled the goal"),
            "{report:?}"
        );
        assert_eq!(rig.bench.active("spin"), 0);
        let spins = rig.bench.goals::<Spin>("spin").len();
        assert_eq!(spins, usize::from(status_delay > 0), "the news was late");
    }
}
