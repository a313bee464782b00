//! Leaves made of an `async fn`.
//!
//! A [`Job`] is the run of one future on somebody else's executor. The tick never polls the future: it looks whether the
//! result is there (guarantee G1). A halt of its leaf, or dropping the job, cancels its [`CancellationToken`], and from then
//! on nothing that the future does can reach the tree (guarantee G4): its result is not looked at.
//!
//! A halt returns at once; the future may clean up until it ends. Until then, or for [`JobRegistry::cancel_timeout`], its leaf
//! stays RUNNING before it starts the next job (guarantee G5). The navigator waits for it before a client is told the end
//! of its navigation, at most for `stop_timeout`, and names the leaves whose jobs have not ended. The process waits for
//! all jobs before it ends, for two seconds at most (guarantee G8), and then ends without them. This holds for jobs of
//! leaves in trees that have a [`JobRegistry`], as the navigator's have; a [`Job`] that is started otherwise is its starter's
//! affair.
//!
//! [`AsyncNode`] is a node type with such a future: what it reads is taken before, by value, and what it found is written
//! after, so the future and the tick share nothing. [`register`] and [`register_function`] add it to a registry together
//! with the executor, which is anything that can [`Spawn`]: a tokio runtime's handle (feature `ros`), [`Threads`], a
//! [`Local`] queue in tests, or a closure.
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
pub use job_registry::JobRegistry;
pub use leaf::{AsyncLeaf, AsyncNode, register, register_function};
pub use local::Local;
pub use spawn::{BoxFuture, Spawn, Threads};
pub(crate) use stall_detector::{StallDetector, StallNotice};
