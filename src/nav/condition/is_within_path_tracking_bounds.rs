//! `IsWithinPathTrackingBounds`: checks whether the robot is close to its path. A node of Nav2's main branch.

use std::sync::Arc;

use super::verdict;
use crate::bt::{Behavior, Context, Input, Node, NodeKind, NodeStatus, PortRange, Ports, Tick};
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
    const DOC: &'static str = "SUCCESS if the distance to the path and the heading error are within the limits, \
        and before the first feedback.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            left: ports
                .input("max_error_left")
                .unit("m")
                .default("0.5")
                .doc("Maximum distance to the left of the path.")
                .bind(),
            right: ports
                .input("max_error_right")
                .unit("m")
                .default("0.5")
                .doc("Maximum distance to the right of the path.")
                .bind(),
            heading: ports
                .input("max_error_heading")
                .range(PortRange::at_least(0.0))
                .unit("rad")
                .default("3.14")
                .doc("Maximum heading error.")
                .bind(),
            feedback: ports
                .input("tracking_feedback")
                .doc("Tracking feedback, written by FollowPath.")
                .bind(),
        }
    }
}

impl Behavior for IsWithinPathTrackingBounds {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let Some(feedback) = self.feedback.optional(cx)? else {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::nav::testing::Bench;

    #[test]
    fn test_is_within_path_tracking_bounds() {
        let mut bench = Bench::new(
            "<IsWithinPathTrackingBounds max_error_left=\"0.5\" max_error_right=\"0.2\" max_error_heading=\"1.0\" \
             tracking_feedback=\"{feedback}\"/>",
        );
        assert_eq!(bench.tick(), Success, "no feedback yet");
        for (position, heading, status) in [
            (0.4, 0.0, Success),
            (0.6, 0.0, Failure),
            (-0.1, 0.0, Success),
            (-0.3, 0.0, Failure),
            (0.0, -0.9, Success),
            (0.0, 1.1, Failure),
        ] {
            let feedback = TrackingFeedback {
                position_tracking_error: position,
                heading_tracking_error: heading,
                ..Default::default()
            };
            bench.set("feedback", Arc::new(feedback));
            assert_eq!(bench.tick(), status, "{position} {heading}");
        }
    }
}
