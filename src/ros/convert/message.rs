//! The structs of messages.

use r2r::{geometry_msgs, nav_msgs};

use super::{Convert, convert};
use crate::msg::{self, FrameId, Header, Path, Pose, PoseStamped, message_files};
use crate::ros::checked::message_texts;

/// Called by the `fields!` of a file with messages.
macro_rules! convert_messages {
    ($package:ident; $($name:ident $fields:tt plus $omitted:tt)+) => {
        $(
            message_texts!($package $name);
            convert!(msg::$name = r2r::$package::msg::$name $fields plus $omitted);
        )+
    };
}

macro_rules! convert_all {
    ($($file:ident)*) => { $(msg::$file::fields!();)* };
}
message_files!(convert_all);

impl Convert for Path {
    type Wire = nav_msgs::msg::Path;

    fn to_wire(&self) -> Self::Wire {
        Self::Wire {
            header: self.header.to_wire(),
            poses: self.poses.to_wire(),
        }
    }

    /// The poses of a path contain the same frame name a thousand times; here they share it.
    fn from_wire(wire: Self::Wire) -> Self {
        let header = Header::from_wire(wire.header);
        Self {
            poses: with_shared_frame(wire.poses, &header.frame_id),
            header,
        }
    }

    fn has_zero_byte(&self) -> bool {
        self.header.has_zero_byte() || self.poses.has_zero_byte()
    }
}

/// Converts poses; consecutive poses with the same frame name share its text.
pub(super) fn with_shared_frame(
    wire: Vec<geometry_msgs::msg::PoseStamped>,
    first: &FrameId,
) -> Vec<PoseStamped> {
    let mut frame = FrameId::clone(first);
    wire.into_iter()
        .map(|pose| {
            if *frame != *pose.header.frame_id {
                frame = FrameId::from(pose.header.frame_id.as_str());
            }
            PoseStamped {
                header: Header::new(Convert::from_wire(pose.header.stamp), FrameId::clone(&frame)),
                pose: Pose::from_wire(pose.pose),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_path_comes_back_with_one_frame_name() {
        let poses = [(0.0, 0.0), (1.0, 2.0), (3.0, 4.0)];
        let path = Path::through(
            Header::in_frame("map"),
            poses.map(|(x, y)| Pose::planar(x, y, 0.5)),
        );
        let back = Path::from_wire(path.to_wire());
        assert_eq!(back, path);
        assert!(
            back.poses
                .iter()
                .all(|pose| Arc::ptr_eq(&pose.header.frame_id, &back.header.frame_id))
        );
    }

    #[test]
    fn a_path_may_name_other_frames() {
        let mut path = Path::through(Header::in_frame("map"), [Pose::default(), Pose::default()]);
        path.poses[1].header.frame_id = "odom".into();
        assert_eq!(Path::from_wire(path.to_wire()), path);
    }
}
