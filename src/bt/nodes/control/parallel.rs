//! `Parallel`: ticks all children at every tick, until enough have succeeded or failed.

use crate::bt::{
    Behavior, Context, Dialect, HaltReason, Input, Memory, Node, NodeKind, NodeStatus, Ports, Thrown, Tick,
};

/// Ticks all children and counts successes and failures against two thresholds.
#[derive(Debug)]
pub struct Parallel {
    success: Input<i32>,
    failure: Input<i32>,
    dialect: Dialect,
}

impl Node for Parallel {
    const ID: &'static str = "Parallel";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks all children that have not completed yet, at every tick. SUCCESS as soon as \
        the required number of children have succeeded. FAILURE as soon as the given number of children have \
        failed or success is impossible. Children that are still running are then halted. A negative threshold \
        counts from the number of children: -1 means all.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let dialect = ports.dialect();
        let (success, failure) = match dialect {
            Dialect::V4 => (
                ports
                    .input::<i32>("success_count")
                    .default("-1")
                    .doc("Number of children that must succeed; -1: all.")
                    .bind(),
                ports
                    .input::<i32>("failure_count")
                    .default("1")
                    .doc("Number of failed children that makes the node fail; -1: all.")
                    .bind(),
            ),
            Dialect::V3 => (
                ports
                    .input::<i32>("success_threshold")
                    .required()
                    .doc("Number of children that must succeed; -1: all.")
                    .bind(),
                ports
                    .input::<i32>("failure_threshold")
                    .default("1")
                    .doc("Number of failed children that makes the node fail; -1: all.")
                    .bind(),
            ),
        };
        check(ports, &success);
        check(ports, &failure);
        Self {
            success,
            failure,
            dialect,
        }
    }
}

impl Behavior for Parallel {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let count = cx.child_count();
        let given = self.success.require(cx)?;
        let success = threshold(given, count);
        let failure = threshold(self.failure.require(cx)?, count);
        for (port, threshold) in [(&self.success, success), (&self.failure, failure)] {
            if threshold > count {
                return Err(refuse(cx, port.name(), threshold, count));
            }
        }
        match self.dialect {
            Dialect::V4 => tick_v4(cx, given < 0, success, failure),
            Dialect::V3 => tick_v3(cx, success, failure),
        }
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        *cx.memory() = Memory::default();
        cx.halt_children(reason);
    }

    fn honours_priority(&self) -> bool {
        true
    }
}

/// `memory.count` is the number of successes, `memory.index` the number of failures. The stored statuses tell which
/// children completed, because only this node resets them.
fn tick_v4(cx: &mut Context<'_>, skips_count: bool, success: usize, failure: usize) -> Tick {
    let count = cx.child_count();
    if cx.is_fresh() {
        *cx.memory() = Memory::default();
    }
    cx.set_status(NodeStatus::Running);
    if cx.memory().count == 0 && cx.memory().index == 0 {
        cx.order_children()?;
    }
    let mut memory = *cx.memory();
    let mut skipped = 0;
    for position in 0..count {
        if !cx.child_status(position).is_completed() {
            match cx.tick_child(position) {
                Ok(NodeStatus::Success) => memory.count += 1,
                Ok(NodeStatus::Failure) => memory.index += 1,
                Ok(NodeStatus::Skipped) => skipped += 1,
                Ok(NodeStatus::Running | NodeStatus::Idle) => {}
                Err(thrown) => return super::walk::keep(cx, memory, thrown),
            }
        }
        // BehaviorTree.CPP checks after each child, so low thresholds prevent later children from starting.
        let (succeeded, failed) = (memory.count as usize, memory.index as usize);
        let outcome = if succeeded >= success || (skips_count && succeeded + skipped >= success) {
            NodeStatus::Success
        } else if count - failed < success || failed == failure {
            NodeStatus::Failure
        } else {
            continue;
        };
        *cx.memory() = Memory::default();
        cx.reset_children();
        return Ok(outcome);
    }
    *cx.memory() = memory;
    Ok(if skipped == count {
        NodeStatus::Skipped
    } else {
        NodeStatus::Running
    })
}

/// Version 3 counts again in every tick and compares the counts with the thresholds for equality.
fn tick_v3(cx: &mut Context<'_>, success: usize, failure: usize) -> Tick {
    let count = cx.child_count();
    if cx.is_fresh() {
        cx.order_children()?;
    }
    let (mut succeeded, mut failed) = (0, 0);
    for position in 0..count {
        let mut status = cx.child_status(position);
        if !status.is_completed() {
            status = cx.tick_child(position)?;
        }
        let ends = match status {
            NodeStatus::Success => {
                succeeded += 1;
                succeeded == success
            }
            NodeStatus::Failure => {
                failed += 1;
                failed > count - success || failed == failure
            }
            NodeStatus::Running | NodeStatus::Skipped | NodeStatus::Idle => false,
        };
        if ends {
            cx.reset_children();
            return Ok(status);
        }
    }
    Ok(NodeStatus::Running)
}

/// The threshold as a number of children. Negative values count from the number of children.
pub(super) fn threshold(given: i32, children: usize) -> usize {
    match usize::try_from(given) {
        Ok(threshold) => threshold,
        Err(_) => (children + 1).saturating_sub(given.unsigned_abs() as usize),
    }
}

/// Refuses a fixed threshold that exceeds the number of children.
pub(super) fn check(ports: &mut Ports<'_>, port: &Input<i32>) {
    let children = ports.children();
    if let Some(&threshold) = port.literal()
        && children > 0
        && threshold > 0
        && threshold as usize > children
    {
        let name = port.name();
        let fault =
            format!("{name} is {threshold} and there are only {children} children: write at most {children}");
        ports.problem_of(name, fault);
    }
}

#[cold]
pub(super) fn refuse(cx: &mut Context<'_>, name: &str, threshold: usize, children: usize) -> Thrown {
    cx.throw(format!(
        "{name} is {threshold} and there are only {children} children"
    ))
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus;
    use crate::bt::builder::{NodeBuilder, parallel, reactive_sequence};
    use crate::bt::testing::{Running, Scene, leaf};

    fn three(success: &str, failure: &str) -> NodeBuilder {
        parallel([leaf("a", "S"), leaf("b", "RF"), leaf("c", "RRS")])
            .port("success_count", success)
            .port("failure_count", failure)
    }

    #[test]
    fn completed_children_are_not_ticked_again_and_the_rest_is_halted_at_the_end() {
        Scene::new(parallel([leaf("a", "S"), leaf("b", "RS"), leaf("c", "R")]).port("success_count", 2))
            .check(
                "= a b c
             R S R R
             S . S . !c
             R S R R",
            );
        // A failure during the tick: the last child is not ticked.
        Scene::new(three("-1", "1")).check(
            "= a b c
             R S R R
             F . F . !c",
        );
        Scene::new(three("2", "2")).check(
            "= a b c
             R S R R
             R . F R
             S . . S",
        );
        Scene::new(three("3", "3")).check(
            "= a b c
             R S R R
             F . F . !c",
        );
    }

    #[test]
    fn skipped_children_are_ticked_again_and_count_with_a_negative_threshold() {
        Scene::new(parallel([leaf("a", "-"), leaf("b", "RS")])).check(
            "= a b
             R - R
             S - S",
        );
        Scene::new(parallel([leaf("a", "-"), leaf("b", "-")]).port("success_count", 2)).check(
            "= a b
             - - -
             - - -",
        );
        Scene::new(parallel([leaf("a", "-"), leaf("b", "-")])).check(
            "= a b
             S - -",
        );
    }

    #[test]
    fn a_halt_resets_completed_children() {
        let inner = parallel([leaf("a", "S"), leaf("b", "R")]);
        Scene::new(reactive_sequence([leaf("ok", "SFS"), inner])).check(
            "= ok a b
             R S S R
             F F . . !b
             R S S R",
        );
    }

    #[test]
    fn thresholds_above_the_number_of_children_are_refused() {
        assert_eq!(
            Scene::new(three("4", "1")).refused(),
            "success_count is 4 and there are only 3 children: write at most 3"
        );
        let scene = Scene::new(three("{wanted}", "1")).set("wanted", 4_i32);
        let mut run = Running::new(scene.compile().unwrap(), false);
        run.check(
            "= a
             E .",
        );
        assert!(run.error.contains("success_count is 4"), "{}", run.error);
    }

    #[test]
    fn version_3_compares_counts_and_thresholds_for_equality() {
        let tree = || parallel([leaf("a", "S"), leaf("b", "RS"), leaf("c", "R")]);
        Scene::new(tree().port("success_threshold", 2)).v3().check(
            "= a b c
             R S R R
             S . S . !c",
        );
        // Never equal: it runs forever.
        Scene::new(tree().port("success_threshold", 0)).v3().check(
            "= a b c
             R S R R
             R . S R
             R . . R",
        );
        assert!(Scene::new(tree()).v3().refused().contains("success_threshold"));
    }

    #[test]
    fn a_failure_that_makes_success_impossible_ends_version_3() {
        let tree = parallel([leaf("a", "R"), leaf("b", "F"), leaf("c", "R")])
            .port("success_threshold", 3)
            .port("failure_threshold", 3);
        let tree = Scene::new(tree).v3().compile().unwrap();
        let mut run = Running::new(tree, false);
        run.check(
            "= a b c
             F R F . !a",
        );
        assert_eq!(run.tree.root_status(), NodeStatus::Idle);
    }
}
