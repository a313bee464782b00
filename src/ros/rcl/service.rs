//! The server of a service.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::{Arc, Weak};

use r2r::{NativeMsg, QosProfile, WrappedServiceTypeSupport, WrappedTypesupport};
use r2r_rcl as rcl;

use super::entity::{Entity, Raw};
use super::{Node, is_taken};
use crate::ros::RosError;
use crate::ros::ready::Mark;

impl Raw for rcl::rcl_service_t {
    const KIND: &'static str = "service";

    unsafe fn fini(&mut self, node: *mut rcl::rcl_node_t) -> rcl::rcl_ret_t {
        // SAFETY: promised by the caller.
        unsafe { rcl::rcl_service_fini(&raw mut *self, node) }
    }

    unsafe fn listen(&self, callback: rcl::rcl_event_callback_t, data: *const c_void) -> rcl::rcl_ret_t {
        // SAFETY: promised by the caller.
        unsafe { rcl::rcl_service_set_on_new_request_callback(&raw const *self, callback, data) }
    }
}

/// The server of a service `S`.
pub(in crate::ros) struct Service<S> {
    entity: Arc<Entity<rcl::rcl_service_t>>,
    service: PhantomData<fn() -> S>,
}

/// Answers one request, from any thread. It does not keep the service. No client gets a second answer.
pub struct Reply<S> {
    id: rcl::rmw_request_id_t,
    entity: Weak<Entity<rcl::rcl_service_t>>,
    service: PhantomData<fn() -> S>,
}

impl<S> Clone for Reply<S> {
    fn clone(&self) -> Self {
        Self {
            id: self.id,
            entity: Weak::clone(&self.entity),
            service: PhantomData,
        }
    }
}

impl<S> std::fmt::Debug for Reply<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reply({})", self.id.sequence_number)
    }
}

impl<S: WrappedServiceTypeSupport + 'static> Service<S> {
    /// Serves a service.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub(in crate::ros) fn new(node: &Node, name: &str, qos: QosProfile) -> Result<Self, RosError> {
        // SAFETY: it takes no arguments and returns a plain structure.
        let raw = unsafe { rcl::rcl_get_zero_initialized_service() };
        // SAFETY: rcl made the node; the type support is static; the text and the options outlive the call.
        let entity = Entity::new(node, name, raw, |raw, node, name| unsafe {
            let mut options = rcl::rcl_service_get_default_options();
            options.qos = qos.into();
            rcl::rcl_service_init(raw, node, S::get_ts(), name, &raw const options)
        })?;
        Ok(Self {
            entity,
            service: PhantomData,
        })
    }

    /// Counts the requests in `mark`, also those that have arrived before.
    ///
    /// # Errors
    /// [`RosError::Context`].
    pub(in crate::ros) fn listen(&self, mark: Arc<Mark>) -> Result<(), RosError> {
        self.entity.listen(mark)
    }

    /// Takes the next request, and what answers it.
    pub(in crate::ros) fn take(&self) -> Option<(S::Request, Reply<S>)> {
        let native = NativeMsg::<S::Request>::new();
        // SAFETY: rcl made the service, with this type; the header is plain numbers; both outlive the call.
        let id = self.entity.with(|raw, _| unsafe {
            let mut id: rcl::rmw_request_id_t = std::mem::zeroed();
            let code = rcl::rcl_take_request(&raw const *raw, &raw mut id, native.msg.cast());
            is_taken(code).then_some(id)
        })??;
        let reply = Reply {
            id,
            entity: Arc::downgrade(&self.entity),
            service: PhantomData,
        };
        Some((S::Request::from_native(&native), reply))
    }
}

impl<S: WrappedServiceTypeSupport + 'static> Reply<S> {
    /// Sends the response.
    ///
    /// # Errors
    /// [`RosError::Send`] if the middleware refuses it, [`RosError::Down`] if the service no longer exists.
    pub(in crate::ros) fn send(&self, response: &S::Response) -> Result<(), RosError> {
        let native = NativeMsg::<S::Response>::from(response);
        let mut id = self.id;
        let service = self.entity.upgrade().ok_or(RosError::Down)?;
        // SAFETY: rcl made the service, with this type; the id and the response outlive the call.
        service.send(|raw| unsafe { rcl::rcl_send_response(&raw const *raw, &raw mut id, native.msg.cast()) })
    }
}
