//! What to do about each kind of problem: the examples of `navtree explain` and of `docs/diagnostics.md`.

use super::code::Code;

/// The parts of all codes. Its first lines describe the form.
const TEXT: &str = include_str!("examples.txt");

/// How to solve a problem.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// A text with the problem, and the same text without it. Both end with a line feed. A text without `<root>` stands in
    /// a tree of version 4.
    Example {
        /// The text with the problem.
        wrong: &'static str,
        /// The text without it.
        right: &'static str,
    },
    /// A text in words, for a problem that no short file can show. Ends with a line feed.
    Words(&'static str),
}

impl Code {
    /// How to solve a problem of this kind.
    pub fn advice(self) -> Advice {
        let heading = format!("\n## {self}\n");
        let part = TEXT.split_once(&heading).map_or("", |(_, rest)| {
            let end = rest.find("\n## ").map_or(rest.len(), |end| end + 1);
            &rest[..end]
        });
        match part.split_once("-- fix\n") {
            Some((wrong, right)) => Advice::Example { wrong, right },
            None => Advice::Words(part),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_advice_and_every_part_has_a_code() {
        for code in Code::all() {
            let texts = match code.advice() {
                Advice::Example { wrong, right } => vec![wrong, right],
                Advice::Words(words) => vec![words],
            };
            assert!(texts.iter().all(|text| text.ends_with('\n')), "{code}: {texts:?}");
        }
        for heading in TEXT.lines().filter_map(|line| line.strip_prefix("## ")) {
            assert!(heading.parse::<Code>().is_ok(), "{heading}");
        }
        assert_eq!(
            TEXT.lines().filter(|line| line.starts_with("## ")).count(),
            Code::all().count()
        );
    }
}
