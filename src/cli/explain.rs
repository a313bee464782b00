//! `navtree explain`: describes the problems that `navtree check` reports.

use super::{Exit, outln};
use crate::xml::{Advice, Code, Severity};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Codes, for example NT0406: what they mean, an example, and what to write instead. Default: one line for each code.
    #[arg(value_name = "CODE")]
    codes: Vec<Code>,
}

pub(crate) fn run(arguments: &Arguments) -> Exit {
    if arguments.codes.is_empty() {
        for code in Code::all() {
            outln!("{code} {:<7} {}", code.severity(), code.explanation());
        }
    }
    for code in &arguments.codes {
        outln!("{}", text(*code));
    }
    Exit::Success
}

/// The description of a code, what silences it, and what to do.
fn text(code: Code) -> String {
    let section = Code::SECTIONS
        .iter()
        .find(|(_, codes)| codes.contains(&code))
        .map_or("", |(section, _)| section);
    let levels = if code.severity() == Severity::Error {
        "Errors cannot be silenced.".to_owned()
    } else {
        format!(
            "-A {code} silences it, -D {code} makes it an error. `<!-- navtree: allow({code}) -->` in the file silences it \
             for the next element."
        )
    };
    format!(
        "{}[{code}] ({section})\n{}\n{levels}\n\n{}",
        code.severity(),
        code.explanation(),
        advice(code)
    )
}

/// An example and what to write instead, indented.
fn advice(code: Code) -> String {
    let indented = |text: &str| -> String { text.lines().map(|line| format!("    {line}\n")).collect() };
    match code.advice() {
        Advice::Example { wrong, right } => {
            format!(
                "For example:\n{}Write instead:\n{}",
                indented(wrong),
                indented(right)
            )
        }
        Advice::Words(words) => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::xml::{AmentIndex, Loader, Memory};

    #[test]
    fn each_code_is_explained_with_what_silences_it() {
        assert_eq!(
            text("NT0406".parse().unwrap()),
            "warning[NT0406] (Ports and keys)\n\
             A blackboard key is read but never written, or assigned by `=` but never created.\n\
             -A NT0406 silences it, -D NT0406 makes it an error. `<!-- navtree: allow(NT0406) -->` in the file silences it \
             for the next element.\n\n\
             For example:\n    <ScriptCondition code=\"x == 1\"/>\n\
             Write instead:\n    <Sequence><Script code=\"x := 1\"/><ScriptCondition code=\"x == 1\"/></Sequence>\n"
        );
        assert!(text(Code::UnknownNode).contains("\nErrors cannot be silenced.\n"));
    }

    /// The codes that `navtree check` reports for a text.
    fn codes(text: &str) -> Vec<Code> {
        let file = if text.contains("<root") || text.contains("<BehaviorTree") {
            text.to_owned()
        } else {
            format!("<root BTCPP_format=\"4\">\n<BehaviorTree ID=\"T\">\n{text}</BehaviorTree>\n</root>\n")
        };
        let files = Memory::new([("example.xml", file)]);
        let registry = crate::nav::registry();
        let loader = Loader::new(&registry)
            .with_models()
            .files(&files, AmentIndex::default());
        let checked = loader.check_files(&[Path::new("example.xml")]);
        let mut codes: Vec<Code> = checked.diagnostics.iter().map(|problem| problem.code).collect();
        codes.dedup();
        codes
    }

    #[test]
    fn each_example_has_its_problem_and_no_other_and_its_solution_has_none() {
        for code in Code::all() {
            if let Advice::Example { wrong, right } = code.advice() {
                assert_eq!(codes(wrong), [code], "{wrong}");
                assert_eq!(codes(right), [], "{code}: {right}");
            }
        }
    }
}
