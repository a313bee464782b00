//! Warns of two asynchronous children of one reactive node: the first is started again whenever the second is running,
//! and then halts the second.
//!
//! A child that runs only if a condition before it allows it is not meant: backchained trees are built in this way.

use super::Subject;
use crate::bt::dialect::Dialect;
use crate::bt::node_effects::{NodeEffects, Outcomes};
use crate::bt::problem::{Problem, ProblemKind};

pub(super) fn lint(subject: &Subject<'_>, node_effects_list: &[NodeEffects], problems: &mut Vec<Problem>) {
    for (node, _) in node_effects_list
        .iter()
        .enumerate()
        .filter(|(_, node_effects)| node_effects.reactive)
    {
        if asynchronous_sequences(subject, node, problems) {
            continue;
        }
        let mut children = subject.ticked(node, node_effects_list);
        let Some(first) = children.find(|child| node_effects_list[*child].starts) else {
            continue;
        };
        let Some(second) =
            children.find(|child| node_effects_list[*child].outcomes.contains(Outcomes::RUNNING))
        else {
            continue;
        };
        let message = format!(
            "{} runs for one tick only: in the next tick, {} starts {} again and halts it",
            subject.label(second),
            subject.label(node),
            subject.label(first)
        );
        problems.push(
            Problem::new(ProblemKind::TwoAsynchronous, subject.info[second].span, message)
                .related(subject.info[first].span, "this child is asynchronous too")
                .help("give a reactive node only one asynchronous child, after its conditions, or use a Sequence or a Fallback"),
        );
    }
}

/// BehaviorTree.CPP refuses a ReactiveSequence with two AsyncSequence.
fn asynchronous_sequences(subject: &Subject<'_>, node: usize, problems: &mut Vec<Problem>) -> bool {
    if subject.id(node) != "ReactiveSequence" || subject.dialect != Dialect::V4 {
        return false;
    }
    let children = subject.children(node).iter().map(|child| *child as usize);
    let mut found = children.filter(|child| subject.id(*child) == "AsyncSequence");
    let (Some(first), Some(second)) = (found.next(), found.next()) else {
        return false;
    };
    problems.push(
        Problem::new(
            ProblemKind::Refused,
            subject.info[second].span,
            "a ReactiveSequence may have only one AsyncSequence: two would halt each other",
        )
        .related(subject.info[first].span, "the first one"),
    );
    true
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{inverter, leaf, node, reactive_fallback, reactive_sequence, sequence};
    use crate::bt::lint::testing::messages;

    #[test]
    fn a_child_that_is_always_halted_by_another_is_reported() {
        let warns = |tree| {
            messages(tree)
                .iter()
                .any(|message| message.starts_with("TwoAsynchronous"))
        };
        let (drive, wait) = (|| leaf("Drive"), || leaf("Sleep").port("msec", 100));
        assert!(warns(reactive_sequence([drive(), wait()])));
        assert!(warns(reactive_fallback([
            leaf("IsDay"),
            sequence([drive()]),
            inverter(wait())
        ])));
        assert!(!warns(reactive_sequence([leaf("IsDay"), drive()])));
        // The second child is never ticked, which is already reported.
        assert!(!warns(reactive_fallback([wait(), drive()])));
        assert!(!warns(reactive_sequence([leaf("Say"), drive()])));
        assert!(!warns(reactive_sequence([drive(), leaf("Say")])));
        assert!(!warns(sequence([drive(), wait()])));
        // Each action runs only until its condition is true.
        assert!(!warns(reactive_sequence([
            reactive_fallback([leaf("IsDay"), drive()]),
            reactive_fallback([leaf("IsDay"), wait()]),
        ])));
        assert!(!warns(reactive_sequence([drive().skip_if("there"), wait()])));
    }

    #[test]
    fn two_asynchronous_sequences_are_refused() {
        let yielding = || node("AsyncSequence").children([leaf("IsDay"), leaf("IsDay")]);
        assert_eq!(
            messages(reactive_sequence([yielding(), yielding()])),
            ["Refused: a ReactiveSequence may have only one AsyncSequence: two would halt each other"]
        );
    }
}
