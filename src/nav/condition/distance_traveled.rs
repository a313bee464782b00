//! `DistanceTraveled`: whether the robot has moved so far.

use super::verdict;
use crate::bt::{Behavior, Context, Input, Node, NodeKind, NodeStatus, Ports, Tick};
use crate::msg::{PoseStamped, distance_xy};
use crate::nav::endpoint::world;
use crate::nav::frames::FramePorts;
use crate::nav::goal_watch::begins_anew;

/// Measures from where it was activated, or last succeeded.
#[derive(Debug)]
pub struct DistanceTraveled {
    distance: Input<f64>,
    frames: FramePorts,
}

#[derive(Default)]
struct State {
    last: u64,
    start: Option<PoseStamped>,
}

impl Node for DistanceTraveled {
    const ID: &'static str = "DistanceTraveled";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS each time the robot is a distance away from where this node was activated, or \
        last succeeded.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            distance: ports
                .input("distance")
                .unit("m")
                .default("1.0")
                .doc("How far, on the plane and in a straight line.")
                .bind(),
            frames: FramePorts::bind(ports),
        }
    }
}

impl Behavior for DistanceTraveled {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let latch = world!(cx).settings.latch_on_activation;
        let mut last = cx.state::<State>().last;
        let anew = begins_anew(cx, &mut last, latch);
        let state = cx.state::<State>();
        state.last = last;
        if anew {
            state.start = None;
        }
        let Some(robot) = self.frames.robot(cx)? else {
            return Ok(NodeStatus::Failure);
        };
        let distance = self.distance.require(cx)?;
        let start = &mut cx.state::<State>().start;
        let moved = start
            .as_ref()
            .is_some_and(|start| distance_xy(&start.pose.position, &robot.pose.position) >= distance);
        if moved || start.is_none() {
            *start = Some(robot);
        }
        Ok(verdict(moved))
    }

    fn rewind(&self, cx: &mut Context<'_>) {
        *cx.state::<State>() = State::default();
    }
}
