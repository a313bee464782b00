//! `TimeExpired`: whether a time has passed.

use super::verdict;
use crate::bt::{Behavior, Context, Input, Node, NodeKind, Ports, Tick, Time};
use crate::msg::duration::from_seconds;
use crate::nav::World;
use crate::nav::goal_watch::begins_anew;

/// Measures from when it was activated, or last succeeded.
#[derive(Debug)]
pub struct TimeExpired {
    seconds: Input<f64>,
}

#[derive(Default)]
struct State {
    last: u64,
    start: Time,
}

impl Node for TimeExpired {
    const ID: &'static str = "TimeExpired";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str =
        "SUCCESS each time a time has passed since this node was activated, or last succeeded.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            seconds: ports
                .input("seconds")
                .unit("s")
                .default("1.0")
                .doc("How long.")
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
        let mut last = cx.state::<State>().last;
        let anew = begins_anew(cx, &mut last, latch);
        let state = cx.state::<State>();
        state.last = last;
        let expired = !anew && now.since(state.start) >= period;
        if anew || expired {
            state.start = now;
        }
        Ok(verdict(expired))
    }

    fn rewind(&self, cx: &mut Context<'_>) {
        *cx.state::<State>() = State::default();
    }
}
