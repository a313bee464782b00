//! `DistanceTraveled`: checks whether the robot has moved by a distance.

use super::verdict;
use crate::bt::{Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, PortRange, Ports, Tick};
use crate::msg::{PoseStamped, distance_xy};
use crate::nav::endpoint::world;
use crate::nav::frames::FramePorts;
use crate::nav::goal_watch::is_restarted;

/// Measures from the pose at its activation or last success.
#[derive(Debug)]
pub struct DistanceTraveled {
    distance: Input<f64>,
    frames: FramePorts,
}

#[derive(Default)]
struct TravelState {
    last: u64,
    start: Option<PoseStamped>,
}

impl Node for DistanceTraveled {
    const ID: &'static str = "DistanceTraveled";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS each time the robot is at the given distance from its pose at the \
        activation or last success of this node.";

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

impl Behavior for DistanceTraveled {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let latch = world!(cx).settings.latch_on_activation;
        let mut last = cx.state::<TravelState>().last;
        let restarted = is_restarted(cx, &mut last, latch);
        let state = cx.state::<TravelState>();
        state.last = last;
        if restarted {
            state.start = None;
        }
        let Some(robot) = self.frames.robot(cx)? else {
            return Ok(NodeStatus::Failure);
        };
        let distance = self.distance.require(cx)?;
        let start = &mut cx.state::<TravelState>().start;
        let moved = start
            .as_ref()
            .is_some_and(|start| distance_xy(&start.pose.position, &robot.pose.position) >= distance);
        if moved || start.is_none() {
            *start = Some(robot);
        }
        Ok(verdict(moved))
    }

    fn node_effects(&self, kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::of(kind, children).latching_on_request()
    }

    fn rewind(&self, cx: &mut Context<'_>) {
        *cx.state::<TravelState>() = TravelState::default();
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Running, Success};
    use crate::msg::Pose;
    use crate::msg::action::Spin;
    use crate::nav::testing::{Bench, Plan};

    #[test]
    fn test_distance_traveled() {
        let mut bench = Bench::new("<DistanceTraveled distance=\"1.0\"/>");
        bench.transform("map", "base_link", Pose::default());
        assert_eq!(bench.tick(), Failure);
        for step in 1..20 {
            bench.transform("map", "base_link", Pose::planar(0.51 * f64::from(step), 0.0, 0.0));
            assert_eq!(
                bench.tick(),
                if step % 2 == 0 { Success } else { Failure },
                "{step}"
            );
        }
    }

    #[test]
    fn a_missing_or_old_transform_is_a_failure() {
        let mut bench = Bench::new("<DistanceTraveled distance=\"1.0\"/>");
        assert_eq!(bench.tick(), Failure);
        bench.transform("map", "base_link", Pose::default());
        assert_eq!(bench.tick(), Failure);
        bench.transform("map", "base_link", Pose::planar(2.0, 0.0, 0.0));
        bench.wait(1500);
        assert_eq!(bench.tick(), Failure);
        assert!(
            bench.notes()[1].contains("old"),
            "the transform is older than transform_age_limit"
        );
        bench.world().settings.transform_age_limit = None;
        assert_eq!(bench.tick(), Success);
    }

    #[test]
    fn nav2_4842_it_fires_beside_a_running_sibling() {
        for (latch, status) in [(false, Success), (true, Running)] {
            let mut bench = Bench::new("<ReactiveFallback><DistanceTraveled/><Spin/></ReactiveFallback>");
            bench.world().settings.latch_on_activation = latch;
            bench.action::<Spin>("spin", |_| Plan::endless());
            bench.transform("map", "base_link", Pose::default());
            assert_eq!(bench.run(5), Running);
            bench.transform("map", "base_link", Pose::planar(1.5, 0.0, 0.0));
            assert_eq!(bench.tick(), status);
        }
    }
}
