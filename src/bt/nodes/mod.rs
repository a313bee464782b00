//! BehaviorTree.CPP's node types and navtree's additions. Each node has one file with its ports, documentation,
//! behavior and tests.

mod action;
mod code;
mod condition;
mod control;
mod decorator;
mod table;
mod watch;

pub use action::*;
pub use condition::*;
pub use control::*;
pub use decorator::*;

use super::node::Node;
use super::registry::{Registry, RegistryError};
use super::{Input, NodeStatus, Outcomes};

/// Registers every built-in node type.
pub(crate) fn register(registry: &mut Registry) {
    let mut outcome = || -> Result<(), RegistryError> {
        control::register(registry)?;
        decorator::register(registry)?;
        action::register(registry)?;
        condition::register(registry)?;
        aliases(registry)
    };
    let outcome = outcome();
    debug_assert_eq!(outcome, Ok(()), "built-in IDs are distinct");
    registry.mark_extras(&EXTRAS);
}

/// The nodes that BehaviorTree.CPP does not have.
const EXTRAS: [&str; 24] = [
    "Case",
    "ConditionalRun",
    "Emit",
    "If",
    "Invert",
    "Loop",
    "MaxTime",
    "MemSelector",
    "MemSequence",
    "ParallelMajority",
    "ParallelMofN",
    "PopFromQueue",
    "QueueSize",
    "Random",
    "RandomSelector",
    "Repeater",
    "Retry",
    "Selector",
    "Signal",
    "StatefulParallel",
    "StatefulSelector",
    "StatefulSequence",
    "StatefulSwitch",
    "Switch",
];

/// The results of a port that holds a status.
fn outcomes_of(port: &Input<NodeStatus>) -> Outcomes {
    match port.literal() {
        Some(NodeStatus::Running) => Outcomes::RUNNING,
        Some(NodeStatus::Skipped) => Outcomes::SKIPPED,
        Some(NodeStatus::Success) => Outcomes::SUCCESS,
        Some(NodeStatus::Failure) => Outcomes::FAILURE,
        Some(NodeStatus::Idle) => Outcomes::NONE,
        None => Outcomes::COMPLETED | Outcomes::RUNNING | Outcomes::SKIPPED,
    }
}

/// Names that other systems use for the same nodes.
fn aliases(registry: &mut Registry) -> Result<(), RegistryError> {
    // Decision trees for robots and games: a node with `Mem` in its name keeps the current child; one without starts
    // from the first child at every tick. (BehaviorTree.CPP's Fallback keeps the current child.)
    alias::<Sequence>(registry, "MemSequence")?;
    alias::<Fallback>(registry, "MemSelector")?;
    alias::<ReactiveFallback>(registry, "Selector")?;
    alias::<Repeat>(registry, "Repeater")?;
    // bt.cc.
    alias::<Repeat>(registry, "Loop")?;
    alias::<Inverter>(registry, "Invert")?;
    alias::<If>(registry, "ConditionalRun")?;
    alias::<If>(registry, "Case")?;
    alias::<ReactiveFallback>(registry, "Switch")?;
    alias::<StatefulSelector>(registry, "StatefulSwitch")
}

fn alias<N: Node>(registry: &mut Registry, id: &str) -> Result<(), RegistryError> {
    let doc = format!("Another name of {}. {}", N::ID, N::DOC);
    registry.register_with(id, N::KIND, N::CHILDREN, &doc, |ports| Box::new(N::bind(ports)))
}

#[cfg(test)]
mod tests {
    use crate::bt::Registry;

    const OF_BEHAVIORTREE_CPP: [&str; 41] = [
        "AlwaysFailure",
        "AlwaysSuccess",
        "AsyncFallback",
        "AsyncSequence",
        "Delay",
        "Fallback",
        "ForceFailure",
        "ForceSuccess",
        "IfThenElse",
        "Inverter",
        "KeepRunningUntilFailure",
        "LoopBool",
        "LoopDouble",
        "LoopInt",
        "LoopString",
        "Parallel",
        "ParallelAll",
        "Precondition",
        "ReactiveFallback",
        "ReactiveSequence",
        "Repeat",
        "RetryUntilSuccessful",
        "RunOnce",
        "Script",
        "ScriptCondition",
        "Sequence",
        "SequenceWithMemory",
        "SetBlackboard",
        "SkipUnlessUpdated",
        "Sleep",
        "Switch2",
        "Switch3",
        "Switch4",
        "Switch5",
        "Switch6",
        "Timeout",
        "TryCatch",
        "UnsetBlackboard",
        "WaitValueUpdate",
        "WasEntryUpdated",
        "WhileDoElse",
    ];

    #[test]
    fn every_node_and_port_is_documented() {
        let registry = Registry::builtin();
        for manifest in registry.manifests().chain(registry.manifests_v3()) {
            assert!(manifest.doc.ends_with('.'), "{}", manifest.id);
            for port in &manifest.ports {
                assert!(port.doc.ends_with('.'), "{} {}", manifest.id, port.name);
            }
        }
    }

    #[test]
    fn every_node_is_one_of_behaviortree_cpp_or_an_extra() {
        let registry = Registry::builtin();
        assert!(super::EXTRAS.iter().all(|id| registry.is_extra(id)));
        let others = registry
            .manifests()
            .filter(|manifest| !registry.is_extra(&manifest.id));
        let others: Vec<&str> = others.map(|manifest| manifest.id.as_str()).collect();
        assert_eq!(others, OF_BEHAVIORTREE_CPP);
    }

    #[test]
    fn an_extra_gives_way_to_a_registered_type() {
        let mut registry = Registry::builtin();
        let test = |_: &mut crate::bt::Context<'_>| crate::bt::NodeStatus::Success;
        assert!(registry.condition("Sequence", test).is_err());
        assert_eq!(registry.condition("Retry", test), Ok(()));
        assert!(!registry.is_extra("Retry"));
        assert!(registry.condition("Retry", test).is_err());
    }

    #[test]
    fn nodes_of_version_3_are_not_in_version_4() {
        let registry = Registry::builtin();
        for id in ["SequenceStar", "BlackboardCheckInt", "RetryUntilSuccesful"] {
            assert!(
                registry.get(id, crate::bt::Dialect::V3).is_some() && !registry.contains(id),
                "{id}"
            );
        }
    }
}
