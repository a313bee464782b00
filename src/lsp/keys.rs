//! Which places of several files name the same key or tree.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::file::{Call, File, KeyUse, Spelling};

/// A tree: the number of its file, and its number in it.
pub(super) type TreeNumber = (usize, usize);

/// The files of a set.
pub(super) struct FileSet<'f> {
    pub(super) files: Vec<&'f File>,
    numbers: BTreeMap<PathBuf, usize>,
    /// The files that each file includes itself.
    includes: Vec<Vec<usize>>,
    /// Each file with all that it includes, near ones first.
    included: Vec<OnceCell<Vec<usize>>>,
    /// The trees of each ID, in order.
    trees: HashMap<&'f str, Vec<TreeNumber>>,
    /// The calls of each tree ID: the calling tree, and the number of the call in it.
    calls: BTreeMap<&'f str, Vec<(TreeNumber, usize)>>,
    /// The trees and calls that were looked at: the measure of the time of a request.
    #[cfg(test)]
    pub(super) steps: std::cell::Cell<usize>,
}

/// A place that names a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KeyPlace {
    pub(super) file: usize,
    pub(super) span: Range<usize>,
    pub(super) spelling: Spelling,
    /// Whether the key stands there with its `@`.
    pub(super) is_global: bool,
}

/// The places that write a key, each with its file.
pub(super) type Writers<'f> = Rc<Vec<(usize, &'f KeyUse)>>;

/// The writers of keys that were asked for, for each tree that shares the key.
pub(super) type KnownWriters<'f> = HashMap<(TreeNumber, String), Writers<'f>>;

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
            included: Vec::new(),
            trees: HashMap::new(),
            calls: BTreeMap::new(),
            #[cfg(test)]
            steps: Default::default(),
        };
        for (number, file) in set.files.iter().copied().enumerate() {
            let paths = file
                .includes
                .iter()
                .filter_map(|(path, _)| path.canonicalize().ok());
            set.includes
                .push(paths.filter_map(|path| set.number(&path)).collect());
            set.included.push(OnceCell::new());
            for (tree, content) in file.trees.iter().enumerate() {
                set.trees.entry(&content.id).or_default().push((number, tree));
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

    fn step(&self) {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
    }

    fn included(&self, file: usize) -> &[usize] {
        self.included[file].get_or_init(|| {
            let mut found = vec![file];
            let mut seen = HashSet::from([file]);
            let mut next = 0;
            while let Some(&file) = found.get(next) {
                next += 1;
                let more = self.includes[file].iter().copied();
                found.extend(more.filter(|number| seen.insert(*number)));
            }
            found
        })
    }

    /// The tree that an ID means in a file: its own, one of its includes, or one of the files beside it.
    pub(super) fn resolve(&self, file: usize, id: &str) -> Option<TreeNumber> {
        self.step();
        let all = match self.trees.get(id)?.as_slice() {
            [only] => return Some(*only),
            all => all,
        };
        let of = |file: &usize| {
            let first = all.partition_point(|(other, _)| other < file);
            all.get(first).copied().filter(|(other, _)| other == file)
        };
        let near = self.included(file).iter().find_map(of);
        near.or_else(|| {
            let directory = |file: usize| self.files[file].path.parent();
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
    pub(super) fn trees_with_key(&self, tree: TreeNumber, key: &str) -> Vec<TreeNumber> {
        let mut found = vec![tree];
        let mut seen = HashSet::from([tree]);
        let mut next = 0;
        let is_private = key.starts_with('_');
        while let Some(&(file, number)) = found.get(next) {
            next += 1;
            let mut near = Vec::new();
            let shares = |call: &Call| {
                self.step();
                call.shares && !is_private && !call.passes.iter().any(|pass| pass.name == key)
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
            found.extend(near.into_iter().filter(|tree| seen.insert(*tree)));
        }
        found
    }

    /// All places of a key of a tree: uses, and the attributes and ports that pass it into its trees.
    pub(super) fn places_of_key(&self, tree: TreeNumber, key: &str) -> Vec<KeyPlace> {
        let plain = key.strip_prefix('@').unwrap_or(key);
        let mut places = BTreeSet::new();
        let mut add = |file, span: &Range<usize>, spelling, is_global| {
            let key = (file, span.start, span.end);
            places.insert((key, spelling, is_global));
        };
        let trees: HashSet<TreeNumber> = if plain == key {
            self.trees_with_key(tree, key).into_iter().collect()
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
                        add(number, &found.span, found.spelling, global.is_some());
                    }
                }
            }
        }
        for wanted in &trees {
            for (caller, call) in self.calls_of(*wanted) {
                let passes = &self.files[caller.0].trees[caller.1].calls[call].passes;
                for pass in passes.iter().filter(|pass| pass.name == plain) {
                    add(caller.0, &pass.span, Spelling::Name, false);
                }
            }
        }
        let ids: HashSet<&str> = trees
            .iter()
            .map(|tree| self.files[tree.0].trees[tree.1].id.as_str())
            .collect();
        for (number, file) in self.files.iter().enumerate() {
            for model in file.models.iter().filter(|model| ids.contains(model.id.as_str())) {
                for (_, span) in model.ports.iter().filter(|(name, _)| name == plain) {
                    add(number, span, Spelling::Name, false);
                }
            }
        }
        let places = places.into_iter();
        let place = |((file, start, end), spelling, is_global)| KeyPlace {
            file,
            span: start..end,
            spelling,
            is_global,
        };
        places.map(place).collect()
    }

    /// The values `{=}` that pass a key of the calling tree to the key of the same name of a tree. They stand for
    /// another key when the attribute gets another name.
    pub(super) fn same_name_passes(&self, tree: TreeNumber, key: &str) -> Vec<(usize, Range<usize>)> {
        let mut found = Vec::new();
        for wanted in self.trees_with_key(tree, key) {
            for (caller, call) in self.calls_of(wanted) {
                let passes = &self.files[caller.0].trees[caller.1].calls[call].passes;
                let here = passes.iter().filter(|pass| pass.name == key);
                found.extend(here.filter_map(|pass| Some((caller.0, pass.same_name.clone()?))));
            }
        }
        found
    }

    /// The writers of a key of a tree. They are the same for all trees that share the key, so that the time of a request
    /// about a chain of such trees grows with its length, and not with the cube of it.
    pub(super) fn known_writers(
        &self,
        tree: TreeNumber,
        key: &str,
        known: &mut KnownWriters<'f>,
    ) -> Writers<'f> {
        if let Some(writers) = known.get(&(tree, key.to_owned())) {
            return Rc::clone(writers);
        }
        let writers = Rc::new(self.writers(tree, key));
        for tree in self.trees_with_key(tree, key) {
            known.insert((tree, key.to_owned()), Rc::clone(&writers));
        }
        writers
    }

    /// The places that write a key of a tree, in the tree itself and in the trees that it shares the key with.
    pub(super) fn writers(&self, tree: TreeNumber, key: &str) -> Vec<(usize, &'f KeyUse)> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut waiting: Vec<(TreeNumber, String)> = vec![(tree, key.to_owned())];
        while let Some((tree, key)) = waiting.pop() {
            if seen.contains(&(tree, key.clone())) {
                continue;
            }
            for tree in self.trees_with_key(tree, &key) {
                if !seen.insert((tree, key.clone())) {
                    continue;
                }
                let file: &'f File = self.files[tree.0];
                let content = &file.trees[tree.1];
                let writers = content
                    .keys
                    .iter()
                    .filter(|found| found.writes && found.key == key);
                found.extend(writers.map(|writer| (tree.0, writer)));
                for call in &content.calls {
                    let passes = call.passes.iter();
                    for pass in passes.filter(|pass| pass.key.as_ref() == Some(&key)) {
                        if let Some(callee) = self.resolve(tree.0, &call.id) {
                            waiting.push((callee, pass.name.clone()));
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
                if let Some(pass) = call.passes.iter().find(|pass| within(&pass.span)) {
                    let callee = self.resolve(file, &call.id)?;
                    return Some((callee, pass.name.clone(), pass.span.clone()));
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
