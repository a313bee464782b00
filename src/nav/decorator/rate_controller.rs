//! `RateController`: ticks its child at a given rate.

use crate::bt::{
    Behavior, Context, Input, Memory, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, PortRange, Ports,
    Tick, Time,
};

/// Ticks its child at once, then once per period after its last success.
///
/// Memory: `mark` is the time of the next tick of the child (nanoseconds; `NEVER`). `index` contains the flag `TICKED`
/// (the child was ticked in this activation) and the upper half of the period (nanoseconds; `NEVER`). `count` is the
/// lower half.
#[derive(Debug)]
pub struct RateController {
    hz: Input<f64>,
}

/// An infinite period, and its end time.
const NEVER: u64 = u64::MAX;
/// The bit of `memory.index` that the longest period, 292 years, does not use.
const TICKED: u32 = 1 << 31;

/// The period of a rate. Infinite for a rate of zero or less, and for a rate whose period exceeds the clock.
fn period(hz: f64) -> u64 {
    let nanoseconds = 1e9 / hz;
    if hz > 0.0 && nanoseconds < 9.2e18 {
        nanoseconds as u64
    } else {
        NEVER
    }
}

/// Stores the period. The child has not been ticked yet.
fn keep_period(memory: &mut Memory, period: u64) {
    memory.index = (period >> 32) as u32 & !TICKED;
    memory.count = period as u32;
}

/// The time of the next tick of the child, one period from now.
fn due(memory: Memory, now: u64) -> u64 {
    let period = u64::from(memory.index & !TICKED) << 32 | u64::from(memory.count);
    if period == NEVER >> 1 {
        NEVER
    } else {
        now.saturating_add(period)
    }
}

impl Node for RateController {
    const ID: &'static str = "RateController";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child when it is activated, while the child is running, and each time a \
        period has passed since the child succeeded. Otherwise RUNNING.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            hz: ports
                .input("hz")
                .range(PortRange::above(0.0))
                .unit("Hz")
                .default("10.0")
                .doc("Tick rate.")
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
            keep_period(memory, period(hz));
            memory.mark = due(*memory, now);
        }
        cx.set_status(NodeStatus::Running);
        let memory = *cx.memory();
        let ticked = memory.index & TICKED != 0;
        if ticked && now < memory.mark && cx.child_status(0) != NodeStatus::Running {
            if memory.mark != NEVER {
                cx.wake_at(Time::from_nanos(memory.mark));
            }
            return Ok(NodeStatus::Running);
        }
        cx.memory().index |= TICKED;
        let status = cx.tick_child(0)?;
        if status == NodeStatus::Success {
            cx.memory().mark = due(memory, now);
        }
        Ok(status)
    }

    fn node_effects(&self, kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::of(kind, children).or(Outcomes::RUNNING)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Running};
    use crate::msg::action::Wait;
    use crate::nav::testing::{Bench, Plan};

    #[test]
    fn test_rate_controller() {
        // Not reset between its successes: a pipeline with a running later child.
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
    fn long_periods_are_kept_and_a_rate_of_zero_never_ticks() {
        // Once in 10,000 s, and never.
        for (hz, after_10_000_s) in [("0.0001", 2.0), ("0", 1.0), ("-1", 1.0), ("1e-300", 1.0)] {
            let mut bench = Bench::new(&format!(
                "<PipelineSequence><RateController hz=\"{hz}\"><Script code=\"count:=count+1\"/></RateController>\
                 <Wait/></PipelineSequence>"
            ));
            bench.action::<Wait>("wait", |_| Plan::endless());
            bench.set("count", 0.0);
            bench.tick();
            for (milliseconds, count) in [(4_400_000, 1.0), (5_590_000, 1.0), (20_000, after_10_000_s)] {
                bench.wait(milliseconds);
                assert_eq!(bench.tick(), Running);
                assert_eq!(bench.get("count"), Some(count), "{hz} Hz");
            }
        }
    }

    #[test]
    fn a_running_child_is_ticked_in_every_tick_and_a_failure_ends_the_node() {
        let mut bench = Bench::new("<RateController hz=\"0.001\"><Wait/></RateController>");
        bench.action::<Wait>("wait", |_| Plan::abort(0).after(50));
        assert_eq!(bench.run(20), Failure);
        assert_eq!(bench.run(20), Failure, "the next activation ticks it at once");
    }
}
