//! Compiles parsed trees to a [`TreeDef`].
//!
//! Looks node types up, instantiates subtrees, resolves keys, compiles literals and scripts, and compares types.
//! Reports all problems, not only the first. Does not touch running trees (guarantee G7).

use std::collections::HashSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::attributes::Attributes;
use super::behavior::{Behavior, Dialect, Manifest, NodeKind};
use super::binder::Binder;
use super::blackboard::ScopeId;
use super::definition::{NodeDef, NodeIndex, NodeInfo, TreeDef};
use super::guard::Guards;
use super::lint::{Subject, Written, lint};
use super::literal_checks;
use super::node_effects::Outcomes;
use super::nodes::SubTree;
use super::port_decl::Ports;
use super::priority::Priorities;
use super::problem::{Problem, ProblemKind};
use super::registry::{NodeType, Registry};
use super::scope::Scopes;
use super::script::{Script, ScriptResult};
use super::spec::{ForestSpec, NodeSpec, TreeSpec};
use super::suggest::nearest;

/// Maximum number of nodes of one definition, subtree instances included. A tree with more nodes is refused as runaway
/// nesting.
pub const MOST_NODES: usize = 1_500_000;
/// Maximum nesting of one definition, subtrees included. Ticking and compiling recurse to this depth.
pub const MOST_DEPTH: usize = 512;
/// Maximum size of names, paths and attributes of one definition, in bytes. A small file can use a long text in a
/// million instances.
const MOST_TEXT: usize = 256 * 1024 * 1024;
/// Bytes that each key of a subtree instance adds to [`MOST_TEXT`]: about its memory use.
const TEXT_OF_KEY: usize = 512;

/// Number of times that repeated problems are removed before compiling stops. A small file can contain the same error
/// in a million instances, and each of them costs as much as the first.
const MOST_THINNED: usize = 10;

/// Maximum number of errors before compiling stops. A small file can name one unknown node in a million instances.
const MOST_PROBLEMS: usize = 10_000;

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
    /// Bytes of text so far, limited by [`MOST_TEXT`].
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
    most_problems: usize,
    /// Number of times that repeated problems were removed.
    thinned: usize,
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
            most_problems: MOST_PROBLEMS,
            thinned: 0,
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

    fn node(
        &mut self,
        tree: &'f TreeSpec<'s>,
        spec: &'f NodeSpec<'s>,
        scope: ScopeId,
        prefix: &str,
        parent: Option<NodeIndex>,
        depth: usize,
    ) {
        let attributes = spec.attributes.iter();
        let text = attributes.map(|attribute| attribute.name.len() + attribute.value.len());
        let text =
            text.sum::<usize>() + spec.name.as_deref().map_or(0, str::len) + spec.id.len() + prefix.len();
        self.text = self.text.saturating_add(text);
        if self.info.len() >= MOST_NODES || depth > MOST_DEPTH || self.text > MOST_TEXT {
            if !self.overflowed {
                self.overflowed = true;
                let what = if depth > MOST_DEPTH {
                    format!("the tree is nested more than {MOST_DEPTH} deep")
                } else if self.text > MOST_TEXT {
                    format!(
                        "names, paths and attributes of the tree exceed {MOST_TEXT} bytes once its subtrees are in \
                         place"
                    )
                } else {
                    format!("the tree has more than {MOST_NODES} nodes once its subtrees are in place")
                };
                self.problems
                    .push(Problem::new(ProblemKind::Limit, spec.span, what));
            }
            return;
        }
        if self.abandoned || (self.problems.len() >= self.most_problems && self.thin_problems()) {
            return;
        }
        let index = NodeIndex(self.info.len() as u32);
        let node_type = if spec.subtree.is_some() {
            None
        } else {
            self.node_type(&spec.id, tree.dialect)
        };
        let unknown = if spec.subtree.is_some() || !spec.children.is_empty() {
            NodeKind::SubTree
        } else {
            NodeKind::Action
        };
        let id = node_type.map_or_else(
            || {
                if spec.subtree.is_some() {
                    Arc::clone(&self.subtree_id)
                } else {
                    Arc::from(&*spec.id)
                }
            },
            |node_type| Arc::clone(&node_type.id),
        );
        // Version 3 ignores the name attribute of a subtree.
        let named = spec
            .name
            .as_deref()
            .filter(|_| tree.dialect == Dialect::V4 || spec.subtree.is_none());
        let name: Arc<str> = match named {
            Some(name) => Arc::from(name),
            None if spec.subtree.is_none() => Arc::clone(&id),
            None => Arc::from(&*spec.id),
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
            kind: node_type.map_or(unknown, |node_type| node_type.manifest.kind),
            parent,
            end: index,
            scope,
            span: spec.span,
            attributes: self.attributes.add(attributes),
        });
        if spec.subtree.is_some() {
            self.scopes.node = index.0;
            let substitute = self.substitute_subtree(tree, spec, scope, index);
            let whole = substitute.is_some();
            if whole {
                self.info[index.index()].kind = NodeKind::Action;
            }
            self.behaviors.push(match substitute {
                Some(behavior) => (behavior, NodeDef::UNKNOWN),
                None => (Box::new(SubTree), 0),
            });
            self.compile_guards(tree, spec, scope, index);
            if !whole {
                self.subtree(tree, spec, scope, named, index, depth);
            }
        } else {
            self.scopes.node = index.0;
            let (behavior, substituted) = self.build(tree, spec, scope, node_type, index);
            let kind = self.info[index.index()].kind;
            let open = node_type.is_some_and(|node_type| node_type.manifest.open);
            // A mock may replace any node.
            let unknown = open || substituted || node_type.is_none();
            let answers = || {
                !behavior
                    .node_effects(kind, &[])
                    .outcomes
                    .contains(Outcomes::RUNNING)
            };
            let mut flags = match kind {
                NodeKind::Decorator if !behavior.resets_child() => NodeDef::RESETS_CHILD,
                NodeKind::Condition if !unknown && answers() => NodeDef::CONDITION,
                NodeKind::Condition
                | NodeKind::Action
                | NodeKind::Control
                | NodeKind::Decorator
                | NodeKind::SubTree => 0,
            };
            if unknown {
                flags |= NodeDef::UNKNOWN;
            }
            if self.registry.watches_foreign_nodes() && node_type.is_some_and(|node_type| node_type.foreign) {
                flags |= NodeDef::ANNOUNCED;
            }
            if self.compile_priorities(spec, scope, index, behavior.honours_priority()) {
                flags |= NodeDef::PRIORITY;
            }
            self.behaviors.push((behavior, flags));
            self.compile_guards(tree, spec, scope, index);
            for child in &spec.children {
                self.node(tree, child, scope, prefix, Some(index), depth + 1);
            }
        }
        self.info[index.index()].end = NodeIndex(self.info.len() as u32);
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
        self.thinned += 1;
        let too_many = self.problems.len() > MOST_PROBLEMS / 2 || self.thinned >= MOST_THINNED;
        self.abandoned = too_many && !self.problems.iter().all(Problem::is_warning);
        self.most_problems = MOST_PROBLEMS.max(2 * self.problems.len());
        self.abandoned
    }

    fn unknown_node(&mut self, spec: &NodeSpec<'_>, dialect: Dialect) {
        let mut problem = Problem::new(
            ProblemKind::UnknownNode,
            spec.span,
            format!("unknown node `{}`", spec.id),
        );
        let types = self.registry.manifests().map(|manifest| manifest.id.as_str());
        problem.help = if self.forest.trees.contains_key(&*spec.id) {
            Some(format!(
                "`{}` is a tree: write <SubTree ID=\"{}\"/>",
                spec.id, spec.id
            ))
        } else if dialect == Dialect::V4 && self.registry.get(&spec.id, Dialect::V3).is_some() {
            Some("this ID exists in version 3 files only (no BTCPP_format, or \"3\")".to_owned())
        } else if spec.id == "ManualSelector" {
            // BehaviorTree.CPP registers this node in version 3 builds with ncurses.
            Some(
                "it reads from a terminal, which a robot does not have; read the choice with a leaf"
                    .to_owned(),
            )
        } else {
            nearest(&spec.id, types).map(|near| format!("did you mean `{near}`?"))
        };
        self.problems.push(problem);
    }

    /// Makes the behaviour of a node that is not a subtree, and checks its attributes against its declaration.
    fn build(
        &mut self,
        tree: &TreeSpec<'_>,
        spec: &NodeSpec<'_>,
        scope: ScopeId,
        node_type: Option<&NodeType>,
        index: NodeIndex,
    ) -> (Box<dyn Behavior>, bool) {
        let Some(node_type) = node_type else {
            let substitute = self.registry.substitute().filter(|_| spec.children.is_empty());
            let adopted = substitute.and_then(|it| {
                self.open_ports(tree, spec, scope, index, NodeKind::Action, |leaf, ports| {
                    it.adopt(leaf, ports)
                })
            });
            if adopted.is_none() {
                self.unknown_node(spec, tree.dialect);
            }
            return (adopted.unwrap_or_else(|| Box::new(SubTree)), false);
        };
        let manifest = &*node_type.manifest;
        let (least, most) = manifest.children;
        let count = spec.children.len();
        if count < least || count > most {
            let wanted = match (least, most) {
                (0, 0) => "no children".to_owned(),
                (1, 1) => "exactly one child".to_owned(),
                (least, usize::MAX) => format!("at least {least} children"),
                (least, most) if least == most => format!("exactly {least} children"),
                (least, most) => format!("{least} to {most} children"),
            };
            let message = format!("`{}` takes {wanted} and has {count}", spec.id);
            self.problems
                .push(Problem::new(ProblemKind::ChildCount, spec.span, message));
        }
        let mut binder = Binder {
            spec,
            scope,
            dialect: tree.dialect,
            manifest,
            scopes: &mut self.scopes,
            enums: self.registry.enums(),
            problems: &mut self.problems,
        };
        let behavior = (node_type.make)(&mut Ports { sink: &mut binder });
        binder.check_attributes();
        let info = &self.info[index.index()];
        let substitute = self.registry.substitute();
        match substitute.and_then(|it| it.behavior(info, &mut Ports { sink: &mut binder })) {
            Some(other) => (other, true),
            None => (behavior, false),
        }
    }

    /// Returns the node that replaces a subtree instance, if a substitution rule matches.
    fn substitute_subtree(
        &mut self,
        tree: &TreeSpec<'_>,
        spec: &NodeSpec<'_>,
        scope: ScopeId,
        index: NodeIndex,
    ) -> Option<Box<dyn Behavior>> {
        let substitute = self.registry.substitute().filter(|it| it.covers_subtrees())?;
        self.open_ports(tree, spec, scope, index, NodeKind::SubTree, |node, ports| {
            substitute.behavior(node, ports)
        })
    }

    /// Makes a behaviour for a node without a declaration. Every attribute may be a port.
    fn open_ports(
        &mut self,
        tree: &TreeSpec<'_>,
        spec: &NodeSpec<'_>,
        scope: ScopeId,
        index: NodeIndex,
        kind: NodeKind,
        make: impl FnOnce(&NodeInfo, &mut Ports<'_>) -> Option<Box<dyn Behavior>>,
    ) -> Option<Box<dyn Behavior>> {
        let manifest = Manifest {
            id: spec.id.to_string(),
            kind,
            doc: String::new(),
            children: (0, 0),
            ports: Vec::new(),
            open: true,
        };
        let mut binder = Binder {
            spec,
            scope,
            dialect: tree.dialect,
            manifest: &manifest,
            scopes: &mut self.scopes,
            enums: self.registry.enums(),
            problems: &mut self.problems,
        };
        make(&self.info[index.index()], &mut Ports { sink: &mut binder })
    }

    /// Compiles the priorities of a node's children. Returns whether there are any.
    fn compile_priorities(
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
                            .help("remove _priority: this node gives the position of each child a meaning"),
                    );
                    return None;
                }
                super::binder::compile_script(
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

    fn compile_guards(&mut self, tree: &TreeSpec<'_>, spec: &NodeSpec<'_>, scope: ScopeId, index: NodeIndex) {
        let is_guard = |name: &str| name.starts_with('_');
        if tree.dialect == Dialect::V3 || !spec.attributes.iter().any(|it| is_guard(&it.name)) {
            return;
        }
        let mut guards = Guards::default();
        for attribute in &spec.attributes {
            let Some((field, result)) = guards.field(&attribute.name) else {
                continue;
            };
            *field = super::binder::compile_script(
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

    fn subtree(
        &mut self,
        tree: &TreeSpec<'s>,
        spec: &'f NodeSpec<'s>,
        scope: ScopeId,
        name: Option<&str>,
        index: NodeIndex,
        depth: usize,
    ) {
        let Some(inner) = self.forest.trees.get(&*spec.id) else {
            let mut problem = Problem::new(
                ProblemKind::UnknownTree,
                spec.span,
                format!("there is no tree `{}`", spec.id),
            );
            problem.help = nearest(&spec.id, self.forest.trees.keys().map(|id| &**id))
                .map(|near| format!("did you mean `{near}`?"));
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

    fn finish(
        mut self,
        main: &str,
        dialect: Dialect,
        purpose: Purpose,
    ) -> (Option<Arc<TreeDef>>, Vec<Problem>) {
        let count = self.info.len();
        let mut first_child = vec![0_u32; count + 1];
        for info in &self.info {
            if let Some(parent) = info.parent {
                first_child[parent.index() + 1] += 1;
            }
        }
        for index in 0..count {
            first_child[index + 1] += first_child[index];
        }
        let mut next = first_child.clone();
        let mut children = vec![0_u32; count.saturating_sub(1)];
        for (index, info) in self.info.iter().enumerate() {
            if let Some(parent) = info.parent {
                children[next[parent.index()] as usize] = index as u32;
                next[parent.index()] += 1;
            }
        }
        let subject = Subject {
            info: &self.info,
            behaviors: &self.behaviors,
            first_child: &first_child,
            children: &children,
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
}

/// Appends a number to a path. Faster than `write!`; most paths contain a number.
fn push_number(text: &mut String, number: u32) {
    if number >= 10 {
        push_number(text, number / 10);
    }
    text.push(char::from(b'0' + (number % 10) as u8));
}
