//! Runs the inputs of a recording through a tree again: the recorded tree, whose trace must be the same to the letter
//! (guarantee G9), or another one, up to where it asks something that was not recorded.
//!
//! A recording is a list of steps, each a tick or a halt of the whole tree ([`Step`]). A step has the time, what arrived,
//! the answers to the questions of the tree, and the trace: what the tree did. The replay gives the first three to a tree
//! and compares the last.

mod link;
mod run;
mod script;
mod step;
mod visits;

pub use run::{Difference, Replay, ReplayError, Replayed, load_tree, prepare_registry, stored_files};
pub use step::{Step, StepKind, steps};
pub use visits::{Visit, Visits};
