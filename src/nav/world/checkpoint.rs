//! The state of a world between two navigations, to continue in another process.

use super::{Sample, World};
use crate::bt::Time;
use crate::nav::link::{TopicId, TopicSpec};
use crate::nav::odometry::{OdometrySample, OdometrySmoother};

/// What a world keeps from before a navigation: the newest messages, and the odometry of the last moments. A replay of
/// the navigation starts from it (guarantee G9).
#[derive(Clone, Debug, Default)]
pub struct WorldCheckpoint {
    /// The number of the next request.
    pub next_ticket: u64,
    /// Number of messages on all topics.
    pub messages: u64,
    /// The newest message of each topic, in the order of their numbers.
    pub topics: Vec<(TopicId, Sample)>,
    /// Those of these topics that no tree uses: the one that was closed first is the first.
    pub closed: Vec<(TopicId, TopicSpec)>,
    /// The odometry, oldest first.
    pub odometry: Vec<OdometrySample>,
    /// The tick that received the newest odometry.
    pub odometry_arrived: Time,
}

impl World {
    /// The state of a world that no navigation uses.
    pub fn checkpoint(&self) -> WorldCheckpoint {
        WorldCheckpoint {
            next_ticket: self.next_ticket,
            messages: self.messages,
            topics: self.topics.samples(),
            closed: self.topics.closed(),
            odometry: self
                .odometry()
                .into_iter()
                .flat_map(OdometrySmoother::samples)
                .copied()
                .collect(),
            odometry_arrived: self.odometry_arrived,
        }
    }

    /// Puts a new world into the state of a checkpoint. Call it after the tree has opened its topics.
    pub fn restore(&mut self, checkpoint: &WorldCheckpoint) {
        self.next_ticket = checkpoint.next_ticket;
        self.messages = checkpoint.messages;
        self.topics.restore(&checkpoint.topics, &checkpoint.closed);
        self.odometry_arrived = checkpoint.odometry_arrived;
        if let Some((_, smoother)) = &mut self.odometry {
            smoother.restore(&checkpoint.odometry);
        }
    }
}
