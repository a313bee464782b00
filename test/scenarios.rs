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
