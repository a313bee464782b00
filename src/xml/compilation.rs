//! Compiles the trees of a forest and collects their problems.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::bt::{self, MAX_NODES, Problem, ProblemKind, Registry, TreeDef};

use super::code::{Code, Severity};
use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::Element;
use super::forest::{Calls, Forest};
use super::includes::Documents;
use super::load::Trial;
use super::main_tree::no_such_tree;
use super::problems;

/// Compiles the trees of a forest, each only once, up to a total limit.
pub(super) struct Compilation<'c, 'd> {
    registry: &'c Registry,
    documents: &'c Documents,
    forest: &'c Forest<'d>,
    diagnostics: &'c mut Diagnostics,
    /// The trees that were compiled, alone or within another tree.
    seen: BTreeSet<&'c str>,
    /// Number of compiled nodes in trees other than the main tree.
    spent: usize,
    /// A file could not be read to its end: a missing tree may be in the rest of it.
    incomplete: bool,
    trial: Option<&'c Trial<'c>>,
    /// Whether the main tree is to run.
    running: bool,
    /// The number of nodes of each tree, with all its subtrees in place.
    sizes: BTreeMap<&'c str, usize>,
}

impl<'c, 'd> Compilation<'c, 'd> {
    pub(super) fn new(
        registry: &'c Registry,
        documents: &'c Documents,
        forest: &'c Forest<'d>,
        diagnostics: &'c mut Diagnostics,
    ) -> Self {
        let incomplete = diagnostics.is_incomplete();
        Self {
            registry,
            documents,
            forest,
            diagnostics,
            seen: BTreeSet::new(),
            spent: 0,
            incomplete,
            trial: None,
            running: false,
            sizes: sizes(&forest.calls),
        }
    }

    /// Also runs a trial on each compiled tree.
    pub(super) fn try_on(&mut self, trial: &'c Trial<'c>) {
        self.trial = Some(trial);
    }

    /// Compiles the main tree.
    pub(super) fn main(&mut self, main: &str) -> Option<Arc<TreeDef>> {
        let Some((main, _)) = self.forest.calls.get_key_value(main) else {
            if let Some(entry) = self.documents.entry() {
                let nowhere = entry.source().span(0, 0);
                let span = entry.root().map_or(nowhere, Element::name_span);
                self.diagnostics.push(no_such_tree(main, span, self.forest));
            }
            return None;
        };
        self.mark(main);
        self.running = true;
        if self.is_too_large(main) {
            return None;
        }
        match bt::compile(&self.forest.spec, main, self.registry) {
            Ok(compiled) => {
                self.report(&compiled.warnings, Severity::Error, |_| true);
                Some(compiled.def)
            }
            Err(problems) => {
                self.report(&problems, Severity::Error, |_| true);
                None
            }
        }
    }

    /// Compiles all remaining trees, `main` included. In a file whose main tree is `running`, a problem in another tree
    /// is an error only if BehaviorTree.CPP refuses it too; other problems do not affect the running tree.
    pub(super) fn rest(&mut self, main: Option<&str>, running: bool) {
        let forest = self.forest;
        let called = forest.called();
        // First the trees that no other tree calls, because they include the others. Then the remaining trees, which
        // are cycles.
        let (inner, outer): (Vec<&str>, Vec<&str>) = forest
            .calls
            .keys()
            .map(AsRef::as_ref)
            .partition(|id| called.contains(*id));
        let worst = if running {
            Severity::Warning
        } else {
            Severity::Error
        };
        // For all trees together. A low limit for one tree does not stop the check of a file with many.
        let budget = self.registry.max_nodes().saturating_mul(4).max(MAX_NODES);
        for id in outer.into_iter().chain(inner) {
            if self.diagnostics.is_full(worst) {
                return;
            }
            if self.seen.contains(id) {
                continue;
            }
            self.mark(id);
            if self.is_too_large(id) {
                continue;
            }
            let size = self.sizes.get(id).copied().unwrap_or(0);
            self.spent = self.spent.saturating_add(size);
            if self.spent > budget {
                return;
            }
            let problems = match self.trial {
                Some(trial) => {
                    let (def, problems) = bt::compile_to_check(&forest.spec, id, self.registry);
                    let tried = def.map(|def| trial(&def)).unwrap_or_default();
                    self.report_trial(tried, &problems);
                    problems
                }
                None => match bt::compile(&forest.spec, id, self.registry) {
                    Ok(compiled) => compiled.warnings,
                    Err(problems) => problems,
                },
            };
            if problems.iter().any(|problem| problem.kind == ProblemKind::Limit) {
                // A tree above a limit costs this much, even with few nodes.
                self.spent = self.spent.saturating_add(budget / 4);
            }
            // The caller of such a tree may write its keys.
            self.report(&problems, worst, |kind| {
                main == Some(id) || !matches!(kind, ProblemKind::NeverWritten | ProblemKind::MistypedKey)
            });
        }
    }

    /// Whether a tree has too many nodes, with a report. The nodes are counted before any is made: a small file can have
    /// subtrees that double.
    fn is_too_large(&mut self, id: &str) -> bool {
        let size = self.sizes.get(id).copied().unwrap_or(0);
        let limit = self.registry.max_nodes();
        let Some(tree) = self.forest.spec.trees.get(id).filter(|_| size > limit) else {
            return false;
        };
        let of_limit = |found: &Diagnostic| found.code == Code::TreeTooLarge;
        if !self.diagnostics.iter().any(of_limit) {
            let count = if size == usize::MAX {
                "too many".to_owned()
            } else {
                size.to_string()
            };
            let message = format!(
                "the tree `{id}` has {count} nodes once its subtrees are in place; the limit is {limit}"
            );
            let problem = Diagnostic::new(Code::TreeTooLarge, tree.span.into(), message).help(
                "the option `--max-nodes` of a command and the parameter `max_tree_nodes` of the node set the limit",
            );
            self.diagnostics.push(problem);
        }
        true
    }

    /// Reports the faults found by the trial, except where the compiler has reported an error: a port that could not be
    /// read has no value to try.
    fn report_trial(&mut self, tried: Vec<(bt::Span, String)>, problems: &[Problem]) {
        for (span, text) in tried {
            let is_known = |problem: &Problem| !problem.is_warning() && problem.span == span;
            if !problems.iter().any(is_known) {
                self.diagnostics
                    .push(Diagnostic::new(Code::Unserved, span.into(), text));
            }
        }
    }

    fn report(&mut self, problems: &[Problem], worst: Severity, wanted: impl Fn(ProblemKind) -> bool) {
        for problem in problems.iter().filter(|problem| wanted(problem.kind)) {
            let of_absence = matches!(
                problem.kind,
                ProblemKind::UnknownTree
                    | ProblemKind::ChildCount
                    | ProblemKind::NeverWritten
                    | ProblemKind::MistypedKey
            );
            if self.incomplete && of_absence {
                continue;
            }
            if let Some(mut diagnostic) = problems::diagnostic(problem, self.documents, self.forest) {
                let structural = matches!(
                    problem.kind,
                    ProblemKind::UnknownNode | ProblemKind::ChildCount | ProblemKind::NameClash
                );
                if !structural {
                    diagnostic.severity = diagnostic.severity.min(worst);
                }
                // A leaf that fails may be in a branch that never runs.
                if self.running && problem.kind == ProblemKind::MissingInput {
                    diagnostic.severity = Severity::Warning;
                }
                self.diagnostics.push(diagnostic);
            }
        }
    }

    /// Marks a tree and all trees it calls as compiled.
    fn mark(&mut self, id: &'c str) {
        let mut waiting = vec![id];
        while let Some(id) = waiting.pop() {
            if self.seen.insert(id)
                && let Some(calls) = self.forest.calls.get(id)
            {
                waiting.extend(calls.trees.iter().copied());
            }
        }
    }
}

/// The number of nodes of each tree, with all subtrees expanded. Cycles count once. The numbers need not be exact: a
/// tree that is small to write and expensive to compile must not have a low one.
fn sizes<'c>(calls: &'c BTreeMap<Cow<'_, str>, Calls<'c>>) -> BTreeMap<&'c str, usize> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for id in calls.keys() {
        // An entry stays on the list until all its calls are known. There is no recursion.
        let mut waiting: Vec<&str> = vec![id];
        while let Some(&id) = waiting.last() {
            let (Some(tree), false) = (calls.get(id), sizes.contains_key(id)) else {
                waiting.pop();
                continue;
            };
            if open.insert(id) {
                let unknown = tree.trees.iter().filter(|callee| !open.contains(*callee));
                waiting.extend(unknown);
            } else {
                let inner = tree
                    .trees
                    .iter()
                    .map(|callee| sizes.get(callee).copied().unwrap_or(0));
                let size = inner.fold(tree.nodes, usize::saturating_add);
                sizes.insert(id, size);
                waiting.pop();
            }
        }
    }
    sizes
}
