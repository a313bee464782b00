//! The motion of a robot on a plane: pose, velocity and odometry.

use crate::msg::{Pose, Twist, angle_between, normalize_angle};

use super::random::Random;

/// A pose on the plane, in metres and radians.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct PlanarPose {
    /// Position along x, in metres.
    pub x: f64,
    /// Position along y, in metres.
    pub y: f64,
    /// Heading, in radians.
    pub yaw: f64,
}

impl PlanarPose {
    /// A pose at `x`, `y` with heading `yaw`.
    pub const fn new(x: f64, y: f64, yaw: f64) -> Self {
        Self { x, y, yaw }
    }

    /// Distance to another pose, in metres.
    pub fn distance(&self, other: &Self) -> f64 {
        (self.x - other.x).hypot(self.y - other.y)
    }

    /// The shortest turn to another heading, in radians.
    pub fn turn_to(&self, yaw: f64) -> f64 {
        angle_between(self.yaw, yaw)
    }

    /// The pose after a drive at `forward` metres per second and `turn` radians per second for `seconds` (an exact arc,
    /// so the track does not depend on the step size).
    pub fn moved(&self, forward: f64, turn: f64, seconds: f64) -> Self {
        let angle = turn * seconds;
        let length = forward * seconds;
        // The chord of the arc: for a small angle as long as the arc, and at half the angle to the heading.
        let chord = if angle.abs() < 1e-9 {
            length
        } else {
            length * (angle / 2.0).sin() / (angle / 2.0)
        };
        let direction = self.yaw + angle / 2.0;
        Self {
            x: self.x + chord * direction.cos(),
            y: self.y + chord * direction.sin(),
            yaw: normalize_angle(self.yaw + angle),
        }
    }

    /// Returns whether all three numbers are finite.
    pub fn is_finite(&self) -> bool {
        self.x.is_finite() && self.y.is_finite() && self.yaw.is_finite()
    }
}

impl From<&Pose> for PlanarPose {
    fn from(pose: &Pose) -> Self {
        Self::new(pose.position.x, pose.position.y, pose.yaw())
    }
}

impl From<PlanarPose> for Pose {
    fn from(pose: PlanarPose) -> Self {
        Self::planar(pose.x, pose.y, pose.yaw)
    }
}

/// The limits of the drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Maximum speed in metres per second, forward and back.
    pub speed: f64,
    /// Maximum turn in radians per second.
    pub turn: f64,
    /// Maximum acceleration and deceleration, in metres per second squared.
    pub acceleration: f64,
    /// Maximum angular acceleration, in radians per second squared.
    pub turn_acceleration: f64,
}

/// The noise of drive and wheel encoders: standard deviation as a share of the motion, 0 for none.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Noise {
    /// The difference between command and motion.
    pub drive: f64,
    /// The difference between motion and odometry. The pose in the map stays exact, so `map→odom` drifts.
    pub odometry: f64,
}

/// Minimum speed of a bump, in metres per second. A slower contact does not count.
const BUMP_SPEED: f64 = 0.05;

/// The robot: a disc with a differential drive.
#[derive(Clone, Debug)]
pub struct Robot {
    /// The true pose, in the map frame.
    pub pose: PlanarPose,
    /// The pose of the wheel odometry, in the odometry frame.
    pub odometry: PlanarPose,
    /// Current speed forward, in metres per second.
    pub speed: f64,
    /// Current turn to the left, in radians per second.
    pub turn: f64,
    /// The limits of the drive.
    pub limits: Limits,
    /// The noise of drive and odometry.
    pub noise: Noise,
    /// Distance driven, in metres.
    pub driven: f64,
    /// Number of collisions, without slow contacts.
    pub bumps: u64,
    command: (f64, f64),
    random: Random,
}

impl Robot {
    /// A robot that stands at `pose`. Its odometry starts at zero.
    pub fn new(pose: PlanarPose, limits: Limits, noise: Noise, seed: u64) -> Self {
        Self {
            pose,
            odometry: PlanarPose::default(),
            speed: 0.0,
            turn: 0.0,
            limits,
            noise,
            driven: 0.0,
            bumps: 0,
            command: (0.0, 0.0),
            random: Random::new(seed),
        }
    }

    /// Sets the commanded velocity in metres per second and radians per second, clamped to the limits.
    pub fn command(&mut self, speed: f64, turn: f64) {
        let clamp = |value: f64, limit: f64| {
            if value.is_finite() {
                value.clamp(-limit, limit)
            } else {
                0.0
            }
        };
        self.command = (clamp(speed, self.limits.speed), clamp(turn, self.limits.turn));
    }

    /// The commanded velocity.
    pub fn commanded(&self) -> (f64, f64) {
        self.command
    }

    /// The current velocity.
    pub fn twist(&self) -> Twist {
        Twist::planar(self.speed, self.turn)
    }

    /// Advances by `seconds`. `gap` returns the distance between the robot at a pose and the obstacles, in metres,
    /// negative for overlap. The robot does not pass through walls: it stops at contact. It may always move away,
    /// because obstacles can appear at its position.
    pub fn step(&mut self, seconds: f64, gap: impl Fn(&PlanarPose) -> f64) {
        self.speed = approach(self.speed, self.command.0, self.limits.acceleration * seconds);
        self.turn = approach(self.turn, self.command.1, self.limits.turn_acceleration * seconds);
        let speed = self.speed * (1.0 + self.noise.drive * self.random_factor(self.noise.drive));
        let turn = self.turn * (1.0 + self.noise.drive * self.random_factor(self.noise.drive));
        let min_gap = gap(&self.pose).min(0.0);
        let is_allowed = |time: f64| gap(&self.pose.moved(speed, turn, time)) >= min_gap;
        let moving_time = if is_allowed(seconds) {
            seconds
        } else {
            if self.speed.abs() > BUMP_SPEED {
                self.bumps += 1;
            }
            self.speed = 0.0;
            time_to_contact(seconds, is_allowed)
        };
        self.pose = self.pose.moved(speed, turn, moving_time);
        self.driven += speed.abs() * moving_time;
        // The robot continues to turn on the spot for the rest of the step.
        self.pose.yaw = normalize_angle(self.pose.yaw + turn * (seconds - moving_time));
        let speed = speed * (1.0 + self.noise.odometry * self.random_factor(self.noise.odometry));
        let turn = turn * (1.0 + self.noise.odometry * self.random_factor(self.noise.odometry));
        self.odometry = self.odometry.moved(speed, turn, moving_time);
        self.odometry.yaw = normalize_angle(self.odometry.yaw + turn * (seconds - moving_time));
    }

    /// Draws a number only if there is noise: noise in another part does not shift this sequence.
    fn random_factor(&mut self, amount: f64) -> f64 {
        if amount == 0.0 { 0.0 } else { self.random.normal() }
    }
}

/// The longest part of `seconds` for which the robot may move, to 1/64.
fn time_to_contact(seconds: f64, is_allowed: impl Fn(f64) -> bool) -> f64 {
    let (mut free, mut blocked) = (0.0, seconds);
    for _ in 0..6 {
        let middle = f64::midpoint(free, blocked);
        if is_allowed(middle) {
            free = middle;
        } else {
            blocked = middle;
        }
    }
    free
}

fn approach(value: f64, target: f64, step: f64) -> f64 {
    value + (target - value).clamp(-step, step)
}

#[cfg(test)]
mod tests {
    use super::{Limits, Noise, PlanarPose, Robot};
    use std::f64::consts::{FRAC_PI_2, PI};

    const LIMITS: Limits = Limits {
        speed: 0.5,
        turn: 1.0,
        acceleration: 1.0,
        turn_acceleration: 2.0,
    };

    fn run(noise: Noise, seed: u64) -> Robot {
        let mut robot = Robot::new(PlanarPose::default(), LIMITS, noise, seed);
        robot.command(0.4, 0.3);
        for _ in 0..250 {
            robot.step(0.02, |_| 9.0);
        }
        robot
    }

    #[test]
    fn arcs_are_exact_for_any_step() {
        let once = PlanarPose::default().moved(1.0, FRAC_PI_2, 1.0);
        let mut often = PlanarPose::default();
        for _ in 0..100 {
            often = often.moved(1.0, FRAC_PI_2, 0.01);
        }
        assert!(once.distance(&often) < 1e-9 && once.turn_to(often.yaw).abs() < 1e-9);
        let radius = 2.0 / PI;
        assert!((once.x - radius).abs() < 1e-9 && (once.y - radius).abs() < 1e-9);
    }

    #[test]
    fn speeds_up_within_limits() {
        let mut robot = Robot::new(PlanarPose::default(), LIMITS, Noise::default(), 0);
        robot.command(9.0, f64::NAN);
        robot.step(0.1, |_| 9.0);
        assert!((robot.speed - 0.1).abs() < 1e-12 && robot.turn == 0.0);
        for _ in 0..20 {
            robot.step(0.1, |_| 9.0);
        }
        assert!((robot.speed - 0.5).abs() < 1e-9, "{}", robot.speed);
    }

    #[test]
    fn a_wall_stops_the_robot() {
        let mut robot = Robot::new(PlanarPose::default(), LIMITS, Noise::default(), 0);
        robot.command(0.5, 0.0);
        for _ in 0..500 {
            robot.step(0.02, |pose| 1.0 - pose.x);
        }
        assert!(robot.pose.x <= 1.0 && robot.pose.x > 0.99, "{:?}", robot.pose);
        assert_eq!(robot.bumps, 1, "one contact, however long it pushes");
    }

    #[test]
    fn may_leave_an_obstacle_that_appears_at_its_position() {
        let mut robot = Robot::new(PlanarPose::default(), LIMITS, Noise::default(), 0);
        let gap = |pose: &PlanarPose| pose.x.abs() - 0.5;
        robot.command(-0.5, 0.0);
        for _ in 0..200 {
            robot.step(0.02, gap);
        }
        assert!(robot.pose.x < -1.0 && robot.bumps == 0, "{:?}", robot.pose);
    }

    #[test]
    fn noise_is_reproducible_and_drifts_odometry_only() {
        let noise = Noise {
            drive: 0.0,
            odometry: 0.1,
        };
        assert_eq!(run(noise, 3).odometry, run(noise, 3).odometry);
        assert_ne!(run(noise, 3).odometry, run(noise, 4).odometry);
        assert_eq!(run(noise, 3).pose, run(Noise::default(), 3).pose);
        assert_ne!(run(noise, 3).pose, run(noise, 3).odometry);
        let silent = run(Noise::default(), 3);
        assert!(silent.pose.distance(&silent.odometry) < 1e-9);
    }
}
