//! `textDocument/formatting`: indentation, and the blanks between attributes. Nothing else changes.

use std::ops::Range;

use crate::xml::{Diagnostics, Document, Element, Node, Sources};

use super::file::bytes;

/// The formatted text; `None` if the text is not well-formed, so that its structure is not certain.
///
/// Comments, attribute values, texts, and all text before and behind the outermost element stay as they are.
pub(super) fn formatted(text: &str, indent: &str) -> Option<String> {
    let mut sources = Sources::new();
    let source = sources.add_text("", std::path::Path::new(""), text.to_owned());
    let mut diagnostics = Diagnostics::new();
    let document = Document::parse(&source, &mut diagnostics);
    if diagnostics.has_errors() {
        return None;
    }
    let root = document.root()?;
    let mut formatter = Formatter {
        text,
        indent,
        line_end: if text.contains("\r\n") { "\r\n" } else { "\n" },
        edits: Vec::new(),
    };
    formatter.element(root);
    Some(formatter.apply())
}

struct Formatter<'t> {
    text: &'t str,
    indent: &'t str,
    line_end: &'t str,
    /// New blanks in place of blanks.
    edits: Vec<(Range<usize>, String)>,
}

impl Formatter<'_> {
    /// Formats an element with all below it. The loop runs over the elements in document order.
    fn element(&mut self, root: Element<'_>) {
        let mut ends: Vec<usize> = Vec::new();
        let mut kept = 0;
        for element in root.subtree() {
            let span = bytes(element.span());
            while ends.last().is_some_and(|end| *end <= span.start) {
                ends.pop();
            }
            let depth = ends.len();
            ends.push(span.end);
            // The blanks of an element with text belong to the text, and so do those of all below it.
            if span.start < kept {
                continue;
            }
            self.start_tag(element, depth);
            if element.nodes().any(|node| matches!(node, Node::Text(_))) {
                kept = span.end;
                continue;
            }
            self.content(element, depth);
        }
    }

    /// The line end and the indentation of a depth, with an empty line if there was one.
    fn new_line(&self, depth: usize, gap: &str) -> String {
        let empty = if gap.matches('\n').count() > 1 {
            self.line_end
        } else {
            ""
        };
        format!("{empty}{}{}", self.line_end, self.indent.repeat(depth))
    }

    fn replace(&mut self, gap: Range<usize>, with: impl FnOnce(&Self, &str) -> String) {
        let Some(old) = self.text.get(gap.clone()) else {
            return;
        };
        // What stands there apart from blanks, as a processing instruction, stays.
        if old.trim().is_empty() {
            let new = with(self, old);
            if new != old {
                self.edits.push((gap, new));
            }
        }
    }

    fn content(&mut self, element: Element<'_>, depth: usize) {
        let mut end = element.start_tag_span().end as usize;
        let mut is_empty = true;
        for node in element.nodes() {
            is_empty = false;
            let span = bytes(node.span());
            self.replace(end..span.start, |this, gap| {
                let is_remark = matches!(node, Node::Comment(_)) && !gap.contains('\n');
                // A comment behind a node, in its line, is about this node.
                if is_remark {
                    " ".to_owned()
                } else {
                    this.new_line(depth + 1, gap)
                }
            });
            end = span.end;
        }
        let inner = self.text.get(end..element.span().end as usize);
        let Some(tag) = inner.and_then(|inner| inner.find("</")) else {
            return;
        };
        let gap = end..end + tag;
        if is_empty {
            self.replace(gap, |_, _| String::new());
        } else {
            // No empty line before an end tag.
            self.replace(gap, |this, _| this.new_line(depth, ""));
        }
    }

    fn start_tag(&mut self, element: Element<'_>, depth: usize) {
        let mut end = element.name_span().end as usize;
        let width = element.name().chars().count() + 2;
        for attribute in element.attributes() {
            let name = bytes(attribute.name_span());
            let value = bytes(attribute.value_span());
            self.replace(end..name.start, |this, gap| {
                if gap.contains('\n') {
                    format!(
                        "{}{}{}",
                        this.line_end,
                        this.indent.repeat(depth),
                        " ".repeat(width)
                    )
                } else {
                    " ".to_owned()
                }
            });
            // Between the name and the opening quote stands one `=`.
            let between = name.end..value.start.saturating_sub(1);
            if self
                .text
                .get(between.clone())
                .is_some_and(|text| text.trim() == "=")
            {
                self.edits.push((between, "=".to_owned()));
            }
            end = value.end + 1;
        }
        let close = element.start_tag_span().end as usize;
        let close = close - if element.is_self_closing() { 2 } else { 1 };
        self.replace(end..close, |_, _| String::new());
    }

    fn apply(mut self) -> String {
        self.edits.sort_by_key(|(range, _)| range.start);
        let mut out = String::with_capacity(self.text.len() + self.text.len() / 8);
        let mut done = 0;
        for (range, with) in self.edits {
            out.push_str(self.text.get(done..range.start).unwrap_or_default());
            out.push_str(&with);
            done = range.end;
        }
        out.push_str(self.text.get(done..).unwrap_or_default());
        out
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    /// Everything of a document except the blanks between nodes and attributes.
    fn meaning(text: &str) -> Vec<String> {
        let mut sources = Sources::new();
        let source = sources.add_text("", Path::new(""), text.to_owned());
        let document = Document::parse(&source, &mut Diagnostics::new());
        let nodes = document.nodes().map(|node| match node {
            Node::Comment(comment) => comment.raw().to_owned(),
            Node::Text(text) => text.raw().to_owned(),
            Node::Element(element) => {
                let depth = std::iter::successors(element.parent(), |it| it.parent()).count();
                let attributes = element.attributes().map(|it| (it.name(), it.raw_value()));
                let attributes: Vec<_> = attributes.collect();
                format!(
                    "{depth} {} {attributes:?} {}",
                    element.name(),
                    element.is_self_closing()
                )
            }
        });
        nodes.collect()
    }

    #[test]
    fn blanks_are_put_in_order() {
        let text = "<?xml version=\"1.0\"?>\n<!-- head -->\n<root  BTCPP_format = \"4\" >\n<BehaviorTree ID='M'><!-- all -->\n\n\n\n  \
                    <Sequence\n  name=\"a  b\"\n    _skipIf='x'   >  <A/> <!-- about\n      A -->\n<B ></B ><C>  </C>\n\n\
                    </Sequence></BehaviorTree>\n</root>\n";
        let expected = "<?xml version=\"1.0\"?>\n<!-- head -->\n<root BTCPP_format=\"4\">\n  <BehaviorTree ID='M'> <!-- all -->\n\n    \
                        <Sequence\n              name=\"a  b\"\n              _skipIf='x'>\n      <A/> <!-- about\n      A -->\n      \
                        <B></B >\n      <C></C>\n    </Sequence>\n  </BehaviorTree>\n</root>\n";
        let formatted = formatted(text, "  ").unwrap();
        assert_eq!(formatted, expected);
        assert_eq!(super::formatted(&formatted, "  ").as_deref(), Some(expected));
        assert_eq!(super::formatted("<a><b></a>", "  "), None);
        let text = "<a>\n <p>some  text <b/>\n  </p>\n<c/>\n</a>";
        let kept = "<a>\n  <p>some  text <b/>\n  </p>\n  <c/>\n</a>";
        assert_eq!(super::formatted(text, "  ").as_deref(), Some(kept));
    }

    /// A document with blanks and comments anywhere.
    fn document() -> impl Strategy<Value = String> {
        let blank = || "[ \n\t]{0,3}";
        let some = || "[ \n\t]{1,3}";
        let attribute = (some(), "[a-d]", blank(), blank(), "[ x\né🙂]{0,3}")
            .prop_map(|(before, name, a, b, value)| format!("{before}{name}{a}={b}\"{value}\""));
        let tag = ("[A-C]", proptest::collection::vec(attribute, 0..2), blank()).prop_map(
            |(name, attributes, end)| (name, attributes.into_iter().next().unwrap_or_default(), end),
        );
        let leaf = (tag.clone(), any::<bool>()).prop_map(|((name, attributes, end), short)| {
            if short {
                format!("<{name}{attributes}{end}/>")
            } else {
                format!("<{name}{attributes}{end}></{name}>")
            }
        });
        let inner = prop_oneof![
            4 => leaf,
            1 => "<!-- [a-z \n]{0,5} -->",
            1 => "[x-z ]{1,4}",
        ];
        let any = inner.prop_recursive(4, 40, 5, move |inner| {
            let child = (blank(), inner).prop_map(|(blank, child)| format!("{blank}{child}"));
            (tag.clone(), proptest::collection::vec(child, 0..5), blank()).prop_map(
                |((name, attributes, end), children, last)| {
                    format!("<{name}{attributes}{end}>{}{last}</{name}>", children.concat())
                },
            )
        });
        any.prop_map(|content| format!("<root>{content}</root>"))
    }

    proptest! {
        #[test]
        fn formatting_changes_no_meaning_and_is_stable(text in document()) {
            let once = formatted(&text, "  ").unwrap();
            prop_assert_eq!(meaning(&once), meaning(&text));
            prop_assert_eq!(formatted(&once, "  ").unwrap(), once);
        }
    }

    #[test]
    fn the_trees_of_this_repository_keep_their_meaning() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut waiting = vec![root.join("behavior_trees")];
        waiting.extend(crate::shared_trees::folder("corpus"));
        let mut count = 0;
        while let Some(path) = waiting.pop() {
            if path.is_dir() {
                waiting.extend(
                    std::fs::read_dir(&path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
                continue;
            }
            let Some(text) = std::fs::read_to_string(&path)
                .ok()
                .filter(|text| text.contains("<root"))
            else {
                continue;
            };
            if let Some(formatted) = formatted(&text, "  ") {
                assert_eq!(meaning(&formatted), meaning(&text), "{}", path.display());
                count += 1;
            }
        }
        assert!(count >= 4);
    }
}
