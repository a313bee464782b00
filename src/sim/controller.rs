//! The server `follow_path`: pure pursuit for a robot that can turn on the spot.

use crate::bt::Time;
use crate::msg::action::{FollowPath, FollowPathFeedback, FollowPathGoal, FollowPathResult};
use crate::msg::{Action, duration::from_seconds, normalize_angle};

use super::plane::PlanarPose;
use super::server::{Execution, Progress};
use super::settings::Base;
use super::world::World;

/// Angle to the path, in radians, above which the robot first turns on the spot.
const MAX_DRIVING_ANGLE: f64 = 0.5;
/// Minimum speed near the end of the path, in metres per second; the robot then reaches the end.
const MIN_SPEED: f64 = 0.05;
/// Minimum speed of a turn on the spot, in radians per second.
const MIN_TURN_SPEED: f64 = 0.1;
/// Length of path after the last match that is searched for the next match, in metres. A path that crosses itself is
/// followed in its order.
const SEARCH_LENGTH: f64 = 1.0;
/// Time that is checked for collisions in addition to braking, in seconds.
const LOOK_AHEAD_TIME: f64 = 0.3;

/// Follows one path.
pub struct Follower {
    poses: Vec<PlanarPose>,
    /// Distance from each pose to the end of the path, in metres.
    remaining: Vec<f64>,
    nearest: usize,
    at_end: bool,
    progress: ProgressCheck,
    blocked_since: Option<Time>,
}

#[derive(Clone, Copy)]
struct ProgressCheck {
    pose: PlanarPose,
    since: Time,
}

impl Follower {
    fn new(poses: Vec<PlanarPose>, progress: ProgressCheck, robot: &PlanarPose) -> Self {
        let mut remaining = vec![0.0; poses.len()];
        for index in (1..poses.len()).rev() {
            remaining[index - 1] = remaining[index] + poses[index - 1].distance(&poses[index]);
        }
        let mut follower = Self {
            nearest: 0,
            at_end: false,
            progress,
            blocked_since: None,
            remaining,
            poses,
        };
        // The robot was at the start of the path when it was planned, and may be near any part of it now.
        follower.nearest = follower.nearest_in(0, f64::INFINITY, robot);
        follower
    }

    /// The pose nearest to the robot among those within `length` metres after `first`.
    fn nearest_in(&self, first: usize, length: f64, robot: &PlanarPose) -> usize {
        let from = self.remaining.get(first).copied().unwrap_or(0.0);
        let mut best = (first, f64::INFINITY);
        for (index, pose) in self.poses.iter().enumerate().skip(first) {
            if from - self.remaining[index] > length {
                break;
            }
            let distance = pose.distance(robot);
            if distance < best.1 {
                best = (index, distance);
            }
        }
        best.0
    }

    /// The target point for steering: `lookahead` metres along the path.
    fn lookahead_pose(&self, lookahead: f64, robot: &PlanarPose) -> PlanarPose {
        let pose_ahead = self
            .poses
            .iter()
            .skip(self.nearest)
            .find(|pose| pose.distance(robot) >= lookahead);
        pose_ahead.or(self.poses.last()).copied().unwrap_or(*robot)
    }

    /// The command that steers along the path: metres per second, radians per second.
    fn steer(&self, world: &World) -> (f64, f64) {
        let (settings, robot) = (&world.settings, &world.robot);
        let lookahead = settings.lookahead + settings.lookahead_time * robot.speed.abs();
        let target = self.lookahead_pose(lookahead, &robot.pose);
        let distance = target.distance(&robot.pose);
        let direction = (target.y - robot.pose.y).atan2(target.x - robot.pose.x);
        let angle = normalize_angle(direction - robot.pose.yaw);
        if angle.abs() > MAX_DRIVING_ANGLE {
            return (0.0, turn_on_spot(angle, settings));
        }
        let curvature = 2.0 * angle.sin() / distance.max(1e-3);
        let braking_speed = (2.0 * settings.max_acceleration * self.remaining_length(&robot.pose))
            .sqrt()
            .max(MIN_SPEED);
        let turning_speed = settings.max_turn / curvature.abs().max(1e-6);
        let speed = settings.max_speed.min(braking_speed).min(turning_speed);
        (speed, speed * curvature)
    }

    /// Remaining distance along the path, in metres.
    fn remaining_length(&self, robot: &PlanarPose) -> f64 {
        self.remaining[self.nearest] + self.poses[self.nearest].distance(robot)
    }

    /// Returns whether the robot, at this speed and turn, hits an obstacle of the local costmap before it can stop or
    /// reaches the end of the path. A robot that already touches an obstacle may not come closer.
    fn is_blocked(&self, world: &World, speed: f64, turn: f64) -> bool {
        if speed == 0.0 {
            return false;
        }
        let space = world.local_space();
        let gap = |pose: &PlanarPose| space.clearance(pose.x, pose.y) - world.settings.robot_radius;
        let min_gap = gap(&world.robot.pose).min(0.0);
        let stopping_distance =
            speed * LOOK_AHEAD_TIME + speed * speed / (2.0 * world.settings.max_acceleration);
        let time = stopping_distance.min(self.remaining_length(&world.robot.pose)) / speed;
        (1..=10)
            .any(|step| gap(&world.robot.pose.moved(speed, turn, time * f64::from(step) / 10.0)) < min_gap)
    }

    fn feedback(&self, world: &World) -> FollowPathFeedback {
        FollowPathFeedback {
            distance_to_goal: self.remaining.get(self.nearest).copied().unwrap_or(0.0) as f32,
            speed: world.robot.speed.abs() as f32,
        }
    }

    fn abort(world: &mut World, code: u16, message: &str) -> Progress<FollowPath> {
        world.drive(Self::SERVER, 0.0, 0.0);
        Progress::Aborted(FollowPath::failure(code, message))
    }
}

/// The speed of a turn that can still stop in time.
fn turn_on_spot(angle: f64, settings: &Base) -> f64 {
    let braking = (2.0 * 0.8 * settings.max_turn_acceleration * angle.abs()).sqrt();
    braking.min(settings.max_turn).max(MIN_TURN_SPEED).copysign(angle)
}

impl Execution for Follower {
    type Action = FollowPath;
    const SERVER: &'static str = "follow_path";

    fn start(
        goal: &FollowPathGoal,
        previous: Option<&Self>,
        world: &mut World,
    ) -> Result<Self, FollowPathResult> {
        if !Base::contains_id(&world.settings.controller_ids, &goal.controller_id) {
            let text = format!("there is no controller `{}`", goal.controller_id);
            return Err(FollowPath::failure(FollowPath::INVALID_CONTROLLER, &text));
        }
        if goal.path.is_empty() {
            return Err(FollowPath::failure(FollowPath::INVALID_PATH, "the path is empty"));
        }
        let mut poses = Vec::with_capacity(goal.path.poses.len());
        for pose in &goal.path.poses {
            let mut pose = pose.clone();
            if pose.header.frame_id.is_empty() {
                pose.header.frame_id = goal.path.header.frame_id.clone();
            }
            let pose = world
                .in_map(&pose)
                .map_err(|error| FollowPath::failure(FollowPath::TF_ERROR, &error.to_string()))?;
            if !pose.is_finite() {
                let text = "a pose of the path is not a number";
                return Err(FollowPath::failure(FollowPath::INVALID_PATH, text));
            }
            poses.push(pose);
        }
        // A new path every second must not reset the progress check: a stuck robot would never be detected.
        let new_check = ProgressCheck {
            pose: world.robot.pose,
            since: world.now(),
        };
        let progress = previous.map_or(new_check, |previous| previous.progress);
        let mut follower = Self::new(poses, progress, &world.robot.pose);
        follower.blocked_since = previous.and_then(|previous| previous.blocked_since);
        Ok(follower)
    }

    fn step(&mut self, world: &mut World) -> Progress<FollowPath> {
        let now = world.now();
        let robot = world.robot.pose;
        self.nearest = self.nearest_in(self.nearest, SEARCH_LENGTH, &robot);
        let Some(end) = self.poses.last().copied() else {
            return Self::abort(world, FollowPath::INVALID_PATH, "the path is empty");
        };

        // At the end it only turns: a stateful goal checker, as in Nav2's defaults.
        let tolerance = world.settings.xy_goal_tolerance;
        let near_end = self.remaining[self.nearest] <= 2.0 * tolerance + SEARCH_LENGTH / 2.0;
        self.at_end |= near_end && robot.distance(&end) <= tolerance;
        if self.at_end {
            let turn = robot.turn_to(end.yaw);
            if turn.abs() <= world.settings.yaw_goal_tolerance {
                world.drive(Self::SERVER, 0.0, 0.0);
                return Progress::Succeeded(FollowPathResult::default());
            }
            let turn = turn_on_spot(turn, &world.settings);
            world.drive(Self::SERVER, 0.0, turn);
            return Progress::Running(self.feedback(world));
        }

        if robot.distance(&self.progress.pose) >= world.settings.required_movement_radius {
            self.progress = ProgressCheck {
                pose: robot,
                since: now,
            };
        } else if now.since(self.progress.since) > from_seconds(world.settings.movement_time_allowance) {
            return Self::abort(
                world,
                FollowPath::FAILED_TO_MAKE_PROGRESS,
                "the robot makes no progress",
            );
        }

        let (speed, turn) = self.steer(world);
        if self.is_blocked(world, speed, turn) {
            let since = *self.blocked_since.get_or_insert(now);
            let tolerance = from_seconds(world.settings.failure_tolerance);
            if tolerance.is_zero() {
                return Self::abort(world, FollowPath::NO_VALID_CONTROL, "an obstacle is ahead");
            }
            if now.since(since) > tolerance {
                return Self::abort(world, FollowPath::PATIENCE_EXCEEDED, "an obstacle stays ahead");
            }
            world.drive(Self::SERVER, 0.0, 0.0);
        } else {
            self.blocked_since = None;
            world.drive(Self::SERVER, speed, turn);
        }
        Progress::Running(self.feedback(world))
    }

    fn cancel(&mut self, world: &mut World) -> FollowPathResult {
        world.drive(Self::SERVER, 0.0, 0.0);
        FollowPathResult::default()
    }
}

#[cfg(test)]
mod tests {
    use super::Follower;
    use crate::msg::action::{FollowPath, FollowPathGoal};
    use crate::msg::{Action, Header, Path, Pose};
    use crate::sim::server::{Event, Execution, TerminalStatus};
    use crate::sim::settings::Base;
    use crate::sim::testing::Bench;
    use std::sync::Arc;

    fn path_goal(points: &[(f64, f64)], yaw: f64) -> FollowPathGoal {
        let poses = crate::sim::planner::sample(points, 0.05, 0.0, yaw)
            .into_iter()
            .map(Pose::from);
        FollowPathGoal {
            path: Arc::new(Path::through(Header::in_frame("map"), poses)),
            ..FollowPathGoal::default()
        }
    }

    #[test]
    fn reaches_the_end_with_its_heading() {
        let mut bench = Bench::<Follower>::new(Base::default());
        bench.send(path_goal(&[(0.0, 0.0), (2.0, 0.0), (2.0, 2.0)], -2.0));
        let (status, _) = bench.until_end(30.0);
        assert_eq!(status, TerminalStatus::Succeeded);
        let pose = bench.world.robot.pose;
        assert!((pose.x - 2.0).hypot(pose.y - 2.0) < 0.12, "{pose:?}");
        assert!(pose.turn_to(-2.0).abs() < 0.15, "{pose:?}");
        assert!(
            bench.world.now().as_nanos() < 16_000_000_000,
            "{:?}",
            bench.world.now()
        );
    }

    #[test]
    fn feedback_counts_down() {
        let mut bench = Bench::<Follower>::new(Base::default());
        bench.send(path_goal(&[(0.0, 0.0), (3.0, 0.0)], 0.0));
        bench.until_end(30.0);
        let distances = bench.feedback(|feedback| feedback.distance_to_goal);
        assert!(distances.len() > 50 && distances[0] > 2.9 && *distances.last().unwrap() < 0.2);
        assert!(distances.is_sorted_by(|a, b| a >= b), "{distances:?}");
    }

    #[test]
    fn follows_a_path_that_crosses_itself() {
        let mut bench = Bench::<Follower>::new(Base::default());
        bench.send(path_goal(
            &[
                (0.0, 0.0),
                (3.0, 0.0),
                (3.0, 2.0),
                (1.5, 2.0),
                (1.5, 0.0),
                (0.1, 0.0),
            ],
            3.0,
        ));
        assert_eq!(bench.until_end(60.0).0, TerminalStatus::Succeeded);
        assert!(bench.world.robot.driven > 8.5, "{}", bench.world.robot.driven);
    }

    #[test]
    fn unusable_paths_have_codes() {
        let mut bench = Bench::<Follower>::new(Base {
            controller_ids: "A".into(),
            ..Base::default()
        });
        bench.send(FollowPathGoal::default());
        assert_eq!(
            FollowPath::error_code(&bench.until_end(1.0).1),
            FollowPath::INVALID_PATH
        );
        let mut goal = path_goal(&[(0.0, 0.0), (1.0, 0.0)], 0.0);
        goal.controller_id = "B".into();
        bench.send(goal.clone());
        assert_eq!(
            FollowPath::error_code(&bench.until_end(1.0).1),
            FollowPath::INVALID_CONTROLLER
        );
        goal.controller_id = "".into();
        Arc::make_mut(&mut goal.path).poses[1].header.frame_id = "mars".into();
        bench.send(goal);
        assert_eq!(
            FollowPath::error_code(&bench.until_end(1.0).1),
            FollowPath::TF_ERROR
        );
    }

    #[test]
    fn a_permanent_obstacle_aborts() {
        let settings = Base {
            obstacles: "1.5 0 0.3".into(),
            ..Base::default()
        };
        let mut bench = Bench::<Follower>::new(settings.clone());
        bench.send(path_goal(&[(0.0, 0.0), (3.0, 0.0)], 0.0));
        let (status, result) = bench.until_end(30.0);
        assert_eq!(
            (status, FollowPath::error_code(&result)),
            (TerminalStatus::Aborted, FollowPath::PATIENCE_EXCEEDED)
        );
        assert_eq!(bench.world.robot.bumps, 0);
        let mut bench = Bench::<Follower>::new(Base {
            failure_tolerance: 0.0,
            ..settings
        });
        bench.send(path_goal(&[(0.0, 0.0), (3.0, 0.0)], 0.0));
        assert_eq!(
            FollowPath::error_code(&bench.until_end(30.0).1),
            FollowPath::NO_VALID_CONTROL
        );
    }

    #[test]
    fn a_stuck_robot_is_detected_despite_new_paths() {
        // Without a sensor: it pushes against an obstacle that it does not see.
        let settings = Base {
            obstacles: "1.5 0 0.3".into(),
            sensor_range: 0.0,
            ..Base::default()
        };
        let mut bench = Bench::<Follower>::new(settings);
        let mut replaced = 0;
        for _ in 0..30 {
            bench.send(path_goal(&[(0.0, 0.0), (3.0, 0.0)], 0.0));
            bench.run(1.0);
            for event in bench.events.drain(..) {
                if let Event::Ended(_, status, result) = event {
                    assert_eq!(status, TerminalStatus::Aborted);
                    if FollowPath::error_code(&result) == FollowPath::FAILED_TO_MAKE_PROGRESS {
                        assert!(replaced > 9 && bench.world.robot.bumps > 0);
                        return;
                    }
                    replaced += 1;
                }
            }
        }
        panic!("never detected");
    }

    #[test]
    fn cancel_brakes() {
        let mut bench = Bench::<Follower>::new(Base::default());
        let number = bench.send(path_goal(&[(0.0, 0.0), (3.0, 0.0)], 0.0));
        bench.run(2.0);
        assert!(bench.world.robot.speed > 0.4);
        assert!(bench.server.cancel(number, bench.world.now()));
        assert_eq!(bench.until_end(0.1).0, TerminalStatus::Canceled);
        bench.run(1.0);
        assert_eq!(bench.world.robot.speed, 0.0);
        assert_eq!(Follower::SERVER, "follow_path");
    }
}
