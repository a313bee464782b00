//! The versions of the tree file format.

/// The language of a tree file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Dialect {
    /// BehaviorTree.CPP 3.8.
    V3,
    /// BehaviorTree.CPP 4.10.
    #[default]
    V4,
}
