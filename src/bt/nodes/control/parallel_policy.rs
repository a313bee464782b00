//! `ParallelMofN` and `ParallelMajority`: tick all children to completion and count the results.

use crate::bt::{Behavior, Context, HaltReason, Input, Node, NodeKind, NodeStatus, Ports, Thrown, Tick};

/// Succeeds if M of N children succeed.
#[derive(Debug)]
pub struct ParallelMofN {
    m: Input<i32>,
}

impl Node for ParallelMofN {
    const ID: &'static str = "ParallelMofN";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks all N children that have not completed yet, at every tick, independent of \
        their results. SUCCESS after M successes. FAILURE after N-M+1 failures, when M is impossible. Children \
        that are still running are then halted. Skipped children do not count. This is the classical parallel \
        node; Parallel decides during its round instead of after it.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let m = ports
            .input::<i32>("m")
            .required()
            .doc("Number of children that must succeed; -1: all.")
            .bind();
        let children = ports.children();
        if let Some(&wanted) = m.literal()
            && children > 0
            && (wanted == 0 || wanted < -1 || wanted > 0 && wanted as usize > children)
        {
            ports.problem_of("m", format!("m is {wanted} and there are {children} children"));
        }
        Self { m }
    }
}

impl Behavior for ParallelMofN {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let wanted = self.m.require(cx)?;
        let votes = vote(cx)?;
        if votes.skipped == cx.child_count() {
            return Ok(NodeStatus::Skipped);
        }
        let voters = cx.child_count() - votes.skipped;
        let wanted = usize::try_from(wanted).unwrap_or(voters);
        let outcome = if votes.succeeded >= wanted {
            NodeStatus::Success
        } else if votes.failed + wanted > voters {
            NodeStatus::Failure
        } else {
            return Ok(NodeStatus::Running);
        };
        cx.reset_children();
        Ok(outcome)
    }

    fn honours_priority(&self) -> bool {
        true
    }
}

/// Succeeds if more children succeed than fail.
#[derive(Debug)]
pub struct ParallelMajority;

impl Node for ParallelMajority {
    const ID: &'static str = "ParallelMajority";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks all children that have not completed yet, at every tick, until all have \
        completed. SUCCESS when more children succeeded than failed, FAILURE otherwise. Skipped children do not \
        count. SKIPPED when all were skipped.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for ParallelMajority {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let votes = vote(cx)?;
        if votes.skipped == cx.child_count() {
            return Ok(NodeStatus::Skipped);
        }
        if votes.succeeded + votes.failed + votes.skipped < cx.child_count() {
            return Ok(NodeStatus::Running);
        }
        cx.reset_children();
        Ok(if votes.succeeded > votes.failed {
            NodeStatus::Success
        } else {
            NodeStatus::Failure
        })
    }

    fn honours_priority(&self) -> bool {
        true
    }
}

#[derive(Default)]
struct Votes {
    succeeded: usize,
    failed: usize,
    skipped: usize,
}

/// Ticks every child that has not completed, according to its stored status.
fn vote(cx: &mut Context<'_>) -> Result<Votes, Thrown> {
    let fresh = cx.is_fresh();
    cx.set_status(NodeStatus::Running);
    if fresh {
        cx.order_children()?;
    }
    let mut votes = Votes::default();
    for position in 0..cx.child_count() {
        let mut status = cx.child_status(position);
        if !status.is_completed() {
            status = cx.tick_child(position)?;
        }
        match status {
            NodeStatus::Success => votes.succeeded += 1,
            NodeStatus::Failure => votes.failed += 1,
            NodeStatus::Skipped => {
                // A child that was running and is now skipped no longer counts.
                cx.halt_child(position, HaltReason::Preempted);
                votes.skipped += 1;
            }
            NodeStatus::Running | NodeStatus::Idle => {}
        }
    }
    Ok(votes)
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::node;
    use crate::bt::testing::{Scene, leaf};

    #[test]
    fn m_of_n_successes_succeed_and_fewer_fail() {
        let tree = |a, b, c| {
            node("ParallelMofN")
                .port("m", 2)
                .children([leaf("a", a), leaf("b", b), leaf("c", c)])
        };
        Scene::new(tree("S", "RS", "R")).check(
            "= a b c
             R S R R
             S . S R !c",
        );
        // N-M+1 = 2 failures; the last child is still ticked.
        Scene::new(tree("F", "F", "S")).check(
            "= a b c
             F F F S",
        );
        Scene::new(tree("F", "RS", "RRS")).check(
            "= a b c
             R F R R
             R . S R
             S . . S",
        );
        Scene::new(tree("-", "S", "S")).check(
            "= a b c
             S - S S",
        );
    }

    #[test]
    fn m_must_not_exceed_n() {
        for m in ["0", "3", "-2"] {
            let tree = node("ParallelMofN")
                .port("m", m)
                .children([leaf("a", "S"), leaf("b", "S")]);
            assert!(Scene::new(tree).refused().contains("there are 2 children"), "{m}");
        }
    }

    #[test]
    fn the_majority_decides_when_all_have_completed() {
        let tree = |a, b, c| node("ParallelMajority").children([leaf("a", a), leaf("b", b), leaf("c", c)]);
        Scene::new(tree("S", "F", "RS")).check(
            "= a b c
             R S F R
             S . . S",
        );
        Scene::new(tree("S", "F", "-")).check(
            "= a b c
             F S F -",
        );
        Scene::new(tree("-", "-", "-")).check(
            "= a b c
             - - - -",
        );
    }
}
