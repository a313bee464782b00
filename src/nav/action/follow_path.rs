//! `FollowPath`: drives along a path, and changes over to a newer one on the way.

use std::sync::Arc;

use crate::bt::{Context, Input, Output, PortError, Ports, Text, Thrown};
use crate::msg::action as actions;
use crate::msg::{Path, TrackingFeedback};
use crate::nav::action_leaf::{ActionNode, GoalOf};
use crate::nav::tracking::Tracker;

/// Has the controller server drive along a path.
#[derive(Debug)]
pub struct FollowPath {
    path: Input<Arc<Path>>,
    controller_id: Input<Text>,
    goal_checker_id: Input<Text>,
    progress_checker_id: Input<Text>,
    tracker: Tracker,
    tracking_feedback: Output<Arc<TrackingFeedback>>,
}

impl ActionNode for FollowPath {
    type Action = actions::FollowPath;
    const ID: &'static str = "FollowPath";
    const DOC: &'static str = "Drives along a path. A path or plugin that changes on the way is handed to the \
        controller at once, without a stop.";
    const SERVER: &'static str = "follow_path";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = Self {
            path: ports.input("path").doc("The path.").bind(),
            controller_id: ports
                .input("controller_id")
                .doc("The controller plugin; empty where there is only one.")
                .bind(),
            goal_checker_id: ports
                .input("goal_checker_id")
                .doc("The goal checker plugin; empty where there is only one.")
                .bind(),
            progress_checker_id: ports
                .input("progress_checker_id")
                .doc("The progress checker plugin; empty where there is only one.")
                .bind(),
            tracker: Tracker,
            tracking_feedback: ports
                .output("tracking_feedback")
                .doc("Where the robot is with respect to the path. Jazzy's controller does not say: computed here, from the path and the robot's transform.")
                .bind(),
        };
        let handler = ports
            .input::<Text>("path_handler_id")
            .doc("Nav2 main: the path handler plugin. Jazzy's controller has none.")
            .bind();
        if handler.literal().is_some_and(|text| !text.is_empty()) || handler.slot().is_some() {
            ports.warn("path_handler_id has no effect: the action of Jazzy has no such field");
        }
        node
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<GoalOf<Self>, Thrown> {
        let path = match self.path.get(cx) {
            Ok(path) => path,
            // The controller refuses an empty path with its own error code, which recoveries go by.
            Err(PortError::Absent | PortError::Unwritten) => Arc::default(),
            Err(PortError::Mismatch(_)) => self.path.require(cx)?,
        };
        Ok(actions::FollowPathGoal {
            path,
            controller_id: super::string(&self.controller_id, cx),
            goal_checker_id: super::string(&self.goal_checker_id, cx),
            progress_checker_id: super::string(&self.progress_checker_id, cx),
        })
    }

    fn version(&self, cx: &Context<'_>) -> u64 {
        self.path.sequence(cx)
    }

    fn is_outdated(&self, cx: &Context<'_>, sent: &GoalOf<Self>, version: u64) -> bool {
        // Selectors write their text on every tick, so texts are compared; a path is written when there is a new one.
        self.path.sequence(cx) != version
            || !super::says(&self.controller_id, cx, &sent.controller_id)
            || !super::says(&self.goal_checker_id, cx, &sent.goal_checker_id)
            || !super::says(&self.progress_checker_id, cx, &sent.progress_checker_id)
    }

    fn replaces(&self, sent: &GoalOf<Self>, new: &GoalOf<Self>) -> bool {
        // A planner that is at work, or has failed, leaves an empty path: the robot goes on along the old one.
        let is_new_path =
            !Arc::ptr_eq(&sent.path, &new.path) && *new.path != Path::default() && new.path != sent.path;
        is_new_path
            || sent.controller_id != new.controller_id
            || sent.goal_checker_id != new.goal_checker_id
            || sent.progress_checker_id != new.progress_checker_id
    }

    fn running(&self, cx: &mut Context<'_>) -> Result<(), Thrown> {
        if self.tracking_feedback.slot().is_none() {
            return Ok(());
        }
        let Ok(path) = self.path.get(cx) else {
            return Ok(());
        };
        match self.tracker.track(cx, &path)? {
            Some(feedback) => self.tracking_feedback.set(cx, Arc::new(feedback)),
            None => Ok(()),
        }
    }
}
