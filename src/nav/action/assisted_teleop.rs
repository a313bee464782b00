//! `AssistedTeleop`: lets a person drive, with collision checks.

use crate::bt::{Context, Input, NodeStatus, Ports, Thrown};
use crate::msg::action as actions;
use crate::msg::duration::from_seconds;
use crate::nav::action_leaf::{ActionNode, count_recovery};

/// Has the behavior server pass on a person's commands.
#[derive(Debug)]
pub struct AssistedTeleop {
    time_allowance: Input<f64>,
    is_recovery: Input<bool>,
}

impl ActionNode for AssistedTeleop {
    type Action = actions::AssistedTeleop;
    const ID: &'static str = "AssistedTeleop";
    const DOC: &'static str = "Lets a person drive the robot and keeps it from colliding. Where it is no recovery, \
        running out of time is a success.";
    const SERVER: &'static str = "assisted_teleop";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            time_allowance: ports
                .input("time_allowance")
                .unit("s")
                .default("10.0")
                .doc("How long it may take.")
                .bind(),
            is_recovery: ports
                .input("is_recovery")
                .default("false")
                .doc("Whether it counts as a recovery.")
                .bind(),
        }
    }

    fn activated(&self, cx: &mut Context<'_>) -> Result<(), Thrown> {
        if self.is_recovery.require(cx)? {
            count_recovery(cx)?;
        }
        Ok(())
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::AssistedTeleopGoal, Thrown> {
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
