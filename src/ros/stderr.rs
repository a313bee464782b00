//! Standard error, written by a separate thread.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use tracing_subscriber::fmt::MakeWriter;

use crate::fault;

/// The maximum number of lines that wait for a console that is not read; further lines are dropped and counted.
const MAX_WAITING: usize = 4096;
/// Maximum time to write the last lines.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// Writes without waiting: a full pipe blocks its writer, which might be a tick (guarantee G1).
///
/// `tracing-appender` does the same, but needs eight crates for dates in file names.
#[derive(Clone, Debug)]
pub(super) struct Stderr {
    lines: SyncSender<Option<Vec<u8>>>,
    dropped: Arc<AtomicU64>,
}

/// Owns the thread. On drop it waits a moment for the last lines.
#[derive(Debug)]
pub(super) struct StderrThread {
    lines: SyncSender<Option<Vec<u8>>>,
    /// Nothing is sent here; the sender is dropped when the thread has ended.
    ended: Receiver<()>,
}

impl Stderr {
    /// Starts the thread.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn start() -> io::Result<(Self, StderrThread)> {
        Self::start_with(io::stderr())
    }

    fn start_with(mut console: impl Write + Send + 'static) -> io::Result<(Self, StderrThread)> {
        let (lines, inbox) = sync_channel::<Option<Vec<u8>>>(MAX_WAITING);
        let (alive, ended) = sync_channel(0);
        let dropped = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&dropped);
        std::thread::Builder::new()
            .name("console".to_owned())
            .spawn(move || {
                let _alive: SyncSender<()> = alive;
                while let Ok(Some(line)) = inbox.recv() {
                    fault::point();
                    // A write error cannot be reported anywhere.
                    let _ = console.write_all(&line);
                    let lost = counted.swap(0, Ordering::Relaxed);
                    if lost > 0 {
                        let _ = writeln!(console, "({lost} log lines dropped: the console was not read)");
                    }
                }
                let _ = console.flush();
            })?;
        let writer = Self {
            lines: lines.clone(),
            dropped,
        };
        Ok((writer, StderrThread { lines, ended }))
    }
}

impl Write for Stderr {
    /// `tracing-subscriber` writes a line at a time.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.lines.try_send(Some(line.to_vec())).is_err() {
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

impl Drop for StderrThread {
    fn drop(&mut self) {
        let until = Instant::now() + FLUSH_TIMEOUT;
        while self.lines.try_send(None).is_err() {
            // Full: the thread is still writing, or the console is not read.
            if Instant::now() > until {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self
            .ended
            .recv_timeout(until.saturating_duration_since(Instant::now()));
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

    #[test]
    fn g1_an_unread_console_blocks_no_writer() {
        let (let_go, gate) = mpsc::channel();
        let written = Arc::<Mutex<String>>::default();
        let console = Console {
            let_go: gate,
            written: Arc::clone(&written),
        };
        let (mut stderr, thread) = Stderr::start_with(console).unwrap();
        for number in 0..2 * MAX_WAITING {
            stderr.write_all(format!("{number}\n").as_bytes()).unwrap();
        }
        // The console is read again.
        drop(let_go);
        drop(stderr);
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        while thread.lines.try_send(None).is_err() {
            assert!(std::time::Instant::now() < deadline);
            std::thread::yield_now();
        }
        assert_eq!(
            thread.ended.recv_timeout(Duration::from_secs(30)),
            Err(mpsc::RecvTimeoutError::Disconnected)
        );
        let written = written.lock().unwrap();
        let lines = written.lines().filter(|line| !line.starts_with('(')).count();
        assert!((MAX_WAITING..=MAX_WAITING + 2).contains(&lines), "{lines}");
        assert!(written.contains("log lines dropped"), "{written}");
    }
}
