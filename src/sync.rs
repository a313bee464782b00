//! Synchronization types of the standard library. `test/loom` compiles the files that use them a second time with
//! loom's types of the same names. Loom runs every interleaving of the threads.

#[cfg(feature = "ros")]
pub(crate) use std::sync::{Condvar, MutexGuard};
pub(crate) use std::sync::{Mutex, PoisonError, atomic, mpsc};
pub(crate) use std::thread;
