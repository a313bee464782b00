//! The thread that writes recordings to the disk. It is separate from the recorder's thread, because a disk can take
//! seconds, or for ever, and the event stream must be read in the meantime.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread;
use std::time::Duration;

use super::files::{DiskState, RecordingFiles};
use super::part::{PartFile, PartJob};
use super::recorder::MemoryRecording;

/// Receives the path of the written file, or the reason why there is none.
pub(super) type Reply = Box<dyn FnOnce(Result<PathBuf, String>) + Send>;

/// Number of recordings that wait while one is being written. More are not written: each is memory.
const MAX_WAITING: usize = 1;

/// How long the end of the process waits for the disk.
const MAX_WAIT: Duration = Duration::from_secs(2);

enum Job {
    /// Write a recording.
    Recording(Arc<MemoryRecording>, Reply),
    /// Something is to be done with the file of the navigation that runs.
    Part(PartJob),
}

/// Passes recordings to the thread. The thread ends when this is dropped and all recordings are written.
pub(super) struct Writer(SyncSender<Job>);

/// The end of the thread.
pub(super) struct Written(Receiver<()>);

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub(super) fn start(files: RecordingFiles, disk: DiskState) -> std::io::Result<(Self, Written)> {
        let (sender, jobs) = mpsc::sync_channel::<Job>(MAX_WAITING);
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
                            let written = files.write(&recording);
                            disk.set_failed(written.is_err());
                            reply(written);
                        }
                        Job::Part(job) => {
                            if let Err(error) = part.take(job, &files) {
                                tracing::warn!("the file of the running navigation is not written: {error}");
                            }
                        }
                    }
                }
            })?;
        Ok((Self(sender), Written(ended)))
    }

    /// Writes a recording. Returns at once; the thread of the writer calls `reply`, or this one if the disk is too slow.
    pub(super) fn write(&self, recording: &Arc<MemoryRecording>, reply: Reply) {
        let refuse = |job, reason: &str| {
            if let Job::Recording(_, reply) = job {
                reply(Err(reason.to_owned()));
            }
        };
        match self.0.try_send(Job::Recording(Arc::clone(recording), reply)) {
            Ok(()) => {}
            Err(TrySendError::Full(job)) => refuse(job, "the disk has not finished the recordings before"),
            Err(TrySendError::Disconnected(job)) => {
                refuse(job, "the thread that writes recordings has ended");
            }
        }
    }

    /// Passes on what is to be done with the file of the navigation that runs. Returns at once; false if the thread is
    /// busy: then the job is not done.
    pub(super) fn write_part(&self, job: PartJob) -> bool {
        self.0.try_send(Job::Part(job)).is_ok()
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
