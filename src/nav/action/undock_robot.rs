//! `UndockRobot`: leaves a charging dock.

use crate::bt::{Context, Input, Output, PortRange, Ports, Text, Thrown};
use crate::msg::action as actions;
use crate::nav::action_node::{ActionNode, GoalOutcome, Refusal, ResultOf};

/// Requests undocking from the docking server.
#[derive(Debug)]
pub struct UndockRobot {
    dock_type: Input<Text>,
    max_undocking_time: Input<f32>,
    success: Output<bool>,
}

impl ActionNode for UndockRobot {
    type Action = actions::UndockRobot;
    const ID: &'static str = "UndockRobot";
    const DOC: &'static str = "Undocks the robot.";
    const SERVER: &'static str = "undock_robot";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            dock_type: ports
                .input("dock_type")
                .doc("Dock plugin; empty: the plugin used for docking.")
                .bind(),
            max_undocking_time: ports
                .input("max_undocking_time")
                .range(PortRange::above(0.0))
                .unit("s")
                .default("30.0")
                .doc("Maximum time.")
                .bind(),
            success: ports
                .output("success")
                .doc("Whether the robot has undocked.")
                .bind(),
        }
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::UndockRobotGoal, Refusal> {
        Ok(actions::UndockRobotGoal {
            dock_type: super::string(&self.dock_type, cx)?,
            max_undocking_time: self.max_undocking_time.require(cx)?,
        })
    }

    fn activated(&self, cx: &mut Context<'_>) -> Result<(), Thrown> {
        // A halt must not leave the success of an earlier goal.
        self.success.set(cx, false)
    }

    fn finished(&self, cx: &mut Context<'_>, ending: &GoalOutcome<'_, ResultOf<Self>>) -> Result<(), Thrown> {
        match ending {
            GoalOutcome::Succeeded(result) | GoalOutcome::Aborted(result) => {
                self.success.set(cx, result.success)
            }
            GoalOutcome::Canceled(_) | GoalOutcome::Failed => self.success.set(cx, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::actions::UndockRobot;
    use crate::bt::NodeStatus::Success;
    use crate::nav::testing::{Bench, Plan};

    #[test]
    fn the_ports_are_forwarded() {
        let mut bench = Bench::new("<UndockRobot dock_type=\"simple\" success=\"{done}\"/>");
        bench.action::<UndockRobot>("undock_robot", |_| Plan::success());
        assert_eq!(bench.run(10), Success);
        let goal = &bench.goals::<UndockRobot>("undock_robot")[0];
        assert_eq!(
            (goal.dock_type.as_str(), goal.max_undocking_time),
            ("simple", 30.0)
        );
        assert_eq!(bench.get("done"), Some(true));
    }
}
