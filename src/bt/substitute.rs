//! Replaces behaviors of a tree, for mocks and test doubles.

use super::behavior::Behavior;
use super::definition::NodeInfo;
use super::port_decl::Ports;

/// Decides for each node, while a tree is compiled, whether another behavior replaces it. The node's own ports are
/// bound and checked first, so a tree is refused for the same reasons with and without substitutes.
pub trait Substitute: Send + Sync {
    /// The behavior that replaces a node; `None` keeps the node. `ports` are the attributes of the file, which may be
    /// bound under any type.
    fn behavior(&self, node: &NodeInfo, ports: &mut Ports<'_>) -> Option<Box<dyn Behavior>>;

    /// The behavior of a leaf whose ID is not registered; `None` leaves it unknown.
    fn adopt(&self, _leaf: &NodeInfo, _ports: &mut Ports<'_>) -> Option<Box<dyn Behavior>> {
        None
    }

    /// Whether it also replaces subtree instances. A replaced subtree is not instantiated.
    fn covers_subtrees(&self) -> bool {
        false
    }
}
