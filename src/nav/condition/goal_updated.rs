//! `GoalUpdated`: checks whether the goal has changed since the activation of this node.

use super::verdict;
use crate::bt::{Behavior, Context, Node, NodeEffects, NodeKind, Ports, Tick};
use crate::nav::World;
use crate::nav::goal_watch::{GoalPorts, SeenGoal, is_restarted};

/// Compares the goal with the last seen one.
#[derive(Debug)]
pub struct GoalUpdated {
    goal: GoalPorts,
}

#[derive(Default)]
struct GoalsSeen {
    last: u64,
    seen: SeenGoal,
}

impl Node for GoalUpdated {
    const ID: &'static str = "GoalUpdated";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS once for each change of the goal since the activation of this node. An \
        activation lasts as long as the node is ticked in consecutive ticks, even if a reactive parent resets it \
        in between.";

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
        let mut state = cx.take_state::<GoalsSeen>();
        let changed = if is_restarted(cx, &mut state.last, latch) {
            state.seen = self.goal.see(cx);
            false
        } else {
            self.goal.changed(cx, &mut state.seen)
        };
        cx.put_state(state);
        Ok(verdict(changed))
    }

    fn node_effects(&self, kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::of(kind, children).latching_on_request()
    }

    fn rewind(&self, cx: &mut Context<'_>) {
        *cx.state::<GoalsSeen>() = GoalsSeen::default();
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Idle, Running, Success};
    use crate::msg::action::Spin;
    use crate::msg::{Goals, Pose, PoseStamped};
    use crate::nav::testing::{Bench, Plan};
    use std::sync::Arc;

    fn pose(x: f64) -> Arc<PoseStamped> {
        Arc::new(PoseStamped::in_frame("map", Pose::planar(x, 0.0, 0.0)))
    }

    #[test]
    fn test_goal_updated() {
        let mut bench = Bench::new("<GoalUpdated/>");
        bench.set("goal", pose(0.0));
        assert_eq!(bench.status("GoalUpdated"), Idle);
        assert_eq!(bench.tick(), Failure);
        bench.set("goal", pose(1.0));
        assert_eq!(bench.tick(), Success);
        assert_eq!(bench.tick(), Failure);
        bench.set("goal", pose(1.0));
        assert_eq!(bench.tick(), Failure, "written again, and the same");
        bench.set("goals", Arc::new(Goals(vec![(*pose(1.0)).clone()])));
        assert_eq!(bench.tick(), Success);
        assert_eq!(bench.tick(), Failure);
    }

    #[test]
    fn nav2_6082_a_new_goal_ends_a_recovery() {
        for (latch, status) in [(false, Success), (true, Running)] {
            let mut bench = Bench::new("<ReactiveFallback><GoalUpdated/><Spin/></ReactiveFallback>");
            bench.world().settings.latch_on_activation = latch;
            bench.action::<Spin>("spin", |_| Plan::endless());
            bench.set("goal", pose(0.0));
            assert_eq!(bench.run(5), Running);
            bench.set("goal", pose(1.0));
            assert_eq!(bench.tick(), status);
            bench.wait(100);
            assert_eq!(bench.active("spin"), usize::from(latch));
        }
    }

    #[test]
    fn a_change_between_two_activations_does_not_count() {
        let mut bench = Bench::new(
            "<Fallback><Spin/><ReactiveFallback><GoalUpdated/><Spin/></ReactiveFallback></Fallback>",
        );
        bench.set("goal", pose(0.0));
        bench.action::<Spin>("spin", |_| Plan::abort(703));
        // The goal changes between the two recoveries; the second one must still run.
        assert_eq!(bench.run(20), Failure);
        bench.set("goal", pose(1.0));
        assert_eq!(bench.run(20), Failure);
        bench.halt();
        bench.set("goal", pose(2.0));
        assert_eq!(bench.run(20), Failure);
    }
}
