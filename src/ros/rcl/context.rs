//! The context of nodes: the arguments of rcl, and the participant of the middleware.

use std::cell::UnsafeCell;
use std::ffi::{OsString, c_char, c_int};
use std::os::unix::ffi::OsStringExt;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};

use r2r_rcl as rcl;

use super::graph_changes::GraphChanges;
use super::graph_turn::GraphTurns;
use super::{c_string, check};
use crate::ros::RosError;

/// A context. It is shut down when the last node in it has ended.
pub(in crate::ros) struct Context {
    /// Dropped before the context is shut down.
    graph_changes: Mutex<Option<GraphChanges>>,
    pub(super) graph_turns: GraphTurns,
    /// It must not move, because rcl's nodes point to it.
    raw: Box<UnsafeCell<rcl::rcl_context_t>>,
}

// SAFETY: after its creation, and until its drop, rcl only reads the structure; what changes behind it, such as the
// middleware's participant, rcl and the middleware guard themselves.
unsafe impl Send for Context {}
// SAFETY: see above.
unsafe impl Sync for Context {}

impl Context {
    /// Creates a context with these arguments of a process.
    ///
    /// # Errors
    /// [`RosError::Context`].
    pub(in crate::ros) fn new(arguments: impl IntoIterator<Item = OsString>) -> Result<Arc<Self>, RosError> {
        let arguments = arguments
            .into_iter()
            .map(|argument| c_string(argument.into_vec()))
            .collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();
        let count = c_int::try_from(pointers.len())
            .map_err(|_| RosError::Context("there are too many arguments".to_owned()))?;
        // SAFETY: it takes no arguments and returns a plain structure, which `drop` may finalize at any time.
        let context = Self {
            graph_changes: Mutex::default(),
            graph_turns: GraphTurns::default(),
            raw: Box::new(unsafe { rcl::rcl_get_zero_initialized_context() }.into()),
        };
        // SAFETY: all structures were initialized for rcl, and all texts outlive the calls.
        unsafe {
            let mut options = rcl::rcl_get_zero_initialized_init_options();
            let allocator = rcl::rcutils_get_default_allocator();
            check(
                "rcl_init_options_init",
                rcl::rcl_init_options_init(&raw mut options, allocator),
            )?;
            let code = rcl::rcl_init(count, pointers.as_ptr(), &raw const options, context.as_ptr());
            let result = check("rcl_init", code);
            rcl::rcl_init_options_fini(&raw mut options);
            result?;
            *context.graph_changes() = Some(GraphChanges::new(context.as_ptr())?);
        }
        Ok(Arc::new(context))
    }

    /// The context of the process, with the process's arguments, and whether it was created by this call. All nodes that
    /// exist at the same time share it, and with it the threads of the middleware. The first one configures rcl's log.
    ///
    /// # Errors
    /// [`RosError::Context`].
    pub(in crate::ros) fn of_process() -> Result<(Arc<Self>, bool), RosError> {
        static SHARED: Mutex<Weak<Context>> = Mutex::new(Weak::new());
        static LOG: Once = Once::new();
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(context) = shared.upgrade() {
            return Ok((context, false));
        }
        let context = Self::new(without_log_file(std::env::args_os()))?;
        // SAFETY: rcl has read the arguments, and it copies what it keeps of them.
        LOG.call_once(|| unsafe {
            let allocator = rcl::rcutils_get_default_allocator();
            let code = rcl::rcl_logging_configure(
                &raw const (*context.as_ptr()).global_arguments,
                &raw const allocator,
            );
            if let Err(error) = check("rcl_logging_configure", code) {
                tracing::warn!("rcl's own log lines are not written to a file: {error}");
            }
        });
        *shared = Arc::downgrade(&context);
        Ok((context, true))
    }

    /// Counts the changes of the graph; `None` only while the context is created and dropped.
    pub(super) fn graph_changes(&self) -> MutexGuard<'_, Option<GraphChanges>> {
        self.graph_changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn as_ptr(&self) -> *mut rcl::rcl_context_t {
        self.raw.get()
    }
}

/// Switches rcl's own log file off, unless the arguments switch it on. The file has no line of this node, and its writer
/// is a thread that wakes every five seconds.
fn without_log_file(arguments: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    let mut arguments = arguments;
    let program = arguments.next().unwrap_or_default();
    // Of two arguments about this, the last one counts.
    let default = ["--ros-args", "--disable-external-lib-logs", "--"].map(OsString::from);
    std::iter::once(program).chain(default).chain(arguments)
}

impl Drop for Context {
    fn drop(&mut self) {
        self.graph_changes().take();
        // SAFETY: it was initialized for rcl, is finalized once, after its nodes, and is not used afterwards. rcl has
        // not initialized it if `rcl_init` failed; it is then left alone.
        unsafe {
            if rcl::rcl_context_is_valid(self.as_ptr()) {
                rcl::rcl_shutdown(self.as_ptr());
                rcl::rcl_context_fini(self.as_ptr());
            }
        }
    }
}
