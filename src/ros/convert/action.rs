//! The goals, results and feedbacks of actions.

use r2r::std_msgs;

use super::{ActionType, convert};
use crate::msg::action::{self, actions};
use crate::ros::checked::goal_texts;

/// Called by the `fields!` of an action.
macro_rules! convert_action {
    (
        $package:ident $action:ident;
        $goal:ident $goal_fields:tt plus $goal_omitted:tt
        $result:ident $result_fields:tt plus $result_omitted:tt
        $feedback:ident $feedback_fields:tt plus $feedback_omitted:tt
    ) => {
        impl ActionType for action::$action {
            type Wire = r2r::$package::action::$action::Action;
        }
        goal_texts!($package $action);
        convert!(action::$goal = r2r::$package::action::$action::Goal $goal_fields plus $goal_omitted);
        convert!(action::$result = r2r::$package::action::$action::Result $result_fields plus $result_omitted);
        convert!(action::$feedback = r2r::$package::action::$action::Feedback $feedback_fields plus $feedback_omitted);
    };
}

macro_rules! convert_all {
    ($($file:ident: $action:ident,)*) => { $(action::$file::fields!();)* };
}
actions!(convert_all);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::Convert;
    use crate::msg::action::FollowPathGoal;
    use crate::msg::{Header, Path, Pose};

    #[test]
    fn a_goal_comes_back() {
        let goal = FollowPathGoal {
            path: Arc::new(Path::through(
                Header::in_frame("map"),
                [Pose::planar(1.0, 2.0, 0.5)],
            )),
            controller_id: "FollowPath".into(),
            ..FollowPathGoal::default()
        };
        assert_eq!(FollowPathGoal::from_wire(goal.to_wire()), goal);
    }
}
