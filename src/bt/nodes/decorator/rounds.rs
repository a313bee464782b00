//! Common code of `Repeat` and `RetryUntilSuccessful`: they differ only in success and failure.

use crate::bt::{
    Context, Dialect, HaltReason, Input, NodeEffects, NodeStatus, Outcomes, PortRange, Ports, Tick,
};

/// Maximum number of rounds of a version 3 loop within one tick. BehaviorTree.CPP has no limit, and an endless loop
/// would block the tick forever (guarantee G1).
const ROUNDS_IN_ONE_TICK: u32 = 1000;

/// The child result that counts as a round, and the one that ends the loop.
pub(super) trait Course {
    /// The result that counts; also the result of the node when the count is reached.
    const COUNTED: NodeStatus;
    /// The same, as a set.
    const COUNTED_OUTCOME: Outcomes;
    /// Version 4 reads the number of rounds again after each one, because the child may change it.
    const READ_AGAIN: bool;
}

/// The rule of `Repeat`.
#[derive(Debug)]
pub(super) struct WhileSuccess;

impl Course for WhileSuccess {
    const COUNTED: NodeStatus = NodeStatus::Success;
    const COUNTED_OUTCOME: Outcomes = Outcomes::SUCCESS;
    const READ_AGAIN: bool = false;
}

/// The rule of `RetryUntilSuccessful`.
#[derive(Debug)]
pub(super) struct WhileFailure;

impl Course for WhileFailure {
    const COUNTED: NodeStatus = NodeStatus::Failure;
    const COUNTED_OUTCOME: Outcomes = Outcomes::FAILURE;
    const READ_AGAIN: bool = true;
}

/// The number of rounds, and the version of the rules.
#[derive(Debug)]
pub(super) struct Rounds {
    wanted: Input<i32>,
    dialect: Dialect,
}

impl Rounds {
    pub(super) fn bind(ports: &mut Ports<'_>, name: &'static str, doc: &'static str) -> Self {
        Self {
            wanted: ports
                .input::<i32>(name)
                .range(PortRange::at_least(1.0).or(-1.0))
                .required()
                .doc(doc)
                .bind(),
            dialect: ports.dialect(),
        }
    }

    /// `memory.count` is the number of rounds so far.
    #[inline]
    pub(super) fn tick<C: Course>(&self, cx: &mut Context<'_>) -> Tick {
        let mut wanted = self.wanted.require(cx)?;
        cx.set_status(NodeStatus::Running);
        let mut rounds = 0;
        while goes_on(cx.memory().count, wanted) {
            let at_rest = cx.child_status(0) == NodeStatus::Idle;
            match cx.tick_only_child()? {
                status if status == C::COUNTED => {
                    if C::READ_AGAIN && self.dialect == Dialect::V4 {
                        wanted = self.wanted.get_or(cx, wanted);
                    }
                    let memory = cx.memory();
                    memory.count = memory.count.saturating_add(1);
                    let more = goes_on(memory.count, wanted);
                    rounds += 1;
                    let yields = match self.dialect {
                        Dialect::V4 => at_rest,
                        Dialect::V3 => rounds >= ROUNDS_IN_ONE_TICK,
                    };
                    if yields && more {
                        cx.wake();
                        return Ok(NodeStatus::Running);
                    }
                }
                NodeStatus::Skipped => {
                    cx.halt_child(0, HaltReason::ParentFinished);
                    return Ok(NodeStatus::Skipped);
                }
                NodeStatus::Running | NodeStatus::Idle => return Ok(NodeStatus::Running),
                other @ (NodeStatus::Success | NodeStatus::Failure) => {
                    cx.memory().count = 0;
                    return Ok(other);
                }
            }
        }
        cx.memory().count = 0;
        Ok(C::COUNTED)
    }

    pub(super) fn halt(cx: &mut Context<'_>, reason: HaltReason) {
        cx.memory().count = 0;
        cx.halt_children(reason);
    }

    pub(super) fn node_effects<C: Course>(&self, children: &[NodeEffects]) -> NodeEffects {
        let more = match self.wanted.literal() {
            Some(-1) => Outcomes::RUNNING,
            Some(..=1) => C::COUNTED_OUTCOME,
            _ => C::COUNTED_OUTCOME | Outcomes::RUNNING,
        };
        NodeEffects::around(children, |child| child.without(C::COUNTED_OUTCOME) | more)
    }
}

/// Whether another round follows after `done` of `wanted`.
#[inline]
pub(super) fn goes_on(done: u32, wanted: i32) -> bool {
    wanted == -1 || u32::try_from(wanted).is_ok_and(|wanted| done < wanted)
}
