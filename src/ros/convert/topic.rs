//! The messages of topics.

use std::sync::Arc;

use r2r::{geometry_msgs, nav_msgs, rosgraph_msgs, std_msgs, tf2_msgs};

use super::Convert;
use super::message::with_shared_frame;
use crate::msg::{
    self, DiagnosticLevel, Header, Odometry, Pose, PoseStamped, Stamp, StampedGoals, TransformStamped, Twist,
    topics,
};
use crate::ros::checked::Texts;

/// A message type that topics support. Structs of room `msg` implement it with `Self` as the payload. Markers of this
/// room implement it with another payload: `String` and `bool` for those of `std_msgs`, or one Rust type for several
/// ROS types.
pub trait TopicType: Sized + Send + Sync + 'static {
    /// The ROS type: `nav_msgs/msg/Path`.
    const TYPE: &'static str;
    /// The type in r2r.
    type Wire: Texts + Send + 'static;
    /// The type of the payload; usually `Self`.
    type Payload: Send + Sync + 'static;
    /// Copies the payload into its counterpart.
    fn to_wire(payload: &Self::Payload) -> Self::Wire;
    /// Converts the counterpart back.
    fn from_wire(wire: Self::Wire) -> Self::Payload;
}

macro_rules! topic_types {
    ($($message:ident)*) => {
        $(impl TopicType for msg::$message {
            const TYPE: &'static str = Self::ROS_TYPE;
            type Wire = <Self as Convert>::Wire;
            type Payload = Self;
            fn to_wire(payload: &Self) -> Self::Wire {
                Convert::to_wire(payload)
            }
            fn from_wire(wire: Self::Wire) -> Self {
                Convert::from_wire(wire)
            }
        })*
    };
}
topics!(topic_types);

impl Convert for DiagnosticLevel {
    type Wire = u8;

    fn to_wire(&self) -> u8 {
        *self as u8
    }

    fn from_wire(wire: u8) -> Self {
        Self::from_wire(wire)
    }
}

impl Convert for Odometry {
    type Wire = nav_msgs::msg::Odometry;

    fn to_wire(&self) -> Self::Wire {
        Self::Wire {
            header: self.header.to_wire(),
            child_frame_id: self.child_frame_id.to_wire(),
            pose: geometry_msgs::msg::PoseWithCovariance {
                pose: self.pose.to_wire(),
                // The length is fixed: r2r panics on any other.
                covariance: vec![0.0; 36],
            },
            twist: geometry_msgs::msg::TwistWithCovariance {
                twist: self.twist.to_wire(),
                covariance: vec![0.0; 36],
            },
        }
    }

    fn from_wire(wire: Self::Wire) -> Self {
        Self {
            header: Header::from_wire(wire.header),
            child_frame_id: Convert::from_wire(wire.child_frame_id),
            pose: Pose::from_wire(wire.pose.pose),
            twist: <Twist as Convert>::from_wire(wire.twist.twist),
        }
    }

    fn has_zero_byte(&self) -> bool {
        self.header.has_zero_byte() || self.child_frame_id.has_zero_byte()
    }
}

/// Defines markers for ROS types whose payload is not their own struct.
macro_rules! markers {
    ($($(#[$doc:meta])* $marker:ident = $name:literal $wire:ty as $payload:ty,
        |$out:ident| $to:expr, |$in:ident| $from:expr;)*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $marker;

        impl TopicType for $marker {
            const TYPE: &'static str = $name;
            type Wire = $wire;
            type Payload = $payload;
            fn to_wire($out: &$payload) -> $wire {
                $to
            }
            fn from_wire($in: $wire) -> $payload {
                $from
            }
        })*
    };
}

markers! {
    /// `std_msgs/msg/String`; the payload is a `String`.
    Text = "std_msgs/msg/String" std_msgs::msg::String as String,
        |text| std_msgs::msg::String { data: text.to_wire() },
        |wire| wire.data;
    /// `std_msgs/msg/Bool`; the payload is a `bool`.
    Flag = "std_msgs/msg/Bool" std_msgs::msg::Bool as bool,
        |flag| std_msgs::msg::Bool { data: *flag },
        |wire| wire.data;
    /// `nav_msgs/msg/Goals`; the payload is a [`StampedGoals`].
    Goals = "nav_msgs/msg/Goals" nav_msgs::msg::Goals as StampedGoals,
        |list| nav_msgs::msg::Goals {
            header: list.header.to_wire(),
            goals: list.goals.0.to_wire(),
        },
        |wire| {
            let header = Header::from_wire(wire.header);
            let goals = with_shared_frame(wire.goals, &header.frame_id);
            StampedGoals { goals: Arc::new(msg::Goals(goals)), header }
        };
    /// `geometry_msgs/msg/PoseArray`; the payload is a `Vec<PoseStamped>` with one frame and stamp.
    PoseArray = "geometry_msgs/msg/PoseArray" geometry_msgs::msg::PoseArray as Vec<PoseStamped>,
        |poses| geometry_msgs::msg::PoseArray {
            header: common_header(poses).to_wire(),
            poses: poses.iter().map(|pose| pose.pose.to_wire()).collect(),
        },
        |wire| {
            let header = Header::from_wire(wire.header);
            wire.poses
                .into_iter()
                .map(|pose| PoseStamped { header: header.clone(), pose: Convert::from_wire(pose) })
                .collect()
        };
    /// `tf2_msgs/msg/TFMessage`; the payload is a `Vec<TransformStamped>`.
    Transforms = "tf2_msgs/msg/TFMessage" tf2_msgs::msg::TFMessage as Vec<TransformStamped>,
        |transforms| tf2_msgs::msg::TFMessage { transforms: transforms.to_wire() },
        |wire| Convert::from_wire(wire.transforms);
    /// `rosgraph_msgs/msg/Clock`; the payload is a `Stamp`.
    SimulatedTime = "rosgraph_msgs/msg/Clock" rosgraph_msgs::msg::Clock as Stamp,
        |stamp| rosgraph_msgs::msg::Clock { clock: stamp.to_wire() },
        |wire| Stamp::from_wire(wire.clock);
}

fn common_header(poses: &[PoseStamped]) -> Header {
    poses.first().map(|pose| pose.header.clone()).unwrap_or_default()
}
