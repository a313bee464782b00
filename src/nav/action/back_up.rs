//! `BackUp`: drives backwards.

use crate::bt::{Context, Input, PortRange, Ports, Thrown};
use crate::msg::Point;
use crate::msg::action as actions;
use crate::msg::duration::from_seconds;
use crate::nav::action_node::{ActionNode, Refusal};
use crate::nav::recovery_count::count_recovery;

/// Requests a backward drive from the behavior server.
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
                .range(PortRange::above(0.0))
                .unit("m")
                .default("0.15")
                .doc("Distance.")
                .bind(),
            speed: ports
                .input("backup_speed")
                .range(PortRange::above(0.0))
                .unit("m/s")
                .default("0.025")
                .doc("Speed.")
                .bind(),
            time_allowance: ports
                .input("time_allowance")
                .range(PortRange::above(0.0))
                .unit("s")
                .default("10.0")
                .doc("Maximum time.")
                .bind(),
        }
    }

    fn activated(&self, cx: &mut Context<'_>) -> Result<(), Thrown> {
        count_recovery(cx)
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::BackUpGoal, Refusal> {
        Ok(actions::BackUpGoal {
            target: Point::planar(self.distance.require(cx)?, 0.0),
            speed: self.speed.require(cx)? as f32,
            time_allowance: from_seconds(self.time_allowance.require(cx)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Point;
    use super::actions::BackUp;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::nav::testing::{Bench, Plan};

    #[test]
    fn test_back_up_action_forwards_the_ports() {
        for (xml, distance, speed) in [
            ("<BackUp/>", 0.15, 0.025),
            ("<BackUp backup_dist=\"2\" backup_speed=\"0.26\"/>", 2.0, 0.26),
        ] {
            let mut bench = Bench::new(xml);
            bench.action::<BackUp>("backup", |_| Plan::success());
            assert_eq!(bench.run(10), Success);
            let goal = &bench.goals::<BackUp>("backup")[0];
            assert_eq!(goal.target, Point::planar(distance, 0.0));
            assert_eq!(goal.speed, speed);
            assert_eq!(goal.time_allowance.as_secs(), 10);
            assert_eq!(bench.recoveries(), 1);
        }
    }

    #[test]
    fn test_back_up_action_aborted_counts_one_recovery() {
        let mut bench = Bench::new("<BackUp/>");
        bench.action::<BackUp>("backup", |_| Plan::abort(BackUp::TIMEOUT));
        assert_eq!(bench.run(10), Failure);
        assert_eq!(bench.recoveries(), 1);
    }
}
