//! What a drawing says about nodes besides their declaration.

use std::collections::HashMap;

use crate::bt::NodeIndex;

/// The background of a marked node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shade {
    /// It ran.
    Green,
    /// It ran, but one of its results was never seen.
    Yellow,
    /// It never ran.
    Red,
}

impl Shade {
    /// The colour for SVG, Graphviz and Mermaid.
    pub(super) fn colour(self) -> &'static str {
        match self {
            Self::Green => "#d9f2d9",
            Self::Yellow => "#fff3c4",
            Self::Red => "#f7d4d4",
        }
    }
}

/// A note and a background.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    /// The note, on one line.
    pub note: String,
    /// The background. The note says the same, because not all people see colours.
    pub shade: Shade,
}

/// The marks of a tree's nodes. The default has none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Marks(HashMap<NodeIndex, Mark>);

impl Marks {
    /// The mark of a node.
    pub(super) fn get(&self, node: NodeIndex) -> Option<&Mark> {
        self.0.get(&node)
    }
}

impl FromIterator<(NodeIndex, Mark)> for Marks {
    fn from_iter<I: IntoIterator<Item = (NodeIndex, Mark)>>(marks: I) -> Self {
        Self(marks.into_iter().collect())
    }
}
