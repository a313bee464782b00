//! Waits that count only the time in which the process runs: after a pause (SIGSTOP, a debugger), what has arrived meanwhile
//! is handled before the wait ends.

use std::time::Duration;

#[cfg(feature = "ros")]
use crate::sync::mpsc;
use crate::sync::mpsc::{Receiver, RecvTimeoutError};

/// A pause shortens a wait by one slice at most.
const SLICE: Duration = Duration::from_millis(100);

/// Like [`Receiver::recv_timeout`].
pub(crate) fn receive<T>(receiver: &Receiver<T>, patience: Duration) -> Result<T, RecvTimeoutError> {
    let mut left = patience;
    loop {
        let slice = left.min(SLICE);
        left -= slice;
        match receiver.recv_timeout(slice) {
            Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
            received => return received,
        }
    }
}

/// Like [`std::thread::sleep`].
#[cfg(feature = "ros")]
pub(crate) fn sleep(patience: Duration) {
    let (_sender, nothing) = mpsc::channel::<()>();
    let _ = receive(&nothing, patience);
}
