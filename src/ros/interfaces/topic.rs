//! Message types by name.

use std::marker::PhantomData;

use r2r::{QosProfile, WrappedNativeMsgUntyped};

use super::bounds::Bounds;
use super::cdr::Layout;
use super::json;
use crate::msg::{self, Odometry, topics};
use crate::nav::{Form, LinkError, Payload, TopicSpec, refuse_zero_bytes};
use crate::ros::checked;
use crate::ros::convert::{Flag, Goals, PoseArray, SimulatedTime, Text, TopicType, Transforms};
use crate::ros::rcl::Serialized;
use crate::ros::ready::Haste;
use crate::ros::{Publisher, RosError, RosNode};

/// A publisher as a trait object.
pub(in crate::ros) trait Publish: Send {
    fn publish(&self, payload: &Payload) -> Result<(), RosError>;
}

/// Receives the messages of a subscription, on the thread that listens.
pub(in crate::ros) type Receiver = Box<dyn FnMut(Payload) + Send>;

/// A message type as a trait object.
trait TopicInterface: Sync {
    fn type_name(&self) -> &'static str;
    fn subscribe(
        &self,
        node: &mut RosNode,
        name: &str,
        qos: QosProfile,
        receiver: Receiver,
    ) -> Result<(), RosError>;
    fn advertise(
        &self,
        node: &mut RosNode,
        name: &str,
        qos: QosProfile,
    ) -> Result<Box<dyn Publish>, RosError>;
}

struct Registered<T>(PhantomData<fn() -> T>);

impl<T: TopicType> TopicInterface for Registered<T> {
    fn type_name(&self) -> &'static str {
        T::TYPE
    }

    fn subscribe(
        &self,
        node: &mut RosNode,
        name: &str,
        qos: QosProfile,
        mut receiver: Receiver,
    ) -> Result<(), RosError> {
        let take = checked::whole::<T>(name, move |payload| receiver(Payload::new(payload)));
        node.subscribe_with(name, qos, haste(T::TYPE), take)
    }

    fn advertise(
        &self,
        node: &mut RosNode,
        name: &str,
        qos: QosProfile,
    ) -> Result<Box<dyn Publish>, RosError> {
        Ok(Box::new(Typed::<T>(node.publisher(name, qos)?)))
    }
}

struct Typed<T: TopicType>(Publisher<T::Wire>);

impl<T: TopicType> Publish for Typed<T> {
    fn publish(&self, payload: &Payload) -> Result<(), RosError> {
        let message = payload
            .get::<T::Payload>()
            .ok_or(RosError::WrongPayload(T::TYPE))?;
        self.0.publish(&T::to_wire(message))
    }
}

struct Json {
    publisher: Publisher<Serialized>,
    type_name: String,
    layout: Layout,
}

impl Publish for Json {
    fn publish(&self, payload: &Payload) -> Result<(), RosError> {
        let message = payload
            .get::<serde_json::Value>()
            .ok_or(RosError::WrongPayload("JSON value"))?;
        // Adds the defaults of the fields that are missing. The leaf's message was checked before.
        let fill = || {
            let native = WrappedNativeMsgUntyped::new_from(&self.type_name)?;
            native.from_json(message.clone())?;
            native.to_json()
        };
        let filled = json::quietly(fill)
            .map_err(RosError::Send)?
            .map_err(|error| RosError::Send(error.to_string()))?;
        self.publisher.publish_serialized(&self.layout.encode(&filled))
    }
}

macro_rules! registry {
    ($($message:ident)*) => {
        &[
            $(&Registered::<msg::$message>(PhantomData),)*
            &Registered::<Flag>(PhantomData),
            &Registered::<Goals>(PhantomData),
            &Registered::<PoseArray>(PhantomData),
            &Registered::<SimulatedTime>(PhantomData),
            &Registered::<Text>(PhantomData),
            &Registered::<Transforms>(PhantomData),
        ]
    };
}

/// Every message type with a Rust payload.
static TOPICS: &[&dyn TopicInterface] = topics!(registry);

fn find(type_name: &str) -> Option<&'static dyn TopicInterface> {
    TOPICS
        .iter()
        .copied()
        .find(|topic| topic.type_name() == type_name)
}

/// Whether a message type with this name is supported. `json`: as JSON, which supports any message type of the build.
pub(in crate::ros) fn knows_topic(type_name: &str, json: bool) -> bool {
    if json {
        WrappedNativeMsgUntyped::new_from(type_name).is_ok()
    } else {
        find(type_name).is_some()
    }
}

/// A message with default values in all fields.
pub(super) fn template(type_name: &str) -> Option<serde_json::Value> {
    WrappedNativeMsgUntyped::new_from(type_name).ok()?.to_json().ok()
}

/// Checks that JSON is a message of a type; `None` if the type is unknown.
pub(super) fn check(type_name: &str, message: &serde_json::Value) -> Option<Result<(), String>> {
    let native = WrappedNativeMsgUntyped::new_from(type_name).ok()?;
    let fill = || native.from_json(message.clone()).and_then(|()| native.to_json());
    let filled = refuse_zero_bytes(message)
        .and_then(|()| Bounds::of(native.ts).check(message))
        .and_then(|()| json::quietly(fill));
    Some(filled.and_then(|filled| match filled {
        Ok(filled) => json::same_fields(message, &filled, &mut Vec::new()),
        Err(error) => Err(json::words(&error)),
    }))
}

/// Only odometry arrives all the time.
fn haste(type_name: &str) -> Haste {
    match type_name {
        Odometry::ROS_TYPE => Haste::AtWork,
        _ => Haste::Always,
    }
}

/// The quality of service of a specification.
pub(in crate::ros) fn qos(spec: &TopicSpec) -> QosProfile {
    let qos = QosProfile::default().keep_last(usize::from(spec.depth.max(1)));
    let qos = if spec.reliable {
        qos.reliable()
    } else {
        qos.best_effort()
    };
    if spec.transient_local {
        qos.transient_local()
    } else {
        qos.volatile()
    }
}

/// Creates a subscription.
///
/// # Errors
/// [`LinkError::UnknownInterface`], [`LinkError::Refused`].
pub(in crate::ros) fn subscribe(
    node: &mut RosNode,
    spec: &TopicSpec,
    mut receiver: Receiver,
) -> Result<(), LinkError> {
    let result = match (spec.form, find(&spec.type_name)) {
        (Form::Plain, Some(topic)) => topic.subscribe(node, &spec.name, qos(spec), receiver),
        (Form::Plain, None) => return Err(LinkError::UnknownInterface(spec.type_name.to_string())),
        (Form::Json, _) => node.subscribe_json(&spec.name, &spec.type_name, qos(spec), move |value| {
            receiver(Payload::new(value));
        }),
    };
    result.map_err(|error| LinkError::Refused(error.to_string()))
}

/// Creates a publisher.
///
/// # Errors
/// [`LinkError::UnknownInterface`], [`LinkError::Refused`].
pub(in crate::ros) fn advertise(node: &mut RosNode, spec: &TopicSpec) -> Result<Box<dyn Publish>, LinkError> {
    match (spec.form, find(&spec.type_name)) {
        (Form::Plain, Some(topic)) => topic
            .advertise(node, &spec.name, qos(spec))
            .map_err(|error| LinkError::Refused(error.to_string())),
        (Form::Plain, None) => Err(LinkError::UnknownInterface(spec.type_name.to_string())),
        (Form::Json, _) => advertise_json(node, spec).map_err(LinkError::Refused),
    }
}

fn advertise_json(node: &mut RosNode, spec: &TopicSpec) -> Result<Box<dyn Publish>, String> {
    let type_name = spec.type_name.to_string();
    let native = WrappedNativeMsgUntyped::new_from(&type_name).map_err(|error| error.to_string())?;
    let layout = Layout::of(native.ts)?;
    let publisher = node
        .publisher_of(&spec.name, &type_name, qos(spec))
        .map_err(|error| error.to_string())?;
    Ok(Box::new(Json {
        publisher,
        type_name,
        layout,
    }))
}
