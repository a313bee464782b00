//! `PipelineSequence`: a sequence that keeps ticking earlier children.

use crate::bt::{Behavior, Context, HaltReason, Node, NodeKind, NodeStatus, Ports, Tick};

/// Ticks all children from the first to the last one that was reached.
///
/// Memory: `index` is the last child that was running.
#[derive(Debug)]
pub struct PipelineSequence;

impl Node for PipelineSequence {
    const ID: &'static str = "PipelineSequence";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks its children in order, in every tick from the first. A running child does \
        not block the children after it once they were reached. SUCCESS when the last child succeeds, FAILURE as \
        soon as one fails.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for PipelineSequence {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let count = cx.child_count();
        let mut skipped = 0;
        for position in 0..count {
            match cx.tick_child(position)? {
                NodeStatus::Failure => {
                    cx.reset_children();
                    cx.memory().index = 0;
                    return Ok(NodeStatus::Failure);
                }
                NodeStatus::Running => {
                    if position >= cx.memory().index as usize {
                        cx.memory().index = position as u32;
                        return Ok(NodeStatus::Running);
                    }
                }
                NodeStatus::Skipped => skipped += 1,
                NodeStatus::Success | NodeStatus::Idle => {}
            }
        }
        cx.reset_children();
        cx.memory().index = 0;
        Ok(if skipped == count {
            NodeStatus::Skipped
        } else {
            NodeStatus::Success
        })
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        cx.halt_children(reason);
        cx.memory().index = 0;
    }

    fn rewind(&self, cx: &mut Context<'_>) {
        cx.memory().index = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::testing::{Scene, leaf};

    fn pipeline(children: [(&'static str, &str); 3]) -> Scene {
        let children = children.map(|(name, outcomes)| leaf(name, outcomes));
        let node = children
            .into_iter()
            .fold(crate::bt::builder::node(PipelineSequence::ID), |node, child| {
                node.child(child)
            });
        Scene::new(node).registry(|registry| registry.register::<PipelineSequence>().unwrap())
    }

    #[test]
    fn test_pipeline_sequence_failure_of_any_child() {
        pipeline([("a", "F"), ("b", "S"), ("c", "S")]).check("= a b c\nF F . .");
        pipeline([("a", "S"), ("b", "F"), ("c", "S")]).check("= a b c\nF S F .");
        pipeline([("a", "S"), ("b", "S"), ("c", "F")]).check("= a b c\nF S S F");
        pipeline([("a", "SF"), ("b", "R"), ("c", "S")]).check("= a b c\nR S R .\nF F . . !b");
    }

    #[test]
    fn test_pipeline_sequence_earlier_children_go_on() {
        pipeline([("a", "RSRS"), ("b", "RS"), ("c", "RS")]).check(
            "= a b c
             R R . .
             R S R .
             R R S R
             S S R S !b",
        );
    }

    #[test]
    fn test_pipeline_sequence_skipped_children() {
        pipeline([("a", "-"), ("b", "S"), ("c", "S")]).check("= a b c\nS - S S");
        pipeline([("a", "S"), ("b", "-"), ("c", "R")]).check("= a b c\nR S - R");
        pipeline([("a", "-"), ("b", "-"), ("c", "-")]).check("= a b c\n- - - -");
    }

    #[test]
    fn a_halt_restarts_it() {
        pipeline([("a", "SR"), ("b", "R"), ("c", "S")]).check(
            "= a b c
             R S R .
             halt !b
             R R . .",
        );
    }

    #[test]
    fn test_pipeline_sequence_a_child_that_returns_idle_is_an_error() {
        pipeline([("a", "I"), ("b", "S"), ("c", "S")]).check("= a b c\nE I . .");
        pipeline([("a", "S"), ("b", "I"), ("c", "S")]).check("= a b c\nE S I .");
    }
}
