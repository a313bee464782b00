//! Tests of room `ros` against rclpy. Each test has a peer in `peers/`, and its own process and ROS domain.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a panic fails the test"
)]

mod actions;
mod harness;
mod lifecycle;
mod parameters;
mod services;
mod topics;
