//! A robot on a plane with the servers that trees call.
//!
//! Users test their trees with it, so it behaves like a robot: it needs time to brake, has odometry drift, does not
//! pass through walls, sees only near obstacles, and its servers use Nav2's types and error codes. It also fails on
//! demand: each server has a fault plan ([`faults`]).
//!
//! All modules except `node` are pure: a caller steps a [`world::World`], and passes goals to a [`server::Server`],
//! which returns the events for its clients. Time is simulated and noise has a seed, so the same inputs give the same
//! run.
#![forbid(unsafe_code)]

pub mod battery;
pub mod behaviors;
pub mod controller;
pub mod costmap;
pub mod faults;
pub mod fleet;
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
