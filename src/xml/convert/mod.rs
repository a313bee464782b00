//! Converts a version 3 file to version 4 by edits of the text, which keeps comments, order and layout.
//!
//! | version 3 | version 4 |
//! |---|---|
//! | `<root>` | `BTCPP_format="4"` |
//! | `SequenceStar` | `SequenceWithMemory` |
//! | `RetryUntilSuccesful` | `RetryUntilSuccessful` |
//! | `Parallel`'s `success_threshold`, `failure_threshold` | `success_count`, `failure_count` |
//! | `${key}` | `{key}` |
//! | `<SubTree a="key">` | `<SubTree a="{key}">` |
//! | `__shared_blackboard="true"` | `_autoremap="true"`, and a note |
//! | `<SubTreePlus __autoremap="true">` | `<SubTree _autoremap="true">`, and a note |
//! | an output `a="key"` | `a="{key}"` |
//! | an empty optional input, which counts as not given | removed |
//! | `<Action ID="X"/>` under a `ReactiveSequence` | `<X/>`: BehaviorTree.CPP 4 refuses the other form there |
//! | a tree ID with a space, as `Open Gripper` | `Open_Gripper`, and a note: BehaviorTree.CPP 4.10 refuses the space |
//! | `BlackboardCheckInt` and its kin | a reactive node with a `ScriptCondition`, and notes |
//!
//! A file without a version, and without an element or attribute that only one version has, runs as version 4 and is
//! converted as version 3. A note says so at each subtree for which this makes a difference.
//!
//! Each rule applies to nodes by their own tag and to `<Control ID="…">` and similar tags. An element without a
//! counterpart is refused, each with its position; then there is no result. If the meaning is the same only under a
//! condition, a note says so.

mod blackboard_check;
mod edits;
mod subtree;

use std::collections::{HashMap, HashSet};

use edits::Edits;

use crate::bt::{Dialect, Direction, PortText, Registry, is_model_name, port_text, to_model_name};

use super::code::Code;
use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::{Attribute, Document, Element};
use super::fix::end_tag_name;
use super::format::{Format, V4_ATTRIBUTES};
use super::source::Span;

/// Converts the text of a version 3 file to version 4. A text in version 4 stays the same. `None` if a part of it has
/// no counterpart in version 4: then `diagnostics` has errors.
///
/// `registry` tells which attributes are outputs, and which may be absent.
pub fn convert(document: &Document, registry: &Registry, diagnostics: &mut Diagnostics) -> Option<String> {
    let root = document.root()?;
    let text = document.source().text();
    if Format::decided(document) == Some(Format::V4) {
        let message = "this file is in version 4 already";
        diagnostics.push(Diagnostic::new(Code::ConversionNote, root.name_span(), message));
        return Some(text.to_owned());
    }
    let mut converter = Converter {
        text,
        registry,
        undecided: Format::decided(document).is_none(),
        edits: Edits::default(),
        renamed_trees: HashSet::new(),
        diagnostics,
        refused: false,
    };
    converter.root(root);
    let (edits, refused) = (converter.edits, converter.refused);
    (!refused).then(|| edits.apply(text))
}

struct Converter<'c> {
    text: &'c str,
    registry: &'c Registry,
    /// Nothing in the file determines its version. It runs as version 4.
    undecided: bool,
    edits: Edits,
    /// The trees that get another name, by their old names.
    renamed_trees: HashSet<&'c str>,
    diagnostics: &'c mut Diagnostics,
    refused: bool,
}

impl<'c> Converter<'c> {
    fn note(&mut self, span: Span, message: impl Into<String>) {
        self.diagnostics
            .push(Diagnostic::new(Code::ConversionNote, span, message));
    }

    fn refuse(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.refused = true;
        self.diagnostics
            .push(Diagnostic::new(Code::NotConverted, span, message).help(help));
    }

    fn replace(&mut self, span: Span, with: impl Into<String>) {
        self.edits.replace(span.start as usize..span.end as usize, with);
    }

    /// Removes an attribute and the blanks before it.
    fn remove(&mut self, attribute: Attribute<'_>) {
        let span = attribute.span();
        let before = &self.text[..span.start as usize];
        let start = before.trim_end_matches([' ', '\t', '\r', '\n']).len();
        self.edits.replace(start..span.end as usize, "");
    }

    /// Replaces the tag name.
    fn rename(&mut self, element: Element<'_>, name: &str) {
        self.replace(element.name_span(), name);
        if let Some(end) = end_tag_name(element) {
            self.replace(end, name);
        }
    }

    fn root(&mut self, root: Element<'c>) {
        match root.attribute("BTCPP_format") {
            Some(format) => self.replace(format.value_span(), "4"),
            None => {
                let end = root.name_span().end as usize;
                self.edits.replace(end..end, " BTCPP_format=\"4\"");
            }
        }
        if let Some(main) = root.attribute("main_tree_to_execute") {
            self.tree_name(root, main);
        }
        let mut trees = HashMap::new();
        for child in root.children() {
            match child.name() {
                "include" => self.note(child.name_span(), "the included file has to be converted too"),
                "BehaviorTree" => {
                    if let Some(id) = child.attribute("ID")
                        && let Some(first) = trees.insert(id.value(), id.value_span())
                    {
                        let problem = Diagnostic::new(
                            Code::NotConverted,
                            id.value_span(),
                            format!(
                                "a second tree `{}`: of two, version 3 runs the first and version 4 the last",
                                id.value()
                            ),
                        )
                        .also(first, "the first one")
                        .help("remove this one, which has no effect");
                        self.refused = true;
                        self.diagnostics.push(problem);
                    }
                    if let Some(id) = child.attribute("ID") {
                        self.tree_name(root, id);
                    }
                    for element in child.subtree().skip(1) {
                        if let ("SubTree" | "SubTreePlus", Some(id)) =
                            (element.name(), element.attribute("ID"))
                        {
                            self.tree_name(root, id);
                        }
                        self.node(element);
                    }
                }
                "TreeNodesModel" => {
                    let old = child.children().filter(|entry| entry.name() == "SubTreePlus");
                    old.for_each(|entry| self.rename(entry, "SubTree"));
                    let subtrees = child
                        .children()
                        .filter(|entry| entry.name().starts_with("SubTree"));
                    for entry in subtrees {
                        if let Some(id) = entry.attribute("ID") {
                            self.tree_name(root, id);
                        }
                        if entry.children().next().is_some() {
                            self.note(
                                entry.name_span(),
                                "version 4 looks at this model: a subtree that does not give a port gets its default, or \
                                 is refused where there is none",
                            );
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Writes a name that version 4.10 takes, where a tree is named. Each file gets the same name for a tree.
    fn tree_name(&mut self, root: Element<'c>, attribute: Attribute<'c>) {
        let name = attribute.value();
        if name.is_empty() || is_model_name(name) {
            return;
        }
        let span = attribute.value_span();
        let trees = || root.children().filter(|child| child.name() == "BehaviorTree");
        let is_taken = |plain: &String| trees().any(|tree| tree.value("ID") == Some(plain));
        let Some(plain) = to_model_name(name).filter(|plain| !is_taken(plain)) else {
            let message = format!("version 4 has no tree with the name `{name}`");
            return self.refuse(
                span,
                message,
                "give the tree a name without spaces and special characters",
            );
        };
        if self.renamed_trees.insert(name) {
            let message = format!(
                "the tree `{name}` becomes `{plain}`, because BehaviorTree.CPP 4.10 refuses its name; other files get the \
                 same name, and programs that start the tree need it too"
            );
            self.note(span, message);
        }
        self.replace(span, plain);
    }

    fn node(&mut self, element: Element<'c>) {
        for attribute in element.attributes() {
            self.attribute(element, attribute);
        }
        match element.name() {
            "SubTree" => return self.subtree(element),
            "SubTreePlus" => return self.subtree_plus(element),
            _ => {}
        }
        let (id, explicit) = element.node_type();
        if explicit.is_none()
            && let Some(attribute) = element.attribute("ID")
        {
            // Version 3 ignores it; version 4 refuses it.
            self.remove(attribute);
        }
        self.name(element, id, explicit);
        self.ports(element, id);
        match id {
            "ReactiveFallback" | "ReactiveSequence" if element.children().next().is_none() => self.refuse(
                element.name_span(),
                format!("version 4 refuses a `{id}` without children"),
                "remove it, or give it a child",
            ),
            "SequenceStar" => self.note(
                element.name_span(),
                "a halt takes version 3's SequenceStar back to its first child; SequenceWithMemory goes on where it was",
            ),
            "Repeat" => self.rounds(element, "num_cycles", "rounds"),
            "RetryUntilSuccessful" | "RetryUntilSuccesful" => self.rounds(element, "num_attempts", "attempts"),
            "Switch2" | "Switch3" | "Switch4" | "Switch5" | "Switch6" => self.cases(element),
            "Parallel" => self.parallel(element),
            "ManualSelector" => self.refuse(
                element.name_span(),
                "version 4 has no `ManualSelector`",
                "a `Switch` on a blackboard key can take its place",
            ),
            _ if id.starts_with("BlackboardCheck") => self.blackboard_check(element, id),
            _ => {}
        }
    }

    /// Writes the version 4 name of a node.
    fn name(&mut self, element: Element<'c>, id: &str, explicit: Option<Attribute<'c>>) {
        let name = renamed(id).unwrap_or(id);
        let Some(attribute) = explicit else {
            if name != id {
                self.rename(element, name);
            }
            return;
        };
        // BehaviorTree.CPP 4.10 takes any name in the explicit form, but refuses that form in a ReactiveSequence.
        let is_compact = is_in_reactive_sequence(element) && !id.starts_with("BlackboardCheck");
        if is_compact && !is_model_name(id) {
            let message = format!("version 4 takes no node with the name `{id}` in a `ReactiveSequence`");
            self.refuse(
                attribute.value_span(),
                message,
                "put it into a `<Sequence>`, or register it under a name without spaces and special characters",
            );
        } else if is_compact && id.starts_with(|first: char| first.is_ascii_alphabetic()) {
            self.rename(element, name);
            self.remove(attribute);
        } else if name != id {
            self.replace(attribute.value_span(), name);
        }
    }

    /// Adds the braces of outputs, and removes empty inputs that count as not given.
    fn ports(&mut self, element: Element<'c>, id: &str) {
        let registry = self.registry;
        let Some(node) = registry.get(id, Dialect::V3) else {
            return;
        };
        for attribute in element.attributes() {
            let value = attribute.value();
            let Some(port) = node.manifest().port(attribute.name()) else {
                continue;
            };
            let is_literal = matches!(port_text(value, Dialect::V3), PortText::Literal(_));
            if port.direction == Direction::Output && is_literal && !value.is_empty() {
                self.replace(attribute.value_span(), format!("{{{}}}", attribute.raw_value()));
            } else if port.direction == Direction::Input
                && value.is_empty()
                && !port.required
                && (port.info.parse)("", registry.enums()).is_err()
            {
                self.remove(attribute);
            }
        }
    }

    /// Several rounds in one tick of version 3 become several checks of the conditions by a reactive parent in version
    /// 4.
    fn rounds(&mut self, element: Element<'c>, port: &str, what: &str) {
        if element
            .attribute(port)
            .is_some_and(|count| count.value().trim() == "1")
        {
            return;
        }
        let message = format!(
            "version 3 makes all {what} of a child that ends at once in one tick; version 4 lets the tree have its turn in \
             between, so that a reactive parent asks its conditions again"
        );
        self.note(element.name_span(), message);
    }

    /// Version 3 compares the values as text.
    fn cases(&mut self, element: Element<'c>) {
        let number = |attribute: &Attribute<'_>| {
            attribute.name().starts_with("case_") && attribute.value().trim().parse::<f64>().is_ok()
        };
        if let Some(case) = element.attributes().find(number) {
            let value = case.value();
            let message = format!(
                "version 3 compares `{value}` as a text, version 4 as a number: 1 and 1.0 are the same case there"
            );
            self.note(case.value_span(), message);
        }
    }

    fn attribute(&mut self, element: Element<'c>, attribute: Attribute<'c>) {
        let name = attribute.name();
        if V4_ATTRIBUTES.contains(&name) {
            self.refuse(
                attribute.name_span(),
                format!("`{name}` has no effect in version 3 and would have one in version 4"),
                "remove it; or, if the file is in version 4 after all, write `BTCPP_format=\"4\"`",
            );
        }
        // The values of a plain subtree are keys, not pointers.
        if element.name() == "SubTree" || matches!(name, "ID" | "name") {
            return;
        }
        let value = attribute.value().trim_matches(' ');
        if value == "{=}" {
            self.refuse(
                attribute.value_span(),
                "in version 3 this is the key `=`, and in version 4 the key that is named like the port",
                "give the key another name",
            );
        } else if value.starts_with("${") && value.ends_with('}') {
            let start = attribute.value_span().start as usize;
            let dollar = start + attribute.raw_value().find('$').unwrap_or(0);
            self.edits.replace(dollar..dollar + 1, "");
        }
    }

    fn parallel(&mut self, element: Element<'c>) {
        for (old, new) in [
            ("success_threshold", "success_count"),
            ("failure_threshold", "failure_count"),
        ] {
            if let Some(attribute) = element.attribute(old) {
                self.replace(attribute.name_span(), new);
            }
        }
    }
}

/// Whether the parent is a `ReactiveSequence` after the conversion.
fn is_in_reactive_sequence(element: Element<'_>) -> bool {
    element.parent().is_some_and(|parent| {
        let (id, _) = parent.node_type();
        id == "ReactiveSequence" || id.starts_with("BlackboardCheck")
    })
}

/// The version 4 name of a renamed node.
fn renamed(id: &str) -> Option<&'static str> {
    match id {
        "SequenceStar" => Some("SequenceWithMemory"),
        "RetryUntilSuccesful" => Some("RetryUntilSuccessful"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::source::Sources;
    use super::*;
    use crate::bt::{NodeKind, Ports};

    /// The converted text, and the diagnostics.
    fn run(text: &str) -> (Option<String>, Vec<String>) {
        let mut sources = Sources::new();
        let file = sources.add_text("f", Path::new(""), text.to_owned());
        let mut diagnostics = Diagnostics::new();
        let document = Document::parse(&file, &mut diagnostics);
        let mut registry = Registry::builtin();
        let make = |ports: &mut Ports<'_>| -> Box<dyn crate::bt::Behavior> {
            ports.output::<f64>("out").bind();
            ports.input::<f64>("in").bind();
            Box::new(crate::bt::nodes::SubTree)
        };
        let action = NodeKind::Action;
        registry
            .register_with("Measure", action, action.arity(), "", make)
            .unwrap();
        let converted = convert(&document, &registry, &mut diagnostics);
        let reports = diagnostics.iter().map(|item| item.one_line(&sources)).collect();
        (converted, reports)
    }

    /// The converted nodes of one tree, and the diagnostics.
    fn of(content: &str) -> (String, Vec<String>) {
        let text = format!("<root><BehaviorTree ID='T'>{content}</BehaviorTree></root>");
        let (converted, reports) = run(&text);
        let converted = converted.unwrap_or_else(|| panic!("{reports:?}"));
        let inner = converted
            .strip_prefix("<root BTCPP_format=\"4\"><BehaviorTree ID='T'>")
            .and_then(|rest| rest.strip_suffix("</BehaviorTree></root>"))
            .unwrap();
        (inner.to_owned(), reports)
    }

    #[test]
    fn layout_and_comments_stay() {
        let text = "<?xml version='1.0'?>\n<!-- head -->\n<root main_tree_to_execute = 'T' >\n\
            \t<BehaviorTree ID='T'>\n    <!-- why -->\n    <SequenceStar\n       name='a &lt; b'>\n\
            <Wait  duration = \"${d}\" />  <!-- SequenceStar --></SequenceStar>\n  </BehaviorTree>\n</root>\n";
        let expected = "<?xml version='1.0'?>\n<!-- head -->\n<root BTCPP_format=\"4\" main_tree_to_execute = 'T' >\n\
            \t<BehaviorTree ID='T'>\n    <!-- why -->\n    <SequenceWithMemory\n       name='a &lt; b'>\n\
            <Wait  duration = \"{d}\" />  <!-- SequenceStar --></SequenceWithMemory>\n  </BehaviorTree>\n</root>\n";
        assert_eq!(run(text).0.as_deref(), Some(expected));
    }

    #[test]
    fn each_row_of_the_table() {
        for (before, after, notes) in [
            (
                "<Sequence><A x='{k}'/></Sequence>",
                "<Sequence><A x='{k}'/></Sequence>",
                0,
            ),
            (
                "<SequenceStar><A/></SequenceStar>",
                "<SequenceWithMemory><A/></SequenceWithMemory>",
                1,
            ),
            (
                "<Control ID='SequenceStar'><A/></Control>",
                "<Control ID='SequenceWithMemory'><A/></Control>",
                1,
            ),
            (
                "<RetryUntilSuccesful num_attempts='2'><A/></RetryUntilSuccesful>",
                "<RetryUntilSuccessful num_attempts='2'><A/></RetryUntilSuccessful>",
                1,
            ),
            (
                "<Repeat num_cycles='{n}'><A/></Repeat>",
                "<Repeat num_cycles='{n}'><A/></Repeat>",
                1,
            ),
            (
                "<Repeat num_cycles='1'><A/></Repeat>",
                "<Repeat num_cycles='1'><A/></Repeat>",
                0,
            ),
            (
                "<Switch2 variable='{v}' case_1='1' case_2='1.0'><A/><A/><A/></Switch2>",
                "<Switch2 variable='{v}' case_1='1' case_2='1.0'><A/><A/><A/></Switch2>",
                1,
            ),
            (
                "<Control ID='Switch2' variable='{v}' case_1='a' case_2='b'><A/><A/><A/></Control>",
                "<Control ID='Switch2' variable='{v}' case_1='a' case_2='b'><A/><A/><A/></Control>",
                0,
            ),
            (
                "<Parallel success_threshold='1' failure_threshold='{f}'><A/></Parallel>",
                "<Parallel success_count='1' failure_count='{f}'><A/></Parallel>",
                0,
            ),
            (
                "<Control ID='Parallel' success_threshold='1'><A/></Control>",
                "<Control ID='Parallel' success_count='1'><A/></Control>",
                0,
            ),
            (
                "<A ID='x' y=' ${k} ' name='${n}'/>",
                "<A y=' {k} ' name='${n}'/>",
                0,
            ),
            ("<A a='${'/>", "<A a='${'/>", 0),
            ("<SubTree ID='X'/>", "<SubTree ID='X'/>", 0),
            ("<Measure out='key' in=''/>", "<Measure out='{key}'/>", 0),
            (
                "<Measure out='{key}' in='1'/>",
                "<Measure out='{key}' in='1'/>",
                0,
            ),
            (
                "<ReactiveSequence><Condition ID='C' a='1'></Condition><Control ID='SequenceStar'><A/></Control></ReactiveSequence>",
                "<ReactiveSequence><C a='1'></C><SequenceWithMemory><A/></SequenceWithMemory></ReactiveSequence>",
                1,
            ),
            (
                "<Control ID='ReactiveSequence'><Action ID='A'/><SubTree ID='X'/></Control>",
                "<Control ID='ReactiveSequence'><A/><SubTree ID='X'/></Control>",
                0,
            ),
            (
                "<SubTree ID='X' name='n' a='k' b=' l '/>",
                "<SubTree ID='X' name='n' a='{k}' b='{l}'/>",
                2,
            ),
            (
                "<SubTree ID='X' __shared_blackboard='false'/>",
                "<SubTree ID='X'/>",
                0,
            ),
            (
                "<SubTree ID='X' a='k' __shared_blackboard='true'/>",
                "<SubTree ID='X' _autoremap=\"true\"/>",
                2,
            ),
            (
                "<SubTreePlus ID='X' a='{k}' b='${l}' c='text' __autoremap='1'></SubTreePlus>",
                "<SubTree ID='X' a='{k}' b='{l}' c='text' _autoremap='1'></SubTree>",
                1,
            ),
            (
                "<SubTreePlus ID='X' __autoremap='false'/>",
                "<SubTree ID='X' _autoremap='false'/>",
                0,
            ),
            ("<SubTreePlus ID='X' a='5'/>", "<SubTree ID='X' a='5'/>", 1),
        ] {
            let (converted, reports) = of(before);
            assert_eq!(converted, after);
            assert_eq!(reports.len(), notes, "{before}: {reports:?}");
        }
    }

    #[test]
    fn checks_of_the_blackboard_become_scripts() {
        for (before, after, notes) in [
            (
                "<BlackboardCheckInt value_A='{a}' value_B='5'><A/></BlackboardCheckInt>",
                "<ReactiveSequence><ScriptCondition code=\"a == 5\"/><A/></ReactiveSequence>",
                1,
            ),
            (
                "<Decorator ID='BlackboardCheckString' name='n' value_A='${a}' value_B='it &lt; 2' \
                 return_on_mismatch='SUCCESS'>\n  <A/>\n</Decorator>",
                "<ReactiveFallback name='n'><ScriptCondition code=\"a != 'it &lt; 2'\"/>\n  <A/>\n</ReactiveFallback>",
                2,
            ),
            (
                "<BlackboardCheckBool value_A='{a}' value_B='TRUE' return_on_mismatch='FAILURE'><A/></BlackboardCheckBool>",
                "<ReactiveSequence><ScriptCondition code=\"a == true\"/><A/></ReactiveSequence>",
                2,
            ),
            (
                "<BlackboardCheckDouble value_A='{a}' value_B='{b}'><A/></BlackboardCheckDouble>",
                "<ReactiveSequence><ScriptCondition code=\"a == b\"/><A/></ReactiveSequence>",
                2,
            ),
            (
                "<BlackboardCheckBool value_A='{a}' value_B='{b}'><A/></BlackboardCheckBool>",
                "<ReactiveSequence><ScriptCondition code=\"a == b\"/><A/></ReactiveSequence>",
                3,
            ),
        ] {
            let (converted, reports) = of(before);
            assert_eq!(converted, after);
            assert_eq!(reports.len(), notes, "{before}: {reports:?}");
        }
    }

    #[test]
    fn constructs_without_a_version_4_form_are_rejected() {
        for (content, reason) in [
            (
                "<A _while='x'/>",
                "`_while` has no effect in version 3 and would have one in version 4",
            ),
            ("<A x='{=}'/>", "in version 3 this is the key `=`"),
            (
                "<ReactiveSequence><Action ID='My Node'/></ReactiveSequence>",
                "version 4 takes no node with the name `My Node` in a `ReactiveSequence`",
            ),
            (
                "<ReactiveFallback/>",
                "version 4 refuses a `ReactiveFallback` without children",
            ),
            (
                "<ManualSelector><A/></ManualSelector>",
                "version 4 has no `ManualSelector`",
            ),
            ("<SubTree ID='X' _a='k'/>", "version 4 does not hand over `_a`"),
            (
                "<BlackboardCheckInt value_A='{a}' value_B='1' return_on_mismatch='RUNNING'><A/></BlackboardCheckInt>",
                "version 4 has nothing that returns RUNNING",
            ),
            (
                "<BlackboardCheckInt value_A='{a.b}' value_B='1'><A/></BlackboardCheckInt>",
                "a script cannot name the key `a.b`",
            ),
            (
                "<BlackboardCheckString value_A='{a}' value_B=\"it's\"><A/></BlackboardCheckString>",
                "a script has no text with an apostrophe",
            ),
            (
                "<BlackboardCheckInt value_A='{a}'><A/></BlackboardCheckInt>",
                "needs `value_A` and `value_B`",
            ),
        ] {
            let (converted, reports) = run(&format!(
                "<root BTCPP_format='3'><BehaviorTree ID='T'>{content}</BehaviorTree></root>"
            ));
            assert_eq!(converted, None, "{content}");
            assert!(reports.iter().any(|line| line.contains(reason)), "{reports:?}");
        }
        let twice =
            "<root><BehaviorTree ID='T'><A/></BehaviorTree><BehaviorTree ID='T'><B/></BehaviorTree></root>";
        assert_eq!(run(twice).0, None);
    }

    #[test]
    fn names_with_spaces_are_written_as_version_4_takes_them() {
        let node = "<Sequence><Action ID='My Node'/></Sequence>";
        assert_eq!(of(node), (node.to_owned(), Vec::new()));
        let (converted, reports) = run(
            "<root BTCPP_format='3' main_tree_to_execute='To the dock'><BehaviorTree ID='To the dock'>\
             <SubTree ID='Open: 1'/></BehaviorTree><BehaviorTree ID='Open: 1'><A/></BehaviorTree>\
             <TreeNodesModel><SubTree ID='Open: 1'/></TreeNodesModel></root>",
        );
        assert_eq!(
            converted.as_deref(),
            Some(
                "<root BTCPP_format='4' main_tree_to_execute='To_the_dock'><BehaviorTree ID='To_the_dock'>\
                 <SubTree ID='Open__1'/></BehaviorTree><BehaviorTree ID='Open__1'><A/></BehaviorTree>\
                 <TreeNodesModel><SubTree ID='Open__1'/></TreeNodesModel></root>"
            )
        );
        assert_eq!(reports.len(), 2, "{reports:?}");
        assert!(
            reports[0].contains("the tree `To the dock` becomes `To_the_dock`"),
            "{reports:?}"
        );
        for other in ["<BehaviorTree ID='a_b'><A/></BehaviorTree>", ""] {
            let tree = "<root BTCPP_format='3'><BehaviorTree ID='a b'><A/></BehaviorTree>";
            assert_eq!(
                run(&format!("{tree}{other}</root>")).0.is_none(),
                !other.is_empty()
            );
        }
    }

    #[test]
    fn models_of_subtrees_take_effect_in_version_4() {
        let (converted, reports) = run(
            "<root BTCPP_format='3'><BehaviorTree ID='T'><A/></BehaviorTree><TreeNodesModel>\
             <SubTreePlus ID='S'><input_port name='a'/></SubTreePlus><SubTree ID='T'/></TreeNodesModel></root>",
        );
        assert!(
            converted
                .unwrap()
                .contains("<SubTree ID='S'><input_port name='a'/></SubTree>")
        );
        assert_eq!(reports.len(), 1, "{reports:?}");
        assert!(
            reports[0].contains("version 4 looks at this model"),
            "{reports:?}"
        );
    }

    #[test]
    fn a_conversion_that_changes_the_version_is_reported() {
        let of_root = |root: &str| {
            run(&format!(
                "{root}<BehaviorTree ID='T'><SubTree ID='X' n='2' k='{{k}}'/></BehaviorTree></root>"
            ))
        };
        let (converted, reports) = of_root("<root>");
        assert!(converted.unwrap().contains("<SubTree ID='X' n='{2}' k='{k}'/>"));
        assert_eq!(
            reports,
            [
                "f:1:47: note[NT0801]: this is the text `2` as the file runs now, which does not say its version and is \
                 read as version 4; converted as version 3 it is the key `2`",
                "f:1:53: note[NT0801]: in version 3 the braces are part of the key's name, so nothing was handed over; \
                 now it is",
            ]
        );
        // In a file of version 3, the value is the key.
        assert_eq!(of_root("<root BTCPP_format='3'>").1.len(), 1);
    }

    #[test]
    fn version_4_stays_as_it_is() {
        for text in [
            "<root BTCPP_format='4'><BehaviorTree ID='T'><SubTree ID='X' a='k'/></BehaviorTree></root>",
            "<root><BehaviorTree ID='T'><A _skipIf='true'/></BehaviorTree></root>",
        ] {
            let (converted, reports) = run(text);
            assert_eq!(
                (converted.as_deref(), reports.len()),
                (Some(text), 1),
                "{reports:?}"
            );
        }
    }
}
