//! `ComputePathToPose`: plans a path to a goal.

use std::sync::Arc;

use crate::bt::{Context, Input, Output, Ports, Text, Thrown};
use crate::msg::action as actions;
use crate::msg::{Goals, Path, PoseStamped};
use crate::nav::action_node::{ActionNode, GoalOutcome, Refusal, ResultOf};
use crate::nav::endpoint::{path_of, world};

/// Requests a path from the planner server.
#[derive(Debug)]
pub struct ComputePathToPose {
    goal: Input<Arc<PoseStamped>>,
    start: Input<Arc<PoseStamped>>,
    use_start: Input<bool>,
    planner_id: Input<Text>,
    path: Output<Arc<Path>>,
}

impl ActionNode for ComputePathToPose {
    type Action = actions::ComputePathToPose;
    const ID: &'static str = "ComputePathToPose";
    const DOC: &'static str = "Plans a path to a goal. Sets the path to an empty path when it fails, when it is halted and when the \
            navigation ends.";
    const SERVER: &'static str = "compute_path_to_pose";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = Self {
            goal: ports.input("goal").doc("Goal pose.").needed().bind(),
            start: ports
                .input("start")
                .doc("Start pose. Default: the pose of the robot.")
                .bind(),
            use_start: ports
                .input("use_start")
                .doc("Whether to plan from `start`. Default: true if `start` is set.")
                .bind(),
            planner_id: ports
                .input("planner_id")
                .default("")
                .doc("Planner plugin. May be empty if there is only one.")
                .bind(),
            path: ports.output("path").doc("Planned path.").bind(),
        };
        let viapoints = ports
            .input::<Arc<Goals>>("viapoints")
            .doc("Nav2 main: poses that the path must pass. Jazzy's planner does not support them.")
            .bind();
        if viapoints.is_set() {
            ports.warn_of(
                "viapoints",
                "viapoints have no effect: the action of Jazzy has no such field",
            );
        }
        node
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::ComputePathToPoseGoal, Refusal> {
        let start = self.start.optional(cx)?;
        let wanted = self.use_start.optional(cx)?;
        if wanted == Some(true) && start.is_none() {
            let path = path_of(cx);
            world!(cx).note(
                &path,
                "use_start is true but start is not set: planning from the pose of the robot",
            );
        }
        let use_start = wanted.unwrap_or(true) && start.is_some();
        Ok(actions::ComputePathToPoseGoal {
            goal: self.goal.require(cx)?.as_ref().clone(),
            start: start
                .filter(|_| use_start)
                .map(|start| start.as_ref().clone())
                .unwrap_or_default(),
            planner_id: super::text(&self.planner_id, cx)?,
            use_start,
        })
    }

    fn finished(&self, cx: &mut Context<'_>, ending: &GoalOutcome<'_, ResultOf<Self>>) -> Result<(), Thrown> {
        match ending {
            GoalOutcome::Succeeded(result) => self.path.set(cx, Arc::clone(&result.path)),
            GoalOutcome::Aborted(_) | GoalOutcome::Canceled(_) | GoalOutcome::Failed => {
                self.path.set(cx, Arc::default())
            }
        }
    }

    fn halted(&self, cx: &mut Context<'_>) {
        // The types do not clash, or the tree would not have loaded.
        let _ = self.path.set(cx, Arc::default());
    }
}

#[cfg(test)]
mod tests {
    use super::actions::{ComputePathToPose, ComputePathToPoseGoal, ComputePathToPoseResult};
    use super::*;
    use crate::bt::NodeStatus::{Failure, Idle, Running, Success};
    use crate::msg::{Header, Pose};
    use crate::nav::testing::{Bench, Plan};

    fn pose(x: f64) -> Arc<PoseStamped> {
        Arc::new(PoseStamped::in_frame("map", Pose::planar(x, 0.0, 0.0)))
    }

    /// A path from the start, or from 0, to the goal.
    fn plan(goal: &ComputePathToPoseGoal) -> Plan<ComputePathToPose> {
        let poses = [goal.start.pose, goal.goal.pose];
        Plan::result(ComputePathToPoseResult {
            path: Arc::new(Path::through(Header::in_frame("map"), poses)),
            ..Default::default()
        })
    }

    fn bench(attributes: &str) -> Bench {
        let mut bench = Bench::new(&format!(
            "<ComputePathToPose goal=\"{{goal}}\" path=\"{{path}}\" planner_id=\"GridBased\" \
             error_code_id=\"{{code}}\" {attributes}/>"
        ));
        bench.action::<ComputePathToPose>("compute_path_to_pose", plan);
        bench.set("goal", pose(1.0));
        bench
    }

    #[test]
    fn test_compute_path_to_pose_action_tick() {
        let mut bench = bench("");
        assert_eq!(bench.run(10), Success);
        let goal = bench.goals::<ComputePathToPose>("compute_path_to_pose")[0].clone();
        assert_eq!((&*goal.planner_id, goal.use_start), ("GridBased", false));
        assert_eq!(goal.goal, *pose(1.0));
        assert_eq!(bench.object::<Path>("path").unwrap().poses.len(), 2);
        assert_eq!(bench.status("ComputePathToPose"), Idle);
        bench.set("goal", pose(-2.5));
        assert_eq!(bench.run(10), Success);
        assert_eq!(
            bench.object::<Path>("path").unwrap().poses[1].pose,
            pose(-2.5).pose
        );
    }

    #[test]
    fn test_compute_path_to_pose_action_tick_use_start() {
        let mut bench = bench("start=\"{start}\" use_start=\"true\"");
        bench.set("start", pose(2.0));
        assert_eq!(bench.run(10), Success);
        assert!(bench.goals::<ComputePathToPose>("compute_path_to_pose")[0].use_start);
        assert_eq!(
            bench.object::<Path>("path").unwrap().poses[0].pose,
            pose(2.0).pose
        );
    }

    #[test]
    fn start_is_used_without_use_start_but_not_the_reverse() {
        let mut with_start = bench("start=\"{start}\"");
        with_start.set("start", pose(2.0));
        assert_eq!(with_start.run(10), Success);
        assert!(with_start.goals::<ComputePathToPose>("compute_path_to_pose")[0].use_start);
        let mut without = bench("start=\"{start}\" use_start=\"true\"");
        assert_eq!(without.run(10), Success);
        assert!(!without.goals::<ComputePathToPose>("compute_path_to_pose")[0].use_start);
        assert!(without.notes()[0].contains("start is not set"));
    }

    #[test]
    fn a_failure_a_halt_and_the_end_of_the_run_clear_the_path() {
        let mut bench = bench("");
        assert_eq!(bench.run(10), Success);
        bench.halt();
        assert_eq!(
            *bench.object::<Path>("path").unwrap(),
            Path::default(),
            "the run has ended"
        );
        bench.run(10);
        bench.action::<ComputePathToPose>("compute_path_to_pose", |_| Plan::abort(208));
        assert_eq!(bench.run(10), Failure);
        assert_eq!(bench.get::<u16>("code"), Some(208));
        assert!(bench.object::<Path>("path").unwrap().is_empty());
        bench.action::<ComputePathToPose>("compute_path_to_pose", |_| Plan::endless());
        assert_eq!(bench.run(3), Running);
        bench.halt();
        assert_eq!(
            bench.get::<u16>("code"),
            Some(0),
            "no error code of an earlier goal is left"
        );
        bench.wait(100);
        assert_eq!(
            (
                bench.cancels("compute_path_to_pose"),
                bench.active("compute_path_to_pose")
            ),
            (1, 0)
        );
    }

    #[test]
    fn a_goal_that_was_never_written_fails_the_tree_with_the_port_name() {
        let mut bench = Bench::new("<ComputePathToPose goal=\"{nothing}\"/>");
        let error = bench.try_tick().unwrap_err().to_string();
        assert!(error.contains("port `goal`"), "{error}");
        assert!(
            bench
                .goals::<ComputePathToPose>("compute_path_to_pose")
                .is_empty()
        );
    }
}
