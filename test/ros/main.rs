//! Room `ros` against rclpy, a client library nobody here wrote: each test has a peer in `peers/`, and a process and a
//! ROS domain of its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what fails here fails a test"
)]

mod actions;
mod harness;
mod lifecycle;
mod parameters;
mod services;
mod topics;
