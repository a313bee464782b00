//! Mistakes of authors, put into the default tree one at a time: each is reported with its code, at its line, once.

use std::path::Path;

use crate::xml::{AmentIndex, Loader, Memory};

const TREE: &str = include_str!("../../behavior_trees/navigate_to_pose.xml");

/// A mistake: what it is, a part of the tree, what stands there instead, and the problems: each with its code and the
/// beginning of its line. A line that occurs twice is the first one.
type Mistake = (
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

#[rustfmt::skip]
const MISTAKES: &[Mistake] = &[
    // Ports and keys.
    ("a missing goal", " goal=\"{goal}\"", "", &[("NT0416", "<ComputePathToPose")]),
    ("a missing path", "<FollowPath path=\"{path}\"", "<FollowPath", &[("NT0416", "<FollowPath")]),
    ("a missing port", " hz=\"1.0\"", " hz=\"\"", &[("NT0403", "<RateController")]),
    ("a key that is misspelt where it is written", "{path}\" planner", "{patth}\" planner", &[("NT0418", "<ComputePathToPose")]),
    ("a key that is misspelt where it is read", "<FollowPath path=\"{path}\"", "<FollowPath path=\"{pth}\"", &[("NT0406", "<FollowPath")]),
    ("no braces around the key of an input", "{goal}", "goal", &[("NT0403", "<ComputePathToPose")]),
    ("no braces around the key of an output", "{path}\" planner", "path\" planner", &[("NT0410", "<ComputePathToPose")]),
    ("half of the braces", "{goal}", "{goal", &[("NT0403", "<ComputePathToPose")]),
    ("a misspelt port", "goal=", "goall=", &[("NT0401", "<ComputePathToPose")]),
    ("a port of another name", "planner_id", "planner", &[("NT0401", "<ComputePathToPose")]),
    ("a key of another type", "{goal}", "{path}", &[("NT0404", "<ComputePathToPose")]),
    ("a text for a number", "hz=\"1.0\"", "hz=\"fast\"", &[("NT0403", "<RateController")]),
    ("a unit behind a number", "\"5.0\"", "\"5s\"", &[("NT0409", "<Wait")]),
    ("a rate of zero", "hz=\"1.0\"", "hz=\"0\"", &[("NT0417", "<RateController")]),
    ("a negative rate", "hz=\"1.0\"", "hz=\"-1\"", &[("NT0417", "<RateController")]),
    ("a negative duration", "\"5.0\"", "\"-5\"", &[("NT0417", "<Wait")]),
    ("fewer retries than none", "retries=\"6\"", "retries=\"-2\"", &[("NT0417", "<RecoveryNode")]),
    ("a speed of zero", "\"0.15\"", "\"0\"", &[("NT0417", "<BackUp")]),
    ("a percentage for a ratio", "<GoalUpdated/>", "<IsBatteryLow min_battery=\"20\"/>", &[("NT0417", "<IsBatteryLow")]),
    ("a limit above the other", "<GoalUpdated/>", "<SpeedController min_rate=\"5\" max_rate=\"1\"><GoalUpdated/></SpeedController>", &[("NT0417", "<SpeedController")]),
    ("a threshold above the number of children", "<GoalUpdated/>", "<Parallel success_count=\"2\"><GoalUpdated/></Parallel>", &[("NT0308", "<Parallel")]),
    // Nodes.
    ("a misspelt node", "<GoalUpdated", "<GoalUpdatd", &[("NT0301", "<GoalUpdatd")]),
    ("a node in small letters", "<GoalUpdated", "<goalupdated", &[("NT0301", "<goalupdated")]),
    ("a node of version 3", "<GoalUpdated/>", "<SequenceStar><GoalUpdated/></SequenceStar>", &[("NT0301", "<SequenceStar")]),
    ("a decorator without a child", "<GoalUpdated/>", "<Inverter/>", &[("NT0302", "<Inverter")]),
    ("a decorator with two children", "<GoalUpdated/>", "<Inverter><GoalUpdated/><GoalUpdated/></Inverter>", &[("NT0302", "<Inverter")]),
    ("a control without children", "<GoalUpdated/>", "<Sequence/>", &[("NT0302", "<Sequence/>")]),
    ("a leaf with a child", "<GoalUpdated/>", "<GoalUpdated><GoalUpdated/></GoalUpdated>", &[("NT0302", "<GoalUpdated")]),
    ("a recovery node with one child", "<GoalUpdated/>", "<RecoveryNode><GoalUpdated/></RecoveryNode>", &[("NT0302", "<RecoveryNode><")]),
    ("an action that is written as a condition", "<Wait ", "<Condition ID=\"Wait\" ", &[("NT0305", "<Condition")]),
    ("an explicit node without an ID", "<Wait ", "<Action ", &[("NT0209", "<Action")]),
    ("an ID of a compact node", "<Wait ", "<Wait ID=\"Pause\" ", &[("NT0303", "<Wait")]),
    // Trees.
    ("another main tree", "execute=\"DriveToPose\"", "execute=\"Drive\"", &[("NT0215", "<root")]),
    ("a subtree that does not exist", "<GoalUpdated/>", "<SubTree ID=\"Recover\"/>", &[("NT0501", "<SubTree")]),
    ("a tree that contains itself", "<GoalUpdated/>", "<SubTree ID=\"DriveToPose\"/>", &[("NT0502", "<SubTree")]),
    ("two children of a tree", "</RecoveryNode>\n  </B", "</RecoveryNode>\n<GoalUpdated/>  </B", &[("NT0214", "<BehaviorTree")]),
    ("two trees of one name", "</root>", "<BehaviorTree ID=\"DriveToPose\"><GoalUpdated/></BehaviorTree></root>", &[("NT0213", "<BehaviorTree ID=\"DriveToPose\">\n")]),
    ("no version", " BTCPP_format=\"4\"", "", &[("NT0202", "<root")]),
    ("another root", "<root", "<Root", &[("NT0201", "<Root"), ("NT0103", "</root")]),
    // XML.
    ("no quote at the end of a value", "=\"GridBased\"", "=\"GridBased", &[("NT0101", "<ComputePathToPose")]),
    ("no quote at the beginning of a value", "hz=\"1.0\"", "hz=1.0\"", &[("NT0101", "<RateController")]),
    ("no end of a tag", "<GoalUpdated/>", "<GoalUpdated/", &[("NT0101", "<RoundRobin")]),
    ("no end of a tag with children", "\"OneWayAfterTheOther\">", "\"OneWayAfterTheOther\"", &[("NT0101", "<Sequence name=\"ClearBoth")]),
    ("no slash of an empty element", "<GoalUpdated/>", "<GoalUpdated>", &[("NT0102", "<GoalUpdated")]),
    ("no end tag", "        </RateController>\n", "", &[("NT0102", "<RateController")]),
    ("a misspelt end tag", "</RateController>", "</RateControler>", &[("NT0103", "</RateControler")]),
    ("an attribute twice", " hz=\"1.0\"", " hz=\"1.0\" hz=\"2.0\"", &[("NT0108", "<RateController")]),
    ("a text between elements", "<GoalUpdated/>", "<GoalUpdated/> wait here", &[("NT0115", "<GoalUpdated")]),
    // Scripts and conditions.
    ("a script that cannot be read", "<GoalUpdated/>", "<GoalUpdated _skipIf=\"a = = 1\"/>", &[("NT0601", "<GoalUpdated")]),
    ("a key that no node writes", "<GoalUpdated/>", "<GoalUpdated _skipIf=\"stop == 1\"/>", &[("NT0406", "<GoalUpdated")]),
    ("a condition in small letters", "<GoalUpdated/>", "<GoalUpdated _skipif=\"true\"/>", &[("NT0306", "<GoalUpdated")]),
    // Behaviour.
    ("a child that always decides", "<GoalUpdated/>", "<AlwaysSuccess/>", &[("NT0701", "<RoundRobin")]),
    ("two running children of a reactive node", "<GoalUpdated/>", "<Wait/>", &[("NT0703", "<RoundRobin")]),
];

/// The problems of a text, each with its code and line.
fn problems(text: &str) -> Vec<(String, usize)> {
    let registry = super::registry();
    let files = Memory::new([("tree.xml", text)]);
    let loader = Loader::new(&registry).files(&files, AmentIndex::default());
    let found = loader.check_files(&[Path::new("tree.xml")]);
    let lines = found
        .diagnostics
        .iter()
        .map(|problem| problem.one_line(&found.sources));
    lines
        .map(|line| {
            let number = line.split(':').nth(1).unwrap_or_default();
            let code = line.split_once('[').and_then(|(_, rest)| rest.get(..6));
            (
                code.unwrap_or_default().to_owned(),
                number.parse().unwrap_or_default(),
            )
        })
        .collect()
}

#[test]
fn each_mistake_is_reported_at_its_line_and_once() {
    assert_eq!(problems(TREE), []);
    let mut wrong = Vec::new();
    for (mistake, part, instead, expected) in MISTAKES {
        assert!(TREE.contains(part), "{part}");
        let text = TREE.replacen(part, instead, 1);
        let line_of = |at: &str| {
            text.split(at)
                .next()
                .map_or(0, |before| before.matches('\n').count() + 1)
        };
        let mut expected: Vec<(String, usize)> = expected
            .iter()
            .map(|(code, at)| ((*code).to_owned(), line_of(at)))
            .collect();
        expected.sort_by_key(|(_, line)| *line);
        let found = problems(&text);
        if found != expected {
            wrong.push(format!("{mistake}: {found:?} instead of {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
