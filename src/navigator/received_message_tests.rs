//! Tests of messages that came before a navigation began: which of them affect it.

use std::sync::Arc;

use super::NavigatorKind::ToPose;
use super::goal::{Request, RequestedTree, TerminalStatus};
use super::test_harness::{Client, Rig, load, registry};
use crate::bt::{Time, TreeDef};
use crate::msg::action::{ComputePathToPose, Spin};
use crate::msg::{BatteryState, Header, Pose, PoseStamped, Stamp};
use crate::nav::testing::Plan;

const UPDATED: &str = r#"<GoalUpdater input_goal="{goal}" output_goal="{updated}">
    <Sequence><ComputePathToPose goal="{updated}" path="{path}"/><ComputePathToPose goal="{updated}" path="{path}"/></Sequence>
  </GoalUpdater>"#;

const PAUSABLE: &str = r#"<PauseResumeController pause_service_name="pause" resume_service_name="resume">
    <Spin/></PauseResumeController>"#;

fn pose(seconds: i32, x: f64) -> PoseStamped {
    let stamp = Stamp {
        sec: seconds,
        nanosec: 0,
    };
    PoseStamped {
        header: Header::new(stamp, "map"),
        pose: Pose::planar(x, 0.0, 0.0),
    }
}

fn rig() -> Rig {
    let mut rig = Rig::new();
    rig.bench
        .action::<ComputePathToPose>("compute_path_to_pose", |_| Plan::success().after(100));
    rig
}

impl Rig {
    /// A goal without a stamp, as `ros2 action send_goal` sends it, accepted this number of milliseconds ago.
    fn unstamped(&mut self, number: u8, x: f64, tree: &Arc<TreeDef>, milliseconds: u64) {
        self.bench.transform("map", "base_link", Pose::default());
        self.goal_without_transform(number, x, tree, milliseconds);
    }

    /// The same for a robot whose pose may be unknown.
    fn goal_without_transform(&mut self, number: u8, x: f64, tree: &Arc<TreeDef>, milliseconds: u64) {
        let now = self.now();
        let accepted = Time::from_nanos(now.as_nanos() - milliseconds * 1_000_000);
        let request = Request {
            kind: ToPose,
            poses: vec![pose(0, x)],
            tree: RequestedTree::Loaded(Arc::clone(tree)),
            accepted,
            run_accepted: accepted,
            client: Box::new(Client {
                number,
                reports: self.clients.clone(),
                distances: self.listeners.clone(),
            }),
        };
        self.navigator.goal(request, now);
        self.navigator.hand_over();
    }

    /// The goals sent to the planner since the last call.
    fn planned(&self, known: &mut usize) -> Vec<f64> {
        let goals = self.bench.goals::<ComputePathToPose>("compute_path_to_pose");
        let new = goals.iter().skip(*known).map(|goal| goal.goal.pose.position.x);
        let new = new.collect();
        *known = goals.len();
        new
    }
}

#[test]
fn an_update_of_an_earlier_navigation_does_not_affect_a_later_one() {
    let (mut rig, mut known) = (rig(), 0);
    let tree = load(&registry(), UPDATED);
    rig.unstamped(1, 1.0, &tree, 0);
    rig.ticks(3);
    rig.bench.publish("goal_update", pose(1, 2.0));
    rig.ticks(40);
    assert_eq!(rig.report().1.status, TerminalStatus::Succeeded);
    assert_eq!(rig.planned(&mut known), [1.0, 2.0], "an update of its own counts");
    // Messages of an earlier navigation, and of none.
    rig.unstamped(2, 3.0, &tree, 0);
    rig.ticks(40);
    assert_eq!(rig.planned(&mut known), [3.0, 3.0]);
    rig.bench.publish("goal_update", pose(2, 4.0));
    rig.bench.wait(10);
    rig.unstamped(3, 5.0, &tree, 0);
    rig.ticks(40);
    assert_eq!(rig.planned(&mut known), [5.0, 5.0]);
    // A message of the navigation that another one replaces.
    rig.unstamped(4, 6.0, &tree, 0);
    rig.ticks(3);
    rig.bench.publish("goal_update", pose(3, 7.0));
    rig.ticks(3);
    rig.unstamped(5, 8.0, &tree, 0);
    rig.ticks(40);
    assert_eq!(
        rig.planned(&mut known),
        [6.0, 8.0, 8.0, 8.0],
        "the tree begins anew for the goal"
    );
}

#[test]
fn an_update_that_came_while_the_tree_of_its_navigation_was_read_counts() {
    let (mut rig, mut known) = (rig(), 0);
    let tree = load(&registry(), UPDATED);
    rig.unstamped(1, 1.0, &tree, 0);
    rig.ticks(40);
    rig.bench.publish("goal_update", pose(1, 2.0));
    rig.bench.wait(100);
    rig.unstamped(2, 3.0, &tree, 200);
    rig.ticks(40);
    assert_eq!(rig.planned(&mut known), [1.0, 1.0, 2.0, 2.0]);
}

#[test]
fn a_pause_that_was_asked_for_before_a_navigation_does_not_hold_it_up() {
    let mut rig = rig();
    rig.bench.action::<Spin>("spin", |_| Plan::success());
    let tree = load(&registry(), PAUSABLE);
    rig.unstamped(1, 1.0, &tree, 0);
    rig.ticks(10);
    assert_eq!(rig.report().1.status, TerminalStatus::Succeeded);
    rig.bench.publish("pause", ());
    rig.ticks(1);
    rig.unstamped(2, 1.0, &tree, 0);
    rig.ticks(10);
    assert_eq!(rig.report().1.status, TerminalStatus::Succeeded);
}

/// A robot that turns while it is not paused. Its tree was resumed in an earlier navigation.
fn turning() -> (Rig, Arc<TreeDef>) {
    let mut rig = rig();
    rig.bench.action::<Spin>("spin", |_| Plan::endless());
    let tree = load(&registry(), PAUSABLE);
    rig.unstamped(1, 1.0, &tree, 0);
    rig.ticks(3);
    rig.bench.publish("resume", ());
    rig.ticks(3);
    rig.cancel(1);
    rig.ticks(5);
    assert_eq!(rig.report().1.status, TerminalStatus::Canceled);
    rig.unstamped(2, 1.0, &tree, 0);
    rig.ticks(3);
    assert_eq!(rig.bench.active("spin"), 1);
    (rig, tree)
}

#[test]
fn a_goal_that_takes_the_place_of_a_paused_one_stays_paused() {
    let (mut rig, tree) = turning();
    rig.bench.publish("pause", ());
    rig.ticks(3);
    assert_eq!(rig.bench.active("spin"), 0);
    rig.unstamped(3, 2.0, &tree, 0);
    rig.ticks(10);
    assert_eq!(rig.bench.active("spin"), 0, "no client called resume");
    rig.bench.publish("resume", ());
    rig.ticks(3);
    assert_eq!(rig.bench.active("spin"), 1);
}

#[test]
fn a_pause_between_the_last_tick_and_a_goal_that_replaces_another_counts() {
    let (mut rig, tree) = turning();
    rig.bench.publish("pause", ());
    rig.bench.wait(5);
    rig.unstamped(3, 2.0, &tree, 0);
    rig.ticks(5);
    assert_eq!(rig.bench.active("spin"), 0);
}

#[test]
fn a_pause_while_the_tree_of_its_navigation_is_read_holds_it_up() {
    for (requests, active) in [(&["pause"][..], 0), (&["pause", "resume"], 1)] {
        let (mut rig, _) = turning();
        for request in requests {
            rig.bench.publish(request, ());
        }
        rig.bench.wait(50);
        // A different tree, which replaces the tree of the goal before.
        rig.unstamped(3, 2.0, &load(&registry(), PAUSABLE), 100);
        rig.ticks(5);
        assert_eq!(rig.bench.active("spin"), active, "{requests:?}");
    }
}

#[test]
fn a_paused_robot_stays_paused_whichever_tree_goes_on() {
    // A goal comes with another tree, also after a goal that replaced a paused one; the goal before it had a tree that
    // cannot be paused.
    for case in 1..5 {
        let (mut rig, tree) = turning();
        rig.bench.close_topics_at_once();
        rig.bench.publish("pause", ());
        rig.ticks(3);
        assert_eq!(rig.bench.active("spin"), 0);
        if case == 1 {
            rig.unstamped(3, 2.0, &tree, 0);
            rig.ticks(3);
        }
        if case == 4 {
            rig.unstamped(3, 2.0, &load(&registry(), "<Spin/>"), 0);
            rig.ticks(10);
            assert_eq!(rig.bench.active("spin"), 1);
        }
        let other = load(&registry(), PAUSABLE);
        rig.unstamped(4, 3.0, &other, 0);
        rig.ticks(10);
        if case == 3 {
            // The first tree again.
            rig.unstamped(5, 3.0, &tree, 0);
            rig.ticks(10);
        }
        assert_eq!(
            rig.bench.active("spin"),
            0,
            "no client called resume: case {case}"
        );
        rig.bench.publish("resume", ());
        rig.ticks(3);
        assert_eq!(rig.bench.active("spin"), 1, "case {case}");
    }
}

#[test]
fn a_run_is_resumed_while_a_tree_that_cannot_be_paused_goes_on() {
    let (mut rig, tree) = turning();
    rig.bench.close_topics_at_once();
    rig.bench.publish("pause", ());
    rig.ticks(3);
    rig.unstamped(3, 2.0, &load(&registry(), "<Spin/>"), 0);
    rig.ticks(10);
    rig.bench.publish("resume", ());
    rig.ticks(3);
    rig.unstamped(4, 3.0, &tree, 0);
    rig.ticks(10);
    assert_eq!(rig.bench.active("spin"), 1);
    // In the next run, the services end with their tree.
    rig.cancel(4);
    rig.ticks(5);
    rig.unstamped(5, 3.0, &load(&registry(), "<Spin/>"), 0);
    rig.ticks(3);
    assert!(!rig.bench.is_open("pause"));
}

#[test]
fn a_pause_while_the_tree_of_its_navigation_is_read_counts_if_another_tree_was_used_before() {
    let (mut rig, tree) = turning();
    rig.cancel(2);
    rig.ticks(5);
    rig.unstamped(3, 2.0, &load(&registry(), "<AlwaysSuccess/>"), 0);
    rig.ticks(3);
    rig.bench.publish("pause", ());
    rig.ticks(3);
    rig.bench.wait(50);
    rig.unstamped(4, 2.0, &tree, 100);
    rig.ticks(5);
    assert_eq!(rig.bench.active("spin"), 0, "no client called resume");
}

#[test]
fn a_message_of_an_earlier_navigation_counts_although_another_tree_was_used_in_between() {
    let battery = r#"<IsBatteryLow min_battery="0.2"/>"#;
    let state = |qos: &str| {
        format!(
            r#"<RosSubscribe topic_name="door" message_type="std_msgs/msg/String" qos="{qos}" timeout="50"/>"#
        )
    };
    let cases = [
        (battery, false, TerminalStatus::Succeeded),
        (&state("default"), false, TerminalStatus::Succeeded),
        (&state("latched"), true, TerminalStatus::Succeeded),
        // Newer messages may have been missed.
        (&state("default"), true, TerminalStatus::Aborted),
    ];
    for (reader, has_subscription_ended, expected) in cases {
        let mut rig = rig();
        if has_subscription_ended {
            rig.bench.close_topics_at_once();
        }
        let trees = [reader, "<AlwaysSuccess/>"].map(|tree| load(&registry(), tree));
        let run = |rig: &mut Rig, number: u8, tree: usize| {
            rig.unstamped(number, 1.0, &trees[tree], 0);
            rig.ticks(1);
            if number == 1 {
                let battery = BatteryState {
                    percentage: 0.1,
                    ..BatteryState::default()
                };
                rig.bench.publish("/battery_status", battery);
                rig.bench.publish("door", serde_json::json!({"data": "open"}));
            }
            rig.ticks(10);
            rig.report().1.status
        };
        run(&mut rig, 1, 0);
        // The battery publishes after the first goal has failed.
        assert_eq!(run(&mut rig, 2, 0), TerminalStatus::Succeeded, "{reader}");
        assert_eq!(run(&mut rig, 3, 1), TerminalStatus::Succeeded);
        assert_eq!(run(&mut rig, 4, 0), expected, "{reader}");
    }
}

#[test]
fn each_of_many_latched_topics_has_its_message_again_although_another_tree_was_used_in_between() {
    let topics = || (0..100).map(|number| format!("door{number}"));
    let reader = |topic| {
        format!(
            r#"<RosSubscribe topic_name="{topic}" message_type="std_msgs/msg/String" qos="latched" timeout="50"/>"#
        )
    };
    let readers: String = topics().map(reader).collect();
    let reading = load(&registry(), &format!("<Sequence>{readers}</Sequence>"));
    let other = load(&registry(), "<AlwaysSuccess/>");
    let mut rig = rig();
    for (number, tree) in [(1, &reading), (2, &other), (3, &reading)] {
        rig.unstamped(number, 1.0, tree, 0);
        rig.ticks(1);
        if number == 1 {
            topics().for_each(|topic| rig.bench.publish(&topic, serde_json::json!({"data": "open"})));
        }
        rig.ticks(10);
        assert_eq!(rig.report().1.status, TerminalStatus::Succeeded, "{number}");
    }
}

#[test]
fn a_goal_after_a_paused_one_has_ended_is_not_paused() {
    let (mut rig, tree) = turning();
    rig.bench.publish("pause", ());
    rig.ticks(3);
    rig.cancel(2);
    rig.ticks(5);
    assert_eq!(rig.report().1.status, TerminalStatus::Canceled);
    rig.unstamped(3, 2.0, &tree, 0);
    rig.ticks(3);
    assert_eq!(rig.bench.active("spin"), 1);
}

#[test]
fn a_pause_while_its_goal_waits_for_a_transform_delays_the_goal_that_displaces_it() {
    let mut rig = rig();
    rig.bench.action::<Spin>("spin", |_| Plan::endless());
    let tree = load(&registry(), PAUSABLE);
    let now = rig.now();
    rig.navigator.prepare(ToPose, &tree, now);
    rig.goal_without_transform(1, 1.0, &tree, 0);
    rig.ticks(3);
    rig.bench.publish("pause", ());
    rig.ticks(3);
    rig.goal_without_transform(2, 2.0, &tree, 0);
    rig.ticks(3);
    assert!(!rig.navigator.is_running());
    rig.bench.transform("map", "base_link", Pose::default());
    rig.ticks(5);
    assert_eq!(rig.report().0, 1);
    assert!(rig.navigator.is_running());
    assert_eq!(rig.bench.active("spin"), 0, "no client called resume");
    rig.bench.publish("resume", ());
    rig.ticks(3);
    assert_eq!(rig.bench.active("spin"), 1);
}
