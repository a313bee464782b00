//! A list of goal poses: `nav_msgs/Goals` of Nav2's main branch, a plain list on Jazzy.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::geometry::PoseStamped;
use super::header::{Header, Stamp};

/// Poses in driving order. Shared as `Arc<Goals>`.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Goals(pub Vec<PoseStamped>);

impl Goals {
    /// The latest stamp of a pose; zero if no pose has one.
    pub fn stamp(&self) -> Stamp {
        self.0
            .iter()
            .map(|goal| goal.header.stamp)
            .max()
            .unwrap_or_default()
    }
}

/// `nav_msgs/Goals` on a topic. The blackboard contains only the goals.
#[derive(Clone, Debug, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct StampedGoals {
    /// Frame and time of the list. Poses may have their own.
    pub header: Header,
    /// The goals.
    pub goals: Arc<Goals>,
}

impl StampedGoals {
    /// The time of the list: the stamp of its header, or the latest stamp of its poses if that is zero.
    pub fn stamp(&self) -> Stamp {
        if self.header.stamp.is_zero() {
            self.goals.stamp()
        } else {
            self.header.stamp
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stamp_of_a_list_is_that_of_its_header_or_newest_pose() {
        let stamp = |sec| Stamp { sec, nanosec: 0 };
        let pose = |sec| PoseStamped {
            header: Header::new(stamp(sec), "map"),
            ..PoseStamped::default()
        };
        let list = |sec| StampedGoals {
            header: Header::new(stamp(sec), "map"),
            goals: Arc::new(Goals(vec![pose(2), pose(7), pose(0)])),
        };
        assert_eq!((list(0).stamp(), list(3).stamp()), (stamp(7), stamp(3)));
        assert!(StampedGoals::default().stamp().is_zero());
    }
}
