//! A node.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use r2r_rcl as rcl;

use super::{Context, c_string, reason};
use crate::ros::RosError;

/// How long the end of a node waits for entities that another thread closes.
const MAX_CLOSING_TIME: Duration = Duration::from_secs(2);

/// A node. Its drop closes the entities that are left, and destroys the node.
pub(in crate::ros) struct Node(Arc<NodeHandle>);

/// The node for its entities. After the drop of [`Node`], no entity is open, so none uses it.
pub(super) struct NodeHandle {
    /// It must not move, because rcl's entities point to it.
    raw: Box<UnsafeCell<rcl::rcl_node_t>>,
    entities: Mutex<Vec<Weak<dyn Close>>>,
    /// The number of rcl's entities that exist: one may be closing on another thread when the node ends.
    open: Mutex<usize>,
    is_closed: Condvar,
    /// `None` after the node was destroyed: a handle that is left does not keep the context.
    context: Mutex<Option<Arc<Context>>>,
}

/// An entity of a node.
pub(super) trait Close: Send + Sync {
    /// Destroys rcl's entity. Does nothing if that was done before.
    fn close(&self);
}

// SAFETY: rcl changes the structure only in `rcl_node_init` and `rcl_node_fini`, and its table of types when an entity
// is created or destroyed, which happens under the lock of `Entity`. It may be read on any thread.
unsafe impl Send for NodeHandle {}
// SAFETY: see above.
unsafe impl Sync for NodeHandle {}

impl Node {
    /// Creates a node. The remapping rules of the context's arguments apply to its name, its namespace and its entities.
    ///
    /// # Errors
    /// [`RosError::Node`].
    pub(in crate::ros) fn new(context: &Arc<Context>, name: &str, namespace: &str) -> Result<Self, RosError> {
        Self::with_arguments(context, name, namespace, &[])
    }

    /// Like [`Node::new`], but no rule of the context's arguments changes the namespace.
    ///
    /// # Errors
    /// [`RosError::Node`].
    pub(in crate::ros) fn new_in(
        context: &Arc<Context>,
        name: &str,
        namespace: &str,
    ) -> Result<Self, RosError> {
        let rule = format!("__ns:={namespace}");
        Self::with_arguments(context, name, namespace, &["--ros-args", "-r", &rule])
    }

    /// Creates a node with arguments of its own, which come before those of the context.
    fn with_arguments(
        context: &Arc<Context>,
        name: &str,
        namespace: &str,
        arguments: &[&str],
    ) -> Result<Self, RosError> {
        let refused = |reason: String| RosError::Node {
            name: name.replace('\0', "␀"),
            reason,
        };
        let zero_byte = |_| refused("the name contains a zero byte".to_owned());
        let c_name = c_string(name).map_err(zero_byte)?;
        let c_namespace = c_string(namespace).map_err(zero_byte)?;
        let arguments = arguments
            .iter()
            .map(|argument| c_string(*argument).map_err(zero_byte))
            .collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).unwrap_or(0);
        // SAFETY: it takes no arguments and returns a plain structure.
        let raw = unsafe { rcl::rcl_get_zero_initialized_node() };
        let handle = NodeHandle {
            raw: Box::new(raw.into()),
            entities: Mutex::default(),
            open: Mutex::default(),
            is_closed: Condvar::new(),
            context: Mutex::new(Some(Arc::clone(context))),
        };
        // SAFETY: the structures were initialized for rcl, the texts outlive the calls, and the context outlives the node.
        // The node has a copy of the options.
        let failure = unsafe {
            let mut options = rcl::rcl_node_get_default_options();
            let mut code = 0;
            let mut what = "rcl_parse_arguments";
            if count > 0 {
                let allocator = rcl::rcutils_get_default_allocator();
                code =
                    rcl::rcl_parse_arguments(count, pointers.as_ptr(), allocator, &raw mut options.arguments);
            }
            if code == 0 {
                what = "rcl_node_init";
                code = rcl::rcl_node_init(
                    handle.as_ptr(),
                    c_name.as_ptr(),
                    c_namespace.as_ptr(),
                    context.as_ptr(),
                    &raw const options,
                );
            }
            let failure = reason(what, code);
            rcl::rcl_node_options_fini(&raw mut options);
            failure
        };
        match failure {
            None => Ok(Self(Arc::new(handle))),
            Some(reason) => Err(refused(reason)),
        }
    }

    pub(super) fn handle(&self) -> &Arc<NodeHandle> {
        &self.0
    }

    /// The node, for calls of rcl while `self` exists.
    pub(super) fn as_ptr(&self) -> *mut rcl::rcl_node_t {
        self.0.as_ptr()
    }

    /// The node's name, after remapping.
    pub(in crate::ros) fn name(&self) -> String {
        // SAFETY: rcl made the node.
        unsafe { text(rcl::rcl_node_get_name(self.as_ptr())) }
    }

    /// The node's namespace, after remapping.
    pub(in crate::ros) fn namespace(&self) -> String {
        // SAFETY: rcl made the node.
        unsafe { text(rcl::rcl_node_get_namespace(self.as_ptr())) }
    }
}

impl NodeHandle {
    pub(super) fn as_ptr(&self) -> *mut rcl::rcl_node_t {
        self.raw.get()
    }

    /// The node's context, while the node exists.
    pub(super) fn context(&self) -> Option<Arc<Context>> {
        self.context
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Closes this entity before the node, if it still exists then.
    pub(super) fn keep(&self, entity: Weak<dyn Close>) {
        let mut entities = self.entities();
        // The vector grows to twice the number of entities at most.
        if entities.len() == entities.capacity() {
            entities.retain(|entity| entity.strong_count() > 0);
        }
        entities.push(entity);
    }

    /// Counts an entity of rcl.
    pub(super) fn opened(&self) {
        *self.open() += 1;
    }

    /// An entity of rcl was destroyed.
    pub(super) fn closed(&self) {
        *self.open() -= 1;
        self.is_closed.notify_all();
    }

    /// Waits until no entity is open. False if one is still closing after [`MAX_CLOSING_TIME`].
    fn wait_until_all_are_closed(&self) -> bool {
        let open = self.open();
        let (open, _) = self
            .is_closed
            .wait_timeout_while(open, MAX_CLOSING_TIME, |open| *open > 0)
            .unwrap_or_else(PoisonError::into_inner);
        *open == 0
    }

    fn open(&self) -> MutexGuard<'_, usize> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entities(&self) -> MutexGuard<'_, Vec<Weak<dyn Close>>> {
        self.entities.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let entities = std::mem::take(&mut *self.0.entities());
        for entity in entities.iter().filter_map(Weak::upgrade) {
            entity.close();
        }
        let context = self
            .0
            .context
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if !self.0.wait_until_all_are_closed() {
            tracing::error!("the node is not destroyed: the middleware does not close one of its entities");
            let _leaked = ManuallyDrop::new((context, Arc::clone(&self.0)));
            return;
        }
        // Without the lock of the descriptions: the node's own table is used by no other thread any more, and the end of
        // the last node of a context waits for the threads of the middleware.
        // SAFETY: rcl made the node; all entities are closed, and no other can be created without `self`.
        let code = unsafe { rcl::rcl_node_fini(self.as_ptr()) };
        if let Some(reason) = reason("rcl_node_fini", code) {
            tracing::debug!("{reason}");
        }
        drop(context);
    }
}

/// # Safety
/// Null, or a C string.
pub(super) unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: promised by the caller.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
