//! `DistanceController`: ticks its child each time the robot has moved by a distance.

use crate::bt::{
    Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, PortRange, Ports, Tick,
};
use crate::msg::{PoseStamped, distance_xy};
use crate::nav::frames::FramePorts;

/// Ticks its child at once, then each time the robot is at a distance from the place of the child's last success.
///
/// Memory: `index` is 1 if the child was ticked in this activation.
#[derive(Debug)]
pub struct DistanceController {
    distance: Input<f64>,
    frames: FramePorts,
}

#[derive(Default)]
struct DistanceState {
    start: Option<PoseStamped>,
}

impl Node for DistanceController {
    const ID: &'static str = "DistanceController";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child when it is activated, while the child is running, and each time \
        the robot is at the given distance from the place of the child's last success. Otherwise RUNNING. \
        FAILURE without the robot's pose.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            distance: ports
                .input("distance")
                .range(PortRange::at_least(0.0))
                .unit("m")
                .default("1.0")
                .doc("Distance on the plane, in a straight line.")
                .bind(),
            frames: FramePorts::bind(ports),
        }
    }
}

impl Behavior for DistanceController {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let distance = self.distance.require(cx)?;
        let fresh = cx.is_fresh();
        let Some(robot) = self.frames.robot(cx)? else {
            if cx.child_status(0) == NodeStatus::Running {
                cx.halt_child(0, crate::bt::HaltReason::ParentFinished);
            }
            return Ok(NodeStatus::Failure);
        };
        if fresh {
            cx.memory().index = 0;
            cx.state::<DistanceState>().start = Some(robot.clone());
        }
        cx.set_status(NodeStatus::Running);
        let moved = cx
            .state::<DistanceState>()
            .start
            .as_ref()
            .is_none_or(|start| distance_xy(&start.pose.position, &robot.pose.position) >= distance);
        if cx.memory().index == 1 && !moved && cx.child_status(0) != NodeStatus::Running {
            return Ok(NodeStatus::Running);
        }
        cx.memory().index = 1;
        let status = cx.tick_child(0)?;
        if status == NodeStatus::Success {
            cx.state::<DistanceState>().start = Some(robot);
        }
        Ok(status)
    }

    fn node_effects(&self, kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::of(kind, children).or(Outcomes::RUNNING)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Running};
    use crate::msg::Pose;
    use crate::msg::action::Wait;
    use crate::nav::testing::{Bench, Plan};

    #[test]
    fn test_distance_controller() {
        let mut bench = Bench::new(
            "<PipelineSequence><DistanceController distance=\"1.0\"><Script code=\"count:=count+1\"/></DistanceController><Wait/></PipelineSequence>",
        );
        bench.action::<Wait>("wait", |_| Plan::endless());
        bench.set("count", 0.0);
        for step in 0..8 {
            bench.transform("map", "base_link", Pose::planar(0.51 * f64::from(step), 0.0, 0.0));
            assert_eq!(bench.tick(), Running);
            assert_eq!(bench.get("count"), Some(f64::from(1 + step / 2)), "{step}");
        }
        bench.forget_transforms();
        assert_eq!(bench.tick(), Failure);
    }
}
