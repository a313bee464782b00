//! The messages of trees, as plain structs.
//!
//! They mirror the ROS 2 interfaces of the Jazzy release: names of structs and fields, defaults and constants are those
//! of the `.msg`, `.srv` and `.action` files, so recordings and JSON look like the output of `ros2 topic echo`. The
//! differences:
//!
//! - Frame names are [`FrameId`] (shared text), because every pose of a path repeats its frame.
//! - Paths and routes in goals and results are `Arc`: a goal that is sent again in every tick copies a pointer.
//! - Durations are [`std::time::Duration`]; [`duration`] describes the handling of negative ones.
//! - Fields that no tree node and no server of this project reads are omitted (covariances, the placeholder member of
//!   empty messages); the documentation of each struct lists them.
//!
//! The `ros` room converts to and from the wire once, at its boundary. This room does not use r2r.

mod declare;

pub mod action;
pub mod diagnostic;
pub mod duration;
pub mod geometry;
pub mod goals;
pub mod header;
pub mod map;
pub mod odometry;
pub mod path;
pub mod planar;
pub mod power;
pub mod route;
pub mod service;
pub mod tracking;
pub mod transform;
pub mod tree_log;
pub mod waypoint;

use std::any::Any;
use std::fmt::Debug;

pub use action::Action;
pub use diagnostic::{DiagnosticArray, DiagnosticLevel, DiagnosticStatus, KeyValue};
pub use geometry::{Point, Pose, PoseStamped, Quaternion, Twist, TwistStamped, Vector3};
pub use goals::{Goals, StampedGoals};
pub use header::{FrameId, Header, Stamp};
pub use map::{MapMetaData, OccupancyGrid};
pub use odometry::Odometry;
pub use path::Path;
pub use planar::{angle_between, distance_xy, normalize_angle};
pub use power::BatteryState;
pub use route::{Route, RouteEdge, RouteNode};
pub use service::Service;
pub use tracking::TrackingFeedback;
pub use transform::{Transform, TransformStamped};
pub use tree_log::{BehaviorTreeLog, BehaviorTreeStatusChange};
pub use waypoint::{WaypointStatus, WaypointStatuses};

/// The files that declare messages with `messages!`.
#[cfg(feature = "ros")]
macro_rules! message_files {
    ($callback:ident) => {
        $callback! { diagnostic geometry header map power route transform tree_log }
    };
}
#[cfg(feature = "ros")]
pub(crate) use message_files;

/// The messages of this room that topics support.
macro_rules! topics {
    ($callback:ident) => {
        $callback! {
            BatteryState BehaviorTreeLog DiagnosticArray OccupancyGrid Odometry Path PoseStamped Twist TwistStamped
        }
    };
}
pub(crate) use topics;

/// A message of a topic, action or service: it can be copied, compared, printed and moved between threads. Implemented
/// for every type with these traits.
pub trait Message: Any + Send + Sync + Debug + Clone + PartialEq + Default + 'static {}

impl<T> Message for T where T: Any + Send + Sync + Debug + Clone + PartialEq + Default + 'static {}
