//! Resources of a tree: typed services that the caller provides.

use std::any::{Any, TypeId};
use std::sync::Arc;

use super::Time;

/// A service that nodes use through [`Context::resource`](super::Context::resource): action clients, topics,
/// transforms. The engine reports the start and the end of each tick. The resource takes a snapshot at the start and
/// sends the requests of the tick at the end, cancels before sends (guarantee G2).
pub trait Resource: Any + Send {
    /// Called before the root is ticked or halted: receive what arrived.
    fn begin_tick(&mut self, _now: Time) {}

    /// Called after the root was ticked or halted: send the requests of the tick.
    fn end_tick(&mut self, _now: Time) {}

    /// Called before a node that may block the thread is ticked or halted: send the cancels of this tick now. They must
    /// not wait for that node (guarantee G3).
    fn release_halts(&mut self) {}

    /// Called before the `halt` of a running node; a node halts its running children in it, so these calls are nested.
    fn begin_halt(&mut self) {}

    /// Called after the `halt` of a node, unless it panicked.
    fn end_halt(&mut self) {}

    /// Called before the first start outside of all resources, for example of a job, and only if the tick has such
    /// starts. The cancels of the tick must leave this thread now (guarantee G2).
    fn hand_over(&mut self) {}

    /// Logs a warning of the node at `path`.
    fn warn(&mut self, _path: &Arc<str>, _message: &str) {}

    /// For lookup by type.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

/// The resources of one tree, looked up by type.
#[derive(Default)]
pub struct Resources {
    // At most a few: a scan is faster than hashing.
    items: Vec<(TypeId, Box<dyn Resource>)>,
}

impl Resources {
    /// Adds a resource. Replaces one of the same type.
    pub fn insert<T: Resource>(&mut self, resource: T) {
        self.items.retain(|(id, _)| *id != TypeId::of::<T>());
        self.items.push((TypeId::of::<T>(), Box::new(resource)));
    }

    /// The resource of a type.
    #[inline]
    pub fn get<T: Resource>(&mut self) -> Option<&mut T> {
        let id = TypeId::of::<T>();
        self.items
            .iter_mut()
            .find(|(of, _)| *of == id)?
            .1
            .as_any_mut()
            .downcast_mut()
    }

    /// Receives what arrived, without a tick. For owners that hold the resources while no tree runs.
    pub fn begin(&mut self, now: Time) {
        self.begin_tick(now);
    }

    pub(crate) fn begin_tick(&mut self, now: Time) {
        for (_, resource) in &mut self.items {
            resource.begin_tick(now);
        }
    }

    pub(crate) fn end_tick(&mut self, now: Time) {
        for (_, resource) in &mut self.items {
            resource.end_tick(now);
        }
    }

    pub(crate) fn release_halts(&mut self) {
        for (_, resource) in &mut self.items {
            resource.release_halts();
        }
    }

    pub(crate) fn begin_halt(&mut self) {
        for (_, resource) in &mut self.items {
            resource.begin_halt();
        }
    }

    pub(crate) fn end_halt(&mut self) {
        for (_, resource) in &mut self.items {
            resource.end_halt();
        }
    }

    pub(crate) fn warn(&mut self, path: &Arc<str>, message: &str) {
        for (_, resource) in &mut self.items {
            resource.warn(path, message);
        }
    }

    pub(crate) fn hand_over(&mut self) {
        for (_, resource) in &mut self.items {
            resource.hand_over();
        }
    }
}
