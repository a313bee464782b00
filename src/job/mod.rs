//! Leaves made of an `async fn`.
//!
//! A [`Job`] is one run of a future on an external executor. The tick never polls the future; it only checks for the
//! result (guarantee G1). A halt of the leaf, or dropping the job, cancels its [`CancellationToken`]. After that, the
//! result of the future is ignored and cannot reach the tree (guarantee G4).
//!
//! A halt returns at once; the future may clean up until it ends. Until then, for at most
//! [`JobRegistry::cancel_timeout`], its leaf stays RUNNING before it starts the next job (guarantee G5). The navigator
//! waits for the job before it sends the result of the navigation, for at most `stop_timeout`, and names the leaves
//! whose jobs have not ended. At its end, the process waits for all jobs for at most two seconds (guarantee G8). This
//! holds for leaves of trees with a [`JobRegistry`], such as the navigator's trees. The starter of any other [`Job`]
//! must wait for it itself.
//!
//! [`AsyncNode`] is a node type with such a future. Inputs are read before it starts, by value, and outputs are written
//! after its end, so the future and the tick share no data. [`register`] and [`register_function`] add it to a registry
//! with an executor. An executor is any type that can [`Spawn`]: a handle of a tokio runtime (feature `ros`),
//! [`Threads`], a [`Local`] queue in tests, or a closure.
//!
//! ```
//! use navtree::bt::{NodeStatus, Registry, Time, Tree, builder, compile};
//! use navtree::job::{self, Local};
//!
//! let executor = Local::new();
//! let mut registry = Registry::builtin();
//! job::register_function(&mut registry, "Fetch", executor.clone(), |_cancel| async {
//!     NodeStatus::Success
//! })?;
//!
//! let forest = builder::forest([builder::tree("Main", builder::leaf("Fetch"))]);
//! let mut tree = Tree::new(compile(&forest, "Main", &registry).unwrap().def);
//! assert_eq!(tree.tick(Time::ZERO)?, NodeStatus::Running);
//! executor.run_until_stalled();
//! assert_eq!(tree.tick(Time::ZERO)?, NodeStatus::Success);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod cancel;
mod handle;
mod job_registry;
mod leaf;
mod local;
mod spawn;
mod stall_detector;

pub use cancel::{CancellationToken, Cancelled};
pub use handle::{Job, Progress};
pub use job_registry::{EndListener, HaltedJobs, JobRegistry};
pub use leaf::{AsyncLeaf, AsyncNode, register, register_function};
pub use local::Local;
pub use spawn::{BoxFuture, Spawn, Threads};
pub(crate) use stall_detector::{StallDetector, StallNotice};
