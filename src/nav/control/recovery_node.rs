//! `RecoveryNode`: ticks an action, and a recovery before each retry.

use crate::bt::{
    Behavior, Context, HaltReason, Input, Memory, Node, NodeKind, NodeStatus, PortRange, Ports, Tick,
};

/// Ticks its first child. If it fails, ticks the second child and then the first again.
///
/// Memory: `index` is the current child, `count` the number of retries.
///
/// After a thousand retries in one tick, it is RUNNING and goes on in the next tick (guarantee G1): children that
/// complete at once would hold up a tick of "retry for ever".
#[derive(Debug)]
pub struct RecoveryNode {
    number_of_retries: Input<i32>,
}

impl Node for RecoveryNode {
    const ID: &'static str = "RecoveryNode";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks its first child. If the first child fails and retries are left, ticks the \
        second child; when that succeeds, ticks the first again. FAILURE when the second child fails or no \
        retries are left.";
    const CHILDREN: (usize, usize) = (2, 2);

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            number_of_retries: ports
                .input("number_of_retries")
                .range(PortRange::at_least(0.0))
                .default("1")
                .doc("Number of retries of the first child.")
                .bind(),
        }
    }
}

/// Maximum number of retries within one tick.
const RETRIES_IN_ONE_TICK: usize = 1000;

impl RecoveryNode {
    fn end(cx: &mut Context<'_>, status: NodeStatus) -> Tick {
        cx.reset_children();
        *cx.memory() = Memory::default();
        Ok(status)
    }
}

impl Behavior for RecoveryNode {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let retries = u32::try_from(self.number_of_retries.require(cx)?).unwrap_or(0);
        cx.set_status(NodeStatus::Running);
        for _ in 0..RETRIES_IN_ONE_TICK {
            if cx.memory().index == 0 {
                match cx.tick_child(0)? {
                    NodeStatus::Running => return Ok(NodeStatus::Running),
                    NodeStatus::Failure if cx.memory().count < retries => {
                        cx.halt_child(0, HaltReason::ParentFinished);
                        cx.memory().index = 1;
                    }
                    NodeStatus::Skipped => {
                        // A skipped result is not stored, so the old status RUNNING would remain.
                        cx.set_status(NodeStatus::Idle);
                        return Self::end(cx, NodeStatus::Skipped);
                    }
                    status => return Self::end(cx, status),
                }
            }
            match cx.tick_child(1)? {
                NodeStatus::Running => return Ok(NodeStatus::Running),
                NodeStatus::Success => {
                    cx.halt_child(1, HaltReason::ParentFinished);
                    let memory = cx.memory();
                    memory.index = 0;
                    memory.count += 1;
                }
                NodeStatus::Skipped => {
                    // There was no recovery: the result is FAILURE, but the retry is not used up. A running second
                    // child must be halted, or the next recovery would continue it.
                    cx.halt_child(1, HaltReason::ParentFinished);
                    cx.memory().index = 0;
                    return Ok(NodeStatus::Failure);
                }
                NodeStatus::Failure | NodeStatus::Idle => return Self::end(cx, NodeStatus::Failure),
            }
        }
        Ok(NodeStatus::Running)
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        cx.halt_children(reason);
        *cx.memory() = Memory::default();
    }

    fn rewind(&self, cx: &mut Context<'_>) {
        *cx.memory() = Memory::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::builder::node;
    use crate::bt::testing::{Scene, leaf};
    use crate::nav::testing::Bench;

    fn recovery(retries: i32, first: &str, second: &str) -> Scene {
        let recovery = node(RecoveryNode::ID)
            .port("number_of_retries", retries)
            .child(leaf("a", first))
            .child(leaf("b", second));
        Scene::new(recovery).registry(|registry| registry.register::<RecoveryNode>().unwrap())
    }

    #[test]
    fn test_recovery_node_running() {
        recovery(1, "R", "S").check("= a b\nR R .\nR R .");
        recovery(1, "F", "R").check("= a b\nR F R\nR . R");
    }

    #[test]
    fn test_recovery_node_success() {
        recovery(1, "S", "S").check("= a b\nS S .");
        recovery(1, "FS", "S").check("= a b\nS FS S");
        recovery(1, "FS", "RS").check("= a b\nR F R\nS S S");
    }

    #[test]
    fn test_recovery_node_failure() {
        recovery(1, "F", "F").check("= a b\nF F F");
        recovery(1, "F", "S").check("= a b\nF FF S");
        recovery(2, "F", "S").check("= a b\nF FFF SS");
        recovery(0, "F", "S").check("= a b\nF F .");
    }

    #[test]
    fn g1_a_tick_has_a_limited_number_of_retries() {
        let [first, second] = ["F", "S"].map(|status| status.repeat(RETRIES_IN_ONE_TICK));
        recovery(1002, "F", "S").check(&format!("= a b\nR {first} {second}\nF FFF SS"));
    }

    #[test]
    fn test_recovery_node_skipping() {
        recovery(1, "-", "S").check("= a b\n- - .");
        recovery(1, "F", "-").check("= a b\nF F -");
        // The retry is not used up.
        recovery(1, "FF", "-S").check("= a b\nF F -\nF FF S");
        // The previously running child is halted.
        recovery(1, "F", "R-").check("= a b\nR F R\nF . - !b\nR F R");
        recovery(1, "R-", "S").check("= a b\nR R .\n- - . !a");
    }

    #[test]
    fn a_running_recovery_that_is_skipped_starts_again() {
        let recovery = "<RecoveryNode><AlwaysFailure/><RateController hz=\"0.1\">\
            <ForceFailure _skipIf=\"skip\"><Script code=\"count := count + 1; skip := true\"/></ForceFailure>\
            </RateController></RecoveryNode>";
        let mut bench = Bench::new(recovery);
        bench.set("count", 0.0);
        bench.set("skip", true);
        for recoveries in 1..=3 {
            // Skipped once, by its child.
            assert_eq!(bench.tick(), NodeStatus::Failure);
            bench.set("skip", false);
            assert_eq!(bench.tick(), NodeStatus::Failure);
            assert_eq!(bench.get::<f64>("count"), Some(f64::from(recoveries)));
        }
    }

    #[test]
    fn a_skipped_node_is_idle() {
        recovery(1, "-R-", "S").check_stored(&[
            (NodeStatus::Skipped, NodeStatus::Idle),
            (NodeStatus::Running, NodeStatus::Running),
            (NodeStatus::Skipped, NodeStatus::Idle),
        ]);
    }

    #[test]
    fn a_halt_resets_the_retries() {
        recovery(1, "FRFR", "S").check("= a b\nR FR S\nhalt !a\nR FR S");
    }

    #[test]
    fn test_recovery_node_a_child_that_returns_idle_is_an_error() {
        recovery(1, "I", "S").check("= a b\nE I .");
        recovery(1, "F", "I").check("= a b\nE F I");
    }

    #[test]
    fn test_recovery_node_has_two_children() {
        for children in [
            "",
            "<AlwaysSuccess/>",
            "<AlwaysSuccess/><AlwaysSuccess/><AlwaysSuccess/>",
        ] {
            let text = format!(
                "<root BTCPP_format=\"4\"><BehaviorTree ID=\"T\"><RecoveryNode>{children}</RecoveryNode></BehaviorTree></root>"
            );
            let registry = crate::nav::registry();
            let refused =
                crate::xml::Loader::new(&registry).load_text("t.xml", &text, std::path::Path::new("."), None);
            assert!(refused.unwrap_err().to_string().contains("NT0302"), "{children}");
        }
    }
}
