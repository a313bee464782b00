//! The pose and the speed of the robot.

use crate::bt::Tree;
use crate::msg::{Header, PoseStamped};
use crate::nav::{OdometrySmoother, World};

/// A snapshot for feedback.
#[derive(Clone, Debug, Default)]
pub(crate) struct Robot {
    /// The pose in the global frame; `None` if the transform is missing or too old.
    pub(crate) pose: Option<PoseStamped>,
    /// Smoothed planar speed, in metres per second.
    pub(crate) speed: f64,
}

impl Robot {
    pub(crate) fn of(tree: &mut Tree) -> Self {
        let Some(world) = tree.resource::<World>() else {
            return Self::default();
        };
        let settings = &world.settings;
        let pose = world
            .transform(&settings.global_frame, &settings.robot_base_frame, None)
            .ok()
            .map(|transform| PoseStamped {
                header: Header {
                    stamp: transform.header.stamp,
                    frame_id: transform.header.frame_id.clone(),
                },
                pose: transform.transform.to_pose(),
            });
        let is_current = world.current_odometry().is_some();
        let smoother = world.odometry().filter(|_| is_current);
        let speed = smoother.map_or(0.0, OdometrySmoother::speed);
        Self { pose, speed }
    }
}

#[cfg(test)]
mod tests {
    use super::Robot;
    use crate::msg::{Header, Odometry, Pose, Stamp, Twist};
    use crate::nav::testing::Bench;

    #[test]
    fn speed_is_the_mean_of_the_odometry_that_the_tree_has_too() {
        let mut bench = Bench::new("<AlwaysSuccess/>");
        assert_eq!(
            Robot::of(&mut bench.tree).speed,
            0.0,
            "nobody has asked for odometry"
        );
        bench.world().open_odometry().unwrap();
        bench.transform("map", "base_link", Pose::planar(1.0, 2.0, 0.0));
        let now = bench.world().stamp().as_nanos();
        for (milliseconds, speed) in [(-1000, 9.0), (-100, 0.3), (0, 0.5)] {
            let odometry = Odometry {
                header: Header::new(Stamp::from_nanos(now + milliseconds * 1_000_000), "odom"),
                twist: Twist::planar(speed, 0.0),
                ..Odometry::default()
            };
            bench.publish("odom", odometry);
        }
        bench.tick();
        let robot = Robot::of(&mut bench.tree);
        assert_eq!(robot.speed, 0.4, "of the last 0.3 s");
        assert_eq!(robot.pose.unwrap().pose, Pose::planar(1.0, 2.0, 0.0));
        for _ in 0..200 {
            bench.tick();
        }
        assert_eq!(Robot::of(&mut bench.tree).speed, 0.0, "the odometry is old");
    }
}
