//! The compiled form of a tree file.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::Enums;
use super::attributes::Attributes;
use super::behavior::{Behavior, Dialect, NodeKind};
use super::blackboard::{Entry, ScopeId, SlotId};
use super::guard::Guards;
use super::priority::Priorities;
use super::provenance::SlotAccess;
use super::types::TypeInfo;
use super::value::Value;
use rustc_hash::FxHashMap;

/// A node of a definition: its place in pre-order, the main tree's root first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeIndex(pub(crate) u32);

impl NodeIndex {
    /// The root of the main tree.
    pub const ROOT: Self = Self(0);

    /// As a number.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// As paths have it, from 1. They have to differ, so it does not wrap where BehaviorTree.CPP's identifier does.
    pub fn number(self) -> u32 {
        self.0 + 1
    }

    /// The identifier in `behavior_tree_log`, where it has 16 bits: from 1, wrapping at 65535 as BehaviorTree.CPP's does.
    pub fn uid(self) -> u16 {
        self.number() as u16
    }
}

/// A stretch of source text, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span {
    /// The file, by number among the sources of one load.
    pub file: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// Turns a span into `file:line:column`.
pub trait Places: Send + Sync {
    /// The place for messages; `None` for spans that come from no file.
    fn place(&self, span: Span) -> Option<String>;

    /// Where the value of an attribute stands, of the element whose name has this span.
    fn attribute(&self, element: Span, name: &str) -> Option<Span>;
}

/// What a visit needs, and nothing else: one cache line holds two.
pub(crate) struct NodeDef {
    pub(crate) behavior: Box<dyn Behavior>,
    /// First index into [`TreeDef::children`].
    pub(crate) first_child: u32,
    pub(crate) child_count: u32,
    pub(crate) flags: u32,
}

impl NodeDef {
    /// Pre- or postconditions: the slow path.
    pub(crate) const GUARDED: u32 = 1;
    /// A completed child is reset after the tick (decorators that do not do so themselves).
    pub(crate) const RESETS_CHILD: u32 = 2;
    /// Children have priorities: positions go through an order.
    pub(crate) const PRIORITY: u32 = 4;
    /// A condition that answers at once: it must not return RUNNING.
    pub(crate) const CONDITION: u32 = 8;
    /// Known from a palette or mocked: it may do anything.
    pub(crate) const UNKNOWN: u32 = 16;
    /// Says where the run is before it acts ([`super::CurrentNode`]).
    pub(crate) const ANNOUNCED: u32 = 32;
}

/// What messages, monitors and builders need of a node.
#[derive(Debug)]
pub struct NodeInfo {
    /// Registered ID.
    pub id: Arc<str>,
    /// Instance name: the `name` attribute, or the ID.
    pub name: Arc<str>,
    /// Full path: unique but for siblings that share an explicit name.
    pub path: Arc<str>,
    /// Its kind.
    pub kind: NodeKind,
    /// Its parent.
    pub parent: Option<NodeIndex>,
    /// One past its last descendant.
    pub end: NodeIndex,
    /// The key space that its ports use.
    pub scope: ScopeId,
    /// Where it stands.
    pub span: Span,
    /// Its ports as written, and other attributes: [`TreeDef::attributes`].
    pub(crate) attributes: Range<u32>,
}

/// One key space: a subtree instance.
#[derive(Debug)]
pub struct ScopeDef {
    /// The ID of the tree that it runs.
    pub tree_id: Arc<str>,
    /// The path of the instance; empty for the main tree.
    pub path: Arc<str>,
    /// The scope it was instantiated in.
    pub parent: Option<ScopeId>,
    /// Where keys lead: own, or another scope's. The standard hasher, because files choose the keys: with one that has
    /// no secret they could choose them so that all collide.
    pub(crate) keys: HashMap<Arc<str>, SlotId>,
    /// Own keys, in the order in which they appeared: what an export shows.
    pub(crate) own: Vec<(Arc<str>, SlotId)>,
    pub(crate) remaps: HashMap<Arc<str>, Arc<str>>,
    pub(crate) autoremap: bool,
    /// Whether its attributes hand keys over as `{key}`: all do but those of version 3's plain `<SubTree>`.
    pub(crate) takes_pointers: bool,
}

pub(crate) struct SlotDef {
    pub(crate) info: Option<&'static TypeInfo>,
    /// `None`: does not exist until written.
    pub(crate) initial: Option<Value>,
}

/// A tree, checked and compiled: nodes in pre-order, ports resolved, scripts compiled. Immutable; shared by
/// every run ([`Tree`](super::Tree)) of it. Made by [`compile`](super::compile()).
pub struct TreeDef {
    pub(crate) nodes: Box<[NodeDef]>,
    pub(crate) children: Box<[u32]>,
    pub(crate) guards: FxHashMap<u32, Guards>,
    pub(crate) priorities: FxHashMap<u32, Priorities>,
    pub(crate) info: Box<[NodeInfo]>,
    pub(crate) attributes: Attributes,
    pub(crate) slots: Box<[SlotDef]>,
    /// Which nodes name which slots, in the order of nodes.
    pub(crate) accesses: Box<[SlotAccess]>,
    /// Entries that the tree addresses with `@`, by the key behind it.
    pub(crate) globals: Box<[(Arc<str>, SlotId)]>,
    pub(crate) scopes: Box<[ScopeDef]>,
    pub(crate) enums: Arc<Enums>,
    pub(crate) dialect: Dialect,
    pub(crate) places: Option<Arc<dyn Places>>,
}

impl TreeDef {
    /// The ID of the main tree.
    pub fn id(&self) -> &str {
        &self.scopes[0].tree_id
    }

    /// How many nodes it has, subtree nodes included.
    pub fn len(&self) -> usize {
        self.info.len()
    }

    /// Never: a definition has a root.
    pub fn is_empty(&self) -> bool {
        self.info.is_empty()
    }

    /// A node.
    pub fn node(&self, node: NodeIndex) -> &NodeInfo {
        &self.info[node.index()]
    }

    /// The ports of a node as written, and its other attributes, name and value, in the order of the file.
    pub fn attributes(&self, node: NodeIndex) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.attributes.get(self.node(node).attributes.clone())
    }

    /// All nodes in pre-order.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeIndex, &NodeInfo)> {
        (0..)
            .map(NodeIndex)
            .zip(self.info.iter())
            .take(self.info.len())
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// The children of a node, in the order of the file.
    pub fn children(&self, node: NodeIndex) -> impl ExactSizeIterator<Item = NodeIndex> + '_ {
        let def = &self.nodes[node.index()];
        let first = def.first_child as usize;
        self.children[first..first + def.child_count as usize]
            .iter()
            .map(|child| NodeIndex(*child))
    }

    /// Walks through a node and all below it, depth first: `before` is called on the way down, `after` on the way up.
    pub fn walk(
        &self,
        from: NodeIndex,
        before: &mut dyn FnMut(NodeIndex, &NodeInfo),
        after: &mut dyn FnMut(NodeIndex, &NodeInfo),
    ) {
        let mut open: Vec<NodeIndex> = Vec::new();
        let mut close = |node: NodeIndex| after(node, &self.info[node.index()]);
        for index in from.0..self.node(from).end.0 {
            let node = NodeIndex(index);
            while let Some(last) = open.pop_if(|last| self.node(*last).end <= node) {
                close(last);
            }
            before(node, &self.info[node.index()]);
            open.push(node);
        }
        open.into_iter().rev().for_each(close);
    }

    /// The key spaces: the main tree first, then subtree instances in pre-order.
    pub fn scopes(&self) -> impl ExactSizeIterator<Item = (ScopeId, &ScopeDef)> {
        (0..)
            .map(ScopeId)
            .zip(self.scopes.iter())
            .take(self.scopes.len())
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// The language of the file that the main tree stands in.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The enumeration names that the tree was compiled with.
    pub fn enums(&self) -> &Enums {
        &self.enums
    }

    /// `file:line:column` of a node.
    pub fn place(&self, node: NodeIndex) -> Option<String> {
        self.place_of(self.node(node).span)
    }

    /// `file:line:column` of a span.
    pub fn place_of(&self, span: Span) -> Option<String> {
        self.places.as_ref()?.place(span)
    }

    /// Where an attribute of a node stands; the node where it has none of that name.
    pub fn span_of(&self, node: NodeIndex, attribute: &str) -> Span {
        let span = self.node(node).span;
        let places = self.places.as_ref();
        places
            .and_then(|places| places.attribute(span, attribute))
            .unwrap_or(span)
    }

    /// The slot that a key leads to, where the tree names it.
    pub fn slot(&self, scope: ScopeId, key: &str) -> Option<SlotId> {
        if let Some(global) = key.strip_prefix('@') {
            return self.slot(ScopeId::ROOT, global);
        }
        let def = &self.scopes[scope.0 as usize];
        if let Some(slot) = def.keys.get(key) {
            return Some(*slot);
        }
        match self.forward(scope, key) {
            Some((parent, key)) => self.slot(parent, key),
            None => None,
        }
    }

    /// Where a key that a scope does not hold leads: a remapping, or the parent's key of the same name.
    pub(crate) fn forward<'k>(&'k self, scope: ScopeId, key: &'k str) -> Option<(ScopeId, &'k str)> {
        let def = &self.scopes[scope.0 as usize];
        let parent = def.parent?;
        if let Some(outer) = def.remaps.get(key) {
            return Some((parent, outer));
        }
        let shared = def.autoremap && (self.dialect == Dialect::V3 || !key.starts_with('_'));
        shared.then_some((parent, key))
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.slots
            .iter()
            .map(|slot| Entry::declared(slot.initial.clone(), slot.info))
            .collect()
    }
}

impl fmt::Debug for TreeDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeDef")
            .field("id", &self.id())
            .field("nodes", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::NodeIndex;
    use crate::bt::builder::{inverter, sequence};
    use crate::bt::testing::{Scene, leaf};

    #[test]
    fn a_walk_goes_down_before_and_up_after() {
        let root = sequence([inverter(leaf("a", "S")).name("not"), leaf("b", "S")]).name("root");
        let tree = Scene::new(root).compile().unwrap();
        let def = tree.definition();
        let walk = |from| {
            let told = std::cell::RefCell::new(Vec::new());
            def.walk(
                from,
                &mut |_, node| told.borrow_mut().push(format!("<{}", node.name)),
                &mut |_, node| told.borrow_mut().push(format!("{}>", node.name)),
            );
            told.into_inner().join(" ")
        };
        assert_eq!(walk(NodeIndex::ROOT), "<root <not <a a> not> <b b> root>");
        assert_eq!(walk(NodeIndex(1)), "<not <a a> not>");
    }
}
