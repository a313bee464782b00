//! `navtree explain`: describes the problems that `navtree check` reports.

use super::{Exit, outln};
use crate::xml::{Code, Severity};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Codes, for example NT0406. Default: all.
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

/// The description of a code, in three lines.
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
        "{}[{code}] ({section})\n{}\n{levels}",
        code.severity(),
        code.explanation()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_explained_with_what_silences_it() {
        assert_eq!(
            text("NT0406".parse().unwrap()),
            "warning[NT0406] (Ports and keys)\n\
             A blackboard key is read but never written, or assigned by `=` but never created.\n\
             -A NT0406 silences it, -D NT0406 makes it an error. `<!-- navtree: allow(NT0406) -->` in the file silences it \
             for the next element."
        );
        assert!(text(Code::UnknownNode).ends_with("\nErrors cannot be silenced."));
    }
}
