//! `IsWithinPathTrackingBounds`: whether the robot keeps to its path. A node of Nav2's main branch.

use std::sync::Arc;

use super::verdict;
use crate::bt::{Behavior, Context, Input, Node, NodeKind, NodeStatus, Ports, Tick};
use crate::msg::TrackingFeedback;

/// Compares tracking feedback with limits.
#[derive(Debug)]
pub struct IsWithinPathTrackingBounds {
    left: Input<f64>,
    right: Input<f64>,
    heading: Input<f64>,
    feedback: Input<Arc<TrackingFeedback>>,
}

impl Node for IsWithinPathTrackingBounds {
    const ID: &'static str = "IsWithinPathTrackingBounds";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS if the robot is no further from its path, and turned from it by no more, than \
        the limits; also before there is feedback.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            left: ports
                .input("max_error_left")
                .unit("m")
                .default("0.5")
                .doc("How far to the left of the path.")
                .bind(),
            right: ports
                .input("max_error_right")
                .unit("m")
                .default("0.5")
                .doc("How far to the right of the path.")
                .bind(),
            heading: ports
                .input("max_error_heading")
                .unit("rad")
                .default("3.14")
                .doc("How far turned from the path.")
                .bind(),
            feedback: ports
                .input("tracking_feedback")
                .doc("What FollowPath writes.")
                .bind(),
        }
    }
}

impl Behavior for IsWithinPathTrackingBounds {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let Ok(feedback) = self.feedback.get(cx) else {
            return Ok(NodeStatus::Success);
        };
        let position = f64::from(feedback.position_tracking_error);
        let limit = if position > 0.0 {
            self.left.require(cx)?
        } else {
            self.right.require(cx)?
        };
        let heading = f64::from(feedback.heading_tracking_error).abs();
        Ok(verdict(
            position.abs() <= limit.abs() && heading <= self.heading.require(cx)?,
        ))
    }
}
