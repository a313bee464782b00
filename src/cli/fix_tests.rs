//! The fixes of `navtree check --fix`: a table of trees before and after, and what holds for every file.

use std::path::{Path, PathBuf};

use crate::bt::Confidence;
use crate::xml::{AmentIndex, Checked, Loader, Overlay, Repair, Repaired, Severity};

/// A directory that is removed at the end of its test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("navtree-fix-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn check(path: &Path, overlay: &Overlay) -> Vec<Checked> {
    let registry = crate::nav::registry();
    let loader = Loader::new(&registry).with_models();
    let loader = loader.files(overlay, AmentIndex::default());
    vec![loader.check_files(&[path])]
}

fn repaired(path: &Path) -> Repaired {
    let check = |overlay: &Overlay| check(path, overlay);
    Repair::new(&[path.to_path_buf()], &check).run()
}

fn codes(checked: &[Checked], wanted: impl Fn(&crate::xml::Diagnostic) -> bool) -> Vec<String> {
    let all = checked.iter().flat_map(|checked| &checked.diagnostics);
    all.filter(|problem| wanted(problem))
        .map(|problem| problem.code.to_string())
        .collect()
}

/// The whole text of a version 4 file with one tree.
fn tree(content: &str) -> String {
    format!("<root BTCPP_format=\"4\"><BehaviorTree ID=\"Main\">{content}</BehaviorTree></root>")
}

fn tree_v3(content: &str) -> String {
    format!("<root BTCPP_format=\"3\"><BehaviorTree ID=\"Main\">{content}</BehaviorTree></root>")
}

/// A file with a problem of a code, and the file that `--fix` makes of it.
fn table() -> Vec<(&'static str, String, String)> {
    let plan =
        |goal: &str, path: &str| tree(&format!("<ComputePathToPose goal=\"{goal}\" path=\"{path}\"/>"));
    let plan_and_follow = |written: &str, read: &str| {
        tree(&format!(
            "<Sequence><ComputePathToPose goal=\"{{goal}}\" path=\"{{{written}}}\"/><FollowPath path=\"{{{read}}}\"/></Sequence>"
        ))
    };
    let of =
        |code, make: &dyn Fn(&str) -> String, before: &str, after: &str| (code, make(before), make(after));
    let whole = |text: &str| text.to_owned();
    // A problem with several answers: the name can be one of a node, tree or key that the check does not know.
    let same = |code, text: String| (code, text.clone(), text);
    let good = tree("<AlwaysSuccess/>");
    let two = |content: &str| {
        tree(content).replace(
            "</root>",
            "<BehaviorTree ID=\"Child\"><Script code=\"k := x\"/></BehaviorTree></root>",
        )
    };
    vec![
        ("NT0105", format!("{good} end"), format!("{good} <!-- end -->")),
        ("NT0107", format!("<!DOCTYPE root>{good}"), good.clone()),
        of(
            "NT0108",
            &tree,
            "<AlwaysSuccess name=\"a\" name=\"a\"/>",
            "<AlwaysSuccess name=\"a\"/>",
        ),
        of(
            "NT0109",
            &tree,
            "<AlwaysSuccess name=\"a\"_description=\"b\"/>",
            "<AlwaysSuccess name=\"a\" _description=\"b\"/>",
        ),
        of(
            "NT0111",
            &tree,
            "<AlwaysSuccess name=\"a & b\"/>",
            "<AlwaysSuccess name=\"a &amp; b\"/>",
        ),
        (
            "NT0115",
            format!("hello {good}"),
            format!("<!-- hello --> {good}"),
        ),
        (
            "NT0202",
            tree("<AlwaysSuccess _skipIf=\"true\"/>").replace(" BTCPP_format=\"4\"", ""),
            tree("<AlwaysSuccess _skipIf=\"true\"/>"),
        ),
        // Nothing tells which version is meant.
        (
            "NT0202",
            good.replace(" BTCPP_format=\"4\"", ""),
            good.replace(" BTCPP_format=\"4\"", ""),
        ),
        of(
            "NT0204",
            &whole,
            &good.replace("<Always", "<!-- navtree: allow(NT040) --><Always"),
            &good.replace("<Always", "<!-- navtree: allow(NT040) --><Always"),
        ),
        (
            "NT0205",
            good.replace(
                "</root>",
                "<BehaviourTree ID=\"B\"><AlwaysSuccess/></BehaviourTree></root>",
            ),
            good.replace(
                "</root>",
                "<BehaviorTree ID=\"B\"><AlwaysSuccess/></BehaviorTree></root>",
            ),
        ),
        (
            "NT0215",
            good.replace("<root", "<root main_tree_to_execute=\"Mian\""),
            good.replace("<root", "<root main_tree_to_execute=\"Mian\""),
        ),
        same("NT0301", tree("<Sequnce><AlwaysSuccess/></Sequnce>")),
        same("NT0301", tree("<Action ID=\"AlwaysSucces\"/>")),
        // A node of the author's own robot, one letter from a node of navtree.
        same("NT0301", tree("<LockRobot/>")),
        of(
            "NT0301",
            &two,
            "<SubTreePlus ID=\"Child\" x=\"1\"/>",
            "<SubTree ID=\"Child\" x=\"1\"/>",
        ),
        of(
            "NT0305",
            &tree,
            "<Condition ID=\"AlwaysSuccess\"></Condition>",
            "<Action ID=\"AlwaysSuccess\"></Action>",
        ),
        of(
            "NT0306",
            &tree,
            "<AlwaysSuccess _skipif=\"true\"/>",
            "<AlwaysSuccess _skipIf=\"true\"/>",
        ),
        of(
            "NT0307",
            &two,
            "<SubTree ID=\"Child\" x=\"1\" __autoremap=\"true\"/>",
            "<SubTree ID=\"Child\" x=\"1\" _autoremap=\"true\"/>",
        ),
        of(
            "NT0309",
            &two,
            "<Sequence><Script code=\"y := 1\"/><SubTree ID=\"Child\">\n <remap internal=\"x\" external=\"y\"/></SubTree></Sequence>",
            "<Sequence><Script code=\"y := 1\"/><SubTree ID=\"Child\" x=\"{y}\"></SubTree></Sequence>",
        ),
        of(
            "NT0401",
            &tree,
            "<RetryUntilSuccessful num_atempts=\"3\"><AlwaysSuccess/></RetryUntilSuccessful>",
            "<RetryUntilSuccessful num_attempts=\"3\"><AlwaysSuccess/></RetryUntilSuccessful>",
        ),
        ("NT0403", plan("goal", "{path}"), plan("{goal}", "{path}")),
        ("NT0410", plan("{goal}", "path"), plan("{goal}", "{path}")),
        same("NT0406", plan_and_follow("path", "paht")),
        // One of two uses of a key that the program may write.
        same(
            "NT0418",
            tree(
                "<Sequence><ComputePathToPose goal=\"{goal}\" path=\"{path}\"/>\
                 <Script code=\"gaol := 1\"/><Script code=\"x := gaol2\"/></Sequence>",
            ),
        ),
        of(
            "NT0413",
            &tree_v3,
            "<ComputePathToPose goal=\"{goal}\" path=\"{path}\" start=\"\"/>",
            "<ComputePathToPose goal=\"{goal}\" path=\"{path}\"/>",
        ),
        of(
            "NT0414",
            &tree_v3,
            "<ComputePathToPose goal=\"{goal}\" path=\"path\"/>",
            "<ComputePathToPose goal=\"{goal}\" path=\"{path}\"/>",
        ),
        of(
            "NT0415",
            &tree,
            "<SpeedController filter_duration=\"0.3\"><AlwaysSuccess/></SpeedController>",
            "<SpeedController><AlwaysSuccess/></SpeedController>",
        ),
        same("NT0501", two("<SubTree ID=\"Chidl\" x=\"1\"/>")),
        of(
            "NT0603",
            &tree,
            "<Script code=\"a := 1; \\\n b := 2\"/>",
            "<Script code=\"a := 1; \n b := 2\"/>",
        ),
        of(
            "NT0604",
            &tree,
            "<Script code='a := \"x\"; b := \"y z\"'/>",
            "<Script code='a := &apos;x&apos;; b := &apos;y z&apos;'/>",
        ),
        of(
            "NT0604",
            &tree,
            "<Script code=\"a := &quot;x&quot;\"/>",
            "<Script code=\"a := &apos;x&apos;\"/>",
        ),
    ]
}

#[test]
fn each_problem_with_one_answer_is_fixed() {
    let folder = Folder::new("table");
    let path = folder.0.join("a.xml");
    for (code, before, after) in table() {
        std::fs::write(&path, &before).unwrap();
        let is_fixable = before != after;
        let found = codes(&check(&path, &Overlay::default()), |_| true);
        assert!(
            found.iter().any(|found| found == code),
            "{code} {found:?} {before}"
        );
        let check = |overlay: &Overlay| check(&path, overlay);
        let repaired = super::fix::run(std::slice::from_ref(&path), &check)
            .unwrap()
            .repaired;
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            after,
            "{code} {:?}",
            repaired.lines
        );
        let left = codes(&repaired.rest, |_| true);
        assert_eq!(
            left.iter().any(|left| left == code),
            !is_fixable,
            "{code} {left:?}"
        );
    }
}

#[test]
fn one_cause_at_many_places_is_fixed_at_all() {
    let folder = Folder::new("many");
    let path = folder.0.join("a.xml");
    let leaves = |port: &str| {
        tree(&format!(
            "<Sequence>{}</Sequence>",
            format!("<Wait {port}=\"1\"/>").repeat(30)
        ))
    };
    std::fs::write(&path, leaves("wait_duratoin")).unwrap();
    let repaired = repaired(&path);
    let file = repaired.files.values().next().unwrap();
    assert_eq!(file.after, leaves("wait_duration"));
}

#[test]
fn a_fix_that_would_make_a_problem_is_not_applied() {
    let folder = Folder::new("harm");
    let path = folder.0.join("a.xml");
    // The value does not fit the near attribute: the fix would be an error.
    let text = tree("<AlwaysSuccess _skipif=\"x >\"/>");
    std::fs::write(&path, &text).unwrap();
    let before = codes(&check(&path, &Overlay::default()), |problem| {
        problem.severity == Severity::Error
    });
    assert!(
        codes(&check(&path, &Overlay::default()), |problem| problem
            .fix
            .is_some())
        .len()
            == 1
    );
    let repaired = repaired(&path);
    let after = codes(&repaired.rest, |problem| problem.severity == Severity::Error);
    assert_eq!(after, before);
}

/// After `--fix`, no file has an error that it did not have, and nothing is left that could be fixed without harm.
#[test]
fn files_of_others_get_no_new_error() {
    let roots = ["corpus", "cases"]
        .into_iter()
        .filter_map(crate::shared_trees::folder);
    let roots: Vec<PathBuf> = roots.collect();
    if roots.is_empty() {
        return;
    }
    let files = super::tree_files(&roots).unwrap().files;
    for path in files {
        // Files that take seconds each.
        if std::fs::metadata(&path).unwrap().len() > 100_000
            || path.ends_with("z1_exponential_subtrees_610MB.xml")
        {
            continue;
        }
        let is_error = |problem: &crate::xml::Diagnostic| problem.severity == Severity::Error;
        let before = codes(&check(&path, &Overlay::default()), is_error);
        let repaired = repaired(&path);
        let after = codes(&repaired.rest, is_error);
        assert!(after.len() <= before.len(), "{}: {after:?}", path.display());
        let sure = codes(&repaired.rest, |problem| {
            problem
                .fix
                .as_ref()
                .is_some_and(|fix| fix.confidence == Confidence::Sure)
        });
        if !repaired.lines.is_empty() || !sure.is_empty() {
            println!("{}: {:?}, left {sure:?}", path.display(), repaired.lines);
        }
    }
}
