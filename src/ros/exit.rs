//! A time limit for the exit of the process.

use std::time::Duration;

use crate::running_wait;

/// Ends the process with this code after `patience`, if it is still running. The middleware may hang while it destroys
/// its entities, or stall while it holds a lock that other threads need. The guardian waits as long as the process
/// exists (G8, G11).
pub fn exit_within(patience: Duration, code: u8) {
    // Without a thread there is no time limit.
    let _ = std::thread::Builder::new()
        .name("exit".to_owned())
        .spawn(move || {
            running_wait::sleep(patience);
            // SAFETY: takes a number and runs no code of this process. The handlers that `exit` calls may hang too.
            unsafe { libc::_exit(i32::from(code)) }
        });
}
