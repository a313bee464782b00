//! `ComputePathThroughPoses`: plans a path that passes several goals.

use std::sync::Arc;

use crate::bt::{Context, Input, Output, Ports, Text, Thrown};
use crate::msg::action as actions;
use crate::msg::{Goals, Path, PoseStamped};
use crate::nav::action_leaf::{ActionNode, Ending, ResultOf};

/// Has the planner server compute a path through poses.
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
    const DOC: &'static str = "Plans a path that passes several goals. Failing empties the path.";
    const SERVER: &'static str = "compute_path_through_poses";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = Self {
            goals: ports.input("goals").doc("Where to, in order.").bind(),
            start: ports
                .input("start")
                .doc("Where from; absent: where the robot is.")
                .bind(),
            planner_id: ports
                .input("planner_id")
                .default("")
                .doc("The planner plugin; empty where there is only one.")
                .bind(),
            path: ports.output("path").doc("The path.").bind(),
        };
        let last_reached = ports
            .output::<i16>("last_reached_index")
            .doc("Nav2 main: the last goal that the path reaches. Jazzy's planner does not say.")
            .bind();
        if last_reached.slot().is_some() {
            ports.warn("last_reached_index is never written: the action of Jazzy has no such field");
        }
        node
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::ComputePathThroughPosesGoal, Thrown> {
        let start = self.start.get(cx).ok();
        Ok(actions::ComputePathThroughPosesGoal {
            goals: self.goals.require(cx)?.0.clone(),
            use_start: start.is_some(),
            start: start.map(|start| start.as_ref().clone()).unwrap_or_default(),
            planner_id: super::string(&self.planner_id, cx),
        })
    }

    fn finished(&self, cx: &mut Context<'_>, ending: &Ending<'_, ResultOf<Self>>) -> Result<(), Thrown> {
        match ending {
            Ending::Succeeded(result) => self.path.set(cx, Arc::clone(&result.path)),
            Ending::Aborted(_) | Ending::Canceled(_) | Ending::Failed => self.path.set(cx, Arc::default()),
        }
    }
}
