//! The nodes of a definition.

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::definition::NodeDef;

/// The nodes of a definition.
///
/// The last owner of a definition may be a display, on a thread that receives cancels. The drop of nodes whose code is not
/// ours may block or panic, so they are dropped on a thread of their own.
pub(crate) struct NodeList(Box<[NodeDef]>);

impl FromIterator<NodeDef> for NodeList {
    fn from_iter<I: IntoIterator<Item = NodeDef>>(nodes: I) -> Self {
        Self(nodes.into_iter().collect())
    }
}

impl Deref for NodeList {
    type Target = [NodeDef];

    #[inline(always)]
    fn deref(&self) -> &[NodeDef] {
        &self.0
    }
}

impl Drop for NodeList {
    fn drop(&mut self) {
        if self.0.iter().any(|node| node.flags & NodeDef::ANNOUNCED != 0) {
            let nodes = std::mem::take(&mut self.0);
            let thread = std::thread::Builder::new().name("tree-drop".to_owned());
            // Without a thread, they are dropped here.
            let _ = thread.spawn(move || catch_unwind(AssertUnwindSafe(|| drop(nodes))));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    use crate::bt::builder::{forest, leaf, tree};
    use crate::bt::{Behavior, Context, NodeKind, NodeStatus, Registry, Tick, compile};

    /// A leaf that tells the thread of its drop.
    struct Device(Sender<Option<String>>);

    impl Behavior for Device {
        fn tick(&self, _: &mut Context<'_>) -> Tick {
            Ok(NodeStatus::Success)
        }
    }

    impl Drop for Device {
        fn drop(&mut self) {
            let _ = self.0.send(std::thread::current().name().map(str::to_owned));
        }
    }

    #[test]
    fn the_drop_of_a_tree_does_not_wait_for_code_of_its_leaves() {
        let (dropping, dropped) = channel();
        let mut registry = Registry::builtin();
        registry.watch_foreign_nodes();
        registry
            .register_with("Device", NodeKind::Action, (0, 0), "", move |_| {
                Box::new(Device(dropping.clone()))
            })
            .unwrap();
        let compiled = compile(&forest([tree("Main", leaf("Device"))]), "Main", &registry).unwrap();
        // Instances that were made to read the ports.
        dropped.try_iter().for_each(drop);
        drop(compiled);
        let thread = dropped.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(thread.as_deref(), Some("tree-drop"));
    }
}
