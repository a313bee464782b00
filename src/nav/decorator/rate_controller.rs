//! `RateController`: ticks its child at a rate of its own.

use crate::bt::{Behavior, Conduct, Context, Input, Node, NodeKind, NodeStatus, Outcomes, Ports, Tick, Time};

/// Ticks its child at once, then each time a period has passed since its last success.
///
/// Memory: `mark` is the time at which the child is due (nanoseconds), `count` the period (microseconds), `index` whether
/// the child was ticked in this activation. A period beyond 71 minutes is taken as that.
#[derive(Debug)]
pub struct RateController {
    hz: Input<f64>,
}

impl Node for RateController {
    const ID: &'static str = "RateController";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child when it is activated, while the child runs, and each time a period has \
        passed since the child succeeded. In between: RUNNING.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            hz: ports
                .input("hz")
                .unit("Hz")
                .default("10.0")
                .doc("The rate.")
                .bind(),
        }
    }
}

impl Behavior for RateController {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let now = cx.now().as_nanos();
        if cx.is_fresh() {
            let hz = self.hz.require(cx)?;
            let memory = cx.memory();
            // The cast saturates; a rate of zero or less never comes due again.
            memory.count = if hz > 0.0 { (1e6 / hz) as u32 } else { u32::MAX };
            memory.mark = now.saturating_add(u64::from(memory.count) * 1000);
            memory.index = 0;
        }
        cx.set_status(NodeStatus::Running);
        let memory = *cx.memory();
        if memory.index == 1 && now < memory.mark && cx.child_status(0) != NodeStatus::Running {
            cx.wake_at(Time::from_nanos(memory.mark));
            return Ok(NodeStatus::Running);
        }
        cx.memory().index = 1;
        let status = cx.tick_child(0)?;
        if status == NodeStatus::Success {
            cx.memory().mark = now.saturating_add(u64::from(memory.count) * 1000);
        }
        Ok(status)
    }

    fn conduct(&self, kind: NodeKind, children: &[Conduct]) -> Conduct {
        Conduct::of(kind, children).or(Outcomes::RUNNING)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Running};
    use crate::msg::action::Wait;
    use crate::nav::testing::{Bench, Plan};

    #[test]
    fn test_rate_controller() {
        // Kept from being reset between its successes: a pipeline behind which something runs.
        let mut bench = Bench::new(
            "<PipelineSequence><RateController hz=\"1\"><Script code=\"count:=count+1\"/></RateController><Wait/></PipelineSequence>",
        )
        .period(500);
        bench.action::<Wait>("wait", |_| Plan::endless());
        bench.set("count", 0.0);
        let counts: Vec<f64> = (0..7)
            .map(|_| {
                assert_eq!(bench.tick(), Running);
                bench.get("count").unwrap()
            })
            .collect();
        assert_eq!(counts, [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0]);
    }

    #[test]
    fn a_child_that_runs_is_ticked_in_every_tick_and_a_failure_ends_it() {
        let mut bench = Bench::new("<RateController hz=\"0.001\"><Wait/></RateController>");
        bench.action::<Wait>("wait", |_| Plan::abort(0).after(50));
        assert_eq!(bench.run(20), Failure);
        assert_eq!(bench.run(20), Failure, "the next activation ticks it at once");
    }
}
