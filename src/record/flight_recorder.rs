//! The flight recorder of a node: empties its event stream, and passes recordings on to the disk.
//!
//! It has no thread of its own. A thread that has other work too calls [`FlightRecorder::look`] now and then, for all
//! recorders of the process. The time between two looks depends on how full the stream was.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::files::{DiskState, RecordingFiles};
use super::part::PartProgress;
use super::recorder::{Limits, MemoryRecording, Recorder};
use super::store::MAX_RATIO;
use super::stream::{Distributor, Stream, Subscribe};
use super::totals::Totals;
use super::writer::{Reply, Writer};
use crate::bt::panic_text;

/// Time between two looks at the stream while somebody watches a navigation, or while it fills quickly.
const MIN_PERIOD: Duration = Duration::from_millis(50);

/// Maximum time between two looks. The stream has room for 4,000 records a second then, and a stream that is half full
/// is looked at before the next tick.
const MAX_PERIOD: Duration = Duration::from_secs(1);

/// The same, while somebody waits for a navigation.
const WATCHED_PERIOD: Duration = Duration::from_millis(250);

/// The part of the stream that is to fill between two looks.
const WANTED_FILL: usize = 8;

/// Time between two additions to the file of the navigation that runs. A shorter navigation writes nothing before its end.
const PART_PERIOD: Duration = Duration::from_secs(5);

/// Maximum number of recordings that wait for a place at the writer: those of navigations that end within one look, or
/// while the disk is slow. Each is memory.
const MAX_WAITING: usize = 2;

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

/// The flight recorder. Clones share it.
#[derive(Clone)]
pub struct FlightRecorder {
    /// `None` after a panic and after the end.
    collector: Arc<Mutex<Option<Collector>>>,
    save: SaveRecording,
    disk: DiskState,
    totals: Totals,
}

impl std::fmt::Debug for FlightRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FlightRecorder")
    }
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

impl FlightRecorder {
    /// A recorder of this stream. Also returns what makes further readers of the stream.
    pub fn new(
        stream: &Stream,
        mut limits: Limits,
        files: RecordingFiles,
        occasion: Occasion,
    ) -> (Self, Subscribe) {
        // A file with all of the memory must not be full at once.
        let file = usize::try_from(files.max_bytes / 2).unwrap_or(usize::MAX);
        limits.bytes = limits.bytes.min(file / MAX_RATIO);
        let distributor = stream.distribute();
        let subscribe = distributor.subscribe();
        let (requests, receiver) = mpsc::channel();
        let (disk, totals) = (DiskState::default(), Totals::default());
        let collector = Collector {
            distributor,
            totals: totals.clone(),
            recorder: Recorder::new(limits),
            part: PartProgress::default(),
            part_written: Instant::now(),
            writer: Writer::new(files, disk.clone()),
            waiting: VecDeque::new(),
            occasion,
            last: None,
            requests: receiver,
            period: MIN_PERIOD,
        };
        let save = SaveRecording {
            requests,
            stream: stream.clone(),
        };
        let recorder = Self {
            collector: Arc::new(Mutex::new(Some(collector))),
            save,
            disk,
            totals,
        };
        (recorder, subscribe)
    }

    fn collector(&self) -> MutexGuard<'_, Option<Collector>> {
        self.collector.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was written to the stream. Returns the time until the next look. No navigation ends for a panic.
    pub fn look(&self) -> Duration {
        let mut collector = self.collector();
        let looked = catch_unwind(AssertUnwindSafe(|| collector.as_mut().map(Collector::look)));
        looked
            .unwrap_or_else(|panic| {
                *collector = None;
                self.disk.set_failed(true);
                tracing::error!(
                    "the recorder has panicked, no navigation is recorded until a restart: {}",
                    panic_text(&*panic)
                );
                None
            })
            .unwrap_or(MAX_PERIOD)
    }

    /// Takes the last records, and waits for at most two seconds until all is written. Later looks do nothing.
    pub fn finish(&self) {
        self.look();
        let collector = self.collector().take();
        if let Some(collector) = collector {
            collector.finish();
        }
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

/// Makes recordings of what is in the stream.
struct Collector {
    distributor: Distributor,
    totals: Totals,
    recorder: Recorder,
    part: PartProgress,
    part_written: Instant,
    writer: Writer,
    /// Recordings for which the writer had no place. Each look tries again.
    waiting: VecDeque<(Arc<MemoryRecording>, Reply)>,
    occasion: Occasion,
    /// The last navigation, for a request after its end.
    last: Option<Arc<MemoryRecording>>,
    requests: Receiver<Reply>,
    /// The time between the last two looks.
    period: Duration,
}

impl Collector {
    fn look(&mut self) -> Duration {
        self.write_waiting();
        let count = self.take();
        let requests: Vec<Reply> = self.requests.try_iter().collect();
        for reply in requests {
            self.save(reply);
        }
        if self.recorder.is_recording() || self.part.has_file() {
            self.write_part();
        } else {
            self.part_written = Instant::now();
        }
        let next = next_period(self.period, count, self.distributor.capacity());
        let is_busy = count > 0 || self.recorder.is_recording();
        self.period = match self.distributor.has_readers() {
            true if is_busy => MIN_PERIOD,
            true => next.min(WATCHED_PERIOD),
            false => next,
        };
        self.period
    }

    /// Returns the number of records.
    fn take(&mut self) -> usize {
        let Some(batch) = self.distributor.distribute() else {
            return 0;
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
                self.write(Arc::clone(&recording), Box::new(log_end));
            }
            self.last = Some(recording);
        }
        if self.recorder.is_recording() {
            // Its memory is that of the current one.
            self.last = None;
        }
        batch.records.len()
    }

    /// Adds to the file of the navigation that runs, or removes it.
    fn write_part(&mut self) {
        let is_due = self.part_written.elapsed() >= PART_PERIOD || !self.recorder.is_recording();
        if !is_due || self.occasion == Occasion::Never {
            return;
        }
        if self.writer.take_part_must_begin() {
            self.part = PartProgress::default();
        }
        // If the disk is busy, the next look tries again.
        let next = || self.part.next(&self.recorder, self.last.as_ref());
        if let Some(after) = self.writer.write_part(next) {
            (self.part, self.part_written) = (after, Instant::now());
        }
    }

    /// Writes a recording, now or when the writer has a place.
    fn write(&mut self, recording: Arc<MemoryRecording>, reply: Reply) {
        self.write_waiting();
        if self.waiting.len() >= MAX_WAITING {
            return reply(Err("the disk has not finished the recordings before".to_owned()));
        }
        self.waiting.push_back((recording, reply));
        self.write_waiting();
    }

    fn write_waiting(&mut self) {
        while let Some((recording, reply)) = self.waiting.pop_front() {
            if let Err(reply) = self.writer.write(&recording, reply) {
                self.waiting.push_front((recording, reply));
                return;
            }
        }
    }

    /// Waits for a bounded time until all is written.
    fn finish(mut self) {
        for (recording, reply) in self.waiting.drain(..) {
            self.writer.write_last(&recording, reply);
        }
        self.writer.finish();
    }

    fn save(&mut self, reply: Reply) {
        let snapshot = self.recorder.snapshot().map(Arc::new);
        match snapshot.or_else(|| self.last.clone()) {
            Some(recording) => self.write(recording, reply),
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

/// The time until the next look, after a look that found so many records.
fn next_period(last: Duration, records: usize, capacity: usize) -> Duration {
    let records = u32::try_from(records.max(1)).unwrap_or(u32::MAX);
    let wanted = u32::try_from(capacity / WANTED_FILL).unwrap_or(u32::MAX);
    (last.saturating_mul(wanted) / records).clamp(MIN_PERIOD, MAX_PERIOD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_fills_quickly_is_looked_at_more_often() {
        let next = |last: u64, records| next_period(Duration::from_millis(last), records, 8192).as_millis();
        assert_eq!(next(50, 0), 1000);
        assert_eq!(next(50, 50), 1000);
        assert_eq!(next(1000, 2048), 500);
        assert_eq!(next(125, 1024), 125);
        assert_eq!(next(250, 8192), 50);
    }
}
