//! What the checker says about tree files with Nav2's nodes.

use std::path::Path;

use crate::xml::Loader;

/// The problems of the tree `M` of a file, without the file name.
fn problems(format: u8, tree: &str) -> Vec<String> {
    let text = format!(
        "<root BTCPP_format='{format}' main_tree_to_execute='M'><BehaviorTree ID='M'>\n{tree}\n</BehaviorTree></root>"
    );
    let registry = super::registry();
    let loaded = Loader::new(&registry).load_text("f", &text, Path::new(""), None);
    let (found, sources) = match &loaded {
        Ok(loaded) => (&loaded.warnings, &loaded.sources),
        Err(refused) => (&refused.diagnostics, &refused.sources),
    };
    let lines = found.iter().map(|problem| problem.one_line(sources));
    lines
        .map(|line| line.strip_prefix("f:").map_or(line.clone(), str::to_owned))
        .collect()
}

/// Checks each tree of a table against its problems.
fn check(format: u8, table: &[(&str, &[&str])]) {
    let found = table.iter().map(|(tree, _)| (*tree, problems(format, tree)));
    let expected = table
        .iter()
        .map(|(tree, lines)| (*tree, lines.iter().map(ToString::to_string).collect()));
    assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

#[test]
fn what_version_3_runs_is_accepted_with_a_warning() {
    check(
        3,
        &[
            (
                "<ComputePathToPose goal='{goal}' path='{path}' start=''/>",
                &["2:48: warning[NT0413]: port `start` is empty and counts as not given"],
            ),
            (
                "<Wait wait_duration=''/>",
                &["2:7: warning[NT0413]: port `wait_duration` is empty and counts as not given"],
            ),
            // A text may be empty.
            ("<ComputePathToPose goal='{goal}' planner_id=''/>", &[]),
            (
                "<Sequence><ComputePathToPose goal='{goal}' path='way'/><FollowPath path='{way}'/></Sequence>",
                &["2:50: warning[NT0414]: the key `way` of the output `path` has no braces"],
            ),
            (
                "<ReactiveFallback/>",
                &["2:2: warning[NT0310]: `ReactiveFallback` has no children"],
            ),
            (
                "<Sequence/>",
                &["2:2: error[NT0302]: `Sequence` takes at least 1 children and has 0"],
            ),
        ],
    );
}

#[test]
fn a_reactive_node_of_version_3_without_children_ends_at_once() {
    use crate::bt::NodeStatus::{Failure, Success};
    for (id, expected) in [("ReactiveFallback", Failure), ("ReactiveSequence", Success)] {
        let text = format!("<root BTCPP_format='3'><BehaviorTree ID='M'><{id}/></BehaviorTree></root>");
        let registry = super::registry();
        let loaded = Loader::new(&registry).load_text("f", &text, Path::new(""), None);
        let mut tree = crate::bt::Tree::new(loaded.unwrap().def);
        assert_eq!(tree.tick(crate::bt::Time::ZERO).unwrap(), expected, "{id}");
    }
}

#[test]
fn a_script_may_continue_a_line_with_a_backslash() {
    let warning = "2:32: warning[NT0603]: script in `_skipIf`: BehaviorTree.CPP takes a `\\` before the end of a line \
                   in 4.5 to 4.8 only";
    check(
        4,
        &[
            (
                "<AlwaysSuccess _skipIf='1 != 2 \\\n&amp;&amp; 1 != 3'/>",
                &[warning],
            ),
            (
                "<AlwaysSuccess _skipIf='1 != 2 \\\r\n&amp;&amp; 1 != 3'/>",
                &[warning],
            ),
            (
                "<AlwaysSuccess _skipIf='1 != 2 \\ '/>",
                &["2:32: error[NT0601]: script in `_skipIf`: `\\` has no meaning in a script"],
            ),
        ],
    );
}

#[test]
fn a_port_of_an_older_nav2_has_a_warning() {
    check(
        4,
        &[(
            "<SpeedController filter_duration='0.3'><IsStuck/></SpeedController>",
            &["2:18: warning[NT0415]: `SpeedController` has no port `filter_duration` since Nav2 Galactic"],
        )],
    );
}

#[test]
fn a_tree_may_have_the_name_of_an_extra_node() {
    let tree = "<SubTree ID='Retry'/></BehaviorTree><BehaviorTree ID='Retry'><Retry num_attempts='1'><IsStuck/></Retry>";
    check(4, &[(tree, &[])]);
    let tree = tree.replace("ID='Retry'", "ID='Repeat'");
    let clash = "2:14: error[NT0212]: `Repeat` is a node type; a tree needs another name";
    assert_eq!(problems(4, &tree)[0], clash);
}
