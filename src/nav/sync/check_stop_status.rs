//! `CheckStopStatus`: waits until the robot stands still. A node of Nav2's main branch; Kilted calls it `IsStopped`.

use crate::bt::{
    Behavior, Context, HaltReason, Input, Node, NodeKind, NodeStatus, PortRange, Ports, Tick, Time,
};
use crate::nav::World;
use crate::nav::condition::open_odometry;
use crate::nav::endpoint::world;
use crate::nav::values::Milliseconds;

/// Reads the newest odometry.
///
/// Memory: `index` is 1 while the robot stands still, `mark` is the time since which it does (nanoseconds).
#[derive(Debug)]
pub struct CheckStopStatus {
    threshold: Input<f64>,
    duration: Input<Milliseconds>,
}

impl Node for CheckStopStatus {
    const ID: &'static str = "CheckStopStatus";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "FAILURE while the robot moves, RUNNING while it stands still, SUCCESS when it has \
        stood still long enough in this activation. FAILURE without odometry younger than transform_age_limit: \
        odometry that stopped does not show that the robot stands.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            threshold: ports
                .input("velocity_threshold")
                .range(PortRange::at_least(0.0))
                .unit("m/s")
                .default("0.01")
                .doc(
                    "Maximum velocity of a stopped robot, along x and y each; also the maximum rotation, in \
                    rad/s.",
                )
                .bind(),
            duration: ports
                .input("duration_stopped")
                .unit("ms")
                .default("1000")
                .doc("Minimum time without motion.")
                .bind(),
        }
    }
}

impl Behavior for CheckStopStatus {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let threshold = self.threshold.require(cx)?;
        let wanted = self.duration.require(cx)?;
        let now = cx.now();
        let world: &World = world!(cx);
        let stands = world.current_odometry().is_some_and(|sample| {
            let twist = sample.twist;
            [twist.linear.x, twist.linear.y, twist.angular.z]
                .iter()
                .all(|speed| speed.abs() < threshold)
        });
        let memory = cx.memory();
        if !stands {
            memory.index = 0;
            return Ok(NodeStatus::Failure);
        }
        if memory.index == 0 {
            memory.index = 1;
            memory.mark = now.as_nanos();
        }
        if now.since(Time::from_nanos(memory.mark)) >= wanted.into() {
            memory.index = 0;
            return Ok(NodeStatus::Success);
        }
        Ok(NodeStatus::Running)
    }

    fn halt(&self, cx: &mut Context<'_>, _reason: HaltReason) {
        cx.memory().index = 0;
    }

    fn attach(&self, cx: &mut Context<'_>) {
        open_odometry(cx);
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{self, Failure, Running, Success};
    use crate::msg::{Header, Odometry, Stamp, Twist};
    use crate::nav::testing::Bench;

    #[test]
    fn test_check_stop_status_action() {
        for id in ["CheckStopStatus", "IsStopped"] {
            let mut bench = Bench::new(&format!("<{id} duration_stopped=\"100\"/>"));
            assert_eq!(bench.tick(), Failure, "no odometry");
            let drive = |bench: &mut Bench, speed| {
                let twist = Twist::planar(speed, 0.0);
                bench.publish(
                    "odom",
                    Odometry {
                        twist,
                        ..Default::default()
                    },
                );
                bench.tick()
            };
            assert_eq!(drive(&mut bench, 0.5), Failure);
            assert_eq!(drive(&mut bench, 0.0), Running);
            assert_eq!(bench.run(30), Success);
            assert_eq!(drive(&mut bench, 0.0), Running, "the time restarts");
            assert_eq!(drive(&mut bench, 0.5), Failure);
        }
    }

    /// Publishes that the robot stands, with this stamp.
    fn stand(bench: &mut Bench, stamp: Stamp) {
        bench.publish(
            "odom",
            Odometry {
                header: Header::new(stamp, "odom"),
                ..Odometry::default()
            },
        );
    }

    /// The statuses of 1.1 s without new odometry, without repetitions.
    fn second(bench: &mut Bench) -> Vec<NodeStatus> {
        let mut seen: Vec<_> = (0..110).map(|_| bench.tick()).collect();
        seen.dedup();
        seen
    }

    #[test]
    fn lost_odometry_does_not_mean_that_the_robot_stands() {
        let mut bench = Bench::new("<CheckStopStatus/>");
        let seconds_from_now = |bench: &mut Bench, seconds: i64| {
            Stamp::from_nanos(bench.world().stamp().as_nanos() + seconds * 1_000_000_000)
        };
        // A stamp of zero, or one that is ahead, ages from its arrival.
        for seconds in [None, Some(0), Some(60)] {
            let stamp = seconds.map_or(Stamp::ZERO, |seconds| seconds_from_now(&mut bench, seconds));
            stand(&mut bench, stamp);
            assert_eq!(second(&mut bench), [Running, Failure], "{seconds:?}");
            assert_eq!(second(&mut bench), [Failure], "{seconds:?}");
        }
        let old = seconds_from_now(&mut bench, -1);
        stand(&mut bench, old);
        assert_eq!(bench.tick(), Failure, "by its stamp");

        bench.world().settings.transform_age_limit = None;
        assert_eq!(second(&mut bench), [Running, Success, Running], "as in Nav2");
    }
}
