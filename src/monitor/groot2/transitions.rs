//! The recording of status changes that a client may request.

use std::collections::VecDeque;

use crate::bt::{NodeStatus, Time};

/// Number of changes that are kept: the oldest ones go first.
const MAX_CHANGES: usize = 1000;
/// Size of a change: time in µs, UID, status.
const SIZE: usize = 9;

/// The changes since the last request for them.
#[derive(Debug, Default)]
pub(super) struct Transitions {
    /// The time of the start; `None`: nothing is recorded.
    start: Option<Time>,
    changes: VecDeque<[u8; SIZE]>,
}

impl Transitions {
    /// Starts a recording.
    pub(super) fn start(&mut self, now: Time) {
        self.start = Some(now);
        self.changes.clear();
    }

    /// Ends a recording. Its changes can still be requested.
    pub(super) fn stop(&mut self) {
        self.start = None;
    }

    /// A status changed.
    pub(super) fn add(&mut self, time: Time, uid: u16, status: NodeStatus) {
        let Some(start) = self.start else { return };
        let microseconds = u64::try_from(time.since(start).as_micros()).unwrap_or(u64::MAX);
        let mut change = [0; SIZE];
        change[..6].copy_from_slice(&microseconds.to_le_bytes()[..6]);
        change[6..8].copy_from_slice(&uid.to_le_bytes());
        change[8] = status as u8;
        if self.changes.len() == MAX_CHANGES {
            self.changes.pop_front();
        }
        self.changes.push_back(change);
    }

    /// Takes the changes out.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.changes.drain(..).flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_changes_of_a_recording_are_kept() {
        let mut transitions = Transitions::default();
        transitions.add(Time::from_millis(1), 1, NodeStatus::Running);
        assert!(transitions.take().is_empty());
        transitions.start(Time::from_millis(1));
        transitions.add(Time::from_millis(3), 258, NodeStatus::Failure);
        assert_eq!(transitions.take(), [0xd0, 7, 0, 0, 0, 0, 2, 1, 3]);
        for uid in 0..1001 {
            transitions.add(Time::from_millis(3), uid, NodeStatus::Idle);
        }
        let taken = transitions.take();
        assert_eq!((taken.len(), taken[6]), (9000, 1));
        transitions.stop();
        transitions.add(Time::from_millis(4), 1, NodeStatus::Running);
        assert!(transitions.take().is_empty());
    }
}
