//! Tests with a disk that is slow: a named pipe in place of a file, which nobody reads.

use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use super::super::event::{End, Event, Navigation};
use super::super::flight_recorder::{FlightRecorder, Occasion};
use super::super::recorder::{Limits, Recorder};
use super::super::stream::Stream;
use super::*;
use crate::bt::builder::leaf;
use crate::bt::testing::Scene;
use crate::goal::{GoalId, TerminalStatus};
use crate::msg::Stamp;

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

/// Returns whether the part was passed on.
fn write_part(writer: &Writer, recording: &MemoryRecording) -> bool {
    writer.write_part(|| Some((begin(recording), ()))).is_some()
}

/// Waits until a part can be passed on.
fn pass_on(writer: &Writer, recording: &MemoryRecording) {
    pass_on_job(writer, || begin(recording));
}

fn pass_on_job(writer: &Writer, job: impl Fn() -> PartJob) {
    wait_until("the place is free", || {
        writer.write_part(|| Some((job(), ()))).is_some()
    });
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + TIMEOUT;
    while !holds() {
        assert!(std::time::Instant::now() < deadline, "not in time: {what}");
        thread::yield_now();
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
    assert!(write_part(&writer, &recording));
    let second =
        writer.write_part(|| -> Option<(PartJob, ())> { panic!("it copies the recording for nothing") });
    assert!(second.is_none(), "at most one part");
    let (sender, replies) = mpsc::channel();
    let reply = || -> Reply {
        let sender = sender.clone();
        Box::new(move |written| sender.send(written).unwrap())
    };
    let recording = Arc::new(recording);
    assert!(writer.write(&recording, reply()).is_ok());
    assert!(replies.try_recv().is_err(), "the recording waits");
    assert!(writer.write(&recording, reply()).is_err(), "one waits, not two");
    let _read = std::fs::read(&begun);
    let path = replies.recv_timeout(TIMEOUT).unwrap().unwrap();
    assert!(path.exists());
    writer.finish();
}

#[test]
fn g8_no_result_names_a_recording_while_the_disk_is_full() {
    let folder = Folder::new("full-disk");
    let recording = recording();
    let [_, begun] = folder.0.part_paths(&recording);
    std::os::unix::fs::symlink("/dev/full", &begun).unwrap();
    let disk = DiskState::default();
    let writer = Writer::new(folder.0.clone(), disk.clone());
    pass_on(&writer, &recording);
    wait_until("the disk has failed", || disk.has_failed());
    writer.finish();
}

#[test]
fn probes_of_the_robots_of_a_process_do_not_disturb_one_another() {
    let folder = Folder::new("probes");
    let files = &folder.0;
    let probe_often = || (0..300).try_for_each(|_| files.probe());
    thread::scope(|scope| {
        let robots = [0; 4].map(|_| scope.spawn(probe_often));
        for robot in robots {
            assert_eq!(robot.join().unwrap(), Ok(()));
        }
    });
    assert_eq!(std::fs::read_dir(&files.directory).unwrap().count(), 0);
}

/// Writes the records of a failed navigation. Returns the path of its recording.
fn fail(stream: &Stream, files: &RecordingFiles, number: u8) -> PathBuf {
    let mut tree = Scene::new(leaf("AlwaysFailure")).compile().unwrap();
    let mut navigation = Navigation::of_tree(&mut tree);
    navigation.goal = GoalId([number; 16]);
    let path = files.path(navigation.action, navigation.goal, navigation.stamp);
    stream.write(Event::Began(Box::new(navigation)));
    stream.write(Event::Ended(Box::new(End {
        goal: GoalId([number; 16]),
        first_goal: GoalId([number; 16]),
        status: TerminalStatus::Aborted,
        has_failed: true,
        error_code: 0,
        error_message: String::new(),
    })));
    path
}

#[test]
fn navigations_that_fail_together_are_all_written() {
    for ends_at_once in [false, true] {
        let mut folder = Folder::new("together");
        folder.0.max_files = 10;
        let stream = Stream::default();
        let (recorder, _) =
            FlightRecorder::new(&stream, Limits::default(), folder.0.clone(), Occasion::Failure);
        let slow = folder.0.path("navigate_to_pose", GoalId([1; 16]), Stamp::ZERO);
        let pipe = slow.with_extension("mcap.part");
        make_pipe(&pipe);
        let paths = [1, 2, 3].map(|number| fail(&stream, &folder.0, number));
        recorder.look();
        let reader = thread::spawn(move || std::fs::read(pipe));
        if ends_at_once {
            recorder.finish();
        }
        // The first file is a pipe, which is of no use afterwards.
        wait_until(&format!("{paths:?} exist"), || {
            recorder.look();
            paths[1..].iter().all(|path| path.exists())
        });
        reader.join().unwrap().unwrap();
    }
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

#[test]
fn after_a_panic_of_a_part_the_file_begins_again() {
    let folder = Folder::new("panic-part");
    let recording = recording();
    let writer = Writer::new(folder.0.clone(), DiskState::default());
    pass_on(&writer, &recording);
    pass_on_job(&writer, || PartJob::Panic);
    // The place is free, and the recorder is told.
    wait_until("the file begins again", || writer.take_part_must_begin());
    pass_on(&writer, &recording);
    writer.finish();
    let [path, _] = folder.0.part_paths(&recording);
    assert!(path.exists() && !writer.take_part_must_begin());
}
