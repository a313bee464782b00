//! `textDocument/completion`: nodes, ports, values, keys and trees.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionTextEdit, Documentation, InsertTextFormat, MarkupContent,
    MarkupKind, Position, TextEdit,
};

use crate::bt::{Direction, Family, NodeStatus, PortDecl, PortValue};
use crate::xml::{V4_ATTRIBUTES, names_kind};

use super::cursor::{self, Cursor, Part};
use super::file::{File, is_call, is_script};
use super::hover::{attribute, node_type};
use super::page;
use super::scan::Tag;
use super::workspace::View;

pub(super) fn of(view: &View, position: Position) -> Vec<CompletionItem> {
    let file = view.file();
    let offset = file.offset(position);
    let Some(Cursor { tag, part }) = cursor::at(&file.tags, offset) else {
        return Vec::new();
    };
    let completion = Completion {
        view,
        file,
        tag,
        offset,
    };
    match part {
        Part::Name => completion.names(tag.name.clone()),
        Part::EndName => completion.end_names(),
        Part::AttributeName(range) => completion.attributes(range),
        Part::Value(number, range) => completion.values(number, range),
    }
}

struct Completion<'v> {
    view: &'v View,
    file: &'v File,
    tag: &'v Tag,
    offset: usize,
}

impl Completion<'_> {
    fn item(
        &self,
        label: &str,
        kind: CompletionItemKind,
        range: Range<usize>,
        text: String,
        page: Option<String>,
    ) -> CompletionItem {
        let documentation = page.map(|value| {
            let kind = MarkupKind::Markdown;
            Documentation::MarkupContent(MarkupContent { kind, value })
        });
        CompletionItem {
            label: label.to_owned(),
            kind: Some(kind),
            documentation,
            filter_text: Some(label.to_owned()),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(
                self.file.range(range),
                text,
            ))),
            ..CompletionItem::default()
        }
    }

    fn tag_name(&self) -> &str {
        self.file.text.get(self.tag.name.clone()).unwrap_or_default()
    }

    /// The node that the tag means.
    fn node(&self) -> &str {
        node_type(self.file, self.tag)
    }

    fn names(&self, range: Range<usize>) -> Vec<CompletionItem> {
        let open = cursor::open_elements(&self.file.text, &self.file.tags, self.tag.span.start);
        let keyword = |name: &str| {
            self.item(
                name,
                CompletionItemKind::KEYWORD,
                range.clone(),
                name.to_owned(),
                None,
            )
        };
        match open.as_slice() {
            [] => return vec![keyword("root")],
            ["root"] => return ["BehaviorTree", "TreeNodesModel", "include"].map(keyword).into(),
            [_, "TreeNodesModel"] => {
                return ["Action", "Condition", "Control", "Decorator", "SubTree"]
                    .map(keyword)
                    .into();
            }
            [_, "TreeNodesModel", ..] => {
                return ["input_port", "output_port", "inout_port"].map(keyword).into();
            }
            _ => {}
        }
        let registry = self.view.registry();
        let mut items = vec![keyword("SubTree")];
        let mut pages = BTreeMap::new();
        for manifest in registry.manifests().chain(registry.manifests_v3()) {
            let known = page::manifest(registry, self.file.dialect, &manifest.id);
            if let Some(known) = known {
                pages.insert(known.id.clone(), page::of_node(known));
            }
        }
        items.extend(pages.into_iter().map(|(id, page)| {
            let text = id.clone();
            self.item(&id, CompletionItemKind::CLASS, range.clone(), text, Some(page))
        }));
        items
    }

    /// The name of the innermost open element.
    fn end_names(&self) -> Vec<CompletionItem> {
        let open = cursor::open_elements(&self.file.text, &self.file.tags, self.tag.span.start);
        let Some(name) = open.last() else {
            return Vec::new();
        };
        let end = if self.tag.is_complete { "" } else { ">" };
        let text = format!("{name}{end}");
        vec![self.item(name, CompletionItemKind::CLASS, self.tag.name.clone(), text, None)]
    }

    fn attributes(&self, range: Range<usize>) -> Vec<CompletionItem> {
        let given: BTreeSet<&str> = self
            .tag
            .attributes
            .iter()
            .filter(|attribute| attribute.name != range)
            .filter_map(|attribute| self.file.text.get(attribute.name.clone()))
            .collect();
        let mut found: BTreeMap<String, (CompletionItemKind, Option<String>)> = BTreeMap::new();
        let mut add = |name: &str, kind, page: Option<String>| {
            found.entry(name.to_owned()).or_insert((kind, page));
        };
        let property = CompletionItemKind::PROPERTY;
        let name = self.tag_name();
        let fixed: &[&str] = match name {
            "root" => &["BTCPP_format", "main_tree_to_execute"],
            "BehaviorTree" => &["ID"],
            "include" => &["path", "ros_pkg"],
            "input_port" | "output_port" | "inout_port" => &["name", "type", "default"],
            _ if names_kind(name) || is_call(name) => &["ID", "name"],
            _ => &["name"],
        };
        for name in fixed {
            add(name, property, page::of_common_attribute(name).map(str::to_owned));
        }
        let is_node = !matches!(name, "root" | "BehaviorTree" | "include" | "TreeNodesModel")
            && !name.ends_with("_port");
        if let Some(manifest) = page::manifest(self.view.registry(), self.file.dialect, self.node()) {
            for port in manifest.ports.iter().filter(|_| is_node) {
                add(&port.name, CompletionItemKind::FIELD, Some(page::of_port(port)));
            }
        }
        if is_call(name) {
            for key in self.keys_of_called() {
                add(&key, CompletionItemKind::VARIABLE, None);
            }
        }
        if is_node {
            for name in V4_ATTRIBUTES
                .iter()
                .filter(|name| **name != "_autoremap" || is_call(self.tag_name()))
            {
                add(name, property, page::of_common_attribute(name).map(str::to_owned));
            }
        }
        let is_followed = self
            .file
            .text
            .get(range.end..)
            .is_some_and(|rest| rest.trim_start().starts_with('='));
        let is_snippet = self.view.snippets && !is_followed;
        let items = found
            .into_iter()
            .filter(|(name, _)| !given.contains(name.as_str()));
        items
            .map(|(name, (kind, page))| {
                let text = match (is_followed, is_snippet) {
                    (true, _) => name.clone(),
                    // The cursor stands between the quotes then.
                    (false, true) => format!("{name}=\"$1\""),
                    (false, false) => format!("{name}=\"\""),
                };
                let mut item = self.item(&name, kind, range.clone(), text, page);
                item.insert_text_format = is_snippet.then_some(InsertTextFormat::SNIPPET);
                item
            })
            .collect()
    }

    /// The keys of the tree that a `<SubTree>` calls.
    fn keys_of_called(&self) -> BTreeSet<String> {
        let set = self.view.set();
        let id = attribute(self.file, self.tag, "ID").unwrap_or_default();
        let mut keys = BTreeSet::new();
        if let Some((file, tree)) = set.resolve(self.view.number(), id) {
            let uses = &set.files[file].trees[tree].keys;
            keys.extend(uses.iter().map(|found| found.key.clone()));
        }
        for model in set
            .files
            .iter()
            .flat_map(|file| &file.models)
            .filter(|model| model.id == id)
        {
            keys.extend(model.ports.iter().map(|(name, _)| name.clone()));
        }
        keys
    }

    fn values(&self, number: usize, range: Range<usize>) -> Vec<CompletionItem> {
        let name = self
            .tag
            .attributes
            .get(number)
            .and_then(|it| self.file.text.get(it.name.clone()));
        let name = name.unwrap_or_default();
        let tag = self.tag_name();
        let constants = |names: Vec<String>| {
            names
                .iter()
                .map(|name| {
                    self.item(
                        name,
                        CompletionItemKind::ENUM_MEMBER,
                        range.clone(),
                        name.clone(),
                        None,
                    )
                })
                .collect()
        };
        match (tag, name) {
            ("root", "BTCPP_format") => return constants(vec!["3".into(), "4".into()]),
            ("SubTree" | "SubTreePlus", "ID") | ("root", "main_tree_to_execute") => return self.trees(range),
            (tag, "ID") if names_kind(tag) => return self.names(range),
            ("include", "path") => return self.files(range),
            (_, "_autoremap") => return constants(vec!["true".into(), "false".into()]),
            (_, "ID" | "name") => return Vec::new(),
            _ => {}
        }
        if is_script(self.view.registry(), self.file.dialect, self.node(), name) {
            return self.script(&range);
        }
        let mut items: Vec<CompletionItem> = Vec::new();
        let manifest = page::manifest(self.view.registry(), self.file.dialect, self.node());
        let port = manifest.and_then(|manifest| manifest.port(name));
        if let Some(port) = port.filter(|port| port.direction != Direction::Output) {
            items = constants(literals(port));
        }
        items.extend(self.keys().into_iter().map(|key| {
            let text = format!("{{{key}}}");
            self.item(
                &text,
                CompletionItemKind::VARIABLE,
                range.clone(),
                text.clone(),
                None,
            )
        }));
        items
    }

    /// The keys that are known where the cursor is.
    fn keys(&self) -> BTreeSet<String> {
        let uses = match self.file.tree_at(self.offset) {
            Some(tree) => self.file.trees[tree].keys.as_slice(),
            None => &[],
        };
        let trees = self.file.trees.iter().flat_map(|tree| &tree.keys);
        // In a half-written tree the cursor can stand in none.
        let uses: Vec<_> = if uses.is_empty() {
            trees.collect()
        } else {
            uses.iter().collect()
        };
        let provided = self.view.registry().provided().keys().cloned();
        let is_other = |span: &Range<usize>| !(span.start <= self.offset && self.offset <= span.end);
        let known = uses.into_iter().filter(|found| is_other(&found.span));
        provided.chain(known.map(|found| found.key.clone())).collect()
    }

    fn trees(&self, range: Range<usize>) -> Vec<CompletionItem> {
        let set = self.view.set();
        let ids: BTreeSet<&str> = set
            .files
            .iter()
            .flat_map(|file| &file.trees)
            .map(|tree| tree.id.as_str())
            .collect();
        ids.into_iter()
            .map(|id| self.item(id, CompletionItemKind::MODULE, range.clone(), id.to_owned(), None))
            .collect()
    }

    /// The files of the set, relative to the file.
    fn files(&self, range: Range<usize>) -> Vec<CompletionItem> {
        let set = self.view.set();
        let Some(directory) = self.file.path.parent() else {
            return Vec::new();
        };
        let others = set.files.iter().filter(|file| file.path != self.file.path);
        others
            .filter_map(|file| file.path.strip_prefix(directory).ok()?.to_str())
            .map(|path| {
                self.item(
                    path,
                    CompletionItemKind::FILE,
                    range.clone(),
                    path.to_owned(),
                    None,
                )
            })
            .collect()
    }

    /// The names that a script can use, in place of the word at the cursor.
    fn script(&self, range: &Range<usize>) -> Vec<CompletionItem> {
        let before = self.file.text.get(range.start..self.offset).unwrap_or_default();
        let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '@');
        let word = self.offset - (before.len() - before.trim_end_matches(is_word).len());
        let word = word..self.offset;
        let keys = self
            .keys()
            .into_iter()
            .map(|key| (key, CompletionItemKind::VARIABLE));
        let enums = self.view.registry().enums().names();
        let enums: BTreeSet<&str> = enums.chain(["true", "false"]).collect();
        let enums = enums
            .into_iter()
            .map(|name| (name.to_owned(), CompletionItemKind::ENUM_MEMBER));
        keys.chain(enums)
            .map(|(name, kind)| self.item(&name, kind, word.clone(), name.clone(), None))
            .collect()
    }
}

/// The literals that a port takes, if they are few.
fn literals(port: &PortDecl) -> Vec<String> {
    let mut literals: Vec<String> = Vec::new();
    if port.info.family == Family::Bool {
        literals.extend(["true", "false"].map(str::to_owned));
    }
    if port.info == NodeStatus::TYPE {
        literals.extend(["SUCCESS", "FAILURE", "RUNNING", "SKIPPED", "IDLE"].map(str::to_owned));
    }
    let default = port.default.as_ref().filter(|default| !default.is_empty());
    literals.extend(default.map(ToString::to_string));
    literals.sort();
    literals.dedup();
    literals
}
