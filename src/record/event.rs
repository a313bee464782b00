//! The records of a run: what a tree read, what it did, and what became of its goals.

use std::sync::Arc;
use std::time::Duration;

use crate::bt::{
    Checkpoint, HaltReason, NodeIndex, NodeStatus, ScopeId, SlotId, Time, TreeDef, TypeInfo, Value,
};
use crate::goal::{GoalId, Notice, ServerId, TerminalStatus, Ticket};
use crate::msg::{PoseStamped, Stamp, Transform};
use crate::nav::{
    EndpointKind, Form, Opened, Payload, Settings, TopicId, TopicSpec, TransformError, WorldCheckpoint,
};

/// One record: what happened, and when on the clock of the tree.
#[derive(Clone, Debug)]
pub struct Record {
    /// The time of the tick, or the time of the last one.
    pub time: Time,
    /// What happened.
    pub event: Event,
}

/// What happened. Small, because the tick thread copies it; what is large is shared or, outside of ticks, boxed.
#[derive(Clone, Debug)]
pub enum Event {
    // The navigation.
    /// A navigation began.
    Began(Box<Navigation>),
    /// A newer goal of the same action and tree took the place of the goal that runs. The tree continues.
    Replaced(Box<Replacement>),
    /// The tree of the navigation has ended. Goals that it started may still be stopping.
    Stopping,
    /// The navigation ended: its client gets this result.
    Ended(Box<End>),

    // The inputs of the tree.
    /// A tick begins.
    TickBegan,
    /// A halt of the whole tree begins.
    HaltBegan(HaltReason),
    /// The tree took a message of a topic. What it took belongs to the tick or halt that ends next.
    Message {
        /// The topic.
        topic: TopicId,
        /// The message.
        payload: Payload,
        /// Time of reception, on the clock that a simulation does not stop.
        received: Time,
    },
    /// The tree took news of a goal, a call or a cancel request.
    Notice(Notice<Payload>),
    /// The answer to a question for a transform.
    Transform {
        /// The frames of the question; see [`Event::Frames`].
        frames: u16,
        /// The wanted time; `None`: the newest.
        at: Option<Stamp>,
        /// The time of the answer.
        stamp: Stamp,
        /// The answer.
        transform: Transform,
    },
    /// A transform was not available.
    NoTransform(Box<NoTransform>),
    /// The node's ROS time.
    Stamp(Stamp),
    /// Others publish a topic with another type.
    TopicFault(Box<(TopicId, String)>),

    // What the tree did.
    /// A tick ended.
    TickEnded(NodeStatus),
    /// A tick ended with this error.
    TickFailed(Box<str>),
    /// A halt of the whole tree ended.
    HaltEnded,
    /// A stored status changed.
    Changed {
        /// The node.
        node: NodeIndex,
        /// The status before.
        from: NodeStatus,
        /// The status now.
        to: NodeStatus,
    },
    /// A running node was halted.
    Halted {
        /// The node.
        node: NodeIndex,
        /// The reason.
        reason: HaltReason,
    },
    /// A node was skipped.
    Skipped(NodeIndex),
    /// A blackboard entry was written or removed.
    Wrote {
        /// The entry.
        slot: SlotId,
        /// The node; `None`: the navigator.
        by: Option<NodeIndex>,
        /// The value; `None` if the entry was removed.
        value: Option<Value>,
        /// The type of the entry.
        info: Option<&'static TypeInfo>,
    },
    /// A request of the tree left for its server.
    Command {
        /// What is requested.
        kind: CommandKind,
        /// The activation of the leaf.
        ticket: Ticket,
        /// The server of a start, a call or a cancel.
        server: Option<ServerId>,
        /// The path of the leaf.
        leaf: Option<Arc<str>>,
        /// The goal or the request.
        payload: Option<Payload>,
    },
    /// The tree published a message.
    Published {
        /// The topic.
        topic: TopicId,
        /// The message.
        payload: Payload,
    },

    // Names of the numbers in later records.
    /// A client of a server was opened.
    Server(Box<ServerInfo>),
    /// A topic was opened.
    Topic(Box<TopicInfo>),
    /// What trees use. Servers and topics that are not in this list were closed.
    InUse(Box<Opened>),
    /// The frames of later questions for transforms.
    Frames(Box<FramesInfo>),
    /// The run added an entry to those of its definition.
    Key(Box<(SlotId, ScopeId, Arc<str>)>),
    /// The tree read a parameter of the node.
    Parameter(Box<(String, Option<String>)>),

    // The tick thread.
    /// The work of a tick.
    Ticked {
        /// Its duration, on the clock of this machine.
        took: Duration,
        /// The number of ticks that were due before it and did not happen.
        missed: u64,
    },

    // The node.
    /// A line of the log.
    LogLine(Box<LogLine>),
}

/// A line of the log of the node.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct LogLine {
    /// Its level.
    pub level: LogLevel,
    /// Its text.
    pub text: String,
}

/// The level of a [`LogLine`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum LogLevel {
    /// What usually happens.
    Info,
    /// What a person should know.
    Warn,
    /// What has failed.
    Error,
}

impl LogLevel {
    /// The level of a line; `None`: the line is for developers.
    pub fn of(level: tracing::Level) -> Option<Self> {
        match level {
            tracing::Level::INFO => Some(Self::Info),
            tracing::Level::WARN => Some(Self::Warn),
            tracing::Level::ERROR => Some(Self::Error),
            _ => None,
        }
    }

    /// The name, as on the console.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
        }
    }
}

/// What a tree requests from a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum CommandKind {
    /// A goal for an action server.
    Start,
    /// A newer goal in place of an active one.
    Update,
    /// A call of a service.
    Call,
    /// The cancel of all goals of a server.
    CancelServer,
    /// The leaf was halted: its goal or call is stopped.
    Halt(HaltReason),
    /// The leaf of a cancel was halted.
    Detach(HaltReason),
}

/// The beginning of a navigation, with all that a replay needs from before it.
#[derive(Clone, Debug)]
pub struct Navigation {
    /// The action: `navigate_to_pose`.
    pub action: &'static str,
    /// The goal.
    pub goal: GoalId,
    /// The definition of the tree.
    pub tree: Arc<TreeDef>,
    /// The goal poses, in the global frame.
    pub poses: Vec<PoseStamped>,
    /// The time of acceptance, on the clock that a simulation does not stop.
    pub accepted: Time,
    /// The time of acceptance of the first of the goals that replaced one another.
    pub run_accepted: Time,
    /// ROS time at the beginning.
    pub stamp: Stamp,
    /// The parameters of trees.
    pub settings: Settings,
    /// The blackboard keys of the navigator.
    pub keys: NavigatorKeys,
    /// The state of the tree.
    pub checkpoint: Checkpoint,
    /// The state of the world.
    pub world: WorldCheckpoint,
}

impl Navigation {
    /// The entry of a key of the main tree, if the definition or an earlier run of the tree has made it.
    pub(super) fn slot(&self, key: &str) -> Option<SlotId> {
        let added = || {
            let is_key = |(scope, name): &(ScopeId, Arc<str>)| *scope == ScopeId::ROOT && **name == *key;
            let index = self.checkpoint.added.iter().position(is_key)?;
            let slot = u32::try_from(self.tree.slots.len() + index).ok()?;
            Some(SlotId::from_index(slot))
        };
        self.tree.slot(ScopeId::ROOT, key).or_else(added)
    }
}

#[cfg(test)]
impl Navigation {
    /// A navigation with a tree that has not run.
    pub(crate) fn of_tree(tree: &mut crate::bt::Tree) -> Self {
        Self {
            action: "navigate_to_pose",
            goal: GoalId::ZERO,
            tree: Arc::clone(tree.definition()),
            poses: Vec::new(),
            accepted: Time::ZERO,
            run_accepted: Time::ZERO,
            stamp: Stamp::ZERO,
            settings: Settings::default(),
            keys: NavigatorKeys::default(),
            checkpoint: tree.checkpoint(),
            world: WorldCheckpoint::default(),
        }
    }
}

/// The blackboard keys that the navigator writes.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct NavigatorKeys {
    /// `goal_blackboard_id`.
    pub goal: String,
    /// `goals_blackboard_id`.
    pub goals: String,
    /// `path_blackboard_id`.
    pub path: String,
    /// The keys of error codes.
    pub error_codes: Vec<String>,
}

/// A goal that took the place of another one in a running tree.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// The goal.
    pub goal: GoalId,
    /// Its poses, in the global frame.
    pub poses: Vec<PoseStamped>,
    /// The time of acceptance.
    pub accepted: Time,
}

/// The end of a navigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The goal.
    pub goal: GoalId,
    /// The goal with which the navigation began: that of its [`Navigation`].
    pub first_goal: GoalId,
    /// The status for the client.
    pub status: TerminalStatus,
    /// Whether it failed. A navigation that somebody ended has not.
    pub has_failed: bool,
    /// The error code of the result.
    pub error_code: u16,
    /// The error message of the result.
    pub error_message: String,
}

/// A client of a server.
#[derive(Clone, Debug)]
pub struct ServerInfo {
    /// Its number.
    pub server: ServerId,
    /// Whether it is an action or a service.
    pub kind: EndpointKind,
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_name: String,
    /// The representation of its messages.
    pub form: Form,
}

/// An open topic.
#[derive(Clone, Debug)]
pub struct TopicInfo {
    /// Its number.
    pub topic: TopicId,
    /// Why it is open.
    pub usage: TopicUsage,
    /// Its name and type.
    pub spec: TopicSpec,
}

/// Why a topic is open.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum TopicUsage {
    /// The tree receives its messages.
    Subscribed,
    /// The tree or the navigator publishes on it.
    Advertised,
    /// A trigger that the tree serves.
    Served,
}

/// The frames of a question for a transform, and of its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FramesInfo {
    /// Their number.
    pub frames: u16,
    /// The target frame of the question.
    pub target: Arc<str>,
    /// The source frame of the question.
    pub source: Arc<str>,
    /// The parent frame of the answer.
    pub parent: Arc<str>,
    /// The child frame of the answer.
    pub child: Arc<str>,
}

/// A transform that was not available.
#[derive(Clone, Debug)]
pub struct NoTransform {
    /// The target frame of the question.
    pub target: String,
    /// The source frame of the question.
    pub source: String,
    /// The wanted time; `None`: the newest.
    pub at: Option<Stamp>,
    /// The reason.
    pub error: TransformError,
}

#[cfg(test)]
mod tests {
    use super::Record;

    #[test]
    fn a_record_is_small() {
        let size = std::mem::size_of::<Record>();
        assert!(size <= 112, "{size} bytes");
    }
}
