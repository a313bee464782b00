//! `Wait`: waits without moving.

use crate::bt::{Context, Input, PortRange, Ports, Thrown};
use crate::msg::action as actions;
use crate::msg::duration::from_seconds;
use crate::nav::action_node::{ActionNode, Refusal};
use crate::nav::endpoint::{path_of, world};
use crate::nav::recovery_count::count_recovery;

/// Requests a wait from the behavior server.
#[derive(Debug)]
pub struct Wait {
    duration: Input<f64>,
}

impl ActionNode for Wait {
    type Action = actions::Wait;
    const ID: &'static str = "Wait";
    const DOC: &'static str = "Waits without moving. Counts as a recovery.";
    const SERVER: &'static str = "wait";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            duration: ports
                .input("wait_duration")
                .range(PortRange::at_least(0.0))
                .unit("s")
                .default("1.0")
                .doc("Duration. The sign of a negative duration is ignored.")
                .bind(),
        }
    }

    fn activated(&self, cx: &mut Context<'_>) -> Result<(), Thrown> {
        count_recovery(cx)
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::WaitGoal, Refusal> {
        let seconds = self.duration.require(cx)?;
        if seconds <= 0.0 {
            let path = path_of(cx);
            world!(cx).note(&path, format!("wait_duration is {seconds}: the sign is ignored"));
        }
        Ok(actions::WaitGoal {
            time: from_seconds(seconds.abs()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::actions::Wait;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::nav::testing::{Bench, Plan};

    #[test]
    fn test_wait_action_takes_the_time_without_its_sign() {
        for (xml, seconds) in [
            ("<Wait/>", 1),
            ("<Wait wait_duration=\"10\"/>", 10),
            ("<Wait wait_duration=\"-5.0\"/>", 5),
        ] {
            let mut bench = Bench::new(xml);
            bench.action::<Wait>("wait", |_| Plan::success());
            assert_eq!(bench.run(10), Success);
            assert_eq!(bench.goals::<Wait>("wait")[0].time.as_secs(), seconds);
            assert_eq!(bench.recoveries(), 1);
            let told = bench.notes();
            assert_eq!(told.is_empty(), !xml.contains('-'), "{told:?}");
        }
    }

    #[test]
    fn test_wait_action_rejected_and_not_sent() {
        let mut bench = Bench::new("<Wait error_code_id=\"{code}\"/>");
        bench.action::<Wait>("wait", |_| Plan::reject());
        assert_eq!(bench.run(10), Failure);
        assert_eq!(bench.get::<u16>("code"), Some(1));

        let mut bench = Bench::new("<Wait error_code_id=\"{code}\" server_timeout=\"50\"/>");
        assert_eq!(bench.run(20), Failure);
        assert_eq!(bench.get::<u16>("code"), Some(2), "there is no server");

        let mut bench = Bench::new("<Wait error_code_id=\"{code}\" server_timeout=\"50\"/>");
        bench.action::<Wait>("wait", |_| Plan::silent());
        assert_eq!(bench.run(20), Failure);
        assert_eq!(bench.get::<u16>("code"), Some(741), "Nav2 main's TIMEOUT of Wait");
    }
}
