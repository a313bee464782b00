//! Tests of a goal that replaces another one in a running tree: the robot drives to it, in whatever tick it comes.

use std::sync::Arc;

use serde_json::{Value as JsonValue, json};

use super::NavigatorKind::{self, ThroughPoses, ToPose};
use super::goal::TerminalStatus;
use super::test_harness::{Rig, load, registry};
use crate::bt::TreeDef;
use crate::msg::action::{
    ComputePathThroughPoses, ComputePathThroughPosesResult, ComputePathToPose, ComputePathToPoseResult,
    FollowPath, SmoothPath, SmoothPathResult, Wait,
};
use crate::msg::service::{GetCosts, GetCostsResponse, IsPathValid, IsPathValidResponse};
use crate::msg::{Header, Path, Pose, PoseStamped};
use crate::nav::any::{JsonAction, JsonService};
use crate::nav::testing::Plan;
use crate::xml::Loader;

/// A path from the origin to a distance in metres.
fn path_to(x: f64) -> Arc<Path> {
    let poses = [Pose::default(), Pose::planar(x, 0.0, 0.0)];
    Arc::new(Path::through(Header::in_frame("map"), poses))
}

pub(super) fn end_of(path: &Path) -> f64 {
    path.poses.last().map_or(0.0, |pose| pose.pose.position.x)
}

/// The position of the goal in a message.
fn x_of(message: &JsonValue) -> f64 {
    message["goal"]["pose"]["position"]["x"].as_f64().unwrap()
}

/// Delays, in milliseconds.
#[derive(Clone, Copy, Default)]
pub(super) struct Delays {
    /// The delay of commands after their tick.
    commands: u64,
    /// The delay of the controller's results after their status.
    results: u64,
}

/// A robot that plans for 30 ms, drives for 100 ms and waits for 40 ms. Its costmap answers after 20 ms.
pub(super) fn rig(delays: Delays) -> Rig {
    with_servers(Rig::new(), delays)
}

pub(super) fn with_servers(mut rig: Rig, delays: Delays) -> Rig {
    let bench = &mut rig.bench;
    bench.delay_commands(delays.commands);
    bench.action::<ComputePathToPose>("compute_path_to_pose", |wanted| {
        Plan::result(ComputePathToPoseResult {
            path: path_to(wanted.goal.pose.position.x),
            ..ComputePathToPoseResult::default()
        })
        .after(30)
    });
    bench.action::<ComputePathThroughPoses>("compute_path_through_poses", |wanted| {
        let last = wanted.goals.last().map_or(0.0, |pose| pose.pose.position.x);
        Plan::result(ComputePathThroughPosesResult {
            path: path_to(last),
            ..ComputePathThroughPosesResult::default()
        })
        .after(30)
    });
    bench.action::<SmoothPath>("smooth_path", |wanted| {
        Plan::result(SmoothPathResult {
            path: Arc::clone(&wanted.path),
            was_completed: true,
            ..SmoothPathResult::default()
        })
        .after(20)
    });
    bench.action::<FollowPath>("follow_path", move |_| {
        Plan::success().after(100).result_after(delays.results)
    });
    bench.action::<Wait>("wait", |_| Plan::success().after(40));
    // The same with message types that the tree names.
    bench.action::<JsonAction>("any_plan", move |goal| {
        Plan::result(json!({"path": &*path_to(x_of(goal))})).after(30)
    });
    bench.action::<JsonAction>("any_tell", move |goal| {
        let told = |after| (after, json!({"path": &*path_to(x_of(goal))}));
        let told = [5, 15, 25].map(told);
        let plan = Plan::result(json!({})).after(30);
        told.into_iter()
            .fold(plan, |plan, (after, feedback)| plan.feedback(after, feedback))
    });
    bench.action::<JsonAction>("any_sort", |goal| Plan::result(goal.clone()).after(20));
    bench.slow_service::<JsonService>("any_plan_service", 30, move |goal| {
        Some(json!({"path": &*path_to(x_of(goal))}))
    });
    bench.slow_service::<JsonService>("any_sort_service", 20, |goal| Some(goal.clone()));
    bench.service::<IsPathValid>("is_path_valid", |_| {
        Some(IsPathValidResponse {
            is_valid: true,
            ..IsPathValidResponse::default()
        })
    });
    bench.slow_service::<GetCosts>("costs", 20, |request| {
        Some(GetCostsResponse {
            costs: vec![0.0; request.poses.len()],
            success: true,
        })
    });
    rig
}

/// The outcome of a goal to 2 m that replaced a goal to 1 m after a number of ticks.
struct Replaced {
    /// The first goal had ended before.
    is_late: bool,
    /// The ends of the paths that the robot followed, in order.
    ends: Vec<f64>,
    waits: usize,
}

/// The targets of the robot so far, in order.
type Sent = fn(&Rig) -> Vec<f64>;

fn replace(kind: NavigatorKind, tree: &Arc<TreeDef>, after: usize, delays: Delays) -> Replaced {
    replace_with(rig(delays), kind, tree, after, driven_to)
}

fn driven_to(rig: &Rig) -> Vec<f64> {
    let goals = rig.bench.goals::<FollowPath>("follow_path");
    goals.iter().map(|goal| end_of(&goal.path)).collect()
}

fn replace_with(
    mut rig: Rig,
    kind: NavigatorKind,
    tree: &Arc<TreeDef>,
    after: usize,
    sent: Sent,
) -> Replaced {
    let goal = |rig: &mut Rig, number: u8, x: f64| {
        rig.bench.transform("map", "base_link", Pose::default());
        rig.goal_to(number, kind, "map", x, tree);
    };
    goal(&mut rig, 1, 1.0);
    rig.ticks(after);
    let is_late = !rig.navigator.is_running();
    goal(&mut rig, 2, 2.0);
    for _ in 0..400 {
        rig.bench.transform("map", "base_link", Pose::default());
        rig.ticks(1);
        if rig.navigator.is_idle() {
            break;
        }
    }
    assert!(rig.navigator.is_idle(), "after {after} ticks: it runs on");
    let told: Vec<_> = rig
        .reports
        .try_iter()
        .map(|(number, report)| (number, report.status))
        .collect();
    let first = if is_late {
        TerminalStatus::Succeeded
    } else {
        TerminalStatus::Aborted
    };
    assert_eq!(
        told,
        [(1, first), (2, TerminalStatus::Succeeded)],
        "after {after} ticks"
    );
    Replaced {
        is_late,
        ends: sent(&rig),
        waits: rig.bench.goals::<Wait>("wait").len(),
    }
}

/// Checks that the robot drives to a goal which comes in any tick of a run, before its client gets SUCCEEDED.
fn is_driven_to(kind: NavigatorKind, xml: &str) -> usize {
    is_driven_to_by(kind, xml, &load(&registry(), xml), Delays::default())
}

fn is_driven_to_by(kind: NavigatorKind, xml: &str, tree: &Arc<TreeDef>, delays: Delays) -> usize {
    let mut after = 1;
    loop {
        let replaced = replace(kind, tree, after, delays);
        if replaced.is_late {
            return after;
        }
        assert_eq!(
            replaced.ends.last(),
            Some(&2.0),
            "a new goal after {after} ticks: {:?}\n{xml}",
            replaced.ends
        );
        let drives = replaced.ends.iter().filter(|end| **end == 2.0).count();
        assert_eq!(
            drives, 1,
            "a new goal after {after} ticks: driven to {drives} times\n{xml}"
        );
        after += 1;
    }
}

/// Like [`is_driven_to_by`], for any number of commands to the new goal.
fn is_sent_to(kind: NavigatorKind, tree: &Arc<TreeDef>, delays: Delays, sent: Sent) -> usize {
    let mut after = 1;
    loop {
        let replaced = replace_with(rig(delays), kind, tree, after, sent);
        if replaced.is_late {
            return after;
        }
        let ends = &replaced.ends;
        assert_eq!(
            ends.last(),
            Some(&2.0),
            "a new goal after {after} ticks: {ends:?}"
        );
        after += 1;
    }
}

pub(super) const PLAN: &str = r#"<ComputePathToPose goal="{goal}" path="{path}"/>"#;
pub(super) const FOLLOW: &str = r#"<FollowPath path="{path}"/>"#;
const WAIT: &str = r#"<Wait wait_duration="0.04"/>"#;

#[test]
fn a_goal_that_comes_when_the_tree_is_past_its_last_use_of_it_is_driven_to() {
    for sequence in ["Sequence", "SequenceWithMemory"] {
        let xml = format!("<{sequence}>{PLAN}{FOLLOW}{WAIT}{WAIT}</{sequence}>");
        assert!(is_driven_to(ToPose, &xml) > 20);
    }
}

#[test]
fn a_goal_that_comes_in_any_tick_is_driven_to_by_trees_of_all_shapes() {
    let updated = format!(
        r#"<GoalUpdater input_goal="{{goal}}" output_goal="{{updated}}"><Sequence>
             <ComputePathToPose goal="{{updated}}" path="{{path}}"/>{FOLLOW}{WAIT}</Sequence></GoalUpdater>"#
    );
    let truncated = format!(
        r#"<Sequence>{PLAN}<TruncatePath input_path="{{path}}" output_path="{{rest}}" distance="0.0"/>
             <FollowPath path="{{rest}}"/>{WAIT}</Sequence>"#
    );
    let copied = format!(
        r#"<Sequence><SetBlackboard value="{{goal}}" output_key="copy"/>
             <ComputePathToPose goal="{{copy}}" path="{{path}}"/>{FOLLOW}{WAIT}</Sequence>"#
    );
    let smoothed = format!(
        r#"<Sequence>{PLAN}<SmoothPath unsmoothed_path="{{path}}" smoothed_path="{{path}}"/>{FOLLOW}{WAIT}</Sequence>"#
    );
    let replanned = format!(
        r#"<Sequence><PipelineSequence><RateController hz="20">{PLAN}</RateController>{FOLLOW}</PipelineSequence>
             {WAIT}</Sequence>"#
    );
    let by_goal = format!(
        "<Sequence><PipelineSequence><GoalUpdatedController>{PLAN}</GoalUpdatedController>{FOLLOW}</PipelineSequence>\
         {WAIT}</Sequence>"
    );
    let recovering = format!(
        r#"<RecoveryNode number_of_retries="6"><PipelineSequence><RateController hz="10">
             <RecoveryNode number_of_retries="1">{PLAN}{WAIT}</RecoveryNode></RateController>
             <RecoveryNode number_of_retries="1">{FOLLOW}{WAIT}</RecoveryNode></PipelineSequence>
             <ReactiveFallback><GoalUpdated/><RoundRobin>{WAIT}{WAIT}</RoundRobin></ReactiveFallback></RecoveryNode>"#
    );
    let checked = format!(
        r#"<PipelineSequence><RateController hz="20"><Fallback><ReactiveSequence>
             <Inverter><GlobalUpdatedGoal/></Inverter><IsPathValid path="{{path}}"/></ReactiveSequence>{PLAN}</Fallback>
             </RateController>{FOLLOW}</PipelineSequence>"#
    );
    for xml in [
        updated, truncated, copied, smoothed, replanned, by_goal, recovering, checked,
    ] {
        assert!(is_driven_to(ToPose, &xml) > 13, "{xml}");
    }
    let through = format!(
        r#"<Sequence><PipelineSequence><RateController hz="20"><Sequence>
             <RemovePassedGoals input_goals="{{goals}}" output_goals="{{goals}}" radius="0.1"/>
             <ComputePathThroughPoses goals="{{goals}}" path="{{path}}"/></Sequence></RateController>{FOLLOW}
             </PipelineSequence>{WAIT}</Sequence>"#
    );
    assert!(is_driven_to(ThroughPoses, &through) > 13);
}

#[test]
fn a_late_answer_does_not_put_earlier_goals_in_the_place_of_new_ones() {
    let in_place =
        r#"<RemoveInCollisionGoals service_name="costs" input_goals="{goals}" output_goals="{goals}"/>"#;
    let plan = r#"<ComputePathThroughPoses goals="{goals}" path="{path}"/>"#;
    let xml = format!("<Sequence>{in_place}{plan}{FOLLOW}{WAIT}</Sequence>");
    assert!(is_driven_to(ThroughPoses, &xml) > 13);
    let passed = r#"<RemovePassedGoals input_goals="{goals}" output_goals="{goals}" radius="0.1"/>"#;
    let reactive = format!(
        "<PipelineSequence><ReactiveSequence>{passed}{in_place}</ReactiveSequence>{plan}{FOLLOW}</PipelineSequence>"
    );
    assert!(is_driven_to(ThroughPoses, &reactive) > 13);
}

#[test]
fn a_goal_that_a_node_writes_in_place_is_the_goal() {
    let updated = format!(
        r#"<GoalUpdater input_goal="{{goal}}" output_goal="{{goal}}"><Sequence>{PLAN}{FOLLOW}{WAIT}</Sequence></GoalUpdater>"#
    );
    assert!(is_driven_to(ToPose, &updated) > 13);
    let scripted = format!(r#"<Sequence><Script code="goal := goal"/>{PLAN}{FOLLOW}{WAIT}</Sequence>"#);
    assert!(is_driven_to(ToPose, &scripted) > 13);
}

#[test]
fn a_goal_is_reached_if_the_tree_converts_goal_to_goals() {
    let append = r#"<AppendGoalPoseToGoals goal_pose="{goal}" output_goals="{goals}"/>"#;
    let plan = r#"<ComputePathThroughPoses goals="{goals}" path="{path}"/>"#;
    let replanned = format!(
        r#"<Sequence>{append}<PipelineSequence><RateController hz="20">{plan}</RateController>{FOLLOW}</PipelineSequence>
             </Sequence>"#
    );
    let late = format!("<Sequence>{append}{WAIT}{plan}{FOLLOW}</Sequence>");
    for xml in [replanned, late] {
        assert!(is_driven_to(ToPose, &xml) > 13, "{xml}");
    }
    let last_goal = format!(
        r#"<Sequence>{plan}<GetPoseFromPath path="{{path}}" index="-1" pose="{{goal}}"/>{WAIT}{PLAN}{FOLLOW}</Sequence>"#
    );
    assert!(is_driven_to(ThroughPoses, &last_goal) > 13);
}

#[test]
fn a_goal_that_comes_in_any_tick_is_driven_to_by_the_trees_that_come_with_navtree() {
    let registry = registry();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("behavior_trees");
    for (kind, name) in [
        (ToPose, "plan_and_follow.xml"),
        (ToPose, "navigate_to_pose.xml"),
        (ThroughPoses, "navigate_through_poses.xml"),
    ] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let loaded = Loader::new(&registry)
            .load_text(name, &text, &folder, None)
            .unwrap();
        assert!(
            is_driven_to_by(kind, name, &loaded.def, Delays::default()) > 13,
            "{name}"
        );
    }
}

#[test]
fn a_tree_that_works_on_the_new_goal_by_itself_is_not_started_again() {
    // Two waits per run: a third would belong to an additional run.
    let xml = format!(
        r#"<Sequence><PipelineSequence><RateController hz="50">{PLAN}</RateController>{FOLLOW}</PipelineSequence>
             {WAIT}{WAIT}</Sequence>"#
    );
    let tree = load(&registry(), &xml);
    let waits_of = |after| replace(ToPose, &tree, after, Delays::default()).waits;
    let waits: Vec<usize> = (1..6).map(waits_of).collect();
    assert_eq!(waits, [2; 5]);
}

/// Plans once per goal.
fn planning_by_goal() -> String {
    format!(
        "<PipelineSequence><GoalUpdatedController>{PLAN}</GoalUpdatedController>{FOLLOW}</PipelineSequence>"
    )
}

#[test]
fn a_goal_that_comes_between_the_end_of_another_and_its_result_is_driven_to() {
    let replanned = format!(
        r#"<PipelineSequence><RateController hz="20">{PLAN}</RateController>{FOLLOW}</PipelineSequence>"#
    );
    for xml in [replanned, planning_by_goal()] {
        let tree = load(&registry(), &xml);
        let delays = Delays {
            results: 100,
            ..Delays::default()
        };
        assert!(is_driven_to_by(ToPose, &xml, &tree, delays) > 20, "{xml}");
    }
}

#[test]
fn a_goal_whose_path_is_read_in_the_tick_in_which_another_ends_is_driven_to() {
    let xml = planning_by_goal();
    let tree = load(&registry(), &xml);
    let delays = Delays {
        commands: 5,
        ..Delays::default()
    };
    assert!(is_driven_to_by(ToPose, &xml, &tree, delays) > 13);
}

#[test]
fn a_goal_without_a_path_has_not_succeeded_when_the_robot_arrives_where_it_was_going() {
    let mut rig = rig(Delays::default());
    rig.bench
        .action::<ComputePathToPose>("compute_path_to_pose", |wanted| {
            let x = wanted.goal.pose.position.x;
            Plan::result(ComputePathToPoseResult {
                path: if x < 1.5 { path_to(x) } else { Arc::default() },
                ..ComputePathToPoseResult::default()
            })
        });
    rig.bench.action::<FollowPath>("follow_path", |goal| {
        if goal.path.is_empty() {
            Plan::abort(FollowPath::INVALID_PATH)
        } else {
            Plan::success().after(100)
        }
    });
    let tree = load(&registry(), &planning_by_goal());
    for (number, x) in [(1, 1.0), (2, 2.0)] {
        rig.bench.transform("map", "base_link", Pose::default());
        rig.goal_to(number, ToPose, "map", x, &tree);
        rig.ticks(8);
    }
    rig.ticks(30);
    let told: Vec<_> = rig
        .reports
        .try_iter()
        .map(|(number, report)| (number, report.status))
        .collect();
    assert_eq!(told, [(1, TerminalStatus::Aborted), (2, TerminalStatus::Aborted)]);
}

/// With goals, results, requests and responses whose types the tree names.
#[test]
fn a_goal_that_comes_in_any_tick_is_driven_to_by_trees_with_messages_of_any_type() {
    let action = |server: &str, result: &str, on_change: &str| {
        format!(
            r#"<RosAction server_name="{server}" action_type="a/action/B" goal.goal="{{goal}}"
                 {result}.path="{{path}}" on_change="{on_change}"/>"#
        )
    };
    let service = r#"<RosService service_name="any_plan_service" service_type="a/srv/B" request.goal="{goal}"
        response.path="{path}"/>"#;
    let mut planners = vec![(service.to_owned(), true)];
    for on_change in ["ignore", "preempt", "cancel_first"] {
        planners.push((action("any_plan", "result", on_change), true));
        // A path in feedback comes before the end of its plan. The robot follows it twice.
        planners.push((action("any_tell", "feedback", on_change), false));
    }
    for (plan, is_driven_once) in planners {
        let once = format!("<Sequence>{plan}{FOLLOW}{WAIT}</Sequence>");
        let again = format!(
            r#"<Sequence><PipelineSequence><RateController hz="20">{plan}</RateController>{FOLLOW}</PipelineSequence>
                 {WAIT}</Sequence>"#
        );
        let by_goal = format!(
            "<PipelineSequence><GoalUpdatedController>{plan}</GoalUpdatedController>{FOLLOW}</PipelineSequence>"
        );
        for xml in [once, again, by_goal] {
            let tree = load(&registry(), &xml);
            for commands in [0, 5] {
                let delays = Delays {
                    commands,
                    ..Delays::default()
                };
                let ticks = if is_driven_once {
                    is_driven_to_by(ToPose, &xml, &tree, delays)
                } else {
                    is_sent_to(ToPose, &tree, delays, driven_to)
                };
                assert!(ticks > 13, "{xml}");
            }
        }
    }
    let sorters = [
        r#"<RosAction server_name="any_sort" action_type="a/action/B" goal.goals="{goals}" result.goals="{goals}"/>"#,
        r#"<RosService service_name="any_sort_service" service_type="a/srv/B" request.goals="{goals}"
             response.goals="{goals}"/>"#,
    ];
    for sort in sorters {
        let plan = r#"<ComputePathThroughPoses goals="{goals}" path="{path}"/>"#;
        let once = format!("<Sequence>{sort}{plan}{FOLLOW}{WAIT}</Sequence>");
        let reactive = format!(
            "<PipelineSequence><ReactiveSequence>{sort}</ReactiveSequence>{plan}{FOLLOW}</PipelineSequence>"
        );
        for xml in [once, reactive] {
            assert!(is_driven_to(ThroughPoses, &xml) > 13, "{xml}");
        }
    }
}

#[test]
fn a_goal_that_comes_in_any_tick_is_sent_by_trees_that_send_the_robot_by_messages_of_any_type() {
    let called = r#"<Sequence><RosService service_name="any_plan_service" service_type="a/srv/B" request.goal="{goal}"/>
        <Wait wait_duration="0.04"/><ComputePathToPose goal="{goal}" path="{path}"/></Sequence>"#;
    let calls = is_sent_to(ToPose, &load(&registry(), called), Delays::default(), |rig| {
        let requests = rig.bench.requests::<JsonService>("any_plan_service");
        requests.iter().map(x_of).collect()
    });
    assert!(calls > 5);
    let published = r#"<Sequence><RosPublish topic_name="any_goal" message_type="a/msg/B" message.goal="{goal}"/>
        <Wait wait_duration="0.04"/><ComputePathToPose goal="{goal}" path="{path}"/></Sequence>"#;
    let publications = is_sent_to(ToPose, &load(&registry(), published), Delays::default(), |rig| {
        let messages = rig.bench.published::<JsonValue>("any_goal");
        messages.iter().map(x_of).collect()
    });
    assert!(publications > 5);
}

#[test]
fn a_goal_read_from_a_topic_counts_as_the_new_goal() {
    let xml = format!(
        r#"<Sequence><RosSubscribe topic_name="any_goal" message_type="a/msg/B" message.goal="{{goal}}"/>
             {PLAN}{FOLLOW}{WAIT}</Sequence>"#
    );
    let tree = load(&registry(), &xml);
    let mut after = 1;
    loop {
        let mut rig = rig(Delays::default());
        rig.bench.transform("map", "base_link", Pose::default());
        rig.goal_to(1, ToPose, "map", 1.0, &tree);
        rig.ticks(1);
        let goal = PoseStamped::in_frame("map", Pose::planar(3.0, 0.0, 0.0));
        rig.bench.publish("any_goal", json!({"goal": goal}));
        rig.ticks(after);
        if !rig.navigator.is_running() {
            break;
        }
        let before = rig.bench.goals::<FollowPath>("follow_path").len();
        rig.bench.transform("map", "base_link", Pose::default());
        rig.goal_to(2, ToPose, "map", 2.0, &tree);
        rig.ticks(60);
        assert_eq!(rig.reports.try_iter().count(), 2, "after {after} ticks");
        let drives = rig.bench.goals::<FollowPath>("follow_path").len() - before;
        assert!(drives > 0, "after {after} ticks");
        after += 1;
    }
    assert!(after > 13);
}

/// A tree that publishes its goal to an external planner and follows the path that the planner publishes.
fn published_to_a_planner(then: &str) -> String {
    format!(
        r#"<ReactiveSequence>
             <RosPublish topic_name="planner_goal" message_type="a/msg/B" message.goal="{{goal}}"/>
             <Sequence><RosSubscribe topic_name="planned_path" message_type="a/msg/B" mode="fresh"
               message.path="{{path}}"/>{FOLLOW}{then}</Sequence></ReactiveSequence>"#
    )
}

#[test]
fn a_goal_that_is_only_published_is_driven_to() {
    for then in ["", WAIT] {
        let tree = load(&registry(), &published_to_a_planner(then));
        let mut after = 1;
        loop {
            let mut rig = rig(Delays::default());
            // The planner answers a published goal at once, at most once per tick.
            let ticks = |rig: &mut Rig, count: usize| {
                for _ in 0..count {
                    let known = rig.bench.published::<JsonValue>("planner_goal").len();
                    rig.bench.transform("map", "base_link", Pose::default());
                    rig.ticks(1);
                    let goals = rig.bench.published::<JsonValue>("planner_goal");
                    if let Some(goal) = goals.get(known..).and_then(<[_]>::last) {
                        let path = &*path_to(x_of(goal));
                        rig.bench.publish("planned_path", json!({"path": path}));
                    }
                }
            };
            rig.bench.transform("map", "base_link", Pose::default());
            rig.goal_to(1, ToPose, "map", 1.0, &tree);
            ticks(&mut rig, after);
            if rig.navigator.is_idle() {
                break;
            }
            rig.goal_to(2, ToPose, "map", 2.0, &tree);
            ticks(&mut rig, 80);
            let told: Vec<_> = rig
                .reports
                .try_iter()
                .map(|(number, report)| (number, report.status))
                .collect();
            assert_eq!(
                told,
                [(1, TerminalStatus::Aborted), (2, TerminalStatus::Succeeded)],
                "after {after} ticks"
            );
            assert_eq!(driven_to(&rig).last(), Some(&2.0), "after {after} ticks {then}");
            after += 1;
        }
        assert!(after > 10);
    }
}

#[test]
fn a_call_that_repeats_a_goal_proves_no_drive() {
    let xml = format!(
        r#"<Sequence><RosSubscribe topic_name="planned_path" message_type="a/msg/B" message.path="{{path}}"/>
             {FOLLOW}<RosService service_name="any_plan_service" service_type="a/srv/B" request.goal="{{goal}}"/>
             </Sequence>"#
    );
    let tree = load(&registry(), &xml);
    let mut rig = rig(Delays::default());
    rig.bench.transform("map", "base_link", Pose::default());
    rig.goal_to(1, ToPose, "map", 1.0, &tree);
    rig.ticks(1);
    rig.bench.publish("planned_path", json!({"path": &*path_to(1.0)}));
    rig.ticks(5);
    rig.goal_to(2, ToPose, "map", 2.0, &tree);
    rig.bench.publish("planned_path", json!({"path": &*path_to(2.0)}));
    rig.ticks(60);
    assert_eq!(driven_to(&rig), [1.0, 2.0]);
    assert_eq!(rig.reports.try_iter().count(), 2);
}

#[test]
fn a_service_call_or_message_with_the_goal_does_not_restart_the_tree() {
    for ask in [
        r#"<WasEntryUpdated entry="{goal}"/>"#,
        r#"<Emit event="goal" data="{goal}"/>"#,
    ] {
        let xml = format!(
            r#"<Sequence>{ask}<PipelineSequence><RateController hz="50">{PLAN}</RateController>{FOLLOW}</PipelineSequence>
                 {WAIT}{WAIT}</Sequence>"#
        );
        let tree = load(&registry(), &xml);
        let waits_of = |after| replace(ToPose, &tree, after, Delays::default()).waits;
        let waits: Vec<usize> = (2..6).map(waits_of).collect();
        assert_eq!(waits, [2; 4], "{ask}");
    }
}

#[test]
fn feedback_never_gives_the_distance_to_the_goal_that_was_replaced() {
    let smooth = r#"<SmoothPath unsmoothed_path="{path}" smoothed_path="{path}"/>"#;
    for xml in [
        format!("<Sequence>{PLAN}{FOLLOW}</Sequence>"),
        format!("<Sequence>{PLAN}{smooth}{FOLLOW}</Sequence>"),
        format!(
            r#"<PipelineSequence><RateController hz="5"><Sequence>{PLAN}{smooth}</Sequence></RateController>{FOLLOW}
                 </PipelineSequence>"#
        ),
    ] {
        let tree = load(&registry(), &xml);
        for after in 1..40 {
            let mut rig = rig(Delays::default());
            rig.bench
                .action::<FollowPath>("follow_path", |_| Plan::success().after(1_000));
            let stand = |rig: &mut Rig, ticks| {
                for _ in 0..ticks {
                    rig.bench
                        .transform("map", "base_link", Pose::planar(0.8, 0.0, 0.0));
                    rig.ticks(1);
                }
            };
            stand(&mut rig, 1);
            rig.goal_to(1, ToPose, "map", 1.0, &tree);
            stand(&mut rig, after);
            rig.goal_to(2, ToPose, "map", 50.0, &tree);
            stand(&mut rig, 150);
            let distances: Vec<_> = rig
                .distances
                .try_iter()
                .filter(|(client, _)| *client == 2)
                .collect();
            assert!(distances.len() > 10, "{after} {xml}");
            // The path of 50 m begins at the origin.
            assert!(
                distances.iter().all(|(_, left)| *left > 49.0),
                "{after} {xml}: {distances:?}"
            );
        }
    }
}
