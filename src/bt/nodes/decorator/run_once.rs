//! `RunOnce`: runs the child once per loaded tree.

use crate::bt::{Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, Ports, Tick};

/// Keeps its child's first result.
#[derive(Debug)]
pub struct RunOnce {
    then_skip: Input<bool>,
}

impl Node for RunOnce {
    const ID: &'static str = "RunOnce";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child until it completes for the first time. After that the result is \
        SKIPPED, or the first result again if then_skip is false. A halt or a new run does not reset it; only \
        loading the tree again does.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            then_skip: ports
                .input::<bool>("then_skip")
                .default("true")
                .doc("Whether the node is skipped afterwards, instead of repeating the first result.")
                .bind(),
        }
    }
}

impl Behavior for RunOnce {
    fn resets_child(&self) -> bool {
        true
    }

    /// `memory.index` is 0 until the child has completed, then 1 for success and 2 for failure.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let first = match cx.memory().index {
            0 => {
                cx.set_status(NodeStatus::Running);
                let status = cx.tick_only_child()?;
                if status.is_completed() {
                    cx.memory().index = if status == NodeStatus::Success { 1 } else { 2 };
                }
                return Ok(status);
            }
            1 => NodeStatus::Success,
            _ => NodeStatus::Failure,
        };
        Ok(if self.then_skip.get_or(cx, true) {
            NodeStatus::Skipped
        } else {
            first
        })
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::around(children, |child| child | Outcomes::SKIPPED).at_times()
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::run_once;
    use crate::bt::testing::{Scene, leaf};

    #[test]
    fn the_child_completes_once() {
        Scene::new(run_once(leaf("a", "RS"))).check(
            "= a
             R R
             S S
             - .
             halt
             - .",
        );
        Scene::new(run_once(leaf("a", "RF")).port("then_skip", false)).check(
            "= a
             R R
             halt !a
             F F
             F .",
        );
    }
}
