//! `FollowObject`: follows a moving object. The node is from Nav2's main branch, the interface from Jazzy.

use crate::bt::{Context, Input, Output, PortRange, Ports, Text, Thrown};
use crate::msg::action as actions;
use crate::msg::duration::{RosDuration, from_seconds};
use crate::nav::action_node::{ActionNode, GoalOutcome, Refusal, ResultOf};
use std::sync::Arc;

/// Requests object following from the following server.
#[derive(Debug)]
pub struct FollowObject {
    pose_topic: Input<Text>,
    tracked_frame: Input<Text>,
    max_duration: Input<f64>,
    elapsed: Output<Arc<RosDuration>>,
}

impl ActionNode for FollowObject {
    type Action = actions::FollowObject;
    const ID: &'static str = "FollowObject";
    const DOC: &'static str = "Follows an object with a published pose or with a frame.";
    const SERVER: &'static str = "follow_object";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            pose_topic: ports
                .input("pose_topic")
                .default("dynamic_pose")
                .doc("Topic of the object's pose.")
                .bind(),
            tracked_frame: ports
                .input("tracked_frame")
                .doc("Frame of the object, if there is no topic.")
                .bind(),
            max_duration: ports
                .input("max_duration")
                .range(PortRange::at_least(0.0))
                .unit("s")
                .default("0.0")
                .doc("Maximum time; 0: no limit.")
                .bind(),
            elapsed: ports
                .output("total_elapsed_time")
                .doc("Time since the start.")
                .bind(),
        }
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::FollowObjectGoal, Refusal> {
        Ok(actions::FollowObjectGoal {
            pose_topic: super::string(&self.pose_topic, cx)?,
            tracked_frame: super::string(&self.tracked_frame, cx)?,
            max_duration: from_seconds(self.max_duration.require(cx)?),
        })
    }

    fn finished(&self, cx: &mut Context<'_>, ending: &GoalOutcome<'_, ResultOf<Self>>) -> Result<(), Thrown> {
        match ending {
            GoalOutcome::Succeeded(result) | GoalOutcome::Aborted(result) | GoalOutcome::Canceled(result) => {
                self.elapsed.set(cx, Arc::new(result.total_elapsed_time.into()))
            }
            GoalOutcome::Failed => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::actions::{FollowObject, FollowObjectResult};
    use super::*;
    use crate::bt::NodeStatus::Success;
    use crate::nav::testing::{Bench, Plan};
    use std::time::Duration;

    #[test]
    fn the_ports_are_forwarded() {
        let mut bench = Bench::new(
            "<FollowObject tracked_frame=\"cart\" max_duration=\"5\" total_elapsed_time=\"{took}\"/>",
        );
        bench.action::<FollowObject>("follow_object", |_| {
            Plan::result(FollowObjectResult {
                total_elapsed_time: Duration::from_secs(4),
                ..Default::default()
            })
        });
        assert_eq!(bench.run(10), Success);
        let goal = &bench.goals::<FollowObject>("follow_object")[0];
        assert_eq!(
            (goal.pose_topic.as_str(), goal.tracked_frame.as_str()),
            ("dynamic_pose", "cart")
        );
        assert_eq!(goal.max_duration.as_secs(), 5);
        assert_eq!(bench.object::<RosDuration>("took").unwrap().sec, 4);
    }
}
