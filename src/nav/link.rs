//! The link between nodes and the world. Implemented by room `ros`, and by tests on a virtual clock.

use std::any::Any;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;

use crate::bt::Time;
use crate::goal::{Command, Notice, ServerId, Ticket};
use crate::msg::{Service, Stamp, TransformStamped, service::Trigger};

/// A goal, request, result or topic message in transit. Shared, never copied. Both ends know its type from the
/// interface name.
#[derive(Clone)]
pub struct Payload(Arc<dyn Any + Send + Sync>);

impl Payload {
    /// Wraps a message.
    pub fn new<T: Any + Send + Sync>(message: T) -> Self {
        Self(Arc::new(message))
    }

    /// Wraps a message and reuses the memory of an earlier one if it has the same type and no other owner.
    pub fn renewed<T: Any + Send + Sync>(spent: Option<Self>, message: T) -> Self {
        if let Some(Self(mut shared)) = spent
            && let Some(place) = Arc::get_mut(&mut shared).and_then(|any| any.downcast_mut::<T>())
        {
            *place = message;
            return Self(shared);
        }
        Self::new(message)
    }

    /// The Rust type of the message.
    pub fn type_of(&self) -> std::any::TypeId {
        (*self.0).type_id()
    }

    /// The message, if it is of this type.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }

    /// The message, shared, if it is of this type.
    pub fn share<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::clone(&self.0).downcast().ok()
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Payload")
    }
}

/// The kind of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum EndpointKind {
    /// A client of an action server.
    Action,
    /// A client of a service.
    Service,
}

/// The representation of a payload in this process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
pub enum Form {
    /// The plain struct of room `msg`.
    #[default]
    Plain,
    /// A `serde_json::Value` of the interface's fields, for interfaces that room `msg` does not know.
    Json,
}

/// The maximum length of a result, a response or a feedback of [`Form::Json`], as JSON text, in bytes. A longer one is null.
/// As a value it takes 24 times that and more: 72 bytes for each cell of a map.
pub const MAX_JSON_TEXT: usize = 1 << 20;

/// A message of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// The goal of an action.
    Goal,
    /// The result of an action.
    Result,
    /// The feedback of an action.
    Feedback,
    /// The request of a service.
    Request,
    /// The response of a service.
    Response,
    /// The message of a topic.
    Message,
}

/// A topic to subscribe to or publish on.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct TopicSpec {
    /// The name, relative to the node unless it begins with `/`.
    pub name: Arc<str>,
    /// The type, for example `std_msgs/msg/String`.
    pub type_name: Arc<str>,
    /// Number of messages kept for late subscribers.
    pub depth: u16,
    /// Whether lost messages are delivered again.
    pub reliable: bool,
    /// Whether a late subscriber receives earlier messages.
    pub transient_local: bool,
    /// The representation of payloads.
    pub form: Form,
}

impl TopicSpec {
    /// The requests of a trigger that a tree serves; see [`Link::serve_trigger`].
    pub fn of_trigger(name: &str) -> Self {
        Self {
            name: name.into(),
            type_name: Trigger::TYPE.into(),
            depth: 1,
            reliable: true,
            transient_local: false,
            form: Form::Plain,
        }
    }
}

/// A subscription or a publisher, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct TopicId(pub u32);

/// What trees have opened, with the number of uses. As a change of another list, it may contain negative numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Opened {
    servers: BTreeMap<ServerId, i64>,
    topics: BTreeMap<TopicId, i64>,
}

impl Opened {
    /// Adds uses of the client of a server.
    pub fn add_server(&mut self, server: ServerId, uses: i64) {
        add(&mut self.servers, server, uses);
    }

    /// Adds uses of a topic, or of a service that trees serve.
    pub fn add_topic(&mut self, topic: TopicId, uses: i64) {
        add(&mut self.topics, topic, uses);
    }

    /// Adds the uses of another list.
    pub fn add(&mut self, other: &Self) {
        for (server, uses) in &other.servers {
            self.add_server(*server, *uses);
        }
        for (topic, uses) in &other.topics {
            self.add_topic(*topic, *uses);
        }
    }

    /// Whether the client of a server is used.
    pub fn has_server(&self, server: ServerId) -> bool {
        self.servers.contains_key(&server)
    }

    /// Whether a topic is used.
    pub fn has_topic(&self, topic: TopicId) -> bool {
        self.topics.contains_key(&topic)
    }

    /// The servers.
    pub fn servers(&self) -> impl Iterator<Item = ServerId> {
        self.servers.keys().copied()
    }
}

fn add<I: Ord>(all: &mut BTreeMap<I, i64>, id: I, uses: i64) {
    match all.entry(id) {
        Entry::Vacant(entry) => drop(entry.insert(uses)),
        Entry::Occupied(mut entry) => {
            *entry.get_mut() += uses;
            if *entry.get() == 0 {
                entry.remove();
            }
        }
    }
}

/// An event between two ticks.
#[derive(Clone, Debug)]
pub enum Event {
    /// A notice for a waiting leaf.
    Notice(Notice<Payload>),
    /// A message on a subscribed topic.
    Message {
        /// The subscription.
        topic: TopicId,
        /// The message.
        payload: Payload,
        /// Time of reception, on the clock that a simulation does not stop.
        received: Time,
    },
}

/// The reason why an endpoint could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The interface was not available when navtree was built.
    #[error("the interface `{0}` is unknown: {why}", why = why_unknown(.0))]
    UnknownInterface(String),
    /// The name is not a valid ROS name.
    #[error("`{0}` is not a valid ROS name")]
    BadName(String),
    /// The topic already has another type.
    #[error("the topic `{topic}` has the type {has} here, not {wanted}")]
    OtherType {
        /// The name.
        topic: String,
        /// The existing type.
        has: String,
        /// The requested type.
        wanted: String,
    },
    /// The middleware refused the request.
    #[error("{0}")]
    Refused(String),
}

/// Advice for an unknown interface.
fn why_unknown(name: &str) -> &'static str {
    match *name.split('/').collect::<Vec<_>>() {
        [_, "msg" | "srv" | "action", _] => "build navtree with this interface package sourced",
        _ => "write package/msg/Name, package/srv/Name or package/action/Name",
    }
}

/// The reason why a transform is not available.
#[derive(Debug, Clone, PartialEq, thiserror::Error, serde::Serialize, serde::Deserialize)]
pub enum TransformError {
    /// The frame was never received.
    #[error("the frame `{0}` does not exist")]
    UnknownFrame(String),
    /// Both frames exist but are not connected.
    #[error("there is no chain of transforms from `{from}` to `{to}`")]
    NotConnected {
        /// The source frame.
        from: String,
        /// The target frame.
        to: String,
    },
    /// The transform is too old.
    #[error("the transform from `{from}` to `{to}` is {age_seconds:.3} s old, more than the tolerance")]
    TooOld {
        /// The source frame.
        from: String,
        /// The target frame.
        to: String,
        /// Its age.
        age_seconds: f64,
    },
    /// The requested time is outside of the buffered range.
    #[error("no transform from `{from}` to `{to}` at the wanted time")]
    OutOfRange {
        /// The source frame.
        from: String,
        /// The target frame.
        to: String,
    },
}

/// The interface from the tick thread to the network threads. No method blocks (guarantee G1): network operations are
/// queued for the threads that own the network.
pub trait Link: Send {
    /// Opens a client. The same name and type return the same number, so trees share a client and a tree swap creates
    /// no new entity. The server does not need to exist. All that is opened stays open until
    /// [`Link::close_unused`].
    ///
    /// # Errors
    /// [`LinkError`]. Every error is permanent and an error of the tree.
    fn open(
        &mut self,
        kind: EndpointKind,
        name: &str,
        type_name: &str,
        form: Form,
    ) -> Result<ServerId, LinkError>;

    /// Subscribes to the feedback of an action server. Without this call, feedback is not delivered.
    fn hear(&mut self, server: ServerId);

    /// Subscribes to a topic. An equal specification returns the same number.
    ///
    /// # Errors
    /// As [`Link::open`].
    fn subscribe(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError>;

    /// A message as JSON with default values in all fields, which shows the fields and their types. `Null` if this link
    /// does not know them.
    ///
    /// # Errors
    /// [`LinkError::UnknownInterface`].
    fn template(&self, _part: Part, _type_name: &str) -> Result<serde_json::Value, LinkError> {
        Ok(serde_json::Value::Null)
    }

    /// Checks that JSON is a valid message of an interface, including ranges of numbers, lengths of arrays, and texts.
    /// A message that passes can be sent.
    ///
    /// # Errors
    /// [`LinkError::UnknownInterface`], or [`LinkError::Refused`] with the reason.
    fn check(&self, _part: Part, _type_name: &str, _message: &serde_json::Value) -> Result<(), LinkError> {
        Ok(())
    }

    /// Creates a publisher. An equal specification returns the same number.
    ///
    /// # Errors
    /// As [`Link::open`].
    fn advertise(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError>;

    /// The fault of an open topic: others publish it with another type.
    fn topic_fault(&self, _topic: TopicId) -> Option<LinkError> {
        None
    }

    /// Serves `std_srvs/srv/Trigger` under a name. The network threads answer every request with success and deliver it
    /// as a message of this topic with an empty (`()`) payload. An equal name returns the same number.
    ///
    /// # Errors
    /// As [`Link::open`].
    fn serve_trigger(&mut self, name: &str) -> Result<TopicId, LinkError> {
        Err(LinkError::Refused(format!(
            "cannot serve `{name}`: this build does not support services of trees"
        )))
    }

    /// Closes, now or later, what was opened and is not in this list.
    fn close_unused(&mut self, _in_use: &Opened) {}

    /// Tells that the messages of these topics were forgotten, which were closed before. No message of them is delivered
    /// until they are opened again; then, the newest one is if its topic is latched.
    fn forget(&mut self, _topics: &[TopicId]) {}

    /// Publishes a message of a leaf. It is dropped after [`Command::HaltAll`], until the next session begins.
    fn publish(&mut self, topic: TopicId, payload: Payload);

    /// Publishes a message also after [`Command::HaltAll`]: what tells what the tree did, and what a leaf publishes while its
    /// tree is halted, such as a stop.
    fn publish_always(&mut self, topic: TopicId, payload: Payload) {
        self.publish(topic, payload);
    }

    /// Hands commands to the GoalTracker, in order, and leaves the vector empty.
    fn submit(&mut self, commands: &mut Vec<Command<Payload>>);

    /// Called at the end of a tick, after its duration was recorded: sends at the latest now what the tick submitted
    /// and published. Also called at the end of a tick that starts jobs, before the first job. For links that pass
    /// messages to another thread, which may take the CPU from the thread that wakes it.
    fn hand_over(&mut self) {}

    /// Whether the GoalTracker has handled all submitted commands and no goal keeps the session that began with ticket
    /// `since` open, see [`LiveGoal::delays_result`](crate::goal::LiveGoal::delays_result). A navigator waits for this, with a
    /// deadline, before it reports CANCELED.
    fn is_settled(&self, since: Ticket) -> bool;

    /// Whether the GoalTracker has not handled all submitted commands, so [`Link::unsettled`] may lack goals.
    fn has_unhandled(&self) -> bool {
        false
    }

    /// The goals that have not stopped, one text per goal with its server, leaf and phase. Includes abandoned goals,
    /// see [`LiveGoal::is_left_by`](crate::goal::LiveGoal::is_left_by).
    fn unsettled(&self, since: Ticket) -> Vec<String>;

    /// Takes the events since the last call.
    fn receive(&mut self, into: &mut Vec<Event>);

    /// The newest transform from `source` to `target`, or the one at a stamp.
    ///
    /// # Errors
    /// [`TransformError`]. The call does not wait.
    fn transform(
        &self,
        target: &str,
        source: &str,
        at: Option<Stamp>,
    ) -> Result<TransformStamped, TransformError>;

    /// The node's ROS time, for stamps. Do not use it for deadlines.
    fn stamp(&self, now: Time) -> Stamp;

    /// A parameter of the node as text, in the form of a port value.
    fn parameter(&self, name: &str) -> Option<String>;
}
