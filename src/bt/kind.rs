//! The kind of a node: leaf, control or decorator.

/// The kinds of node of BehaviorTree.CPP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum NodeKind {
    /// A leaf with effects.
    Action,
    /// A leaf that checks something and never returns RUNNING.
    Condition,
    /// A node with children that decides their order.
    Control,
    /// A node with one child, which it resets in the tick in which the child completed.
    Decorator,
    /// The root of a subtree instance.
    SubTree,
}

impl NodeKind {
    /// The element name of the explicit form: `Action`, `Condition`, `Control`, `Decorator`, `SubTree`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Action => "Action",
            Self::Condition => "Condition",
            Self::Control => "Control",
            Self::Decorator => "Decorator",
            Self::SubTree => "SubTree",
        }
    }

    /// The default minimum and maximum number of children.
    pub const fn arity(self) -> (usize, usize) {
        match self {
            Self::Action | Self::Condition => (0, 0),
            Self::Decorator | Self::SubTree => (1, 1),
            Self::Control => (1, usize::MAX),
        }
    }
}
