//! `geometry_msgs`: points, rotations, poses and velocities.

use super::declare::messages;
use super::header::{FrameId, Header};
use super::planar::normalize_angle;

messages! {
    geometry_msgs

    /// A position, metres.
    #[derive(Copy)]
    struct Point {
        /// Metres along x.
        x: f64,
        /// Metres along y.
        y: f64,
        /// Metres along z.
        z: f64,
    }

    /// A vector. Its unit depends on the message that contains it.
    #[derive(Copy)]
    struct Vector3 {
        /// Along x.
        x: f64,
        /// Along y.
        y: f64,
        /// Along z.
        z: f64,
    }

    /// A rotation. The default is no rotation (`w` is 1), as in the interface.
    #[derive(Copy)]
    struct Quaternion {
        /// Imaginary part along x.
        x: f64,
        /// Imaginary part along y.
        y: f64,
        /// Imaginary part along z.
        z: f64,
        /// Real part.
        w: f64 = 1.0,
    }

    /// A position and a rotation.
    #[derive(Copy)]
    struct Pose {
        /// The position.
        position: Point,
        /// The orientation.
        orientation: Quaternion,
    }

    /// A pose with its frame and time.
    struct PoseStamped {
        /// Frame and time.
        header: Header,
        /// The pose in that frame.
        pose: Pose,
    }

    /// A velocity.
    #[derive(Copy)]
    struct Twist {
        /// Metres per second.
        linear: Vector3,
        /// Radians per second.
        angular: Vector3,
    }

    /// A velocity with its frame and time.
    struct TwistStamped {
        /// Frame and time.
        header: Header,
        /// The velocity in that frame.
        twist: Twist,
    }
}

impl Point {
    /// A point in the plane.
    pub const fn planar(x: f64, y: f64) -> Self {
        Self { x, y, z: 0.0 }
    }
}

impl Quaternion {
    /// No rotation.
    pub const IDENTITY: Self = Self {
        x: 0.0,
        y: 0.0,
        z: 0.0,
        w: 1.0,
    };

    /// The rotation by `yaw` radians around z.
    pub fn from_yaw(yaw: f64) -> Self {
        let (z, w) = (yaw / 2.0).sin_cos();
        Self { x: 0.0, y: 0.0, z, w }
    }

    /// The heading: rotation around z in roll-pitch-yaw form, radians in (−π, π]. The quaternion need not have unit
    /// length; one of length zero (an unset message field) has heading 0.
    pub fn yaw(self) -> f64 {
        let sine = 2.0 * (self.w * self.z + self.x * self.y);
        let cosine = self.w * self.w + self.x * self.x - self.y * self.y - self.z * self.z;
        normalize_angle(sine.atan2(cosine))
    }

    /// The inverse rotation, for a unit quaternion.
    pub fn conjugate(self) -> Self {
        Self {
            x: -self.x,
            y: -self.y,
            z: -self.z,
            w: self.w,
        }
    }

    /// The combined rotation: `other` first, then this one.
    pub fn multiply(self, other: Self) -> Self {
        let (a, b) = (self, other);
        Self {
            x: a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
            y: a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
            z: a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
            w: a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
        }
    }

    /// Rotates `point` around the origin, for a unit quaternion.
    pub fn rotate(self, point: Point) -> Point {
        let turned = self
            .multiply(Self {
                x: point.x,
                y: point.y,
                z: point.z,
                w: 0.0,
            })
            .multiply(self.conjugate());
        Point {
            x: turned.x,
            y: turned.y,
            z: turned.z,
        }
    }
}

impl Pose {
    /// A pose in the plane: metres, radians.
    pub fn planar(x: f64, y: f64, yaw: f64) -> Self {
        Self {
            position: Point::planar(x, y),
            orientation: Quaternion::from_yaw(yaw),
        }
    }

    /// The heading, radians in (−π, π].
    pub fn yaw(&self) -> f64 {
        self.orientation.yaw()
    }
}

impl PoseStamped {
    /// `pose` in `frame_id`, without a time.
    pub fn in_frame(frame_id: impl Into<FrameId>, pose: Pose) -> Self {
        Self {
            header: Header::in_frame(frame_id),
            pose,
        }
    }
}

impl Twist {
    /// A velocity in the plane: metres per second forward, radians per second to the left.
    pub fn planar(forward: f64, turn: f64) -> Self {
        Self {
            linear: Vector3 {
                x: forward,
                ..Vector3::default()
            },
            angular: Vector3 {
                z: turn,
                ..Vector3::default()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Point, PoseStamped, Quaternion};
    use std::f64::consts::{FRAC_PI_2, PI};

    #[test]
    fn yaw_round_trips() {
        for step in -31..=31 {
            let yaw = f64::from(step) / 10.0;
            assert!((Quaternion::from_yaw(yaw).yaw() - yaw).abs() < 1e-12, "{yaw}");
        }
        assert!((Quaternion::from_yaw(-PI).yaw() - PI).abs() < 1e-9);
    }

    #[test]
    fn yaw_of_what_is_not_a_rotation() {
        let zero = Quaternion {
            x: 0.0,
            y: 0.0,
            z: 0.0,
            w: 0.0,
        };
        assert_eq!(zero.yaw(), 0.0);
        let long = Quaternion {
            x: 0.0,
            y: 0.0,
            z: 2.0,
            w: 2.0,
        };
        assert!((long.yaw() - FRAC_PI_2).abs() < 1e-12);
    }

    #[test]
    fn rotation_turns_left() {
        let turned = Quaternion::from_yaw(FRAC_PI_2).rotate(Point::planar(1.0, 0.0));
        assert!(
            turned.x.abs() < 1e-12 && (turned.y - 1.0).abs() < 1e-12,
            "{turned:?}"
        );
        let half = Quaternion::from_yaw(0.4).multiply(Quaternion::from_yaw(0.5));
        assert!((half.yaw() - 0.9).abs() < 1e-12);
    }

    #[test]
    fn a_default_pose_is_not_rotated() {
        assert_eq!(PoseStamped::default().pose.orientation.w, 1.0);
    }
}
