//! The log of navigation goals: one line at the beginning of a goal, and one at its end.

use std::fmt::Write;

use super::NavigatorKind;
use super::goal::{ClientGoal, Interruption, NavigationId, NavigationResult, TerminalStatus};
use crate::bt::{NodeIndex, TreeDef};
use crate::msg::PoseStamped;

/// Logs the beginning of a goal.
pub(super) fn log_begin(
    goal: NavigationId,
    robot: Option<&PoseStamped>,
    poses: &[PoseStamped],
    tree: &TreeDef,
) {
    let line = begin_line(goal, robot, poses, tree);
    tracing::info!("{line}");
}

fn begin_line(
    goal: NavigationId,
    robot: Option<&PoseStamped>,
    poses: &[PoseStamped],
    tree: &TreeDef,
) -> String {
    let place = |pose: &PoseStamped| {
        let at = &pose.pose.position;
        format!("({:.2}, {:.2})", at.x, at.y)
    };
    let mut line = format!("{goal}: begin navigating from ");
    line += &robot.map_or_else(|| "an unknown location".to_owned(), place);
    // A write to a string cannot fail.
    let _ = match poses {
        [] => write!(line, " to no pose"),
        [pose] => write!(line, " to {}", place(pose)),
        [.., last] => write!(line, " through {} poses to {}", poses.len(), place(last)),
    };
    let _ = write!(line, " with tree `{}`", tree.id());
    if let Some(file) = tree.place(NodeIndex::ROOT) {
        let _ = write!(line, " ({file})");
    }
    line
}

/// Logs the end of a goal and sends the result to its client.
pub(super) fn finish(kind: NavigatorKind, client: Box<dyn ClientGoal>, report: NavigationResult) {
    let goal = client.id();
    log_end(NavigationId { kind, goal }, &report);
    client.finish(report);
}

/// Logs the end of a goal.
pub(super) fn log_end(goal: NavigationId, report: &NavigationResult) {
    let line = end_line(goal, report);
    if report.status == TerminalStatus::Aborted && report.interrupted_by != Some(Interruption::NewerGoal) {
        tracing::warn!("{line}");
    } else {
        tracing::info!("{line}");
    }
}

fn end_line(goal: NavigationId, report: &NavigationResult) -> String {
    let NavigationResult {
        status: ending,
        error_code,
        error_message,
        interrupted_by,
    } = report;
    let how = match ending {
        TerminalStatus::Succeeded => "succeeded",
        TerminalStatus::Canceled => "was canceled",
        TerminalStatus::Aborted => match interrupted_by {
            Some(Interruption::NewerGoal) => "was preempted",
            Some(Interruption::Shutdown) => "was stopped",
            None => "failed",
        },
    };
    let mut line = format!("{goal} {how}");
    if *error_code != 0 {
        let _ = write!(line, " (error code {error_code})");
    }
    if !error_message.is_empty() {
        let _ = write!(line, ": {error_message}");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::super::test_harness::{load, registry};
    use super::*;
    use crate::goal::GoalId;
    use crate::msg::Pose;

    const NAVIGATION: NavigationId = NavigationId {
        kind: NavigatorKind::ToPose,
        goal: GoalId::ZERO,
    };

    #[test]
    fn the_log_of_a_start_names_start_goal_and_tree() {
        let tree = load(&registry(), "<AlwaysSuccess/>");
        let pose = |x: f64| PoseStamped::in_frame("map", Pose::planar(x, 0.5, 0.0));
        let line =
            |robot: Option<&PoseStamped>, poses: &[PoseStamped]| begin_line(NAVIGATION, robot, poses, &tree);
        let goal = "navigate_to_pose: goal 00000000-0000-0000-0000-000000000000";
        assert_eq!(
            line(Some(&pose(1.0)), &[pose(2.0)]),
            format!(
                "{goal}: begin navigating from (1.00, 0.50) to (2.00, 0.50) with tree `Main` (main.xml:1:49)"
            )
        );
        let through = line(None, &[pose(1.0), pose(2.0), pose(3.0)]);
        assert!(
            through.contains("from an unknown location through 3 poses to (3.00, 0.50)"),
            "{through}"
        );
    }

    #[test]
    fn the_log_of_an_end_names_its_reason() {
        let line = |report: &NavigationResult| end_line(NAVIGATION, report);
        let goal = "navigate_to_pose: goal 00000000-0000-0000-0000-000000000000";
        assert_eq!(line(&NavigationResult::succeeded()), format!("{goal} succeeded"));
        assert_eq!(
            line(&NavigationResult::canceled("")),
            format!("{goal} was canceled")
        );
        assert_eq!(
            line(&NavigationResult::aborted(206, "Plan failed")),
            format!("{goal} failed (error code 206): Plan failed")
        );
        assert_eq!(
            line(&NavigationResult::preempted()),
            format!("{goal} was preempted: replaced by a newer goal")
        );
    }
}
