//! The commands as a user calls them: what they print and how they end.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

const GOOD: &str =
    "<root BTCPP_format='4'><BehaviorTree ID='M'><Sequence><Go to='{x}'/></Sequence></BehaviorTree></root>";
const CLEAN: &str = "<root BTCPP_format='4'><BehaviorTree ID='M'><AlwaysSuccess/></BehaviorTree></root>";
const WARNS: &str =
    "<root BTCPP_format='4'><BehaviorTree ID='M'><ScriptCondition code='x == 1'/></BehaviorTree></root>";

/// A folder of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("navtree-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }

    fn run(&self, arguments: &str) -> Output {
        let program = env!("CARGO_BIN_EXE_navtree");
        let mut command = Command::new(program);
        command.args(arguments.split_whitespace()).current_dir(&self.0);
        command.output().unwrap()
    }

    /// The exit code and what was printed.
    fn ends(&self, arguments: &str) -> (i32, String) {
        let output = self.run(arguments);
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
        )
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn check_ends_with_0_1_or_2() {
    let folder = Folder::new("check");
    folder.file("clean.xml", CLEAN);
    folder.file("unknown.xml", GOOD);
    folder.file("warns.xml", WARNS);
    folder.file(
        "silent.xml",
        &WARNS.replace("<BehaviorTree", "<!-- navtree: allow(NT0406) --><BehaviorTree"),
    );
    for (arguments, code) in [
        ("check clean.xml", 0),
        ("check unknown.xml", 1),
        ("check clean.xml unknown.xml", 1),
        ("check .", 1),
        ("check absent.xml", 2),
        ("check", 2),
        ("check clean.xml --palette absent.xml", 2),
        ("check clean.xml -A nonsense", 2),
        ("check warns.xml", 0),
        ("check warns.xml -D NT0406", 1),
        ("check warns.xml -D warnings", 1),
        ("check warns.xml -D warnings -W NT0406", 0),
        ("check silent.xml -D warnings", 0),
        ("explain", 0),
        ("explain NT0406 NT0301", 0),
        ("explain NT9999", 2),
        ("show absent.xml", 2),
        ("show unknown.xml", 1),
        ("trace absent.xml", 2),
        ("test absent.yaml", 2),
    ] {
        assert_eq!(folder.ends(arguments).0, code, "navtree {arguments}");
    }
    let shown = |arguments: &str| folder.ends(arguments).1.contains("NT0406");
    assert!(shown("check warns.xml"));
    assert!(!shown("check warns.xml -A NT0406"));
    assert!(!shown("check silent.xml"));
}

#[test]
fn a_project_tells_the_commands_about_its_trees() {
    let folder = Folder::new("project");
    folder.file("unknown.xml", GOOD);
    folder.file("warns.xml", WARNS);
    folder.file(
        "nodes.xml",
        "<root><TreeNodesModel><Action ID='Go'><input_port name='to'/></Action></TreeNodesModel></root>",
    );
    assert_eq!(folder.ends("check unknown.xml").0, 1);
    folder.file(
        "navtree.toml",
        "palettes = ['nodes.xml']\nkeys = ['x']\ndeny = ['warnings']",
    );
    for arguments in ["check unknown.xml", "show unknown.xml", "check warns.xml"] {
        assert_eq!(folder.ends(arguments).0, 0, "{arguments}");
    }
    folder.file("navtree.toml", "deny = ['warnings']");
    assert_eq!(folder.ends("check warns.xml").0, 1);
    assert_eq!(folder.ends("check warns.xml -A NT0406").0, 0);
    folder.file("navtree.toml", "key = ['x']");
    assert_eq!(folder.ends("check warns.xml").0, 2);
}

#[test]
fn a_tree_above_the_limit_of_nodes_is_refused_by_every_command() {
    let folder = Folder::new("limit");
    let children = "<AlwaysSuccess/>".repeat(9);
    let tree = format!(
        "<root BTCPP_format='4'><BehaviorTree ID='M'><Sequence>{children}</Sequence></BehaviorTree></root>"
    );
    folder.file("tree.xml", &tree);
    folder.file("run.yaml", "{tree: tree.xml, expect: {root: S}}");
    for (arguments, code) in [
        ("check tree.xml", 1),
        ("show tree.xml", 1),
        ("trace tree.xml", 1),
        ("test run.yaml", 1),
        ("coverage tree.xml run.yaml", 2),
    ] {
        let with = |limit: u32| folder.run(&format!("{arguments} --max-nodes {limit}"));
        assert_eq!(with(10).status.code(), Some(0), "{arguments}");
        let refused = with(9);
        assert_eq!(refused.status.code(), Some(code), "{arguments}");
        let said = String::from_utf8([refused.stdout, refused.stderr].concat()).unwrap();
        assert!(
            said.contains("has 10 nodes once its subtrees are in place; the limit is 9"),
            "{said}"
        );
    }
    assert_eq!(folder.ends("check tree.xml --max-nodes 0").0, 2);
}

/// Each command that reads a tree knows the nodes of a palette, given by the command line or by the project.
#[test]
fn every_command_knows_the_nodes_of_a_palette() {
    let folder = Folder::new("palettes");
    let sub = |name: &str, text: &str| {
        std::fs::create_dir_all(folder.0.join("trees")).unwrap();
        folder.file(&format!("trees/{name}"), text);
    };
    sub("tree.xml", GOOD);
    sub("old.xml", &GOOD.replace("'4'", "'3'"));
    sub("run.yaml", "{tree: tree.xml, expect: {error: Go}}");
    folder.file(
        "nodes.xml",
        "<root><TreeNodesModel><Action ID='Go'><input_port name='to'/></Action></TreeNodesModel></root>",
    );
    let model = "<TreeNodesModel><Action ID='Go'><input_port name='to'/></Action></TreeNodesModel></root>";
    sub("own.xml", &GOOD.replace("</root>", model));
    sub("own.yaml", "{tree: own.xml, expect: {error: Go}}");
    for arguments in [
        "check trees/own.xml",
        "show trees/own.xml",
        "trace trees/own.xml --ticks 0",
        "test trees/own.yaml",
        "coverage trees/own.xml trees/own.yaml",
    ] {
        assert_eq!(folder.ends(arguments).0, 0, "{arguments}");
    }
    for (arguments, without, with) in [
        ("check trees/tree.xml", 1, 0),
        ("show trees/tree.xml", 1, 0),
        ("trace trees/tree.xml --ticks 0", 1, 0),
        ("test trees/run.yaml", 1, 0),
        ("convert trees/old.xml", 0, 0),
        ("coverage trees/tree.xml trees/run.yaml", 2, 0),
    ] {
        assert_eq!(folder.ends(arguments).0, without, "{arguments}");
        let option = format!("{arguments} --palette nodes.xml");
        assert_eq!(folder.ends(&option).0, with, "{option}");
        let option = format!("{arguments} --palette absent.xml");
        assert_eq!(folder.ends(&option).0, 2, "{option}");
        sub("navtree.toml", "palettes = ['../nodes.xml']");
        assert_eq!(folder.ends(arguments).0, with, "{arguments} with navtree.toml");
        std::fs::remove_file(folder.0.join("trees/navtree.toml")).unwrap();
    }
}

#[test]
fn a_problem_of_an_included_file_is_reported_once() {
    let folder = Folder::new("once");
    folder.file("lib.xml", &GOOD.replace("'M'", "'L'"));
    for (main, lib) in [("a", "lib.xml"), ("b", "./lib.xml")] {
        let text = format!(
            "<root BTCPP_format='4' main_tree_to_execute='{main}'><include path='{lib}'/>\
             <BehaviorTree ID='{main}'><SubTree ID='L'/></BehaviorTree></root>"
        );
        folder.file(&format!("{main}.xml"), &text);
    }
    let (code, text) = folder.ends("check .");
    assert_eq!(code, 1);
    assert!(text.ends_with("3 files: 1 error, 0 warnings\n"), "{text}");
    let (_, json) = folder.ends("check --format json .");
    assert_eq!(
        serde_json::from_str::<Value>(&json)
            .unwrap()
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn other_xml_files_of_a_folder_are_skipped() {
    let folder = Folder::new("other-xml");
    folder.file("clean.xml", CLEAN);
    folder.file("package.xml", "<?xml version='1.0'?>\n<package format='3'/>");
    folder.file("robot.xml", "<!-- a robot -->\n<robot name='r'/>");
    let skipped = "2 XML files skipped: the root element is not `root`\n";
    let expected = format!("1 file: 0 errors, 0 warnings\n{skipped}");
    assert_eq!(folder.ends("check ."), (0, expected));
    // A file with a name of its own on the command line is checked.
    assert_eq!(folder.ends("check package.xml").0, 1);
    std::fs::remove_file(folder.0.join("clean.xml")).unwrap();
    let output = folder.run("check .");
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("no tree file"), "{message}");
}

#[test]
fn a_file_whose_name_begins_with_http_is_no_address() {
    let folder = Folder::new("http");
    folder.file("httpd.xml", CLEAN);
    let (code, text) = folder.ends("top --once httpd.xml");
    assert!(code == 0 && text.contains("AlwaysSuccess"), "{code}: {text}");
}

#[test]
fn an_included_file_is_checked_with_its_including_file() {
    let folder = Folder::new("parts");
    let root = |attributes: &str, content: &str| format!("<root {attributes}>{content}</root>");
    let tree = |id: &str, node: &str| format!("<BehaviorTree ID='{id}'>{node}</BehaviorTree>");
    let includes = |names: &[&str]| -> String {
        let all = names.iter().map(|name| format!("<include path='{name}'/>"));
        all.collect()
    };
    // Uses a tree of its neighbour, and leaves the version to who includes it.
    let a = root("", &tree("A", "<SubTree ID='B' k='key'/>"));
    let b = root("", &tree("B", "<SetBlackboard output_key='k' value='1'/>"));
    let main = root(
        "BTCPP_format='3' main_tree_to_execute='M'",
        &(includes(&["a.xml", "./b.xml"]) + &tree("M", "<SubTree ID='A'/>")),
    );
    folder.file("a.xml", &a);
    folder.file("b.xml", &b);
    folder.file("main.xml", &main);
    let whole = (0, "3 files: 0 errors, 0 warnings\n".to_owned());
    assert_eq!(folder.ends("check ."), whole);
    assert_eq!(folder.ends("check a.xml b.xml main.xml"), whole);
    let said = |arguments: &str, part: &str| {
        let (code, text) = folder.ends(&format!("check --format short {arguments}"));
        assert!(code == 1 && text.contains(part), "{arguments}: {code} {text}");
    };
    said("a.xml", "a.xml:1:42: error[NT0501]");
    // A program may register both.
    assert_eq!(folder.ends("check a.xml b.xml").0, 0);
    // Trees that nobody calls are looked at, too.
    folder.file(
        "b.xml",
        &b.replace("</root>", &(tree("C", "<Nope/>") + "</root>")),
    );
    said(".", "error[NT0301]: unknown node `Nope`");
    // One that another file replaces is looked at by itself.
    folder.file("c.xml", &root("BTCPP_format='4'", &tree("A", "<Nope/>")));
    folder.file(
        "d.xml",
        &root(
            "BTCPP_format='4'",
            &(includes(&["c.xml"]) + &tree("A", "<AlwaysSuccess/>")),
        ),
    );
    said("c.xml d.xml", "c.xml:1:46: error[NT0301]: unknown node `Nope`");
    // Of files in a circle none is part of the others.
    for (name, other) in [("e.xml", "f.xml"), ("f.xml", "e.xml")] {
        let tree = tree(&name[..1], "<Nope/>");
        folder.file(name, &root("BTCPP_format='4'", &(includes(&[other]) + &tree)));
    }
    said("e.xml f.xml", "e.xml:1:69: error[NT0301]");
    said("e.xml f.xml", "f.xml:1:69: error[NT0301]");
}

#[test]
fn check_fix_changes_the_named_files_only() {
    let folder = Folder::new("fix");
    let retry = |port: &str| {
        let node = format!("<RetryUntilSuccessful {port}='3'><AlwaysSuccess/></RetryUntilSuccessful>");
        CLEAN.replace("<AlwaysSuccess/>", &node)
    };
    let (typo, fixed) = (retry("num_atempts"), retry("num_attempts"));
    let including = typo.replace(
        "<BehaviorTree ID='M'>",
        "<include path='part.xml'/><BehaviorTree ID='N'>",
    );
    folder.file("part.xml", &typo);
    folder.file("whole.xml", &including);
    let read = |name: &str| std::fs::read_to_string(folder.0.join(name)).unwrap();
    let (code, output) = folder.ends("check --fix whole.xml");
    assert_eq!(code, 1, "the included file still has its error");
    assert!(
        output.starts_with(
            "fixed: whole.xml:1:93: error[NT0401]: `RetryUntilSuccessful` has no port `num_atempts`: write `num_attempts`\n"
        ),
        "{output}"
    );
    assert_eq!(read("part.xml"), typo);
    assert_eq!(
        read("whole.xml"),
        including.replace("num_atempts", "num_attempts")
    );

    let (code, output) = folder.ends("check --fix --format json .");
    let problems: Value = serde_json::from_str(&output).unwrap();
    assert!(
        problems
            .as_array()
            .unwrap()
            .iter()
            .all(|problem| problem["severity"] != "error")
    );
    assert_eq!((code, read("part.xml")), (0, fixed.clone()));
    let names = std::fs::read_dir(&folder.0).unwrap();
    assert_eq!(names.count(), 2, "no other file is left behind");

    // A read-only file stays, and the others are fixed.
    folder.file("part.xml", &typo);
    let path = folder.0.join("part.xml");
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions.clone()).unwrap();
    for content in [&typo, &fixed] {
        std::fs::remove_file(&path).unwrap();
        folder.file("part.xml", content);
        std::fs::set_permissions(&path, permissions.clone()).unwrap();
        folder.file("other.xml", &typo.replace("'M'", "'O'"));
        let output = folder.run("check --fix .");
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            error.contains("part.xml: the file is read-only"),
            content == &typo,
            "{error}"
        );
        let code = if content == &typo { 2 } else { 0 };
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert_eq!(read("other.xml"), fixed.replace("'M'", "'O'"));
    }
    std::fs::remove_file(folder.0.join("other.xml")).unwrap();
    std::fs::remove_file(&path).unwrap();
    folder.file("part.xml", &typo);
    std::fs::set_permissions(&path, permissions).unwrap();
    for (arguments, reason) in [
        ("check --fix part.xml", "the file is read-only"),
        ("check --fix /dev/stdin", "not a regular file"),
        ("check --fix absent.xml", "No such file"),
    ] {
        let output = folder.run(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(error.contains(reason), "{error}");
    }
    assert_eq!(read("part.xml"), typo);
}

#[test]
fn each_folder_has_the_nodes_and_levels_of_its_own_project() {
    let folder = Folder::new("projects");
    for name in ["a", "b"] {
        std::fs::create_dir_all(folder.0.join(name)).unwrap();
    }
    let own = CLEAN.replace("AlwaysSuccess", "LockRobot");
    folder.file("a/navtree.toml", "deny = ['NT0202']");
    folder.file("a/a.xml", &own.replace("'M'", "'A'"));
    folder.file("b/navtree.toml", "palettes = ['own.pal']\nallow = ['NT0202']");
    folder.file(
        "b/own.pal",
        "<root><TreeNodesModel><Action ID='LockRobot'/></TreeNodesModel></root>",
    );
    folder.file("b/b.xml", &own);
    folder.file(
        "b/c.xml",
        &own.replace("'M'", "'C'").replace(" BTCPP_format='4'", ""),
    );
    for paths in ["a b", "b a", "--fix a b"] {
        let (code, output) = folder.ends(&format!("check --format short {paths}"));
        assert_eq!(code, 1, "{paths}: {output}");
        assert_eq!(output.lines().count(), 1, "{paths}: {output}");
        assert!(
            output.contains("a/a.xml") && output.contains("unknown node `LockRobot`"),
            "{output}"
        );
    }
    assert_eq!(std::fs::read_to_string(folder.0.join("b/b.xml")).unwrap(), own);
    std::fs::write(folder.0.join("b/navtree.toml"), "palette = []").unwrap();
    let output = folder.run("check a b");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("there is no entry `palette`")
    );
}

/// A million nodes are refused within 500 MB, and within 2 s of an optimised build.
#[test]
fn a_tree_of_a_million_nodes_is_refused_in_bounded_memory() {
    let folder = Folder::new("million");
    let nested =
        "<Sequence><Inverter><Sequence><AlwaysSuccess/><AlwaysFailure/></Sequence></Inverter></Sequence>";
    for (name, nodes) in [
        ("flat.xml", "<AlwaysSuccess/>".repeat(999_999)),
        ("nested.xml", nested.repeat(200_000)),
    ] {
        folder.file(
            name,
            &CLEAN.replace("<AlwaysSuccess/>", &format!("<Sequence>{nodes}</Sequence>")),
        );
        // The limit of private writable memory. The address space (`-v`) also counts what the build with ROS reserves
        // and never uses. The limit of time is the processor's, because other programs may keep it busy.
        let seconds = if cfg!(debug_assertions) { 120 } else { 2 };
        let program = env!("CARGO_BIN_EXE_navtree");
        let command = format!("ulimit -d 500000 -t {seconds}; exec {program} check --format short {name}");
        let mut shell = Command::new("bash");
        let output = shell
            .args(["-c", &command])
            .current_dir(&folder.0)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}: {text}");
        assert!(
            text.contains("NT0505") && text.contains("the limit is 250000"),
            "{name}: {text}"
        );
    }
}

#[test]
fn problems_are_printed_as_json_and_sarif() {
    let folder = Folder::new("formats");
    folder.file("unknown.xml", GOOD);
    let (_, json) = folder.ends("check --format json unknown.xml");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["code"], "NT0301");
    let (_, sarif) = folder.ends("check --format sarif unknown.xml");
    let sarif: Value = serde_json::from_str(&sarif).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "NT0301");
}

#[cfg(feature = "ros")]
#[test]
fn check_tries_trees_on_the_interfaces_of_the_build_as_the_node_does() {
    let folder = Folder::new("interfaces");
    let tree = |node: &str| {
        format!(
            "<root BTCPP_format='4'>\n<BehaviorTree ID='M'>\n<Sequence>\n{node}\n</Sequence></BehaviorTree></root>"
        )
    };
    folder.file(
        "good.xml",
        &tree("<RosPublish topic_name='x' message_type='std_msgs/msg/UInt8' message.data='255'/>"),
    );
    assert_eq!(
        folder.ends("check good.xml"),
        (0, "1 file: 0 errors, 0 warnings\n".to_owned())
    );
    for (node, place, words) in [
        (
            "<RosPublish topic_name='x' message_type='std_msgs/msg/UInt8' message.data='256'/>",
            "256",
            "message.data: invalid value: integer `256`",
        ),
        (
            "<RosAction server_name='x' action_type='nav2_msgs/action/Spin' goal.target_jaw='1'/>",
            "1'/>",
            "there is no field `target_jaw`: did you mean `target_yaw`?",
        ),
        (
            "<RosService service_name='a//b' service_type='std_srvs/srv/SetBool'/>",
            "a//b",
            "`a//b` is not a valid ROS name",
        ),
        (
            "<RosSubscribe topic_name='x' message_type='no_msgs/msg/None'/>",
            "no_msgs",
            "the interface `no_msgs/msg/None` is unknown",
        ),
        (
            "<RosParameterSet node='n' parameter='p' value='1;256' kind='byte_array'/>",
            "1;256",
            "value: invalid value: integer `256`",
        ),
    ] {
        folder.file("tree.xml", &tree(node));
        let (code, text) = folder.ends("check --format short tree.xml");
        assert_eq!(code, 1, "{text}");
        let column = node.find(place).unwrap() + 1;
        let start = format!("tree.xml:4:{column}: error[NT0408]: ");
        assert!(text.starts_with(&start), "{start} {text}");
        assert!(text.contains(words), "{text}");
    }
    folder.file(
        "two.xml",
        &tree(
            "<RosPublish topic_name='x' message_type='std_msgs/msg/Bool'/>\n\
             <RosSubscribe topic_name='x' message_type='std_msgs/msg/String'/>",
        ),
    );
    let (code, text) = folder.ends("check --format short two.xml");
    assert_eq!(code, 1, "{text}");
    let words = "the topic `x` has the type std_msgs/msg/Bool here, not std_msgs/msg/String";
    assert!(
        text.starts_with("two.xml:5:44: ") && text.contains(words),
        "{text}"
    );
    // Whatever else is wrong in the file.
    folder.file(
        "more.xml",
        &tree(
            "<Sleep msec='soon'/>\n<Slep/>\n\
             <RosAction server_name='x' action_type='nav2_msgs/action/Spin' goal.target_jaw='1'/>\n\
             <RosSubscribe topic_name='x' message_type='{of_what' message.data='{x}'/>\n\
             <RosSubscribe topic_name='y'/>",
        ),
    );
    let (_, text) = folder.ends("check --format short more.xml");
    let starts: Vec<&str> = text
        .lines()
        .map(|line| line.split_once("]:").unwrap().0)
        .collect();
    assert_eq!(
        starts,
        [
            "more.xml:4:14: error[NT0403",
            "more.xml:5:2: error[NT0301",
            "more.xml:6:81: error[NT0408",
            "more.xml:7:44: error[NT0408",
            "more.xml:8:2: error[NT0402",
        ],
        "{text}"
    );
}

#[test]
fn an_attribute_that_a_node_rejects_is_marked_in_the_source() {
    let folder = Folder::new("marked");
    for (node, place, code) in [
        (
            "<ComputePathToPose goal='{g}' viapoints='{v}' path='{p}'/>",
            "viapoints",
            "warning[NT0407]",
        ),
        (
            "<RosPublish topic_name='x' message_type='a/msg/B' qos='fast'/>",
            "fast",
            "error[NT0308]",
        ),
        (
            "<RosParameterGet value='{v}' node='' parameter='p'/>",
            "' parameter",
            "error[NT0308]",
        ),
        // No ROS string can hold the zero byte.
        (
            r#"<ComputePathToPose goal='json:{"header":{"frame_id":"ma\u0000p"}}' path='{p}'/>"#,
            "json:",
            "error[NT0403]",
        ),
        (
            r#"<ArePosesNear ref_pose='json:{"header":{"frame_id":"ma\u0000p"}}' target_pose='{p}' global_frame='map'/>"#,
            "json:",
            "error[NT0403]",
        ),
    ] {
        let tree = format!("<root BTCPP_format='4'><BehaviorTree ID='T'>{node}</BehaviorTree></root>");
        folder.file("tree.xml", &tree);
        let (_, text) = folder.ends("check --format short tree.xml");
        let start = format!("tree.xml:1:{}: {code}", tree.find(place).unwrap() + 1);
        assert!(text.contains(&start), "{start}\n{text}");
    }
}

#[test]
fn a_seed_says_what_is_drawn() {
    let folder = Folder::new("seed");
    let lot = "<Random><Script code='drawn := drawn * 2'/><Script code='drawn := drawn * 2 + 1'/></Random>";
    let tree = format!(
        "<root BTCPP_format='4'><BehaviorTree ID='T'><Sequence><Script code='drawn := 0'/>{}</Sequence>\
         </BehaviorTree></root>",
        lot.repeat(32)
    );
    folder.file("tree.xml", &tree);
    let drawn = |options: &str| -> Value {
        let (code, text) = folder.ends(&format!("trace tree.xml --ticks 1 --json {options}"));
        assert_eq!(code, 0, "{text}");
        let object: Value = serde_json::from_str(&text).unwrap();
        object["blackboard"]["drawn"].clone()
    };
    assert_eq!(drawn("--seed 1"), drawn("--seed 1"));
    assert_ne!(drawn("--seed 1"), drawn("--seed 2"));
    assert_eq!(drawn(""), drawn("--seed 0"));
    let scenario = format!(
        "{{tree: tree.xml, seed: 2, expect: {{root: S, blackboard: {{drawn: {}}}}}}}",
        drawn("--seed 2")
    );
    folder.file("scenario.yaml", &scenario);
    assert_eq!(
        folder.ends("test -q scenario.yaml"),
        (0, "1 passed, 0 failed\n".to_owned())
    );
}

#[test]
fn a_trace_is_one_object_a_tick() {
    let folder = Folder::new("trace");
    folder.file("tree.xml", GOOD);
    folder.file("mocks.yaml", "Go: [RUNNING, {status: SUCCESS, set: {to: 7}}]");
    let lines = |options: &str| -> Vec<Value> {
        let (code, text) = folder.ends(&format!("trace tree.xml --mock mocks.yaml --json {options}"));
        assert_eq!(code, 0);
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let ticks = lines("--ticks 4 --set y=1");
    assert_eq!(ticks.len(), 4);
    assert_eq!(
        ticks[0].to_string(),
        r#"{"tick":1,"status":"RUNNING","nodes":{"Sequence::1":"RUNNING","Go::2":"RUNNING"},"halted":[],"blackboard":{"x":null,"y":1}}"#
    );
    assert_eq!(ticks[1]["status"], "SUCCESS");
    assert_eq!(ticks[1]["blackboard"]["x"], 7);
    assert_eq!(ticks[2]["status"], "RUNNING");
    assert_eq!(lines("--ticks 4 --until-done").len(), 2);
}

#[test]
fn mocks_replace_each_matching_leaf_and_unused_ones_are_reported() {
    let folder = Folder::new("mocks");
    folder.file(
        "tree.xml",
        "<root BTCPP_format='4'><BehaviorTree ID='T'><Sequence><Strange name='one' x='{x}'/>\
         <Condition ID='Odd'/><Other name='arm/grip'/></Sequence></BehaviorTree></root>",
    );
    folder.file(
        "mocks.yaml",
        "one: {status: SUCCESS, set: {x: 3}}\nOdd: SUCCESS\n'arm/*': SUCCESS\n",
    );
    let (code, text) = folder.ends("trace tree.xml --mock mocks.yaml --ticks 1 --json");
    assert_eq!(code, 0, "{text}");
    let object: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&object["status"], &object["blackboard"]["x"]),
        (&"SUCCESS".into(), &3.into())
    );

    folder.file(
        "mocks.yaml",
        "one: SUCCESS\nOdd: SUCCESS\n'arm/*': SUCCESS\nonne: SUCCESS\n",
    );
    let traced = |options: &str| folder.run(&format!("trace tree.xml --mock mocks.yaml --ticks 1 {options}"));
    let output = traced("");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(
        said.contains("warning[NT0901]") && said.contains("mocks.yaml:4:1"),
        "{said}"
    );
    assert!(said.contains("did you mean `one`?"), "{said}");
    assert_eq!(traced("-D NT0901").status.code(), Some(1));
    assert!(traced("-A NT0901").stderr.is_empty());
    folder.file("mocks.yaml", "'*': SUCCESS\nSequence: FAILURE\n");
    let said = String::from_utf8(traced("").stderr).unwrap();
    assert!(
        said.contains("`Sequence` matches no leaf") && said.contains("only leaves are mocked"),
        "{said}"
    );
    let scenario = "{tree: tree.xml, mocks: {one: SUCCESS, '*': SUCCESS, onne: FAILURE}, expect: {root: S}}";
    folder.file("scenario.yaml", scenario);
    let (code, text) = folder.ends("test scenario.yaml");
    assert!(
        code == 1 && text.contains("no leaf of the tree has these mocks: onne"),
        "{text}"
    );
}

#[test]
fn the_most_specific_matching_mock_is_used() {
    let folder = Folder::new("exact");
    folder.file(
        "tree.xml",
        "<root BTCPP_format='4'><BehaviorTree ID='T'><ParallelAll max_failures='4'>\
         <Go name='arm/grip'/><Go name='arm/open'/><Go name='leg/left'/><Go name='leg/walk'/><Go name='base'/>\
         </ParallelAll></BehaviorTree></root>",
    );
    folder.file(
        "mocks.yaml",
        "'*': FAILURE\n'arm/*': SUCCESS\n'arm/gri?': RUNNING\n'leg/*': RUNNING\n'l?g/*t': SUCCESS\n'*e*/*t': FAILURE\n\
         'leg/walk': SUCCESS\n",
    );
    let (code, text) = folder.ends("trace tree.xml --mock mocks.yaml --ticks 1 --json");
    assert_eq!(code, 0, "{text}");
    let object: Value = serde_json::from_str(&text).unwrap();
    for (leaf, status) in [
        ("arm/grip", "RUNNING"),
        ("arm/open", "SUCCESS"),
        // Both have four characters of their own: the first by name counts.
        ("leg/left", "SUCCESS"),
        ("leg/walk", "SUCCESS"),
        ("base", "FAILURE"),
    ] {
        assert_eq!(object["nodes"][leaf], status, "{leaf}: {text}");
    }
}

#[test]
fn a_trace_distinguishes_siblings_of_one_name_and_counts_ticks() {
    let folder = Folder::new("siblings");
    folder.file(
        "tree.xml",
        "<root BTCPP_format='4'><BehaviorTree ID='T'><Sequence><Go name='go'/><Go name='go'/></Sequence>\
         </BehaviorTree></root>",
    );
    folder.file("mocks.yaml", "Go: SUCCESS");
    let (_, text) = folder.ends("trace tree.xml --mock mocks.yaml --ticks 3 --drain --json");
    let ticks: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(ticks[0]["nodes"].as_object().unwrap().len(), 3);
    assert!(ticks[0]["nodes"]["go::3"].is_string());
    let numbers: Vec<&Value> = ticks.iter().map(|tick| &tick["tick"]).collect();
    assert_eq!(numbers, [1, 2, 3]);

    folder.file(
        "tree.xml",
        "<root BTCPP_format='4'><BehaviorTree ID='T'><Fallback><AlwaysSuccess/><Go/></Fallback></BehaviorTree></root>",
    );
    let warned = |options: &str| -> String {
        let output = folder.run(&format!("trace tree.xml --mock mocks.yaml --ticks 1 {options}"));
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(warned(""), "");
    assert!(warned("-W NT0701").contains("warning[NT0701]"));
}

#[test]
fn scenario_results_are_written_as_junit() {
    let folder = Folder::new("junit");
    folder.file("tree.xml", GOOD);
    folder.file(
        "a.yaml",
        "- {name: holds, tree: tree.xml, mocks: {Go: RUNNING}, expect: {root: R R}}\n\
         - {name: does not, tree: tree.xml, mocks: {Go: RUNNING}, expect: {root: R S}}",
    );
    folder.file(
        "b.yaml",
        "{name: 'a & b', tree: tree.xml, mocks: {Go: {throw: \"\\e[1m\"}}, expect: {root: S}}",
    );
    let (code, _) = folder.ends("test b.yaml --junit out.xml");
    assert_eq!(code, 1);
    let junit = std::fs::read_to_string(folder.0.join("out.xml")).unwrap();
    assert!(junit.contains("name=\"a &amp; b\""), "{junit}");
    assert!(
        !junit.contains('\x1b') && junit.contains("\u{FFFD}[1m"),
        "{junit}"
    );
    let (code, text) = folder.ends("test a.yaml --junit out.xml");
    assert_eq!(code, 1);
    assert!(text.contains("1 passed, 1 failed"), "{text}");
    let junit = std::fs::read_to_string(folder.0.join("out.xml")).unwrap();
    let shown: Vec<String> = elements(&junit).iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "testsuites tests=2 failures=1 errors=0",
            "testsuite name=navtree skipped=0 tests=2 failures=1 errors=0",
            "testcase classname=a.yaml name=holds file=a.yaml",
            "testcase classname=a.yaml name=does not file=a.yaml",
            "failure message=root: expected R S got R R",
        ]
    );
}

/// The elements of a JUnit file with their attributes, except the times, which differ from run to run.
fn elements(xml: &str) -> Vec<String> {
    use quick_xml::events::Event;
    let mut reader = quick_xml::Reader::from_str(xml);
    let mut found = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Start(element) | Event::Empty(element) => {
                let mut text = element.name().as_ref().to_owned();
                for attribute in element.attributes() {
                    let attribute = attribute.unwrap();
                    if attribute.key.as_ref() != "time" {
                        text.push_str(&format!(" {}={}", attribute.key.as_ref(), attribute.value));
                    }
                }
                found.push(text);
            }
            Event::Eof => return found,
            _ => {}
        }
    }
}

#[test]
fn a_test_ends_with_0_1_or_2_and_bad_input_runs_nothing() {
    let folder = Folder::new("test");
    folder.file("clean.xml", CLEAN);
    folder.file("a_pass.yaml", "{tree: clean.xml, expect: {root: S}}");
    folder.file("b_fail.yaml", "{tree: clean.xml, expect: {root: F}}");
    folder.file("c_no_tree.yaml", "{tree: absent.xml, expect: {root: S}}");
    folder.file("d_bad.yaml", "{tree: clean.xml, expects: {root: S}}");
    for (arguments, code) in [
        ("a_pass.yaml", 0),
        ("b_fail.yaml", 1),
        ("c_no_tree.yaml", 1),
        ("a_pass.yaml b_fail.yaml", 1),
        ("d_bad.yaml", 2),
        ("absent.yaml", 2),
        ("a_pass.yaml --junit absent/out.xml", 2),
        ("a_pass.yaml --no-such-option", 2),
    ] {
        assert_eq!(folder.ends(&format!("test {arguments}")).0, code, "{arguments}");
    }
    assert_eq!(folder.ends("test . --junit out.xml"), (2, String::new()));
    assert!(!folder.0.join("out.xml").exists());
    let (_, help) = folder.ends("test --help");
    assert!(help.contains("1  a scenario failed"), "{help}");
}

#[test]
fn trees_are_shown_in_every_form() {
    let folder = Folder::new("show");
    folder.file("clean.xml", CLEAN);
    for (format, part) in [
        ("text", "AlwaysSuccess"),
        ("dot", "digraph"),
        ("svg", "<svg"),
        ("mermaid", "flowchart"),
    ] {
        let (code, text) = folder.ends(&format!("show clean.xml --format {format}"));
        assert_eq!(code, 0);
        assert!(text.contains(part), "{text}");
    }
    folder.file(
        "odd.xml",
        &CLEAN.replace("/>", " name='`a&lt;/b&gt; #1&quot;&#10;c'/>"),
    );
    assert!(
        folder
            .ends("show odd.xml --format dot")
            .1
            .contains(r#"label="`a</b> #1\"\nc ("#)
    );
    assert!(
        folder
            .ends("show odd.xml --format svg")
            .1
            .contains("`a&lt;/b&gt; #1&quot;\nc (")
    );
    let (_, mermaid) = folder.ends("show odd.xml --format mermaid");
    assert!(mermaid.contains("\"#96;a#60;/b#62; #35;1#quot; c ("), "{mermaid}");
    assert!(folder.ends("models").1.contains("<TreeNodesModel>"));
    assert!(folder.ends("models --xsd").1.contains("<xs:schema"));
    assert!(folder.ends("completions bash").1.contains("completions"));
}

/// The width and the height of an SVG picture.
fn size_of(svg: &str) -> [f64; 2] {
    let attribute = |name: &str| {
        let (_, rest) = svg.split_once(&format!(" {name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    let [width, height] = ["width", "height"].map(attribute);
    assert_eq!(attribute("viewBox"), format!("0 0 {width} {height}"));
    [width, height].map(|size| size.parse().unwrap())
}

#[test]
fn a_picture_of_the_default_tree_fits_a_page() {
    let folder = Folder::new("layout");
    let tree = concat!(env!("CARGO_MANIFEST_DIR"), "/behavior_trees/navigate_to_pose.xml");
    let show = |options: &str| {
        let (code, text) = folder.ends(&format!("show {tree} --format svg {options}"));
        assert_eq!(code, 0, "{text}");
        text
    };
    let [width, height] = size_of(&show(""));
    assert!(
        width < 1600.0 && height < 1600.0,
        "at half its size it fits a page: {width} x {height}"
    );
    let [wide, _] = size_of(&show("--layout top-down"));
    assert!(wide > 1.5 * width, "{wide}, {width}");
    let folded = show("--fold RecoveryNode");
    assert!(folded.contains("nodes are folded"), "{folded}");
    assert!(!folded.contains("FollowPath"), "{folded}");
    assert!(size_of(&folded)[0] < width);
    let refused = folder.run(&format!("show {tree} --fold Absent"));
    assert_eq!(refused.status.code(), Some(2));
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(text.contains("the name or ID `Absent`"), "{text}");
}

#[test]
fn an_unusable_argument_is_reported_with_its_location() {
    let folder = Folder::new("misuse");
    folder.file("clean.xml", CLEAN);
    folder.file("mocks.yaml", "Go: RUNNING\nStop: [SUCCESS, DONE]");
    folder.file(
        "scenario.yaml",
        "- name: x\n  tree: clean.xml\n  expect: {root: S, halted: {2: [a]}}",
    );
    folder.file("nothing.yaml", "# later");
    std::fs::write(folder.0.join("latin.xml"), b"<root>\n<a b='\xe9'/></root>").unwrap();
    std::fs::write(folder.0.join("latin.yaml"), b"a: SUCCESS\nb: \xe9").unwrap();
    std::fs::create_dir_all(folder.0.join("empty")).unwrap();
    for (arguments, code, part) in [
        (
            "trace clean.xml --mock mocks.yaml",
            2,
            "mocks.yaml:2:17: Stop[1]: `DONE` is not",
        ),
        (
            "trace clean.xml --mock latin.yaml",
            2,
            "latin.yaml:2:4: not UTF-8",
        ),
        ("trace clean.xml --mock empty", 2, "empty: is a directory"),
        (
            "trace clean.xml --mock /dev/zero",
            2,
            "/dev/zero: is not a regular file",
        ),
        ("trace clean.xml --set =1", 2, "`` is not a key"),
        (
            "test scenario.yaml",
            2,
            "scenario.yaml:1:3: [0]: scenario `x`: `halted` names tick 2",
        ),
        ("test nothing.yaml", 2, "no scenarios"),
        ("test empty", 2, "no *.yaml or *.yml file in empty"),
        ("test /dev/zero", 2, "/dev/zero: is not a regular file"),
        ("check empty", 2, "no *.xml file in empty"),
        ("check clean.xml -A NT0301", 2, "Errors cannot be silenced"),
        ("convert latin.xml", 1, "latin.xml:2:7"),
    ] {
        let output = folder.run(arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "navtree {arguments}: {told}");
        assert!(told.contains(part), "navtree {arguments}: {told}");
    }
}

/// Whoever reads what it prints may have seen enough while the robot is on its way: the goal is still cancelled at its time.
#[cfg(feature = "ros")]
#[test]
fn a_run_whose_output_is_closed_continues_to_its_end() {
    let folder = Folder::new("unread");
    folder.file("clean.xml", CLEAN);
    let mut command = Command::new(env!("CARGO_BIN_EXE_navtree"));
    command
        .args("drive --goal 1 0 0 --tree clean.xml --patience 1 --svg track.svg".split(' '))
        .current_dir(&folder.0)
        .envs([
            ("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"),
            ("ROS_DOMAIN_ID", "220"),
        ])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut drive = command.spawn().unwrap();
    drop(drive.stdout.take());
    let output = drive.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // Nobody has taken the goal, so it has not succeeded.
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(folder.0.join("track.svg").exists(), "{said}");
}

/// Two links to the directory that they are in make as many paths as there are numbers of forty bits.
#[test]
fn circular_links_are_followed_once() {
    let folder = Folder::new("links");
    folder.file("clean.xml", CLEAN);
    for name in ["a", "b"] {
        std::os::unix::fs::symlink(".", folder.0.join(name)).unwrap();
    }
    let (code, text) = folder.ends("check .");
    assert_eq!((code, &*text), (0, "1 file: 0 errors, 0 warnings\n"));
}

#[test]
fn a_full_disk_is_no_success() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_navtree"));
    let output = command.arg("models").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("standard output")
    );
}
