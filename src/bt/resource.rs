//! What a tree may ask of the world: typed services that the caller puts in.

use std::any::{Any, TypeId};

use super::Time;

/// Something that nodes reach through [`Context::resource`](super::Context::resource): action clients, topics,
/// transforms. The engine tells it when ticks begin and end, so that it can take a snapshot first and let what the
/// tick asked for leave at the end, cancels before sends (guarantee G2).
pub trait Resource: Any + Send {
    /// Before the root is ticked or halted: take in what has arrived.
    fn begin_tick(&mut self, _now: Time) {}

    /// After the root was ticked or halted: let what was asked for leave.
    fn end_tick(&mut self, _now: Time) {}

    /// Before the first of the things that the tick starts outside of every resource, such as jobs, and only where there
    /// are any: what was let go has to leave this thread now (guarantee G2).
    fn hand_over(&mut self) {}

    /// For lookup by type.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

/// The resources of one tree, looked up by type.
#[derive(Default)]
pub struct Resources {
    // A handful at most: a scan beats hashing.
    items: Vec<(TypeId, Box<dyn Resource>)>,
}

impl Resources {
    /// Adds a resource; one of the same type is replaced.
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

    /// Takes in what has arrived, without a tick: for owners that hold the resources while no tree runs.
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

    pub(crate) fn hand_over(&mut self) {
        for (_, resource) in &mut self.items {
            resource.hand_over();
        }
    }
}
