//! The thread of the flight recorder: empties the event stream, and passes recordings on to the disk.
//!
//! Between navigations it sleeps until a record is written: an idle node does not wake for it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::files::{DiskState, RecordingFiles};
use super::part::PartProgress;
use super::recorder::{Limits, MemoryRecording, Recorder};
use super::stream::{Distributor, Stream, Subscribe};
use super::totals::Totals;
use super::writer::{Reply, Writer, Written};

/// Time between two looks at the stream. A record between navigations is looked at after this time too, so that a row of
/// them wakes the thread once.
const PERIOD: Duration = Duration::from_millis(50);

/// Time between two additions to the file of the navigation that runs. A shorter navigation writes nothing before its end.
const PART_PERIOD: Duration = Duration::from_secs(5);

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

/// The thread of the flight recorder. Dropping it ends the thread after it has written what is to be written, or after two
/// seconds if the disk is slower.
pub struct RecorderThread {
    save: SaveRecording,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    written: Written,
    disk: DiskState,
    totals: Totals,
}

/// Asks the recorder for a recording.
#[derive(Clone)]
pub struct SaveRecording {
    requests: Sender<Reply>,
    stream: Stream,
}

impl SaveRecording {
    /// Writes the recording of the current navigation so far, or of the last one. Returns at once; `reply` gets the path,
    /// or the reason why there is no recording.
    pub fn save(&self, reply: impl FnOnce(Result<PathBuf, String>) + Send + 'static) {
        match self.requests.send(Box::new(reply)) {
            Ok(()) => self.stream.wake(),
            Err(mpsc::SendError(reply)) => reply(Err("the recorder has ended".to_owned())),
        }
    }
}

impl RecorderThread {
    /// Starts the thread. Returns what makes further readers of the stream.
    ///
    /// # Errors
    /// A thread cannot be created.
    pub fn start(
        stream: &Stream,
        limits: Limits,
        files: RecordingFiles,
        occasion: Occasion,
    ) -> std::io::Result<(Self, Subscribe)> {
        let distributor = stream.distribute();
        let subscribe = distributor.subscribe();
        let (requests, receiver) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let disk = DiskState::default();
        let (writer, written) = Writer::start(files, disk.clone())?;
        let totals = Totals::default();
        let worker = Worker {
            distributor,
            totals: totals.clone(),
            recorder: Recorder::new(limits),
            max_part: limits.bytes,
            part: PartProgress::default(),
            part_written: Instant::now(),
            writer,
            occasion,
            last: None,
            stop: Arc::clone(&stop),
        };
        let panic_report = PanicReport(disk.clone());
        let thread = thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || {
                let _panic_report = panic_report;
                worker.run(&receiver);
            })?;
        stream.set_thread(thread.thread());
        let save = SaveRecording {
            requests,
            stream: stream.clone(),
        };
        let recorder = Self {
            save,
            stop,
            thread: Some(thread),
            written,
            disk,
            totals,
        };
        Ok((recorder, subscribe))
    }

    /// Whether recordings can be written.
    pub fn disk(&self) -> DiskState {
        self.disk.clone()
    }

    /// The records so far, counted.
    pub fn totals(&self) -> Totals {
        self.totals.clone()
    }

    /// A handle to request recordings.
    pub fn save_handle(&self) -> SaveRecording {
        self.save.clone()
    }
}

impl Drop for RecorderThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.save.stream.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.written.wait();
    }
}

/// Tells that the thread has panicked. No navigation ends for it.
struct PanicReport(DiskState);

impl Drop for PanicReport {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.set_failed(true);
            tracing::error!("the recorder has ended by a panic: no navigation is recorded until a restart");
        }
    }
}

struct Worker {
    distributor: Distributor,
    totals: Totals,
    recorder: Recorder,
    /// Bytes by which the file of the navigation that runs may grow.
    max_part: usize,
    part: PartProgress,
    part_written: Instant,
    writer: Writer,
    occasion: Occasion,
    /// The last navigation, for a request after its end.
    last: Option<Arc<MemoryRecording>>,
    stop: Arc<AtomicBool>,
}

impl Worker {
    fn run(mut self, requests: &Receiver<Reply>) {
        loop {
            // Before the last look at the stream.
            let stops = self.stop.load(Ordering::Acquire);
            self.take();
            for reply in requests.try_iter() {
                self.save(reply);
            }
            if stops {
                return;
            }
            if self.recorder.is_recording() || self.part.has_file() {
                self.write_part();
            } else {
                self.part_written = Instant::now();
                self.distributor.sleep();
            }
            thread::park_timeout(PERIOD);
        }
    }

    fn take(&mut self) {
        let Some(batch) = self.distributor.distribute() else {
            return;
        };
        self.totals.take(&batch);
        for recording in self.recorder.take(&batch) {
            let is_wanted = match self.occasion {
                Occasion::Failure => recording.has_failed(),
                Occasion::Always => true,
                Occasion::Never => false,
            };
            let recording = Arc::new(recording);
            if is_wanted {
                self.writer.write(&recording, Box::new(log_end));
            }
            self.last = Some(recording);
        }
        if self.recorder.is_recording() {
            // Its memory is that of the current one.
            self.last = None;
        }
    }

    /// Adds to the file of the navigation that runs, or removes it.
    fn write_part(&mut self) {
        let is_due = self.part_written.elapsed() >= PART_PERIOD || !self.recorder.is_recording();
        if !is_due || self.occasion == Occasion::Never {
            return;
        }
        if self.writer.take_part_failed() {
            self.part = PartProgress::default();
        }
        let Some((job, after)) = self.part.next(&self.recorder, self.max_part) else {
            return;
        };
        // If the disk is busy, the next look tries again.
        if self.writer.write_part(job) {
            (self.part, self.part_written) = (after, Instant::now());
        }
    }

    fn save(&self, reply: Reply) {
        let snapshot = self.recorder.snapshot().map(Arc::new);
        match snapshot.as_ref().or(self.last.as_ref()) {
            Some(recording) => self.writer.write(recording, reply),
            None => reply(Err("no navigation has been recorded yet".to_owned())),
        }
    }
}

fn log_end(written: Result<PathBuf, String>) {
    match written {
        Ok(path) => tracing::info!("recording written: {}", path.display()),
        Err(error) => tracing::error!("recording not written: {error}"),
    }
}
