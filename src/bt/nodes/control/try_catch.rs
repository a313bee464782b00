//! `TryCatch`: a sequence with a cleanup child for failures.

use super::walk::keep;
use crate::bt::{Behavior, Context, HaltReason, Input, Memory, Node, NodeKind, NodeStatus, Ports, Tick};

/// Ticks all children except the last in order, and the last if one of them fails.
#[derive(Debug)]
pub struct TryCatch {
    catch_on_halt: Input<bool>,
}

impl Node for TryCatch {
    const ID: &'static str = "TryCatch";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks all children except the last as a Sequence. When one of them fails, the \
        last child is ticked until it completes, and the result is FAILURE whatever the last child returned. \
        SKIPPED when all children except the last were skipped.";
    const CHILDREN: (usize, usize) = (2, usize::MAX);

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            catch_on_halt: ports
                .input::<bool>("catch_on_halt")
                .default("false")
                .doc("Whether the last child is ticked once when the node is halted before a failure.")
                .bind(),
        }
    }
}

impl Behavior for TryCatch {
    /// `memory.index` is the current child, `memory.count` the number of skipped ones, `memory.mark` is 1 during
    /// cleanup.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        if cx.is_fresh() {
            cx.memory().count = 0;
            cx.memory().mark = 0;
        }
        cx.set_status(NodeStatus::Running);
        let tried = cx.child_count() - 1;
        let mut memory = *cx.memory();
        if memory.mark != 0 {
            return catch(cx);
        }
        while (memory.index as usize) < tried {
            match cx.tick_child(memory.index as usize) {
                Ok(NodeStatus::Success | NodeStatus::Idle) => memory.index += 1,
                Ok(NodeStatus::Skipped) => {
                    memory.index += 1;
                    memory.count += 1;
                }
                Ok(NodeStatus::Running) => {
                    *cx.memory() = memory;
                    return Ok(NodeStatus::Running);
                }
                Ok(NodeStatus::Failure) => {
                    cx.reset_children();
                    *cx.memory() = Memory {
                        index: 0,
                        mark: 1,
                        ..memory
                    };
                    return catch(cx);
                }
                Err(thrown) => return keep(cx, memory, thrown),
            }
        }
        let all_skipped = memory.count as usize == tried;
        cx.reset_children();
        *cx.memory() = Memory::default();
        Ok(if all_skipped {
            NodeStatus::Skipped
        } else {
            NodeStatus::Success
        })
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        let last = cx.child_count() - 1;
        if cx.memory().mark == 0 && self.catch_on_halt.get_or(cx, false) {
            for position in 0..last {
                cx.halt_child(position, reason);
            }
            // The cleanup child gets one tick, because a halt returns at once (guarantee G3). An error stays recorded
            // for the caller.
            if cx.tick_child(last) == Ok(NodeStatus::Running) {
                cx.halt_child(last, reason);
            }
        }
        *cx.memory() = Memory::default();
        cx.halt_children(reason);
    }
}

fn catch(cx: &mut Context<'_>) -> Tick {
    let last = cx.child_count() - 1;
    if cx.tick_child(last)? == NodeStatus::Running {
        return Ok(NodeStatus::Running);
    }
    cx.reset_children();
    cx.memory().index = 0;
    cx.memory().mark = 0;
    Ok(NodeStatus::Failure)
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{reactive_sequence, try_catch};
    use crate::bt::testing::{Scene, leaf};

    #[test]
    fn without_a_failure_the_last_child_is_not_ticked() {
        Scene::new(try_catch([leaf("a", "S"), leaf("b", "RS"), leaf("catch", "S")])).check(
            "= a b catch
             R S R .
             S . S .",
        );
        Scene::new(try_catch([leaf("a", "-"), leaf("catch", "S")])).check(
            "= a catch
             - - .",
        );
    }

    #[test]
    fn a_failure_starts_the_cleanup_in_the_same_tick() {
        Scene::new(try_catch([leaf("a", "S"), leaf("b", "FS"), leaf("catch", "RS")])).check(
            "= a b catch
             R S F R
             F . . S
             S S S .",
        );
        Scene::new(try_catch([leaf("a", "F"), leaf("catch", "-")])).check(
            "= a catch
             F F -",
        );
    }

    #[test]
    fn a_halt_may_run_the_cleanup() {
        let inner = |on_halt: bool, catch| {
            let children = [leaf("a", "R"), leaf("catch", catch)];
            reactive_sequence([
                leaf("ok", "SF"),
                try_catch(children).port("catch_on_halt", on_halt),
            ])
        };
        Scene::new(inner(false, "S")).check(
            "= ok a catch
             R S R .
             F F . . !a",
        );
        Scene::new(inner(true, "S")).check(
            "= ok a catch
             R S R .
             F F . S !a",
        );
        Scene::new(inner(true, "R")).check(
            "= ok a catch
             R S R .
             F F . R !a !catch",
        );
    }

    #[test]
    fn a_halt_during_the_cleanup_does_not_restart_it() {
        let inner = try_catch([leaf("a", "F"), leaf("catch", "R")]).port("catch_on_halt", true);
        Scene::new(reactive_sequence([leaf("ok", "SF"), inner])).check(
            "= ok a catch
             R S F R
             F F . . !catch",
        );
    }

    #[test]
    fn it_needs_two_children() {
        assert_eq!(
            Scene::new(try_catch([leaf("a", "S")])).refused(),
            "`TryCatch` takes at least 2 children and has 1"
        );
    }
}
