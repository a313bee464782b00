//! One goal while its tree runs.

use std::time::Duration;

use super::goal::{ClientGoal, Feedback};
use super::options::Options;
use super::{NavigatorKind, Robot, feedback, seed};
use crate::bt::{Time, Tree};
use crate::goal::GoalId;

/// The goal that is pursued.
pub(crate) struct Session {
    kind: NavigatorKind,
    client: Box<dyn ClientGoal>,
    started: Time,
    last_feedback: Option<Time>,
}

impl Session {
    pub(crate) fn new(kind: NavigatorKind, client: Box<dyn ClientGoal>, now: Time) -> Self {
        Self {
            kind,
            client,
            started: now,
            last_feedback: None,
        }
    }

    pub(crate) fn kind(&self) -> NavigatorKind {
        self.kind
    }

    pub(crate) fn id(&self) -> GoalId {
        self.client.id()
    }

    pub(crate) fn into_client(self) -> Box<dyn ClientGoal> {
        self.client
    }

    /// Another goal of the same action takes over; the old client is still to be told.
    pub(crate) fn replace(&mut self, client: Box<dyn ClientGoal>, now: Time) -> Box<dyn ClientGoal> {
        self.started = now;
        self.last_feedback = None;
        std::mem::replace(&mut self.client, client)
    }

    pub(crate) fn feedback_is_due(&mut self, now: Time, period: Duration) -> bool {
        // Half a tick of slack, so that a period that is a multiple of the tick's is not missed by a microsecond.
        let due = self
            .last_feedback
            .is_none_or(|last| now.since(last) + Duration::from_millis(1) >= period);
        if due {
            self.last_feedback = Some(now);
        }
        due
    }

    pub(crate) fn send_feedback(&mut self, tree: &Tree, options: &Options, robot: &Robot, now: Time) {
        // As in Nav2, there is no feedback without a pose.
        let Some(pose) = &robot.pose else { return };
        let distance = seed::path(tree, options).map_or(0.0, |path| {
            feedback::distance_remaining(&path, &pose.pose.position)
        });
        self.client.feedback(&Feedback {
            current_pose: pose.clone(),
            navigation_time: now.since(self.started),
            estimated_time_remaining: feedback::time_remaining(distance, robot.speed),
            number_of_recoveries: seed::recoveries(tree),
            distance_remaining: distance,
            poses_remaining: seed::poses_remaining(tree, options),
        });
    }
}
