//! The trees of the navigators: makes and replaces them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::{NavigationState, Navigator, log_notes};
use crate::bt::{Time, Tree, TreeDef, instance_seed};
use crate::nav::{Fault, Opened, World};
use crate::navigator::NavigatorKind;
use crate::record::Tracer;

impl Navigator {
    /// Makes the tree for future goals, which opens its clients and topics. Goals of an earlier run on those servers
    /// are then found before the first goal (guarantee G3).
    pub fn prepare(&mut self, kind: NavigatorKind, def: &Arc<TreeDef>, now: Time) {
        if self.trees[kind.index()].is_some() {
            return;
        }
        match self.make_tree(kind, def, now) {
            Ok(made) => self.keep(kind, made),
            // Each goal that uses this tree reports the error again.
            Err(reason) => tracing::error!("{reason}"),
        }
    }

    pub(super) fn keep(&mut self, kind: NavigatorKind, (tree, opened): (Tree, Opened)) {
        drop_tree(self.trees[kind.index()].replace(tree));
        self.opened[kind.index()] = opened;
        self.close_unused();
    }

    /// Drops a tree that was made and does not run.
    pub(super) fn drop_new(&mut self, new_tree: Option<(Tree, Opened)>) {
        drop_tree(new_tree.map(|(tree, _)| tree));
        self.close_unused();
    }

    /// Closes what no tree has open any more. It stays open while goals of an earlier tree are stopping there.
    fn close_unused(&mut self) {
        let mut in_use = self.own.clone();
        for opened in &self.opened {
            in_use.add(opened);
        }
        if let Some(world) = self.world() {
            world.close_unused(in_use);
        }
    }

    /// Makes a tree, opens its clients and topics, and returns it with what it has opened.
    ///
    /// # Errors
    /// A node panicked, or reported a fault that its dry run did not have: the node may have opened a topic with another
    /// type since then. The tree is dropped (guarantee G7).
    pub(super) fn make_tree(
        &mut self,
        kind: NavigatorKind,
        def: &Arc<TreeDef>,
        now: Time,
    ) -> Result<(Tree, Opened), String> {
        let mut tree = Tree::new(Arc::clone(def));
        tree.set_seed(instance_seed(self.options.random_seed, self.made));
        self.made = self.made.wrapping_add(1);
        let log = self.log.observer();
        tree.set_observer(Some(match &self.recorder {
            Some(recorder) => Box::new((log, Tracer::new(recorder.stream().clone(), def))),
            None => Box::new(log),
        }));
        tree.track_provenance([self.options.seeded_key(kind)]);
        if let Some(heartbeat) = &self.heartbeat {
            heartbeat.follow(tree.current_node());
        }
        // The running tree does not need the world between two ticks.
        let lender = match &self.state {
            NavigationState::Running(session) => self.trees[session.kind().index()].as_mut(),
            NavigationState::Idle | NavigationState::Stopping { .. } => None,
        };
        let resources = match lender {
            Some(lender) => lender.take_resources(),
            None => std::mem::take(&mut self.resources),
        };
        tree.put_resources(resources);
        if let Some(order) = tree.resource::<World>().map(|world| world.settings.halt_order) {
            tree.set_halt_order(order);
        }
        let attached = tree.attach(now).map_err(|error| error.to_string());
        let world = tree.resource::<World>();
        let (notes, faults) = world
            .map(|world| (world.take_notes(), world.take_faults()))
            .unwrap_or_default();
        log_notes(notes);
        let attached = attached.and_then(|()| Fault::none_of(&faults));
        let opened = tree
            .resource::<World>()
            .map(World::take_opened)
            .unwrap_or_default();
        let resources = tree.take_resources();
        match &self.state {
            NavigationState::Running(session) => {
                if let Some(lender) = self.trees[session.kind().index()].as_mut() {
                    lender.put_resources(resources);
                    if let Some(heartbeat) = &self.heartbeat {
                        heartbeat.follow(lender.current_node());
                    }
                }
            }
            NavigationState::Idle | NavigationState::Stopping { .. } => self.resources = resources,
        }
        match attached {
            Ok(()) => Ok((tree, opened)),
            Err(reason) => {
                drop_tree(Some(tree));
                self.close_unused();
                Err(reason)
            }
        }
    }
}

/// Drops a tree. A panic in the drop of a node does not end the tick thread.
pub(super) fn drop_tree(tree: Option<Tree>) {
    if catch_unwind(AssertUnwindSafe(|| drop(tree))).is_err() {
        tracing::error!("a tree node panicked while its tree was dropped");
    }
}
