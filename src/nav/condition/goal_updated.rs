//! `GoalUpdated`: whether the goal has changed since this node was activated.

use super::verdict;
use crate::bt::{Behavior, Context, Node, NodeKind, Ports, Tick};
use crate::nav::World;
use crate::nav::goal_watch::{GoalPorts, SeenGoal, begins_anew};

/// Compares the goal with the one it saw.
#[derive(Debug)]
pub struct GoalUpdated {
    goal: GoalPorts,
}

#[derive(Default)]
struct State {
    last: u64,
    seen: SeenGoal,
}

impl Node for GoalUpdated {
    const ID: &'static str = "GoalUpdated";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS once for each change of the goal since this node was activated. An activation \
        lasts as long as the node is ticked tick after tick, also where a reactive parent resets it in between.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            goal: GoalPorts::bind(ports),
        }
    }
}

impl Behavior for GoalUpdated {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let latch = cx
            .resource::<World>()
            .is_some_and(|world| world.settings.latch_on_activation);
        let mut state = cx.take_state::<State>();
        let changed = if begins_anew(cx, &mut state.last, latch) {
            state.seen = self.goal.see(cx);
            false
        } else {
            self.goal.changed(cx, &mut state.seen)
        };
        cx.put_state(state);
        Ok(verdict(changed))
    }

    fn rewind(&self, cx: &mut Context<'_>) {
        *cx.state::<State>() = State::default();
    }
}
