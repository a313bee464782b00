//! `TimeExpired`: checks whether a time has passed.

use super::verdict;
use crate::bt::{Behavior, Context, Input, Node, NodeEffects, NodeKind, PortRange, Ports, Tick, Time};
use crate::msg::duration::from_seconds;
use crate::nav::World;
use crate::nav::goal_watch::is_restarted;

/// Measures the time since its activation or last success.
#[derive(Debug)]
pub struct TimeExpired {
    seconds: Input<f64>,
}

#[derive(Default)]
struct TimerState {
    last: u64,
    start: Time,
}

impl Node for TimeExpired {
    const ID: &'static str = "TimeExpired";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str =
        "SUCCESS each time the given time has passed since the activation or last success of this node.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            seconds: ports
                .input("seconds")
                .range(PortRange::at_least(0.0))
                .unit("s")
                .default("1.0")
                .doc("Period.")
                .bind(),
        }
    }
}

impl Behavior for TimeExpired {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let latch = cx
            .resource::<World>()
            .is_some_and(|world| world.settings.latch_on_activation);
        let period = from_seconds(self.seconds.require(cx)?);
        let now = cx.now();
        let mut last = cx.state::<TimerState>().last;
        let restarted = is_restarted(cx, &mut last, latch);
        let state = cx.state::<TimerState>();
        state.last = last;
        let expired = !restarted && now.since(state.start) >= period;
        if restarted || expired {
            state.start = now;
        }
        Ok(verdict(expired))
    }

    fn node_effects(&self, kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::of(kind, children).latching_on_request()
    }

    fn rewind(&self, cx: &mut Context<'_>) {
        *cx.state::<TimerState>() = TimerState::default();
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Running, Success};
    use crate::msg::action::Spin;
    use crate::nav::testing::{Bench, Plan};

    #[test]
    fn test_time_expired() {
        let mut bench = Bench::new("<TimeExpired seconds=\"1.0\"/>").period(500);
        assert_eq!(bench.tick(), Failure);
        for tick in 1..20 {
            assert_eq!(
                bench.tick(),
                if tick % 2 == 0 { Success } else { Failure },
                "{tick}"
            );
        }
    }

    #[test]
    fn it_fires_beside_a_running_sibling() {
        for (latch, status) in [(false, Success), (true, Running)] {
            let mut bench =
                Bench::new("<ReactiveFallback><TimeExpired seconds=\"0.1\"/><Spin/></ReactiveFallback>");
            bench.world().settings.latch_on_activation = latch;
            bench.action::<Spin>("spin", |_| Plan::endless());
            assert_eq!(bench.run(50), status);
        }
    }

    #[test]
    fn a_new_activation_restarts_the_time() {
        let mut bench = Bench::new("<TimeExpired seconds=\"0.1\"/>");
        assert_eq!(bench.tick(), Failure);
        bench.halt();
        bench.wait(500);
        assert_eq!(bench.tick(), Failure);
    }
}
