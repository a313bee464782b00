//! Tests of a goal after the end of another: the same tree runs it from its root.

use std::path::Path;
use std::sync::Arc;

use super::NavigatorKind::ToPose;
use super::goal::TerminalStatus;
use super::replaced_goal_tests::{Delays, FOLLOW, PLAN, end_of, rig};
use super::test_harness::{Rig, load, registry};
use crate::bt::TreeDef;
use crate::msg::Pose;
use crate::msg::action::{FollowPath, SmoothPath, SmoothPathResult, Wait};
use crate::nav::testing::Plan;
use crate::xml::Loader;

impl Rig {
    /// Sends a goal at a distance in metres, and waits for its end.
    fn drive(&mut self, number: u8, x: f64, tree: &Arc<TreeDef>) {
        self.bench.transform("map", "base_link", Pose::default());
        self.goal_to(number, ToPose, "map", x, tree);
        self.ticks(40);
    }

    /// The ends of the paths that the robot followed, in order.
    fn ends(&self) -> Vec<f64> {
        let goals = self.bench.goals::<FollowPath>("follow_path");
        goals.iter().map(|goal| end_of(&goal.path)).collect()
    }
}

#[test]
fn a_sequence_with_memory_begins_each_navigation_with_its_first_child() {
    let xml = format!("<SequenceWithMemory>{PLAN}{FOLLOW}<Wait/></SequenceWithMemory>");
    let tree = load(&registry(), &xml);
    for is_cancelled in [false, true] {
        let mut rig = rig(Delays::default());
        rig.bench.action::<Wait>("wait", move |_| match is_cancelled {
            false => Plan::abort(0),
            true => Plan::endless(),
        });
        rig.drive(1, 1.0, &tree);
        if is_cancelled {
            rig.cancel(1);
            rig.ticks(5);
        }
        let first = if is_cancelled {
            TerminalStatus::Canceled
        } else {
            TerminalStatus::Aborted
        };
        assert_eq!(rig.report().1.status, first);
        rig.bench.action::<Wait>("wait", |_| Plan::success());
        rig.drive(2, 2.0, &tree);
        assert_eq!(rig.report().1.status, TerminalStatus::Succeeded);
        assert_eq!(rig.ends(), [1.0, 2.0], "cancelled: {is_cancelled}");
    }
}

#[test]
fn a_sequence_with_memory_restarts_if_it_failed_for_the_earlier_goal() {
    let xml = format!("<SequenceWithMemory>{PLAN}{FOLLOW}<Wait/></SequenceWithMemory>");
    let tree = load(&registry(), &xml);
    let mut rig = rig(Delays::default());
    let mut waits = 0;
    rig.bench.action::<Wait>("wait", move |_| {
        waits += 1;
        if waits == 1 {
            Plan::abort(0).after(40)
        } else {
            Plan::success()
        }
    });
    rig.bench.transform("map", "base_link", Pose::default());
    rig.goal_to(1, ToPose, "map", 1.0, &tree);
    while rig.bench.goals::<Wait>("wait").is_empty() {
        rig.ticks(1);
    }
    rig.drive(2, 2.0, &tree);
    let told: Vec<_> = rig.reports.try_iter().map(|(_, report)| report.status).collect();
    assert_eq!(told, [TerminalStatus::Aborted, TerminalStatus::Succeeded]);
    assert_eq!(rig.ends(), [1.0, 2.0]);
}

/// A robot whose smoother fails for paths that end further than 1.5 m, and whose controller refuses empty paths.
fn smoothing() -> (Rig, Arc<TreeDef>) {
    let mut rig = rig(Delays::default());
    rig.bench.action::<SmoothPath>("smooth_path", |wanted| {
        if end_of(&wanted.path) > 1.5 {
            return Plan::abort(SmoothPath::UNKNOWN);
        }
        Plan::result(SmoothPathResult {
            path: Arc::clone(&wanted.path),
            ..SmoothPathResult::default()
        })
    });
    rig.bench.action::<FollowPath>("follow_path", |goal| {
        if goal.path.is_empty() {
            Plan::abort(FollowPath::INVALID_PATH)
        } else {
            Plan::success().after(100)
        }
    });
    let xml = format!(
        r#"<Sequence>{PLAN}<ForceSuccess><SmoothPath unsmoothed_path="{{path}}" smoothed_path="{{smooth}}"/></ForceSuccess>
             <FollowPath path="{{smooth}}"/></Sequence>"#
    );
    (rig, load(&registry(), &xml))
}

#[test]
fn a_path_of_an_earlier_goal_is_not_followed() {
    let (mut rig, tree) = smoothing();
    for (number, x, ending) in [
        (1, 1.0, TerminalStatus::Succeeded),
        (2, 2.0, TerminalStatus::Aborted),
    ] {
        rig.drive(number, x, &tree);
        assert_eq!(rig.report().1.status, ending, "{x} m");
    }
    assert_eq!(rig.ends(), [1.0, 0.0]);
}

#[test]
fn a_path_that_was_left_by_the_goal_whose_place_another_takes_is_not_followed() {
    for after in [1, 5, 10] {
        let (mut rig, tree) = smoothing();
        rig.bench.transform("map", "base_link", Pose::default());
        rig.goal_to(1, ToPose, "map", 1.0, &tree);
        rig.ticks(after);
        rig.drive(2, 2.0, &tree);
        let told: Vec<_> = rig.reports.try_iter().map(|(_, report)| report.status).collect();
        assert_eq!(told, [TerminalStatus::Aborted; 2], "after {after} ticks");
        assert_eq!(rig.ends().last(), Some(&0.0), "after {after} ticks");
    }
}

#[test]
fn a_path_that_the_file_gives_is_followed_by_each_goal() {
    let xml = r#"<root BTCPP_format="4" main_tree_to_execute="Main">
        <BehaviorTree ID="Main"><SubTree ID="Patrol" route="0;map;0;map;1;0;0;0;0;0;1"/></BehaviorTree>
        <BehaviorTree ID="Patrol"><FollowPath path="{route}"/></BehaviorTree></root>"#;
    let registry = registry();
    let loaded = Loader::new(&registry).load_text("patrol.xml", xml, Path::new("."), None);
    let tree = loaded.unwrap_or_else(|refused| panic!("{refused}")).def;
    let mut rig = rig(Delays::default());
    for number in [1, 2] {
        rig.drive(number, 2.0, &tree);
        assert_eq!(rig.report().1.status, TerminalStatus::Succeeded);
    }
    assert_eq!(rig.ends(), [1.0, 1.0]);
}
