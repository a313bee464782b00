//! Noticing that the goal has changed.

use std::sync::Arc;

use crate::bt::{Context, Input, Ports};
use crate::msg::{Goals, PoseStamped};

/// The ports `goals` and `goal`; absent, the keys of the same names are read.
#[derive(Debug)]
pub(crate) struct GoalPorts {
    goals: Input<Arc<Goals>>,
    goal: Input<Arc<PoseStamped>>,
}

/// A goal that was seen. Write counters make the common case, nothing written, a comparison of two numbers; only what
/// was written is compared by value, because preemption writes the same goal again where only its time has changed.
#[derive(Default)]
pub(crate) struct SeenGoal {
    sequences: (u64, u64),
    goals: Option<Arc<Goals>>,
    goal: Option<Arc<PoseStamped>>,
}

impl GoalPorts {
    pub(crate) fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            goals: ports
                .input("goals")
                .default("{goals}")
                .doc("The goals to watch, of a navigation through poses.")
                .bind(),
            goal: ports
                .input("goal")
                .default("{goal}")
                .doc("The goal to watch.")
                .bind(),
        }
    }

    fn sequences(&self, cx: &Context<'_>) -> (u64, u64) {
        (self.goals.sequence(cx), self.goal.sequence(cx))
    }

    /// What is there now.
    pub(crate) fn see(&self, cx: &Context<'_>) -> SeenGoal {
        SeenGoal {
            sequences: self.sequences(cx),
            goals: self.goals.get(cx).ok(),
            goal: self.goal.get(cx).ok(),
        }
    }

    /// Whether it differs from what was seen; then, what is there now takes the place of it.
    #[inline]
    pub(crate) fn changed(&self, cx: &Context<'_>, seen: &mut SeenGoal) -> bool {
        seen.sequences != self.sequences(cx) && self.compare(cx, seen)
    }

    #[cold]
    fn compare(&self, cx: &Context<'_>, seen: &mut SeenGoal) -> bool {
        let now = self.see(cx);
        let changed = !same(&now.goals, &seen.goals) || !same(&now.goal, &seen.goal);
        *seen = now;
        changed
    }
}

/// Equality that looks at a shared message only where it is not the same one.
pub(crate) fn same<T: PartialEq>(a: &Option<Arc<T>>, b: &Option<Arc<T>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
        (None, None) => true,
        _ => false,
    }
}

/// Whether an activation is new although the stored status may say so wrongly: a reactive parent resets its other
/// children on every tick of a running sibling, and a condition that then takes its reference anew
/// can never fire (E7; nav2 #6082, #4842). So what was ticked in the tick before is taken to go on.
///
/// `last` is the number of the tick in which the node was last ticked; it is brought up to date.
#[inline]
pub(crate) fn begins_anew(cx: &Context<'_>, last: &mut u64, latch_on_activation: bool) -> bool {
    let tick = cx.tick_number();
    let gap = *last == 0 || tick.saturating_sub(*last) > 1;
    *last = tick;
    cx.is_fresh() && (gap || latch_on_activation)
}
