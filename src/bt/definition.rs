//! The compiled form of a tree file.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::Enums;
use super::attributes::Attributes;
use super::behavior::Behavior;
use super::blackboard::{Entry, ScopeId, SlotId};
use super::dialect::Dialect;
use super::guard::Guards;
use super::kind::NodeKind;
use super::node_list::NodeList;
use super::priority::Priorities;
use super::types::TypeInfo;
use super::value::Value;
use rustc_hash::FxHashMap;

/// A node of a definition: its index in pre-order. The root of the main tree is first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct NodeIndex(pub(crate) u32);

impl NodeIndex {
    /// The root of the main tree.
    pub const ROOT: Self = Self(0);

    /// The node with this index.
    pub fn from_index(index: u32) -> Self {
        Self(index)
    }

    /// The index as a number.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The number used in paths, from 1. Paths must be unique, so it does not wrap, unlike BehaviorTree.CPP's
    /// identifier.
    pub fn number(self) -> u32 {
        self.0 + 1
    }

    /// The 16-bit identifier in `behavior_tree_log`: from 1, wrapping at 65535 as in BehaviorTree.CPP.
    pub fn uid(self) -> u16 {
        self.number() as u16
    }
}

/// A range of source text, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span {
    /// The file, as an index into the sources of one load.
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

    /// The value of an attribute of the element whose name has this span.
    fn attribute(&self, element: Span, name: &str) -> Option<Span>;

    /// The name and the text of each file, in the order of their numbers.
    fn files(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }
}

/// The data of a visit, kept small: two nodes fit in one cache line.
pub(crate) struct NodeDef {
    pub(crate) behavior: Box<dyn Behavior>,
    /// First index into [`TreeDef::children`].
    pub(crate) first_child: u32,
    pub(crate) child_count: u32,
    pub(crate) flags: u32,
}

impl NodeDef {
    /// Has pre- or postconditions: the slow path.
    pub(crate) const GUARDED: u32 = 1;
    /// Resets a completed child after the tick (for decorators that do not do so themselves).
    pub(crate) const RESETS_CHILD: u32 = 2;
    /// Children have priorities, so positions are mapped to an order.
    pub(crate) const PRIORITY: u32 = 4;
    /// A condition, which must not return RUNNING.
    pub(crate) const CONDITION: u32 = 8;
    /// A node known only from a palette or mocked: any behavior is possible.
    pub(crate) const UNKNOWN: u32 = 16;
    /// Publishes itself as the current node before it runs ([`super::CurrentNode`]).
    pub(crate) const ANNOUNCED: u32 = 32;
}

/// The data of a node for messages, monitors and builders.
#[derive(Debug)]
pub struct NodeInfo {
    /// Registered ID.
    pub id: Arc<str>,
    /// Instance name: the `name` attribute, or the ID.
    pub name: Arc<str>,
    /// Full path. Unique except for siblings that share an explicit name.
    pub path: Arc<str>,
    /// Its kind.
    pub kind: NodeKind,
    /// Its parent.
    pub parent: Option<NodeIndex>,
    /// One past its last descendant.
    pub end: NodeIndex,
    /// The key space that its ports use.
    pub scope: ScopeId,
    /// Its place in the file.
    pub span: Span,
    /// Its attributes, ports included: [`TreeDef::attributes`].
    pub(crate) attributes: Range<u32>,
}

/// One key space: a subtree instance.
#[derive(Debug)]
pub struct ScopeDef {
    /// The ID of the tree that it runs.
    pub tree_id: Arc<str>,
    /// The path of the instance; empty for the main tree.
    pub path: Arc<str>,
    /// The scope that contains the instance.
    pub parent: Option<ScopeId>,
    /// The slots of its keys, own ones and remapped ones. Uses the standard hasher because files choose the keys:
    /// without a secret, a file could choose keys that all collide.
    pub(crate) keys: HashMap<Arc<str>, SlotId>,
    /// Own keys in the order of appearance, as in an export.
    pub(crate) own: Vec<(Arc<str>, SlotId)>,
    pub(crate) remaps: HashMap<Arc<str>, Arc<str>>,
    pub(crate) autoremap: bool,
    /// Whether its attributes remap keys as `{key}`. True except for version 3's plain `<SubTree>`.
    pub(crate) takes_pointers: bool,
}

pub(crate) struct SlotDef {
    pub(crate) info: Option<&'static TypeInfo>,
    /// `None`: the entry does not exist until it is written.
    pub(crate) initial: Option<Value>,
}

/// One access of a node to an entry, in a port or in a script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotAccess {
    pub(crate) node: u32,
    pub(crate) slot: SlotId,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

/// A checked and compiled tree: nodes in pre-order, ports resolved, scripts compiled. Immutable and shared by all of
/// its runs ([`Tree`](super::Tree)). Created by [`compile`](super::compile()).
pub struct TreeDef {
    pub(crate) nodes: NodeList,
    pub(crate) children: Box<[u32]>,
    pub(crate) guards: FxHashMap<u32, Guards>,
    pub(crate) priorities: FxHashMap<u32, Priorities>,
    pub(crate) info: Box<[NodeInfo]>,
    pub(crate) attributes: Attributes,
    pub(crate) slots: Box<[SlotDef]>,
    /// The slots that each node uses, sorted by node.
    pub(crate) accesses: Box<[SlotAccess]>,
    /// Entries that the tree addresses with `@`, with the key after the `@`.
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

    /// The number of nodes, subtree nodes included.
    pub fn len(&self) -> usize {
        self.info.len()
    }

    /// Always false: a definition has a root.
    pub fn is_empty(&self) -> bool {
        self.info.is_empty()
    }

    /// A node.
    pub fn node(&self, node: NodeIndex) -> &NodeInfo {
        &self.info[node.index()]
    }

    /// The attributes of a node, ports included, as name and value in file order.
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

    /// The children of a node, in file order.
    pub fn children(&self, node: NodeIndex) -> impl ExactSizeIterator<Item = NodeIndex> + '_ {
        let def = &self.nodes[node.index()];
        let first = def.first_child as usize;
        self.children[first..first + def.child_count as usize]
            .iter()
            .map(|child| NodeIndex(*child))
    }

    /// Visits a node and its descendants depth first: `before` on the way down, `after` on the way up.
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

    /// The language of the main tree's file.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The enumeration names of the compiled tree.
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

    /// The place of an attribute; the place of the node if it has no such attribute.
    pub fn span_of(&self, node: NodeIndex, attribute: &str) -> Span {
        let span = self.node(node).span;
        let places = self.places.as_ref();
        places
            .and_then(|places| places.attribute(span, attribute))
            .unwrap_or(span)
    }

    /// The name and the text of each file of the tree: the requested one, and those that it includes.
    pub fn files(&self) -> Vec<(&str, &str)> {
        self.places
            .as_ref()
            .map(|places| places.files())
            .unwrap_or_default()
    }

    /// The slot of a key, if the tree uses it.
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

    /// The target of a key that the scope does not own: a remapping, or the parent's key of the same name.
    pub(crate) fn forward<'k>(&'k self, scope: ScopeId, key: &'k str) -> Option<(ScopeId, &'k str)> {
        let def = &self.scopes[scope.0 as usize];
        let parent = def.parent?;
        if let Some(outer) = def.remaps.get(key) {
            return Some((parent, outer));
        }
        let shared = def.autoremap && (self.dialect == Dialect::V3 || !key.starts_with('_'));
        shared.then_some((parent, key))
    }

    /// The entries that a node may write through its ports and scripts.
    pub(crate) fn slots_written_by(&self, node: u32) -> impl Iterator<Item = SlotId> + '_ {
        let first = self.accesses.partition_point(|access| access.node < node);
        let rest = self.accesses.get(first..).unwrap_or_default().iter();
        rest.take_while(move |access| access.node == node)
            .filter(|access| access.writes)
            .map(|access| access.slot)
    }

    /// The scope and the key of an entry of the definition; `None` for entries that a run has added.
    pub fn key(&self, slot: SlotId) -> Option<(ScopeId, &Arc<str>)> {
        self.scopes().find_map(|(scope, def)| {
            let own = def.own.iter().find(|(_, of)| *of == slot);
            own.map(|(key, _)| (scope, key))
        })
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
    fn a_walk_calls_before_on_the_way_down_and_after_on_the_way_up() {
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
