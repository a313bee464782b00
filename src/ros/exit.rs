//! A bound for the end of the process.

use std::time::Duration;

/// Ends the process with this code after `patience`, where it has not ended by itself until then: the middleware may
/// hang while its entities are destroyed, or stall with a lock that others need, and as long as the process is there its guardian waits (G8, G11).
pub fn exit_within(patience: Duration, code: u8) {
    // Without a thread there is no bound, as before.
    let _ = std::thread::Builder::new()
        .name("exit".to_owned())
        .spawn(move || {
            std::thread::sleep(patience);
            // SAFETY: it takes a number and runs nothing of this process: the handlers that `exit` calls may hang as well.
            unsafe { libc::_exit(i32::from(code)) }
        });
}
