//! Parses text to a [`Document`]. quick-xml finds the tags; this file adds checks that quick-xml does not have, and
//! continues after an error if possible.
//!
//! This file, not quick-xml, matches end tags (quick-xml stops at the first mismatch) and finds duplicate attributes
//! (quick-xml takes quadratic time). It also checks for missing end tags, several roots, text outside the root, `<` in
//! values, unknown entities and names, which quick-xml does not check at all.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::errors::{Error, IllFormedError, SyntaxError};
use quick_xml::events::{BytesStart, Event};

use crate::bt::Confidence;

use super::code::Code;
use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::{AttributeData, Document, NodeData, NodeId, NodeKind};
use super::entity;
use super::fix::Fix;
use super::limits;
use super::source::{SourceFile, Span, offset_u32};

/// No node, or no unescaped text.
pub(super) const NONE: u32 = u32::MAX;

pub(super) const BLANK: [char; 4] = [' ', '\t', '\n', '\r'];

pub(super) fn read(source: &Arc<SourceFile>, diagnostics: &mut Diagnostics) -> Document {
    let mut builder = Builder {
        source,
        diagnostics,
        nodes: Vec::new(),
        attributes: Vec::new(),
        unescaped: Vec::new(),
        root: None,
        begun: None,
        open: Vec::new(),
        too_deep: 0,
        unended: Vec::new(),
        several_roots: false,
    };
    let length = source.text().len();
    if length > limits::FILE_BYTES {
        let message = format!("the file has {length} bytes; the limit is {}", limits::FILE_BYTES);
        builder.report(Code::FileTooLarge, 0..0, message);
    } else {
        builder.check_characters();
        let complete = builder.events();
        builder.finish(complete);
    }
    Document {
        source: Arc::clone(source),
        nodes: builder.nodes,
        attributes: builder.attributes,
        unescaped: builder.unescaped,
        root: builder.root,
    }
}

pub(super) struct Builder<'a> {
    pub(super) source: &'a SourceFile,
    pub(super) diagnostics: &'a mut Diagnostics,
    nodes: Vec<NodeData>,
    pub(super) attributes: Vec<AttributeData>,
    pub(super) unescaped: Vec<Box<str>>,
    root: Option<NodeId>,
    /// The first text outside of the root element.
    begun: Option<Range<usize>>,
    /// Elements without an end tag so far, outermost first.
    pub(super) open: Vec<NodeId>,
    /// Number of open elements below the maximum depth; all of them are left out.
    too_deep: usize,
    /// The elements whose start tags have no end. Sorted. Their missing end tags are of the same cause.
    pub(super) unended: Vec<NodeId>,
    several_roots: bool,
}

impl Builder<'_> {
    /// Reads to the end, or to an error that prevents further reading. Returns whether it reached the end.
    fn events(&mut self) -> bool {
        let source = self.source;
        let text = source.text();
        let skipped = text.len() - text.trim_start_matches('\u{feff}').len();
        let mut reader = Reader::from_str(&text[skipped..]);
        let config = reader.config_mut();
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;

        let place = |position: u64| {
            usize::try_from(position).map_or(text.len(), |position| (position + skipped).min(text.len()))
        };
        loop {
            let start = place(reader.buffer_position());
            let event = match reader.read_event() {
                Ok(event) => event,
                Err(error) => {
                    let at = place(reader.error_position());
                    self.malformed(&error, at);
                    return false;
                }
            };
            let span = start..place(reader.buffer_position());
            match event {
                Event::Start(tag) => self.start(&tag, span, false),
                Event::Empty(tag) => self.start(&tag, span, true),
                Event::End(tag) => self.end(tag.name().as_ref(), span),
                Event::Comment(_) => {
                    self.push(NodeKind::Comment, span);
                }
                Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) => self.text(span),
                Event::Decl(declaration) => {
                    if let Some(text) = self.begun.take() {
                        let problem = self
                            .problem(Code::TextOutsideRoot, text, "text before the XML declaration")
                            .also(source.span(span.start, span.end), "this has to come first");
                        self.diagnostics.push(problem);
                    }
                    if let Some(Ok(encoding)) = declaration.encoding() {
                        self.encoding(&encoding, span);
                    }
                }
                Event::DocType(_) => {
                    let fix = Fix::write("remove the DOCTYPE", source.span(span.start, span.end), "");
                    let problem = self
                        .problem(Code::DoctypeRefused, span, "a tree file may not have a DOCTYPE")
                        .help("remove it; no tree needs a document type")
                        .fix(fix);
                    self.diagnostics.push(problem);
                }
                Event::PI(_) => {}
                Event::Eof => return true,
            }
            if self.nodes.len() > limits::NODES || self.attributes.len() > limits::ATTRIBUTES {
                let (nodes, attributes) = (limits::NODES, limits::ATTRIBUTES);
                let message = format!("more than {nodes} elements or {attributes} attributes");
                self.report(Code::TooManyElements, start..start, message);
                return false;
            }
        }
    }

    /// Adds a node to the innermost open element.
    fn push(&mut self, kind: NodeKind, span: Range<usize>) -> Option<NodeId> {
        if self.too_deep > 0 {
            return None;
        }
        let id = NodeId(offset_u32(self.nodes.len()));
        let attributes = offset_u32(self.attributes.len());
        let span = range_u32(&span);
        self.nodes.push(NodeData {
            kind,
            parent: self.open.last().map_or(NONE, |parent| parent.0),
            end: id.0.saturating_add(1),
            name: span.start..span.start,
            tag_end: span.end,
            span,
            attributes: attributes..attributes,
        });
        Some(id)
    }

    /// Handles a start tag or `<A/>` in which no other tag begins.
    pub(super) fn element(&mut self, tag: &BytesStart<'_>, span: Range<usize>, empty: bool) {
        if self.open.len() >= limits::ELEMENT_DEPTH {
            if self.too_deep == 0 {
                let message = format!("elements are nested more than {} deep", limits::ELEMENT_DEPTH);
                let problem = self
                    .problem(Code::TooDeep, span, message)
                    .help("move a part into a tree of its own and call it with `<SubTree>`");
                self.diagnostics.push(problem);
            }
            self.too_deep += usize::from(!empty);
            return;
        }
        let name = span.start + 1..span.start + 1 + tag.name().as_ref().len();
        self.check_name(&name, "an element");
        if self.open.is_empty() {
            self.outermost(&name);
        }
        let Some(id) = self.push(NodeKind::Element, span.clone()) else {
            return;
        };
        self.nodes[id.index()].name = range_u32(&name);
        self.read_attributes(tag, &name);
        self.nodes[id.index()].attributes.end = offset_u32(self.attributes.len());
        if !empty {
            self.open.push(id);
        }
    }

    fn outermost(&mut self, name: &Range<usize>) {
        match self.root {
            None => self.root = Some(NodeId(offset_u32(self.nodes.len()))),
            Some(first) if !self.several_roots => {
                self.several_roots = true;
                let first = self.name_span(first);
                let problem = self
                    .problem(Code::SeveralRoots, name.clone(), "a second outermost element")
                    .also(first, "the first one")
                    .help("put everything into one `<root>`; is an end tag too early?");
                self.diagnostics.push(problem);
            }
            Some(_) => {}
        }
    }

    /// Handles an end tag. An end tag of an outer element also closes the inner ones; an end tag of no open element is
    /// ignored.
    fn end(&mut self, name: &str, span: Range<usize>) {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        // The case of well-formed files.
        if let Some(&innermost) = self.open.last()
            && self.source.slice(self.name_span(innermost)) == name
        {
            self.open.pop();
            self.close(innermost, span.end);
            return;
        }
        let matching = self
            .open
            .iter()
            .rposition(|&id| self.source.slice(self.name_span(id)) == name);
        let Some(matching) = matching else {
            let message = format!("`</{}>` closes no open element", shortened(name));
            let end = span.end;
            let mut problem = self.problem(Code::UnexpectedEndTag, span.clone(), message);
            let innermost = self.open.last().copied();
            if let Some(innermost) = innermost {
                let place = self.name_span(innermost);
                let meant = self.source.slice(place);
                problem = problem.also(place, "the innermost open element");
                // A misspelt end tag: the element ends here, so that the problem is reported once.
                if Confidence::of_near_name(name, meant) == Confidence::Sure {
                    let written = self.source.span(span.start + 2, span.start + 2 + name.len());
                    problem = problem
                        .help(format!("did you mean `</{meant}>`?"))
                        .fix(Fix::name(written, meant));
                    self.open.pop();
                    self.close(innermost, end);
                }
            }
            self.diagnostics.push(problem);
            return;
        };
        let mut closed = self.open.split_off(matching).into_iter();
        if let Some(id) = closed.next() {
            self.close(id, span.end);
        }
        for id in closed {
            self.close(id, span.start);
            self.missing_end(id, Some(&span));
        }
    }

    fn close(&mut self, id: NodeId, end: usize) {
        let after = offset_u32(self.nodes.len());
        let data = &mut self.nodes[id.index()];
        data.span.end = offset_u32(end);
        data.end = after;
    }

    fn missing_end(&mut self, id: NodeId, met: Option<&Range<usize>>) {
        if self.unended.binary_search_by_key(&id.0, |known| known.0).is_ok() {
            return;
        }
        let name = self.name_span(id);
        let text = shortened(self.source.slice(name));
        let mut problem = Diagnostic::new(Code::MissingEndTag, name, format!("`<{text}>` is never closed"))
            .label("opened here")
            .help(format!(
                "add `</{text}>`, or end the tag with `/>` if it has no children"
            ));
        if let Some(met) = met {
            problem = problem.also(self.source.span(met.start, met.end), "this end tag comes first");
        }
        self.diagnostics.push(problem);
    }

    /// Text is kept because palettes use it to describe ports. The loader decides whether it has a meaning.
    fn text(&mut self, span: Range<usize>) {
        let raw = &self.source.text()[span.clone()];
        let written = raw.trim_start_matches(BLANK);
        if written.is_empty() {
            return;
        }
        let start = span.end - written.len();
        if self.open.is_empty() {
            let end = start + written.trim_end_matches(BLANK).len();
            let (code, message) = match self.root {
                None => (Code::IgnoredText, "text before the outermost element is ignored"),
                Some(_) => (Code::TextOutsideRoot, "text behind the outermost element"),
            };
            let mut problem = self.problem(code, start..end, message);
            let remark = &self.source.text()[start..end];
            if !remark.contains("--")
                && !remark.ends_with('-')
                && !self.source.text()[end..].contains("<?xml")
            {
                let span = self.source.span(start, end);
                let fix = Fix::write("write it as a comment", span, format!("<!-- {remark} -->"));
                problem = problem.fix(fix);
            }
            let help = "a remark is written `<!-- … -->`; other XML tools refuse the file as it is";
            self.diagnostics.push(problem.help(help));
            self.begun.get_or_insert(start..end);
            return;
        }
        if !written.starts_with("<![CDATA[") {
            for unknown in entity::unescape(written).1 {
                self.unknown_entity(start, &unknown);
            }
        }
        // quick-xml returns `a &amp; b` as three events; they are one text.
        match self.nodes.last_mut() {
            Some(last) if last.kind == NodeKind::Text && last.span.end as usize == span.start => {
                last.span.end = offset_u32(span.end);
            }
            _ => {
                self.push(NodeKind::Text, start..span.end);
            }
        }
    }

    pub(super) fn check_name(&mut self, name: &Range<usize>, owner: &str) {
        let text = &self.source.text()[name.clone()];
        let plain = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        if let [first, rest @ ..] = text.as_bytes()
            && plain(*first)
            && rest.iter().all(|byte| plain(*byte) || byte.is_ascii_digit())
        {
            return;
        }
        let starts = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':' || !c.is_ascii();
        let goes_on = |c: char| starts(c) || c.is_ascii_digit() || c == '-' || c == '.';
        if !text.starts_with(starts) || !text.chars().all(goes_on) {
            let message = format!("`{}` cannot be the name of {owner}", shortened(text));
            let problem = self.problem(Code::InvalidName, name.clone(), message).help(
                "names start with a letter or `_` and go on with letters, digits, `_`, `-`, `.` or `:`",
            );
            self.diagnostics.push(problem);
        }
    }

    /// Control characters are forbidden everywhere. They usually mean that the file is not a text file.
    fn check_characters(&mut self) {
        let text = self.source.text();
        let control = |byte: u8| byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r');
        // Most files have none, and a chunk is checked with few instructions.
        let chunks = text.as_bytes().chunks(64);
        let clean = |chunk: &&[u8]| !chunk.iter().fold(false, |any, byte| any | control(*byte));
        let skipped: usize = chunks.take_while(clean).map(<[u8]>::len).sum();
        let rest = &text.as_bytes()[skipped..];
        if let Some(at) = rest.iter().position(|byte| control(*byte)) {
            let at = skipped + at;
            let byte = text.as_bytes()[at];
            let message = format!("control character 0x{byte:02x} in the file");
            self.report(Code::InvalidCharacter, at..at + 1, message);
        }
    }

    fn encoding(&mut self, encoding: &str, span: Range<usize>) {
        let known = ["utf-8", "utf8", "us-ascii", "ascii"];
        if !known.iter().any(|known| encoding.eq_ignore_ascii_case(known)) {
            let message = format!("declared as {}, read as UTF-8", shortened(encoding));
            self.report(Code::OtherEncoding, span, message);
        }
    }

    pub(super) fn unknown_entity(&mut self, base: usize, within: &Range<usize>) {
        let span = base + within.start..base + within.end;
        let text = &self.source.text()[span.clone()];
        let problem = if text.ends_with(';') {
            self.problem(Code::UnknownEntity, span, format!("unknown entity `{text}`"))
                .help("known are `&lt;` `&gt;` `&amp;` `&quot;` `&apos;` and `&#number;`; it is read as it stands")
        } else {
            let place = self.source.span(span.start, span.end);
            let escaped = text.replace('&', "&amp;");
            self.problem(Code::UnknownEntity, span, format!("a bare `{text}`"))
                .help(format!("write `{escaped}`"))
                .fix(Fix::write(format!("write `{escaped}`"), place, escaped))
        };
        self.diagnostics.push(problem);
    }

    fn malformed(&mut self, error: &Error, at: usize) {
        let message = match error {
            Error::Syntax(syntax) => match syntax {
                SyntaxError::InvalidBangMarkup => "`<!` starts neither a comment nor CDATA",
                SyntaxError::UnclosedPI => "`<?` is not closed by `?>`",
                SyntaxError::UnclosedXmlDecl => "`<?xml` is not closed by `?>`",
                SyntaxError::UnclosedComment => "the comment is not closed by `-->`",
                SyntaxError::UnclosedDoctype => "the DOCTYPE is not closed by `>`",
                SyntaxError::UnclosedCData => "the CDATA section is not closed by `]]>`",
                SyntaxError::UnclosedTag => "the tag is not closed by `>`",
                SyntaxError::UnclosedSingleQuotedAttributeValue => {
                    "a value in this tag has no closing `'` before the end of the file"
                }
                SyntaxError::UnclosedDoubleQuotedAttributeValue => {
                    "a value in this tag has no closing `\"` before the end of the file"
                }
            },
            Error::IllFormed(IllFormedError::MissingDoctypeName) => "a DOCTYPE without a name",
            other => &other.to_string(),
        };
        let length = self.source.text()[at..]
            .find(|c: char| BLANK.contains(&c) || c == '>')
            .unwrap_or(0)
            .min(64);
        self.report(Code::MalformedMarkup, at..at + length, message);
    }

    fn finish(&mut self, complete: bool) {
        let end = self.source.text().len();
        for id in std::mem::take(&mut self.open) {
            self.close(id, end);
            if complete {
                self.missing_end(id, None);
            }
        }
        if self.root.is_none() && complete {
            self.report(Code::NoRoot, 0..0, "the file holds no element");
        }
    }

    fn name_span(&self, id: NodeId) -> Span {
        let name = &self.nodes[id.index()].name;
        self.source.span(name.start as usize, name.end as usize)
    }

    pub(super) fn problem(&self, code: Code, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, self.source.span(span.start, span.end), message)
    }

    pub(super) fn report(&mut self, code: Code, span: Range<usize>, message: impl Into<String>) {
        let problem = self.problem(code, span, message);
        self.diagnostics.push(problem);
    }
}

pub(super) fn range_u32(range: &Range<usize>) -> Range<u32> {
    offset_u32(range.start)..offset_u32(range.end)
}

/// Shortens a name for a message: names in files can be of any length.
pub(super) fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(60) {
        Some((at, _)) => Cow::Owned(format!("{}…", &name[..at])),
        None => Cow::Borrowed(name),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::super::source::Sources;
    use super::*;

    /// The one-line forms of the problems of a text.
    fn problems(text: &str) -> Vec<String> {
        let mut sources = Sources::new();
        let file = sources.add_text("f", Path::new(""), text.to_owned());
        let mut diagnostics = Diagnostics::new();
        check_shape(&Document::parse(&file, &mut diagnostics));
        diagnostics.sort();
        diagnostics.iter().map(|item| item.one_line(&sources)).collect()
    }

    /// Checks the properties that each document has, even with an invalid text.
    fn check_shape(document: &Document) {
        let count = document.nodes.len();
        for (index, node) in document.nodes.iter().enumerate() {
            let end = node.end as usize;
            assert!(index < end && end <= count);
            assert!(node.span.start <= node.span.end && node.tag_end <= node.span.end);
            if let Some(parent) = document.nodes.get(node.parent as usize) {
                assert!((node.parent as usize) < index && node.end <= parent.end);
                assert!(parent.span.start < node.span.start && node.span.end <= parent.span.end);
            }
        }
        for element in document.root().iter().flat_map(|root| root.subtree()) {
            assert!(element.attributes().all(|attribute| !attribute.name().is_empty()));
        }
    }

    #[test]
    fn errors_have_their_locations() {
        for (text, expected) in [
            ("<a/>", &[][..]),
            (
                "\u{feff}<?xml version='1.0' encoding='UTF-8'?>\n<a b='1'></a>\n",
                &[],
            ),
            ("<a><![CDATA[x < y && z]]> t &amp; u &#65; </a>", &[]),
            ("", &["f:1:1: error[NT0106]: the file holds no element"]),
            (
                " \n<!-- x -->",
                &["f:1:1: error[NT0106]: the file holds no element"],
            ),
            (
                "<a>\n <b>\n</a>",
                &["f:2:3: error[NT0102]: `<b>` is never closed"],
            ),
            (
                "<a><b>",
                &[
                    "f:1:2: error[NT0102]: `<a>` is never closed",
                    "f:1:5: error[NT0102]: `<b>` is never closed",
                ],
            ),
            (
                "<a></b></a>",
                &["f:1:4: error[NT0103]: `</b>` closes no open element"],
            ),
            (
                "<a/><b/><c/>",
                &["f:1:6: error[NT0104]: a second outermost element"],
            ),
            (
                "x <a/> y",
                &[
                    "f:1:1: warning[NT0115]: text before the outermost element is ignored",
                    "f:1:8: error[NT0105]: text behind the outermost element",
                ],
            ),
            (
                "// clang-format off\n<a/>",
                &["f:1:1: warning[NT0115]: text before the outermost element is ignored"],
            ),
            (
                "// clang-format off\n<?xml version='1.0'?><a/>",
                &[
                    "f:1:1: error[NT0105]: text before the XML declaration",
                    "f:1:1: warning[NT0115]: text before the outermost element is ignored",
                ],
            ),
            (
                "<!DOCTYPE a [<!ENTITY x 'y'>]><a b='&x;'/>",
                &[
                    "f:1:1: error[NT0107]: a tree file may not have a DOCTYPE",
                    "f:1:37: warning[NT0111]: unknown entity `&x;`",
                ],
            ),
            (
                "<a b='1' c='2' b='3'/>",
                &["f:1:16: error[NT0108]: attribute `b` is given twice"],
            ),
            (
                "<a b/>",
                &["f:1:5: error[NT0109]: expected `=` after the name of an attribute"],
            ),
            (
                "<a b=/>",
                &["f:1:6: error[NT0109]: expected a quoted value after `=`"],
            ),
            (
                "<a b=1 c='2' d=3/>",
                &[
                    "f:1:6: error[NT0109]: the value of an attribute must be in quotes",
                    "f:1:16: error[NT0109]: the value of an attribute must be in quotes",
                ],
            ),
            (
                "<a b='1'c='2'/>",
                &["f:1:9: error[NT0109]: a space is missing before this attribute"],
            ),
            (
                "<a b='x < 3'/>",
                &["f:1:9: warning[NT0110]: `<` in the value of an attribute"],
            ),
            (
                "<a b='1 & 2 &nbsp; &amp'/>",
                &[
                    "f:1:9: warning[NT0111]: a bare `&`",
                    "f:1:13: warning[NT0111]: unknown entity `&nbsp;`",
                    "f:1:20: warning[NT0111]: a bare `&`",
                ],
            ),
            ("<a>x & y</a>", &["f:1:6: warning[NT0111]: a bare `&`"]),
            // Scripts of BehaviorTree.CPP often contain this.
            (
                "<a b='x && y&z'/>",
                &[
                    "f:1:9: warning[NT0111]: a bare `&&`",
                    "f:1:13: warning[NT0111]: a bare `&`",
                ],
            ),
            (
                "<a>\u{1}</a>",
                &["f:1:4: error[NT0112]: control character 0x01 in the file"],
            ),
            (
                "<1a b!='x'/>",
                &[
                    "f:1:2: error[NT0113]: `1a` cannot be the name of an element",
                    "f:1:5: error[NT0113]: `b!` cannot be the name of an attribute",
                ],
            ),
            (
                "<?xml version='1.0' encoding='latin1'?><a/>",
                &["f:1:1: warning[NT0114]: declared as latin1, read as UTF-8"],
            ),
            (
                "<a><b x='1' <c y='2'/></a>",
                &["f:1:13: error[NT0101]: a tag starts inside another tag"],
            ),
            ("<a><b", &["f:1:4: error[NT0101]: the tag is not closed by `>`"]),
            (
                "<a x='1></a>",
                &["f:1:1: error[NT0101]: a value in this tag has no closing `'` before the end of the file"],
            ),
            (
                "<a><!-- x </a>",
                &["f:1:4: error[NT0101]: the comment is not closed by `-->`"],
            ),
            (
                "<a><!x></a>",
                &["f:1:4: error[NT0101]: `<!` starts neither a comment nor CDATA"],
            ),
        ] {
            assert_eq!(problems(text), expected, "{text}");
        }
    }

    #[test]
    fn depth_is_limited_and_costs_no_stack() {
        let nested = |depth: usize| "<a>".repeat(depth) + &"</a>".repeat(depth);
        assert!(problems(&nested(limits::ELEMENT_DEPTH)).is_empty());
        let expected = ["f:1:775: error[NT0005]: elements are nested more than 258 deep"];
        assert_eq!(problems(&nested(limits::ELEMENT_DEPTH + 1)), expected);
        assert_eq!(problems(&nested(1_000_000)), expected);
        assert_eq!(
            problems(&"<a>".repeat(1_000_000)).len(),
            1 + limits::ELEMENT_DEPTH
        );
    }

    #[test]
    fn a_million_attributes_take_linear_time() {
        let mut text = String::from("<a");
        for index in 0..200_000 {
            text += &format!(" x{index}='1'");
        }
        text += " x7='2'/>";
        assert_eq!(problems(&text).len(), 1);
    }

    #[test]
    fn a_flood_of_errors_is_cut() {
        assert_eq!(
            problems(&format!("<a>{}</a>", "</b>".repeat(100_000))).len(),
            limits::DIAGNOSTICS + 1
        );
    }

    proptest! {
        #[test]
        fn no_text_crashes_the_reader(text in "(<|>|</|/>|a|b| |=|'|\"|&|&lt;|é|\r|\n|<!--|-->|<a|<b |a='1'|</a>|<\\?|\\?>|<!\\[CDATA\\[|\\]\\]>|<!DOCTYPE ){0,60}") {
            problems(&text);
        }
    }
}
