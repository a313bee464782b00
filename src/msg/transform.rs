//! `geometry_msgs/Transform`: the transform between two frames.

use super::declare::messages;
use super::geometry::{Point, Pose, Quaternion, Vector3};
use super::header::{FrameId, Header};

messages! {
    geometry_msgs

    /// Converts coordinates of the child frame to the parent frame: rotates, then translates.
    #[derive(Copy)]
    struct Transform {
        /// Position of the child's origin in the parent, metres.
        translation: Vector3,
        /// Orientation of the child in the parent; unit length.
        rotation: Quaternion,
    }

    /// A transform with its frames and time. `tf2_msgs/TFMessage` is a list of these.
    struct TransformStamped {
        /// Time and parent frame.
        header: Header,
        /// The child frame.
        child_frame_id: FrameId,
        /// The pose of the child in the parent.
        transform: Transform,
    }
}

impl Transform {
    /// No translation and no rotation.
    pub const IDENTITY: Self = Self {
        translation: Vector3 {
            x: 0.0,
            y: 0.0,
            z: 0.0,
        },
        rotation: Quaternion::IDENTITY,
    };

    /// The transform of a child frame at `pose`.
    pub fn from_pose(pose: &Pose) -> Self {
        let Point { x, y, z } = pose.position;
        Self {
            translation: Vector3 { x, y, z },
            rotation: pose.orientation,
        }
    }

    /// The pose of the child frame in the parent.
    pub fn to_pose(&self) -> Pose {
        Pose {
            position: self.origin(),
            orientation: self.rotation,
        }
    }

    /// Converts `point` from the child frame to the parent.
    pub fn apply_to_point(&self, point: Point) -> Point {
        let turned = self.rotation.rotate(point);
        Point {
            x: turned.x + self.translation.x,
            y: turned.y + self.translation.y,
            z: turned.z + self.translation.z,
        }
    }

    /// Converts `pose` from the child frame to the parent.
    pub fn apply(&self, pose: &Pose) -> Pose {
        Pose {
            position: self.apply_to_point(pose.position),
            orientation: self.rotation.multiply(pose.orientation),
        }
    }

    /// The transform from this one's parent to `inner`'s child: `map→odom` then `odom→base_link`.
    pub fn then(&self, inner: &Self) -> Self {
        Self::from_pose(&self.apply(&inner.to_pose()))
    }

    /// The transform from parent to child.
    pub fn inverse(&self) -> Self {
        let rotation = self.rotation.conjugate();
        let origin = rotation.rotate(self.origin());
        Self {
            translation: Vector3 {
                x: -origin.x,
                y: -origin.y,
                z: -origin.z,
            },
            rotation,
        }
    }

    fn origin(&self) -> Point {
        let Vector3 { x, y, z } = self.translation;
        Point { x, y, z }
    }
}

#[cfg(test)]
mod tests {
    use super::Transform;
    use crate::msg::Pose;
    use std::f64::consts::FRAC_PI_2;

    fn close(a: &Pose, b: &Pose) -> bool {
        crate::msg::distance_xy(&a.position, &b.position) < 1e-9
            && crate::msg::angle_between(a.yaw(), b.yaw()).abs() < 1e-9
    }

    #[test]
    fn inverse_undoes() {
        let transform = Transform::from_pose(&Pose::planar(3.0, -2.0, 0.7));
        let pose = Pose::planar(1.0, 5.0, -0.3);
        assert!(close(&transform.inverse().apply(&transform.apply(&pose)), &pose));
    }

    #[test]
    fn chains_from_the_outside_in() {
        let outer = Transform::from_pose(&Pose::planar(1.0, 0.0, FRAC_PI_2));
        let inner = Transform::from_pose(&Pose::planar(2.0, 0.0, 0.0));
        assert!(close(
            &outer.then(&inner).to_pose(),
            &Pose::planar(1.0, 2.0, FRAC_PI_2)
        ));
    }
}
