//! navtree executes behavior trees for robot navigation.
//!
//! It loads BehaviorTree.CPP and Nav2 XML, ticks at a fixed rate, and wraps ROS actions and services as
//! asynchronous leaves that can be halted at any moment. Four nouns carry the design:
//!
//! - `TreeDef`: what a file says, checked and compiled; immutable and shared.
//! - `Tree`: one robot's run of a definition: node states and blackboard.
//! - *Leaf*: a condition or an action (`Behavior`); an asynchronous one polls something started elsewhere.
//! - *Goal*: one request on an action or service, a pure state machine ([`goal`]); the
//!   `GoalTracker` sees every goal to its end, also after its leaf was halted.
//!
//! The rooms, lowest first; a room uses only those above it in this list:
//!
//! | room | what it holds |
//! |---|---|
//! | [`bt`] | the engine: statuses, nodes, ports, blackboard, scripts, tick, halt; no ROS, no async, no I/O |
//! | [`job`] | leaves made of an `async fn`, on any executor |
//! | [`xml`] | source text to spanned document to `TreeDef`; diagnostics |
//! | [`msg`] | the messages that trees carry, as plain structs |
//! | [`goal`] | the life of a goal: pure state machines and the GoalTracker |
//! | [`nav`] | Nav2's node library, and the traits by which it asks for actions, services, topics, transforms |
//! | `ros` | the only room that knows r2r (feature `ros`) |
//! | [`sim`] | a robot on a plane with the servers that trees call |
//! | [`navigator`] | the node: lifecycle, navigate actions, preemption, swap, tick loop |
//! | [`monitor`] | what shows a run |
//! | [`cli`] | one file a command |

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
