//! `Spin`: rotates the robot in place.

use crate::bt::{Context, Input, PortRange, Ports, Thrown};
use crate::msg::action as actions;
use crate::msg::duration::from_seconds;
use crate::nav::action_node::{ActionNode, Refusal};
use crate::nav::recovery_count::count_recovery;

/// Requests a rotation from the behavior server.
#[derive(Debug)]
pub struct Spin {
    distance: Input<f64>,
    time_allowance: Input<f64>,
    is_recovery: Input<bool>,
}

impl ActionNode for Spin {
    type Action = actions::Spin;
    const ID: &'static str = "Spin";
    const DOC: &'static str = "Rotates the robot in place.";
    const SERVER: &'static str = "spin";

    fn bind(ports: &mut Ports<'_>) -> Self {
        super::warn_of_collision_checks(ports);
        Self {
            distance: ports
                .input("spin_dist")
                .range(PortRange::NOT_ZERO)
                .unit("rad")
                .default("1.57")
                .doc("Rotation angle.")
                .bind(),
            time_allowance: ports
                .input("time_allowance")
                .range(PortRange::above(0.0))
                .unit("s")
                .default("10.0")
                .doc("Maximum time.")
                .bind(),
            is_recovery: ports
                .input("is_recovery")
                .default("true")
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

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::SpinGoal, Refusal> {
        Ok(actions::SpinGoal {
            target_yaw: self.distance.require(cx)? as f32,
            time_allowance: from_seconds(self.time_allowance.require(cx)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::actions::{Spin, SpinGoal};
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::nav::testing::{Bench, Plan};
    use std::time::Duration;

    #[test]
    fn test_spin_action_default_and_override() {
        for (xml, yaw) in [("<Spin/>", 1.57), ("<Spin spin_dist=\"3.5\"/>", 3.5)] {
            let mut bench = Bench::new(xml);
            bench.action::<Spin>("spin", |_| Plan::success());
            assert_eq!(bench.run(10), Success);
            let goal = SpinGoal {
                target_yaw: yaw,
                time_allowance: Duration::from_secs(10),
            };
            assert_eq!(bench.goals::<Spin>("spin"), [goal]);
            assert_eq!(bench.recoveries(), 1);
        }
    }

    #[test]
    fn test_spin_action_aborted_counts_one_recovery() {
        let mut bench = Bench::new("<Spin error_code_id=\"{code}\" error_msg=\"{text}\"/>");
        bench.action::<Spin>("spin", |_| Plan::abort(Spin::COLLISION_AHEAD));
        assert_eq!(bench.run(10), Failure);
        assert_eq!(bench.recoveries(), 1);
        assert_eq!(bench.get::<u16>("code"), Some(703));
        assert_eq!(bench.get::<crate::bt::Text>("text").as_deref(), Some("scripted"));
    }

    #[test]
    fn a_spin_without_is_recovery_is_not_counted() {
        let mut bench = Bench::new("<Spin is_recovery=\"false\"/>");
        bench.action::<Spin>("spin", |_| Plan::success());
        assert_eq!(bench.run(10), Success);
        assert_eq!(bench.recoveries(), 0);
    }

    #[test]
    fn recoveries_in_a_subtree_count_at_the_root() {
        let mut bench = Bench::new(
            r#"<root BTCPP_format="4" main_tree_to_execute="Main">
                 <BehaviorTree ID="Main"><SubTree ID="Recover"/></BehaviorTree>
                 <BehaviorTree ID="Recover"><Spin/></BehaviorTree>
               </root>"#,
        );
        bench.action::<Spin>("spin", |_| Plan::success());
        assert_eq!(bench.run(10), Success);
        assert_eq!(bench.recoveries(), 1);
    }
}
