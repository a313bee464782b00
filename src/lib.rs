//! navtree executes behavior trees for robot navigation.
//!
//! It loads BehaviorTree.CPP and Nav2 XML, ticks at a fixed rate, and wraps ROS actions and services as asynchronous
//! leaves that can be halted at any time. The main concepts:
//!
//! - `TreeDef`: the checked and compiled content of a tree file; immutable and shared.
//! - `Tree`: one robot's run of a definition: node states and blackboard.
//! - *Leaf*: a condition or an action (`Behavior`). An asynchronous leaf polls an operation outside the tree.
//! - *Goal*: one request to an action or service, a pure state machine ([`goal`]). The `GoalTracker` tracks every goal
//!   to its end, also after the halt of its leaf.
//!
//! The rooms (modules), lowest first. A room uses only those above it in this list:
//!
//! | room | content |

pub mod bt;
pub mod cli;
mod fault;
pub mod goal;
#[cfg(test)]
mod golden_file;
#[cfg(test)]
mod guarantees;
pub mod job;
pub mod monitor;
pub mod msg;
pub mod nav;
pub mod navigator;
#[cfg(feature = "ros")]
pub mod ros;
pub mod sim;
mod sync;
pub mod xml;

#[doc(hidden)]
pub use serde_json;
