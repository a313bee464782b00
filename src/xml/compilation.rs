//! Compiles the trees of a forest and collects what is wrong with them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::bt::{self, MOST_NODES, Problem, ProblemKind, Registry, TreeDef};

use super::code::{Code, Severity};
use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::Element;
use super::forest::{Calls, Forest};
use super::includes::Documents;
use super::load::Trial;
use super::main_tree::no_such_tree;
use super::problems;

/// Compiles the trees of a forest, each only once and in total not more than is affordable.
pub(super) struct Compilation<'c, 'd> {
    registry: &'c Registry,
    documents: &'c Documents,
    forest: &'c Forest<'d>,
    diagnostics: &'c mut Diagnostics,
    /// Trees that were compiled, by themselves or within another.
    seen: BTreeSet<&'c str>,
    /// Nodes compiled in trees that nobody asked for.
    spent: usize,
    /// A file could not be read to its end: what seems to be missing may stand in the rest of it.
    incomplete: bool,
    trial: Option<&'c Trial<'c>>,
}

impl<'c, 'd> Compilation<'c, 'd> {
    pub(super) fn new(
        registry: &'c Registry,
        documents: &'c Documents,
        forest: &'c Forest<'d>,
        diagnostics: &'c mut Diagnostics,
    ) -> Self {
        let incomplete = diagnostics
            .iter()
            .any(|found| found.severity == Severity::Error && found.code < Code::WrongRoot);
        Self {
            registry,
            documents,
            forest,
            diagnostics,
            seen: BTreeSet::new(),
            spent: 0,
            incomplete,
            trial: None,
        }
    }

    /// Has trees that compile tried as well.
    pub(super) fn try_on(&mut self, trial: &'c Trial<'c>) {
        self.trial = Some(trial);
    }

    /// The tree that was asked for.
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

    /// All trees that were not compiled yet, `main` among them. In a file whose main tree is `running`, only what
    /// BehaviorTree.CPP refuses too is an error in them; the rest does not harm the tree that runs.
    pub(super) fn rest(&mut self, main: Option<&str>, running: bool) {
        let forest = self.forest;
        let called = forest.called();
        let sizes = sizes(&forest.calls);
        // Those that nothing calls first, since they bring the others with them; then what is left: cycles.
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
        for id in outer.into_iter().chain(inner) {
            if self.diagnostics.is_full(worst) {
                return;
            }
            if self.seen.contains(id) {
                continue;
            }
            self.mark(id);
            let size = sizes.get(id).copied().unwrap_or(0);
            let too_large = |found: &Diagnostic| found.code == Code::TreeTooLarge;
            if size > MOST_NODES && self.diagnostics.iter().any(too_large) {
                continue;
            }
            self.spent = self.spent.saturating_add(size.min(MOST_NODES));
            if self.spent > MOST_NODES {
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
                // What is so large costs as much, however few its nodes.
                self.spent = self.spent.saturating_add(MOST_NODES / 4);
            }
            // Who calls such a tree may write its keys.
            self.report(&problems, worst, |kind| {
                main == Some(id) || kind != ProblemKind::NeverWritten
            });
        }
    }

    /// Reports what nodes asked for in vain, but for what the compiler has an error at already: a port that could not
    /// be read is one that asks for nothing.
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
                ProblemKind::UnknownTree | ProblemKind::ChildCount | ProblemKind::NeverWritten
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
                self.diagnostics.push(diagnostic);
            }
        }
    }

    /// Notes a tree and all it calls as compiled.
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

/// How many nodes each tree has with all subtrees in place. Cycles count once; so do not all: what matters is
/// that no tree that is cheap to write and costly to compile looks cheap.
fn sizes<'c>(calls: &'c BTreeMap<Cow<'_, str>, Calls<'c>>) -> BTreeMap<&'c str, usize> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for id in calls.keys() {
        // Each entry is left on the list until all it calls is known; no recursion.
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
