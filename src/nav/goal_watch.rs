//! Detects changes of the goal.

use std::sync::Arc;

use crate::bt::{Context, Input, Ports};
use crate::msg::{Goals, PoseStamped};

/// The ports `goals` and `goal`. Without attributes, they read the keys of the same names.
#[derive(Debug)]
pub(crate) struct GoalPorts {
    goals: Input<Arc<Goals>>,
    goal: Input<Arc<PoseStamped>>,
}

/// A goal that was read. In the common case nothing was written, and the check compares two write counts. Only a
/// written goal is compared by value, because a preemption may write the same goal with another time.
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
                .doc("Goals to watch, for a navigation through poses.")
                .bind(),
            goal: ports.input("goal").default("{goal}").doc("Goal to watch.").bind(),
        }
    }

    fn sequences(&self, cx: &Context<'_>) -> (u64, u64) {
        (self.goals.sequence(cx), self.goal.sequence(cx))
    }

    /// The current goal.
    pub(crate) fn see(&self, cx: &Context<'_>) -> SeenGoal {
        SeenGoal {
            sequences: self.sequences(cx),
            goals: self.goals.get(cx).ok(),
            goal: self.goal.get(cx).ok(),
        }
    }

    /// Whether the goal differs from `seen`, which then becomes the current goal.
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

/// Equality that compares the contents only of different objects.
pub(crate) fn same<T: PartialEq>(a: &Option<Arc<T>>, b: &Option<Arc<T>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
        (None, None) => true,
        _ => false,
    }
}

/// Whether an activation is really new. A reactive parent resets its other children in every tick of a running sibling;
/// a condition that then takes a new reference can never fire (E7; nav2 #6082, #4842). Therefore a node that was ticked
/// in the previous tick counts as continued.
///
/// `last` is the number of the tick in which the node was last ticked. This function updates it.
#[inline]
pub(crate) fn is_restarted(cx: &Context<'_>, last: &mut u64, latch_on_activation: bool) -> bool {
    let tick = cx.tick_number();
    let gap = *last == 0 || tick.saturating_sub(*last) > 1;
    *last = tick;
    cx.is_fresh() && (gap || latch_on_activation)
}
