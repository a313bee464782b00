//! Compiles parsed trees to a [`TreeDef`].
//!
//! Looks node types up, instantiates subtrees, resolves keys, compiles literals and scripts, and compares types.
//! Reports all problems, not only the first. Does not touch running trees (guarantee G7).

mod assembly;
mod behavior;
mod scripts;
mod subtree;

use std::collections::HashSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::attributes::Attributes;
use super::behavior::Behavior;
use super::blackboard::ScopeId;
use super::definition::{NodeIndex, NodeInfo, TreeDef};
use super::dialect::Dialect;
use super::guard::Guards;
use super::kind::NodeKind;
use super::priority::Priorities;
use super::problem::{Problem, ProblemKind};
use super::registry::{NodeType, Registry};
use super::scope::Scopes;
use super::spec::{ForestSpec, NodeSpec, TreeSpec};
use super::suggest::nearest;

/// Maximum number of nodes of one definition, subtree instances included, unless [`Registry::set_max_nodes`] sets another.
/// A tree with more nodes is refused as runaway nesting.
pub const MAX_NODES: usize = 250_000;
/// Maximum nesting of one definition, subtrees included. Ticking and compiling recurse to this depth.
pub const MAX_DEPTH: usize = 512;
/// Maximum size of names, paths and attributes of one definition, in bytes. A small file can use a long text in a
/// million instances.
const MAX_TEXT: usize = 256 * 1024 * 1024;

/// Number of times that repeated problems are removed before compiling stops. A small file can contain the same error
/// in a million instances, and each of them costs as much as the first.
const MAX_DEDUPLICATIONS: usize = 10;

/// Maximum number of errors before compiling stops. A small file can name one unknown node in a million instances.
const MAX_PROBLEMS: usize = 10_000;

/// A compiled tree with its warnings.
#[derive(Debug)]
pub struct Compiled {
    /// The definition.
    pub def: Arc<TreeDef>,
    /// Problems that do not prevent the tree from running.
    pub warnings: Vec<Problem>,
}

/// Compiles the tree `main` of a forest.
///
/// # Errors
/// All problems found, warnings among them, in the order of the file.
pub fn compile(forest: &ForestSpec<'_>, main: &str, registry: &Registry) -> Result<Compiled, Vec<Problem>> {
    match compile_for(forest, main, registry, Purpose::Run) {
        (Some(def), warnings) => Ok(Compiled { def, warnings }),
        (None, problems) => Err(problems),
    }
}

/// Compiles as much of the tree as possible and returns it with all problems. The result serves further checks only; it
/// must not be run.
pub(crate) fn compile_to_check(
    forest: &ForestSpec<'_>,
    main: &str,
    registry: &Registry,
) -> (Option<Arc<TreeDef>>, Vec<Problem>) {
    compile_for(forest, main, registry, Purpose::Check)
}

/// The purpose of a definition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To be run: it has no errors.
    Run,
    /// To be checked: it may have errors and be incomplete.
    Check,
}

fn compile_for(
    forest: &ForestSpec<'_>,
    main: &str,
    registry: &Registry,
    purpose: Purpose,
) -> (Option<Arc<TreeDef>>, Vec<Problem>) {
    let Some(tree) = forest.trees.get(main) else {
        let known: Vec<&str> = forest.trees.keys().map(|id| &**id).collect();
        let mut problem = Problem::new(
            ProblemKind::UnknownTree,
            Default::default(),
            format!("there is no tree `{main}`"),
        );
        problem.help = Some(match nearest(main, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the trees are: {}", known.join(", ")),
        });
        return (None, vec![problem]);
    };
    let mut compiler = Compiler::new(forest, registry, tree.dialect);
    let scope = compiler.scopes.open(&tree.id, "", None);
    compiler.instantiate(tree, scope, None, 0);
    compiler.finish(main, tree.dialect, purpose)
}

struct Compiler<'f, 's> {
    forest: &'f ForestSpec<'s>,
    registry: &'f Registry,
    scopes: Scopes,
    behaviors: Vec<(Box<dyn Behavior>, u32)>,
    info: Vec<NodeInfo>,
    attributes: Attributes,
    guards: FxHashMap<u32, Guards>,
    priorities: FxHashMap<u32, Priorities>,
    /// Cache of node types by ID, for version 3 and version 4.
    types: [FxHashMap<&'f str, &'f NodeType>; 2],
    /// Bytes of text so far, limited by [`MAX_TEXT`].
    text: usize,
    /// The path under construction.
    path: String,
    problems: Vec<Problem>,
    /// Trees under instantiation, outermost first.
    open_trees: Vec<&'f str>,
    paths: HashSet<Arc<str>>,
    subtree_id: Arc<str>,
    overflowed: bool,
    /// Number of problems above which repeated ones are removed.
    max_problems: usize,
    /// Number of times that repeated problems were removed.
    deduplications: usize,
    /// There are too many errors; compiling has stopped.
    abandoned: bool,
}

impl<'f, 's> Compiler<'f, 's> {
    fn new(forest: &'f ForestSpec<'s>, registry: &'f Registry, dialect: Dialect) -> Self {
        Self {
            forest,
            registry,
            scopes: Scopes::new(dialect, Arc::clone(registry.provided())),
            behaviors: Vec::new(),
            info: Vec::new(),
            attributes: Attributes::default(),
            guards: FxHashMap::default(),
            priorities: FxHashMap::default(),
            types: Default::default(),
            text: 0,
            path: String::new(),
            problems: Vec::new(),
            open_trees: Vec::new(),
            paths: HashSet::new(),
            subtree_id: "SubTree".into(),
            overflowed: false,
            max_problems: MAX_PROBLEMS,
            deduplications: 0,
            abandoned: false,
        }
    }

    fn instantiate(
        &mut self,
        tree: &'f TreeSpec<'s>,
        scope: ScopeId,
        parent: Option<NodeIndex>,
        depth: usize,
    ) {
        self.open_trees.push(&tree.id);
        let path = self.scopes.path(scope);
        let prefix = if path.is_empty() {
            String::new()
        } else {
            format!("{path}/")
        };
        self.node(tree, &tree.root, scope, &prefix, parent, depth);
        self.open_trees.pop();
    }

    /// Compiles a node and everything below it.
    fn node(
        &mut self,
        tree: &'f TreeSpec<'s>,
        spec: &'f NodeSpec<'s>,
        scope: ScopeId,
        prefix: &str,
        parent: Option<NodeIndex>,
        depth: usize,
    ) {
        if !self.has_room(spec, prefix, depth) {
            return;
        }
        let index = NodeIndex(self.info.len() as u32);
        let is_subtree = spec.subtree.is_some();
        let node_type = if is_subtree {
            None
        } else {
            self.node_type(&spec.id, tree.dialect)
        };
        // Version 3 ignores the name attribute of a subtree.
        let has_name = tree.dialect == Dialect::V4 || !is_subtree;
        let name = spec.name.as_deref().filter(|_| has_name);
        self.add_info(spec, scope, prefix, parent, name, node_type);
        self.scopes.node = index.0;
        if is_subtree {
            self.subtree(tree, spec, scope, name, index, depth);
        } else {
            self.add_behavior(tree, spec, scope, node_type, index);
            self.compile_guards(tree, spec, scope, index);
            for child in &spec.children {
                self.node(tree, child, scope, prefix, Some(index), depth + 1);
            }
        }
        self.info[index.index()].end = NodeIndex(self.info.len() as u32);
    }

    /// Returns whether the limits allow another node. Reports the first limit that does not.
    fn has_room(&mut self, spec: &NodeSpec<'_>, prefix: &str, depth: usize) -> bool {
        let attributes = spec.attributes.iter();
        let text = attributes.map(|attribute| attribute.name.len() + attribute.value.len());
        let text =
            text.sum::<usize>() + spec.name.as_deref().map_or(0, str::len) + spec.id.len() + prefix.len();
        self.text = self.text.saturating_add(text);
        let message = if depth > MAX_DEPTH {
            format!("the tree is nested more than {MAX_DEPTH} deep")
        } else if self.text > MAX_TEXT {
            format!(
                "names, paths and attributes of the tree exceed {MAX_TEXT} bytes once its subtrees are in place"
            )
        } else if self.info.len() >= self.registry.max_nodes() {
            let limit = self.registry.max_nodes();
            format!("the tree has more than {limit} nodes once its subtrees are in place")
        } else {
            return !self.abandoned && (self.problems.len() < self.max_problems || !self.thin_problems());
        };
        if !self.overflowed {
            self.overflowed = true;
            self.problems
                .push(Problem::new(ProblemKind::Limit, spec.span, message));
        }
        false
    }

    fn add_info(
        &mut self,
        spec: &NodeSpec<'_>,
        scope: ScopeId,
        prefix: &str,
        parent: Option<NodeIndex>,
        name: Option<&str>,
        node_type: Option<&NodeType>,
    ) {
        let index = NodeIndex(self.info.len() as u32);
        let is_subtree = spec.subtree.is_some();
        let id = match node_type {
            Some(node_type) => Arc::clone(&node_type.id),
            None if is_subtree => Arc::clone(&self.subtree_id),
            None => Arc::from(&*spec.id),
        };
        let kind = match node_type {
            Some(node_type) => node_type.manifest.kind,
            None if is_subtree || !spec.children.is_empty() => NodeKind::SubTree,
            None => NodeKind::Action,
        };
        let name: Arc<str> = match name {
            Some(name) => Arc::from(name),
            None if is_subtree => Arc::from(&*spec.id),
            None => Arc::clone(&id),
        };
        self.path.clear();
        self.path.push_str(prefix);
        self.path.push_str(&name);
        if *name == *spec.id {
            self.path.push_str("::");
            push_number(&mut self.path, index.number());
        }
        let attributes = spec.attributes.iter();
        let attributes = attributes.map(|attribute| (&*attribute.name, &*attribute.value));
        self.info.push(NodeInfo {
            id,
            name,
            path: Arc::from(&*self.path),
            kind,
            parent,
            end: index,
            scope,
            span: spec.span,
            attributes: self.attributes.add(attributes),
        });
    }

    /// Looks a node type up, with a cache: a tree uses the same types many times.
    fn node_type(&mut self, id: &'f str, dialect: Dialect) -> Option<&'f NodeType> {
        let known = &mut self.types[usize::from(dialect == Dialect::V4)];
        if let Some(node_type) = known.get(id) {
            return Some(node_type);
        }
        let found = self.registry.get(id, dialect)?;
        known.insert(id, found);
        Some(found)
    }

    /// Removes problems that repeat one of another instance of the same tree. Returns true if too many errors remain.
    fn thin_problems(&mut self) -> bool {
        self.problems.sort_by_key(|problem| (problem.span, problem.kind));
        self.problems.dedup();
        self.deduplications += 1;
        let too_many = self.problems.len() > MAX_PROBLEMS / 2 || self.deduplications >= MAX_DEDUPLICATIONS;
        self.abandoned = too_many && !self.problems.iter().all(Problem::is_warning);
        self.max_problems = MAX_PROBLEMS.max(2 * self.problems.len());
        self.abandoned
    }
}

/// Appends a number to a path. Faster than `write!`; most paths contain a number.
fn push_number(text: &mut String, number: u32) {
    if number >= 10 {
        push_number(text, number / 10);
    }
    text.push(char::from(b'0' + (number % 10) as u8));
}
