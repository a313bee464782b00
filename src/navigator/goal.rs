//! A navigation goal as the navigator sees it.

use std::sync::Arc;
use std::time::Duration;

use crate::bt::{Time, TreeDef};
use crate::goal::GoalId;
pub use crate::goal::TerminalStatus;
use crate::msg::PoseStamped;

use super::NavigatorKind;

/// The error codes that Nav2's main branch defines for the navigate actions; Jazzy's interfaces carry them as numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum NavigationError {
    /// No error.
    None = 0,
    /// The tree raised an error, or failed without a code.
    Unknown = 9000,
    /// The tree file is missing or broken.
    FailedToLoadBehaviorTree = 9001,
    /// The robot's pose is unknown, or the goal cannot be expressed in the global frame.
    TransformFailed = 9002,
    /// Something did not stop in time.
    Timeout = 9003,
}

impl NavigationError {
    /// The number in the result: those of `navigate_through_poses` begin at 9100.
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
    /// How it ended for its client. Aborted also where another goal took its place, canceled also where the node was
    /// deactivated.
    pub status: TerminalStatus,
    /// 0, a leaf's code, or one of [`NavigationError`].
    pub error_code: u16,
    /// Why, for a person.
    pub error_message: String,
}

impl NavigationResult {
    pub(crate) fn succeeded() -> Self {
        Self {
            status: TerminalStatus::Succeeded,
            error_code: 0,
            error_message: String::new(),
        }
    }

    /// Of a goal that came to nothing, and why.
    pub fn aborted(error_code: u16, error_message: &str) -> Self {
        Self {
            status: TerminalStatus::Aborted,
            error_code,
            error_message: error_message.to_owned(),
        }
    }

    /// Of a goal that somebody wanted cancelled.
    pub fn canceled(error_message: &str) -> Self {
        Self {
            status: TerminalStatus::Canceled,
            error_code: 0,
            error_message: error_message.to_owned(),
        }
    }

    /// The same of a session of which something is left, one text a goal: that is named behind what was to be said. The
    /// code of a tree that failed stays, as its client may act on it.
    pub(crate) fn with_left(mut self, kind: NavigatorKind, left: &[String]) -> Self {
        if !left.is_empty() {
            if self.error_code == 0 {
                self.error_code = NavigationError::Timeout.code(kind);
            }
            if !self.error_message.is_empty() {
                self.error_message += "; ";
            }
            self.error_message += "did not stop in time: ";
            self.error_message += &left.join("; ");
        }
        self
    }
}

/// What a client is shown while its goal is pursued.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Feedback {
    /// Where the robot is, in the global frame.
    pub current_pose: PoseStamped,
    /// Since the goal was taken up.
    pub navigation_time: Duration,
    /// At the present speed; zero where that is unknown or nil.
    pub estimated_time_remaining: Duration,
    /// The tree's count.
    pub number_of_recoveries: i32,
    /// Metres along the path.
    pub distance_remaining: f64,
    /// Goals left, for [`NavigatorKind::ThroughPoses`].
    pub poses_remaining: usize,
}

/// The server's side of one accepted goal. Dropping it unanswered aborts the goal: no client is left waiting.
pub trait ClientGoal: Send {
    /// Its identity.
    fn id(&self) -> GoalId;
    /// Sends feedback.
    fn feedback(&mut self, feedback: &Feedback);
    /// Delivers the result, from the tick thread.
    fn finish(self: Box<Self>, report: NavigationResult);
    /// As [`ClientGoal::finish`], from any other thread: it leaves although the tick thread does nothing meanwhile.
    fn finish_now(self: Box<Self>, report: NavigationResult) {
        self.finish(report);
    }
}

/// A goal that was accepted, with its tree looked up already, so that the tick thread reads no file.
pub struct Request {
    /// Which action.
    pub kind: NavigatorKind,
    /// Where to: one pose, or several.
    pub poses: Vec<PoseStamped>,
    /// The tree to run, or why there is none.
    pub tree: Result<Arc<TreeDef>, String>,
    /// When its client was told that it is accepted, by the clock that no simulation stops: what topics said before is
    /// not meant for it.
    pub accepted: Time,
    /// When the first goal was accepted of those that replaced one another up to this one: commands to the run, such as
    /// a pause, count from then on.
    pub run_accepted: Time,
    /// To whom to answer.
    pub client: Box<dyn ClientGoal>,
}

impl Request {
    /// Tells its client that it is not taken up.
    pub fn refuse(self, error: NavigationError, reason: &str) {
        let error_code = error.code(self.kind);
        tracing::warn!(
            "{}: goal {} not taken up: {reason}",
            self.kind.action(),
            self.client.id()
        );
        self.client.finish(NavigationResult::aborted(error_code, reason));
    }
}
