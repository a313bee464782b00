//! The navigate actions with their ROS messages.

use super::NavigatorKind;
use super::goal::{ClientGoal, Feedback, NavigationResult, TerminalStatus};
use crate::goal::GoalId;
use crate::msg::PoseStamped;
use crate::msg::action::{
    NavigateThroughPoses, NavigateThroughPosesFeedback, NavigateThroughPosesGoal, NavigateThroughPosesResult,
    NavigateToPose, NavigateToPoseFeedback, NavigateToPoseGoal, NavigateToPoseResult,
};
use crate::ros::convert::ServedAction;
use crate::ros::{GoalTrackerHandle, ServerGoal};

/// The common part of the two navigate actions.
pub(crate) trait NavigateAction: ServedAction {
    const KIND: NavigatorKind;
    fn pose_count(goal: &Self::Goal) -> usize;
    fn poses(goal: &Self::Goal) -> Vec<PoseStamped>;
    fn tree(goal: &Self::Goal) -> &str;
    fn feedback(feedback: &Feedback) -> Self::Feedback;
    fn result(report: &NavigationResult) -> Self::Result;
}

fn saturated<N: TryFrom<i64>>(number: i64, most: N) -> N {
    N::try_from(number).unwrap_or(most)
}

impl NavigateAction for NavigateToPose {
    const KIND: NavigatorKind = NavigatorKind::ToPose;

    fn pose_count(_: &NavigateToPoseGoal) -> usize {
        1
    }

    fn poses(goal: &NavigateToPoseGoal) -> Vec<PoseStamped> {
        vec![goal.pose.clone()]
    }

    fn tree(goal: &NavigateToPoseGoal) -> &str {
        &goal.behavior_tree
    }

    fn feedback(feedback: &Feedback) -> NavigateToPoseFeedback {
        NavigateToPoseFeedback {
            current_pose: feedback.current_pose.clone(),
            navigation_time: feedback.navigation_time,
            estimated_time_remaining: feedback.estimated_time_remaining,
            number_of_recoveries: saturated(i64::from(feedback.number_of_recoveries), i16::MAX),
            distance_remaining: feedback.distance_remaining as f32,
        }
    }

    fn result(report: &NavigationResult) -> NavigateToPoseResult {
        NavigateToPoseResult {
            error_code: report.error_code,
            error_msg: report.error_message.clone(),
        }
    }
}

impl NavigateAction for NavigateThroughPoses {
    const KIND: NavigatorKind = NavigatorKind::ThroughPoses;

    fn pose_count(goal: &NavigateThroughPosesGoal) -> usize {
        goal.poses.len()
    }

    fn poses(goal: &NavigateThroughPosesGoal) -> Vec<PoseStamped> {
        goal.poses.clone()
    }

    fn tree(goal: &NavigateThroughPosesGoal) -> &str {
        &goal.behavior_tree
    }

    fn feedback(feedback: &Feedback) -> NavigateThroughPosesFeedback {
        NavigateThroughPosesFeedback {
            current_pose: feedback.current_pose.clone(),
            navigation_time: feedback.navigation_time,
            estimated_time_remaining: feedback.estimated_time_remaining,
            number_of_recoveries: saturated(i64::from(feedback.number_of_recoveries), i16::MAX),
            distance_remaining: feedback.distance_remaining as f32,
            number_of_poses_remaining: i16::try_from(feedback.poses_remaining).unwrap_or(i16::MAX),
        }
    }

    fn result(report: &NavigationResult) -> NavigateThroughPosesResult {
        NavigateThroughPosesResult {
            error_code: report.error_code,
            error_msg: report.error_message.clone(),
        }
    }
}

/// The server's side of one goal. The goal table aborts a goal whose last handle is dropped, so no client waits without
/// end. Other threads send the feedback and the result: writes to the middleware from the tick thread took a hundred
/// times as long as a tick (guarantee G1).
pub(crate) struct WireGoal<A: NavigateAction> {
    pub(crate) goal: ServerGoal<A>,
    pub(crate) sender: GoalTrackerHandle,
}

impl<A: NavigateAction> Drop for WireGoal<A> {
    /// After a panic of its thread, the shutdown answers the client, because it cancels the goals of the tree first.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.goal.leave_open(true);
        }
    }
}

impl<A: NavigateAction> ClientGoal for WireGoal<A>
where
    ServerGoal<A>: Send,
{
    fn id(&self) -> GoalId {
        self.goal.id()
    }

    fn feedback(&mut self, feedback: &Feedback) {
        let (goal, feedback) = (self.goal.clone(), A::feedback(feedback));
        self.sender.send(move || {
            // The goal may have no subscriber.
            let _ = goal.feedback(&feedback);
        });
    }

    fn finish(self: Box<Self>, report: NavigationResult) {
        let goal = self.goal.clone();
        // If the thread that sends the result has failed and drops it, the shutdown answers the client, as above.
        goal.leave_open(true);
        self.sender.send(move || {
            goal.leave_open(false);
            let end = match report.status {
                // A goal without a cancel request cannot end as cancelled. This node stopped it.
                TerminalStatus::Canceled if !goal.is_canceling() => TerminalStatus::Aborted,
                status => status,
            };
            if let Err(error) = goal.finish(end, A::result(&report)) {
                tracing::warn!("goal {}: {error}", goal.id());
            }
        });
    }

    fn finish_now(self: Box<Self>, report: NavigationResult) {
        // The outbox of the tick thread is sent only after its blocked leaf returns.
        let sender = self.sender.without_outbox();
        let goal = self.goal.clone();
        Box::new(Self { goal, sender }).finish(report);
    }
}
