//! `DriveOnHeading`: drives straight ahead.

use crate::bt::{Context, Input, PortRange, Ports};
use crate::msg::Point;
use crate::msg::action as actions;
use crate::msg::duration::from_seconds;
use crate::nav::action_node::{ActionNode, Refusal};

/// Requests a straight drive from the behavior server.
#[derive(Debug)]
pub struct DriveOnHeading {
    distance: Input<f64>,
    speed: Input<f64>,
    time_allowance: Input<f64>,
}

impl ActionNode for DriveOnHeading {
    type Action = actions::DriveOnHeading;
    const ID: &'static str = "DriveOnHeading";
    const DOC: &'static str = "Drives the robot straight ahead along its heading.";
    const SERVER: &'static str = "drive_on_heading";

    fn bind(ports: &mut Ports<'_>) -> Self {
        super::warn_of_collision_checks(ports);
        Self {
            distance: ports
                .input("dist_to_travel")
                .range(PortRange::NOT_ZERO)
                .unit("m")
                .default("0.15")
                .doc("Distance.")
                .bind(),
            speed: ports
                .input("speed")
                .range(PortRange::NOT_ZERO)
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

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::DriveOnHeadingGoal, Refusal> {
        Ok(actions::DriveOnHeadingGoal {
            target: Point::planar(self.distance.require(cx)?, 0.0),
            speed: self.speed.require(cx)? as f32,
            time_allowance: from_seconds(self.time_allowance.require(cx)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Point;
    use super::actions::DriveOnHeading;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::nav::testing::{Bench, Plan};

    #[test]
    fn test_drive_on_heading_action_forwards_the_ports() {
        for (xml, distance, speed, seconds) in [
            ("<DriveOnHeading/>", 0.15, 0.025, 10),
            (
                "<DriveOnHeading dist_to_travel=\"2\" speed=\"0.26\" time_allowance=\"7\"/>",
                2.0,
                0.26,
                7,
            ),
        ] {
            let mut bench = Bench::new(xml);
            bench.action::<DriveOnHeading>("drive_on_heading", |_| Plan::success());
            assert_eq!(bench.run(10), Success);
            let goal = &bench.goals::<DriveOnHeading>("drive_on_heading")[0];
            assert_eq!(goal.target, Point::planar(distance, 0.0));
            assert_eq!(goal.speed, speed);
            assert_eq!(goal.time_allowance.as_secs(), seconds);
            assert_eq!(bench.recoveries(), 0);
        }
    }

    #[test]
    fn test_drive_on_heading_action_failure() {
        let mut bench = Bench::new("<DriveOnHeading error_code_id=\"{code}\"/>");
        bench.action::<DriveOnHeading>("drive_on_heading", |_| Plan::abort(723));
        assert_eq!(bench.run(10), Failure);
        assert_eq!(bench.get::<u16>("code"), Some(723));
    }
}
