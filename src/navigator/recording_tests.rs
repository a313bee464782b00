//! Tests of recordings: what a navigator records gives the same trace again (guarantee G9).

use std::io::Cursor;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use super::replaced_goal_tests::with_servers;
use super::test_harness::{Rig, bench, load, navigation, registry, request};
use super::{NavigationRecorder, Navigator, NavigatorKind, Options};
use crate::bt::{Random, TreeDef, instance_seed};
use crate::msg::action::{
    BackUp, ComputePathToPose, ComputePathToPoseResult, FollowPath, FollowPathFeedback, Spin, Wait,
};
use crate::msg::service::{ClearEntireCostmap, ClearEntireCostmapResponse};
use crate::msg::{BatteryState, Header, Odometry, Path, Pose, PoseStamped, Stamp, Twist};
use crate::nav::testing::Plan;
use crate::nav::{Settings, World};
use crate::record::event::Event;
use crate::record::part::{PartFile, PartJob, PartProgress};
use crate::record::recorder::{Limits, MemoryRecording, Recorder};
use crate::record::replay::{Replay, StepKind};
use crate::record::stored::{StoredNotice, StoredRecord, VERSION};
use crate::record::story::tell;
use crate::record::stream::Distributor;
use crate::record::{DiskState, FlightRecorder, Occasion, RecordedLink, Recording, RecordingFiles, Stream};

/// A navigator with scripted servers, and its recorder.
struct RecordedRig {
    rig: Rig,
    distributor: Distributor,
    recorder: Recorder,
    done: Vec<MemoryRecording>,
}

impl RecordedRig {
    fn new(settings: Settings, options: Options) -> Self {
        let stream = Stream::default();
        let distributor = stream.distribute();
        let bench = bench();
        let link = RecordedLink::new(bench.link(), stream.clone());
        let world = World::new(Box::new(link), settings);
        let mut navigator = Navigator::new(world, options);
        navigator.record(NavigationRecorder::new(stream, None, DiskState::default()));
        Self {
            rig: Rig::of(bench, navigator),
            distributor,
            recorder: Recorder::new(Limits::default()),
            done: Vec::new(),
        }
    }

    /// Sends a goal of `navigate_to_pose`.
    fn goal_to_pose(&mut self, number: u8, tree: &Arc<TreeDef>, x: f64) {
        let mut request = request(number, tree, &self.rig.clients);
        request.kind = NavigatorKind::ToPose;
        request.poses = vec![PoseStamped::in_frame("map", Pose::planar(x, 0.0, 0.0))];
        let now = self.rig.now();
        self.rig.navigator.goal(request, now);
        self.rig.navigator.hand_over();
    }

    fn take(&mut self) {
        if let Some(batch) = self.distributor.distribute() {
            assert_eq!(batch.lost, 0);
            self.done.extend(self.recorder.take(&batch));
        }
    }

    fn ticks(&mut self, count: usize) {
        for _ in 0..count {
            self.rig.ticks(1);
            self.take();
        }
    }

    /// Ticks until the goal has ended.
    fn finish(&mut self) {
        for _ in 0..3000 {
            self.ticks(1);
            if self.rig.navigator.is_idle() {
                return;
            }
        }
        panic!("the navigation does not end");
    }

    /// The recording of the last navigation, written and read.
    fn recording(&self) -> Recording {
        read(self.done.last().unwrap())
    }
}

fn read(recording: &MemoryRecording) -> Recording {
    Recording::from_bytes(&bytes(recording)).unwrap()
}

fn bytes(recording: &MemoryRecording) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    recording.write(&mut file).unwrap();
    file.into_inner()
}

/// Replays a recording and expects the same trace. Returns the number of steps.
fn replay(recording: &Recording) -> usize {
    let mut replay = Replay::new(recording, registry()).unwrap();
    let mut count = 0;
    while let Some((step, replayed)) = replay.step() {
        count += 1;
        assert_eq!(replay.problems(), [""; 0]);
        if let Some(difference) = replayed.difference {
            panic!("step {} ({:?}): {difference:#?}", step.number, step.kind);
        }
    }
    assert_eq!(recording.damage, None);
    count
}

fn path(x: f64, poses: u32) -> Arc<Path> {
    let poses = (0..=poses).map(|step| Pose::planar(x * f64::from(step) / f64::from(poses), 0.0, 0.0));
    Arc::new(Path::through(Header::in_frame("map"), poses))
}

/// The default tree.
fn default_tree() -> Arc<TreeDef> {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("behavior_trees/navigate_to_pose.xml");
    let registry = registry();
    let loaded = crate::xml::Loader::new(&registry).load_file(&file, None);
    loaded.unwrap_or_else(|refused| panic!("{refused}")).def
}

/// Servers of which the planner and the controller fail at times.
fn add_faulty_servers(rig: &mut Rig, seed: u64) {
    let dice = |instance| {
        let mut random = Random::new(instance_seed(seed, instance));
        move |sides: u64| random.next() % sides
    };
    let (mut roll, mut roll_plan) = (dice(0), dice(1));
    rig.bench
        .action::<ComputePathToPose>("compute_path_to_pose", move |_| match roll_plan(4) {
            0 => Plan::abort(ComputePathToPose::NO_VALID_PATH).after(20),
            1 => Plan::reject(),
            other => Plan::result(ComputePathToPoseResult {
                path: path(2.0, 10 + other as u32),
                ..ComputePathToPoseResult::default()
            })
            .after(20),
        });
    rig.bench.action::<FollowPath>("follow_path", move |_| {
        let plan = match roll(3) {
            0 => Plan::abort(FollowPath::FAILED_TO_MAKE_PROGRESS).after(150),
            1 => Plan::success().after(900),
            _ => Plan::abort(FollowPath::PATIENCE_EXCEEDED).after(300),
        };
        plan.feedback(
            50,
            FollowPathFeedback {
                speed: f32::NAN,
                ..FollowPathFeedback::default()
            },
        )
    });
    rig.bench.action::<Spin>("spin", |_| Plan::success().after(60));
    rig.bench.action::<Wait>("wait", |_| Plan::success().after(40));
    rig.bench
        .action::<BackUp>("backup", |_| Plan::abort(BackUp::TIMEOUT).after(30));
    for costmap in ["global", "local"] {
        let name = format!("{costmap}_costmap/clear_entirely_{costmap}_costmap");
        rig.bench
            .slow_service::<ClearEntireCostmap>(&name, 20, |_| Some(ClearEntireCostmapResponse::default()));
    }
}

fn drive(rig: &mut RecordedRig, tick: u64) {
    let x = tick as f64 * 0.003;
    rig.rig
        .bench
        .transform("map", "base_link", Pose::planar(x, 0.0, 0.1));
    let odometry = Odometry {
        header: Header::new(Stamp::from_nanos(1_000_000 * tick as i64), "odom"),
        twist: Twist::planar(0.3, f64::from(tick as u32 % 7) / 10.0),
        ..Odometry::default()
    };
    rig.rig.bench.publish("odom", odometry);
}

/// The recordings of two navigations with the default tree, while planner and controller fail at times.
pub(crate) fn recordings_with_faults(seed: u64) -> Vec<Vec<u8>> {
    let mut rig = RecordedRig::new(Settings::default(), Options::default());
    add_faulty_servers(&mut rig.rig, seed);
    let tree = default_tree();
    // The second navigation runs in the tree of the first one.
    let navigate = |number| {
        drive(&mut rig, 0);
        rig.goal_to_pose(number, &tree, 3.0);
        for tick in 0..3000 {
            drive(&mut rig, tick);
            rig.ticks(1);
            if rig.rig.navigator.is_idle() {
                break;
            }
        }
        assert!(rig.rig.navigator.is_idle(), "seed {seed}");
        bytes(rig.done.last().unwrap())
    };
    [1, 2].into_iter().map(navigate).collect()
}

#[test]
fn g9_a_recorded_navigation_gives_the_same_trace_again() {
    let (mut total, mut recoveries) = (0, 0);
    for seed in 0..20 {
        for file in recordings_with_faults(seed) {
            let recording = Recording::from_bytes(&file).unwrap();
            let steps = replay(&recording);
            assert!(steps > 10, "{steps}");
            total += steps;
            // The first run of a tree adds the key of the recoveries.
            let story = tell(&recording.navigation, &recording.records).to_string();
            recoveries += usize::from(story.contains("recovery 1 begins"));
        }
    }
    assert!(total > 2000, "{total}");
    assert!(recoveries > 20, "{recoveries} of 40");
}

/// A drive of 20 s with the default tree. The controller gets stuck three times; clearing the costmaps and a spin help.
fn drive_with_recoveries() -> MemoryRecording {
    let mut rig = RecordedRig::new(Settings::default(), Options::default());
    let bench = &mut rig.rig.bench;
    bench.action::<ComputePathToPose>("compute_path_to_pose", |_| {
        Plan::result(ComputePathToPoseResult {
            path: path(6.0, 30),
            ..ComputePathToPoseResult::default()
        })
        .after(80)
    });
    let mut goals = 0;
    bench.action::<FollowPath>("follow_path", move |_| {
        goals += 1;
        match goals {
            1 => Plan::abort(FollowPath::FAILED_TO_MAKE_PROGRESS).after(4200),
            2 | 3 => Plan::abort(FollowPath::PATIENCE_EXCEEDED).after(1600),
            _ => Plan::success().after(6500),
        }
    });
    bench.action::<Spin>("spin", |_| Plan::success().after(2300));
    bench.action::<Wait>("wait", |_| Plan::success().after(1500));
    bench.action::<BackUp>("backup", |_| Plan::abort(BackUp::TIMEOUT).after(900));
    for costmap in ["global", "local"] {
        let name = format!("{costmap}_costmap/clear_entirely_{costmap}_costmap");
        bench.slow_service::<ClearEntireCostmap>(&name, 60, |_| Some(ClearEntireCostmapResponse::default()));
    }
    // By its text: the file is the same on every machine.
    let text = include_str!("../../behavior_trees/navigate_to_pose.xml");
    let registry = registry();
    let loader = crate::xml::Loader::new(&registry);
    let loaded = loader.load_text("navigate_to_pose.xml", text, std::path::Path::new("."), None);
    let tree = loaded.unwrap_or_else(|refused| panic!("{refused}")).def;
    drive(&mut rig, 0);
    rig.goal_to_pose(1, &tree, 6.0);
    for tick in 0..6000 {
        drive(&mut rig, tick);
        rig.ticks(1);
        if rig.rig.navigator.is_idle() {
            break;
        }
    }
    rig.done.pop().unwrap()
}

#[test]
fn g9_a_stored_recording_is_replayed() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("test/recordings/recoveries.mcap");
    if std::env::var_os("NAVTREE_BLESS").is_some() && !file.exists() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, bytes(&drive_with_recoveries())).unwrap();
    }
    let recording = Recording::read(&file).unwrap();
    assert!(replay(&recording) > 1000);
}

#[test]
fn a_changed_input_is_found_as_a_difference() {
    let mut rig = RecordedRig::new(Settings::default(), Options::default());
    add_faulty_servers(&mut rig.rig, 3);
    drive(&mut rig, 0);
    rig.goal_to_pose(1, &default_tree(), 3.0);
    rig.finish();
    let mut recording = rig.recording();
    replay(&recording);
    let is_end = |(_, record): &(_, StoredRecord)| {
        matches!(record, StoredRecord::Notice(StoredNotice::Finished { .. }))
    };
    let first = recording.records.iter().position(is_end).unwrap();
    recording.records.remove(first);
    assert!(differs(&recording));
}

#[test]
fn g9_a_topic_that_is_closed_and_opened_again_is_replayed() {
    let mut rig = RecordedRig::new(Settings::default(), Options::default());
    rig.rig.bench.close_topics_at_once();
    // Each door is read, closed when the other one is read, and opened again without its former message.
    let text = r#"
        <Repeat num_cycles="6">
          <Sequence>
            <Script code="door := door == 'a' ? 'b' : 'a'"/>
            <RosSubscribe topic_name="{door}" message_type="std_msgs/msg/String"/>
            <Wait wait_duration="0.02" server_timeout="1000" server_name="wait"/>
          </Sequence>
        </Repeat>"#;
    rig.rig
        .bench
        .action::<Wait>("wait", |_| Plan::success().after(20));
    let tree = load(
        &registry(),
        &format!("<Sequence><Script code=\"door := 'b'\"/>{text}</Sequence>"),
    );
    rig.rig.goal(1, &tree);
    for tick in 0..200 {
        rig.ticks(1);
        if tick % 10 == 0 {
            let open = ["a", "b"].into_iter().filter(|door| rig.rig.bench.is_open(door));
            for door in open.collect::<Vec<_>>() {
                rig.rig
                    .bench
                    .publish(door, serde_json::json!({"data": format!("{door} {tick}")}));
            }
        }
    }
    let recording = rig.recording();
    let is_door = |(_, record): &&(_, StoredRecord)| matches!(record, StoredRecord::Topic { spec, .. } if &*spec.name == "a");
    assert!(
        recording.records.iter().filter(is_door).count() >= 3,
        "{:#?}",
        recording.records
    );
    assert!(replay(&recording) > 20);
}

/// Whether a replay of a recording differs from it.
fn differs(recording: &Recording) -> bool {
    let mut replay = Replay::new(recording, registry()).unwrap();
    std::iter::from_fn(|| replay.step()).any(|(_, replayed)| replayed.difference.is_some())
}

#[test]
fn the_place_of_a_message_in_its_tick_is_compared_if_the_recording_is_not_older() {
    let mut rig = RecordedRig::new(Settings::default(), Options::default());
    rig.rig = with_servers(rig.rig, Default::default());
    let text = r#"<Sequence><Script code="a := 1"/><RosPublish topic_name="sound" message_type="std_msgs/msg/String"/></Sequence>"#;
    rig.rig.goal(1, &load(&registry(), text));
    rig.finish();
    let mut recording = rig.recording();
    assert!(!differs(&recording));
    // Older versions wrote a message when its leaf published it, or behind the requests of the tick.
    let is_message = |(_, record): &(_, StoredRecord)| matches!(record, StoredRecord::Published { .. });
    let message = recording.records.iter().position(is_message).unwrap();
    let is_tick = |(_, record): &(_, StoredRecord)| matches!(record, StoredRecord::TickBegan);
    let tick = recording.records.iter().position(is_tick).unwrap();
    assert!(tick + 1 < message);
    recording.records[tick + 1..=message].rotate_right(1);
    assert!(differs(&recording));
    recording.navigation.version = VERSION - 1;
    assert!(!differs(&recording));
    recording.records.remove(tick + 1);
    assert!(differs(&recording), "the message itself is compared");
}

#[test]
fn g9_a_replaced_and_a_cancelled_goal_are_replayed() {
    let mut rig = RecordedRig::new(Settings::default(), Options::default());
    rig.rig = with_servers(rig.rig, Default::default());
    let tree = load(
        &registry(),
        r#"<PipelineSequence>
             <RateController hz="10"><ComputePathThroughPoses goals="{goals}" path="{path}"/></RateController>
             <FollowPath path="{path}"/>
           </PipelineSequence>"#,
    );
    rig.rig.goal(1, &tree);
    rig.ticks(5);
    let mut newer = request(2, &tree, &rig.rig.clients);
    newer.poses = vec![PoseStamped::in_frame("map", Pose::planar(2.0, 0.0, 0.0))];
    let now = rig.rig.now();
    rig.rig.navigator.goal(newer, now);
    rig.rig.navigator.hand_over();
    rig.ticks(8);
    let now = rig.rig.now();
    rig.rig.navigator.cancel(navigation(2), now);
    rig.rig.navigator.hand_over();
    rig.finish();
    let recording = rig.recording();
    replay(&recording);
    let replaced = |(_, record): &&(_, StoredRecord)| matches!(record, StoredRecord::Replaced { .. });
    assert_eq!(recording.records.iter().filter(replaced).count(), 1);
    assert_eq!(recording.metadata["status"], "Canceled");
}

#[test]
fn g9_topics_transforms_and_state_from_before_are_replayed() {
    let mut rig = RecordedRig::new(Settings::default(), Options::default());
    rig.rig = with_servers(rig.rig, Default::default());
    rig.rig.bench.publish("battery_status", BatteryState::default());
    let tree = load(
        &registry(),
        r#"<Sequence>
             <Script code="runs := 1"/>
             <ForceSuccess><IsBatteryLow min_battery="0.5" battery_topic="battery_status"/></ForceSuccess>
             <ForceSuccess><PathLongerOnApproach path="{path}"><AlwaysFailure/></PathLongerOnApproach></ForceSuccess>
             <Random><Script code="drawn := 1"/><Script code="drawn := 2"/></Random>
             <ForceSuccess><DistanceTraveled distance="0.1"/></ForceSuccess>
             <ForceSuccess><IsStuck/></ForceSuccess>
             <Wait wait_duration="1.0"/>
           </Sequence>"#,
    );
    for number in 1..6 {
        rig.rig.goal(number, &tree);
        drive(&mut rig, u64::from(number) * 40);
        let battery = BatteryState {
            percentage: f32::from(number) / 6.0,
            ..BatteryState::default()
        };
        rig.rig.bench.publish("battery_status", battery);
        rig.finish();
        replay(&rig.recording());
    }
}

/// The file of a navigation with faults.
fn recorded_with_faults() -> Vec<u8> {
    let mut rig = RecordedRig::new(Settings::default(), Options::default());
    add_faulty_servers(&mut rig.rig, 1);
    drive(&mut rig, 0);
    rig.goal_to_pose(1, &default_tree(), 3.0);
    rig.finish();
    bytes(rig.done.last().unwrap())
}

#[test]
fn a_recording_that_is_cut_off_is_read_up_to_there() {
    let whole = recorded_with_faults();
    let all = Recording::from_bytes(&whole).unwrap();
    assert!(all.damage.is_none());
    let mut counts = Vec::new();
    for part in 1..20 {
        // Neither a panic nor other records than the first ones.
        if let Ok(cut) = Recording::from_bytes(&whole[..whole.len() * part / 20]) {
            // Only the index behind the records may be missing without damage to them.
            assert!(cut.damage.is_some() || cut.records == all.records);
            assert!(all.records.starts_with(&cut.records));
            assert!(!cut.files.is_empty());
            counts.push(cut.records.len());
        }
    }
    assert!(counts.is_sorted(), "{counts:?}");
    assert!(Recording::from_bytes(b"not a recording").is_err());
    assert!(Recording::from_bytes(&[]).is_err());
}

/// A file of records, written by this test.
fn mcap_of(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    let options = mcap::WriteOptions::new().compression(Some(mcap::Compression::Zstd));
    let mut writer = options.create(&mut file).unwrap();
    let channel = writer
        .add_channel(0, "/navtree/records", "msgpack", &Default::default())
        .unwrap();
    for data in messages {
        let header = mcap::records::MessageHeader {
            channel_id: channel,
            sequence: 0,
            log_time: 0,
            publish_time: 0,
        };
        writer.write_to_known_channel(&header, data).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    file.into_inner()
}

#[test]
fn a_damaged_recording_neither_panics_nor_takes_memory_nor_time() {
    let whole = recorded_with_faults();
    // A length of 2^63 in each place where a length can be.
    for place in (0..whole.len()).step_by(whole.len() / 100 + 1) {
        for value in [0_u8, 0x7f, 0xff] {
            let mut damaged = whole.clone();
            let end = (place + 8).min(whole.len());
            damaged[place..end].fill(value);
            let _ = Recording::from_bytes(&damaged);
        }
    }
    // The records themselves: the checksums of the file do not protect them from their author.
    let all = Recording::from_bytes(&whole).unwrap();
    let beginning = all
        .records
        .iter()
        .position(|(_, record)| matches!(record, StoredRecord::Began(_)));
    let (head, rest) = all.records.split_at(beginning.unwrap() + 1);
    let records = rmp_serde::to_vec_named(rest).unwrap();
    for place in (0..records.len()).step_by(records.len() / 40 + 1) {
        let mut damaged = records.clone();
        damaged[place] = damaged[place].wrapping_add(0x81);
        let file = mcap_of(&[rmp_serde::to_vec_named(head).unwrap(), damaged]);
        let Ok(mut recording) = Recording::from_bytes(&file) else {
            continue;
        };
        recording.files.clone_from(&all.files);
        let _ = tell(&recording.navigation, &recording.records).to_string();
        if let Ok(mut replay) = Replay::new(&recording, registry()) {
            while replay.step().is_some() {}
        }
    }
    // Nothing but nested lists, and lists that claim to be long.
    for data in [
        vec![0x91; 1 << 20],
        vec![0xdd, 0xff, 0xff, 0xff, 0xff],
        vec![0xdf, 0xff, 0xff, 0xff, 0xff],
    ] {
        assert!(Recording::from_bytes(&mcap_of(&[data])).is_err());
    }
}

#[test]
fn a_full_disk_leaves_the_recording_from_before() {
    let mut rig = RecordedRig::new(Settings::default(), Options::default());
    add_faulty_servers(&mut rig.rig, 1);
    drive(&mut rig, 0);
    rig.goal_to_pose(1, &default_tree(), 3.0);
    rig.finish();
    let recording = rig.done.last().unwrap();
    let directory = std::env::temp_dir().join(format!("navtree-full-disk-{}", std::process::id()));
    let files = RecordingFiles {
        directory: directory.clone(),
        max_files: 3,
        max_bytes: 1 << 30,
    };
    let path = files.write(recording).unwrap();
    let before = std::fs::read(&path).unwrap();
    let part = path.with_extension("mcap.part");
    std::os::unix::fs::symlink("/dev/full", &part).unwrap();
    let error = files.write(recording).unwrap_err();
    assert!(error.contains("No space left"), "{error}");
    assert!(std::fs::symlink_metadata(&part).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), before);
    std::fs::remove_dir_all(&directory).unwrap();
    // The directory cannot be made.
    let files = RecordingFiles {
        directory: "/dev/null/recordings".into(),
        ..files
    };
    assert!(files.write(recording).is_err());
}

/// Waits until a file is there.
fn wait_for_file(path: &std::path::Path) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !path.exists() {
        assert!(
            std::time::Instant::now() < end,
            "{} is not written",
            path.display()
        );
        std::thread::yield_now();
    }
}

#[test]
fn a_failed_navigation_is_written_and_named_in_its_result() {
    let directory = std::env::temp_dir().join(format!("navtree-failed-{}", std::process::id()));
    let files = RecordingFiles {
        directory: directory.clone(),
        max_files: 3,
        max_bytes: 1 << 30,
    };
    let mut rig = RecordedRig::new(Settings::default(), Options::default());
    let stream = Stream::default();
    let (recorder, _) = FlightRecorder::new(&stream, Limits::default(), files.clone(), Occasion::Failure);
    let link = RecordedLink::new(rig.rig.bench.link(), stream.clone());
    let world = World::new(Box::new(link), Settings::default());
    rig.rig.navigator = Navigator::new(world, Options::default());
    rig.rig.navigator.record(NavigationRecorder::new(
        stream.clone(),
        Some(files),
        recorder.disk(),
    ));
    let tree = load(
        &registry(),
        r#"<Sequence><Sleep msec="50"/><AlwaysFailure/></Sequence>"#,
    );
    for number in [1, 2] {
        rig.rig.goal(number, &tree);
        rig.rig.ticks(20);
        let (_, report) = rig.rig.reports.try_recv().unwrap();
        let (_, path) = report.error_message.split_once("recording: ").unwrap();
        recorder.look();
        wait_for_file(path.as_ref());
        assert!(replay(&Recording::read(path.as_ref()).unwrap()) > 3);
    }
    // A request after the end writes the last one again.
    let (reply, replies) = channel();
    recorder.save_handle().save(move |path| drop(reply.send(path)));
    recorder.look();
    let saved = replies
        .recv_timeout(std::time::Duration::from_secs(20))
        .unwrap()
        .unwrap();
    assert_eq!(Recording::read(&saved).unwrap().metadata["status"], "Aborted");
    recorder.finish();
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 2);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_result_names_no_recording_whose_beginning_or_end_is_lost() {
    let names_recording = |is_full_at_begin: bool, is_full_at_end: bool| {
        let mut rig = Rig::new();
        let files = RecordingFiles {
            directory: std::env::temp_dir(),
            max_files: 3,
            max_bytes: 1 << 30,
        };
        let stream = Stream::with_capacity(1000);
        let mut distributor = stream.distribute();
        let fill = |is_full: bool| while is_full && stream.write(Event::TickBegan) {};
        let disk = DiskState::default();
        rig.navigator
            .record(NavigationRecorder::new(stream.clone(), Some(files), disk));
        fill(is_full_at_begin);
        let text = r#"<Sequence><Sleep msec="50"/><AlwaysFailure/></Sequence>"#;
        rig.goal(1, &load(&registry(), text));
        distributor.distribute();
        fill(is_full_at_end);
        rig.ticks(20);
        rig.report().1.error_message.contains("recording: ")
    };
    assert!(names_recording(false, false));
    assert!(!names_recording(true, false), "the beginning is lost");
    assert!(!names_recording(false, true), "the end is lost");
}

#[test]
fn the_limits_of_the_recorder_drop_the_oldest_ticks_and_say_so() {
    let mut rig = RecordedRig::new(Settings::default(), Options::default());
    rig.recorder = Recorder::new(Limits {
        bytes: 4000,
        ..Limits::default()
    });
    add_faulty_servers(&mut rig.rig, 1);
    drive(&mut rig, 0);
    rig.goal_to_pose(1, &default_tree(), 3.0);
    rig.finish();
    let recording = rig.recording();
    assert_eq!(recording.metadata["complete"], "false");
    let error = Replay::new(&recording, registry()).err().unwrap();
    assert!(error.to_string().contains("recorder_megabytes"), "{error}");
    let ends = recording
        .records
        .iter()
        .any(|(_, record)| matches!(record, StoredRecord::Ended { .. }));
    assert!(ends, "the end is what matters");
}

#[test]
fn another_tree_runs_up_to_what_was_not_recorded() {
    let mut rig = RecordedRig::new(Settings::default(), Options::default());
    rig.rig = with_servers(rig.rig, Default::default());
    let tree = |text: &str| load(&registry(), text);
    let recorded = tree(r#"<Sequence><Wait wait_duration="1.0"/><Script code="a := 1"/></Sequence>"#);
    rig.rig.goal(1, &recorded);
    rig.finish();
    let recording = rig.recording();
    let run = |text: &str| {
        let mut replay = Replay::with_tree(&recording, registry(), |_| Ok(tree(text))).unwrap();
        let mut statuses = Vec::new();
        while let Some((step, replayed)) = replay.step() {
            if let Some(question) = replayed.unrecorded {
                return (statuses, Some(question));
            }
            if step.kind == StepKind::Tick {
                statuses.extend(replayed.trace.iter().find_map(|record| match record {
                    StoredRecord::TickEnded(status) => Some(status.letter()),
                    _ => None,
                }));
            }
        }
        (statuses, None)
    };
    let (statuses, question) = run(r#"<Sequence><Wait wait_duration="1.0"/><AlwaysFailure/></Sequence>"#);
    assert_eq!(question, None);
    assert_eq!(statuses.last(), Some(&'F'));
    assert!(statuses.len() > 3, "{statuses:?}");
    let (_, question) = run(r#"<Sequence><Wait wait_duration="2.0"/><AlwaysFailure/></Sequence>"#);
    assert_eq!(question.as_deref(), Some("a goal for `wait`"));
    let (statuses, question) = run(r#"<Fallback><AlwaysFailure/><Wait wait_duration="1.0"/></Fallback>"#);
    assert_eq!((statuses.last(), question), (Some(&'S'), None));
}

/// The error message of a goal that fails, or that another goal with another tree replaces.
fn message_of_end(disk: DiskState, is_replaced: bool) -> String {
    let files = RecordingFiles {
        directory: "recordings".into(),
        max_files: 3,
        max_bytes: 1 << 30,
    };
    let stream = Stream::default();
    // A reader: without one nothing is recorded.
    let distributor = stream.distribute();
    let _subscription = distributor.subscribe();
    let mut rig = RecordedRig::new(Settings::default(), Options::default());
    rig.rig
        .navigator
        .record(NavigationRecorder::new(stream, Some(files), disk));
    let failing = load(
        &registry(),
        r#"<Sequence><Sleep msec="50"/><AlwaysFailure/></Sequence>"#,
    );
    rig.rig.goal(1, &failing);
    if is_replaced {
        rig.rig.ticks(1);
        rig.rig.goal(2, &load(&registry(), "<AlwaysSuccess/>"));
    }
    rig.rig.ticks(20);
    rig.rig.reports.try_recv().unwrap().1.error_message
}

#[test]
fn a_result_names_a_recording_only_if_it_will_be_written() {
    assert!(message_of_end(DiskState::default(), false).contains("recording: recordings/"));
    assert_eq!(
        message_of_end(DiskState::default(), true),
        "replaced by a newer goal"
    );
    let disk = DiskState::default();
    disk.set_failed(true);
    assert!(!message_of_end(disk, false).contains("recording"));
}

#[test]
fn a_directory_without_write_permission_is_noticed_at_the_start() {
    // A file in place of the directory: root may write everywhere else.
    let path = std::env::temp_dir().join(format!("navtree-no-directory-{}", std::process::id()));
    std::fs::write(&path, "").unwrap();
    let files = RecordingFiles {
        directory: path.clone(),
        max_files: 3,
        max_bytes: 1 << 30,
    };
    let (recorder, _) = FlightRecorder::new(&Stream::default(), Limits::default(), files, Occasion::Failure);
    let disk = recorder.disk();
    recorder.finish();
    assert!(disk.has_failed());
    std::fs::remove_file(&path).unwrap();
}

/// A robot that drives for 3,000 ticks.
fn driving_rig() -> RecordedRig {
    let mut rig = RecordedRig::new(Settings::default(), Options::default());
    let bench = &mut rig.rig.bench;
    bench.action::<ComputePathToPose>("compute_path_to_pose", |_| {
        Plan::result(ComputePathToPoseResult {
            path: path(2.0, 10),
            ..ComputePathToPoseResult::default()
        })
    });
    bench.action::<FollowPath>("follow_path", |_| Plan::success().after(30_000));
    drive(&mut rig, 0);
    rig.goal_to_pose(1, &default_tree(), 3.0);
    rig
}

/// A folder for recordings.
fn folder(name: &str, max_bytes: u64) -> RecordingFiles {
    RecordingFiles {
        directory: std::env::temp_dir().join(format!("navtree-{name}-{}", std::process::id())),
        max_files: 3,
        max_bytes,
    }
}

#[test]
fn a_killed_process_leaves_the_navigation_up_to_there() {
    let files = folder("part", 1 << 30);
    let mut rig = driving_rig();
    let (mut file, mut progress) = (PartFile::default(), PartProgress::default());
    for tick in 0..4 {
        drive(&mut rig, tick);
        rig.ticks(10);
        assert!(rig.recorder.is_recording(), "{:?}", rig.done);
        let (job, after) = progress.next(&rig.recorder, None).unwrap();
        file.take(job, &files).unwrap();
        progress = after;
        // What the disk has is what a killed process leaves.
        let left = Recording::read(file.path().unwrap()).unwrap();
        assert!(left.damage.is_some());
        let ticked = |(_, record): &&(_, StoredRecord)| matches!(record, StoredRecord::TickEnded(_));
        let whole = Recording::from_bytes(&bytes(&rig.recorder.snapshot().unwrap())).unwrap();
        let ticks = left.records.iter().filter(ticked).count();
        assert_eq!(ticks, whole.records.iter().filter(ticked).count());
        assert!(tell(&left.navigation, &left.records).end.contains("still runs"));
        assert!(progress.next(&rig.recorder, None).is_none());
    }
    rig.finish();
    let path = file.path().unwrap().to_owned();
    let (job, after) = progress.next(&rig.recorder, None).unwrap();
    file.take(job, &files).unwrap();
    assert!(!path.exists() && !after.has_file());
    std::fs::remove_dir_all(&files.directory).unwrap();
}

#[test]
fn g9_a_navigation_that_the_memory_cannot_hold_is_replayed_from_its_file() {
    let files = folder("long", 1 << 30);
    let mut rig = driving_rig();
    rig.recorder = Recorder::new(Limits {
        duration: Duration::from_secs(2),
        ..Limits::default()
    });
    let (mut file, mut progress) = (PartFile::default(), PartProgress::default());
    let mut tick = 0;
    while !rig.rig.navigator.is_idle() {
        drive(&mut rig, tick);
        rig.ticks(1);
        tick += 1;
        if tick.is_multiple_of(100)
            && let Some((job, after)) = progress.next(&rig.recorder, None)
        {
            file.take(job, &files).unwrap();
            progress = after;
        }
        if tick == 1000 {
            // On request, while the navigation runs.
            let snapshot = rig.recorder.snapshot().unwrap();
            assert!(!snapshot.is_complete());
            let copy = Recording::read(&file.keep(&snapshot, &files).unwrap()).unwrap();
            assert_eq!(copy.metadata["complete"], "true");
            assert!(replay(&copy) > 990);
        }
    }
    let done = Arc::new(rig.done.pop().unwrap());
    assert!(!done.is_complete());
    let (job, _) = progress.next(&rig.recorder, Some(&done)).unwrap();
    file.take(job, &files).unwrap();
    // A request after the end.
    let path = file.keep(&done, &files).unwrap();
    let recording = Recording::read(&path).unwrap();
    assert_eq!(recording.metadata["status"], "Succeeded");
    assert!(replay(&recording) > 3000);
    // Another one.
    assert_eq!(file.keep(&done, &files), Some(path));
    assert_eq!(std::fs::read_dir(&files.directory).unwrap().count(), 1);
    std::fs::remove_dir_all(&files.directory).unwrap();
}

#[test]
fn the_file_of_a_navigation_that_runs_is_bounded() {
    let files = folder("bounded", 40_000);
    let mut rig = driving_rig();
    rig.recorder = Recorder::new(Limits {
        duration: Duration::from_secs(1),
        ..Limits::default()
    });
    let (mut file, mut progress) = (PartFile::default(), PartProgress::default());
    let mut begun = 0;
    for tick in 0..1500 {
        drive(&mut rig, tick);
        rig.ticks(1);
        if tick % 50 == 49
            && let Some((job, after)) = progress.next(&rig.recorder, None)
        {
            begun += u32::from(matches!(job, PartJob::Begin(_)));
            file.take(job, &files).unwrap();
            progress = if file.take_must_begin() {
                PartProgress::default()
            } else {
                after
            };
            let size = std::fs::metadata(file.path().unwrap()).unwrap().len();
            assert!(size < 40_000, "{size}");
        }
    }
    assert!(begun > 1, "{begun}");
    // Its beginning is gone, so the memory is as good.
    assert_eq!(file.keep(&rig.recorder.snapshot().unwrap(), &files), None);
    std::fs::remove_dir_all(&files.directory).unwrap();
}
