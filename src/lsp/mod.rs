//! The language server: what `navtree check` knows, while a tree is written.
//!
//! One thread answers one message after the other (`server`). Problems are reported as soon as no message waits, so
//! that fast typing never lags behind. One file per request; the others are:
//!
//! - `workspace`: the open files, with their projects and the files that belong to them;
//! - `file`: what one file says, also if it is half-written (`scan`, `cursor`);
//! - `keys`: which places of several files name the same key or tree;
//! - `position`, `uri`: the protocol's places.

#![allow(
    clippy::mutable_key_type,
    reason = "the maps of the protocol have URIs as keys, and no code changes one"
)]

mod code_action;
mod completion;
mod cursor;
mod definition;
mod diagnostics;
mod file;
mod folding;
mod format;
mod hover;
mod inlay_hint;
mod keys;
mod outline;
mod page;
mod position;
mod references;
mod rename;
mod requests;
mod scan;
mod server;
#[cfg(test)]
mod tests;
mod uri;
mod workspace;

pub use server::run;
pub use workspace::{Project, Projects};
