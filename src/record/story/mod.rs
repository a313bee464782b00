//! Tells a recorded run as a person would: what was tried, how long it took, what failed and why, what recovered.

mod activity;
mod conclusion;
mod teller;

pub use activity::{Activity, Ending, activities, ending};
pub use teller::{Story, StoryLine, tell};
