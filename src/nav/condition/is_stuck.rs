//! `IsStuck`: checks whether the robot was stopped by an obstacle.

use super::verdict;
use crate::bt::{Behavior, Context, Node, NodeKind, Ports, Tick};
use crate::nav::World;
use crate::nav::endpoint::{report_fault, world};

/// A forward acceleration below this is not braking, in metres per second squared.
const ACCELERATION: f64 = -10.0;

/// Reads the newest odometry.
#[derive(Debug)]
pub struct IsStuck;

impl Node for IsStuck {
    const ID: &'static str = "IsStuck";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS if the robot has just lost speed faster than by braking (10 m/s²). \
        Compares the last two odometry messages, even from an earlier navigation, because they show the current \
        motion.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for IsStuck {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let world: &World = world!(cx);
        let Some(odometry) = world.odometry() else {
            return Ok(verdict(false));
        };
        let mut newest = odometry.samples().rev();
        let (Some(last), Some(before), true) = (newest.next(), newest.next(), odometry.samples().len() >= 3)
        else {
            return Ok(verdict(false));
        };
        let seconds = last.stamp.since(before.stamp).as_secs_f64();
        let acceleration = (last.twist.linear.x - before.twist.linear.x) / seconds;
        Ok(verdict(seconds > 0.0 && acceleration < ACCELERATION))
    }

    fn attach(&self, cx: &mut Context<'_>) {
        open_odometry(cx);
    }
}

/// Subscribes to odometry.
pub(in crate::nav) fn open_odometry(cx: &mut Context<'_>) {
    if let Some(world) = cx.resource::<World>()
        && let Err(error) = world.open_odometry()
    {
        report_fault(cx, "", error.to_string());
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{self, Failure, Success};
    use crate::msg::{Header, Odometry, Stamp, Twist};
    use crate::nav::testing::Bench;

    fn after(samples: &[(i64, f64)]) -> NodeStatus {
        let mut bench = Bench::new("<IsStuck/>");
        for (milliseconds, speed) in samples {
            bench.publish(
                "odom",
                Odometry {
                    header: Header::new(Stamp::from_nanos(milliseconds * 1_000_000), "odom"),
                    twist: Twist::planar(*speed, 0.0),
                    ..Default::default()
                },
            );
        }
        bench.tick()
    }

    #[test]
    fn test_is_stuck() {
        assert_eq!(after(&[]), Failure);
        assert_eq!(after(&[(1000, 0.0), (1100, 0.0), (1200, 0.0)]), Failure);
        assert_eq!(after(&[(1000, 0.0), (1100, 0.0), (1200, -1.5)]), Success);
        assert_eq!(after(&[(1100, 0.0), (1200, -1.5), (1300, 1.0)]), Failure);
        assert_eq!(after(&[(1200, 1.0), (1300, 1.0), (1350, 0.0)]), Success);
        assert_eq!(
            after(&[(1300, 1.0), (1350, 0.0)]),
            Failure,
            "two samples are too few"
        );
    }
}
