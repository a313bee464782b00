//! A navigation goal, its feedback and its result.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::bt::{Time, TreeDef};
use crate::goal::GoalId;
pub use crate::goal::TerminalStatus;
use crate::msg::PoseStamped;

use super::{NavigatorKind, goal_log};

/// Error codes that Nav2's main branch defines for the navigate actions. Jazzy's interfaces carry them as numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum NavigationError {
    /// No error.
    None = 0,
    /// The tree raised an error, or failed without an error code.
    Unknown = 9000,
    /// The tree file is missing or invalid.
    FailedToLoadBehaviorTree = 9001,
    /// The robot's pose is unknown, or the goal cannot be transformed to the global frame.
    TransformFailed = 9002,
    /// A goal or job did not stop in time.
    Timeout = 9003,
}

impl NavigationError {
    /// The number in the result. The codes of `navigate_through_poses` begin at 9100.
    pub fn code(self, kind: NavigatorKind) -> u16 {
        match (self, kind) {
            (Self::None, _) => 0,
            (error, NavigatorKind::ToPose) => error as u16,
            (error, NavigatorKind::ThroughPoses) => error as u16 + 100,
        }
    }
}

/// The result of a navigation goal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NavigationResult {
    /// The status for the client. Aborted also if another goal replaced this one or the node was deactivated.
    pub status: TerminalStatus,
    /// 0, the code of a leaf, or a [`NavigationError`].
    pub error_code: u16,
    /// The reason, for people.
    pub error_message: String,
    /// What ended an aborted navigation that did not fail itself.
    pub interrupted_by: Option<Interruption>,
}

/// What ended a navigation before its tree did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interruption {
    /// A newer goal.
    NewerGoal,
    /// A deactivation, or the end of the process.
    Shutdown,
}

impl NavigationResult {
    pub(crate) fn succeeded() -> Self {
        Self {
            status: TerminalStatus::Succeeded,
            error_code: 0,
            error_message: String::new(),
            interrupted_by: None,
        }
    }

    /// The result of a failed goal, with the reason.
    pub fn aborted(error_code: u16, error_message: &str) -> Self {
        Self {
            status: TerminalStatus::Aborted,
            error_code,
            error_message: error_message.to_owned(),
            interrupted_by: None,
        }
    }

    /// The result of a cancelled goal.
    pub fn canceled(error_message: &str) -> Self {
        Self {
            status: TerminalStatus::Canceled,
            error_code: 0,
            error_message: error_message.to_owned(),
            interrupted_by: None,
        }
    }

    /// The result of a goal that a newer one replaced.
    pub(crate) fn preempted() -> Self {
        Self {
            interrupted_by: Some(Interruption::NewerGoal),
            ..Self::aborted(0, "replaced by a newer goal")
        }
    }

    /// The result of a goal that the node ended.
    pub fn stopped(reason: &str) -> Self {
        Self {
            interrupted_by: Some(Interruption::Shutdown),
            ..Self::aborted(0, reason)
        }
    }

    /// Whether the navigation failed: nobody ended it.
    pub fn is_failure(&self) -> bool {
        self.status == TerminalStatus::Aborted && self.interrupted_by.is_none()
    }

    /// The result of a goal that its client cancelled before its start.
    pub(crate) fn not_started() -> Self {
        Self::canceled("cancelled before it started")
    }

    /// Like [`NavigationResult::not_started`], while another goal runs or is stopping: the robot may move for that one, and
    /// the client may take it for its own.
    pub(crate) fn not_started_beside_another() -> Self {
        Self::canceled("cancelled before it started; an earlier goal is still active")
    }

    /// Adds the goals and jobs that did not stop, one text each, to the end of the message.
    pub(crate) fn with_still_active(self, kind: NavigatorKind, still_active: &[String]) -> Self {
        if still_active.is_empty() {
            return self;
        }
        let text = format!("not known to have stopped in time: {}", still_active.join("; "));
        self.with_error(kind, NavigationError::Timeout, &text)
    }

    /// Adds an error that does not change the status to the end of the message. An error code of the tree stays, because the
    /// client may use it.
    pub(crate) fn with_error(mut self, kind: NavigatorKind, error: NavigationError, text: &str) -> Self {
        if self.error_code == 0 {
            self.error_code = error.code(kind);
        }
        if !self.error_message.is_empty() {
            self.error_message += "; ";
        }
        self.error_message += text;
        self
    }
}

/// Text for a result while the thread that sends goals has not handled all that the tree has asked for.
pub(super) const UNHANDLED: &str =
    "the last requests of the tree have not been handled: goals may have been sent and not cancelled";

/// The feedback of an active goal.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Feedback {
    /// The pose of the robot, in the global frame.
    pub current_pose: PoseStamped,
    /// Time since the start of the goal.
    pub navigation_time: Duration,
    /// Remaining time at the current speed. Zero if the speed is zero, unknown, or from an old odometry message.
    pub estimated_time_remaining: Duration,
    /// The recovery count of the tree.
    pub number_of_recoveries: i32,
    /// Remaining distance along the path, in metres.
    pub distance_remaining: f64,
    /// Remaining goal poses, for [`NavigatorKind::ThroughPoses`].
    pub poses_remaining: usize,
}

/// The server's side of an accepted goal. If it is dropped without a result, the goal is aborted, and no client waits
/// without end.
pub trait ClientGoal: Send {
    /// The goal id.
    fn id(&self) -> GoalId;
    /// Sends feedback.
    fn feedback(&mut self, feedback: &Feedback);
    /// Ends the goal with this result. Called on the tick thread; another thread sends the result.
    fn finish(self: Box<Self>, report: NavigationResult);
    /// Like [`ClientGoal::finish`], called on any other thread. The result is sent even if the tick thread is blocked.
    fn finish_now(self: Box<Self>, report: NavigationResult) {
        self.finish(report);
    }
}

/// Identifies a navigation. Goals of the two navigate actions may have the same ID.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NavigationId {
    /// The action of the goal.
    pub kind: NavigatorKind,
    /// The ID of the goal.
    pub goal: GoalId,
}

impl fmt::Display for NavigationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: goal {}", self.kind.action(), self.goal)
    }
}

/// Maximum length of a frame ID in bytes: that of a topic name. The tick thread reads the frame IDs of a goal
/// (guarantee G1).
const MAX_FRAME_ID_LENGTH: usize = 255;

/// Maximum length of the name of a tree in bytes: that of a path. Messages contain the name.
const MAX_TREE_NAME_LENGTH: usize = 4096;

/// The tree of a goal.
#[derive(Clone)]
pub enum RequestedTree {
    /// A file or a tree ID; empty means the default tree. It is read before the goal starts.
    Named(String),
    /// A loaded tree.
    Loaded(Arc<TreeDef>),
}

impl RequestedTree {
    /// The loaded tree.
    pub fn loaded(&self) -> Option<&Arc<TreeDef>> {
        match self {
            Self::Named(_) => None,
            Self::Loaded(tree) => Some(tree),
        }
    }
}

/// An accepted goal.
pub struct Request {
    /// The action of the goal.
    pub kind: NavigatorKind,
    /// The goal poses: one or several.
    pub poses: Vec<PoseStamped>,
    /// The tree to run.
    pub tree: RequestedTree,
    /// The time of acceptance, on the clock that a simulation does not stop. Topic messages before this time do not
    /// apply to the goal.
    pub accepted: Time,
    /// The time of acceptance of the first of the goals that replaced one another up to this one. Commands to the run,
    /// such as a pause, count from this time.
    pub run_accepted: Time,
    /// The client that gets the result.
    pub client: Box<dyn ClientGoal>,
}

impl Request {
    /// The ID of the navigation.
    pub fn id(&self) -> NavigationId {
        NavigationId {
            kind: self.kind,
            goal: self.client.id(),
        }
    }

    /// The reason why the goal is refused without a look at its tree and its frames, if there is one.
    pub fn fault(&self) -> Option<String> {
        let frame = self.poses.iter().map(|pose| pose.header.frame_id.len()).max();
        let tree = match &self.tree {
            RequestedTree::Named(name) => name.len(),
            RequestedTree::Loaded(_) => 0,
        };
        if tree > MAX_TREE_NAME_LENGTH {
            return Some(format!(
                "behavior_tree has {tree} bytes, more than {MAX_TREE_NAME_LENGTH}: send a path or a tree ID"
            ));
        }
        frame
            .filter(|length| *length > MAX_FRAME_ID_LENGTH)
            .map(|length| {
                format!(
                    "a frame_id has {length} bytes, more than {MAX_FRAME_ID_LENGTH}: send the name of a frame"
                )
            })
    }

    /// Aborts the goal before its start. Called on the tick thread.
    pub fn refuse(self, error: NavigationError, reason: &str) {
        let report = self.refusal(error, reason);
        self.client.finish(report);
    }

    /// Like [`Request::refuse`], from any other thread.
    pub fn refuse_now(self, error: NavigationError, reason: &str) {
        let report = self.refusal(error, reason);
        self.client.finish_now(report);
    }

    fn refusal(&self, error: NavigationError, reason: &str) -> NavigationResult {
        tracing::warn!("{} aborted before it started: {reason}", self.id());
        NavigationResult::aborted(error.code(self.kind), reason)
    }

    /// Ends a cancelled goal before its start, while another goal runs or is stopping. Called on any thread but the tick
    /// thread.
    pub fn cancel_now(self) {
        let report = NavigationResult::not_started_beside_another();
        goal_log::log_end(self.id(), &report);
        self.client.finish_now(report);
    }
}
