//! What publishers, subscriptions, clients and services have in common.

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

use r2r_rcl as rcl;

use super::node::{Close, NodeHandle};
use super::{Node, c_string, reason};
use crate::ros::RosError;
use crate::ros::ready::Mark;
use crate::ros::rosidl::describing;

/// One of rcl's structures.
pub(super) trait Raw: Sized + 'static {
    /// What it is, for errors.
    const KIND: &'static str;

    /// Destroys it.
    ///
    /// # Safety
    /// rcl made it, for this node, and it is not used afterwards.
    unsafe fn fini(&mut self, node: *mut rcl::rcl_node_t) -> rcl::rcl_ret_t;

    /// Sets the callback for new messages.
    ///
    /// # Safety
    /// rcl made it, and `data` is what the callback expects until another one is set.
    unsafe fn listen(&self, callback: rcl::rcl_event_callback_t, data: *const c_void) -> rcl::rcl_ret_t;
}

/// An entity of a node.
pub(super) struct Entity<R: Raw> {
    /// `None` after it was closed. Calls share the lock, because rcl and the middleware allow them at the same time;
    /// only the end must be alone.
    raw: RwLock<Option<R>>,
    node: Arc<NodeHandle>,
    /// The data of the callback. It is here, so it is dropped after the callback was replaced.
    mark: OnceLock<Arc<Mark>>,
}

// SAFETY: rcl's structures are pointers to memory of rcl, which is not tied to a thread. The calls that this module makes
// at the same time (publish, take, send, count) are those that rclcpp's executors make from several threads.
unsafe impl<R: Raw> Send for Entity<R> {}
// SAFETY: see above.
unsafe impl<R: Raw> Sync for Entity<R> {}

impl<R: Raw> Entity<R> {
    /// Creates an entity. `init` calls rcl, with the structure, the node and the name.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub(super) fn new(
        node: &Node,
        name: &str,
        mut raw: R,
        init: impl FnOnce(*mut R, *mut rcl::rcl_node_t, *const c_char) -> rcl::rcl_ret_t,
    ) -> Result<Arc<Self>, RosError> {
        let refused = |reason: String| RosError::Entity {
            what: R::KIND,
            name: name.replace('\0', "␀"),
            reason,
        };
        let c_name = c_string(name).map_err(|error| refused(error.to_string()))?;
        let code = {
            // rcl enters the type into the node's table of types, which has no lock, and reads its description.
            let _one_at_a_time = describing();
            init(&raw mut raw, node.as_ptr(), c_name.as_ptr())
        };
        if let Some(reason) = reason("rcl", code) {
            return Err(refused(reason));
        }
        let entity = Arc::new(Self {
            raw: RwLock::new(Some(raw)),
            node: Arc::clone(node.handle()),
            mark: OnceLock::new(),
        });
        node.handle().opened();
        let weak: Weak<Self> = Arc::downgrade(&entity);
        node.handle().keep(weak);
        Ok(entity)
    }

    /// Calls rcl with the entity and its node. `None` if it is closed.
    pub(super) fn with<T>(&self, act: impl FnOnce(&R, *mut rcl::rcl_node_t) -> T) -> Option<T> {
        let raw = self.raw.read().unwrap_or_else(PoisonError::into_inner);
        raw.as_ref().map(|raw| act(raw, self.node.as_ptr()))
    }

    /// Calls rcl to send something.
    ///
    /// # Errors
    /// [`RosError::Down`] if the entity is closed, [`RosError::Send`].
    pub(super) fn send(&self, act: impl FnOnce(&R) -> rcl::rcl_ret_t) -> Result<(), RosError> {
        let code = self.with(|raw, _| act(raw)).ok_or(RosError::Down)?;
        reason("rcl", code).map_or(Ok(()), |reason| Err(RosError::Send(reason)))
    }

    /// Counts messages in `mark` from now on, and at once those that have arrived before. Only the first call counts.
    ///
    /// # Errors
    /// [`RosError::Context`] if the middleware has no such events.
    pub(super) fn listen(&self, mark: Arc<Mark>) -> Result<(), RosError> {
        let data = ptr::from_ref(&**self.mark.get_or_init(|| mark)).cast();
        // SAFETY: rcl made the entity. The mark exists as long as `self`, which replaces the callback before.
        let code = self.with(|raw, _| unsafe { raw.listen(Some(on_events), data) });
        super::check("rcl's callback for new messages", code.unwrap_or(0))
    }
}

/// Called by the middleware on one of its threads.
///
/// # Safety
/// `mark` is the mark of an entity that has not replaced its callback.
unsafe extern "C" fn on_events(mark: *const c_void, events: usize) {
    // SAFETY: promised by the caller.
    unsafe { &*mark.cast::<Mark>() }.add(events);
}

/// The callback of an entity that is closed. It is not null: the middleware calls the callback of a service without a
/// check, also if it was taken away meanwhile (rmw_fastrtps 8.4, `ServiceListener::on_data_available`).
unsafe extern "C" fn ignore(_: *const c_void, _: usize) {}

impl<R: Raw> Close for Entity<R> {
    fn close(&self) {
        let raw = self.raw.write().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut raw) = raw else { return };
        // SAFETY: rcl made the entity, which nothing else uses any more. The middleware replaces the callback under the
        // lock under which it calls it, so none is left afterwards that uses the mark.
        let code = unsafe {
            raw.listen(Some(ignore), ptr::null());
            let _one_at_a_time = describing();
            raw.fini(self.node.as_ptr())
        };
        self.node.closed();
        if let Some(reason) = reason("rcl", code) {
            tracing::debug!("{} not destroyed: {reason}", R::KIND);
        }
    }
}

impl<R: Raw> Drop for Entity<R> {
    fn drop(&mut self) {
        self.close();
    }
}
