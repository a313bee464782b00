//! Which places of several files name the same key or tree.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::file::{File, KeyUse};

/// A tree: the number of its file, and its number in it.
pub(super) type TreeNumber = (usize, usize);

/// The files of a set.
pub(super) struct FileSet<'f> {
    pub(super) files: Vec<&'f File>,
    numbers: BTreeMap<PathBuf, usize>,
    /// The files that each file includes itself.
    includes: Vec<Vec<usize>>,
    /// The calls of each tree ID: the calling tree, and the number of the call in it.
    calls: BTreeMap<&'f str, Vec<(TreeNumber, usize)>>,
}

impl<'f> FileSet<'f> {
    /// Joins files; `identities` are their unique names.
    pub(super) fn new(files: Vec<(PathBuf, &'f File)>) -> Self {
        let numbers = files
            .iter()
            .enumerate()
            .map(|(number, (path, _))| (path.clone(), number));
        let mut set = Self {
            numbers: numbers.collect(),
            files: files.into_iter().map(|(_, file)| file).collect(),
            includes: Vec::new(),
            calls: BTreeMap::new(),
        };
        for (number, file) in set.files.iter().copied().enumerate() {
            let paths = file
                .includes
                .iter()
                .filter_map(|(path, _)| path.canonicalize().ok());
            set.includes
                .push(paths.filter_map(|path| set.number(&path)).collect());
            for (tree, content) in file.trees.iter().enumerate() {
                for (call, content) in content.calls.iter().enumerate() {
                    let calls = set.calls.entry(&content.id).or_default();
                    calls.push(((number, tree), call));
                }
            }
        }
        set
    }

    /// The number of a file.
    pub(super) fn number(&self, identity: &Path) -> Option<usize> {
        self.numbers.get(identity).copied()
    }

    fn included(&self, file: usize) -> Vec<usize> {
        let mut found = vec![file];
        let mut next = 0;
        while let Some(&file) = found.get(next) {
            next += 1;
            for number in &self.includes[file] {
                if !found.contains(number) {
                    found.push(*number);
                }
            }
        }
        found
    }

    /// The tree that an ID means in a file: its own, one of its includes, or one of the files beside it.
    pub(super) fn resolve(&self, file: usize, id: &str) -> Option<TreeNumber> {
        let of = |file: usize| {
            let found = self.files[file].trees.iter().position(|tree| tree.id == id)?;
            Some((file, found))
        };
        let near = self.included(file).into_iter().find_map(of);
        near.or_else(|| {
            let directory = |file: usize| self.files[file].path.parent();
            let all: Vec<TreeNumber> = (0..self.files.len()).filter_map(of).collect();
            let beside = all.iter().find(|(other, _)| directory(*other) == directory(file));
            beside.or(all.first()).copied()
        })
    }

    /// The calls of a tree: the file and the number of the calling tree, and the number of the call in it.
    pub(super) fn calls_of(&self, wanted: TreeNumber) -> Vec<(TreeNumber, usize)> {
        let id = &self.files[wanted.0].trees[wanted.1].id;
        let calls = self.calls.get(id.as_str()).into_iter().flatten().copied();
        calls
            .filter(|((file, _), _)| self.resolve(*file, id) == Some(wanted))
            .collect()
    }

    /// All places that name a tree: its ID first.
    pub(super) fn places_of_tree(&self, wanted: TreeNumber) -> Vec<(usize, Range<usize>)> {
        let tree = &self.files[wanted.0].trees[wanted.1];
        let mut places = vec![(wanted.0, tree.id_span.clone())];
        for ((file, caller), call) in self.calls_of(wanted) {
            places.push((file, self.files[file].trees[caller].calls[call].id_span.clone()));
        }
        for (number, file) in self.files.iter().enumerate() {
            let models = file.models.iter().map(|model| (&model.id, &model.id_span));
            let mains = file.main.iter().map(|(id, span)| (id, span));
            for (id, span) in models.chain(mains) {
                if *id == tree.id && self.resolve(number, id) == Some(wanted) {
                    places.push((number, span.clone()));
                }
            }
        }
        places
    }

    /// The trees in which a key of a tree is the same entry under the same name. A subtree with `_autoremap` shares its
    /// keys with the tree that calls it.
    fn trees_with_key(&self, tree: TreeNumber, key: &str) -> Vec<TreeNumber> {
        let mut found = vec![tree];
        let mut next = 0;
        let is_private = key.starts_with('_');
        while let Some(&(file, number)) = found.get(next) {
            next += 1;
            let mut near = Vec::new();
            let shares = |call: &super::file::Call| {
                call.shares && !is_private && !call.passes.iter().any(|(name, ..)| name == key)
            };
            for call in self.files[file].trees[number]
                .calls
                .iter()
                .filter(|call| shares(call))
            {
                near.extend(self.resolve(file, &call.id));
            }
            for (caller, call) in self.calls_of((file, number)) {
                if shares(&self.files[caller.0].trees[caller.1].calls[call]) {
                    near.push(caller);
                }
            }
            for tree in near {
                if !found.contains(&tree) {
                    found.push(tree);
                }
            }
        }
        found
    }

    /// All places of a key of a tree: uses, and the attributes and ports that pass it into its trees.
    pub(super) fn places_of_key(&self, tree: TreeNumber, key: &str) -> Vec<(usize, Range<usize>)> {
        let plain = key.strip_prefix('@').unwrap_or(key);
        let mut places = BTreeSet::new();
        let trees = if plain == key {
            self.trees_with_key(tree, key)
        } else {
            // A key of the main tree, from anywhere.
            (0..self.files.len())
                .flat_map(|file| (0..self.files[file].trees.len()).map(move |tree| (file, tree)))
                .filter(|tree| self.calls_of(*tree).is_empty())
                .collect()
        };
        for (number, file) in self.files.iter().enumerate() {
            for (other, content) in file.trees.iter().enumerate() {
                let is_here = trees.contains(&(number, other));
                for found in &content.keys {
                    let global = found.key.strip_prefix('@');
                    let is_global = plain != key && global == Some(plain);
                    if is_global || (is_here && found.key == plain) {
                        places.insert((number, found.span.start, found.span.end));
                    }
                }
            }
        }
        for wanted in &trees {
            for (caller, call) in self.calls_of(*wanted) {
                let passes = &self.files[caller.0].trees[caller.1].calls[call].passes;
                for (_, span, _) in passes.iter().filter(|(name, ..)| name == plain) {
                    places.insert((caller.0, span.start, span.end));
                }
            }
            let id = &self.files[wanted.0].trees[wanted.1].id;
            for (number, file) in self.files.iter().enumerate() {
                for model in file.models.iter().filter(|model| model.id == *id) {
                    for (_, span) in model.ports.iter().filter(|(name, _)| name == plain) {
                        places.insert((number, span.start, span.end));
                    }
                }
            }
        }
        places
            .into_iter()
            .map(|(file, start, end)| (file, start..end))
            .collect()
    }

    /// The places that write a key of a tree, in the tree itself and in the trees that it shares the key with.
    pub(super) fn writers(&self, tree: TreeNumber, key: &str) -> Vec<(usize, &KeyUse)> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut waiting: Vec<(TreeNumber, String)> = vec![(tree, key.to_owned())];
        while let Some((tree, key)) = waiting.pop() {
            for tree in self.trees_with_key(tree, &key) {
                if !seen.insert((tree, key.clone())) {
                    continue;
                }
                let content = &self.files[tree.0].trees[tree.1];
                let writers = content
                    .keys
                    .iter()
                    .filter(|found| found.writes && found.key == key);
                found.extend(writers.map(|writer| (tree.0, writer)));
                for call in &content.calls {
                    let passed = call
                        .passes
                        .iter()
                        .filter(|(.., passed)| passed.as_ref() == Some(&key));
                    for (inner, ..) in passed {
                        if let Some(callee) = self.resolve(tree.0, &call.id) {
                            waiting.push((callee, inner.clone()));
                        }
                    }
                }
            }
        }
        found.sort_by_key(|(file, found)| (*file, found.span.start));
        found.dedup_by_key(|(file, found)| (*file, found.span.start));
        found
    }

    /// The key at an offset of a file: a use, or an attribute or port that passes it into a tree.
    pub(super) fn key_at(&self, file: usize, offset: usize) -> Option<(TreeNumber, String, Range<usize>)> {
        let within = |span: &Range<usize>| span.start <= offset && offset <= span.end;
        for (number, tree) in self.files[file].trees.iter().enumerate() {
            if let Some(found) = tree.keys.iter().find(|found| within(&found.span)) {
                return Some(((file, number), found.key.clone(), found.span.clone()));
            }
            for call in &tree.calls {
                if let Some((name, span, _)) = call.passes.iter().find(|(_, span, _)| within(span)) {
                    return Some((self.resolve(file, &call.id)?, name.clone(), span.clone()));
                }
            }
        }
        for model in &self.files[file].models {
            if let Some((name, span)) = model.ports.iter().find(|(_, span)| within(span)) {
                return Some((self.resolve(file, &model.id)?, name.clone(), span.clone()));
            }
        }
        None
    }

    /// The tree that is named at an offset of a file, and the place of the name.
    pub(super) fn tree_named_at(&self, file: usize, offset: usize) -> Option<(TreeNumber, Range<usize>)> {
        let within = |span: &Range<usize>| span.start <= offset && offset <= span.end;
        let content = self.files[file];
        for (number, tree) in content.trees.iter().enumerate() {
            if within(&tree.id_span) {
                return Some(((file, number), tree.id_span.clone()));
            }
            if let Some(call) = tree.calls.iter().find(|call| within(&call.id_span)) {
                return Some((self.resolve(file, &call.id)?, call.id_span.clone()));
            }
        }
        let models = content.models.iter().map(|model| (&model.id, &model.id_span));
        let mut named = models.chain(content.main.iter().map(|(id, span)| (id, span)));
        let (id, span) = named.find(|(_, span)| within(span))?;
        Some((self.resolve(file, id)?, span.clone()))
    }
}
