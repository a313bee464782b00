//! A robot on a plane with the servers that trees call.
//!
//! Users test their trees on it, so it behaves like a robot: it needs time to brake, drifts in its odometry, does
//! not pass walls, sees only what is near, and its servers speak Nav2's types with Nav2's error codes. And it fails
//! on demand: each server has a fault plan ([`faults`]).
//!
//! Everything but `node` is pure: a [`world::World`] is stepped, a [`server::Server`] is handed goals and says what
//! to tell its clients. Time is simulated, noise has a seed, so the same inputs give the same run.
#![forbid(unsafe_code)]

pub mod battery;
pub mod behaviors;
pub mod controller;
pub mod costmap;
pub mod faults;
pub mod map;
#[cfg(feature = "ros")]
pub mod node;
pub mod pace;
pub mod path_check;
pub mod pgm;
pub mod plan_path;
pub mod plan_route;
pub mod plane;
pub mod planner;
pub mod random;
pub mod route_graph;
pub mod server;
pub mod service;
pub mod setting;
pub mod settings;
pub mod simulation;
pub mod smoother;
pub mod space;
#[cfg(test)]
mod testing;
pub mod world;
