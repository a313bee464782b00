//! `navtree drive`: sends a navigation goal as any client does, and shows the tree while it runs. It continues if the
//! reader of its output ends, so that no active goal remains.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::drive_display::Display;
use super::{Exit, errln, outln};
use crate::bt::{Registry, Resource};
use crate::goal::{GoalOptions, Outcome, Ticket};
use crate::monitor::track::Track;
use crate::monitor::walls::Walls;
use crate::msg::action::{
    Action, NavigateToPose, NavigateToPoseFeedback, NavigateToPoseGoal, NavigateToPoseResult,
};
use crate::msg::{BehaviorTreeLog, Header, OccupancyGrid, Path, Pose, PoseStamped};
use crate::nav::{EndpointKind, Form, Payload, Settings, TopicSpec, World};
use crate::navigator::Signals;
use crate::ros::guardian::{self, Guardian};
use crate::ros::{Endpoints, GoalTrackerThread, Ros, exit_within};
use crate::xml::Loader;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Goal pose in the map frame: x and y in m, yaw in rad.
    #[arg(long, num_args = 3, value_names = ["X", "Y", "YAW"], allow_hyphen_values = true)]
    goal: Vec<f64>,
    /// Tree for this goal: a file, or the ID of a tree that the node knows. Default: the default tree of the node.
    #[arg(long, value_name = "FILE")]
    tree: Option<PathBuf>,
    /// File to write the picture of the track to.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Time after which the goal is cancelled, in s.
    #[arg(long, default_value_t = 300)]
    patience: u64,
}

pub(crate) fn run(arguments: &Arguments, registry: &Registry) -> Exit {
    guardian::cancel_if_told();
    // Forked before any thread is started.
    let guardian = Guardian::start();
    let _log = crate::ros::start_log();
    match Drive::start(arguments, guardian).and_then(|mut drive| drive.run(arguments, registry)) {
        Ok(exit) => exit,
        Err(message) => {
            errln!("navtree drive: {message}");
            Exit::Failed
        }
    }
}

/// The tree name for the node. A file name becomes an absolute path, because the node runs in a different folder.
fn tree_name_for_node(tree: &std::path::Path) -> String {
    let name = tree.display().to_string();
    if !name.ends_with(".xml") {
        return name;
    }
    std::path::absolute(tree).map_or(name, |absolute| absolute.display().to_string())
}

/// How long the command waits for the end of the goal that it has cancelled.
const STOP_PATIENCE: Duration = Duration::from_secs(4);

/// The time to end after the goal has, or has not. Then the process ends itself, and its guardian cancels the goal: this
/// thread may be blocked, because nobody reads the output.
const EXIT_PATIENCE: Duration = Duration::from_secs(4);

/// The exit code of [`Exit::Problems`].
const PROBLEMS: u8 = 1;

/// Sets a flag on Ctrl-C or when the terminal closes. The goal is then cancelled before the program ends.
fn watch_interrupt() -> io::Result<Arc<AtomicBool>> {
    let signals = Signals::new()?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    let _child = signals.split(move || {
        if !flag.swap(true, Ordering::AcqRel) {
            exit_within(STOP_PATIENCE + EXIT_PATIENCE, PROBLEMS);
        }
    })?;
    Ok(interrupted)
}

struct Drive {
    world: World,
    interrupted: Arc<AtomicBool>,
    // Dropped last, in this order: the link of the world uses them.
    goal_tracker: GoalTrackerThread,
    ros: Ros,
    /// Cancels the goal if this process is killed.
    _guardian: Option<Guardian>,
}

impl Drive {
    fn start(arguments: &Arguments, guardian: io::Result<Guardian>) -> Result<Self, String> {
        if arguments.goal.iter().any(|number| !number.is_finite()) || arguments.goal.len() != 3 {
            return Err("--goal needs three numbers: X Y YAW".to_owned());
        }
        let to_text = |error: crate::ros::RosError| error.to_string();
        let ros = Ros::start("navtree_drive", "").map_err(to_text)?;
        ros.listen_to_transforms().map_err(to_text)?;
        let goal_tracker = GoalTrackerThread::start(ros.handle(), ros.clock(), "", GoalOptions::default())
            .map_err(to_text)?;
        let guardian = guardian.and_then(|guardian| {
            let goals = guardian.lists().list(0, &ros.handle().full_name())?;
            goal_tracker.handle().guard(goals);
            Ok(guardian)
        });
        if let Err(error) = &guardian {
            tracing::warn!("no guardian: if this process is killed, its goal is not cancelled: {error}");
        }
        let endpoints = Endpoints::new(goal_tracker.handle(), ros.transforms(), ros.parameters(), None);
        let link = endpoints.link(Duration::from_secs(1));
        let world = World::new(Box::new(link), Settings::default());
        Ok(Self {
            world,
            interrupted: watch_interrupt().map_err(|error| error.to_string())?,
            goal_tracker,
            ros,
            _guardian: guardian.ok(),
        })
    }

    /// Sends the pending requests, waits 10 ms, and reads the answers.
    fn wait_and_update(&mut self) {
        let now = self.ros.clock().steady();
        self.world.end_tick(now);
        std::thread::sleep(Duration::from_millis(10));
        self.world.begin_tick(self.ros.clock().steady());
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }

    fn options() -> GoalOptions {
        // The discovery of a node that has just started takes time.
        GoalOptions {
            response_timeout: Duration::from_secs(20),
            absent_timeout: Duration::from_secs(20),
            ..GoalOptions::default()
        }
    }

    fn run(&mut self, arguments: &Arguments, registry: &Registry) -> Result<Exit, String> {
        let file = match &arguments.tree {
            Some(file) => Some(file.clone()),
            None => self.default_tree(),
        };
        let def = file.and_then(|file| {
            Loader::new(registry)
                .load_file(&file, None)
                .ok()
                .map(|loaded| loaded.def)
        });
        let goal = PoseStamped {
            header: Header::in_frame("map"),
            pose: Pose::planar(arguments.goal[0], arguments.goal[1], arguments.goal[2]),
        };
        let mut track = Track::towards(goal.pose.position);
        let message = NavigateToPoseGoal {
            pose: goal,
            behavior_tree: arguments
                .tree
                .as_deref()
                .map(tree_name_for_node)
                .unwrap_or_default(),
        };
        let to_text = |error: crate::nav::LinkError| error.to_string();
        let server = self
            .world
            .open(
                EndpointKind::Action,
                "navigate_to_pose",
                NavigateToPose::TYPE,
                Form::Plain,
            )
            .map_err(to_text)?;
        self.world.hear(server);
        let topic = |name: &str, type_name: &str| TopicSpec {
            name: name.into(),
            type_name: type_name.into(),
            depth: 100,
            reliable: true,
            transient_local: false,
            form: Form::Plain,
        };
        // Of a map server, or of nav_sim.
        let map = TopicSpec {
            depth: 1,
            transient_local: true,
            ..topic("map", OccupancyGrid::ROS_TYPE)
        };
        let map = self.world.subscribe(&map).map_err(to_text)?;
        let log = topic("behavior_tree_log", BehaviorTreeLog::ROS_TYPE);
        let log = self.world.subscribe(&log).map_err(to_text)?;
        let plan = self
            .world
            .subscribe(&topic("plan", Path::ROS_TYPE))
            .map_err(to_text)?;
        let [changes, plans, maps] = [Inbox::default(), Inbox::default(), Inbox::default()];
        let [changes_sender, plans_sender, maps_sender] = [changes.clone(), plans.clone(), maps.clone()];
        self.world.listen(move |topic, payload, _| {
            if topic == log {
                changes_sender.put(payload.clone());
            } else if topic == plan {
                plans_sender.put(payload.clone());
            } else if topic == map {
                maps_sender.put(payload.clone());
            }
        });
        if self.is_interrupted() {
            return Err("interrupted: no goal was sent".to_owned());
        }
        let ticket = self
            .world
            .start_goal(server, &"drive".into(), Payload::new(message), Self::options());
        let mut display = Display::new(def);
        let outcome = self.follow(ticket, arguments, &changes, &plans, &mut track, &mut display);
        display.end();
        let grid = maps
            .take()
            .pop()
            .and_then(|payload| payload.share::<OccupancyGrid>());
        if let Some(walls) = grid.as_deref().and_then(Walls::new) {
            track.set_walls(walls);
        }
        Ok(finish(arguments, &track, &outcome))
    }

    /// The default tree of the node, from its parameter service.
    fn default_tree(&mut self) -> Option<PathBuf> {
        let server = self
            .world
            .open(
                EndpointKind::Service,
                "bt_navigator/get_parameters",
                "rcl_interfaces/srv/GetParameters",
                Form::Json,
            )
            .ok()?;
        let request = Payload::new(json!({"names": ["default_nav_to_pose_bt_xml"]}));
        let ticket = self.world.call(server, &"drive".into(), request, Self::options());
        loop {
            self.wait_and_update();
            if self.is_interrupted() {
                return None;
            }
            let Some(outcome) = self.world.finish(ticket) else {
                continue;
            };
            let Outcome::Response(payload) = outcome else {
                return None;
            };
            let response: &serde_json::Value = payload.get()?;
            return response["values"][0]["string_value"].as_str().map(PathBuf::from);
        }
    }

    /// Follows the goal to its outcome, or cancels it after an interrupt or `--patience`.
    fn follow(
        &mut self,
        ticket: Ticket,
        arguments: &Arguments,
        changes: &Inbox,
        plans: &Inbox,
        track: &mut Track,
        display: &mut Display,
    ) -> Result<Outcome<Payload>, Interruption> {
        let patience = Duration::from_secs(arguments.patience);
        let began = Instant::now();
        exit_within(patience.saturating_add(STOP_PATIENCE + EXIT_PATIENCE), PROBLEMS);
        loop {
            self.wait_and_update();
            for payload in changes.take() {
                if let Some(log) = payload.get::<BehaviorTreeLog>() {
                    display.apply_changes(log);
                }
            }
            if let Some(path) = plans.take().pop().and_then(|payload| payload.share::<Path>()) {
                track.set_plan(path.poses.iter().map(|pose| pose.pose.position).collect());
            }
            if let Ok(transform) = self.world.transform("map", "base_link", None) {
                track.add(transform.transform.to_pose().position);
            }
            if let Some(feedback) = self
                .world
                .progress(ticket)
                .and_then(|progress| progress.feedback.take())
                && let Some(feedback) = feedback.get::<NavigateToPoseFeedback>()
            {
                display.set_feedback(feedback);
            }
            display.draw();
            if let Some(outcome) = self.world.finish(ticket) {
                return Ok(outcome);
            }
            if self.is_interrupted() || began.elapsed() > patience {
                let progress = self.world.progress(ticket);
                let was_accepted = progress.is_some_and(|progress| progress.accepted);
                self.world.halt(ticket, crate::bt::HaltReason::ShuttingDown);
                return Err(Interruption {
                    was_accepted,
                    still_active: self.wait_for_stop(),
                });
            }
        }
    }

    /// Waits for the end of the cancelled goal. Returns what has not ended.
    fn wait_for_stop(&mut self) -> Vec<String> {
        let began = Instant::now();
        loop {
            self.wait_and_update();
            // The goal of a server that left the graph is settled, and may still be executing.
            let may_execute = self.goal_tracker.handle().may_have_goals();
            if self.world.is_settled() && !may_execute {
                return Vec::new();
            }
            if began.elapsed() > STOP_PATIENCE {
                let unsettled = self.world.unsettled();
                return if unsettled.is_empty() {
                    vec!["the node has left the graph".to_owned()]
                } else {
                    unsettled
                };
            }
        }
    }
}

/// The end of the command before its goal has ended. It gets no result any more.
struct Interruption {
    /// The node had accepted the goal.
    was_accepted: bool,
    /// What has not ended.
    still_active: Vec<String>,
}

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.still_active.is_empty() {
            let what = self.still_active.join(", ");
            write!(
                f,
                "NOT STOPPED: this command requested a cancel, and the goal has not ended: {what}"
            )
        } else if self.was_accepted {
            f.write_str(
                "this command requested a cancel, and its navigation has ended; the node's log says whether the robot has stopped",
            )
        } else {
            f.write_str(
                "this command was interrupted before it knew that the node had accepted the goal; if it had, the node's log \
                 says whether the robot has stopped",
            )
        }
    }
}

fn finish(arguments: &Arguments, track: &Track, outcome: &Result<Outcome<Payload>, Interruption>) -> Exit {
    outln!("");
    for line in track.text(72) {
        outln!("  {line}");
    }
    outln!("  # wall, o start, * driven, X goal: {:.2} m", track.length());
    let file = arguments
        .svg
        .clone()
        .unwrap_or_else(|| std::env::temp_dir().join(format!("navtree-track-{}.svg", std::process::id())));
    match std::fs::write(&file, track.svg()) {
        Ok(()) => outln!("  picture of the track: {}", file.display()),
        Err(error) => errln!("  {}: {error}", file.display()),
    }
    let result = |payload: &Payload| {
        let result = payload.get::<NavigateToPoseResult>();
        result.map_or_else(String::new, |result| {
            format!(" {} {}", result.error_code, result.error_msg)
        })
    };
    let has_code = |payload: &Payload| {
        let result = payload.get::<NavigateToPoseResult>();
        result.is_some_and(|result| result.error_code != 0)
    };
    let (text, exit) = match outcome {
        // Something of the tree may still move the robot.
        Ok(Outcome::Succeeded(payload)) if has_code(payload) => {
            (format!("SUCCEEDED{}", result(payload)), Exit::Problems)
        }
        Ok(Outcome::Succeeded(_)) => ("SUCCEEDED".to_owned(), Exit::Success),
        Ok(Outcome::Aborted(payload)) => (format!("ABORTED{}", result(payload)), Exit::Problems),
        Ok(Outcome::Canceled(payload)) => (format!("CANCELED{}", result(payload)), Exit::Problems),
        Ok(Outcome::ServerGone | Outcome::AcceptTimeout | Outcome::ResultLost) => (
            "NO RESULT: the node is absent or does not answer; if it has the goal, its navigation may go on"
                .to_owned(),
            Exit::Problems,
        ),
        Ok(Outcome::Rejected) => ("REJECTED: is the node active?".to_owned(), Exit::Problems),
        Ok(other) => (format!("{other:?}"), Exit::Problems),
        Err(interruption) => (interruption.to_string(), Exit::Problems),
    };
    outln!("  result: {text}");
    exit
}

/// Messages from the listener to the loop, on the same thread.
#[derive(Clone, Default)]
struct Inbox(Arc<std::sync::Mutex<Vec<Payload>>>);

impl Inbox {
    fn put(&self, payload: Payload) {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push(payload);
    }

    fn take(&self) -> Vec<Payload> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_node_receives_the_absolute_path_of_a_file() {
        let here = std::env::current_dir().unwrap();
        for (given, expected) in [
            ("a.xml", here.join("a.xml")),
            ("./trees/a.xml", here.join("trees/a.xml")),
            ("/trees/a.xml", "/trees/a.xml".into()),
            ("Patrol", "Patrol".into()),
        ] {
            assert_eq!(
                Path::new(&tree_name_for_node(Path::new(given))),
                expected,
                "{given}"
            );
        }
    }
}
