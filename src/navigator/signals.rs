//! The signals that end the process, and the signal of an ended child process.

use std::io;

use futures::future::select_all;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that end the process in order: SIGINT, SIGTERM, and SIGHUP and SIGQUIT unless they are ignored.
#[derive(Debug)]
pub(crate) struct Signals {
    /// The runtime of the main thread.
    runtime: Runtime,
    /// The runtime of the thread that waits for [`Self::ends`].
    ends_runtime: Runtime,
    ends: Vec<Signal>,
    /// A child process has ended.
    child: Signal,
}

impl Signals {
    /// Handles the signals from now on.
    ///
    /// # Errors
    /// The system refuses a handler.
    pub(crate) fn new() -> io::Result<Self> {
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build();
        let (runtime, ends_runtime) = (runtime()?, runtime()?);
        let inside = ends_runtime.enter();
        let mut ends = vec![signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?];
        // `nohup` and background jobs of a shell start a process that ignores these signals, and it continues to ignore
        // them.
        let ignored = ignored(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        for kind in [SignalKind::hangup(), SignalKind::quit()] {
            if !is_in(kind, ignored) {
                ends.push(signal(kind)?);
            }
        }
        drop(inside);
        let inside = runtime.enter();
        let child = signal(SignalKind::child())?;
        drop(inside);
        Ok(Self {
            runtime,
            ends_runtime,
            ends,
            child,
        })
    }

    /// Starts a thread that calls `on_end` at the first signal that ends the process, whatever the main thread does then.
    /// Returns the runtime of the main thread and the signal of child processes.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn split(self, on_end: impl FnOnce() + Send + 'static) -> io::Result<(Runtime, Signal)> {
        let Self {
            runtime,
            ends_runtime,
            mut ends,
            child,
        } = self;
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                ends_runtime.block_on(select_all(ends.iter_mut().map(|signal| Box::pin(signal.recv()))));
                on_end();
            })?;
        Ok((runtime, child))
    }
}

/// The bit mask of the signals that a process ignores, from the text of `/proc/PID/status`.
fn ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

fn is_in(kind: SignalKind, mask: u64) -> bool {
    mask >> (kind.as_raw_value() - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status_of_the_process() {
        let mask = ignored("Name:\tnavtree\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000006\n");
        assert!(is_in(SignalKind::hangup(), mask));
        assert!(!is_in(SignalKind::quit(), mask) && !is_in(SignalKind::interrupt(), mask));
        assert_eq!(ignored(""), 0);
    }
}
