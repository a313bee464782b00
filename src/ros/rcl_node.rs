//! A node with its own context, for threads and processes apart from the r2r node.
//!
//! r2r has one context per process, destroys no subscription before its node, and its list of topics reads beyond its
//! memory if a topic has two types (r2r 0.9.7, `Node::get_topic_names_and_types`).

use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::marker::PhantomData;

use r2r::{NativeMsg, WrappedTypesupport};
use r2r_rcl as rcl;

use super::RosError;

/// Structures made by rcl. The node and the context must not move.
pub(super) struct RclNode {
    node: Box<UnsafeCell<rcl::rcl_node_t>>,
    context: Box<UnsafeCell<rcl::rcl_context_t>>,
}

/// Converts the return code of an rcl call.
pub(super) fn check(call: &str, code: rcl::rcl_ret_t) -> Result<(), RosError> {
    if code == 0 {
        Ok(())
    } else {
        Err(RosError::Context(format!("{call} returned {code}")))
    }
}

pub(super) fn c_string(text: impl Into<Vec<u8>>) -> Result<CString, RosError> {
    CString::new(text).map_err(|_| RosError::Context("a name contains a zero byte".to_owned()))
}

impl RclNode {
    /// Creates a node with this name and with these arguments of the process.
    ///
    /// # Errors
    /// [`RosError::Context`].
    pub(super) fn new<A: Into<Vec<u8>>>(
        name: &str,
        namespace: &str,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Self, RosError> {
        let arguments = arguments
            .into_iter()
            .map(c_string)
            .collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).unwrap_or(0);
        let (name, namespace) = (c_string(name)?, c_string(namespace)?);
        // SAFETY: these take no arguments and return plain structures, which `drop` may finalize at any time.
        let made = unsafe {
            Self {
                node: Box::new(rcl::rcl_get_zero_initialized_node().into()),
                context: Box::new(rcl::rcl_get_zero_initialized_context().into()),
            }
        };
        // SAFETY: all structures were initialized for rcl; all strings outlive the calls; the context and the node do
        // not move while their entities exist.
        unsafe {
            let mut options = rcl::rcl_get_zero_initialized_init_options();
            let allocator = rcl::rcutils_get_default_allocator();
            check(
                "rcl_init_options_init",
                rcl::rcl_init_options_init(&raw mut options, allocator),
            )?;
            let code = rcl::rcl_init(count, pointers.as_ptr(), &raw const options, made.context.get());
            rcl::rcl_init_options_fini(&raw mut options);
            check("rcl_init", code)?;
            let options = rcl::rcl_node_get_default_options();
            let code = rcl::rcl_node_init(
                made.node.get(),
                name.as_ptr(),
                namespace.as_ptr(),
                made.context.get(),
                &raw const options,
            );
            check("rcl_node_init", code)?;
        }
        Ok(made)
    }

    /// The node, for calls of rcl on this thread while `self` exists.
    pub(super) fn as_ptr(&self) -> *mut rcl::rcl_node_t {
        self.node.get()
    }

    /// The full names of all topics on the graph, each with its types.
    ///
    /// # Errors
    /// [`RosError::Context`].
    pub(super) fn topics(&self) -> Result<Vec<(String, Vec<String>)>, RosError> {
        // SAFETY: rcl made the node; it fills the lists with `size` C strings each, one list of types for each name.
        unsafe {
            let mut allocator = rcl::rcutils_get_default_allocator();
            let mut found = rcl::rmw_get_zero_initialized_names_and_types();
            let code =
                rcl::rcl_get_topic_names_and_types(self.as_ptr(), &raw mut allocator, false, &raw mut found);
            check("rcl_get_topic_names_and_types", code)?;
            let names = strings(&found.names);
            let topics = (0..names.len())
                .map(|index| strings(&*found.types.add(index)))
                .zip(names)
                .map(|(types, name)| (name, types))
                .collect();
            rcl::rmw_names_and_types_fini(&raw mut found);
            Ok(topics)
        }
    }
}

/// # Safety
/// The array has `size` C strings.
unsafe fn strings(array: &rcl::rcutils_string_array_t) -> Vec<String> {
    (0..array.size)
        // SAFETY: promised by the caller.
        .map(|index| unsafe { CStr::from_ptr(*array.data.add(index)) })
        .map(|text| text.to_string_lossy().into_owned())
        .collect()
}

impl Drop for RclNode {
    fn drop(&mut self) {
        let (node, context) = (self.node.get(), self.context.get());
        // SAFETY: each was initialized for rcl, is finalized once, before the structure it depends on, and is not used
        // afterwards. rcl ignores structures that it has not initialized.
        unsafe {
            if rcl::rcl_node_is_valid_except_context(node) {
                rcl::rcl_node_fini(node);
            }
            if rcl::rcl_context_is_valid(context) {
                rcl::rcl_shutdown(context);
                rcl::rcl_context_fini(context);
            }
        }
    }
}

/// A subscription to the newest message of a latched topic.
pub(super) struct LatchedSubscription<'a, T> {
    subscription: rcl::rcl_subscription_t,
    node: &'a RclNode,
    message: PhantomData<fn() -> T>,
}

impl<'a, T: WrappedTypesupport + 'static> LatchedSubscription<'a, T> {
    /// Subscribes to a topic.
    ///
    /// # Errors
    /// [`RosError::Context`].
    pub(super) fn new(node: &'a RclNode, topic: &str) -> Result<Self, RosError> {
        let c_topic = c_string(topic)?;
        // SAFETY: rcl made the node; the type support is static; the text and the options outlive the call.
        unsafe {
            let mut subscription = rcl::rcl_get_zero_initialized_subscription();
            let mut options = rcl::rcl_subscription_get_default_options();
            options.qos = r2r::QosProfile::default().keep_last(1).transient_local().into();
            let code = rcl::rcl_subscription_init(
                &raw mut subscription,
                node.as_ptr(),
                T::get_ts(),
                c_topic.as_ptr(),
                &raw const options,
            );
            check("rcl_subscription_init", code)?;
            Ok(Self {
                subscription,
                node,
                message: PhantomData,
            })
        }
    }

    /// Takes the next message.
    pub(super) fn take(&mut self) -> Option<T> {
        let message = NativeMsg::<T>::new();
        let mut info = rcl::rmw_message_info_t::default();
        // SAFETY: rcl made the subscription, with this type; both structures outlive the call.
        let code = unsafe {
            rcl::rcl_take(
                &raw const self.subscription,
                message.msg.cast(),
                &raw mut info,
                std::ptr::null_mut(),
            )
        };
        (code == 0).then(|| T::from_native(&message))
    }
}

impl<T> Drop for LatchedSubscription<'_, T> {
    fn drop(&mut self) {
        // SAFETY: rcl made both; the node still exists, and the subscription is not used afterwards.
        unsafe { rcl::rcl_subscription_fini(&raw mut self.subscription, self.node.as_ptr()) };
    }
}
