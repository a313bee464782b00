//! `RateController`: ticks its child at a rate of its own.

use crate::bt::{Behavior, Context, Input, Node, NodeKind, NodeStatus, Ports, Tick, Time};

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
}
