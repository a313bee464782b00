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
//! The rooms (modules). A room uses only rooms that come earlier in this list:
//!
//! | room | content |
//! |---|---|
//! | [`bt`] | the engine: statuses, nodes, ports, blackboard, scripts, tick, halt; no ROS, no async, no I/O |
//! | [`job`] | leaves made of an `async fn`, on any executor |
//! | [`xml`] | source text to spanned document to `TreeDef`; diagnostics |
//! | [`msg`] | the messages of trees, as plain structs |
//! | [`goal`] | the state machines of goals and calls, and the GoalTracker |
//! | [`nav`] | Nav2's node library, and its traits for actions, services, topics, transforms |
//! | [`record`] | the event stream of a run, the flight recorder, and replay |
//! | `ros` | the only room that uses rcl and r2r (feature `ros`) |
//! | [`sim`] | a simulated robot on a plane with the servers that trees call |
//! | [`navigator`] | the node: lifecycle, navigate actions, preemption, swap, tick loop |
//! | [`monitor`] | drawings, diagnostics and live views of a run |
//! | [`lsp`] | the language server |
//! | [`cli`] | one file per command |

pub mod bt;
pub mod cli;
mod fault;
pub mod goal;
#[cfg(test)]
mod golden_file;
#[cfg(test)]
mod guarantees;
pub mod job;
pub mod lsp;
pub mod monitor;
pub mod msg;
pub mod nav;
pub mod navigator;
pub mod record;
mod robot_name;
#[cfg(test)]
mod rooms_tests;
#[cfg(feature = "ros")]
pub mod ros;
mod running_wait;
#[cfg(test)]
mod shared_trees;
pub mod sim;
mod sync;
mod worker;
pub mod xml;

#[doc(hidden)]
pub use serde_json;
