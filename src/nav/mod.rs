//! Nav2's node library: one file a node, one skeleton for all. No r2r.
//!
//! Nodes reach the world through the [`World`] resource of their tree; behind it is a [`Link`], which room `ros`
//! implements over the middleware and tests implement on a virtual clock. [`registry`] has every node that a Nav2
//! tree can name, beside those of BehaviorTree.CPP.
//!
//! | folder | what |
//! |---|---|
//! | [`action`] | clients of actions, by [`ActionLeaf`] |
//! | [`service`] | clients of services, by [`ServiceLeaf`] |
//! | [`cancel`] | nodes that cancel an action server's goals, by [`CancelLeaf`] |
//! | [`condition`], [`control`], [`decorator`] | what the names say |
//! | [`sync`] | actions that need no server |
#![forbid(unsafe_code)]

pub mod action;
mod action_leaf;
pub mod cancel;
mod cancel_leaf;
pub mod condition;
pub mod control;
pub mod decorator;
mod endpoint;
mod frames;
mod goal_watch;
mod link;
mod odometry;
mod selector;
pub mod service;
mod service_leaf;
mod settings;
pub mod sync;
mod topic;
mod tracking;
pub mod values;
mod world;

pub use action_leaf::{ActionLeaf, ActionNode, Ending, FeedbackOf, GoalOf, ResultOf};
pub use cancel_leaf::{CancelLeaf, CancelNode};
pub use link::{EndpointKind, Event, Form, Link, LinkError, Payload, TopicId, TopicSpec, TransformError};
pub use odometry::{OdometrySample, OdometrySmoother};
pub use selector::{Selector, SelectorNode};
pub use service_leaf::{RequestOf, ResponseOf, ServiceLeaf, ServiceNode};
pub use settings::Settings;
pub use world::{Note, Progress, Sample, World};

use crate::bt::{Registry, RegistryError};

/// Adds every node of Nav2 to a registry.
///
/// # Errors
/// [`RegistryError`] where one of the IDs is taken.
pub fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    action::register(registry)?;
    cancel::register(registry)?;
    condition::register(registry)?;
    control::register(registry)?;
    decorator::register(registry)?;
    service::register(registry)?;
    sync::register(registry)
}

/// BehaviorTree.CPP's nodes, navtree's own and Nav2's.
pub fn registry() -> Registry {
    let mut registry = Registry::builtin();
    let outcome = register(&mut registry);
    debug_assert_eq!(outcome, Ok(()), "the IDs are distinct");
    registry
}
