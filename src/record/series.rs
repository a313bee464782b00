//! The channels of a recording that Foxglove, PlotJuggler and other tools show without knowing navtree: ROS messages
//! with their definitions.
//!
//! | channel | message | when |
//! |---|---|---|
//! | `/behavior_tree_log` | `nav2_msgs/msg/BehaviorTreeLog` | as published |
//! | `/navtree/statuses` | one number for each node: 0 idle, 1 running, 2 success, 3 failure | at each tick with a change |
//! | `/navtree/tick` | duration of the tick, distance remaining, recoveries, missed ticks | at each tick |
//! | `/navtree/pose` | `geometry_msgs/msg/PoseStamped`: the robot | when the tree or the navigator asked for it |
//! | `/navtree/goal` | `geometry_msgs/msg/PoseStamped`: the last pose of the goal | at the beginning, and when it is replaced |
//! | `/navtree/path` | `nav_msgs/msg/Path` | when a node writes it |

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use super::cdr::Cdr;
use super::event::{Event, Navigation, Record};
use super::file::ChannelInfo;
use crate::bt::{ScopeId, SlotId, Value};
use crate::msg::{BehaviorTreeLog, Header, Path, PoseStamped};

/// The key of the number of recoveries.
pub(super) const RECOVERIES: &str = "number_recoveries";

const TREE_LOG: usize = 0;
const STATUSES: usize = 1;
const TICK: usize = 2;
const POSE: usize = 3;
const GOAL: usize = 4;
const PATH: usize = 5;

/// Makes the messages of these channels.
#[derive(Clone, Debug)]
pub(super) struct Series {
    channels: Vec<ChannelInfo>,
    statuses: Vec<u8>,
    has_changes: bool,
    path_key: String,
    path_slot: Option<SlotId>,
    recoveries_slot: Option<SlotId>,
    frames: [String; 2],
    /// The numbers of the frames of the robot's pose.
    robot_frames: Vec<u16>,
    robot: Option<PoseStamped>,
    path: Option<Arc<Path>>,
    recoveries: i32,
}

impl Series {
    pub(super) fn new(navigation: &Navigation) -> Self {
        Self {
            channels: channels(&statuses_definition(navigation)),
            statuses: vec![0; navigation.tree.len()],
            has_changes: true,
            path_key: navigation.keys.path.clone(),
            path_slot: navigation.slot(&navigation.keys.path),
            recoveries_slot: navigation.slot(RECOVERIES),
            frames: [
                navigation.settings.global_frame.clone(),
                navigation.settings.robot_base_frame.clone(),
            ],
            robot_frames: Vec::new(),
            robot: None,
            path: None,
            recoveries: 0,
        }
    }

    pub(super) fn channels(&self) -> &[ChannelInfo] {
        &self.channels
    }

    /// Takes the names of frames, also those from before the navigation.
    pub(super) fn note_frames(&mut self, info: &super::event::FramesInfo) {
        if *info.target == *self.frames[0] && *info.source == *self.frames[1] {
            self.robot_frames.push(info.frames);
        }
    }

    /// The messages of a record, each with the index of its channel.
    pub(super) fn messages(&mut self, record: &Record) -> Vec<(usize, Vec<u8>)> {
        match &record.event {
            Event::Began(navigation) => goal(navigation.poses.last()),
            Event::Replaced(replacement) => goal(replacement.poses.last()),
            Event::Changed { node, to, .. } => {
                if let Some(status) = self.statuses.get_mut(node.index()) {
                    *status = *to as u8;
                    self.has_changes = true;
                }
                Vec::new()
            }
            Event::TickEnded(_) | Event::TickFailed(_) | Event::HaltEnded => self.statuses(),
            Event::Key(key) => {
                self.note_key(key.0, key.1, &key.2);
                Vec::new()
            }
            Event::Wrote { slot, value, .. } => self.written(*slot, value.as_ref()),
            Event::Transform {
                frames,
                at: None,
                stamp,
                transform,
            } if self.robot_frames.contains(frames) => {
                let robot = PoseStamped {
                    header: Header::new(*stamp, self.frames[0].as_str()),
                    pose: transform.to_pose(),
                };
                if self.robot.as_ref() == Some(&robot) {
                    return Vec::new();
                }
                let mut cdr = Cdr::new();
                cdr.pose_stamped(&robot);
                self.robot = Some(robot);
                vec![(POSE, cdr.finish())]
            }
            Event::Published { payload, .. } => payload.get().map_or_else(Vec::new, tree_log),
            Event::Ticked { took, missed } => vec![(TICK, self.tick(took.as_secs_f64(), *missed))],
            _ => Vec::new(),
        }
    }

    /// Takes the slot of a key that the run adds.
    fn note_key(&mut self, slot: SlotId, scope: ScopeId, key: &str) {
        if scope != ScopeId::ROOT {
            return;
        }
        if key == RECOVERIES {
            self.recoveries_slot = Some(slot);
        }
        if key == self.path_key {
            self.path_slot = Some(slot);
        }
    }

    fn statuses(&mut self) -> Vec<(usize, Vec<u8>)> {
        if !std::mem::take(&mut self.has_changes) {
            return Vec::new();
        }
        let mut cdr = Cdr::new();
        for status in &self.statuses {
            cdr.u8(*status);
        }
        vec![(STATUSES, cdr.finish())]
    }

    fn written(&mut self, slot: SlotId, value: Option<&Value>) -> Vec<(usize, Vec<u8>)> {
        if Some(slot) == self.recoveries_slot
            && let Some(Value::Int(count)) = value
        {
            self.recoveries = i32::try_from(*count).unwrap_or(i32::MAX);
        }
        if Some(slot) == self.path_slot
            && let Some(path) = value.and_then(Value::downcast::<Path>)
        {
            let mut cdr = Cdr::new();
            cdr.path(&path);
            self.path = Some(path);
            return vec![(PATH, cdr.finish())];
        }
        Vec::new()
    }

    fn tick(&self, took: f64, missed: u64) -> Vec<u8> {
        let mut cdr = Cdr::new();
        cdr.f64(took * 1e3);
        cdr.f64(self.distance_remaining().unwrap_or(f64::NAN));
        cdr.i32(self.recoveries);
        cdr.u32(u32::try_from(missed).unwrap_or(u32::MAX));
        cdr.finish()
    }

    /// The length of the path from the pose nearest to the robot.
    fn distance_remaining(&self) -> Option<f64> {
        let (path, robot) = (self.path.as_ref()?, self.robot.as_ref()?);
        let nearest = path.closest_index(&robot.pose.position)?;
        Some(path.length_from(nearest))
    }
}

fn goal(pose: Option<&PoseStamped>) -> Vec<(usize, Vec<u8>)> {
    let Some(pose) = pose else { return Vec::new() };
    let mut cdr = Cdr::new();
    cdr.pose_stamped(pose);
    vec![(GOAL, cdr.finish())]
}

fn tree_log(log: &BehaviorTreeLog) -> Vec<(usize, Vec<u8>)> {
    let mut cdr = Cdr::new();
    cdr.stamp(log.timestamp);
    cdr.count(log.event_log.len());
    for change in &log.event_log {
        cdr.stamp(change.timestamp);
        cdr.text(&change.node_name);
        cdr.u16(change.uid);
        cdr.text(&change.previous_status);
        cdr.text(&change.current_status);
    }
    vec![(TREE_LOG, cdr.finish())]
}

fn channels(statuses: &str) -> Vec<ChannelInfo> {
    let channel = |topic: &'static str, name: &'static str, definition: String| ChannelInfo {
        topic: topic.into(),
        encoding: "cdr",
        schema: Some((name.into(), definition.into())),
    };
    let pose = || definition(POSE_STAMPED, &[HEADER, TIME, POSE_DEFINITION, POINT, QUATERNION]);
    vec![
        channel(
            "/behavior_tree_log",
            "nav2_msgs/msg/BehaviorTreeLog",
            definition(BEHAVIOR_TREE_LOG, &[STATUS_CHANGE, TIME]),
        ),
        channel("/navtree/statuses", "navtree/msg/Statuses", statuses.to_owned()),
        channel("/navtree/tick", "navtree/msg/Tick", TICK_DEFINITION.to_owned()),
        channel("/navtree/pose", "geometry_msgs/msg/PoseStamped", pose()),
        channel("/navtree/goal", "geometry_msgs/msg/PoseStamped", pose()),
        channel(
            "/navtree/path",
            "nav_msgs/msg/Path",
            definition(
                PATH_DEFINITION,
                &[
                    HEADER,
                    TIME,
                    ("geometry_msgs/PoseStamped", POSE_STAMPED),
                    POSE_DEFINITION,
                    POINT,
                    QUATERNION,
                ],
            ),
        ),
    ]
}

/// A definition with those of its parts, as `ros2 bag` writes them.
fn definition(text: &str, parts: &[(&str, &str)]) -> String {
    let mut whole = text.to_owned();
    for (name, part) in parts {
        let rule = "=".repeat(80);
        // A write to a string cannot fail.
        let _ = write!(whole, "{rule}\nMSG: {name}\n{part}");
    }
    whole
}

/// One field for each node, with its path as name.
fn statuses_definition(navigation: &Navigation) -> String {
    let mut names = BTreeSet::new();
    let mut text = "# 0 idle, 1 running, 2 success, 3 failure\n".to_owned();
    for (node, info) in navigation.tree.nodes() {
        let mut name = field_name(&info.path);
        if !names.insert(name.clone()) {
            name = format!("{name}_{}", node.number());
            names.insert(name.clone());
        }
        let _ = writeln!(text, "uint8 {name}");
    }
    text
}

/// A field name of ROS: lower case letters, digits and single underscores, a letter first.
fn field_name(path: &str) -> String {
    let mut name = String::new();
    let mut was_lower = false;
    for letter in path.chars() {
        if letter.is_ascii_alphanumeric() {
            if letter.is_ascii_uppercase() && was_lower {
                name.push('_');
            }
            was_lower = !letter.is_ascii_uppercase();
            name.push(letter.to_ascii_lowercase());
        } else {
            was_lower = false;
            if !name.is_empty() && !name.ends_with('_') {
                name.push('_');
            }
        }
    }
    let name = name.trim_end_matches('_').replace("__", "_");
    if name.starts_with(|first: char| first.is_ascii_lowercase()) {
        name
    } else {
        format!("node_{name}")
    }
}

const TIME: (&str, &str) = ("builtin_interfaces/Time", "int32 sec\nuint32 nanosec\n");
const HEADER: (&str, &str) = (
    "std_msgs/Header",
    "builtin_interfaces/Time stamp\nstring frame_id\n",
);
const POINT: (&str, &str) = ("geometry_msgs/Point", "float64 x\nfloat64 y\nfloat64 z\n");
const QUATERNION: (&str, &str) = (
    "geometry_msgs/Quaternion",
    "float64 x\nfloat64 y\nfloat64 z\nfloat64 w\n",
);
const POSE_DEFINITION: (&str, &str) = (
    "geometry_msgs/Pose",
    "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation\n",
);
const POSE_STAMPED: &str = "std_msgs/Header header\ngeometry_msgs/Pose pose\n";
const PATH_DEFINITION: &str = "std_msgs/Header header\ngeometry_msgs/PoseStamped[] poses\n";
const BEHAVIOR_TREE_LOG: &str =
    "builtin_interfaces/Time timestamp\nnav2_msgs/BehaviorTreeStatusChange[] event_log\n";
const STATUS_CHANGE: (&str, &str) = (
    "nav2_msgs/BehaviorTreeStatusChange",
    "builtin_interfaces/Time timestamp\nstring node_name\nuint16 uid\nstring previous_status\nstring current_status\n",
);
const TICK_DEFINITION: &str =
    "float64 duration_ms\nfloat64 distance_remaining\nint32 recoveries\nuint32 missed\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::NodeStatus;

    #[test]
    fn node_paths_become_field_names() {
        for (path, name) in [
            ("Navigate/PlanAndFollow", "navigate_plan_and_follow"),
            ("main::Follow Path-2", "main_follow_path_2"),
            ("Über/7", "ber_7"),
            ("7up", "node_7up"),
            ("ComputePathToPose", "compute_path_to_pose"),
        ] {
            assert_eq!(field_name(path), name);
        }
    }

    #[test]
    fn statuses_have_the_numbers_of_the_page() {
        let statuses = [
            NodeStatus::Idle,
            NodeStatus::Running,
            NodeStatus::Success,
            NodeStatus::Failure,
        ];
        assert_eq!(statuses.map(|status| status as u8), [0, 1, 2, 3]);
    }
}
