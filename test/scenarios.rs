//! Runs the scenarios of `test/scenarios`, as `navtree test test/scenarios` does.

use std::process::ExitCode;

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

/// One entry of `test/conformance.yaml`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    file: String,
    #[serde(default)]
    tests: Vec<String>,
    #[serde(default)]
    not: Option<String>,
}

/// Every test that the list names exists, and the page made of the list is current (`NAVTREE_BLESS=1` writes it).
#[test]
fn the_conformance_list_names_tests_that_exist() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = std::fs::read_to_string(root.join("test/conformance.yaml")).unwrap();
    let items: Vec<Item> = serde_yaml::from_str(&list).unwrap();
    let mut page = String::from(
        "# Conformance\n\nThe test files of BehaviorTree.CPP 4.10 and the files whose tests cover them here. Made of \
         `test/conformance.yaml`.\n\n| there | here | what does not apply, and why |\n|---|---|---|\n",
    );
    for item in &items {
        assert!(!item.tests.is_empty() || item.not.is_some(), "{}", item.file);
        for test in &item.tests {
            let (file, name) = test.split_once("::").unwrap_or((test, ""));
            let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
            let is_there =
                text.contains("#[test]") || text.contains("#![proptest") || file.ends_with(".yaml");
            let is_named = name.is_empty() || text.contains(&format!("fn {name}("));
            assert!(
                !text.is_empty() && is_there && is_named,
                "{}: no test {test}",
                item.file
            );
        }
        let tests: Vec<String> = item.tests.iter().map(|test| format!("`{test}`")).collect();
        let not = item.not.as_deref().unwrap_or_default();
        page.push_str(&format!("| {} | {} | {not} |\n", item.file, tests.join(", ")));
    }
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
