//! The messages that trees carry, as plain structs.
//!
//! They mirror the ROS 2 interfaces of the Jazzy release: struct and field names, defaults and constants are
//! those of the `.msg`, `.srv` and `.action` files, so that recordings and JSON read like `ros2 topic echo`.
//! What differs, and why:
//!
//! - Frame names are [`FrameId`] (shared text) because every pose of a path repeats one.
//! - Paths and routes inside goals and results are `Arc`: a goal that is re-sent every tick copies a pointer.
//! - Durations are [`std::time::Duration`]; [`duration`] says what becomes of negative ones.
//! - Fields that no tree node and no server of this project reads are left out (covariances, the
//!   placeholder member of empty messages); the doc of each struct names them.
//!
//! The `ros` room converts to and from the wire once, at its boundary. Nothing here knows r2r.

pub mod action;
pub mod diagnostic;
pub mod duration;
pub mod geometry;
pub mod goals;
pub mod header;
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

/// What anything that crosses a topic, an action or a service can do: be copied, compared, shown and moved
/// between threads. Implemented for every type that qualifies.
pub trait Message: Any + Send + Sync + Debug + Clone + PartialEq + Default + 'static {}

impl<T> Message for T where T: Any + Send + Sync + Debug + Clone + PartialEq + Default + 'static {}
