//! What shows a tree and its run: drawings, terminal view, logs, recordings, diagnostics.
#![forbid(unsafe_code)]

pub mod diagnostics;
pub mod drawing;
pub mod live;
pub mod models;
pub mod track;
