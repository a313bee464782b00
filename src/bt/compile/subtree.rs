//! An instance of a tree within another tree.

use std::sync::Arc;

use super::Compiler;
use crate::bt::blackboard::ScopeId;
use crate::bt::change::{Change, Confidence};
use crate::bt::definition::{NodeDef, NodeIndex};
use crate::bt::kind::NodeKind;
use crate::bt::nodes::SubTree;
use crate::bt::problem::{Problem, ProblemKind};
use crate::bt::spec::{NodeSpec, TreeSpec};
use crate::bt::suggest::nearest;

/// Bytes that each key of a subtree instance adds to [`MAX_TEXT`](super::MAX_TEXT): about its memory use.
const TEXT_OF_KEY: usize = 512;

impl<'f, 's> Compiler<'f, 's> {
    /// Compiles a subtree node and the tree that it names.
    pub(super) fn subtree(
        &mut self,
        tree: &TreeSpec<'s>,
        spec: &'f NodeSpec<'s>,
        scope: ScopeId,
        name: Option<&str>,
        index: NodeIndex,
        depth: usize,
    ) {
        if let Some(behavior) = self.substitute_subtree(tree, spec, scope, index) {
            self.info[index.index()].kind = NodeKind::Action;
            self.behaviors.push((behavior, NodeDef::UNKNOWN));
            self.compile_guards(tree, spec, scope, index);
            return;
        }
        self.behaviors.push((Box::new(SubTree), 0));
        self.compile_guards(tree, spec, scope, index);
        let Some(inner) = self.forest.trees.get(&*spec.id) else {
            let mut problem = Problem::new(
                ProblemKind::UnknownTree,
                spec.span,
                format!("there is no tree `{}`", spec.id),
            );
            let near = nearest(&spec.id, self.forest.trees.keys().map(|id| &**id));
            if let Some(near) = near {
                let change = Change::Retype(spec.span, near.to_owned());
                problem = problem.change(change, Confidence::Guess);
            }
            problem.help = Some(match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "include the file that defines it, or name that file in the same command".to_owned(),
            });
            self.problems.push(problem);
            return;
        };
        if let Some(first) = self.open_trees.iter().position(|id| *id == &*spec.id) {
            let chain = self.open_trees[first..].join(" > ");
            let message = format!("the tree `{}` contains itself: {chain} > {}", spec.id, spec.id);
            self.problems
                .push(Problem::new(ProblemKind::Recursion, spec.span, message));
            return;
        }
        let outer = self.scopes.path(scope);
        let separator = if outer.is_empty() { "" } else { "/" };
        let own = name.map_or_else(|| format!("{}::{}", spec.id, index.number()), str::to_owned);
        let path: Arc<str> = format!("{outer}{separator}{own}").into();
        if !self.paths.insert(Arc::clone(&path)) {
            let message = format!("two subtrees have the path `{path}`");
            self.problems.push(
                Problem::new(ProblemKind::DuplicatePath, spec.span, message)
                    .help("give each subtree a different name attribute, or remove the attribute"),
            );
        }
        let models = self.forest.models.get(&*spec.id).map_or(&[][..], Vec::as_slice);
        // Each instance has keys for its attributes and for the ports of its model.
        let keys = models.len().saturating_add(spec.attributes.len());
        let texts = models
            .iter()
            .map(|port| port.name.len() + port.default.as_deref().map_or(0, str::len));
        self.text = keys
            .saturating_mul(TEXT_OF_KEY)
            .saturating_add(texts.sum())
            .saturating_add(path.len())
            .saturating_add(self.text);
        let inner_scope =
            self.scopes
                .open_subtree(spec, tree.dialect, scope, &path, models, &mut self.problems);
        self.instantiate(inner, inner_scope, Some(index), depth + 1);
    }
}
