//! A subscription.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use r2r::{NativeMsg, QosProfile, WrappedTypesupport};
use r2r_rcl as rcl;

use super::entity::{Entity, Raw};
use super::{Node, Serialized, is_taken};
use crate::ros::RosError;
use crate::ros::ready::Mark;

impl Raw for rcl::rcl_subscription_t {
    const KIND: &'static str = "subscription";

    unsafe fn fini(&mut self, node: *mut rcl::rcl_node_t) -> rcl::rcl_ret_t {
        // SAFETY: promised by the caller.
        unsafe { rcl::rcl_subscription_fini(&raw mut *self, node) }
    }

    unsafe fn listen(&self, callback: rcl::rcl_event_callback_t, data: *const c_void) -> rcl::rcl_ret_t {
        // SAFETY: promised by the caller.
        unsafe { rcl::rcl_subscription_set_on_new_message_callback(&raw const *self, callback, data) }
    }
}

/// A subscription to messages `T`.
pub(in crate::ros) struct Subscription<T> {
    entity: Arc<Entity<rcl::rcl_subscription_t>>,
    message: PhantomData<fn() -> T>,
}

impl<T> Subscription<T> {
    fn of_type(
        node: &Node,
        topic: &str,
        support: &'static rcl::rosidl_message_type_support_t,
        qos: QosProfile,
    ) -> Result<Self, RosError> {
        // SAFETY: it takes no arguments and returns a plain structure.
        let raw = unsafe { rcl::rcl_get_zero_initialized_subscription() };
        // SAFETY: rcl made the node; the type support is static; the text and the options outlive the call.
        let entity = Entity::new(node, topic, raw, |raw, node, topic| unsafe {
            let mut options = rcl::rcl_subscription_get_default_options();
            options.qos = qos.into();
            rcl::rcl_subscription_init(raw, node, support, topic, &raw const options)
        })?;
        Ok(Self {
            entity,
            message: PhantomData,
        })
    }

    /// Counts the messages in `mark`, also those that have arrived before.
    ///
    /// # Errors
    /// [`RosError::Context`].
    pub(in crate::ros) fn listen(&self, mark: Arc<Mark>) -> Result<(), RosError> {
        self.entity.listen(mark)
    }
}

impl<T: WrappedTypesupport + 'static> Subscription<T> {
    /// Subscribes to a topic.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub(in crate::ros) fn new(node: &Node, topic: &str, qos: QosProfile) -> Result<Self, RosError> {
        Self::of_type(node, topic, T::get_ts(), qos)
    }

    /// Takes the next message.
    pub(in crate::ros) fn take(&self) -> Option<T> {
        let native = NativeMsg::<T>::new();
        let mut info = rcl::rmw_message_info_t::default();
        // SAFETY: rcl made the subscription, with this type; both structures outlive the call.
        let code = self.entity.with(|raw, _| unsafe {
            rcl::rcl_take(&raw const *raw, native.msg.cast(), &raw mut info, ptr::null_mut())
        });
        code.is_some_and(is_taken).then(|| T::from_native(&native))
    }
}

impl Subscription<Serialized> {
    /// Subscribes to a topic whose type is only known at run time.
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

    /// Takes the next message.
    pub(in crate::ros) fn take_serialized(&self) -> Option<Vec<u8>> {
        let mut info = rcl::rmw_message_info_t::default();
        // SAFETY: rcl made the subscription. The message is empty, rcl fills it, and it is freed once, after its bytes
        // were copied.
        self.entity.with(|raw, _| unsafe {
            let mut message = rcl::rcutils_get_zero_initialized_uint8_array();
            let allocator = rcl::rcutils_get_default_allocator();
            if rcl::rcutils_uint8_array_init(&raw mut message, 0, &raw const allocator) != 0 {
                return None;
            }
            let code = rcl::rcl_take_serialized_message(
                &raw const *raw,
                &raw mut message,
                &raw mut info,
                ptr::null_mut(),
            );
            let bytes = (is_taken(code) && !message.buffer.is_null())
                .then(|| std::slice::from_raw_parts(message.buffer, message.buffer_length).to_vec());
            rcl::rcutils_uint8_array_fini(&raw mut message);
            bytes
        })?
    }
}
