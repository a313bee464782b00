//! Warns of children that are never ticked, because an earlier child always decides.

use super::Subject;
use crate::bt::node_effects::NodeEffects;
use crate::bt::problem::{Problem, ProblemKind};

pub(super) fn lint(subject: &Subject<'_>, node_effects_list: &[NodeEffects], problems: &mut Vec<Problem>) {
    for (node, node_effects) in node_effects_list.iter().enumerate() {
        let children = subject.children(node);
        let Some(first) = children.get(node_effects.reached) else {
            continue;
        };
        let last = children[node_effects.reached - 1] as usize;
        let message = format!("{} is never ticked", subject.label(*first as usize));
        let because = format!(
            "{} never returns a result with which {} continues to the next child",
            subject.label(last),
            subject.label(node)
        );
        problems.push(
            Problem::new(
                ProblemKind::Unreachable,
                subject.info[*first as usize].span,
                message,
            )
            .related(subject.info[last].span, because),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{
        NodeBuilder, fallback, force_failure, force_success, inverter, keep_running_until_failure, leaf,
        node, repeat, retry, sequence, subtree,
    };
    use crate::bt::lint::testing::{messages, messages_of};

    #[test]
    fn a_child_after_one_that_always_decides_is_reported() {
        let always = || leaf("AlwaysSuccess");
        let never = || leaf("AlwaysFailure");
        let cases: [(NodeBuilder, Option<&str>); 16] = [
            (fallback([leaf("Drive"), always()]), None),
            (fallback([always(), leaf("Drive")]), Some("Drive")),
            (
                fallback([force_success(leaf("Drive")), leaf("IsDay")]),
                Some("IsDay"),
            ),
            (fallback([force_failure(leaf("Drive")), leaf("IsDay")]), None),
            (fallback([always().skip_if("true"), leaf("IsDay")]), None),
            (fallback([always().failure_if("true"), leaf("IsDay")]), None),
            (sequence([never(), leaf("Drive")]), Some("Drive")),
            (sequence([inverter(always()), leaf("Drive")]), Some("Drive")),
            (sequence([inverter(leaf("IsDay")), leaf("Drive")]), None),
            (
                node("ReactiveSequence").children([never(), leaf("Drive")]),
                Some("Drive"),
            ),
            (
                sequence([fallback([leaf("IsDay"), never()]), leaf("Drive")]),
                None,
            ),
            (
                sequence([keep_running_until_failure(leaf("IsDay")), leaf("Drive")]),
                Some("Drive"),
            ),
            (
                sequence([repeat(-1, leaf("IsDay")), leaf("Drive")]),
                Some("Drive"),
            ),
            (sequence([repeat(2, leaf("IsDay")), leaf("Drive")]), None),
            (fallback([retry(-1, leaf("IsDay")), leaf("Drive")]), Some("Drive")),
            (fallback([always(), leaf("Drive").priority("2")]), None),
        ];
        for (tree, unreached) in cases {
            let expected: Vec<String> = unreached
                .map(|id| format!("Unreachable: `{id}` is never ticked"))
                .into_iter()
                .collect();
            assert_eq!(messages(tree.clone()), expected, "{tree:?}");
        }
    }

    #[test]
    fn subtrees_are_checked_too() {
        let tree = fallback([subtree("Inner"), leaf("Drive")]);
        assert_eq!(
            messages_of([("Main", tree), ("Inner", force_success(leaf("IsDay")))]),
            ["Unreachable: `Drive` is never ticked"]
        );
    }
}
