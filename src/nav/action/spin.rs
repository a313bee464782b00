//! `Spin`: turns on the spot.

use crate::bt::{Context, Input, Ports, Thrown};
use crate::msg::action as actions;
use crate::msg::duration::from_seconds;
use crate::nav::action_leaf::{ActionNode, count_recovery};

/// Has the behavior server turn the robot.
#[derive(Debug)]
pub struct Spin {
    distance: Input<f64>,
    time_allowance: Input<f64>,
    is_recovery: Input<bool>,
}

impl ActionNode for Spin {
    type Action = actions::Spin;
    const ID: &'static str = "Spin";
    const DOC: &'static str = "Turns the robot on the spot.";
    const SERVER: &'static str = "spin";

    fn bind(ports: &mut Ports<'_>) -> Self {
        super::warn_of_collision_checks(ports);
        Self {
            distance: ports
                .input("spin_dist")
                .unit("rad")
                .default("1.57")
                .doc("By how much.")
                .bind(),
            time_allowance: ports
                .input("time_allowance")
                .unit("s")
                .default("10.0")
                .doc("How long it may take.")
                .bind(),
            is_recovery: ports
                .input("is_recovery")
                .default("true")
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

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::SpinGoal, Thrown> {
        Ok(actions::SpinGoal {
            target_yaw: self.distance.require(cx)? as f32,
            time_allowance: from_seconds(self.time_allowance.require(cx)?),
        })
    }
}
