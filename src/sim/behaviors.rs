//! The servers `spin`, `backup`, `drive_on_heading` and `wait`.

use std::time::Duration;

use crate::bt::Time;
use crate::msg::action::{
    BackUp, BackUpFeedback, BackUpGoal, BackUpResult, DriveOnHeading, DriveOnHeadingFeedback,
    DriveOnHeadingGoal, DriveOnHeadingResult, Spin, SpinFeedback, SpinGoal, SpinResult, Wait, WaitFeedback,
    WaitGoal, WaitResult,
};
use crate::msg::{Action, Point, normalize_angle};

use super::plane::PlanarPose;
use super::server::{Execution, Progress};
use super::world::World;

/// Angle tolerance of a finished turn, in radians; less than one step turns.
const YAW_TOLERANCE: f64 = 0.01;

/// The start of a behavior and its time limit. An allowance of zero means no limit, as in Nav2.
#[derive(Clone, Copy)]
struct Allowance {
    since: Time,
    limit: Duration,
}

impl Allowance {
    fn new(world: &World, limit: Duration) -> Self {
        Self {
            since: world.now(),
            limit,
        }
    }

    fn elapsed(&self, world: &World) -> Duration {
        world.now().since(self.since)
    }

    fn is_exceeded(&self, world: &World) -> bool {
        !self.limit.is_zero() && self.elapsed(world) > self.limit
    }
}

/// Overlap of the robot at a pose with the obstacles of the local costmap, in metres; 0 for none.
fn overlap(world: &World, pose: &PlanarPose) -> f64 {
    (world.settings.robot_radius - world.local_space().clearance(pose.x, pose.y)).max(0.0)
}

/// Turns on the spot.
pub struct Spinning {
    target: f64,
    turned: f64,
    last_yaw: f64,
    allowance: Allowance,
}

impl Execution for Spinning {
    type Action = Spin;
    const SERVER: &'static str = "spin";

    fn start(goal: &SpinGoal, _previous: Option<&Self>, world: &mut World) -> Result<Self, SpinResult> {
        let target = f64::from(goal.target_yaw);
        if !target.is_finite() {
            return Err(Spin::failure(Spin::UNKNOWN, "the target yaw is not a number"));
        }
        Ok(Self {
            target,
            turned: 0.0,
            last_yaw: world.robot.pose.yaw,
            allowance: Allowance::new(world, goal.time_allowance),
        })
    }

    fn step(&mut self, world: &mut World) -> Progress<Spin> {
        let yaw = world.robot.pose.yaw;
        self.turned += normalize_angle(yaw - self.last_yaw);
        self.last_yaw = yaw;
        let result = |world: &mut World, code: u16, message: &str, allowance: &Allowance| {
            world.drive(Self::SERVER, 0.0, 0.0);
            SpinResult {
                total_elapsed_time: allowance.elapsed(world),
                ..Spin::failure(code, message)
            }
        };
        let remaining = self.target - self.turned;
        // Also after it has turned too far: the drive cannot stop within a hundredth of a radian.
        if remaining.abs() <= YAW_TOLERANCE || remaining * self.target <= 0.0 {
            return Progress::Succeeded(result(world, Spin::NONE, "", &self.allowance));
        }
        if self.allowance.is_exceeded(world) {
            let text = "the time allowance was exceeded";
            return Progress::Aborted(result(world, Spin::TIMEOUT, text, &self.allowance));
        }
        // A disc that turns covers no new area, so only an overlap at the current pose counts.
        if overlap(world, &world.robot.pose) > 0.0 {
            let text = "an obstacle is ahead";
            return Progress::Aborted(result(world, Spin::COLLISION_AHEAD, text, &self.allowance));
        }
        let settings = &world.settings;
        // The turn rate at which the drive can still brake within the remaining angle, one step included.
        let braking = (2.0 * 0.8 * settings.max_turn_acceleration * remaining.abs()).sqrt();
        let min_speed = settings.min_spin.min(braking.max(0.05));
        let turn = braking.min(settings.max_spin).max(min_speed).copysign(remaining);
        world.drive(Self::SERVER, 0.0, turn);
        Progress::Running(SpinFeedback {
            angular_distance_traveled: self.turned as f32,
        })
    }

    fn cancel(&mut self, world: &mut World) -> SpinResult {
        world.drive(Self::SERVER, 0.0, 0.0);
        SpinResult {
            total_elapsed_time: self.allowance.elapsed(world),
            ..SpinResult::default()
        }
    }
}

/// A straight drive, forward or back.
struct Straight {
    start: PlanarPose,
    /// Signed speed, in metres per second.
    speed: f64,
    distance: f64,
    allowance: Allowance,
}

/// The outcome of one step of a straight drive.
enum StraightStep {
    Driving(f64),
    Arrived,
    TimedOut,
    Blocked,
}

impl Straight {
    fn new(world: &World, distance: f64, speed: f64, limit: Duration) -> Self {
        Self {
            start: world.robot.pose,
            speed,
            distance: distance.abs(),
            allowance: Allowance::new(world, limit),
        }
    }

    fn step(&self, world: &mut World, server: &'static str) -> StraightStep {
        let driven = self.start.distance(&world.robot.pose);
        let outcome = if driven >= self.distance {
            StraightStep::Arrived
        } else if self.allowance.is_exceeded(world) {
            StraightStep::TimedOut
        } else if self.is_blocked(world, self.distance - driven) {
            StraightStep::Blocked
        } else {
            StraightStep::Driving(driven)
        };
        let speed = if matches!(outcome, StraightStep::Driving(_)) {
            // It brakes before the end, so the robot stops there and not beyond.
            let braking = (2.0 * 0.8 * world.settings.max_acceleration * (self.distance - driven)).sqrt();
            self.speed.abs().min(braking.max(0.01)).copysign(self.speed)
        } else {
            0.0
        };
        world.drive(server, speed, 0.0);
        outcome
    }

    /// Returns whether the robot comes closer to an obstacle on the rest of its way than it is now.
    fn is_blocked(&self, world: &World, remaining: f64) -> bool {
        let checked_distance = (self.speed.abs() * world.settings.simulate_ahead_time).min(remaining);
        let current_overlap = overlap(world, &world.robot.pose);
        (1..=20).any(|step| {
            let ahead = (checked_distance * f64::from(step) / 20.0).copysign(self.speed);
            overlap(world, &world.robot.pose.moved(ahead, 0.0, 1.0)) > current_overlap
        })
    }
}

/// Both servers have the same code; only names, numbers and the sign of the target differ.
macro_rules! straight_server {
    ($(#[$doc:meta])* $server:ident, $name:literal, $action:ident, $goal:ident, $result:ident, $feedback:ident,
     $check:ident) => {
        $(#[$doc])*
        pub struct $server(Straight);

        impl $server {
            fn result(&self, world: &World, code: u16, message: &str) -> $result {
                $result {
                    total_elapsed_time: self.0.allowance.elapsed(world),
                    ..$action::failure(code, message)
                }
            }
        }

        impl Execution for $server {
            type Action = $action;
            const SERVER: &'static str = $name;

            fn start(goal: &$goal, _previous: Option<&Self>, world: &mut World) -> Result<Self, $result> {
                let (distance, speed) = $check(&goal.target, f64::from(goal.speed))
                    .map_err(|text| $action::failure($action::INVALID_INPUT, text))?;
                Ok(Self(Straight::new(world, distance, speed, goal.time_allowance)))
            }

            fn step(&mut self, world: &mut World) -> Progress<$action> {
                match self.0.step(world, Self::SERVER) {
                    StraightStep::Driving(driven) => Progress::Running($feedback {
                        distance_traveled: driven as f32,
                    }),
                    StraightStep::Arrived => Progress::Succeeded(self.result(world, $action::NONE, "")),
                    StraightStep::TimedOut => {
                        Progress::Aborted(self.result(world, $action::TIMEOUT, "the time allowance was exceeded"))
                    }
                    StraightStep::Blocked => {
                        Progress::Aborted(self.result(world, $action::COLLISION_AHEAD, "an obstacle is ahead"))
                    }
                }
            }

            fn cancel(&mut self, world: &mut World) -> $result {
                world.drive(Self::SERVER, 0.0, 0.0);
                self.result(world, $action::NONE, "")
            }
        }
    };
}

straight_server!(
    /// Drives straight back.
    BackingUp,
    "backup",
    BackUp,
    BackUpGoal,
    BackUpResult,
    BackUpFeedback,
    backup_motion
);

straight_server!(
    /// Drives straight on, or back if distance and speed say so.
    DrivingOnHeading,
    "drive_on_heading",
    DriveOnHeading,
    DriveOnHeadingGoal,
    DriveOnHeadingResult,
    DriveOnHeadingFeedback,
    heading_motion
);

/// The signed distance and speed of a backup: always backwards, with any signs.
fn backup_motion(target: &Point, speed: f64) -> Result<(f64, f64), &'static str> {
    check_target(target, speed)?;
    Ok((-target.x.abs(), -speed.abs()))
}

/// The signed distance and speed of a drive on heading.
fn heading_motion(target: &Point, speed: f64) -> Result<(f64, f64), &'static str> {
    check_target(target, speed)?;
    if (target.x > 0.0) != (speed > 0.0) {
        return Err("distance and speed have different signs");
    }
    Ok((target.x, speed))
}

fn check_target(target: &Point, speed: f64) -> Result<(), &'static str> {
    if target.y != 0.0 || target.z != 0.0 {
        return Err("only a target along x is supported");
    }
    if !(target.x.is_finite() && speed.is_finite()) {
        return Err("distance or speed is not a number");
    }
    Ok(())
}

/// Waits. It sends no command to the drive, like Nav2's wait.
pub struct Waiting {
    since: Time,
    time: Duration,
}

impl Execution for Waiting {
    type Action = Wait;
    const SERVER: &'static str = "wait";

    fn start(goal: &WaitGoal, _previous: Option<&Self>, world: &mut World) -> Result<Self, WaitResult> {
        Ok(Self {
            since: world.now(),
            time: goal.time,
        })
    }

    fn step(&mut self, world: &mut World) -> Progress<Wait> {
        let elapsed = world.now().since(self.since);
        if elapsed >= self.time {
            return Progress::Succeeded(self.cancel(world));
        }
        Progress::Running(WaitFeedback {
            time_left: self.time.saturating_sub(elapsed),
        })
    }

    fn cancel(&mut self, world: &mut World) -> WaitResult {
        WaitResult {
            total_elapsed_time: world.now().since(self.since),
            ..WaitResult::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BackingUp, DrivingOnHeading, Spinning, Waiting};
    use crate::msg::action::{
        BackUp, BackUpGoal, DriveOnHeading, DriveOnHeadingGoal, Spin, SpinGoal, WaitGoal,
    };
    use crate::msg::{Action, Point};
    use crate::sim::server::TerminalStatus;
    use crate::sim::settings::Base;
    use crate::sim::testing::Bench;
    use std::time::Duration;

    fn spin(target_yaw: f32, seconds: u64) -> SpinGoal {
        SpinGoal {
            target_yaw,
            time_allowance: Duration::from_secs(seconds),
        }
    }

    fn back(x: f64, speed: f32, seconds: u64) -> BackUpGoal {
        BackUpGoal {
            target: Point::planar(x, 0.0),
            speed,
            time_allowance: Duration::from_secs(seconds),
        }
    }

    fn ahead(x: f64, speed: f32) -> DriveOnHeadingGoal {
        DriveOnHeadingGoal {
            target: Point::planar(x, 0.0),
            speed,
            ..DriveOnHeadingGoal::default()
        }
    }

    #[test]
    fn spins_by_the_angle() {
        for target in [1.57_f32, -1.57, 0.05, 7.0] {
            let mut bench = Bench::<Spinning>::new(Base::default());
            bench.send(spin(target, 20));
            let (status, result) = bench.until_end(20.0);
            assert_eq!(status, TerminalStatus::Succeeded);
            assert!(result.total_elapsed_time.as_secs_f32() >= target.abs() || target.abs() < 0.1);
            bench.run(0.5);
            let off = crate::msg::angle_between(bench.world.robot.pose.yaw, f64::from(target));
            assert!(off.abs() < 0.03, "{target}: off by {off}");
            assert_eq!(bench.world.robot.turn, 0.0);
        }
    }

    #[test]
    fn spin_gives_feedback_and_runs_out_of_time() {
        let mut bench = Bench::<Spinning>::new(Base::default());
        bench.send(spin(6.0, 2));
        let (status, result) = bench.until_end(20.0);
        assert_eq!(
            (status, result.error_code),
            (TerminalStatus::Aborted, Spin::TIMEOUT)
        );
        let turned = bench.feedback(|feedback| feedback.angular_distance_traveled);
        assert!(
            turned.is_sorted() && (19..=22).contains(&turned.len()),
            "{turned:?}"
        );
        assert!(Spin::failure(0, "").error_msg.is_empty());
    }

    #[test]
    fn backs_up_by_the_distance_with_any_signs() {
        for (x, speed) in [(0.3, 0.1), (-0.3, 0.1), (0.3, -0.1)] {
            let mut bench = Bench::<BackingUp>::new(Base::default());
            bench.send(back(x, speed, 10));
            assert_eq!(bench.until_end(10.0).0, TerminalStatus::Succeeded);
            bench.run(0.5);
            assert!(
                (bench.world.robot.pose.x + 0.3).abs() < 0.01,
                "{:?}",
                bench.world.robot.pose
            );
        }
    }

    #[test]
    fn backup_stops_before_an_obstacle() {
        let settings = Base {
            obstacles: "-0.8 0 0.3".into(),
            ..Base::default()
        };
        let mut bench = Bench::<BackingUp>::new(settings);
        bench.send(back(1.0, 0.1, 0));
        let (status, result) = bench.until_end(20.0);
        assert_eq!(
            (status, result.error_code),
            (TerminalStatus::Aborted, BackUp::COLLISION_AHEAD)
        );
        bench.run(0.5);
        assert!(bench.world.robot.pose.x > -0.28 && bench.world.robot.bumps == 0);
    }

    #[test]
    fn backup_aborts_on_wrong_input_and_time() {
        let mut bench = Bench::<BackingUp>::new(Base::default());
        let mut goal = back(0.3, 0.1, 1);
        goal.target.y = 0.1;
        bench.send(goal);
        assert_eq!(bench.until_end(1.0).1.error_code, BackUp::INVALID_INPUT);
        bench.send(back(0.3, 0.1, 1));
        assert_eq!(bench.until_end(2.0).1.error_code, BackUp::TIMEOUT);
    }

    #[test]
    fn drives_on_heading() {
        let mut bench = Bench::<DrivingOnHeading>::new(Base {
            start_yaw: 1.0,
            ..Base::default()
        });
        bench.send(ahead(0.5, 0.2));
        assert_eq!(bench.until_end(10.0).0, TerminalStatus::Succeeded);
        bench.run(0.5);
        let pose = bench.world.robot.pose;
        assert!(
            (pose.x - 0.5 * 1_f64.cos()).hypot(pose.y - 0.5 * 1_f64.sin()) < 0.01,
            "{pose:?}"
        );
        bench.send(ahead(0.5, -0.2));
        assert_eq!(bench.until_end(1.0).1.error_code, DriveOnHeading::INVALID_INPUT);
    }

    #[test]
    fn waits() {
        let mut bench = Bench::<Waiting>::new(Base::default());
        bench.send(WaitGoal {
            time: Duration::from_millis(1500),
        });
        let (status, result) = bench.until_end(2.0);
        assert_eq!(
            (status, result.total_elapsed_time),
            (TerminalStatus::Succeeded, Duration::from_millis(1500))
        );
        assert_eq!(bench.feedback(|feedback| feedback.time_left).len(), 15);
    }
}
