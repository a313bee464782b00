//! `ComputePathThroughPoses`: plans a path through several goals.

use std::sync::Arc;

use crate::bt::{Context, Input, Output, Ports, Text, Thrown};
use crate::msg::action as actions;
use crate::msg::{Goals, Path, PoseStamped};
use crate::nav::action_node::{ActionNode, GoalOutcome, Refusal, ResultOf};

/// Requests a path through poses from the planner server.
#[derive(Debug)]
pub struct ComputePathThroughPoses {
    goals: Input<Arc<Goals>>,
    start: Input<Arc<PoseStamped>>,
    planner_id: Input<Text>,
    path: Output<Arc<Path>>,
}

impl ActionNode for ComputePathThroughPoses {
    type Action = actions::ComputePathThroughPoses;
    const ID: &'static str = "ComputePathThroughPoses";
    const DOC: &'static str =
        "Plans a path through several goals. Sets the path to an empty path when it fails.";
    const SERVER: &'static str = "compute_path_through_poses";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = Self {
            goals: ports.input("goals").doc("Goal poses, in order.").needed().bind(),
            start: ports
                .input("start")
                .doc("Start pose. Default: the pose of the robot.")
                .bind(),
            planner_id: ports
                .input("planner_id")
                .default("")
                .doc("Planner plugin. May be empty if there is only one.")
                .bind(),
            path: ports.output("path").doc("Planned path.").bind(),
        };
        let last_reached = ports
            .output::<i16>("last_reached_index")
            .doc("Nav2 main: index of the last goal that the path reaches. Jazzy's planner does not report it.")
            .bind();
        if last_reached.slot().is_some() {
            ports.warn_of(
                "last_reached_index",
                "last_reached_index is never written: the action of Jazzy has no such field",
            );
        }
        node
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::ComputePathThroughPosesGoal, Refusal> {
        let start = self.start.optional(cx)?;
        Ok(actions::ComputePathThroughPosesGoal {
            goals: self.goals.require(cx)?.0.clone(),
            use_start: start.is_some(),
            start: start.map(|start| start.as_ref().clone()).unwrap_or_default(),
            planner_id: super::text(&self.planner_id, cx)?,
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
}

#[cfg(test)]
mod tests {
    use super::actions::{ComputePathThroughPoses, ComputePathThroughPosesResult};
    use super::*;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::msg::{Header, Pose};
    use crate::nav::testing::{Bench, Plan};

    fn goals(xs: &[f64]) -> Arc<Goals> {
        let pose = |x: &f64| PoseStamped::in_frame("map", Pose::planar(*x, 0.0, 0.0));
        Arc::new(Goals(xs.iter().map(pose).collect()))
    }

    fn bench(attributes: &str) -> Bench {
        let mut bench = Bench::new(&format!(
            "<ComputePathThroughPoses goals=\"{{goals}}\" path=\"{{path}}\" planner_id=\"GridBased\" {attributes}/>"
        ));
        bench.action::<ComputePathThroughPoses>("compute_path_through_poses", |goal| {
            let start = goal.use_start.then_some(goal.start.pose);
            let poses = start.into_iter().chain(goal.goals.iter().map(|goal| goal.pose));
            Plan::result(ComputePathThroughPosesResult {
                path: Arc::new(Path::through(Header::in_frame("map"), poses)),
                ..Default::default()
            })
        });
        bench
    }

    #[test]
    fn test_compute_path_through_poses_action_tick() {
        let mut bench = bench("");
        bench.set("goals", goals(&[1.0, 2.0]));
        assert_eq!(bench.run(10), Success);
        let goal = bench.goals::<ComputePathThroughPoses>("compute_path_through_poses")[0].clone();
        assert_eq!((&*goal.planner_id, goal.use_start), ("GridBased", false));
        assert_eq!(bench.object::<Path>("path").unwrap().poses.len(), 2);
        bench.halt();
        assert_eq!(
            bench.object::<Path>("path").unwrap().poses.len(),
            2,
            "the path stays"
        );
        bench.set("goals", goals(&[-2.5]));
        assert_eq!(bench.run(10), Success);
        assert_eq!(
            bench.object::<Path>("path").unwrap().poses[0].pose.position.x,
            -2.5
        );
    }

    #[test]
    fn test_compute_path_through_poses_action_tick_use_start() {
        let mut bench = bench("start=\"{start}\"");
        bench.set("goals", goals(&[1.0]));
        bench.set("start", Arc::new(goals(&[7.0]).0[0].clone()));
        assert_eq!(bench.run(10), Success);
        assert_eq!(
            bench.object::<Path>("path").unwrap().poses[0].pose.position.x,
            7.0
        );
        bench.action::<ComputePathThroughPoses>("compute_path_through_poses", |_| Plan::abort(309));
        assert_eq!(bench.run(10), Failure);
        assert!(bench.object::<Path>("path").unwrap().is_empty());
    }
}
