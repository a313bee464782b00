//! The traits by which nodes ask for the world: implemented by room `ros`, and by tests on a virtual clock.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::bt::Time;
use crate::goal::{Command, Notice, ServerId, Ticket};
use crate::msg::{Stamp, TransformStamped};

/// What goals, requests, results and topic messages are while they travel: shared, never copied, of a type that both
/// ends know by the interface's name.
#[derive(Clone)]
pub struct Payload(Arc<dyn Any + Send + Sync>);

impl Payload {
    /// Wraps a message.
    pub fn new<T: Any + Send + Sync>(message: T) -> Self {
        Self(Arc::new(message))
    }

    /// Wraps a message, in the place of one that is over: nothing is allocated where nobody else holds that one any
    /// more and it was of the same type.
    pub fn renewed<T: Any + Send + Sync>(spent: Option<Self>, message: T) -> Self {
        if let Some(Self(mut shared)) = spent
            && let Some(place) = Arc::get_mut(&mut shared).and_then(|any| any.downcast_mut::<T>())
        {
            *place = message;
            return Self(shared);
        }
        Self::new(message)
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

/// What is opened under a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EndpointKind {
    /// A client of an action server.
    Action,
    /// A client of a service.
    Service,
}

/// How a payload is represented on our side.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Form {
    /// The plain struct of room `msg`.
    #[default]
    Plain,
    /// A `serde_json::Value` of the interface's fields: for interfaces that room `msg` does not know.
    Json,
}

/// Which message of an interface.
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
    /// The message itself, of a topic.
    Message,
}

/// A topic to subscribe to or publish on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TopicSpec {
    /// Its name, relative to the node unless it begins with `/`.
    pub name: Arc<str>,
    /// `std_msgs/msg/String`.
    pub type_name: Arc<str>,
    /// Messages kept for late readers.
    pub depth: u16,
    /// Whether messages are delivered again when lost.
    pub reliable: bool,
    /// Whether a late subscriber gets what was published before.
    pub transient_local: bool,
    /// How payloads look.
    pub form: Form,
}

/// A subscription or a publisher, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct TopicId(pub u32);

/// What arrived between two ticks.
#[derive(Clone, Debug)]
pub enum Event {
    /// Something for a leaf that waits.
    Notice(Notice<Payload>),
    /// A message on a subscribed topic.
    Message {
        /// The subscription.
        topic: TopicId,
        /// The message.
        payload: Payload,
        /// When this process received it, by the clock that no simulation stops.
        received: Time,
    },
}

/// Why something could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The interface was not there when navtree was built.
    #[error("the interface `{0}` is unknown: {why}", why = why_unknown(.0))]
    UnknownInterface(String),
    /// The name is not a ROS name.
    #[error("`{0}` is not a valid ROS name")]
    BadName(String),
    /// A topic has one type.
    #[error("the topic `{topic}` has the type {has} here, not {wanted}")]
    OtherType {
        /// Its name.
        topic: String,
        /// The type that it has already.
        has: String,
        /// The type that was asked for.
        wanted: String,
    },
    /// The middleware refused.
    #[error("{0}")]
    Refused(String),
}

/// What to do about an interface that is unknown.
fn why_unknown(name: &str) -> &'static str {
    match *name.split('/').collect::<Vec<_>>() {
        [_, "msg" | "srv" | "action", _] => "it has to be present when navtree is built",
        _ => "it is written package/msg/Name, package/srv/Name or package/action/Name",
    }
}

/// Why a transform is not to be had now.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TransformError {
    /// A frame was never heard of.
    #[error("the frame `{0}` does not exist")]
    UnknownFrame(String),
    /// Both exist, in trees that do not meet.
    #[error("there is no chain of transforms from `{from}` to `{to}`")]
    NotConnected {
        /// Where it starts.
        from: String,
        /// Where it should lead.
        to: String,
    },
    /// There is one, but not for this time.
    #[error("the transform from `{from}` to `{to}` is {age_seconds:.3} s old, more than the tolerance")]
    TooOld {
        /// Where it starts.
        from: String,
        /// Where it should lead.
        to: String,
        /// Its age.
        age_seconds: f64,
    },
    /// The wanted time lies outside of what is buffered.
    #[error("no transform from `{from}` to `{to}` at the wanted time")]
    OutOfRange {
        /// Where it starts.
        from: String,
        /// Where it should lead.
        to: String,
    },
}

/// The way out of the tick thread. No method waits (guarantee G1): whatever needs the network is queued for the
/// threads that own it.
pub trait Link: Send {
    /// Opens a client; the same name and type give the same number, so that trees share it and a tree swap makes no
    /// new entity. The server need not exist.
    ///
    /// # Errors
    /// [`LinkError`], all of which are faults of the tree, not of the moment.
    fn open(
        &mut self,
        kind: EndpointKind,
        name: &str,
        type_name: &str,
        form: Form,
    ) -> Result<ServerId, LinkError>;

    /// Has the feedback of an action server delivered from now on, which is not before somebody asks for it.
    fn hear(&mut self, server: ServerId);

    /// Subscribes; an equal specification gives the same number.
    ///
    /// # Errors
    /// As [`Link::open`].
    fn subscribe(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError>;

    /// A message as JSON with every field at its default: what fields there are, and of which types. `Null` where this
    /// link cannot tell.
    ///
    /// # Errors
    /// [`LinkError::UnknownInterface`].
    fn template(&self, _part: Part, _type_name: &str) -> Result<serde_json::Value, LinkError> {
        Ok(serde_json::Value::Null)
    }

    /// Whether JSON is a message of an interface, with all that a type has beyond its fields: ranges of numbers,
    /// lengths of arrays, texts. What passes here can be sent.
    ///
    /// # Errors
    /// [`LinkError::UnknownInterface`]; [`LinkError::Refused`] with what does not fit.
    fn check(&self, _part: Part, _type_name: &str, _message: &serde_json::Value) -> Result<(), LinkError> {
        Ok(())
    }

    /// Prepares to publish; an equal specification gives the same number.
    ///
    /// # Errors
    /// As [`Link::open`].
    fn advertise(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError>;

    /// What keeps a topic that was opened from being of use now: others publish it with another type.
    fn topic_fault(&self, _topic: TopicId) -> Option<LinkError> {
        None
    }

    /// Serves `std_srvs/srv/Trigger` under a name: every request is answered with success by the threads that own the
    /// network, and comes in as a message of this number without content (a `()` payload). An equal name gives the
    /// same number.
    ///
    /// # Errors
    /// As [`Link::open`].
    fn serve_trigger(&mut self, name: &str) -> Result<TopicId, LinkError> {
        Err(LinkError::Refused(format!(
            "cannot serve `{name}`: this build serves no services to trees"
        )))
    }

    /// Publishes.
    fn publish(&mut self, topic: TopicId, payload: Payload);

    /// Hands commands to the GoalTracker, in order, and leaves the vector empty.
    fn submit(&mut self, commands: &mut Vec<Command<Payload>>);

    /// The tick is over, and how long it took was noted: what was submitted and published in it leaves at the latest now. Also
    /// called at the end of a tick that starts jobs, before the first of them.
    /// For links that hand it to another thread, which may take the processor from the one that wakes it.
    fn hand_over(&mut self) {}

    /// Whether everything submitted so far was handled by the GoalTracker and no goal keeps the session that began with
    /// ticket `since` from being over, see [`LiveGoal::holds_up`](crate::goal::LiveGoal::holds_up): what a navigator
    /// waits for, with a deadline, before it reports CANCELED.
    fn is_settled(&self, since: Ticket) -> bool;

    /// What has not stopped, one text a goal: its server, its leaf, its phase. Also what nobody waits for any more, see
    /// [`LiveGoal::is_left_by`](crate::goal::LiveGoal::is_left_by).
    fn unsettled(&self, since: Ticket) -> Vec<String>;

    /// Takes what has arrived since the last call.
    fn receive(&mut self, into: &mut Vec<Event>);

    /// The newest transform that takes coordinates in `source` to coordinates in `target`, or the one at a stamp.
    ///
    /// # Errors
    /// [`TransformError`]; it is not waited for.
    fn transform(
        &self,
        target: &str,
        source: &str,
        at: Option<Stamp>,
    ) -> Result<TransformStamped, TransformError>;

    /// The node's ROS time: for stamps, not for deadlines.
    fn stamp(&self, now: Time) -> Stamp;

    /// A parameter of the node, as text in the form of a port value.
    fn parameter(&self, name: &str) -> Option<String>;
}
