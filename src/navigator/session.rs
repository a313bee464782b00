//! The state of one goal while its tree runs.

use std::sync::Arc;
use std::time::Duration;

use super::goal::{ClientGoal, Feedback, NavigationId, Request};
use super::options::Options;
use super::{NavigatorKind, Robot, blackboard_io, feedback};
use crate::bt::{Time, Tree};
use crate::msg::Goals;

/// The active goal.
pub(crate) struct Session {
    kind: NavigatorKind,
    client: Box<dyn ClientGoal>,
    /// The goal poses, in the global frame. Shared with the blackboard, because there may be many.
    poses: Arc<Goals>,
    started: Time,
    accepted: Time,
    run_accepted: Time,
    last_feedback: Option<Time>,
    /// The goal replaced another goal in a running tree.
    is_replacement: bool,
}

impl Session {
    /// Creates a session for a goal whose tree is about to run.
    pub(crate) fn new(request: Request, now: Time) -> Self {
        let Request {
            kind,
            poses,
            accepted,
            run_accepted,
            client,
            ..
        } = request;
        Self {
            kind,
            client,
            poses: Arc::new(Goals(poses)),
            started: now,
            accepted,
            run_accepted,
            last_feedback: None,
            is_replacement: false,
        }
    }

    pub(crate) fn kind(&self) -> NavigatorKind {
        self.kind
    }

    /// See [`Request::run_accepted`].
    pub(crate) fn run_accepted(&self) -> Time {
        self.run_accepted
    }

    /// See [`Request::accepted`].
    pub(crate) fn accepted(&self) -> Time {
        self.accepted
    }

    pub(crate) fn id(&self) -> NavigationId {
        NavigationId {
            kind: self.kind,
            goal: self.client.id(),
        }
    }

    pub(crate) fn into_client(self) -> Box<dyn ClientGoal> {
        self.client
    }

    /// The goal poses, in the global frame.
    pub(crate) fn poses(&self) -> &Arc<Goals> {
        &self.poses
    }

    /// Returns whether the goal replaced another goal in a running tree. True only once for each such goal, which
    /// ensures that a tree ends even if its status cannot be attributed to a goal.
    pub(crate) fn take_replacement(&mut self) -> bool {
        std::mem::take(&mut self.is_replacement)
    }

    /// Replaces the goal by another goal of the same action. Returns the old client, which still needs its result.
    pub(crate) fn replace(&mut self, request: Request, now: Time) -> Box<dyn ClientGoal> {
        self.poses = Arc::new(Goals(request.poses));
        self.accepted = request.accepted;
        self.started = now;
        self.last_feedback = None;
        self.is_replacement = true;
        std::mem::replace(&mut self.client, request.client)
    }

    pub(crate) fn feedback_is_due(&mut self, now: Time, period: Duration) -> bool {
        // A tolerance of 1 ms: a period that is a multiple of the tick period is not missed by a microsecond.
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
        // A planner that works while the goal is replaced writes a path to the replaced goal.
        let is_to_goal = tree.is_entry_current(&options.path_key);
        let path = blackboard_io::path(tree, options).filter(|_| is_to_goal);
        let goal = self.poses.0.last().map(|goal| &goal.pose.position);
        let distance = feedback::distance_remaining(path.as_deref(), &pose.pose.position, goal);
        self.client.feedback(&Feedback {
            current_pose: pose.clone(),
            navigation_time: now.since(self.started),
            estimated_time_remaining: feedback::time_remaining(distance, robot.speed),
            number_of_recoveries: blackboard_io::recoveries(tree),
            distance_remaining: distance,
            poses_remaining: blackboard_io::poses_remaining(tree, options),
        });
    }
}
