//! Standard error, written by a separate thread.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

use super::shortened::{MAX_LOG_LINE, shortened};
use crate::worker::Worker;

/// The maximum number of lines that wait for a console that is not read; further lines are dropped and counted.
const MAX_WAITING: usize = 4096;
/// Maximum time to write the last lines.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// Writes without waiting: a full pipe blocks its writer, which might be a tick (guarantee G1).
///
/// `tracing-appender` does the same, but needs eight crates for dates in file names.
#[derive(Clone, Debug)]
pub(super) struct Stderr {
    lines: Worker<Vec<u8>>,
    dropped: Arc<AtomicU64>,
}

/// Waits a moment for the last lines when it is dropped.
#[derive(Debug)]
pub(super) struct StderrFlush(Worker<Vec<u8>>);

impl Stderr {
    /// Standard error. The thread exists while there are lines.
    pub(super) fn new() -> (Self, StderrFlush) {
        Self::on(io::stderr())
    }

    fn on(mut console: impl Write + Send + 'static) -> (Self, StderrFlush) {
        let dropped = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&dropped);
        // The log cannot tell of its own fault.
        let lines = Worker::new(
            "console",
            MAX_WAITING,
            |_| (),
            move |line: Option<Vec<u8>>| {
                // A write error cannot be reported anywhere.
                let _ = console.write_all(&line.unwrap_or_default());
                let lost = counted.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    let _ = writeln!(console, "({lost} log lines dropped: the console was not read)");
                }
                None
            },
        );
        let writer = Self {
            lines: lines.clone(),
            dropped,
        };
        (writer, StderrFlush(lines))
    }
}

impl Write for Stderr {
    /// `tracing-subscriber` writes a line at a time.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let kept = if line.len() <= MAX_LOG_LINE {
            line.to_vec()
        } else {
            let text = String::from_utf8_lossy(line).into_owned();
            format!("{}\n", shortened(text, MAX_LOG_LINE)).into_bytes()
        };
        if self.lines.put(kept).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Drop for StderrFlush {
    fn drop(&mut self) {
        self.0.wait_until_idle(FLUSH_TIMEOUT);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use super::*;

    /// A console that accepts a line only when the test allows it.
    struct Console {
        let_go: mpsc::Receiver<()>,
        written: Arc<Mutex<String>>,
    }

    impl Write for Console {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            let _ = self.let_go.recv();
            self.written
                .lock()
                .unwrap()
                .push_str(&String::from_utf8_lossy(line));
            Ok(line.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A console that accepts lines when the sender is dropped, and what it has accepted.
    fn console() -> (Console, mpsc::Sender<()>, Arc<Mutex<String>>) {
        let (let_go, gate) = mpsc::channel();
        let written = Arc::<Mutex<String>>::default();
        let console = Console {
            let_go: gate,
            written: Arc::clone(&written),
        };
        (console, let_go, written)
    }

    #[test]
    fn g1_an_unread_console_blocks_no_writer() {
        let (console, let_go, written) = console();
        let (mut stderr, flush) = Stderr::on(console);
        for number in 0..2 * MAX_WAITING {
            stderr.write_all(format!("{number}\n").as_bytes()).unwrap();
        }
        // The console is read again.
        drop(let_go);
        assert!(flush.0.wait_until_idle(Duration::from_secs(30)));
        let written = written.lock().unwrap();
        let lines = written.lines().filter(|line| !line.starts_with('(')).count();
        assert!((MAX_WAITING..=MAX_WAITING + 2).contains(&lines), "{lines}");
        assert!(written.contains("log lines dropped"), "{written}");
    }

    #[test]
    fn a_long_line_is_cut() {
        let (console, let_go, written) = console();
        let (mut stderr, flush) = Stderr::on(console);
        drop(let_go);
        let long = format!("{}\n", "x".repeat(1 << 20));
        assert_eq!(stderr.write(long.as_bytes()).unwrap(), long.len());
        stderr.write_all(b"next\n").unwrap();
        assert!(flush.0.wait_until_idle(Duration::from_secs(30)));
        let written = written.lock().unwrap();
        assert_eq!(*written, format!("{}…\nnext\n", "x".repeat(MAX_LOG_LINE)));
    }
}
