//! What threads meet at: the standard library's. The files that use it are compiled a second time by `test/loom`, where
//! the same names stand for loom's, which runs every interleaving of them.

#[cfg(feature = "ros")]
pub(crate) use std::sync::Condvar;
#[cfg(any(test, feature = "ros"))]
pub(crate) use std::sync::MutexGuard;
pub(crate) use std::sync::{Mutex, PoisonError, atomic, mpsc};
pub(crate) use std::thread;
