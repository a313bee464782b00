//! The thread of the flight recorder: empties the event stream, and writes recordings.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::files::RecordingFiles;
use super::recorder::{Limits, MemoryRecording, Recorder};
use super::stream::{Distributor, Stream, Subscribe};

/// Time between two looks at the stream while a navigation runs.
const PERIOD: Duration = Duration::from_millis(20);
/// The same while none runs.
const IDLE_PERIOD: Duration = Duration::from_millis(100);

/// Which navigations are written without a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Occasion {
    /// Those that failed.
    Failure,
    /// All.
    Always,
    /// None.
    Never,
}

/// Receives the path of the written file, on the thread of the recorder.
type Reply = Box<dyn FnOnce(Result<PathBuf, String>) + Send>;

/// The thread of the flight recorder. Dropping it ends the thread after it has written what is to be written.
pub struct RecorderThread {
    requests: Sender<Reply>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Asks the recorder for a recording.
#[derive(Clone)]
pub struct SaveRecording(Sender<Reply>);

impl SaveRecording {
    /// Writes the recording of the current navigation so far, or of the last one. Returns at once; `reply` gets the path,
    /// or the reason why there is no recording.
    pub fn save(&self, reply: impl FnOnce(Result<PathBuf, String>) + Send + 'static) {
        if let Err(mpsc::SendError(reply)) = self.0.send(Box::new(reply)) {
            reply(Err("the recorder has ended".to_owned()));
        }
    }
}

impl RecorderThread {
    /// Starts the thread. `on_end` is called at its end, also after a panic. Returns what makes further readers of the
    /// stream.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start(
        stream: &Stream,
        limits: Limits,
        files: RecordingFiles,
        occasion: Occasion,
        on_end: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<(Self, Subscribe)> {
        let distributor = stream.distribute();
        let subscribe = distributor.subscribe();
        let (requests, receiver) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let worker = Worker {
            distributor,
            recorder: Recorder::new(limits),
            files,
            occasion,
            last: None,
            stop: Arc::clone(&stop),
        };
        let thread = thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || {
                let _on_end = OnEnd(Some(on_end));
                worker.run(&receiver);
            })?;
        let recorder = Self {
            requests,
            stop,
            thread: Some(thread),
        };
        Ok((recorder, subscribe))
    }

    /// A handle to request recordings.
    pub fn save_handle(&self) -> SaveRecording {
        SaveRecording(self.requests.clone())
    }
}

impl Drop for RecorderThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct OnEnd<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for OnEnd<F> {
    fn drop(&mut self) {
        if let Some(function) = self.0.take() {
            function();
        }
    }
}

struct Worker {
    distributor: Distributor,
    recorder: Recorder,
    files: RecordingFiles,
    occasion: Occasion,
    /// The last navigation, for a request after its end.
    last: Option<MemoryRecording>,
    stop: Arc<AtomicBool>,
}

impl Worker {
    fn run(mut self, requests: &Receiver<Reply>) {
        loop {
            let period = if self.recorder.is_recording() {
                PERIOD
            } else {
                IDLE_PERIOD
            };
            let request = requests.recv_timeout(period);
            // Before the last look at the stream.
            let stops = self.stop.load(Ordering::Acquire);
            self.take();
            match request {
                Ok(reply) => {
                    reply(self.save());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if stops {
                return;
            }
        }
    }

    fn take(&mut self) {
        let Some(batch) = self.distributor.distribute() else {
            return;
        };
        for recording in self.recorder.take(&batch) {
            let is_wanted = match self.occasion {
                Occasion::Failure => recording.has_failed(),
                Occasion::Always => true,
                Occasion::Never => false,
            };
            if is_wanted {
                match self.files.write(&recording) {
                    Ok(path) => tracing::info!("recording written: {}", path.display()),
                    Err(error) => tracing::error!("recording not written: {error}"),
                }
            }
            self.last = Some(recording);
        }
    }

    fn save(&self) -> Result<PathBuf, String> {
        let snapshot = self.recorder.snapshot();
        let recording = snapshot
            .as_ref()
            .or(self.last.as_ref())
            .ok_or_else(|| "no navigation has been recorded yet".to_owned())?;
        self.files.write(recording)
    }
}
