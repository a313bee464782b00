//! The records in a file. They are those of the stream, with messages and values in their stored form.
//!
//! The channel `/navtree/records` of a recording contains them: each message is a list of pairs of a time in ns and a
//! record, in MessagePack with field names.

mod navigation;
mod notice;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::codec::{Encoded, StoredValue, encode_payload};
use super::event::{CommandKind, Event, LogLine, TopicUsage};
use crate::bt::{HaltReason, NodeIndex, NodeStatus, ScopeId, SlotId, Time};
use crate::goal::{GoalId, ServerId, TerminalStatus, Ticket};
use crate::msg::{PoseStamped, Stamp, Transform};
use crate::nav::{EndpointKind, Form, Opened, TopicId, TopicSpec, TransformError};

pub use navigation::{
    StoredCheckpoint, StoredEntry, StoredNavigation, StoredOdometry, StoredSample, StoredWorld,
};
pub use notice::{StoredNotice, StoredOutcome};

/// The version of the file format. A reader refuses a newer one. 2: with lines of the log. 3: requests and
/// messages of a tick are in the order of their leaves; before, a message came earlier or later.
pub const VERSION: u32 = 3;

/// A record and its time.
pub type TimedRecord = (Time, StoredRecord);

/// The stored form of an [`Event`], whose documentation describes each.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "they are those of Event")]
pub enum StoredRecord {
    Began(Box<StoredNavigation>),
    Replaced {
        goal: GoalId,
        poses: Vec<PoseStamped>,
        accepted: Time,
    },
    Stopping,
    Ended {
        goal: GoalId,
        status: TerminalStatus,
        error_code: u16,
        error_message: String,
    },
    TickBegan,
    HaltBegan(HaltReason),
    Message {
        topic: TopicId,
        payload: Encoded,
        received: Time,
    },
    Notice(StoredNotice),
    Transform {
        frames: u16,
        at: Option<Stamp>,
        stamp: Stamp,
        transform: Transform,
    },
    NoTransform {
        target: String,
        source: String,
        at: Option<Stamp>,
        error: TransformError,
    },
    Stamp(Stamp),
    TopicFault(TopicId, String),
    TickEnded(NodeStatus),
    TickFailed(String),
    HaltEnded,
    Changed {
        node: NodeIndex,
        from: NodeStatus,
        to: NodeStatus,
    },
    Halted {
        node: NodeIndex,
        reason: HaltReason,
    },
    Skipped(NodeIndex),
    Wrote {
        slot: SlotId,
        by: Option<NodeIndex>,
        value: Option<StoredValue>,
        #[serde(rename = "type")]
        type_name: Option<String>,
    },
    Command {
        kind: CommandKind,
        ticket: Ticket,
        server: Option<ServerId>,
        leaf: Option<Arc<str>>,
        payload: Option<Encoded>,
    },
    Published {
        topic: TopicId,
        payload: Encoded,
    },
    Server {
        server: ServerId,
        kind: EndpointKind,
        name: String,
        #[serde(rename = "type")]
        type_name: String,
        form: Form,
    },
    Topic {
        topic: TopicId,
        usage: TopicUsage,
        spec: TopicSpec,
    },
    InUse(Opened),
    Frames {
        frames: u16,
        target: Arc<str>,
        source: Arc<str>,
        parent: Arc<str>,
        child: Arc<str>,
    },
    Key {
        slot: SlotId,
        scope: ScopeId,
        key: Arc<str>,
    },
    Parameter(String, Option<String>),
    Ticked {
        took_ns: u64,
        missed: u64,
    },
    LogLine(LogLine),
    /// Records that the recorder was too slow for.
    Lost(u64),
    /// A record without a stored form.
    Unknown,
}

impl StoredRecord {
    /// The stored form of an event.
    pub fn of(event: &Event) -> Self {
        match event {
            Event::Began(navigation) => Self::Began(Box::new(StoredNavigation::of(navigation))),
            Event::Replaced(replacement) => Self::Replaced {
                goal: replacement.goal,
                poses: replacement.poses.clone(),
                accepted: replacement.accepted,
            },
            Event::Stopping => Self::Stopping,
            Event::Ended(end) => Self::Ended {
                goal: end.goal,
                status: end.status,
                error_code: end.error_code,
                error_message: end.error_message.clone(),
            },
            Event::TickBegan => Self::TickBegan,
            Event::HaltBegan(reason) => Self::HaltBegan(*reason),
            Event::TickEnded(status) => Self::TickEnded(*status),
            Event::TickFailed(error) => Self::TickFailed(error.to_string()),
            Event::HaltEnded => Self::HaltEnded,
            Event::Changed { node, from, to } => Self::Changed {
                node: *node,
                from: *from,
                to: *to,
            },
            Event::Halted { node, reason } => Self::Halted {
                node: *node,
                reason: *reason,
            },
            Event::Skipped(node) => Self::Skipped(*node),
            Event::Wrote {
                slot,
                by,
                value,
                info,
            } => Self::Wrote {
                slot: *slot,
                by: *by,
                value: value.as_ref().map(StoredValue::of),
                type_name: info.map(|info| info.name.to_owned()),
            },
            Event::Ticked { took, missed } => Self::Ticked {
                took_ns: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
                missed: *missed,
            },
            Event::Server(_)
            | Event::Topic(_)
            | Event::InUse(_)
            | Event::Frames(_)
            | Event::Key(_)
            | Event::Parameter(_) => Self::of_name(event),
            through_link => Self::of_link(through_link),
        }
    }

    /// The stored form of a message, an answer or a request.
    fn of_link(event: &Event) -> Self {
        match event {
            Event::Message {
                topic,
                payload,
                received,
            } => Self::Message {
                topic: *topic,
                payload: encode_payload(payload),
                received: *received,
            },
            Event::Notice(notice) => Self::Notice(StoredNotice::of(notice)),
            Event::Transform {
                frames,
                at,
                stamp,
                transform,
            } => Self::Transform {
                frames: *frames,
                at: *at,
                stamp: *stamp,
                transform: *transform,
            },
            Event::NoTransform(answer) => Self::NoTransform {
                target: answer.target.clone(),
                source: answer.source.clone(),
                at: answer.at,
                error: answer.error.clone(),
            },
            Event::Stamp(stamp) => Self::Stamp(*stamp),
            Event::TopicFault(fault) => Self::TopicFault(fault.0, fault.1.clone()),
            Event::Command {
                kind,
                ticket,
                server,
                leaf,
                payload,
            } => Self::Command {
                kind: *kind,
                ticket: *ticket,
                server: *server,
                leaf: leaf.clone(),
                payload: payload.as_ref().map(encode_payload),
            },
            Event::Published { topic, payload } => Self::Published {
                topic: *topic,
                payload: encode_payload(payload),
            },
            Event::LogLine(line) => Self::LogLine((**line).clone()),
            other => Self::of_name(other),
        }
    }

    /// The stored form of a name.
    fn of_name(event: &Event) -> Self {
        match event {
            Event::Server(server) => Self::Server {
                server: server.server,
                kind: server.kind,
                name: server.name.clone(),
                type_name: server.type_name.clone(),
                form: server.form,
            },
            Event::Topic(info) => Self::Topic {
                topic: info.topic,
                usage: info.usage,
                spec: info.spec.clone(),
            },
            Event::InUse(in_use) => Self::InUse((**in_use).clone()),
            Event::Frames(frames) => Self::Frames {
                frames: frames.frames,
                target: Arc::clone(&frames.target),
                source: Arc::clone(&frames.source),
                parent: Arc::clone(&frames.parent),
                child: Arc::clone(&frames.child),
            },
            Event::Key(key) => Self::Key {
                slot: key.0,
                scope: key.1,
                key: Arc::clone(&key.2),
            },
            Event::Parameter(parameter) => Self::Parameter(parameter.0.clone(), parameter.1.clone()),
            _ => Self::Unknown,
        }
    }

    /// About how many bytes its messages have in a file.
    pub fn payload_bytes(&self) -> usize {
        match self {
            Self::Message { payload, .. } | Self::Published { payload, .. } => payload.data.0.len(),
            Self::Command {
                payload: Some(payload),
                ..
            } => payload.data.0.len(),
            Self::Notice(notice) => notice.payload_bytes(),
            _ => 0,
        }
    }

    /// Whether the record is part of the trace: what the tree did. The other records are its inputs, names and times.
    pub fn is_trace(&self) -> bool {
        match self {
            Self::TickBegan
            | Self::HaltBegan(_)
            | Self::TickEnded(_)
            | Self::TickFailed(_)
            | Self::HaltEnded
            | Self::Changed { .. }
            | Self::Halted { .. }
            | Self::Skipped(_)
            | Self::Command { .. }
            | Self::Published { .. } => true,
            Self::Wrote { by, .. } => by.is_some(),
            _ => false,
        }
    }
}
