//! Tests of goals, cancels and new trees at difficult moments: which goal runs, and when each client gets its result.

use std::sync::Arc;
use std::time::Duration;

use super::goal::{NavigationId, NavigationResult, Request, RequestedTree, TerminalStatus};
use super::test_harness::{Client, Rig, load, navigation, registry};
use super::{Heartbeat, NavigatorKind, Options};
use crate::bt::TreeDef;
use crate::goal::GoalId;
use crate::job::JobRegistry;
use crate::msg::action::{ComputePathToPose, ComputePathToPoseResult, FollowPath, Spin};
use crate::msg::{Header, Path, Pose, PoseStamped, Stamp};
use crate::nav::Settings;
use crate::nav::testing::Plan;

const TURN: &str = r#"<Spin name="turn" spin_dist="1.0"/>"#;
const DISPLACED: &str = "replaced by a newer goal";

fn tree(xml: &str) -> Arc<TreeDef> {
    load(&registry(), xml)
}

fn id(number: u8) -> GoalId {
    GoalId([number; 16])
}

impl Rig {
    /// A goal at a distance in metres in a frame.
    pub(super) fn goal_to(
        &mut self,
        number: u8,
        kind: NavigatorKind,
        frame: &str,
        x: f64,
        tree: &Arc<TreeDef>,
    ) {
        let request = Request {
            kind,
            poses: vec![PoseStamped {
                header: Header::new(Stamp::ZERO, frame),
                pose: Pose::planar(x, 0.0, 0.0),
            }],
            tree: RequestedTree::Loaded(Arc::clone(tree)),
            accepted: self.bench.now(),
            run_accepted: self.bench.now(),
            client: Box::new(Client {
                number,
                reports: self.clients.clone(),
                distances: self.listeners.clone(),
            }),
        };
        let now = self.now();
        self.navigator.goal(request, now);
        self.navigator.hand_over();
    }

    fn frame(&mut self, name: &str) {
        self.bench.transform("map", name, Pose::default());
    }

    pub(super) fn cancel(&mut self, number: u8) {
        for kind in NavigatorKind::ALL {
            self.cancel_of(kind, number);
        }
    }

    fn cancel_of(&mut self, kind: NavigatorKind, number: u8) {
        let (goal, now) = (id(number), self.now());
        self.navigator.cancel(NavigationId { kind, goal }, now);
        self.navigator.hand_over();
    }

    /// The results since the last call: number, status, error code and message.
    fn told(&self) -> Vec<(u8, TerminalStatus, u16, String)> {
        let tell = |(number, report): (u8, NavigationResult)| {
            (number, report.status, report.error_code, report.error_message)
        };
        self.reports.try_iter().map(tell).collect()
    }
}

fn aborted(number: u8, message: &str) -> (u8, TerminalStatus, u16, String) {
    (number, TerminalStatus::Aborted, 0, message.to_owned())
}

fn canceled(number: u8) -> (u8, TerminalStatus, u16, String) {
    (number, TerminalStatus::Canceled, 0, String::new())
}

fn succeeded(number: u8) -> (u8, TerminalStatus, u16, String) {
    (number, TerminalStatus::Succeeded, 0, String::new())
}

use NavigatorKind::{ThroughPoses, ToPose};

#[test]
fn a_late_transform_does_not_let_an_older_goal_replace_a_newer_one() {
    let mut rig = Rig::new();
    rig.bench.action::<Spin>("spin", |_| Plan::endless());
    let turn = tree(TURN);
    rig.goal_to(1, ThroughPoses, "dock", 1.0, &turn);
    rig.ticks(3);
    assert_eq!(rig.told(), [], "its transform may come yet");
    rig.goal_to(2, ThroughPoses, "map", 2.0, &turn);
    rig.ticks(3);
    assert_eq!(rig.told(), [aborted(1, DISPLACED)]);
    rig.frame("dock");
    rig.ticks(3);
    assert_eq!((rig.told(), rig.bench.active("spin")), (vec![], 1));
    rig.cancel(2);
    rig.ticks(3);
    assert_eq!(rig.told(), [canceled(2)]);
}

#[test]
fn g6_a_cancel_is_for_the_action_that_received_it() {
    let options = Options {
        allow_navigator_preemption: true,
        ..Options::default()
    };
    let mut rig = Rig::with(Settings::default(), options);
    rig.bench.action::<Spin>("spin", |_| Plan::endless());
    let turn = tree(TURN);
    rig.goal_to(1, ThroughPoses, "map", 1.0, &turn);
    rig.ticks(3);
    rig.goal_to(1, ToPose, "dock", 1.0, &turn);
    rig.cancel_of(ThroughPoses, 1);
    rig.ticks(3);
    assert_eq!((rig.told(), rig.bench.active("spin")), (vec![canceled(1)], 0));
}

#[test]
fn a_goal_waits_for_a_transform_until_other_nodes_are_discovered() {
    let ended_at = |discovered: u64| {
        let options = Options {
            discovered: Rig::new().now() + Duration::from_millis(discovered),
            ..Options::default()
        };
        let mut rig = Rig::with(Settings::default(), options);
        rig.goal_to(1, ToPose, "map", 1.0, &tree(TURN));
        let ticks = (0..300).take_while(|_| {
            rig.ticks(1);
            rig.told().is_empty()
        });
        ticks.count() * 10
    };
    assert!((490..=520).contains(&ended_at(0)));
    assert!((1990..=2020).contains(&ended_at(2000)));
}

#[test]
fn of_goals_that_wait_for_one_transform_the_newest_starts() {
    let mut rig = Rig::new();
    rig.bench.action::<Spin>("spin", |_| Plan::endless());
    for number in 1..=3 {
        rig.goal_to(number, ThroughPoses, "dock", 1.0, &tree(TURN));
    }
    rig.ticks(3);
    rig.frame("dock");
    rig.ticks(3);
    assert_eq!(rig.told(), [aborted(1, DISPLACED), aborted(2, DISPLACED)]);
    assert_eq!(rig.bench.goals::<Spin>("spin").len(), 1, "no older one was begun");
}

#[test]
fn a_newer_goal_that_is_refused_ends_no_older_one() {
    let mut rig = Rig::new();
    rig.bench.action::<Spin>("spin", |_| Plan::endless());
    rig.goal_to(1, ThroughPoses, "map", 1.0, &tree(TURN));
    rig.goal_to(2, ThroughPoses, "dock", 2.0, &tree(TURN));
    rig.goal_to(3, ToPose, "map", 3.0, &tree(TURN));
    rig.ticks(3);
    let told = rig.told();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        (told[0].0, told[0].1, told[0].2),
        (3, TerminalStatus::Aborted, 9000)
    );
    rig.frame("dock");
    rig.ticks(3);
    assert_eq!(rig.told(), [aborted(1, DISPLACED)]);
}

#[test]
fn a_goal_does_not_end_a_waiting_goal_of_the_other_navigator_where_that_is_not_allowed() {
    let refused = "the other navigator has an active goal: cancel that goal first, or set \
                   allow_navigator_preemption";
    let mut rig = Rig::new();
    rig.bench.action::<Spin>("spin", |_| Plan::endless());
    // The pose of the robot is not known yet, and goals through poses do not need it.
    rig.goal_to(1, ToPose, "map", 1.0, &tree(TURN));
    rig.goal_to(2, ThroughPoses, "map", 2.0, &tree(TURN));
    assert_eq!(
        rig.told(),
        [(2, TerminalStatus::Aborted, 9100, refused.to_owned())]
    );
    rig.ticks(3);
    assert!(!rig.navigator.is_running());
    rig.frame("base_link");
    rig.ticks(3);
    assert_eq!((rig.told(), rig.bench.active("spin")), (vec![], 1));
    // A refused goal does not prevent the start of another one.
    rig.goal_to(3, ThroughPoses, "dock", 3.0, &tree(TURN));
    rig.goal_to(4, ToPose, "map", 4.0, &tree(TURN));
    rig.ticks(3);
    let told: Vec<u8> = rig.told().into_iter().map(|(number, ..)| number).collect();
    assert_eq!(told, [3, 1]);
    assert!(rig.navigator.is_running());
}

#[test]
fn a_goal_ends_a_waiting_goal_of_the_other_navigator_where_that_is_allowed() {
    let options = Options {
        allow_navigator_preemption: true,
        ..Options::default()
    };
    let mut rig = Rig::with(Settings::default(), options);
    rig.bench.action::<Spin>("spin", |_| Plan::endless());
    rig.goal_to(1, ToPose, "map", 1.0, &tree(TURN));
    rig.goal_to(2, ThroughPoses, "map", 2.0, &tree(TURN));
    rig.ticks(3);
    assert_eq!(rig.told(), [aborted(1, DISPLACED)]);
    rig.frame("base_link");
    rig.ticks(3);
    assert_eq!((rig.told(), rig.bench.cancels("spin")), (vec![], 0));
}

#[test]
fn a_goal_does_not_end_a_waiting_goal_with_another_tree_where_that_is_not_allowed() {
    let options = Options {
        allow_tree_preemption: false,
        ..Options::default()
    };
    let mut rig = Rig::with(Settings::default(), options);
    rig.bench.action::<Spin>("spin", |_| Plan::endless());
    let turn = tree(TURN);
    rig.goal_to(1, ThroughPoses, "dock", 1.0, &turn);
    rig.goal_to(2, ThroughPoses, "map", 2.0, &tree("<AlwaysSuccess/>"));
    let told = rig.told();
    assert_eq!((told.len(), told[0].0, told[0].2), (1, 2, 9100), "{told:?}");
    rig.goal_to(3, ThroughPoses, "dock", 3.0, &turn);
    rig.frame("dock");
    rig.ticks(3);
    assert_eq!(rig.told(), [aborted(1, DISPLACED)]);
    assert_eq!(rig.bench.active("spin"), 1);
}

#[test]
fn a_goal_with_another_tree_is_refused_where_that_is_not_allowed_to_replace_one() {
    let told = |allow_tree_preemption: bool| {
        let options = Options {
            allow_tree_preemption,
            ..Options::default()
        };
        let mut rig = Rig::with(Settings::default(), options);
        rig.bench.action::<Spin>("spin", |_| Plan::endless());
        let running = tree(TURN);
        rig.goal(1, &running);
        rig.ticks(3);
        rig.goal(2, &tree("<AlwaysSuccess/>"));
        rig.ticks(3);
        // A goal with the same tree always replaces the current one.
        rig.goal(3, &running);
        rig.ticks(3);
        let told: Vec<_> = rig
            .told()
            .into_iter()
            .map(|(number, how, code, _)| (number, how, code))
            .collect();
        told
    };
    use TerminalStatus::{Aborted, Succeeded};
    assert_eq!(told(true), [(1, Aborted, 0), (2, Succeeded, 0)]);
    assert_eq!(told(false), [(2, Aborted, 9100), (1, Aborted, 0)]);
}

#[test]
fn g3_a_tick_that_blocks_does_not_shorten_the_time_to_stop() {
    let mut rig = Rig::new();
    rig.bench
        .action::<Spin>("spin", |_| Plan::endless().stop_after(200));
    rig.goal(1, &tree(&format!(r#"<Timeout msec="50">{TURN}</Timeout>"#)));
    while !rig.navigator.is_stopping() {
        rig.ticks(1);
    }
    // The tick that halted the tree took four seconds, and the cancel leaves at its end.
    let now = rig.bench.now();
    rig.navigator.set_steady(now + Duration::from_secs(4));
    rig.navigator.poll(now);
    rig.navigator.hand_over();
    assert_eq!((rig.told(), rig.bench.active("spin")), (vec![], 1));
    rig.ticks(30);
    assert_eq!(rig.bench.active("spin"), 0);
    assert_eq!(rig.told(), [aborted(1, "the tree failed without an error code")]);
}

#[test]
fn g3_the_client_of_a_tree_that_has_ended_is_told_when_what_it_had_started_has_stopped() {
    let mut rig = Rig::new();
    rig.bench
        .action::<Spin>("spin", |_| Plan::endless().stop_after(200));
    rig.goal(1, &tree(&format!(r#"<Timeout msec="50">{TURN}</Timeout>"#)));
    rig.ticks(10);
    assert!(rig.navigator.is_stopping());
    assert_eq!((rig.told(), rig.bench.active("spin")), (vec![], 1));
    // A goal that comes meanwhile begins after the stop.
    rig.goal(2, &tree("<AlwaysSuccess/>"));
    rig.ticks(5);
    assert_eq!(rig.told(), []);
    rig.ticks(20);
    assert_eq!(rig.bench.active("spin"), 0);
    assert_eq!(
        rig.told(),
        [aborted(1, "the tree failed without an error code"), succeeded(2)]
    );
}

#[test]
fn g3_the_client_of_a_tree_that_has_ended_reads_what_did_not_stop_behind_why_it_failed() {
    let mut rig = Rig::new();
    rig.bench
        .action::<Spin>("spin", |_| Plan::endless().unstoppable());
    rig.goal(1, &tree(&format!(r#"<Timeout msec="50">{TURN}</Timeout>"#)));
    rig.ticks(300);
    assert_eq!(rig.told(), []);
    rig.ticks(20);
    let [(_, ending, code, message)] = rig.told().try_into().unwrap();
    assert_eq!((ending, code), (TerminalStatus::Aborted, 9103));
    assert_eq!(
        message,
        "the tree failed without an error code; not known to have stopped in time: turn Canceling"
    );
}

#[test]
fn the_error_code_of_a_failed_tree_stays_when_goals_do_not_stop() {
    let mut rig = Rig::driving(300);
    rig.bench
        .action::<FollowPath>("follow_path", |_| Plan::abort(105).after(50));
    rig.bench
        .action::<Spin>("spin", |_| Plan::endless().unstoppable());
    let follow = r#"<FollowPath path="{path}" error_code_id="{follow_path_error_code}"/>"#;
    let tree = tree(&format!(
        r#"<Parallel failure_count="1">{follow}{TURN}</Parallel>"#
    ));
    rig.goal_to(1, ToPose, "map", 1.0, &tree);
    rig.ticks(320);
    let [(_, ending, code, message)] = rig.told().try_into().unwrap();
    assert_eq!((ending, code), (TerminalStatus::Aborted, 105));
    assert!(
        message.ends_with("; not known to have stopped in time: turn Canceling"),
        "{message}"
    );
}

#[test]
fn g6_the_client_of_a_skipped_tree_gets_a_failure() {
    for xml in [
        r#"<AlwaysSuccess _skipIf="true"/>"#,
        r#"<Sequence><AlwaysSuccess _skipIf="true"/><AlwaysFailure _skipIf="true"/></Sequence>"#,
    ] {
        let mut rig = Rig::new();
        rig.goal(1, &tree(xml));
        rig.ticks(1);
        let message = "the tree returned SKIPPED: a precondition skips its root or all children of its root";
        assert_eq!(rig.told(), [aborted(1, message)]);
        assert!(rig.navigator.is_idle());
    }
}

#[test]
fn a_client_gets_its_result_in_the_last_tick_if_no_goal_is_left() {
    let mut rig = Rig::new();
    rig.bench.action::<Spin>("spin", |_| Plan::success().after(50));
    rig.goal(1, &tree(TURN));
    while rig.navigator.is_running() {
        assert_eq!(rig.told(), []);
        rig.ticks(1);
    }
    assert!(rig.navigator.is_idle());
    assert_eq!(rig.told(), [succeeded(1)]);
}

const PLAN_AND_FOLLOW: &str = r#"<Sequence>
    <ComputePathToPose goal="{goal}" path="{path}"/><FollowPath path="{path}"/>
  </Sequence>"#;

impl Rig {
    /// A robot that plans at once, and drives for this number of milliseconds.
    fn driving(milliseconds: u64) -> Self {
        Self::planning(0, milliseconds)
    }

    /// A robot that plans and drives, each for a number of milliseconds.
    fn planning(thinking: u64, driving: u64) -> Self {
        let mut rig = Self::new();
        rig.frame("base_link");
        rig.bench
            .action::<ComputePathToPose>("compute_path_to_pose", move |wanted| {
                let poses = [Pose::default(), wanted.goal.pose];
                Plan::result(ComputePathToPoseResult {
                    path: Arc::new(Path::through(Header::in_frame("map"), poses)),
                    ..ComputePathToPoseResult::default()
                })
                .after(thinking)
            });
        rig.bench
            .action::<FollowPath>("follow_path", move |_| Plan::success().after(driving));
        rig
    }

    /// The ends of the paths that the robot followed.
    fn driven(&self) -> Vec<f64> {
        let goals = self.bench.goals::<FollowPath>("follow_path");
        let end = |path: &Path| path.poses.last().unwrap().pose.position.x;
        goals.iter().map(|goal| end(&goal.path)).collect()
    }
}

#[test]
fn a_goal_that_takes_anothers_place_just_before_the_robot_arrives_is_driven_to() {
    let mut rig = Rig::driving(300);
    let tree = tree(PLAN_AND_FOLLOW);
    rig.goal_to(1, ToPose, "map", 1.0, &tree);
    rig.ticks(20);
    rig.goal_to(2, ToPose, "map", 2.0, &tree);
    assert_eq!(rig.told(), [aborted(1, DISPLACED)]);
    rig.ticks(25);
    assert_eq!((rig.told(), rig.driven()), (vec![], vec![1.0, 2.0]));
    rig.ticks(30);
    assert_eq!((rig.told(), rig.driven()), (vec![succeeded(2)], vec![1.0, 2.0]));
}

#[test]
fn a_goal_that_takes_anothers_place_while_the_planner_works_is_driven_to() {
    let mut rig = Rig::planning(100, 300);
    let tree = tree(PLAN_AND_FOLLOW);
    rig.goal_to(1, ToPose, "map", 1.0, &tree);
    rig.ticks(5);
    assert!(rig.driven().is_empty());
    rig.goal_to(2, ToPose, "map", 2.0, &tree);
    assert_eq!(rig.told(), [aborted(1, DISPLACED)]);
    rig.ticks(60);
    assert_eq!((rig.told(), rig.driven()), (vec![], vec![1.0, 2.0]));
    rig.ticks(30);
    assert_eq!((rig.told(), rig.driven()), (vec![succeeded(2)], vec![1.0, 2.0]));
}

/// Follows a path that is planned at this rate.
fn replanning(hz: u32) -> Arc<TreeDef> {
    tree(&format!(
        r#"<PipelineSequence>
             <RateController hz="{hz}"><ComputePathToPose goal="{{goal}}" path="{{path}}"/></RateController>
             <FollowPath path="{{path}}"/>
           </PipelineSequence>"#
    ))
}

#[test]
fn a_goal_that_takes_anothers_place_and_is_planned_for_at_once_is_driven_to_once() {
    let mut rig = Rig::driving(300);
    let tree = replanning(10);
    rig.goal_to(1, ToPose, "map", 1.0, &tree);
    rig.ticks(20);
    rig.goal_to(2, ToPose, "map", 2.0, &tree);
    rig.ticks(100);
    assert_eq!(rig.told(), [aborted(1, DISPLACED), succeeded(2)]);
    assert_eq!(rig.driven(), [1.0, 2.0]);
}

#[test]
fn a_goal_whose_planning_is_overtaken_by_the_robots_arrival_is_driven_to() {
    let mut rig = Rig::planning(200, 300);
    let tree = replanning(5);
    rig.goal_to(1, ToPose, "map", 1.0, &tree);
    rig.ticks(35);
    rig.goal_to(2, ToPose, "map", 2.0, &tree);
    rig.ticks(30);
    assert_eq!(
        (rig.told(), rig.driven()),
        (vec![aborted(1, DISPLACED)], vec![1.0])
    );
    rig.ticks(60);
    assert_eq!((rig.told(), rig.driven()), (vec![succeeded(2)], vec![1.0, 2.0]));
}

#[test]
fn a_goal_that_takes_the_place_of_one_that_fails_is_driven_to() {
    let mut rig = Rig::driving(300);
    rig.bench.action::<FollowPath>("follow_path", |goal| {
        let end = goal.path.poses.last().unwrap().pose.position.x;
        let plan = if end < 1.5 {
            Plan::abort(105)
        } else {
            Plan::success()
        };
        plan.after(300)
    });
    let tree = tree(PLAN_AND_FOLLOW);
    rig.goal_to(1, ToPose, "map", 1.0, &tree);
    rig.ticks(20);
    rig.goal_to(2, ToPose, "map", 2.0, &tree);
    rig.ticks(70);
    assert_eq!(rig.told(), [aborted(1, DISPLACED), succeeded(2)]);
    assert_eq!(rig.driven(), [1.0, 2.0]);
    // The failure of a goal belongs only to that goal.
    rig.goal_to(3, ToPose, "map", 1.0, &tree);
    rig.ticks(40);
    let why = "the tree failed without an error code; the last action or service that failed: FollowPath::3 (FollowPath) failed: \
        FAILED_TO_MAKE_PROGRESS (105): scripted";
    assert_eq!(rig.told(), [aborted(3, why)]);
}

#[test]
fn a_leaf_that_failed_before_the_tree_went_on_is_not_named_as_the_reason() {
    let mut rig = Rig::driving(300);
    rig.bench.action::<Spin>("spin", |_| Plan::abort(702).after(10));
    let text = format!(
        r#"<Sequence><ForceSuccess><Spin spin_dist="1.0"/></ForceSuccess>{PLAN_AND_FOLLOW}<AlwaysFailure/></Sequence>"#
    );
    rig.goal_to(1, ToPose, "map", 1.0, &tree(&text));
    rig.ticks(60);
    let why = "the tree failed without an error code; an action or service failed before, and the tree went on: Spin::3 (Spin) failed: \
        TF_ERROR (702): scripted (recoveries: 1)";
    assert_eq!(rig.told(), [aborted(1, why)]);
}

#[test]
fn the_reason_names_the_last_failure_before_an_earlier_one_whose_code_counts() {
    let mut rig = Rig::driving(300);
    rig.bench.action::<Spin>("spin", |_| Plan::abort(702).after(10));
    rig.bench
        .action::<FollowPath>("follow_path", |_| Plan::abort(105).after(300));
    let text = r#"<Fallback>
          <Sequence><ComputePathToPose goal="{goal}" path="{path}"/>
            <FollowPath path="{path}" error_code_id="{follow_path_error_code}"/></Sequence>
          <Spin spin_dist="1.0"/>
        </Fallback>"#;
    rig.goal_to(1, ToPose, "map", 1.0, &tree(text));
    rig.ticks(60);
    let (_, report) = rig.report();
    let why = "Spin::5 (Spin) failed: TF_ERROR (702): scripted; the error code is of an earlier failure: \
        FollowPath::4 (FollowPath) failed: FAILED_TO_MAKE_PROGRESS (105): scripted";
    assert_eq!(report.error_code, 105);
    assert!(report.error_message.starts_with(why), "{report:?}");
}

#[test]
fn the_reason_says_that_the_tree_went_on_after_the_failure_whose_code_counts() {
    let mut rig = Rig::driving(300);
    rig.bench
        .action::<FollowPath>("follow_path", |_| Plan::abort(105).after(50));
    let text = r#"<Sequence><ComputePathToPose goal="{goal}" path="{path}"/>
          <ForceSuccess><FollowPath path="{path}" error_code_id="{follow_path_error_code}"/></ForceSuccess>
          <Sleep msec="200"/><AlwaysFailure/>
        </Sequence>"#;
    rig.goal_to(1, ToPose, "map", 1.0, &tree(text));
    rig.ticks(60);
    let (_, report) = rig.report();
    let why = "the error code is of an earlier failure, and the tree went on after it: \
        FollowPath::4 (FollowPath) failed: FAILED_TO_MAKE_PROGRESS (105): scripted";
    assert_eq!((report.error_code, report.error_message.as_str()), (105, why));
}

#[test]
fn a_goal_does_not_take_the_place_of_one_whose_cancel_is_on_its_way() {
    let mut rig = Rig::new();
    let heartbeat = Heartbeat::new();
    rig.navigator.be_watched(heartbeat.clone(), JobRegistry::new());
    rig.bench.action::<Spin>("spin", |_| Plan::endless());
    let tree = tree(TURN);
    rig.goal(1, &tree);
    rig.ticks(3);
    // The message to the thread follows.
    heartbeat.cancel_requested(navigation(1));
    rig.goal(2, &tree);
    let now = rig.now();
    rig.navigator.poll_without_tick(now);
    rig.navigator.cancel(navigation(1), now);
    rig.ticks(5);
    assert_eq!(rig.told(), [(1, TerminalStatus::Canceled, 0, String::new())]);
    assert_eq!((rig.bench.active("spin"), rig.bench.cancels("spin")), (1, 1));
    assert!(rig.navigator.is_running());
}

#[test]
fn a_tree_that_asks_no_server_for_anything_ends_also_for_a_goal_that_took_anothers_place() {
    let mut rig = Rig::driving(300);
    let tree = tree(r#"<Sleep msec="100"/>"#);
    rig.goal_to(1, ToPose, "map", 1.0, &tree);
    rig.ticks(5);
    rig.goal_to(2, ToPose, "map", 2.0, &tree);
    rig.ticks(10);
    assert_eq!(rig.told(), [aborted(1, DISPLACED)], "once more for the new goal");
    rig.ticks(10);
    assert_eq!(rig.told(), [succeeded(2)]);
}

#[test]
fn g3_a_goal_that_was_given_up_early_is_named_to_the_client() {
    let settings = Settings {
        cancel_timeout: Duration::from_millis(200),
        give_up_timeout: Duration::from_millis(500),
        ..Settings::default()
    };
    let mut rig = Rig::with(settings, Options::default());
    rig.bench
        .action::<Spin>("spin", |_| Plan::endless().unstoppable());
    rig.goal(1, &tree(TURN));
    rig.ticks(3);
    rig.cancel(1);
    rig.ticks(60);
    let [(_, ending, code, message)] = rig.told().try_into().unwrap();
    assert_eq!((ending, code), (TerminalStatus::Canceled, 9103));
    assert_eq!(message, "not known to have stopped in time: turn given up");
    // It does not belong to a later session, whose client gets no report of it.
    rig.goal(2, &tree("<AlwaysSuccess/>"));
    rig.ticks(1);
    assert_eq!(rig.told(), [succeeded(2)]);
}

#[test]
fn g3_the_client_of_a_goal_that_has_not_started_is_told_which_earlier_goals_have_not_stopped() {
    let mut rig = Rig::new();
    rig.bench
        .action::<Spin>("spin", |_| Plan::endless().stop_after(60_000));
    rig.goal(1, &tree(TURN));
    rig.ticks(3);
    rig.cancel(1);
    rig.ticks(1);
    rig.bench.wait(5_000);
    rig.ticks(1);
    let told = |number, why: &str| {
        let message = format!("{why}not known to have stopped in time: turn Canceling");
        vec![(number, TerminalStatus::Canceled, 9103, message)]
    };
    assert_eq!(rig.told(), told(1, ""));
    rig.goal_to(2, ThroughPoses, "dock", 1.0, &tree(TURN));
    rig.ticks(1);
    rig.cancel(2);
    assert_eq!(
        (rig.told(), rig.bench.active("spin")),
        (told(2, "cancelled before it started; "), 1)
    );
    // As for a goal that has started.
    rig.goal(3, &tree("<Sleep msec=\"1000\"/>"));
    rig.ticks(1);
    rig.cancel(3);
    rig.ticks(1);
    assert_eq!((rig.told(), rig.bench.active("spin")), (told(3, ""), 1));
    rig.bench.wait(60_000);
    rig.ticks(1);
    rig.goal_to(4, ThroughPoses, "dock", 1.0, &tree(TURN));
    rig.ticks(1);
    rig.cancel(4);
    let [(_, _, code, message)] = rig.told().try_into().unwrap();
    assert_eq!(
        (code, message.as_str(), rig.bench.active("spin")),
        (0, "cancelled before it started", 0)
    );
}

#[test]
fn g3_a_result_says_that_requests_were_not_handled_by_a_stalled_thread() {
    let mut rig = Rig::new();
    rig.bench.action::<Spin>("spin", |_| Plan::endless());
    rig.bench.stall();
    rig.goal(1, &tree(TURN));
    rig.ticks(3);
    rig.cancel(1);
    rig.ticks(3);
    assert_eq!(rig.told(), []);
    rig.bench.wait(5_000);
    rig.ticks(1);
    let [(_, ending, code, message)] = rig.told().try_into().unwrap();
    assert_eq!((ending, code), (TerminalStatus::Canceled, 9103));
    assert_eq!(
        message,
        "not known to have stopped in time: the last requests of the tree have not been handled: goals may have been \
         sent and not cancelled"
    );
}

#[test]
fn a_stop_timeout_of_zero_sends_the_result_at_once_without_unstopped_goals() {
    let options = Options {
        stop_timeout: Duration::ZERO,
        ..Options::default()
    };
    let mut rig = Rig::with(Settings::default(), options);
    rig.bench
        .action::<Spin>("spin", |_| Plan::endless().stop_after(200));
    rig.goal(1, &tree(TURN));
    rig.ticks(3);
    rig.cancel(1);
    assert_eq!(rig.told(), [canceled(1)]);
    rig.goal(2, &tree(&format!(r#"<Timeout msec="50">{TURN}</Timeout>"#)));
    rig.ticks(10);
    assert_eq!(rig.told(), [aborted(2, "the tree failed without an error code")]);
}
