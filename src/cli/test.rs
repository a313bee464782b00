//! `navtree test`: runs scenarios, for the CI of users and for our conformance suite.

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
    /// Write the results as JUnit XML too.
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
    let mut outcomes = Vec::new();
    for file in &files {
        let scenarios = match Scenario::read(file) {
            Ok(scenarios) => scenarios,
            Err(message) => return failed(&message),
        };
        let directory = file.parent().unwrap_or(Path::new("."));
        for scenario in scenarios {
            let start = Instant::now();
            let failure = scenario.run(directory, registry).err();
            let outcome = ScenarioResult {
                file: file.display().to_string(),
                name: scenario.name,
                seconds: start.elapsed().as_secs_f64(),
                failure,
            };
            report(&outcome, arguments.quiet);
            outcomes.push(outcome);
        }
    }
    if outcomes.is_empty() {
        // A path without scenarios must not look like a passed test.
        return failed("there are no scenarios in what was named");
    }
    let failures = outcomes
        .iter()
        .filter(|outcome| outcome.failure.is_some())
        .count();
    outln!("{} passed, {failures} failed", outcomes.len() - failures);
    if let Some(path) = &arguments.junit
        && let Err(error) = std::fs::write(path, junit(&outcomes))
    {
        return failed(&format!("{}: {error}", path.display()));
    }
    if failures == 0 { Exit::Good } else { Exit::Problems }
}

fn failed(message: &str) -> Exit {
    super::errln!("navtree test: {message}");
    Exit::Failed
}

fn report(outcome: &ScenarioResult, quiet: bool) {
    match &outcome.failure {
        None if quiet => {}
        None => outln!("ok      {}: {}", outcome.file, outcome.name),
        Some(failure) => {
            outln!("FAILED  {}: {}", outcome.file, outcome.name);
            for line in failure.lines() {
                outln!("        {line}");
            }
        }
    }
}

fn junit(outcomes: &[ScenarioResult]) -> String {
    let failures = outcomes
        .iter()
        .filter(|outcome| outcome.failure.is_some())
        .count();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"navtree\" tests=\"{}\" \
         failures=\"{failures}\">\n",
        outcomes.len()
    );
    for outcome in outcomes {
        let _ = write!(
            out,
            "  <testcase classname=\"{}\" name=\"{}\" time=\"{:.6}\"",
            escape(&outcome.file),
            escape(&outcome.name),
            outcome.seconds
        );
        match &outcome.failure {
            None => out.push_str("/>\n"),
            Some(failure) => {
                let _ = writeln!(
                    out,
                    ">\n    <failure>{}</failure>\n  </testcase>",
                    escape(failure)
                );
            }
        }
    }
    out.push_str("</testsuite>\n");
    out
}
