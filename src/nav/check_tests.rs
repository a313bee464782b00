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
                &["2:2: error[NT0302]: `Sequence` takes at least one child and has 0"],
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

/// As BehaviorTree.CPP 4.0 to 4.8 take them.
#[test]
fn a_script_may_have_texts_in_double_quotes() {
    let warning =
        "warning[NT0604]: script in `code`: BehaviorTree.CPP takes a text in double quotes up to 4.8 only";
    check(
        4,
        &[
            (
                "<Script code='a := \"x\"; b := \"y\"'/>",
                &[&format!("2:20: {warning}")],
            ),
            (
                "<Script code='a := \"it&apos;s\"'/>",
                &[&format!("2:20: {warning}")],
            ),
            (
                "<Script code='a := \"x'/>",
                &[
                    "2:20: error[NT0601]: script in `code`: this text has no closing quote: write texts in single quotes, 'like this'",
                ],
            ),
        ],
    );
}

/// `Switch` is another name of ReactiveFallback. With the ports of BehaviorTree.CPP's `Switch2` to `Switch6` it is meant as one
/// of them, with any number of ports.
#[test]
fn a_switch_by_a_variable_is_told_its_right_name_once() {
    for (cases, name) in [(1, "Switch2"), (2, "Switch2"), (3, "Switch3"), (9, "Switch6")] {
        let ports: String = (1..=cases).map(|case| format!(" case_{case}='{case}'")).collect();
        let tree = format!("<Switch variable='{{goal}}'{ports}><IsStuck/></Switch>");
        assert_eq!(
            checked(&tree),
            ["2:9: error[NT0401]: `Switch` does not choose by a variable"],
            "{tree}"
        );
        let text = format!("<root BTCPP_format='4'><BehaviorTree ID='M'>{tree}</BehaviorTree></root>");
        let refused = Loader::new(&super::registry())
            .load_text("f", &text, Path::new("."), None)
            .unwrap_err();
        let help = format!("(write `{name}`, which compares");
        assert!(refused.one_line().contains(&help), "{refused}");
    }
    assert_eq!(checked("<Switch><IsStuck/></Switch>"), [""; 0]);
}

#[test]
fn a_port_of_an_older_nav2_has_a_warning() {
    check(
        4,
        &[(
            "<SpeedController filter_duration='0.3'><IsStuck/></SpeedController>",
            &["2:18: warning[NT0415]: `SpeedController` has no port `filter_duration` in Nav2 Jazzy"],
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

/// The problems that `navtree check` reports for a version 4 tree, without the file name.
fn checked(tree: &str) -> Vec<String> {
    let text = format!("<root BTCPP_format='4'><BehaviorTree ID='M'>\n{tree}\n</BehaviorTree></root>");
    let registry = super::registry();
    let files = crate::xml::Memory::new([("f", text.as_str())]);
    let loader = Loader::new(&registry).files(&files, crate::xml::AmentIndex::default());
    let found = loader.check_files(&[Path::new("f")]);
    let lines = found
        .diagnostics
        .iter()
        .map(|problem| problem.one_line(&found.sources));
    lines
        .map(|line| line.strip_prefix("f:").map_or(line.clone(), str::to_owned))
        .collect()
}

#[test]
fn an_input_without_which_a_leaf_fails_is_an_error_of_the_check_only() {
    let tree = "<Sequence><ComputePathToPose/><FollowPath/></Sequence>";
    let lines = |severity: &str| {
        [
            format!("2:12: {severity}[NT0416]: `ComputePathToPose` always fails without the port `goal`"),
            format!("2:32: {severity}[NT0416]: `FollowPath` always fails without the port `path`"),
        ]
    };
    assert_eq!(checked(tree), lines("error"));
    // The leaf may be in a branch that never runs.
    assert_eq!(problems(4, tree), lines("warning"));
}

#[test]
fn numbers_that_make_no_sense_have_a_warning() {
    let warning = |column: u32, text: &str| format!("2:{column}: warning[NT0417]: {text}");
    for (node, expected) in [
        (
            "<Wait wait_duration='-5'/>",
            warning(22, "port `wait_duration` is -5; it must be at least 0"),
        ),
        (
            "<Repeat num_cycles='0'><IsStuck/></Repeat>",
            warning(21, "port `num_cycles` is 0; it must be at least 1, or -1"),
        ),
        (
            "<RetryUntilSuccessful num_attempts='-7'><IsStuck/></RetryUntilSuccessful>",
            warning(37, "port `num_attempts` is -7; it must be at least 1, or -1"),
        ),
        (
            "<Timeout msec='0'><IsStuck/></Timeout>",
            warning(16, "port `msec` is 0; it must be above 0"),
        ),
        (
            "<RateController hz='0'><IsStuck/></RateController>",
            warning(21, "port `hz` is 0; it must be above 0"),
        ),
        (
            "<RecoveryNode number_of_retries='-1'><IsStuck/><IsStuck/></RecoveryNode>",
            warning(34, "port `number_of_retries` is -1; it must be at least 0"),
        ),
        (
            "<IsBatteryLow min_battery='20'/>",
            warning(
                28,
                r#"`min_battery` is 20: write a ratio from 0 to 1, or `is_voltage="true"` for volts"#,
            ),
        ),
        (
            "<SpeedController min_rate='5' max_rate='1'><IsStuck/></SpeedController>",
            warning(28, "`min_rate` is 5, above `max_rate`, which is 1: swap them"),
        ),
        (
            "<BackUp backup_speed='0'/>",
            warning(23, "port `backup_speed` is 0; it must be above 0"),
        ),
        (
            "<DriveOnHeading speed='0'/>",
            warning(24, "port `speed` is 0; it must be other than 0"),
        ),
    ] {
        assert_eq!(checked(node), [expected], "{node}");
    }
    check(
        4,
        &[
            ("<Repeat num_cycles='-1'><IsStuck/></Repeat>", &[]),
            ("<IsBatteryLow min_battery='20' is_voltage='true'/>", &[]),
            ("<DriveOnHeading speed='-0.1' dist_to_travel='-1'/>", &[]),
        ],
    );
}

#[test]
fn a_number_from_the_blackboard_that_makes_no_sense_is_logged() {
    let mut bench = super::testing::Bench::new(
        "<Sequence><Script code='rate := 0'/><RateController hz='{rate}'><AlwaysSuccess/></RateController></Sequence>",
    );
    bench.tick();
    assert_eq!(bench.notes(), ["port `hz` is 0; it must be above 0"]);
}

#[test]
fn forgotten_braces_are_suggested() {
    let registry = super::registry();
    let text =
        "<root BTCPP_format='4'><BehaviorTree ID='M'><ComputePathToPose goal='goal'/></BehaviorTree></root>";
    let refused = Loader::new(&registry).load_text("f", text, Path::new(""), None);
    assert!(
        refused
            .unwrap_err()
            .one_line()
            .ends_with("(did you mean `{goal}`?)")
    );
}

#[test]
fn a_mistyped_key_is_offered_at_its_writer() {
    let plan = |path: &str| {
        format!(
            "<Sequence><ComputePathToPose goal='{{goal}}' path='{{{path}}}'/><FollowPath path='{{path}}'/></Sequence>"
        )
    };
    let warning = "2:50: warning[NT0418]: the key `patth` is written and never read";
    assert_eq!(checked(&plan("patth")), [warning]);
    // Another name, the name itself, another number.
    for path in ["way", "path", "path_2"] {
        assert_eq!(checked(&plan(path)), [""; 0], "{path}");
    }
    // Another type.
    let tree = "<Sequence><GetCurrentPose current_pose='{goal_}'/><ComputePathThroughPoses goals='{goals}'/></Sequence>";
    assert!(
        !checked(tree).iter().any(|line| line.contains("NT0418")),
        "{tree}"
    );
}
