//! `BackUp`: drives backwards.

use crate::bt::{Context, Input, Ports, Thrown};
use crate::msg::Point;
use crate::msg::action as actions;
use crate::msg::duration::from_seconds;
use crate::nav::action_leaf::{ActionNode, count_recovery};

/// Has the behavior server drive the robot backwards.
#[derive(Debug)]
pub struct BackUp {
    distance: Input<f64>,
    speed: Input<f64>,
    time_allowance: Input<f64>,
}

impl ActionNode for BackUp {
    type Action = actions::BackUp;
    const ID: &'static str = "BackUp";
    const DOC: &'static str = "Drives the robot straight backwards. Counts as a recovery.";
    const SERVER: &'static str = "backup";

    fn bind(ports: &mut Ports<'_>) -> Self {
        super::warn_of_collision_checks(ports);
        Self {
            distance: ports
                .input("backup_dist")
                .unit("m")
                .default("0.15")
                .doc("How far.")
                .bind(),
            speed: ports
                .input("backup_speed")
                .unit("m/s")
                .default("0.025")
                .doc("How fast.")
                .bind(),
            time_allowance: ports
                .input("time_allowance")
                .unit("s")
                .default("10.0")
                .doc("How long it may take.")
                .bind(),
        }
    }

    fn activated(&self, cx: &mut Context<'_>) -> Result<(), Thrown> {
        count_recovery(cx)
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::BackUpGoal, Thrown> {
        Ok(actions::BackUpGoal {
            target: Point::planar(self.distance.require(cx)?, 0.0),
            speed: self.speed.require(cx)? as f32,
            time_allowance: from_seconds(self.time_allowance.require(cx)?),
        })
    }
}
