//! `PersistentSequence`: a sequence that stores its position on the blackboard. A node of Nav2's main branch.

use crate::bt::{Behavior, Context, HaltReason, InOut, Node, NodeKind, NodeStatus, Ports, Tick};

/// A sequence that continues at its position, even after a halt.
#[derive(Debug)]
pub struct PersistentSequence {
    index: InOut<i32>,
}

impl Node for PersistentSequence {
    const ID: &'static str = "PersistentSequence";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks its children in order. The index of the current child is on the blackboard, \
        so a halt or the end of a navigation does not restart the sequence; a failure does. If another node writes \
        the index, the running child is halted, and the children run from there. To start with the first child, \
        write 0 before.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            index: ports
                .inout("current_child_idx")
                .doc("Index of the current child, from 0. Must be written before the first tick.")
                .required()
                .bind(),
        }
    }
}

impl Behavior for PersistentSequence {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let start = self.index.input.require(cx)?;
        let count = cx.child_count();
        let Ok(mut position) = usize::try_from(start) else {
            return Err(cx.throw(format!("current_child_idx is {start}; it must be 0 or greater")));
        };
        // Another node has written the index: the child that runs must not run beside the new one (guarantee G2), and a
        // child that ended before must run again.
        if cx.status() == NodeStatus::Running && cx.memory().index as usize != position {
            cx.halt_children(HaltReason::Preempted);
        }
        cx.set_status(NodeStatus::Running);
        while position < count {
            match cx.tick_child(position)? {
                NodeStatus::Running => {
                    cx.memory().index = u32::try_from(position).unwrap_or(u32::MAX);
                    return Ok(NodeStatus::Running);
                }
                NodeStatus::Failure => {
                    cx.reset_children();
                    self.index.output.set(cx, 0)?;
                    return Ok(NodeStatus::Failure);
                }
                NodeStatus::Success | NodeStatus::Skipped | NodeStatus::Idle => {}
            }
            position += 1;
            self.index
                .output
                .set(cx, i32::try_from(position).unwrap_or(i32::MAX))?;
        }
        cx.reset_children();
        self.index.output.set(cx, 0)?;
        // Also if all children were skipped. Those before a halt are unknown, and Nav2 does not check.
        Ok(NodeStatus::Success)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Running, Success};
    use crate::msg::action::{Spin, Wait};
    use crate::nav::testing::{Bench, Plan};

    const TREE: &str =
        "<PersistentSequence current_child_idx=\"{index}\"><Wait/><Spin/></PersistentSequence>";

    #[test]
    fn a_halt_keeps_the_position_and_a_failure_resets_it() {
        let mut bench = Bench::new(TREE);
        assert!(
            bench.try_tick().is_err(),
            "current_child_idx must be written first"
        );
        bench.halt();
        bench.action::<Wait>("wait", |_| Plan::success());
        bench.action::<Spin>("spin", |_| Plan::endless());
        bench.set("index", 0_i32);
        assert_eq!(bench.run(10), Running);
        assert_eq!(bench.get::<i32>("index"), Some(1));
        bench.halt();
        bench.action::<Spin>("spin", |_| Plan::success());
        assert_eq!(bench.run(10), Success);
        assert_eq!(
            (bench.goals::<Wait>("wait").len(), bench.get::<i32>("index")),
            (1, Some(0))
        );
        bench.action::<Spin>("spin", |_| Plan::abort(703));
        assert_eq!(bench.run(10), Failure);
        assert_eq!(bench.get::<i32>("index"), Some(0));
    }

    #[test]
    fn g2_an_index_from_another_node_halts_the_running_child() {
        let mut bench = Bench::new(TREE);
        bench.action::<Wait>("wait", |_| Plan::endless());
        bench.action::<Spin>("spin", |_| Plan::endless());
        for (index, active) in [(0, (1, 0)), (1, (0, 1)), (0, (1, 0))] {
            bench.set("index", index);
            assert_eq!(bench.run(5), Running);
            assert_eq!((bench.active("wait"), bench.active("spin")), active);
        }
        let order = [
            "goal to wait",
            "cancel to wait",
            "goal to spin",
            "cancel to spin",
            "goal to wait",
        ];
        assert_eq!(bench.order(), order);
    }

    #[test]
    fn an_earlier_index_from_another_node_repeats_children_that_have_ended() {
        let mut bench = Bench::new(TREE);
        bench.action::<Wait>("wait", |_| Plan::success());
        bench.action::<Spin>("spin", |_| Plan::endless());
        for _ in 0..2 {
            bench.set("index", 0);
            assert_eq!(bench.run(8), Running);
        }
        assert_eq!(bench.goals::<Wait>("wait").len(), 2);
        assert_eq!((bench.goals::<Spin>("spin").len(), bench.active("spin")), (2, 1));
    }

    #[test]
    fn skipped_children_are_passed_over_and_all_skipped_is_a_success() {
        let mut bench = Bench::new(&TREE.replace("/>", " _skipIf=\"true\"/>"));
        bench.set("index", 0_i32);
        assert_eq!(bench.tick(), Success);
        assert_eq!(bench.get::<i32>("index"), Some(0));
    }
}
