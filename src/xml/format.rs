//! The language version of a file.

use crate::bt::{Confidence, Dialect, is_port_name};

use super::code::Code;
use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::{Attribute, Document, Element};
use super::fix::Fix;
use super::source::Span;

/// The version of BehaviorTree.CPP that a file is written for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// BehaviorTree.CPP 3.8, as in Nav2 Humble and Groot 1.
    V3,
    /// BehaviorTree.CPP 4.
    V4,
}

impl Format {
    /// The engine's name of the version.
    pub fn dialect(self) -> Dialect {
        match self {
            Self::V3 => Dialect::V3,
            Self::V4 => Dialect::V4,
        }
    }

    /// The value of `BTCPP_format`.
    pub fn name(self) -> &'static str {
        match self {
            Self::V3 => "3",
            Self::V4 => "4",
        }
    }

    /// The version that a document itself determines: by `BTCPP_format`, or by an element or attribute that only one
    /// version has.
    pub(super) fn decided(document: &Document) -> Option<Self> {
        let root = document.root()?;
        if let Some(attribute) = root.attribute("BTCPP_format") {
            let is_v3 = attribute.value().trim().split('.').next() == Some("3");
            return Some(if is_v3 { Self::V3 } else { Self::V4 });
        }
        let evidence = Evidence::collect(root);
        match (evidence.v4, evidence.v3) {
            (Some(_), _) => Some(Self::V4),
            (None, Some(_)) => Some(Self::V3),
            (None, None) => None,
        }
    }

    /// Determines the version of a document. `BTCPP_format` counts first, then an element or attribute that only one
    /// version has. A file with neither is read as version 4, or as the version of the including file.
    pub fn of(document: &Document, including: Option<Self>, diagnostics: &mut Diagnostics) -> Self {
        let Some(root) = document.root().filter(|root| root.name() == "root") else {
            return including.unwrap_or(Self::V4);
        };
        if let Some(attribute) = root.attribute("BTCPP_format") {
            let value = attribute.value().trim();
            return match value.split('.').next() {
                Some("3") => Self::V3,
                Some("4") => Self::V4,
                _ => {
                    let message = format!("`BTCPP_format` is {:?}; read as version 4", attribute.value());
                    let problem = Diagnostic::new(Code::UnknownFormat, attribute.value_span(), message)
                        .help("write \"3\" or \"4\"");
                    diagnostics.push(problem);
                    Self::V4
                }
            };
        }
        let evidence = Evidence::collect(root);
        let (format, because) = match (evidence.v3, evidence.v4, including) {
            (_, Some(because), _) => (Self::V4, Some(because)),
            (Some(because), None, _) => (Self::V3, Some(because)),
            // The including file determines the version; no warning is needed.
            (None, None, Some(format)) => return format,
            (None, None, None) => (Self::V4, None),
        };
        let message = format!("no `BTCPP_format`; read as version {}", format.name());
        let attribute = format!("BTCPP_format=\"{}\"", format.name());
        let mut problem = Diagnostic::new(Code::MissingFormat, root.name_span(), message)
            .help(format!("write `<root {attribute}>`"));
        if let Some((span, only)) = because {
            problem = problem.also(span, format!("only version {} has {only}", format.name()));
        } else if let Some(span) = evidence.ambiguous {
            problem = problem
                .also(span, "a text in version 4, and a key of the caller in version 3")
                .help("write `<root BTCPP_format=\"4\">`, or \"3\" if this is meant as a key");
        }
        if because.is_some() || evidence.ambiguous.is_none() {
            // Without evidence, the author can know better.
            let confidence = because.map_or(Confidence::Guess, |_| Confidence::Sure);
            let fix = Fix::add_attribute(root, &attribute).with_confidence(confidence);
            problem = problem.fix(fix);
        }
        diagnostics.push(problem);
        format
    }
}

/// The first element or attribute that only one version has, for each version.
#[derive(Default)]
struct Evidence {
    v3: Option<(Span, &'static str)>,
    v4: Option<(Span, &'static str)>,
    /// The first argument of a subtree that is a text in version 4 and a key in version 3.
    ambiguous: Option<Span>,
}

const V3_NODES: [&str; 7] = [
    "SubTreePlus",
    "SequenceStar",
    "BlackboardCheckInt",
    "BlackboardCheckDouble",
    "BlackboardCheckString",
    "BlackboardCheckBool",
    "RetryUntilSuccesful",
];

const V4_NODES: [&str; 12] = [
    "SequenceWithMemory",
    "AsyncSequence",
    "AsyncFallback",
    "ParallelAll",
    "TryCatch",
    "Script",
    "ScriptCondition",
    "Precondition",
    "RunOnce",
    "UnsetBlackboard",
    "SkipUnlessUpdated",
    "WaitValueUpdate",
];

/// Attributes that version 3 does not have.
pub(crate) const V4_ATTRIBUTES: [&str; 9] = [
    "_autoremap",
    "_failureIf",
    "_successIf",
    "_skipIf",
    "_while",
    "_onHalted",
    "_onFailure",
    "_onSuccess",
    "_post",
];

impl Evidence {
    fn collect(root: Element<'_>) -> Self {
        let mut evidence = Self::default();
        let trees = root.children().filter(|child| child.name() == "BehaviorTree");
        for element in trees.flat_map(Element::subtree) {
            evidence.node(element);
            if evidence.v4.is_some() {
                break;
            }
        }
        evidence
    }

    fn node(&mut self, element: Element<'_>) {
        let (id, attribute) = element.node_type();
        let place = attribute.map_or(element.name_span(), Attribute::value_span);
        if V3_NODES.contains(&id) {
            self.v3.get_or_insert((place, "this node"));
        }
        if V4_NODES.contains(&id) {
            self.v4.get_or_insert((place, "this node"));
        }
        for attribute in element.attributes() {
            let name = attribute.name();
            if V4_ATTRIBUTES.contains(&name) {
                self.v4.get_or_insert((attribute.name_span(), "this attribute"));
            } else if matches!(name, "__autoremap" | "__shared_blackboard") {
                self.v3.get_or_insert((attribute.name_span(), "this attribute"));
            } else if id == "Parallel" && matches!(name, "success_threshold" | "failure_threshold") {
                self.v3.get_or_insert((attribute.name_span(), "this port"));
            } else if id == "Parallel" && matches!(name, "success_count" | "failure_count") {
                self.v4.get_or_insert((attribute.name_span(), "this port"));
            } else if attribute.value().starts_with("${") {
                self.v3.get_or_insert((attribute.value_span(), "`${key}`"));
            } else if id == "SubTree" && is_port_name(name) && is_port_name(attribute.value()) {
                self.ambiguous.get_or_insert(attribute.value_span());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Sources;
    use super::super::render::Colour;
    use super::*;

    fn decide(text: &str, including: Option<Format>) -> (Format, Vec<String>) {
        let mut sources = Sources::new();
        let file = sources.add_text("f", Path::new(""), text.to_owned());
        let mut diagnostics = Diagnostics::new();
        let document = Document::parse(&file, &mut diagnostics);
        let format = Format::of(&document, including, &mut diagnostics);
        let shown = diagnostics
            .iter()
            .map(|item| item.render(&sources, Colour::Never));
        (format, shown.collect())
    }

    #[test]
    fn the_attribute_decides_then_the_content() {
        let tree = |content: &str| format!("<root><BehaviorTree ID='T'>{content}</BehaviorTree></root>");
        for (text, including, expected, warnings) in [
            ("<root BTCPP_format='4'/>".to_owned(), None, Format::V4, 0),
            (
                "<root BTCPP_format='3'/>".to_owned(),
                Some(Format::V4),
                Format::V3,
                0,
            ),
            ("<root BTCPP_format=' 4.10 '/>".to_owned(), None, Format::V4, 0),
            ("<root BTCPP_format='5'/>".to_owned(), None, Format::V4, 1),
            ("<root/>".to_owned(), None, Format::V4, 1),
            ("<root/>".to_owned(), Some(Format::V3), Format::V3, 0),
            (tree("<SequenceStar/>"), None, Format::V3, 1),
            (tree("<Control ID='SequenceStar'/>"), None, Format::V3, 1),
            (
                tree("<SubTree ID='X' __shared_blackboard='1'/>"),
                None,
                Format::V3,
                1,
            ),
            (tree("<SubTree ID='X' _autoremap='1'/>"), None, Format::V4, 1),
            (tree("<Wait a='${x}'/>"), None, Format::V3, 1),
            (tree("<SequenceStar/><Script code=''/>"), None, Format::V4, 1),
            ("<tree/>".to_owned(), None, Format::V4, 0),
        ] {
            let (format, shown) = decide(&text, including);
            assert_eq!((format, shown.len()), (expected, warnings), "{text}");
        }
    }

    #[test]
    fn the_warning_shows_what_depends_on_the_version() {
        let shown = |value: &str| {
            let tree = format!("<SubTree ID='X' target='{value}'/>");
            decide(
                &format!("<root><BehaviorTree ID='T'>{tree}</BehaviorTree></root>"),
                None,
            )
            .1
        };
        let label = "a text in version 4, and a key of the caller in version 3";
        assert!(shown("goal")[0].contains(label));
        for value in ["5", "{goal}", ""] {
            assert!(!shown(value)[0].contains(label), "{value}");
        }
    }

    #[test]
    fn the_warning_says_why() {
        let text = "<root>\n<BehaviorTree ID='T'>\n<SubTreePlus ID='X'/>\n</BehaviorTree>\n</root>";
        assert_eq!(
            decide(text, None).1,
            ["\
warning[NT0202]: no `BTCPP_format`; read as version 3
 --> f:1:2
  |
1 | <root>
  |  ^^^^
...
3 | <SubTreePlus ID='X'/>
  |  ----------- only version 3 has this node
  |
  = help: write `<root BTCPP_format=\"3\">`
"]
        );
    }
}
