//! `navtree top`: a run in the terminal.
//!
//! | part | content |
//! |---|---|
//! | [`Address`], `client` | the connection to the monitor port of a node; `event_parser`: what comes from there |
//! | `run`, `state` | the run: its changes, and what is known at one moment |
//! | `screen` | what the user has chosen: the selected node, the search, the time |
//! | `panes` | the lines of each part of the screen, one file per part |
//! | `terminal`, [`once()`] | the screen, and the same as plain text |
//!
//! It is a client of the feed of the web page. A recording passes through the same feed. A terminal that draws too slowly
//! gets the current state instead of the changes that it missed, as a browser does.
#![forbid(unsafe_code)]

mod address;
mod client;
mod event_parser;
mod goal_table;
mod node_state;
mod once;
mod panes;
mod robot;
mod run;
mod run_log;
mod screen;
mod screen_keys;
mod source;
mod state;
mod terminal;
#[cfg(test)]
mod tests;
mod tick_times;
mod words;

pub use address::Address;
pub use once::once;
pub use source::Source;
pub use terminal::show;
