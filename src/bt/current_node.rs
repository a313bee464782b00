//! The node that currently runs, readable by other threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::definition::{NodeIndex, TreeDef};

/// The node that currently runs, if it publishes itself: a foreign node of a tree compiled with
/// [`Registry::watch_foreign_nodes`](super::Registry::watch_foreign_nodes). The watchdog thread reads it to find the
/// leaf that blocks the tick thread. Clones show the same run.
#[derive(Clone, Debug)]
pub struct CurrentNode(Arc<Place>);

#[derive(Debug)]
struct Place {
    def: Arc<TreeDef>,
    /// The node's index plus one; 0 means none. Written only by the tick thread. No other memory depends on it, so it
    /// needs no ordering.
    node: AtomicU32,
}

impl CurrentNode {
    pub(crate) fn new(def: Arc<TreeDef>) -> Self {
        Self(Arc::new(Place {
            def,
            node: AtomicU32::new(0),
        }))
    }

    /// The node that is being ticked or halted, if it publishes itself.
    pub fn node(&self) -> Option<NodeIndex> {
        self.0.node.load(Ordering::Relaxed).checked_sub(1).map(NodeIndex)
    }

    /// Its full path.
    pub fn path(&self) -> Option<Arc<str>> {
        self.node().map(|node| Arc::clone(&self.0.def.node(node).path))
    }

    /// Enters a node and returns the previous value for [`CurrentNode::leave`].
    pub(crate) fn enter(&self, node: u32) -> u32 {
        let before = self.0.node.load(Ordering::Relaxed);
        self.0.node.store(node + 1, Ordering::Relaxed);
        before
    }

    pub(crate) fn leave(&self, before: u32) {
        self.0.node.store(before, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::bt::builder::{forest, leaf, sequence, tree};
    use crate::bt::{HaltReason, NodeStatus, Registry, Time, Tree, compile};

    #[test]
    fn only_foreign_nodes_publish_themselves() {
        let shown: Arc<Mutex<Option<CurrentNode>>> = Arc::default();
        let (at, seen) = (Arc::clone(&shown), Arc::new(Mutex::new(Vec::new())));
        let told = Arc::clone(&seen);
        let mut registry = Registry::builtin();
        registry.watch_foreign_nodes();
        registry
            .action("Look", move |_| {
                let path = at.lock().unwrap().as_ref().and_then(CurrentNode::path);
                told.lock().unwrap().push(path.map(|path| path.to_string()));
                Ok(NodeStatus::Success)
            })
            .unwrap();
        registry.condition("Panics", |_| panic!("oh")).unwrap();
        let root = sequence([leaf("Look").name("first"), leaf("AlwaysSuccess"), leaf("Panics")]);
        let compiled = compile(&forest([tree("Main", root)]), "Main", &registry).unwrap();
        let mut run = Tree::new(compiled.def);
        run.tick(Time::ZERO).unwrap_err();
        let mut run = Tree::new(Arc::clone(run.definition()));
        let current_node = run.current_node();
        *shown.lock().unwrap() = Some(current_node.clone());
        assert!(run.tick(Time::ZERO).unwrap_err().panicked);
        assert_eq!(*seen.lock().unwrap(), [None, Some("first".to_owned())]);
        assert_eq!(current_node.node(), None, "a panic leaves the node as well");
        run.halt(HaltReason::TreeFailed, Time::ZERO);
    }
}
