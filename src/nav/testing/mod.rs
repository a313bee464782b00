//! A virtual world with a virtual clock: scripted servers behind the real GoalTracker, topics and transforms.
//!
//! ```
//! use navtree::bt::NodeStatus;
//! use navtree::msg::action::{Spin, SpinGoal};
//! use navtree::nav::testing::{Bench, Plan};
//!
//! let mut bench = Bench::new(r#"<Spin spin_dist="3.14"/>"#);
//! bench.action::<Spin>("spin", |_goal| Plan::success().after(500));
//! assert_eq!(bench.run(100), NodeStatus::Success);
//! assert_eq!(bench.goals::<Spin>("spin")[0].target_yaw, 3.14);
//! ```

mod bench;
mod network;
mod plan;

pub use bench::Bench;
pub use plan::Plan;

use network::Network;
