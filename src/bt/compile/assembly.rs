//! Assembles the definition: checks the compiled nodes as a whole and joins the parts.

use std::sync::Arc;

use super::{Compiler, Purpose};
use crate::bt::definition::{NodeDef, NodeInfo, TreeDef};
use crate::bt::dialect::Dialect;
use crate::bt::lint::{Subject, Written, lint};
use crate::bt::literal_checks;
use crate::bt::problem::{Problem, ProblemKind};

/// The children of node `i` are `children[first_child[i]..first_child[i + 1]]`.
struct ChildTable {
    first_child: Vec<u32>,
    children: Vec<u32>,
}

impl ChildTable {
    fn new(info: &[NodeInfo]) -> Self {
        let count = info.len();
        let mut first_child = vec![0_u32; count + 1];
        for info in info {
            if let Some(parent) = info.parent {
                first_child[parent.index() + 1] += 1;
            }
        }
        for index in 0..count {
            first_child[index + 1] += first_child[index];
        }
        let mut next = first_child.clone();
        let mut children = vec![0_u32; count.saturating_sub(1)];
        for (index, info) in info.iter().enumerate() {
            if let Some(parent) = info.parent {
                children[next[parent.index()] as usize] = index as u32;
                next[parent.index()] += 1;
            }
        }
        Self {
            first_child,
            children,
        }
    }
}

impl Compiler<'_, '_> {
    pub(super) fn finish(
        mut self,
        main: &str,
        dialect: Dialect,
        purpose: Purpose,
    ) -> (Option<Arc<TreeDef>>, Vec<Problem>) {
        let table = ChildTable::new(&self.info);
        self.check(main, dialect, &table);
        let ChildTable {
            first_child,
            children,
        } = table;
        self.problems.sort_by_key(|problem| (problem.span, problem.kind));
        self.problems.dedup();
        let is_cut = self.overflowed || self.abandoned;
        if is_cut || (purpose == Purpose::Run && !self.problems.iter().all(Problem::is_warning)) {
            return (None, self.problems);
        }
        let nodes = self
            .behaviors
            .into_iter()
            .enumerate()
            .map(|(index, (behavior, flags))| NodeDef {
                behavior,
                first_child: first_child[index],
                child_count: first_child[index + 1] - first_child[index],
                flags: flags
                    | if self.guards.contains_key(&(index as u32)) {
                        NodeDef::GUARDED
                    } else {
                        0
                    },
            })
            .collect();
        let globals = self.scopes.globals();
        let accesses = std::mem::take(&mut self.scopes.accesses).into_boxed_slice();
        let (scopes, slots) = self.scopes.into_parts();
        let def = TreeDef {
            nodes,
            children: children.into_boxed_slice(),
            guards: self.guards,
            priorities: self.priorities,
            info: self.info.into_boxed_slice(),
            attributes: self.attributes,
            slots,
            accesses,
            globals,
            scopes,
            enums: Arc::new(self.registry.enums().clone()),
            dialect,
            places: self.forest.places.clone(),
        };
        (Some(Arc::new(def)), self.problems)
    }

    /// Checks the tree as a whole.
    fn check(&mut self, main: &str, dialect: Dialect, table: &ChildTable) {
        let subject = Subject {
            info: &self.info,
            behaviors: &self.behaviors,
            first_child: &table.first_child,
            children: &table.children,
            guards: &self.guards,
            dialect,
            latch_on_activation: self.registry.latches_on_activation(),
            written: Written {
                scopes: &self.scopes,
                provided: self.registry.provided(),
                ports: self.forest.models.get(main).map_or(&[], Vec::as_slice),
            },
        };
        // Warnings are not reliable while parts of the tree are missing.
        let is_whole = !self.problems.iter().any(|problem| {
            matches!(
                problem.kind,
                ProblemKind::UnknownNode
                    | ProblemKind::UnknownTree
                    | ProblemKind::Recursion
                    | ProblemKind::Limit
                    | ProblemKind::ChildCount
            )
        });
        // An entry that is removed loses its type.
        let may_be_removed = self
            .types
            .iter()
            .any(|types| types.contains_key("UnsetBlackboard"));
        literal_checks::check(
            &self.scopes,
            self.registry.enums(),
            may_be_removed,
            &mut self.problems,
        );
        if is_whole {
            lint(&subject, &mut self.problems);
        }
    }
}
