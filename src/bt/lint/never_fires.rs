//! Warns of conditions that compare with a reference value under a reactive parent that makes them take a new reference
//! at every tick (nav2 #6082, #4842). Nav2's own conditions are affected only if the parameter `latch_on_activation` is
//! set; otherwise they recognize the reset.

use super::Subject;
use crate::bt::node_effects::{NodeEffects, Outcomes};
use crate::bt::problem::{Problem, ProblemKind};

pub(super) fn lint(subject: &Subject<'_>, node_effects_list: &[NodeEffects], problems: &mut Vec<Problem>) {
    for (node, _) in node_effects_list
        .iter()
        .enumerate()
        .filter(|(_, node_effects)| node_effects.latches)
    {
        if let Some((parent, sibling)) = who_resets(subject, node_effects_list, node) {
            let message = format!(
                "{} can never fire: it compares with the value at its activation, and {} activates it \
                 again at every tick",
                subject.label(node),
                subject.label(parent)
            );
            problems.push(
                Problem::new(ProblemKind::NeverFires, subject.info[node].span, message)
                    .related(
                        subject.info[sibling].span,
                        "while this child is running, all its siblings are reset at every tick",
                    )
                    .help("move it below a node that does not reset it, for example a Parallel"),
            );
        }
    }
}

/// The reactive ancestor, and the running sibling that makes it reset this node.
fn who_resets(
    subject: &Subject<'_>,
    node_effects_list: &[NodeEffects],
    node: usize,
) -> Option<(usize, usize)> {
    let runs_on = |node: usize| node_effects_list[node].outcomes.contains(Outcomes::RUNNING);
    let mut below = node;
    while let Some(parent) = subject.parent(below) {
        if runs_on(below) {
            // A node is not reset while its own branch is running.
            return None;
        }
        if node_effects_list[parent].reactive
            && let Some(sibling) = subject
                .ticked(parent, node_effects_list)
                .find(|child| runs_on(*child))
        {
            return Some((parent, sibling));
        }
        below = parent;
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{
        fallback, inverter, leaf, parallel, reactive_fallback, reactive_sequence, sequence,
    };
    use crate::bt::lint::testing::messages;

    #[test]
    fn a_latching_condition_beside_a_running_child_is_reported() {
        let fires = |tree| {
            messages(tree)
                .iter()
                .any(|message| message.starts_with("NeverFires"))
        };
        let moved = || leaf("HasMoved");
        assert!(fires(reactive_fallback([moved(), leaf("Drive")])));
        assert!(fires(reactive_sequence([inverter(moved()), leaf("Drive")])));
        assert!(fires(reactive_fallback([
            sequence([leaf("IsDay"), moved()]),
            leaf("Drive")
        ])));
        assert!(!fires(reactive_fallback([moved(), leaf("IsDay")])));
        assert!(!fires(parallel([moved(), leaf("Drive")])));
        assert!(!fires(fallback([moved(), leaf("Drive")])));
        // The running branch is the node's own.
        assert!(!fires(reactive_fallback([
            leaf("IsDay"),
            parallel([moved(), leaf("Drive")])
        ])));
    }
}
