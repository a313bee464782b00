//! A publisher.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use r2r::{NativeMsg, QosProfile, WrappedTypesupport};
use r2r_rcl as rcl;

use super::Node;
use super::entity::{Entity, Raw};
use crate::ros::RosError;

impl Raw for rcl::rcl_publisher_t {
    const KIND: &'static str = "publisher";

    unsafe fn fini(&mut self, node: *mut rcl::rcl_node_t) -> rcl::rcl_ret_t {
        // SAFETY: promised by the caller.
        unsafe { rcl::rcl_publisher_fini(&raw mut *self, node) }
    }

    unsafe fn listen(&self, _: rcl::rcl_event_callback_t, _: *const c_void) -> rcl::rcl_ret_t {
        0
    }
}

/// A publisher of messages `T`. The endpoint exists until the last clone is dropped, or the node.
pub struct Publisher<T> {
    entity: Arc<Entity<rcl::rcl_publisher_t>>,
    message: PhantomData<fn(&T)>,
}

impl<T> Clone for Publisher<T> {
    fn clone(&self) -> Self {
        Self {
            entity: Arc::clone(&self.entity),
            message: PhantomData,
        }
    }
}

impl<T> std::fmt::Debug for Publisher<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Publisher")
    }
}

impl<T> Publisher<T> {
    /// Creates a publisher of a type.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    fn of_type(
        node: &Node,
        topic: &str,
        support: &'static rcl::rosidl_message_type_support_t,
        qos: QosProfile,
    ) -> Result<Self, RosError> {
        // SAFETY: it takes no arguments and returns a plain structure.
        let raw = unsafe { rcl::rcl_get_zero_initialized_publisher() };
        // SAFETY: rcl made the node; the type support is static; the text and the options outlive the call.
        let entity = Entity::new(node, topic, raw, |raw, node, topic| unsafe {
            let mut options = rcl::rcl_publisher_get_default_options();
            options.qos = qos.into();
            rcl::rcl_publisher_init(raw, node, support, topic, &raw const options)
        })?;
        Ok(Self {
            entity,
            message: PhantomData,
        })
    }

    /// The number of subscriptions that receive its messages.
    pub fn subscriptions(&self) -> usize {
        let mut count = 0;
        // SAFETY: rcl made the publisher; the number outlives the call.
        let code = self.entity.with(|raw, _| unsafe {
            rcl::rcl_publisher_get_subscription_count(&raw const *raw, &raw mut count)
        });
        if code == Some(0) { count } else { 0 }
    }
}

impl<T: WrappedTypesupport + 'static> Publisher<T> {
    /// Creates a publisher.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub(in crate::ros) fn new(node: &Node, topic: &str, qos: QosProfile) -> Result<Self, RosError> {
        Self::of_type(node, topic, T::get_ts(), qos)
    }

    /// Publishes a message.
    ///
    /// # Errors
    /// [`RosError::Send`], [`RosError::Down`] after the end of the node.
    pub fn publish(&self, message: &T) -> Result<(), RosError> {
        let native = NativeMsg::<T>::from(message);
        // SAFETY: rcl made the publisher, with this type; the message outlives the call.
        self.entity
            .send(|raw| unsafe { rcl::rcl_publish(&raw const *raw, native.msg.cast(), ptr::null_mut()) })
    }
}

/// A message in the form in which it travels: CDR, with the four bytes before it that tell so.
#[derive(Debug)]
pub(in crate::ros) struct Serialized;

impl Publisher<Serialized> {
    /// Creates a publisher of a type that is only known at run time.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub(in crate::ros) fn untyped(
        node: &Node,
        topic: &str,
        support: &'static rcl::rosidl_message_type_support_t,
        qos: QosProfile,
    ) -> Result<Self, RosError> {
        Self::of_type(node, topic, support, qos)
    }

    /// Publishes a message of the publisher's type. A subscriber may drop bytes of another type.
    ///
    /// # Errors
    /// [`RosError::Send`], [`RosError::Down`] after the end of the node.
    pub(in crate::ros) fn publish_serialized(&self, bytes: &[u8]) -> Result<(), RosError> {
        // SAFETY: rcl made the publisher; it only reads the message, which outlives the call and is not freed by it.
        self.entity.send(|raw| unsafe {
            let message = rcl::rcl_serialized_message_t {
                buffer: bytes.as_ptr().cast_mut(),
                buffer_length: bytes.len(),
                buffer_capacity: bytes.len(),
                allocator: rcl::rcutils_get_default_allocator(),
            };
            rcl::rcl_publish_serialized_message(&raw const *raw, &raw const message, ptr::null_mut())
        })
    }
}
