//! The file of the navigation that runs: all of it, also what the memory has dropped. If the process is killed, it remains, and
//! can be read up to there.
//!
//! The recorder decides what is added ([`PartProgress`]); the thread of the writer writes it ([`PartFile`]). A recording
//! that is wanted is written from the memory. If the memory has dropped the beginning, the file becomes the recording; so it
//! stays after the end of such a navigation, until the next one has a file. Otherwise it is removed at the end.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::{ChannelInfo, McapFile, end_of_copy};
use super::files::RecordingFiles;
use super::recorder::{MemoryRecording, Recorder};
use super::store::{MAX_FILE_CONTENT, MessageStore};
use crate::goal::GoalId;
use crate::msg::Stamp;

/// What is to be done with the file.
#[derive(Debug)]
pub(crate) enum PartJob {
    /// Write it from its beginning on.
    Begin(Box<MemoryRecording>),
    /// Add messages.
    Append {
        /// All channels of the recording, in order.
        channels: Vec<ChannelInfo>,
        /// All messages of the memory: the thread of the writer uncompresses those that the file does not have.
        messages: MessageStore,
    },
    /// The navigation has ended: remove it, unless it has more of this recording than the memory.
    End(Option<Arc<MemoryRecording>>),
    /// A fault of a test.
    #[cfg(test)]
    Panic,
}

/// How much of the current navigation is in its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PartProgress(Option<Passed>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Passed {
    navigation: (GoalId, Stamp),
    /// Number of messages since the beginning of the navigation.
    messages: u64,
}

impl PartProgress {
    /// Whether there is a file.
    pub(crate) fn has_file(&self) -> bool {
        self.0.is_some()
    }

    /// The next job, and the progress after it; `None` if there is nothing to do. `last`: the navigation that has ended, if
    /// none runs.
    pub(crate) fn next(
        &self,
        recorder: &Recorder,
        last: Option<&Arc<MemoryRecording>>,
    ) -> Option<(PartJob, Self)> {
        let Some(current) = recorder.current() else {
            let end = || (PartJob::End(last.cloned()), Self(None));
            return self.has_file().then(end);
        };
        let after = Self(Some(Passed {
            navigation: current.navigation(),
            messages: current.messages().position(),
        }));
        if let Some(before) = self.0
            && before.navigation == current.navigation()
            && current.messages().reaches(before.messages)
        {
            return (after != *self).then(|| {
                let job = PartJob::Append {
                    channels: current.channels().to_vec(),
                    messages: current.messages().clone(),
                };
                (job, after)
            });
        }
        let recording = recorder.snapshot()?;
        Some((PartJob::Begin(Box::new(recording)), after))
    }
}

/// The file. It is removed when this is dropped.
#[derive(Default)]
pub(crate) struct PartFile {
    part: Option<Part>,
    must_begin: bool,
    /// The last navigation whose file became its recording.
    kept: Option<(GoalId, Stamp)>,
}

struct Part {
    path: PathBuf,
    file: McapFile<BufWriter<File>>,
    navigation: (GoalId, Stamp),
    /// The file has the beginning of the navigation.
    has_beginning: bool,
    /// Number of messages since the beginning of the navigation.
    messages: u64,
    /// Size of the messages, uncompressed.
    bytes: usize,
}

impl PartFile {
    /// Does a job. If that fails, the file is removed.
    ///
    /// # Errors
    /// The reason.
    pub(crate) fn take(&mut self, job: PartJob, files: &RecordingFiles) -> Result<(), String> {
        let done = match job {
            PartJob::Begin(recording) => self.begin(&recording, files),
            PartJob::Append { channels, messages } => self.append(&channels, &messages, files),
            PartJob::End(last) => match last.filter(|last| !last.has_beginning()) {
                Some(last) if self.complete(&last).is_some() => Ok(()),
                _ => {
                    self.remove();
                    Ok(())
                }
            },
            #[cfg(test)]
            PartJob::Panic => panic!("a fault of a test"),
        };
        if done.is_err() {
            self.fail();
        }
        done
    }

    /// Whether the file must begin again, since the last call: it was not written, or it is full.
    pub(crate) fn take_must_begin(&mut self) -> bool {
        std::mem::take(&mut self.must_begin)
    }

    /// Writes the file under another name first: one that is there and readable is replaced by one that is readable.
    fn begin(&mut self, recording: &MemoryRecording, files: &RecordingFiles) -> Result<(), String> {
        let [path, begun] = files.part_paths(recording);
        let with_path = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        fs::create_dir_all(&files.directory).map_err(|error| with_path(&error))?;
        let out = File::create(&begun).map_err(|error| with_path(&error))?;
        let written = recording.begin_file(BufWriter::new(out)).and_then(|mut file| {
            file.flush()?;
            fs::rename(&begun, &path)?;
            Ok(file)
        });
        match written {
            Ok(file) => {
                self.tell_loss(recording, &path);
                if self.part.as_ref().is_some_and(|before| before.path != path) {
                    self.remove();
                }
                self.part = Some(Part {
                    path,
                    file,
                    navigation: recording.navigation(),
                    has_beginning: recording.has_beginning(),
                    messages: recording.messages().position(),
                    bytes: recording.messages().content_bytes(),
                });
                Ok(())
            }
            Err(error) => {
                let _ = fs::remove_file(&begun);
                Err(with_path(&error))
            }
        }
    }

    /// Logs that the beginning is lost: once for each navigation.
    fn tell_loss(&self, recording: &MemoryRecording, path: &Path) {
        let before = self.part.as_ref();
        let before = before.filter(|part| part.navigation == recording.navigation());
        if !recording.has_beginning() && before.is_none_or(|part| part.has_beginning) {
            tracing::warn!(
                "{}: the recording has lost its beginning, so it cannot be replayed: raise recordings_megabytes (the file \
                 has at most half of it) or recorder_megabytes",
                path.display()
            );
        }
    }

    fn append(
        &mut self,
        channels: &[ChannelInfo],
        messages: &MessageStore,
        files: &RecordingFiles,
    ) -> Result<(), String> {
        let Some(part) = &mut self.part else {
            return Ok(());
        };
        part.append(channels, messages)?;
        self.must_begin |= part.is_full(files);
        Ok(())
    }

    /// Makes the file the recording of its navigation, if it has more of it than the memory. Returns the path; `None`: write
    /// the recording from the memory. If the navigation still runs, the file is copied.
    pub(crate) fn keep(&mut self, recording: &MemoryRecording, files: &RecordingFiles) -> Option<PathBuf> {
        if recording.has_beginning() {
            return None;
        }
        let path = files.path_of(recording);
        if self.kept == Some(recording.navigation()) {
            return path.exists().then_some(path);
        }
        let part = self.complete(recording)?;
        let done = match recording.end {
            Some(_) => part.finish(recording, &path),
            None => part.copy(recording, &path),
        };
        match done {
            Ok(()) => {
                if recording.end.is_some() {
                    self.kept = Some(recording.navigation());
                    self.part = None;
                }
                files.remove_oldest(&path);
                Some(path)
            }
            Err(error) => {
                tracing::warn!("the recording has the last minutes only: {error}");
                self.fail();
                None
            }
        }
    }

    /// Adds what the file of this navigation does not have yet. `None`: there is no such file, or not all of it.
    fn complete(&mut self, recording: &MemoryRecording) -> Option<&mut Part> {
        let part = self.part.as_mut()?;
        if part.navigation != recording.navigation() || !part.has_beginning {
            return None;
        }
        if !recording.messages().reaches(part.messages) {
            return None;
        }
        if let Err(error) = part.append(recording.channels(), recording.messages()) {
            tracing::warn!("the recording has the last minutes only: {error}");
            self.fail();
        }
        self.part.as_mut()
    }

    /// The file, if there is one.
    #[cfg(test)]
    pub(crate) fn path(&self) -> Option<&Path> {
        self.part.as_ref().map(|part| part.path.as_path())
    }

    fn fail(&mut self) {
        self.must_begin = true;
        self.remove();
    }

    fn remove(&mut self) {
        if let Some(part) = self.part.take() {
            // The end of the file, which its drop writes, is of no use.
            drop(part.file);
            let _ = fs::remove_file(part.path);
        }
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        self.remove();
    }
}

impl Part {
    /// Adds the messages that are not there yet.
    fn append(&mut self, channels: &[ChannelInfo], messages: &MessageStore) -> Result<(), String> {
        let mut bytes = 0;
        let mut write = || {
            self.file.add_channels(channels)?;
            for message in messages.since(self.messages) {
                self.file.write(&message)?;
                bytes += message.size();
            }
            self.file.flush()
        };
        write().map_err(|error| self.with_path(&error))?;
        self.messages = messages.position();
        self.bytes += bytes;
        Ok(())
    }

    fn is_full(&self, files: &RecordingFiles) -> bool {
        let size = fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        size > files.max_bytes / 2 || self.bytes > MAX_FILE_CONTENT
    }

    /// Ends the file, and gives it the name of a recording.
    fn finish(&mut self, recording: &MemoryRecording, path: &Path) -> Result<(), String> {
        self.file
            .finish(recording.metadata_of_whole())
            .map_err(|error| self.with_path(&error))?;
        fs::rename(&self.path, path).map_err(|error| self.with_path(&error))
    }

    /// Copies the file, and ends the copy.
    fn copy(&self, recording: &MemoryRecording, path: &Path) -> Result<(), String> {
        let copy = path.with_extension("mcap.part");
        let write = || {
            fs::copy(&self.path, &copy)?;
            let mut file = File::options().append(true).open(&copy)?;
            file.write_all(&end_of_copy(&recording.metadata_of_whole()))?;
            fs::rename(&copy, path)
        };
        write().map_err(|error| {
            let _ = fs::remove_file(&copy);
            self.with_path(&error)
        })
    }

    fn with_path(&self, error: &dyn std::fmt::Display) -> String {
        format!("{}: {error}", self.path.display())
    }
}
