//! Runs the scenarios of `test/scenarios`, as `navtree test test/scenarios` does, and makes the page of conformance.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use serde::Deserialize;

#[test]
fn all_scenarios_hold() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/test/scenarios");
    let code = navtree::cli::main(["navtree", "test", "--quiet", directory].map(Into::into));
    assert_eq!(
        code,
        ExitCode::SUCCESS,
        "see above for what was expected and what was seen"
    );
}

/// One key at the top of `test/conformance.yaml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    title: String,
    says: String,
    families: Vec<Family>,
}

/// What is told under one heading.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    family: String,
    items: Vec<Item>,
}

/// One thing that is asserted elsewhere, and what covers it here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    what: String,
    #[serde(default)]
    tests: Vec<String>,
    #[serde(default)]
    not: Option<String>,
}

/// Every test that the list names exists, and the page made of the list is current (`NAVTREE_BLESS=1` writes it).
#[test]
fn the_conformance_list_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = std::fs::read_to_string(root.join("test/conformance.yaml")).unwrap();
    let parts: BTreeMap<String, Part> = serde_yaml::from_str(&list).unwrap();
    let mut sources = BTreeMap::new();
    let mut page = String::from(
        "# Conformance\n\nThis page lists what the tests of other projects assert, and the tests of navtree that cover it. \
         Generated from `test/conformance.yaml`.\n",
    );
    let mut wrong = Vec::new();
    for part in parts.values() {
        write!(page, "\n## {}\n\n{}\n", part.title, part.says.trim()).unwrap();
        for family in &part.families {
            write!(
                page,
                "\n### {}\n\n| asserted there | test here | what does not apply, and why |\n|---|---|---|\n",
                family.family
            )
            .unwrap();
            for item in &family.items {
                let place = format!("{}: {}", family.family, item.what);
                if item.tests.is_empty() && item.not.is_none() {
                    wrong.push(format!("{place}: neither a test nor a reason"));
                }
                for test in &item.tests {
                    if !exists(root, test, &mut sources) {
                        wrong.push(format!("{place}: no test {test}"));
                    }
                }
                let tests: Vec<String> = item.tests.iter().map(|test| format!("`{test}`")).collect();
                let not = item.not.as_deref().unwrap_or_default();
                let row = format!("| {} | {} | {not} |\n", item.what, tests.join("<br>"));
                page.push_str(&row);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let path = root.join("docs/conformance.md");
    if std::env::var_os("NAVTREE_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == page,
        "run with NAVTREE_BLESS=1 and commit docs/conformance.md"
    );
}

/// Whether a test `file::name` is there: a function marked as a test, or a scenario of that name. A file alone names no
/// test.
fn exists(root: &Path, test: &str, sources: &mut BTreeMap<String, String>) -> bool {
    let (file, name) = test.split_once("::").unwrap_or((test, ""));
    let text = sources
        .entry(file.to_owned())
        .or_insert_with(|| std::fs::read_to_string(root.join(file)).unwrap_or_default());
    match file.rsplit_once('.').map(|(_, extension)| extension) {
        _ if name.is_empty() => false,
        Some("yaml") => names(text).any(|it| it == name),
        Some("py") => text.lines().any(|line| is_function(line, "def ", name)),
        _ => {
            let lines: Vec<&str> = text.lines().collect();
            let found = |at: usize| is_function(lines[at], "fn ", name) && is_marked(&lines[..at]);
            (0..lines.len()).any(found)
        }
    }
}

/// The names of the scenarios of a file.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter_map(|line| line.trim_start_matches("- ").strip_prefix("name: "))
        .map(|name| name.trim().trim_matches(['\'', '"']))
}

fn is_function(line: &str, keyword: &str, name: &str) -> bool {
    let rest = line
        .trim_start()
        .strip_prefix(keyword)
        .and_then(|rest| rest.strip_prefix(name));
    rest.is_some_and(|rest| rest.starts_with('('))
}

/// Whether one of the attributes just above says that a test follows.
fn is_marked(above: &[&str]) -> bool {
    above
        .iter()
        .rev()
        .map(|line| line.trim())
        .take_while(|line| line.starts_with("#[") || line.starts_with("//"))
        .any(|line| line.contains("test]"))
}
