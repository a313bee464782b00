//! The web page of a run: a small HTTP server, and the page that it serves.
//!
//! | part | content |
//! |---|---|
//! | [`Feed`] | the run for the page: its tree, and its changes so far |
//! | [`Token`], `request_guard` | who may ask |
//! | [`Site`], [`Robot`] | what the server answers, for which robot |
//! | [`LiveRun`], `node` | the run and the acts of a node |
//! | [`server`] | connections, and their bounds |
//! | `page` | the page: HTML, a style sheet and a script, without anything from other hosts |
//!
//! The page gets the run by Server-Sent Events: first `run` (the tree, its files, their problems), then `changes` (lists of
//! what happened), `node` (the state of the node) and `problems` (those of the files of a node, when they are checked). A
//! client that reads too slowly gets the state again instead of the changes that it missed. Nothing of this is seen by the
//! tick thread.
#![forbid(unsafe_code)]

mod body;
mod change;
mod change_parser;
#[cfg(any(feature = "ros", test))]
mod counting;
mod feed;
mod live;
#[cfg(any(feature = "ros", test))]
mod metrics;
#[cfg(feature = "ros")]
mod node;
mod node_counters;
mod node_report;
#[cfg(any(feature = "ros", test))]
mod page_owner;
#[cfg(any(feature = "ros", test))]
mod pause_watch;
mod request_guard;
mod robot;
mod run_head;
pub mod server;
mod site;
#[cfg(test)]
mod tests;
mod token;
mod translator;
mod view;
mod visitor;

pub(super) use change::{Change, ChangeKind};
pub(super) use change_parser::from_json;
pub(super) use feed::Cursor;
pub use feed::Feed;
pub use live::LiveRun;
#[cfg(any(feature = "ros", test))]
pub(super) use live::shown;
#[cfg(feature = "ros")]
pub use node::Pages;
pub(super) use node_report::NodeReport;
pub use robot::{Robot, Robots};
pub(super) use run_head::{Mode, RunHead};
pub(super) use site::UP_TO_DATE;
pub use site::{Act, Controls, Site};
pub use token::Token;
pub use view::view_recording;
pub use visitor::Visitor;
