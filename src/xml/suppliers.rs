//! Finds the files that define the trees that another file uses and does not include.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::forest::Forest;
use super::source::{FileId, Span};

/// The trees that several files define and need. Files have numbers.
#[derive(Default)]
pub(super) struct Suppliers {
    files: Vec<Trees>,
    /// For each tree, the files that define it themselves.
    defined_in: BTreeMap<String, Vec<usize>>,
}

/// The trees of one file with its includes.
#[derive(Default)]
struct Trees {
    defined: BTreeSet<String>,
    missing: BTreeSet<String>,
}

impl Suppliers {
    /// Adds the next file. `entry` is the file itself, without its includes.
    pub(super) fn add(&mut self, number: usize, forest: &Forest<'_>, entry: Option<FileId>) {
        let trees = &forest.spec.trees;
        for (id, tree) in trees {
            if Some(Span::from(tree.span).file) == entry {
                self.defined_in.entry(id.to_string()).or_default().push(number);
            }
        }
        let called = forest.calls.values().flat_map(|calls| &calls.trees);
        let missing = called.filter(|id| !trees.contains_key(**id));
        self.files.push(Trees {
            missing: missing.map(ToString::to_string).collect(),
            defined: trees.keys().map(ToString::to_string).collect(),
        });
    }

    /// The files that a file needs, each with the tree for which it is needed first. Of several files that define a
    /// tree, the first one in the directory of the file that needs it is taken, or else the first one.
    pub(super) fn of(&self, number: usize, paths: &[PathBuf]) -> Vec<(usize, String)> {
        let Some(file) = self.files.get(number) else {
            return Vec::new();
        };
        let directory = |number: usize| paths.get(number).and_then(|path| path.parent());
        let mut found = Vec::new();
        let mut defined: BTreeSet<&str> = file.defined.iter().map(String::as_str).collect();
        let mut missing: Vec<&str> = file.missing.iter().map(String::as_str).collect();
        while let Some(id) = missing.pop() {
            let candidates = self.defined_in.get(id).map_or(&[][..], Vec::as_slice);
            let near = candidates
                .iter()
                .find(|candidate| directory(**candidate) == directory(number));
            let Some(supplier) = near.or(candidates.first()) else {
                continue;
            };
            if !defined.contains(id) {
                found.push((*supplier, id.to_owned()));
                let trees = &self.files[*supplier];
                defined.extend(trees.defined.iter().map(String::as_str));
                missing.extend(trees.missing.iter().map(String::as_str));
            }
        }
        found
    }
}
