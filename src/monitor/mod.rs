//! Displays of a tree and its run: drawings, node reference, terminal views, tracks, diagnostics, web page.
#![forbid(unsafe_code)]

pub mod diagnostics;
pub mod drawing;
pub mod groot2;
pub mod live;
pub mod models;
pub mod pause;
#[cfg(feature = "ros")]
mod running;
#[cfg(feature = "ros")]
mod start;
pub mod top;
pub mod track;
pub mod walls;
pub mod web;

#[cfg(feature = "ros")]
pub use start::start;
#[cfg(feature = "ros")]
pub use web::Pages;
