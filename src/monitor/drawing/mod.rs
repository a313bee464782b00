//! Drawings of a tree definition: one file per format.

use std::collections::HashSet;

use crate::bt::{NodeIndex, NodeInfo, TreeDef};

mod dot;
mod marks;
mod mermaid;
mod svg;
mod svg_layout;
mod text;

pub use marks::{Mark, Marks, Shade};

/// The direction in which a picture grows from the root.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Layout {
    /// Children stand to the right of their parent. It fits a page: trees have more leaves than levels.
    #[default]
    LeftToRight,
    /// Children stand below their parent.
    TopDown,
}

/// A tree that is to be drawn, and what the drawing shows of it.
#[derive(Debug)]
pub struct Drawing<'a> {
    def: &'a TreeDef,
    marks: &'a Marks,
    layout: Layout,
    folded: HashSet<NodeIndex>,
}

impl<'a> Drawing<'a> {
    /// A drawing of all nodes of a tree with their marks.
    pub fn new(def: &'a TreeDef, marks: &'a Marks, layout: Layout) -> Self {
        Self {
            def,
            marks,
            layout,
            folded: HashSet::new(),
        }
    }

    /// Hides what is below the nodes of these names. A name is the name of a node, or the ID of a node or a tree.
    ///
    /// # Errors
    /// The tree has no node with children of such a name.
    pub fn fold(mut self, names: &[String]) -> Result<Self, String> {
        for name in names {
            let before = self.folded.len();
            let is_meant = |(node, info): &(NodeIndex, &NodeInfo)| {
                let is_named = *info.name == **name || *info.id == **name;
                is_named && self.def.children(*node).len() > 0
            };
            let found: Vec<NodeIndex> = self.def.nodes().filter(is_meant).map(|(node, _)| node).collect();
            self.folded.extend(found.iter().copied());
            if found.is_empty() && before == self.folded.len() {
                return Err(format!("no node with children has the name or ID `{name}`"));
            }
        }
        Ok(self)
    }

    /// The nodes that are not hidden, in pre-order.
    fn nodes(&self) -> impl Iterator<Item = (NodeIndex, &NodeInfo)> {
        let mut hidden_before = NodeIndex::ROOT;
        self.def.nodes().filter(move |(node, info)| {
            let is_shown = *node >= hidden_before;
            if is_shown && self.folded.contains(node) {
                hidden_before = info.end;
            }
            is_shown
        })
    }

    /// The children of a node that are not hidden.
    fn children(&self, node: NodeIndex) -> impl Iterator<Item = NodeIndex> + '_ {
        let is_open = !self.folded.contains(&node);
        self.def.children(node).filter(move |_| is_open)
    }

    /// `Name (ID)`, or only the ID if they are equal.
    fn label(&self, node: NodeIndex) -> String {
        let info = self.def.node(node);
        if info.name == info.id {
            info.id.to_string()
        } else {
            format!("{} ({})", info.name, info.id)
        }
    }

    /// The attributes of a node that are ports, as written.
    fn ports(&self, node: NodeIndex) -> impl Iterator<Item = (&str, &str)> {
        self.def.attributes(node)
    }

    /// What the drawing says about a node besides its declaration: the number of hidden nodes, and the note of its mark.
    fn notes(&self, node: NodeIndex) -> impl Iterator<Item = String> {
        let below = self.def.node(node).end.index() - node.index() - 1;
        let hidden = self.folded.contains(&node).then(|| match below {
            1 => "1 node is folded".to_owned(),
            count => format!("{count} nodes are folded"),
        });
        let note = self.marks.get(node).map(|mark| mark.note.clone());
        hidden.into_iter().chain(note)
    }

    /// The colour of the mark of a node.
    fn colour(&self, node: NodeIndex) -> Option<&'static str> {
        self.marks.get(node).map(|mark| mark.shade.colour())
    }
}
