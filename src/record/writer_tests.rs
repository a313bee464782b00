//! Tests with a disk that is slow: a named pipe in place of a file, which nobody reads.

use std::path::Path;
use std::process::Command;

use super::super::event::{Event, Navigation};
use super::super::recorder::{Limits, Recorder};
use super::super::stream::Stream;
use std::sync::mpsc;

use super::*;
use crate::bt::builder::leaf;
use crate::bt::testing::Scene;

const TIMEOUT: Duration = Duration::from_secs(20);

/// A folder of its own, which is removed with this.
struct Folder(RecordingFiles);

impl Folder {
    fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("navtree-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        Self(RecordingFiles {
            directory,
            max_files: 1,
            max_bytes: 1 << 30,
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0.directory);
    }
}

/// The recording of a navigation that runs.
fn recording() -> MemoryRecording {
    let mut tree = Scene::new(leaf("AlwaysSuccess")).compile().unwrap();
    let stream = Stream::default();
    let mut distributor = stream.distribute();
    let _subscription = distributor.subscribe();
    stream.write(Event::Began(Box::new(Navigation::of_tree(&mut tree))));
    let mut recorder = Recorder::new(Limits::default());
    recorder.take(&distributor.distribute().unwrap());
    recorder.snapshot().unwrap()
}

fn begin(recording: &MemoryRecording) -> PartJob {
    PartJob::Begin(Box::new(recording.clone()))
}

/// Waits until a part can be passed on.
fn pass_on(writer: &Writer, recording: &MemoryRecording) {
    let deadline = std::time::Instant::now() + TIMEOUT;
    while !writer.write_part(begin(recording)) {
        assert!(std::time::Instant::now() < deadline);
        std::thread::yield_now();
    }
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_slow_part_does_not_refuse_the_recording_of_the_end() {
    let folder = Folder::new("slow-part");
    let recording = recording();
    let [_, begun] = folder.0.part_paths(&recording);
    make_pipe(&begun);
    let writer = Writer::new(folder.0.clone(), DiskState::default());
    assert!(writer.write_part(begin(&recording)));
    assert!(!writer.write_part(begin(&recording)), "at most one part");
    let (sender, replies) = mpsc::channel();
    let reply = || -> Reply {
        let sender = sender.clone();
        Box::new(move |written| sender.send(written).unwrap())
    };
    let recording = Arc::new(recording);
    writer.write(&recording, reply());
    assert!(replies.try_recv().is_err(), "the recording waits");
    writer.write(&recording, reply());
    assert!(replies.try_recv().unwrap().is_err(), "one waits, not two");
    let _read = std::fs::read(&begun);
    let path = replies.recv_timeout(TIMEOUT).unwrap().unwrap();
    assert!(path.exists());
    writer.finish();
}

#[test]
fn a_failed_part_is_told_once() {
    let folder = Folder::new("failed-part");
    let recording = recording();
    let [path, begun] = folder.0.part_paths(&recording);
    std::os::unix::fs::symlink("/dev/full", &begun).unwrap();
    let writer = Writer::new(folder.0.clone(), DiskState::default());
    assert!(!writer.take_part_must_begin());
    pass_on(&writer, &recording);
    // The failed attempt has removed the link to the full disk.
    pass_on(&writer, &recording);
    assert!(writer.take_part_must_begin());
    assert!(!writer.take_part_must_begin());
    pass_on(&writer, &recording);
    assert!(path.exists());
    writer.finish();
}
