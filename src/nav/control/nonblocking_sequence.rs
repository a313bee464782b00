//! `NonblockingSequence`: ticks all children in every tick, in order. A node of Nav2's main branch.

use crate::bt::{Behavior, Context, Node, NodeKind, NodeStatus, Ports, Tick};

/// Ticks all children in every tick.
#[derive(Debug)]
pub struct NonblockingSequence;

impl Node for NonblockingSequence {
    const ID: &'static str = "NonblockingSequence";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks all its children in every tick. SUCCESS when all succeed in one tick, \
        FAILURE as soon as one fails.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for NonblockingSequence {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let count = cx.child_count();
        let mut succeeded = 0;
        cx.set_status(NodeStatus::Running);
        for position in 0..count {
            match cx.tick_child(position)? {
                NodeStatus::Running => {}
                NodeStatus::Success => succeeded += 1,
                NodeStatus::Failure => {
                    cx.reset_children();
                    return Ok(NodeStatus::Failure);
                }
                status @ (NodeStatus::Skipped | NodeStatus::Idle) => {
                    let child = cx.child_path(position);
                    return Err(cx.throw(format!(
                        "the child `{child}` returned {status}; only SUCCESS, FAILURE and RUNNING are allowed"
                    )));
                }
            }
        }
        if succeeded == count {
            cx.reset_children();
            return Ok(NodeStatus::Success);
        }
        Ok(NodeStatus::Running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::builder::node;
    use crate::bt::testing::{Scene, leaf};

    fn scene(a: &str, b: &str) -> Scene {
        let sequence = node(NonblockingSequence::ID)
            .child(leaf("a", a))
            .child(leaf("b", b));
        Scene::new(sequence).registry(|registry| registry.register::<NonblockingSequence>().unwrap())
    }

    #[test]
    fn all_children_are_ticked_in_every_tick() {
        scene("RSS", "SRS").check("= a b\nR R S\nR S R\nS S S");
        scene("R", "RF").check("= a b\nR R R\nF R F !a");
        scene("F", "S").check("= a b\nF F .");
        scene("-", "S").check("= a b\nE - .");
    }
}
