//! The number of changes of the graph, so that an unchanged graph is not read again.

use std::time::{Duration, Instant};

use r2r_rcl as rcl;

use super::check;
use crate::ros::RosError;

/// Counts the changes of the graph that one context notices. The middleware has one guard condition for all nodes of a
/// context, and a wait resets it: so there is one counter for each context.
pub(super) struct GraphChanges {
    wait_set: rcl::rcl_wait_set_t,
    count: u64,
    /// The time of the last question to the middleware.
    asked: Option<Instant>,
}

/// The time for which an answer of the middleware is recent.
const RECENT: Duration = Duration::from_millis(20);

// SAFETY: rcl and the middleware do not bind a wait set to a thread.
unsafe impl Send for GraphChanges {}

impl GraphChanges {
    /// Creates the counter of a context.
    ///
    /// # Errors
    /// [`RosError::Context`].
    ///
    /// # Safety
    /// The context is initialized, and is shut down after the counter is dropped.
    pub(super) unsafe fn new(context: *mut rcl::rcl_context_t) -> Result<Self, RosError> {
        // SAFETY: the structure is initialized for rcl; the context: promised by the caller.
        unsafe {
            let mut wait_set = rcl::rcl_get_zero_initialized_wait_set();
            let allocator = rcl::rcutils_get_default_allocator();
            let code = rcl::rcl_wait_set_init(&raw mut wait_set, 0, 1, 0, 0, 0, 0, context, allocator);
            check("rcl_wait_set_init", code)?;
            Ok(Self {
                wait_set,
                count: 0,
                asked: None,
            })
        }
    }

    /// The number of changes so far. What changed before the call is in the graph when the call returns. Several changes
    /// between two calls count as one.
    ///
    /// # Safety
    /// rcl made the node, in the counter's context.
    pub(super) unsafe fn count(&mut self, node: *const rcl::rcl_node_t) -> u64 {
        // SAFETY: promised by the caller. A wait that fails says nothing, so the graph is read.
        self.asked = Some(Instant::now());
        let has_changed = unsafe { self.has_changed(node) }.unwrap_or(true);
        self.count += u64::from(has_changed);
        self.count
    }

    /// The number of changes a moment ago: a question to the middleware takes ten times longer than this, and the threads
    /// of many robots ask.
    ///
    /// # Safety
    /// As [`GraphChanges::count`].
    pub(super) unsafe fn recent_count(&mut self, node: *const rcl::rcl_node_t) -> u64 {
        if self.asked.is_some_and(|asked| asked.elapsed() < RECENT) {
            return self.count;
        }
        // SAFETY: promised by the caller.
        unsafe { self.count(node) }
    }

    /// Whether the guard condition was triggered since the last call.
    ///
    /// # Safety
    /// As [`GraphChanges::count`].
    unsafe fn has_changed(&mut self, node: *const rcl::rcl_node_t) -> Result<bool, RosError> {
        let set = &raw mut self.wait_set;
        // SAFETY: rcl made the wait set; the node, which has the guard condition: promised by the caller.
        unsafe {
            check("rcl_wait_set_clear", rcl::rcl_wait_set_clear(set))?;
            let condition = rcl::rcl_node_get_graph_guard_condition(node);
            let code = rcl::rcl_wait_set_add_guard_condition(set, condition, std::ptr::null_mut());
            check("rcl_wait_set_add_guard_condition", code)?;
            // No wait: the time is zero.
            let code = rcl::rcl_wait(set, 0);
            if u32::try_from(code) == Ok(rcl::RCL_RET_TIMEOUT) {
                return Ok(false);
            }
            check("rcl_wait", code).map(|()| true)
        }
    }
}

impl Drop for GraphChanges {
    fn drop(&mut self) {
        // SAFETY: rcl made the wait set; it is destroyed once.
        let code = unsafe { rcl::rcl_wait_set_fini(&raw mut self.wait_set) };
        if let Err(error) = check("rcl_wait_set_fini", code) {
            tracing::debug!("{error}");
        }
    }
}
