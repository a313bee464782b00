//! A robot on a plane with the servers that trees call.

pub mod map;
pub mod pgm;
pub mod plane;
pub mod planner;
pub mod random;
pub mod space;
