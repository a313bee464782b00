//! Nav2's node library: one file a node, one skeleton for all. No r2r.
//!
//! Nodes reach the world through the [`World`] resource of their tree; behind it is a [`Link`], which room `ros`
//! implements over the middleware and tests implement on a virtual clock.
#![forbid(unsafe_code)]

mod link;
mod settings;
pub mod values;
mod world;

pub use link::{EndpointKind, Event, Form, Link, LinkError, Payload, TopicId, TopicSpec, TransformError};
pub use settings::Settings;
pub use world::{Progress, Sample, World};

/// All node types: BehaviorTree.CPP's, navtree's and Nav2's.
pub fn registry() -> crate::bt::Registry {
    crate::bt::Registry::builtin()
}
