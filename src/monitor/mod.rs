//! What shows a tree and its run: drawings, terminal view, logs, recordings.
#![forbid(unsafe_code)]

pub mod drawing;
pub mod live;
pub mod models;
pub mod track;
