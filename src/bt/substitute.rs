//! Putting other behaviours in the place of a tree's own: mocks, test doubles.

use super::behavior::Behavior;
use super::definition::NodeInfo;
use super::port::Ports;

/// Decides, for each node while a tree is compiled, whether something else runs in its place. The node's own ports
/// were bound and checked before, so a tree with substitutes is refused for the same reasons as without.
pub trait Substitute: Send + Sync {
    /// What runs in the place of a node; `None` leaves it as it is. `ports` are the attributes of the file, each to be
    /// bound under any type.
    fn behavior(&self, node: &NodeInfo, ports: &mut Ports<'_>) -> Option<Box<dyn Behavior>>;

    /// What runs in the place of a leaf whose ID is not registered; `None` leaves it unknown.
    fn adopt(&self, _leaf: &NodeInfo, _ports: &mut Ports<'_>) -> Option<Box<dyn Behavior>> {
        None
    }

    /// Whether it is asked about subtree instances too. One that is replaced is not instantiated.
    fn covers_subtrees(&self) -> bool {
        false
    }
}
