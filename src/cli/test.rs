//! `navtree test`: runs scenarios, for the CI of users and for navtree's conformance suite.
//!
//! Exit codes: 0 all scenarios passed, 1 a scenario failed, 2 the input is wrong (then no scenario runs) or the results
//! could not be written.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::palette::FolderRegistries;
use super::scenario::Scenario;
use super::{Exit, RegistryArguments, outln};
use crate::bt::Registry;
use crate::xml::escape;

/// The end of `navtree test --help`.
const EXIT_CODES: &str = "\
Exit codes:
  0  all scenarios passed
  1  a scenario failed
  2  a file is not there or is not a scenario file: no scenario runs; or the results could not be written";

#[derive(clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// Scenario files, or directories to search for `*.yaml`.
    #[arg(required = true, value_name = "SCENARIO.yaml|DIR")]
    paths: Vec<PathBuf>,
    /// File to write the results to, as JUnit XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print failures only.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    registry: RegistryArguments,
}

/// Maximum number of characters of a failure in one line. The whole text is in the element.
const MAX_MESSAGE: usize = 200;

struct ScenarioResult {
    file: String,
    name: String,
    seconds: f64,
    failure: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, registry: &Registry) -> Exit {
    let files = match super::files_below(&arguments.paths, &["yaml", "yml"]) {
        Ok(files) => files,
        Err(message) => return failed(&message),
    };
    let mut scenarios = Vec::new();
    for file in &files {
        match Scenario::read(file) {
            Ok(more) => scenarios.extend(more.into_iter().map(|scenario| (file, scenario))),
            Err(message) => return failed(&message),
        }
    }
    if scenarios.is_empty() {
        // A path without scenarios must not look like a passed test.
        return failed("no scenarios in the given files");
    }
    let mut registries = FolderRegistries::new(registry, &arguments.registry);
    let mut results = Vec::new();
    for (file, scenario) in scenarios {
        let directory = file.parent().unwrap_or(Path::new("."));
        let registry = match registries.of(directory) {
            Ok(registry) => registry,
            Err(message) => return failed(&message),
        };
        let start = Instant::now();
        let failure = scenario.run(directory, registry).err();
        let result = ScenarioResult {
            file: file.display().to_string(),
            name: scenario.name,
            seconds: start.elapsed().as_secs_f64(),
            failure,
        };
        report(&result, arguments.quiet);
        results.push(result);
    }
    let failures = results.iter().filter(|result| result.failure.is_some()).count();
    outln!("{} passed, {failures} failed", results.len() - failures);
    if let Some(path) = &arguments.junit
        && let Err(error) = std::fs::write(path, junit(&results))
    {
        return failed(&format!("{}: {error}", path.display()));
    }
    if failures == 0 {
        Exit::Success
    } else {
        Exit::Problems
    }
}

fn failed(message: &str) -> Exit {
    super::errln!("navtree test: {message}");
    Exit::Failed
}

fn report(result: &ScenarioResult, quiet: bool) {
    match &result.failure {
        None if quiet => {}
        None => outln!("ok      {}: {}", result.file, result.name),
        Some(failure) => {
            outln!("FAILED  {}: {}", result.file, result.name);
            for line in failure.lines() {
                outln!("        {line}");
            }
        }
    }
}

/// The results as JUnit XML: one suite, one test case for each scenario. The class name of a test case is its file.
fn junit(results: &[ScenarioResult]) -> String {
    let failures = results.iter().filter(|result| result.failure.is_some()).count();
    let seconds: f64 = results.iter().map(|result| result.seconds).sum();
    let counts = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"0\" time=\"{seconds:.6}\"",
        results.len()
    );
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  \
         <testsuite name=\"navtree\" skipped=\"0\" {counts}>\n"
    );
    for result in results {
        let file = escape(&result.file);
        let name = escape(&result.name);
        let seconds = result.seconds;
        let _ = write!(
            xml,
            "    <testcase classname=\"{file}\" name=\"{name}\" file=\"{file}\" time=\"{seconds:.6}\""
        );
        match &result.failure {
            None => xml.push_str("/>\n"),
            Some(failure) => {
                let message = escape(&in_one_line(failure));
                let text = escape(failure);
                let _ = writeln!(
                    xml,
                    ">\n      <failure message=\"{message}\">{text}</failure>\n    </testcase>"
                );
            }
        }
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

/// The differences in one line, as the list of failures of a CI server shows them. Without the line that marks letters.
fn in_one_line(failure: &str) -> String {
    let words = failure.split_whitespace().filter(|word| *word != "^");
    let line: String = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
