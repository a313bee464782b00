//! Generated files under `docs/`: tests compare them with the output of the code.

/// Compares a file of the repository with the expected text. `NAVTREE_BLESS=1 cargo test` writes the file instead.
pub(crate) fn check(path: &str, expected: &str) {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("NAVTREE_BLESS").is_some() {
        std::fs::write(&file, expected).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    if found != expected {
        let line = found
            .lines()
            .zip(expected.lines())
            .take_while(|(a, b)| a == b)
            .count();
        panic!(
            "{path} is out of date from line {} on: run the tests with NAVTREE_BLESS=1, and commit the file",
            line + 1
        );
    }
}
