//! Converts documents to the engine's [`ForestSpec`]: checks the rules for files, elements and names. [`bt::compile()`]
//! checks the rules that need node types, ports and keys.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::bt::{
    self, AttributeSpec, Confidence, Dialect, ForestSpec, NodeSpec, Registry, SubTreeForm, TreeSpec, nearest,
};

use super::code::{Code, Severity};
use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::{Document, Element, Node, names_kind};
use super::fix::Fix;
use super::includes::Documents;
use super::models::Models;
use super::source::{FileId, Span};

/// The definitions of all files, ready for compilation.
pub(super) struct Forest<'d> {
    pub(super) spec: ForestSpec<'d>,
    /// For each tree, the trees it calls and its own number of nodes.
    pub(super) calls: BTreeMap<Cow<'d, str>, Calls<'d>>,
    /// For each file with trees, its only tree, or `None` if it has several.
    pub(super) only_tree: HashMap<FileId, Option<Cow<'d, str>>>,
    /// Node types that models declare.
    pub(super) declared: HashSet<&'d str>,
    /// Names with a reported problem. Further problems of the compiler about them are redundant.
    pub(super) reported: HashSet<Span>,
}

/// The content of one tree.
#[derive(Default)]
pub(super) struct Calls<'d> {
    pub(super) nodes: usize,
    pub(super) trees: Vec<&'d str>,
}

impl<'d> Forest<'d> {
    pub(super) fn build(
        documents: &'d Documents,
        registry: &Registry,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let is_incomplete = diagnostics.is_incomplete();
        let formats = documents.formats(diagnostics);
        let mut builder = Builder {
            registry,
            diagnostics,
            forest: Forest {
                spec: ForestSpec {
                    places: Some(Arc::new(documents.sources.clone())),
                    ..ForestSpec::default()
                },
                calls: BTreeMap::new(),
                only_tree: HashMap::new(),
                declared: HashSet::new(),
                reported: HashSet::new(),
            },
            unnamed_trees: 0,
            documents,
            is_incomplete,
        };
        for document in &documents.documents {
            let dialect = formats
                .get(&document.file())
                .map_or(Dialect::V4, |format| format.dialect());
            builder.read_document(document, dialect);
        }
        builder.forest
    }

    /// The trees that other trees call.
    pub(super) fn called(&self) -> BTreeSet<&str> {
        let mut called = BTreeSet::new();
        for (id, calls) in &self.calls {
            called.extend(
                calls
                    .trees
                    .iter()
                    .copied()
                    .filter(|callee| *callee != id.as_ref()),
            );
        }
        called
    }
}

pub(super) struct Builder<'b, 'd> {
    pub(super) registry: &'b Registry,
    pub(super) diagnostics: &'b mut Diagnostics,
    forest: Forest<'d>,
    documents: &'d Documents,
    /// A file could not be read to its end.
    is_incomplete: bool,
    /// Number of trees without an ID so far. Their names are `BehaviorTree_0` and so on.
    unnamed_trees: usize,
}

impl<'d> Builder<'_, 'd> {
    pub(super) fn report(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::new(code, span, message));
    }

    fn read_document(&mut self, document: &'d Document, dialect: Dialect) {
        let Some(root) = document.root() else { return };
        if root.name() != "root" {
            let message = format!("the outermost element is `<{}>`, not `<root>`", root.name());
            let problem = Diagnostic::new(Code::WrongRoot, root.name_span(), message)
                .help("put everything into `<root BTCPP_format=\"4\">` … `</root>`");
            self.diagnostics.push(problem);
            return;
        }
        self.report_ignored_text(root);
        let mut model: Option<Element<'d>> = None;
        for child in root.children().filter(|child| child.name() == "TreeNodesModel") {
            if let Some(first_model) = model {
                let problem = Diagnostic::new(
                    Code::SeveralModels,
                    child.name_span(),
                    "a second `<TreeNodesModel>`",
                )
                .also(first_model.name_span(), "the first one");
                self.diagnostics.push(problem);
            } else {
                model = Some(child);
                let models = Models::read(child, self.diagnostics);
                self.forest.declared.extend(models.nodes);
                for (tree, ports) in models.subtrees {
                    self.forest.spec.models.insert(Cow::Borrowed(tree), ports);
                }
            }
        }
        let is_only_element = root.children().nth(1).is_none();
        for child in root.children() {
            match child.name() {
                "BehaviorTree" => self.read_tree(child, dialect, is_only_element),
                "TreeNodesModel" | "include" => {}
                _ => self.report_ignored_element(child, model.is_some()),
            }
        }
    }

    /// Reports an element under the root that has no meaning there.
    fn report_ignored_element(&mut self, element: Element<'d>, has_model: bool) {
        let name = element.name();
        let is_kind = names_kind(name) || name == "SubTree";
        if has_model && is_kind && element.attribute("ID").is_none() {
            let message = format!("`<{name}>` without `ID`");
            self.report(Code::ModelWithoutId, element.start_tag_span(), message);
            return;
        }
        let message = format!("`<{name}>` directly under `<root>` is ignored");
        let mut problem = Diagnostic::new(Code::IgnoredElement, element.name_span(), message);
        if is_kind || self.registry.contains(name) {
            problem = problem.help("nodes belong into a `<BehaviorTree>`");
        } else if let Some(nearest_name) = nearest(name, ["BehaviorTree", "TreeNodesModel", "include"]) {
            let fix = Fix::rename_element(element, nearest_name);
            let fix = fix.with_confidence(Confidence::of_near_name(name, nearest_name));
            problem = problem.help(format!("did you mean `{nearest_name}`?")).fix(fix);
        }
        self.diagnostics.push(problem);
    }

    fn read_tree(&mut self, tree: Element<'d>, dialect: Dialect, is_only_element: bool) {
        let id = tree.attribute("ID").filter(|id| !id.value().is_empty());
        let (name, span) = match id {
            Some(id) => {
                self.check_tree_name(id.value(), id.value_span(), dialect);
                if dialect == Dialect::V4 {
                    self.check_name_is_plain(id.value(), id.value_span(), "tree");
                }
                (Cow::Borrowed(id.value()), id.value_span())
            }
            None => {
                if !is_only_element {
                    let problem = Diagnostic::new(
                        Code::TreeWithoutId,
                        tree.name_span(),
                        "a `<BehaviorTree>` without `ID`",
                    )
                    .help("only a tree that is the only element of its file can do without");
                    self.diagnostics.push(problem);
                }
                let name = format!("BehaviorTree_{}", self.unnamed_trees);
                self.unnamed_trees += 1;
                (Cow::Owned(name), tree.name_span())
            }
        };
        let mut children = tree.children();
        let (first_child, second_child) = (children.next(), children.next());
        // The children of the tree may be in the part that could not be read.
        let is_lost = first_child.is_none() && self.is_incomplete;
        if !is_lost && (first_child.is_none() || second_child.is_some()) {
            let count = tree.children().count();
            let message = match count {
                0 => "this `<BehaviorTree>` is empty".to_owned(),
                _ => format!("this `<BehaviorTree>` has {count} children"),
            };
            let mut problem = Diagnostic::new(Code::TreeChildren, tree.name_span(), message)
                .help("a tree has exactly one child; put several into a `<Sequence>`");
            if let Some(second_child) = second_child {
                problem = problem.also(second_child.name_span(), "the second one");
            }
            self.diagnostics.push(problem);
        }
        self.report_ignored_text(tree);
        let Some(first_child) = first_child else { return };

        let mut calls = Calls::default();
        let root = self.read_nodes(first_child, dialect, &mut calls);
        let spec = TreeSpec {
            id: name.clone(),
            root,
            dialect,
            span: span.into(),
        };
        self.insert(name, spec, calls, span);
    }

    /// Inserts a tree. Of two trees with one name, the later one counts in version 4 and the earlier one in version 3,
    /// as in BehaviorTree.CPP. Unlike there, a problem is reported.
    fn insert(&mut self, name: Cow<'d, str>, spec: TreeSpec<'d>, calls: Calls<'d>, span: Span) {
        if let Some(earlier) = self.forest.spec.trees.get(&name) {
            if !self.documents.is_own(span.file) {
                return;
            }
            let (ignored_span, used_span) = match spec.dialect {
                Dialect::V4 => (Span::from(earlier.span), span),
                Dialect::V3 => (span, earlier.span.into()),
            };
            let message = format!("the tree `{name}` is defined again");
            let problem = Diagnostic::new(Code::DuplicateTree, ignored_span, message)
                .label("this one has no effect")
                .also(used_span, "this one counts");
            self.diagnostics.push(problem);
            if spec.dialect == Dialect::V3 {
                return;
            }
        }
        self.forest
            .only_tree
            .entry(span.file)
            .and_modify(|only_tree| {
                if only_tree.as_ref() != Some(&name) {
                    *only_tree = None;
                }
            })
            .or_insert_with(|| Some(name.clone()));
        self.forest.calls.insert(name.clone(), calls);
        self.forest.spec.trees.insert(name, spec);
    }

    /// Reads a node with all nodes below it. The loop runs over the elements in document order and keeps a list of open
    /// nodes.
    fn read_nodes(
        &mut self,
        outermost: Element<'d>,
        dialect: Dialect,
        calls: &mut Calls<'d>,
    ) -> NodeSpec<'d> {
        let mut open_nodes: Vec<(NodeSpec<'d>, usize)> = Vec::new();
        let mut skip_until = 0;
        for element in outermost.subtree() {
            if element.id().index() < skip_until {
                continue;
            }
            close_nodes(&mut open_nodes, element.id().index());
            let node = self.read_node(element, dialect);
            calls.nodes += 1;
            if node.subtree.is_some() {
                skip_until = element.end();
                if let Some(id) = element.value("ID") {
                    calls.trees.push(id);
                }
            }
            open_nodes.push((node, element.end()));
        }
        close_nodes(&mut open_nodes, usize::MAX);
        // `outermost` is an element, so there is a node. The other branch avoids a panic.
        open_nodes
            .pop()
            .map_or_else(|| empty_node(outermost), |(node, _)| node)
    }

    fn read_node(&mut self, element: Element<'d>, dialect: Dialect) -> NodeSpec<'d> {
        self.report_ignored_text(element);
        let tag = element.name();
        let subtree = match tag {
            "SubTree" => Some(SubTreeForm::Plain),
            "SubTreePlus" => Some(SubTreeForm::Plus),
            _ => None,
        };
        let names_its_kind = names_kind(tag);
        let id = element.attribute("ID");
        let name = match id.filter(|id| !id.value().is_empty()) {
            Some(id) if names_its_kind || subtree.is_some() => Some((id.value(), id.value_span())),
            None if names_its_kind || subtree.is_some() => {
                let message = format!("`<{tag}>` without `ID`");
                self.report(Code::MissingId, element.name_span(), message);
                self.forest.reported.insert(element.name_span());
                None
            }
            _ => {
                if let (Some(id), Dialect::V4) = (id, dialect) {
                    let message = format!("`<{tag}>` has an `ID`");
                    let problem = Diagnostic::new(Code::IdOnCompactNode, id.span(), message).help(format!(
                        "remove it, or write `<Action ID=\"{}\">` or the like",
                        id.value()
                    ));
                    self.diagnostics.push(problem);
                }
                Some((tag, element.name_span()))
            }
        };
        if subtree.is_some() {
            self.check_subtree(element, dialect, name);
        } else if let Some((name, span)) = name {
            // BehaviorTree.CPP does not check the names in the explicit form.
            if dialect == Dialect::V4 && !names_its_kind && self.registry.contains(name) {
                self.check_name_is_plain(name, span, "node type");
            }
            if names_its_kind {
                self.check_kind(element, name, span, dialect);
            }
        }
        let instance_name = element.attribute("name");
        let attribute_count =
            element.attributes().len() - usize::from(id.is_some()) - usize::from(instance_name.is_some());
        let mut attributes = Vec::with_capacity(attribute_count);
        for attribute in element.attributes() {
            if matches!(attribute.name(), "ID" | "name") {
                continue;
            }
            self.check_attribute(attribute, subtree, dialect);
            attributes.push(AttributeSpec {
                name: Cow::Borrowed(attribute.name()),
                value: Cow::Borrowed(attribute.value()),
                name_span: attribute.name_span().into(),
                value_span: attribute.value_span().into(),
                escapes: attribute.escapes(),
            });
        }
        if let Some(instance_name) = instance_name
            && instance_name
                .value()
                .chars()
                .any(|c| c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r'))
        {
            let message = "the name of this node has a control character";
            self.report(Code::BadInstanceName, instance_name.value_span(), message);
        }
        NodeSpec {
            id: Cow::Borrowed(name.map_or("", |(name, _)| name)),
            subtree,
            name: instance_name.map(|instance_name| Cow::Borrowed(instance_name.value())),
            attributes,
            children: Vec::new(),
            span: element.name_span().into(),
        }
    }

    fn report_ignored_text(&mut self, element: Element<'d>) {
        if self.diagnostics.is_full(Severity::Warning) {
            return;
        }
        for node in element.nodes() {
            if let Node::Text(text) = node {
                self.report(
                    Code::IgnoredText,
                    text.span(),
                    "this text has no meaning here and is ignored",
                );
            }
        }
    }
}

/// Moves all nodes that end before `index` into their parents, except the outermost one.
fn close_nodes(open_nodes: &mut Vec<(NodeSpec<'_>, usize)>, index: usize) {
    while open_nodes.len() > 1 && open_nodes.last().is_some_and(|(_, end)| *end <= index) {
        let Some((node, _)) = open_nodes.pop() else { return };
        if let Some((parent, _)) = open_nodes.last_mut() {
            parent.children.push(node);
        }
    }
}

fn empty_node(element: Element<'_>) -> NodeSpec<'_> {
    NodeSpec {
        id: Cow::Borrowed(element.name()),
        subtree: None,
        name: None,
        attributes: Vec::new(),
        children: Vec::new(),
        span: bt::Span::from(element.name_span()),
    }
}
