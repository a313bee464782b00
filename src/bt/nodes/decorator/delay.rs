//! `Delay`: starts the child after a delay.

use std::time::Duration;

use crate::bt::{
    Behavior, Context, HaltReason, Input, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, Ports, Tick,
    Time,
};

/// Waits before it ticks its child.
#[derive(Debug)]
pub struct Delay {
    delay_msec: Input<u32>,
}

impl Node for Delay {
    const ID: &'static str = "Delay";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str =
        "RUNNING until delay_msec have passed since its first tick. Then returns the result of its child.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            delay_msec: ports
                .input::<u32>("delay_msec")
                .required()
                .unit("ms")
                .doc("Wait before the child starts.")
                .bind(),
        }
    }
}

/// `memory.index` during the wait, and after it.
const WAITING: u32 = 1;
const WAITED: u32 = 2;

impl Behavior for Delay {
    fn resets_child(&self) -> bool {
        true
    }

    /// `memory.mark` is the end of the wait.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let delay = self.delay_msec.require(cx)?;
        match cx.memory().index {
            WAITED => {}
            WAITING => {
                let end = Time::from_nanos(cx.memory().mark);
                if cx.now() < end {
                    cx.wake_at(end);
                    return Ok(NodeStatus::Running);
                }
                cx.memory().index = WAITED;
            }
            _ => {
                let end = cx.now() + Duration::from_millis(delay.into());
                cx.memory().index = WAITING;
                cx.memory().mark = end.as_nanos();
                // A delay of zero also takes one tick, as a timer would.
                if delay == 0 {
                    cx.wake();
                } else {
                    cx.wake_at(end);
                }
                return Ok(NodeStatus::Running);
            }
        }
        let status = cx.tick_only_child()?;
        if status.is_completed() {
            cx.memory().index = 0;
        }
        Ok(status)
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        cx.memory().index = 0;
        cx.halt_children(reason);
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects {
            starts: true,
            ..NodeEffects::around(children, |child| child | Outcomes::RUNNING)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{delay, reactive_sequence};
    use crate::bt::testing::{Scene, leaf};

    #[test]
    fn the_child_starts_when_the_delay_has_passed() {
        Scene::new(delay(100, leaf("a", "RS"))).check(
            "= a
             @0 R .
             @99 R .
             @100 R R
             @110 S S
             @120 R .",
        );
        Scene::new(delay(0, leaf("a", "S"))).check(
            "= a
             @0 R* .
             @0 S S",
        );
    }

    #[test]
    fn a_halt_restarts_the_delay() {
        Scene::new(reactive_sequence([
            leaf("ok", "SFSSS"),
            delay(100, leaf("a", "R")),
        ]))
        .check(
            "= ok a
             @0 R S .
             @50 F F .
             @110 R S .
             @209 R S .
             @210 R S R",
        );
    }

    #[test]
    fn a_skipped_child_is_ticked_again_without_a_wait() {
        Scene::new(delay(100, leaf("a", "-S"))).check(
            "= a
             @0 R .
             @100 - -
             @101 S S
             @102 R .",
        );
    }
}
