//! The file of the navigation that runs. If the process is killed, it remains, and can be read up to there.
//!
//! The recorder decides what is added ([`PartProgress`]); the thread of the writer writes it ([`PartFile`]). The
//! file is removed when the navigation ends: a recording that is wanted is then written as a whole, from the memory.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::PathBuf;

use super::file::{ChannelInfo, McapFile, Message};
use super::files::RecordingFiles;
use super::recorder::{MemoryRecording, Recorder};
use crate::goal::GoalId;
use crate::msg::Stamp;

/// What is to be done with the file.
#[derive(Debug)]
pub(crate) enum PartJob {
    /// Write it from its beginning on.
    Begin(Box<MemoryRecording>),
    /// Add messages, and the channels that they need: all of the recording, in order.
    Append(Vec<ChannelInfo>, Vec<Message>),
    /// Remove it.
    End,
}

/// How much of the current navigation is in its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PartProgress(Option<Written>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Written {
    navigation: (GoalId, Stamp),
    /// Number of messages since the beginning of the navigation.
    messages: u64,
    /// Number of names. The file begins with them, so it is written again when there are more: in the first seconds.
    names: usize,
    is_complete: bool,
    /// Bytes added since the file was written from its beginning on.
    added: usize,
}

impl PartProgress {
    /// Whether there is a file.
    pub(crate) fn has_file(&self) -> bool {
        self.0.is_some()
    }

    /// The next job, and the progress after it; `None` if there is nothing to do. A file that has grown by `max_bytes` is
    /// written again with what the recorder still has, so its size is bounded.
    pub(crate) fn next(&self, recorder: &Recorder, max_bytes: usize) -> Option<(PartJob, Self)> {
        let Some(current) = recorder.current() else {
            return self.has_file().then_some((PartJob::End, Self(None)));
        };
        let now = Written {
            navigation: (current.goal_id, current.began),
            messages: current.position(),
            names: recorder.names_count(),
            is_complete: current.lost == 0,
            added: 0,
        };
        if let Some(before) = self.0
            && (before.navigation, before.names, before.is_complete)
                == (now.navigation, now.names, now.is_complete)
            && let Some(messages) = current.messages_since(before.messages)
        {
            let added = before.added + messages.iter().map(Message::size).sum::<usize>();
            if messages.is_empty() {
                return None;
            }
            if added <= max_bytes {
                let after = Written { added, ..now };
                return Some((
                    PartJob::Append(current.channels().to_vec(), messages),
                    Self(Some(after)),
                ));
            }
        }
        let recording = recorder.snapshot()?;
        Some((PartJob::Begin(Box::new(recording)), Self(Some(now))))
    }
}

/// The file. It is removed when this is dropped.
#[derive(Default)]
pub(crate) struct PartFile(Option<(PathBuf, McapFile<BufWriter<File>>)>);

impl PartFile {
    /// Does a job. If that fails, the file is removed, and no more is added until it begins again.
    ///
    /// # Errors
    /// The reason.
    pub(crate) fn take(&mut self, job: PartJob, files: &RecordingFiles) -> Result<(), String> {
        let done = match job {
            PartJob::Begin(recording) => self.begin(&recording, files),
            PartJob::Append(channels, messages) => self.append(&channels, &messages),
            PartJob::End => {
                self.remove();
                Ok(())
            }
        };
        if done.is_err() {
            self.remove();
        }
        done
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
                if self.0.as_ref().is_some_and(|(before, _)| *before != path) {
                    self.remove();
                }
                self.0 = Some((path, file));
                Ok(())
            }
            Err(error) => {
                let _ = fs::remove_file(&begun);
                Err(with_path(&error))
            }
        }
    }

    fn append(&mut self, channels: &[ChannelInfo], messages: &[Message]) -> Result<(), String> {
        let Some((path, file)) = &mut self.0 else {
            return Ok(());
        };
        let mut write = || {
            file.add_channels(channels)?;
            messages.iter().try_for_each(|message| file.write(message))?;
            file.flush()
        };
        write().map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The file, if there is one.
    #[cfg(test)]
    pub(crate) fn path(&self) -> Option<&std::path::Path> {
        self.0.as_ref().map(|(path, _)| path.as_path())
    }

    fn remove(&mut self) {
        if let Some((path, file)) = self.0.take() {
            // The end of the file, which its drop writes, is of no use.
            drop(file);
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        self.remove();
    }
}
