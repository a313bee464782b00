//! The thread that writes recordings to the disk. It is separate from the thread that calls the recorder,
//! because a disk can take seconds, or for ever, and the event stream must be read in the meantime. It exists while there is something to write.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::files::{DiskState, RecordingFiles};
use super::part::{PartFile, PartJob};
use super::recorder::MemoryRecording;
use crate::worker::{Refused, Worker};

/// Receives the path of the written file, or the reason why there is none.
pub(super) type Reply = Box<dyn FnOnce(Result<PathBuf, String>) + Send>;

/// How long the end of the process waits for the disk.
const MAX_WAIT: Duration = Duration::from_secs(2);

enum Job {
    /// Find out whether recordings can be written.
    Probe,
    /// Write a recording.
    Recording(Arc<MemoryRecording>, Reply),
    /// Something is to be done with the file of the navigation that runs.
    Part(PartJob, PartPlace),
}

/// The maximum number of jobs that wait: one of each kind, and the last recordings at the end.
const MAX_JOBS: usize = 6;

/// Passes recordings to the thread.
pub(super) struct Writer {
    jobs: Worker<Job>,
    places: Arc<Places>,
}

/// The places of the queue: one for each kind of job, so that a slow part does not refuse the recording of the end.
#[derive(Default)]
struct Places {
    /// A recording waits while another job is being done.
    recording: AtomicBool,
    /// A part waits or is being written.
    part: AtomicBool,
    /// The file of the navigation that runs must begin again: it was not written, or is full.
    part_must_begin: AtomicBool,
}

/// The place of the one part that waits or is being written. It is free again when this is dropped.
struct PartPlace(Arc<Places>);

impl PartPlace {
    /// Takes the place. `None`: it is taken.
    fn take(places: &Arc<Places>) -> Option<Self> {
        let is_taken = places.part.swap(true, Ordering::AcqRel);
        (!is_taken).then(|| Self(Arc::clone(places)))
    }
}

impl Drop for PartPlace {
    fn drop(&mut self) {
        if thread::panicking() {
            // What was written of the part is not known.
            self.0.part_must_begin.store(true, Ordering::Relaxed);
        }
        self.0.part.store(false, Ordering::Release);
    }
}

impl Writer {
    /// A writer of these files. Finds out whether they can be written.
    pub(super) fn new(files: RecordingFiles, disk: DiskState) -> Self {
        let places = Arc::<Places>::default();
        let (taken, failed_disk) = (Arc::clone(&places), disk.clone());
        let mut part = PartFile::default();
        let report_panic = move |text: &str| {
            failed_disk.set_failed(true);
            tracing::error!("a recording is not written: the thread has panicked: {text}");
        };
        let jobs = Worker::new("recordings", MAX_JOBS, report_panic, move |job| {
            match job {
                Some(Job::Probe) => {
                    if let Err(error) = files.probe() {
                        disk.set_failed(true);
                        tracing::error!("no recordings can be written: {error}");
                    }
                }
                Some(Job::Recording(recording, reply)) => {
                    taken.recording.store(false, Ordering::Release);
                    let kept = part.keep(&recording, &files);
                    let written = kept.map_or_else(|| files.write(&recording), Ok);
                    must_begin(&mut part, &taken);
                    disk.set_failed(written.is_err());
                    reply(written);
                }
                Some(Job::Part(job, _place)) => {
                    if let Err(error) = part.take(job, &files) {
                        // Until a recording is written, no result names one.
                        disk.set_failed(true);
                        tracing::warn!("the file of the running navigation is not written: {error}");
                    }
                    must_begin(&mut part, &taken);
                }
                None => {}
            }
            None
        });
        let writer = Self { jobs, places };
        // Without a thread, the first recording tells.
        let _ = writer.jobs.put(Job::Probe);
        writer
    }

    /// Writes a recording. Returns at once; the thread of the writer calls `reply`, or this one if there is no thread.
    ///
    /// # Errors
    /// The reply, if another recording waits for the disk: then nothing is written.
    pub(super) fn write(&self, recording: &Arc<MemoryRecording>, reply: Reply) -> Result<(), Reply> {
        if self.places.recording.swap(true, Ordering::AcqRel) {
            return Err(reply);
        }
        self.write_last(recording, reply);
        Ok(())
    }

    /// Writes a recording that needs no place, because only a few others follow before the end.
    pub(super) fn write_last(&self, recording: &Arc<MemoryRecording>, reply: Reply) {
        let job = Job::Recording(Arc::clone(recording), reply);
        let (job, reason) = match self.jobs.put(job) {
            Ok(()) => return,
            Err(Refused::NoThread(job, error)) => {
                let reason = format!("the thread that writes recordings does not start: {error}");
                (job, reason)
            }
            Err(Refused::Full(job)) => (job, "the disk has not finished the recordings before".to_owned()),
        };
        self.places.recording.store(false, Ordering::Release);
        if let Job::Recording(_, reply) = job {
            reply(Err(reason));
        }
    }

    /// Passes on what is to be done with the file of the navigation that runs: the job that `next` makes. Returns at once,
    /// with the progress after the job; `None` if there is none, or if the part before is not written yet. `next` is not
    /// called then: it copies up to the whole recording.
    pub(super) fn write_part<P>(&self, next: impl FnOnce() -> Option<(PartJob, P)>) -> Option<P> {
        let place = PartPlace::take(&self.places)?;
        let (job, after) = next()?;
        self.jobs.put(Job::Part(job, place)).ok()?;
        Some(after)
    }

    /// Whether the file of the navigation that runs must begin again, since the last call.
    pub(super) fn take_part_must_begin(&self) -> bool {
        self.places.part_must_begin.swap(false, Ordering::Relaxed)
    }

    /// Waits for a bounded time until all is written.
    pub(super) fn finish(&self) {
        if !self.jobs.wait_until_idle(MAX_WAIT) {
            tracing::error!(
                "a recording is not written: the disk takes more than {} s",
                MAX_WAIT.as_secs()
            );
        }
    }
}

/// Tells the recorder that the file must begin again.
fn must_begin(part: &mut PartFile, places: &Places) {
    if part.take_must_begin() {
        places.part_must_begin.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
