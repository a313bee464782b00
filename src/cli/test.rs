//! `navtree test`: runs scenarios, for the CI of users and for navtree's conformance suite.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::scenario::Scenario;
use super::{Exit, outln};
use crate::bt::Registry;
use crate::xml::escape;

#[derive(clap::Args)]
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
}

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
    let mut results = Vec::new();
    for file in &files {
        let scenarios = match Scenario::read(file) {
            Ok(scenarios) => scenarios,
            Err(message) => return failed(&message),
        };
        let directory = file.parent().unwrap_or(Path::new("."));
        for scenario in scenarios {
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
    }
    if results.is_empty() {
        // A path without scenarios must not look like a passed test.
        return failed("no scenarios in the given files");
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

fn junit(results: &[ScenarioResult]) -> String {
    let failures = results.iter().filter(|result| result.failure.is_some()).count();
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"navtree\" tests=\"{}\" \
         failures=\"{failures}\">\n",
        results.len()
    );
    for result in results {
        let _ = write!(
            xml,
            "  <testcase classname=\"{}\" name=\"{}\" time=\"{:.6}\"",
            escape(&result.file),
            escape(&result.name),
            result.seconds
        );
        match &result.failure {
            None => xml.push_str("/>\n"),
            Some(failure) => {
                let _ = writeln!(
                    xml,
                    ">\n    <failure>{}</failure>\n  </testcase>",
                    escape(failure)
                );
            }
        }
    }
    xml.push_str("</testsuite>\n");
    xml
}
