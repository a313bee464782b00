//! The scripts that any node can have: the priorities of its children and its conditions (`_skipIf`, `_onSuccess`, …).

use super::Compiler;
use crate::bt::blackboard::ScopeId;
use crate::bt::change::{Change, Confidence};
use crate::bt::definition::NodeIndex;
use crate::bt::dialect::Dialect;
use crate::bt::guard::Guards;
use crate::bt::priority::Priorities;
use crate::bt::problem::{Problem, ProblemKind};
use crate::bt::script::{Script, ScriptResult};
use crate::bt::script_binder::compile_script;
use crate::bt::spec::{NodeSpec, TreeSpec};

impl Compiler<'_, '_> {
    /// Compiles the priorities of a node's children. Returns whether there are any.
    pub(super) fn compile_priorities(
        &mut self,
        spec: &NodeSpec<'_>,
        scope: ScopeId,
        index: NodeIndex,
        honoured: bool,
    ) -> bool {
        let has_priority = |child: &NodeSpec<'_>| child.attributes.iter().any(|it| it.name == "_priority");
        if !spec.children.iter().any(has_priority) {
            return false;
        }
        let scripts: Vec<Option<Script>> = spec
            .children
            .iter()
            .map(|child| {
                let attribute = child.attributes.iter().find(|it| it.name == "_priority")?;
                if !honoured {
                    let message = format!("`{}` does not visit its children by priority", spec.id);
                    self.problems.push(
                        Problem::new(ProblemKind::Refused, attribute.name_span, message)
                            .help("remove _priority: this node gives the position of each child a meaning")
                            .change(Change::RemoveAttribute(attribute.name_span), Confidence::Sure),
                    );
                    return None;
                }
                compile_script(
                    attribute,
                    ScriptResult::Number,
                    scope,
                    &mut self.scopes,
                    self.registry.enums(),
                    &mut self.problems,
                )
            })
            .collect();
        let any = scripts.iter().any(Option::is_some);
        if any {
            self.priorities.insert(index.0, Priorities(scripts.into()));
        }
        any
    }

    pub(super) fn compile_guards(
        &mut self,
        tree: &TreeSpec<'_>,
        spec: &NodeSpec<'_>,
        scope: ScopeId,
        index: NodeIndex,
    ) {
        let is_guard = |name: &str| name.starts_with('_');
        if tree.dialect == Dialect::V3 || !spec.attributes.iter().any(|it| is_guard(&it.name)) {
            return;
        }
        let mut guards = Guards::default();
        for attribute in &spec.attributes {
            let Some((field, result)) = guards.field(&attribute.name) else {
                continue;
            };
            *field = compile_script(
                attribute,
                result,
                scope,
                &mut self.scopes,
                self.registry.enums(),
                &mut self.problems,
            );
        }
        if !guards.is_empty() {
            self.guards.insert(index.0, guards);
        }
    }
}
