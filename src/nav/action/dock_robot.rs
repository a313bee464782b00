//! `DockRobot`: drives onto a charging dock.

use std::sync::Arc;

use crate::bt::{Context, Input, Output, PortRange, Ports, Text, Thrown};
use crate::msg::PoseStamped;
use crate::msg::action as actions;
use crate::nav::action_node::{ActionNode, GoalOutcome, Refusal, ResultOf};

/// Requests docking from the docking server.
#[derive(Debug)]
pub struct DockRobot {
    use_dock_id: Input<bool>,
    dock_id: Input<Text>,
    dock_pose: Input<Arc<PoseStamped>>,
    dock_type: Input<Text>,
    max_staging_time: Input<f32>,
    navigate_to_staging_pose: Input<bool>,
    success: Output<bool>,
    num_retries: Output<u16>,
}

impl ActionNode for DockRobot {
    type Action = actions::DockRobot;
    const ID: &'static str = "DockRobot";
    const DOC: &'static str = "Docks the robot at a dock, given by name or by pose.";
    const SERVER: &'static str = "dock_robot";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            use_dock_id: ports
                .input("use_dock_id")
                .default("true")
                .doc("Whether dock_id selects the dock; otherwise dock_pose and dock_type.")
                .bind(),
            dock_id: ports.input("dock_id").doc("Name of the dock.").bind(),
            dock_pose: ports.input("dock_pose").doc("Pose of the dock.").bind(),
            dock_type: ports.input("dock_type").doc("Dock plugin.").bind(),
            max_staging_time: ports
                .input("max_staging_time")
                .range(PortRange::above(0.0))
                .unit("s")
                .default("1000.0")
                .doc("Maximum time of the drive to the staging pose.")
                .bind(),
            navigate_to_staging_pose: ports
                .input("navigate_to_staging_pose")
                .default("true")
                .doc("Whether to drive to the staging pose first.")
                .bind(),
            success: ports
                .output("success")
                .doc("Whether the robot has docked.")
                .bind(),
            num_retries: ports.output("num_retries").doc("Number of retries.").bind(),
        }
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::DockRobotGoal, Refusal> {
        let defaults = actions::DockRobotGoal::default();
        let navigate_to_staging_pose = self.navigate_to_staging_pose.require(cx)?;
        if self.use_dock_id.require(cx)? {
            return Ok(actions::DockRobotGoal {
                use_dock_id: true,
                dock_id: super::string(&self.dock_id, cx)?,
                navigate_to_staging_pose,
                ..defaults
            });
        }
        Ok(actions::DockRobotGoal {
            use_dock_id: false,
            dock_pose: self.dock_pose.require(cx)?.as_ref().clone(),
            dock_type: super::string(&self.dock_type, cx)?,
            max_staging_time: self.max_staging_time.require(cx)?,
            navigate_to_staging_pose,
            ..defaults
        })
    }

    fn activated(&self, cx: &mut Context<'_>) -> Result<(), Thrown> {
        // A halt must not leave the success of an earlier goal.
        self.success.set(cx, false)
    }

    fn finished(&self, cx: &mut Context<'_>, ending: &GoalOutcome<'_, ResultOf<Self>>) -> Result<(), Thrown> {
        match ending {
            GoalOutcome::Succeeded(result) | GoalOutcome::Aborted(result) => {
                self.success.set(cx, result.success)?;
                self.num_retries.set(cx, result.num_retries)
            }
            GoalOutcome::Canceled(_) | GoalOutcome::Failed => self.success.set(cx, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::actions::{DockRobot, DockRobotGoal};
    use crate::bt::NodeStatus::{Failure, Running, Success};
    use crate::msg::Pose;
    use crate::nav::testing::{Bench, Plan};

    #[test]
    fn a_halt_leaves_no_success_of_an_earlier_goal() {
        let mut bench = Bench::new("<DockRobot dock_id=\"home\" success=\"{docked}\"/>");
        bench.action::<DockRobot>("dock_robot", |_| Plan::success());
        assert_eq!(bench.run(10), Success);
        assert_eq!(bench.get("docked"), Some(true));
        bench.action::<DockRobot>("dock_robot", |_| Plan::endless());
        bench.halt();
        assert_eq!(bench.run(3), Running);
        bench.halt();
        assert_eq!(bench.get("docked"), Some(false));
    }

    #[test]
    fn a_dock_is_selected_by_name_or_by_pose() {
        let mut bench = Bench::new("<DockRobot dock_id=\"home\" dock_type=\"unused\" success=\"{docked}\"/>");
        bench.action::<DockRobot>("dock_robot", |_| Plan::success());
        assert_eq!(bench.run(10), Success);
        assert_eq!(bench.get("docked"), Some(true));
        let by_name = DockRobotGoal {
            dock_id: "home".to_owned(),
            ..Default::default()
        };
        assert_eq!(bench.goals::<DockRobot>("dock_robot"), [by_name]);

        let mut bench = Bench::new(
            "<DockRobot use_dock_id=\"false\" dock_pose=\"0;map;1;2;0;0;0;0;1\" dock_type=\"simple\" \
             success=\"{docked}\" error_code_id=\"{code}\"/>",
        );
        bench.action::<DockRobot>("dock_robot", |_| Plan::abort(DockRobot::FAILED_TO_CHARGE));
        assert_eq!(bench.run(10), Failure);
        assert_eq!(
            (bench.get("docked"), bench.get::<u16>("code")),
            (Some(false), Some(906))
        );
        let goal = &bench.goals::<DockRobot>("dock_robot")[0];
        assert_eq!(goal.dock_pose.pose, Pose::planar(1.0, 2.0, 0.0));
        assert_eq!((goal.use_dock_id, goal.dock_type.as_str()), (false, "simple"));
    }
}
