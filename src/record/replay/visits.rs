//! The results of the leaves in a replay. A leaf that returns the same status twice leaves no record.

use std::sync::{Arc, Mutex, PoisonError};

use crate::bt::{
    Behavior, Context, HaltReason, NodeEffects, NodeInfo, NodeKind, NodeStatus, Ports, Registry, Substitute,
    Tick, Value,
};

/// One tick of a leaf: its path and its status; `None` if it raised an error.
pub type Visit = (Arc<str>, Option<NodeStatus>);

/// The ticks of all leaves since the last look.
#[derive(Clone, Default, Debug)]
pub struct Visits(Arc<Mutex<Vec<Visit>>>);

impl Visits {
    /// Makes a registry whose leaves report here. They do the same as before.
    pub fn watch(registry: &mut Registry) -> Self {
        let visits = Self::default();
        let watcher = Watcher {
            registry: registry.clone(),
            visits: visits.clone(),
        };
        registry.set_substitute(Some(Arc::new(watcher)));
        visits
    }

    /// Takes what was reported since the last call.
    pub fn take(&self) -> Vec<Visit> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Watcher {
    registry: Registry,
    visits: Visits,
}

impl Substitute for Watcher {
    fn behavior(&self, node: &NodeInfo, ports: &mut Ports<'_>) -> Option<Box<dyn Behavior>> {
        if !matches!(node.kind, NodeKind::Action | NodeKind::Condition) {
            return None;
        }
        let node_type = self.registry.get(&node.id, ports.dialect())?;
        Some(Box::new(Watched {
            leaf: (node_type.make)(ports),
            path: Arc::clone(&node.path),
            visits: self.visits.clone(),
        }))
    }
}

/// A leaf that reports its results.
struct Watched {
    leaf: Box<dyn Behavior>,
    path: Arc<str>,
    visits: Visits,
}

impl Behavior for Watched {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let result = self.leaf.tick(cx);
        let visit = (Arc::clone(&self.path), result.as_ref().ok().copied());
        self.visits
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(visit);
        result
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        self.leaf.halt(cx, reason);
    }

    fn node_effects(&self, kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        self.leaf.node_effects(kind, children)
    }

    fn acts(&self) -> bool {
        self.leaf.acts()
    }

    fn sees_end(&self) -> bool {
        self.leaf.sees_end()
    }

    fn attach(&self, cx: &mut Context<'_>) {
        self.leaf.attach(cx);
    }

    fn rewind(&self, cx: &mut Context<'_>) {
        self.leaf.rewind(cx);
    }

    fn save(&self, cx: &mut Context<'_>) -> Option<Value> {
        self.leaf.save(cx)
    }

    fn load(&self, cx: &mut Context<'_>, state: &Value) {
        self.leaf.load(cx, state);
    }
}
