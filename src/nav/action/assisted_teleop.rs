//! `AssistedTeleop`: manual driving with collision checks.

use crate::bt::{Context, Input, NodeStatus, PortRange, Ports, Thrown};
use crate::msg::action as actions;
use crate::msg::duration::from_seconds;
use crate::nav::action_node::{ActionNode, Refusal};
use crate::nav::recovery_count::count_recovery;

/// Requests assisted teleoperation from the behavior server.
#[derive(Debug)]
pub struct AssistedTeleop {
    time_allowance: Input<f64>,
    is_recovery: Input<bool>,
}

impl ActionNode for AssistedTeleop {
    type Action = actions::AssistedTeleop;
    const ID: &'static str = "AssistedTeleop";
    const DOC: &'static str = "Lets a person drive the robot, with collision checks. If it is not a recovery, a \
        timeout is a success.";
    const SERVER: &'static str = "assisted_teleop";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            time_allowance: ports
                .input("time_allowance")
                .range(PortRange::above(0.0))
                .unit("s")
                .default("10.0")
                .doc("Maximum time.")
                .bind(),
            is_recovery: ports
                .input("is_recovery")
                .default("false")
                .doc("Whether this counts as a recovery.")
                .bind(),
        }
    }

    fn activated(&self, cx: &mut Context<'_>) -> Result<(), Thrown> {
        if self.is_recovery.require(cx)? {
            count_recovery(cx)?;
        }
        Ok(())
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::AssistedTeleopGoal, Refusal> {
        Ok(actions::AssistedTeleopGoal {
            time_allowance: from_seconds(self.time_allowance.require(cx)?),
        })
    }

    fn status_of_abort(&self, cx: &Context<'_>) -> NodeStatus {
        if self.is_recovery.get_or(cx, false) {
            NodeStatus::Failure
        } else {
            NodeStatus::Success
        }
    }
}

#[cfg(test)]
mod tests {
    use super::actions::AssistedTeleop;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::nav::testing::{Bench, Plan};

    #[test]
    fn test_assisted_teleop_action_forwards_the_ports() {
        for (xml, seconds) in [
            ("<AssistedTeleop/>", 10),
            ("<AssistedTeleop time_allowance=\"20\"/>", 20),
        ] {
            let mut bench = Bench::new(xml);
            bench.action::<AssistedTeleop>("assisted_teleop", |_| Plan::success());
            assert_eq!(bench.run(10), Success);
            let goal = &bench.goals::<AssistedTeleop>("assisted_teleop")[0];
            assert_eq!(goal.time_allowance.as_secs(), seconds);
            assert_eq!(bench.recoveries(), 0);
        }
    }

    #[test]
    fn test_assisted_teleop_action_as_a_recovery() {
        for (plan, status) in [(0, Success), (731, Failure)] {
            let mut bench = Bench::new("<AssistedTeleop is_recovery=\"true\"/>");
            bench.action::<AssistedTeleop>("assisted_teleop", move |_| match plan {
                0 => Plan::success(),
                code => Plan::abort(code),
            });
            assert_eq!(bench.run(10), status);
            assert_eq!(bench.recoveries(), 1);
        }
    }

    #[test]
    fn a_timeout_is_a_success_without_is_recovery() {
        let mut bench = Bench::new("<AssistedTeleop/>");
        bench.action::<AssistedTeleop>("assisted_teleop", |_| Plan::abort(731));
        assert_eq!(bench.run(10), Success);
    }
}
