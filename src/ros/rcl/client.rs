//! A client of a service.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::Arc;

use r2r::{NativeMsg, QosProfile, WrappedServiceTypeSupport, WrappedTypesupport};
use r2r_rcl as rcl;

use super::entity::{Entity, Raw};
use super::{Node, is_taken, reason};
use crate::ros::RosError;
use crate::ros::ready::Mark;

impl Raw for rcl::rcl_client_t {
    const KIND: &'static str = "client";

    unsafe fn fini(&mut self, node: *mut rcl::rcl_node_t) -> rcl::rcl_ret_t {
        // SAFETY: promised by the caller.
        unsafe { rcl::rcl_client_fini(&raw mut *self, node) }
    }

    unsafe fn listen(&self, callback: rcl::rcl_event_callback_t, data: *const c_void) -> rcl::rcl_ret_t {
        // SAFETY: promised by the caller.
        unsafe { rcl::rcl_client_set_on_new_response_callback(&raw const *self, callback, data) }
    }
}

/// A client of a service `S`. Clones share the endpoint.
pub(in crate::ros) struct Client<S> {
    entity: Arc<Entity<rcl::rcl_client_t>>,
    service: PhantomData<fn() -> S>,
}

impl<S> Clone for Client<S> {
    fn clone(&self) -> Self {
        Self {
            entity: Arc::clone(&self.entity),
            service: PhantomData,
        }
    }
}

impl<S: WrappedServiceTypeSupport + 'static> Client<S> {
    /// Creates a client.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub(in crate::ros) fn new(node: &Node, service: &str, qos: QosProfile) -> Result<Self, RosError> {
        // SAFETY: it takes no arguments and returns a plain structure.
        let raw = unsafe { rcl::rcl_get_zero_initialized_client() };
        // SAFETY: rcl made the node; the type support is static; the text and the options outlive the call.
        let entity = Entity::new(node, service, raw, |raw, node, service| unsafe {
            let mut options = rcl::rcl_client_get_default_options();
            options.qos = qos.into();
            rcl::rcl_client_init(raw, node, S::get_ts(), service, &raw const options)
        })?;
        Ok(Self {
            entity,
            service: PhantomData,
        })
    }

    /// Counts the responses in `mark`, also those that have arrived before and those to other clients.
    ///
    /// # Errors
    /// [`RosError::Context`].
    pub(in crate::ros) fn listen(&self, mark: Arc<Mark>) -> Result<(), RosError> {
        self.entity.listen(mark)
    }

    /// Whether the server is present, by the graph. `None` if the graph cannot be read.
    pub(in crate::ros) fn is_available(&self) -> Option<bool> {
        let mut is_available = false;
        // SAFETY: rcl made both; the answer outlives the call.
        let code = self.entity.with(|raw, node| unsafe {
            rcl::rcl_service_server_is_available(node, &raw const *raw, &raw mut is_available)
        });
        match code {
            Some(code) => reason("rcl", code).is_none().then_some(is_available),
            None => Some(false),
        }
    }

    /// Sends a request, and returns its number.
    ///
    /// # Errors
    /// [`RosError::Send`], [`RosError::Down`] after the end of the node.
    pub(in crate::ros) fn send(&self, request: &S::Request) -> Result<i64, RosError> {
        let native = NativeMsg::<S::Request>::from(request);
        let mut number = 0;
        // SAFETY: rcl made the client, with this type; the request and the number outlive the call.
        self.entity.send(|raw| unsafe {
            rcl::rcl_send_request(&raw const *raw, native.msg.cast(), &raw mut number)
        })?;
        Ok(number)
    }

    /// Takes the next response, with the number of its request. `None` also if it is one to another client; there may be
    /// more behind it.
    pub(in crate::ros) fn take(&self) -> Option<(i64, S::Response)> {
        let native = NativeMsg::<S::Response>::new();
        // SAFETY: rcl made the client, with this type; the header is plain numbers; both outlive the call.
        self.entity.with(|raw, _| unsafe {
            let mut header: rcl::rmw_request_id_t = std::mem::zeroed();
            let code = rcl::rcl_take_response(&raw const *raw, &raw mut header, native.msg.cast());
            is_taken(code).then(|| (header.sequence_number, S::Response::from_native(&native)))
        })?
    }
}
