//! The thread that writes recordings to the disk. It is separate from the recorder's thread, because a disk can take
//! seconds, or for ever, and the event stream must be read in the meantime.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SendError, Sender};
use std::thread;
use std::time::Duration;

use super::files::{DiskState, RecordingFiles};
use super::part::{PartFile, PartJob};
use super::recorder::MemoryRecording;

/// Receives the path of the written file, or the reason why there is none.
pub(super) type Reply = Box<dyn FnOnce(Result<PathBuf, String>) + Send>;

/// How long the end of the process waits for the disk.
const MAX_WAIT: Duration = Duration::from_secs(2);

enum Job {
    /// Write a recording.
    Recording(Arc<MemoryRecording>, Reply),
    /// Something is to be done with the file of the navigation that runs.
    Part(PartJob),
}

/// Passes recordings to the thread. The thread ends when this is dropped and all recordings are written.
pub(super) struct Writer {
    jobs: Sender<Job>,
    places: Arc<Places>,
}

/// The places of the queue: one for each kind of job, so that a slow part does not refuse the recording of the end.
#[derive(Default)]
struct Places {
    /// A recording waits while another job is being done. More are not written: each is memory.
    recording: AtomicBool,
    /// A part waits or is being written.
    part: AtomicBool,
    /// The last part was not written, so the file must begin again.
    part_failed: AtomicBool,
}

/// The end of the thread.
pub(super) struct Written(Receiver<()>);

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub(super) fn start(files: RecordingFiles, disk: DiskState) -> std::io::Result<(Self, Written)> {
        let (sender, jobs) = mpsc::channel::<Job>();
        let places = Arc::<Places>::default();
        let writer = Self {
            jobs: sender,
            places: Arc::clone(&places),
        };
        let (end, ended) = mpsc::channel();
        thread::Builder::new()
            .name("recordings".to_owned())
            .spawn(move || {
                let _end: mpsc::Sender<()> = end;
                if let Err(error) = files.probe() {
                    disk.set_failed(true);
                    tracing::error!("no recordings can be written: {error}");
                }
                let mut part = PartFile::default();
                for job in jobs {
                    match job {
                        Job::Recording(recording, reply) => {
                            places.recording.store(false, Ordering::Release);
                            let written = files.write(&recording);
                            disk.set_failed(written.is_err());
                            reply(written);
                        }
                        Job::Part(job) => {
                            if let Err(error) = part.take(job, &files) {
                                tracing::warn!("the file of the running navigation is not written: {error}");
                                places.part_failed.store(true, Ordering::Relaxed);
                            }
                            places.part.store(false, Ordering::Release);
                        }
                    }
                }
            })?;
        Ok((writer, Written(ended)))
    }

    /// Writes a recording. Returns at once; the thread of the writer calls `reply`, or this one if the disk is too slow.
    pub(super) fn write(&self, recording: &Arc<MemoryRecording>, reply: Reply) {
        if self.places.recording.swap(true, Ordering::AcqRel) {
            return reply(Err("the disk has not finished the recordings before".to_owned()));
        }
        let job = Job::Recording(Arc::clone(recording), reply);
        if let Err(SendError(Job::Recording(_, reply))) = self.jobs.send(job) {
            reply(Err("the thread that writes recordings has ended".to_owned()));
        }
    }

    /// Passes on what is to be done with the file of the navigation that runs. Returns at once; false if the part before
    /// is not written yet: then the job is not done.
    pub(super) fn write_part(&self, job: PartJob) -> bool {
        !self.places.part.swap(true, Ordering::AcqRel) && self.jobs.send(Job::Part(job)).is_ok()
    }

    /// Whether a part was not written since the last call: the file is removed, and must begin again.
    pub(super) fn take_part_failed(&self) -> bool {
        self.places.part_failed.swap(false, Ordering::Relaxed)
    }
}

impl Written {
    /// Waits for the end of the thread, for a bounded time.
    pub(super) fn wait(&self) {
        if self.0.recv_timeout(MAX_WAIT) == Err(RecvTimeoutError::Timeout) {
            tracing::error!(
                "a recording is not written: the disk takes more than {} s",
                MAX_WAIT.as_secs()
            );
        }
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
