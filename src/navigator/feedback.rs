//! Distance and time to the goal.

use std::time::Duration;

use crate::msg::{Path, Point, distance_xy};

/// Minimum speed and distance for an estimate of the time, as in Nav2.
const SLOWEST: f64 = 0.01;
const SHORTEST: f64 = 0.1;

/// Distance in metres along the path, from the pose nearest to the robot to its end. Without a path, in a straight line to
/// the goal: after a goal was replaced, the robot drives on along the path of the earlier one until the planner has answered,
/// and 0 would say that it has arrived.
pub(crate) fn distance_remaining(path: Option<&Path>, robot: &Point, goal: Option<&Point>) -> f64 {
    let along = path.and_then(|path| Some(path.length_from(path.closest_index(robot)?)));
    let straight = || goal.map_or(0.0, |goal| distance_xy(robot, goal));
    // The sum of no lengths is minus zero, which clients would print.
    along.unwrap_or_else(straight).abs()
}

/// The time for a distance at a speed.
pub(crate) fn time_remaining(distance: f64, speed: f64) -> Duration {
    // False for NaN, as in Nav2.
    if speed.abs() > SLOWEST && distance > SHORTEST {
        Duration::try_from_secs_f64(distance / speed.abs()).unwrap_or(Duration::MAX)
    } else {
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::{Header, Pose};

    #[test]
    fn a_speed_or_distance_that_is_not_a_number_gives_no_estimate() {
        for (distance, speed) in [(5.0, f64::NAN), (f64::NAN, 0.5), (5.0, 0.005)] {
            assert_eq!(time_remaining(distance, speed), Duration::ZERO);
        }
        assert_eq!(time_remaining(5.0, -0.5), Duration::from_secs(10));
    }

    #[test]
    fn the_rest_of_the_path_counts_from_the_nearest_pose() {
        let path = Path::through(
            Header::in_frame("map"),
            (0..=4).map(|x| Pose::planar(f64::from(x), 0.0, 0.0)),
        );
        let (robot, goal) = (point(1.2, 0.3), point(9.0, 9.0));
        let distance = |path: &Path| distance_remaining(Some(path), &robot, Some(&goal));
        assert!((distance(&path) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn without_a_path_the_distance_is_that_to_the_goal() {
        let (robot, goal) = (point(1.0, 1.0), point(4.0, 5.0));
        for path in [None, Some(&Path::default())] {
            assert_eq!(distance_remaining(path, &robot, Some(&goal)), 5.0);
            assert_eq!(distance_remaining(path, &robot, None), 0.0);
        }
    }

    fn point(x: f64, y: f64) -> Point {
        Point { x, y, z: 0.0 }
    }

    #[test]
    fn no_time_remaining_for_a_standing_robot() {
        assert_eq!(time_remaining(5.0, 0.005), Duration::ZERO);
        assert_eq!(time_remaining(5.0, 0.5), Duration::from_secs(10));
    }
}
