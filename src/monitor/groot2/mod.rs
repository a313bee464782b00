//! The server side of Groot2's protocol, as of BehaviorTree.CPP's `Groot2Publisher`.
//!
//! | part | content |
//! |---|---|
//! | `zmtp` | ZeroMQ's wire protocol, as far as the two sockets need it |
//! | `server` | connections, and their bounds |
//! | `request` | the headers of requests and replies |
//! | `publisher` | the answers: the tree, its statuses, its blackboard; hooks and transitions |
//! | `node` | the connection to the tick thread: the event stream and the acts of the web page |
//!
//! It has its own ZMTP because crate `zeromq` 0.7 reserves memory for the length that a frame announces, and bounds neither
//! frames nor connections: one malformed frame would end the process.
#![forbid(unsafe_code)]

mod board;
mod hooks;
#[cfg(feature = "ros")]
mod node;
mod packed;
mod publisher;
mod request;
mod server;
#[cfg(test)]
mod tests;
mod transitions;
mod tree_xml;
mod zmtp;

#[cfg(feature = "ros")]
pub use node::serve_groot;
pub use server::{Endpoint, Listeners};
