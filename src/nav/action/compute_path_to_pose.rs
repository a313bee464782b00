//! `ComputePathToPose`: plans a path to a goal.

use std::sync::Arc;

use crate::bt::{Context, Input, Output, Ports, Text, Thrown};
use crate::msg::action as actions;
use crate::msg::{Goals, Path, PoseStamped};
use crate::nav::action_leaf::{ActionNode, Ending, ResultOf};
use crate::nav::endpoint::{path_of, world};

/// Has the planner server compute a path.
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
    const DOC: &'static str =
        "Plans a path to a goal. Failing, being halted and the end of the navigation empty the path.";
    const SERVER: &'static str = "compute_path_to_pose";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = Self {
            goal: ports.input("goal").doc("Where to.").bind(),
            start: ports
                .input("start")
                .doc("Where from; absent: where the robot is.")
                .bind(),
            use_start: ports
                .input("use_start")
                .doc("Whether to plan from `start`; absent: if there is one.")
                .bind(),
            planner_id: ports
                .input("planner_id")
                .default("")
                .doc("The planner plugin; empty where there is only one.")
                .bind(),
            path: ports.output("path").doc("The path.").bind(),
        };
        let viapoints = ports
            .input::<Arc<Goals>>("viapoints")
            .doc("Nav2 main: poses that the path has to pass. Jazzy's planner cannot be told.")
            .bind();
        if viapoints.is_set() {
            ports.warn("viapoints have no effect: the action of Jazzy has no such field");
        }
        node
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::ComputePathToPoseGoal, Thrown> {
        let start = self.start.get(cx).ok();
        let wanted = self.use_start.get(cx).ok();
        if wanted == Some(true) && start.is_none() {
            let path = path_of(cx);
            world!(cx).note(
                &path,
                "use_start is set and there is no start: planning from the robot",
            );
        }
        let use_start = wanted.unwrap_or(true) && start.is_some();
        Ok(actions::ComputePathToPoseGoal {
            goal: self.goal.require(cx)?.as_ref().clone(),
            start: start
                .filter(|_| use_start)
                .map(|start| start.as_ref().clone())
                .unwrap_or_default(),
            planner_id: super::string(&self.planner_id, cx),
            use_start,
        })
    }

    fn finished(&self, cx: &mut Context<'_>, ending: &Ending<'_, ResultOf<Self>>) -> Result<(), Thrown> {
        match ending {
            Ending::Succeeded(result) => self.path.set(cx, Arc::clone(&result.path)),
            Ending::Aborted(_) | Ending::Canceled(_) | Ending::Failed => self.path.set(cx, Arc::default()),
        }
    }

    fn halted(&self, cx: &mut Context<'_>) {
        // A clash of types would have kept the tree from loading.
        let _ = self.path.set(cx, Arc::default());
    }
}
