//! Action types by name.

use std::marker::PhantomData;

use r2r::WrappedActionTypeSupport;

use super::{checked, default_of, from_json, to_json};
use crate::goal::{CancelTag, GoalId, Selection, ServerId};
use crate::msg::action::{
    AssistedTeleop, BackUp, ComputeAndTrackRoute, ComputePathThroughPoses, ComputePathToPose, ComputeRoute,
    DockRobot, DriveOnHeading, FollowObject, FollowPath, NavigateThroughPoses, NavigateToPose, SmoothPath,
    Spin, UndockRobot, Wait,
};
use crate::nav::{Form, LinkError, Part, Payload};
use crate::ros::action_client::ActionClient;
use crate::ros::custodian_task::Inlet;
use crate::ros::mirror::{ActionType, ActionWire, Mirror};
use crate::ros::{Debts, RosError, RosNode};

/// The client side of one action server. Nothing waits; what comes back goes to the inlet it was opened with.
pub(in crate::ros) trait ActionTransport: Send {
    /// Sends a goal request.
    fn send_goal(&mut self, goal: GoalId, payload: &Payload) -> Result<(), RosError>;
    /// Sends a cancel request.
    fn cancel(&mut self, tag: CancelTag, selection: Selection) -> Result<(), RosError>;
    /// Asks for a result.
    fn request_result(&mut self, goal: GoalId) -> Result<(), RosError>;
    /// Nothing more is expected for a goal.
    fn forget(&mut self, goal: GoalId);
    /// Requests without an answer.
    fn debts(&self) -> Debts;
}

/// How payloads become r2r's structs.
pub(in crate::ros) trait ActionCodec: 'static {
    type Wire: ActionWire;
    fn goal(payload: &Payload) -> Result<<Self::Wire as WrappedActionTypeSupport>::Goal, RosError>;
    fn result(wire: <Self::Wire as WrappedActionTypeSupport>::Result) -> Payload;
    fn feedback(wire: <Self::Wire as WrappedActionTypeSupport>::Feedback) -> Payload;
}

struct Plain<A>(PhantomData<A>);

impl<A: ActionType> ActionCodec for Plain<A> {
    type Wire = A::Wire;

    fn goal(payload: &Payload) -> Result<<A::Wire as WrappedActionTypeSupport>::Goal, RosError> {
        payload
            .get::<A::Goal>()
            .map(Mirror::to_wire)
            .ok_or(RosError::WrongPayload(A::TYPE))
    }

    fn result(wire: <A::Wire as WrappedActionTypeSupport>::Result) -> Payload {
        Payload::new(<A::Result as Mirror>::from_wire(wire))
    }

    fn feedback(wire: <A::Wire as WrappedActionTypeSupport>::Feedback) -> Payload {
        Payload::new(<A::Feedback as Mirror>::from_wire(wire))
    }
}

struct Json<W>(PhantomData<W>);

impl<W: ActionWire> ActionCodec for Json<W> {
    type Wire = W;

    fn goal(payload: &Payload) -> Result<W::Goal, RosError> {
        from_json(payload, "goal")
    }

    fn result(wire: W::Result) -> Payload {
        to_json(&wire)
    }

    fn feedback(wire: W::Feedback) -> Payload {
        to_json(&wire)
    }
}

/// An action type, without its type.
pub(super) trait ActionInterface: Sync {
    fn type_name(&self) -> &'static str;
    fn open(
        &self,
        node: &mut RosNode,
        name: &str,
        server: ServerId,
        form: Form,
        inlet: Inlet,
    ) -> Result<Box<dyn ActionTransport>, RosError>;
    /// A message with every field at its default.
    fn template(&self, part: Part) -> Option<serde_json::Value>;
    /// Whether JSON is such a message.
    fn check(&self, part: Part, message: &serde_json::Value) -> Result<(), String>;
}

fn template<W: ActionWire>(part: Part) -> Option<serde_json::Value> {
    match part {
        Part::Goal => default_of::<W::Goal>(),
        Part::Result => default_of::<W::Result>(),
        Part::Feedback => default_of::<W::Feedback>(),
        Part::Request | Part::Response | Part::Message => None,
    }
}

fn check<W: ActionWire>(part: Part, message: &serde_json::Value) -> Result<(), String> {
    match part {
        Part::Goal => checked::<W::Goal>(message).map(drop),
        Part::Result => checked::<W::Result>(message).map(drop),
        Part::Feedback => checked::<W::Feedback>(message).map(drop),
        Part::Request | Part::Response | Part::Message => Ok(()),
    }
}

/// An action type that room `msg` does not know: in JSON only.
struct JsonOnly<W> {
    name: &'static str,
    wire: PhantomData<fn() -> W>,
}

impl<W: ActionWire> ActionInterface for JsonOnly<W> {
    fn type_name(&self) -> &'static str {
        self.name
    }

    fn open(
        &self,
        node: &mut RosNode,
        name: &str,
        server: ServerId,
        _form: Form,
        inlet: Inlet,
    ) -> Result<Box<dyn ActionTransport>, RosError> {
        Ok(Box::new(ActionClient::<Json<W>>::open(
            node, name, server, inlet,
        )?))
    }

    fn template(&self, part: Part) -> Option<serde_json::Value> {
        template::<W>(part)
    }

    fn check(&self, part: Part, message: &serde_json::Value) -> Result<(), String> {
        check::<W>(part, message)
    }
}

struct Registered<A>(PhantomData<fn() -> A>);

impl<A: ActionType> ActionInterface for Registered<A> {
    fn type_name(&self) -> &'static str {
        A::TYPE
    }

    fn open(
        &self,
        node: &mut RosNode,
        name: &str,
        server: ServerId,
        form: Form,
        inlet: Inlet,
    ) -> Result<Box<dyn ActionTransport>, RosError> {
        Ok(match form {
            Form::Plain => Box::new(ActionClient::<Plain<A>>::open(node, name, server, inlet)?),
            Form::Json => Box::new(ActionClient::<Json<A::Wire>>::open(node, name, server, inlet)?),
        })
    }

    fn template(&self, part: Part) -> Option<serde_json::Value> {
        template::<A::Wire>(part)
    }

    fn check(&self, part: Part, message: &serde_json::Value) -> Result<(), String> {
        check::<A::Wire>(part, message)
    }
}

macro_rules! registry {
    ($($action:ident),* $(,)?) => {
        &[$(&Registered::<$action>(PhantomData)),*]
    };
}

/// Every action type of the build. One that is added to room `msg` is added to `ros/mirror/action.rs` and here.
static ACTIONS: &[&dyn ActionInterface] = registry![
    AssistedTeleop,
    BackUp,
    ComputeAndTrackRoute,
    ComputePathThroughPoses,
    ComputePathToPose,
    ComputeRoute,
    DockRobot,
    DriveOnHeading,
    FollowObject,
    FollowPath,
    NavigateThroughPoses,
    NavigateToPose,
    SmoothPath,
    Spin,
    UndockRobot,
    Wait,
];

pub(super) fn find(type_name: &str) -> Option<&'static dyn ActionInterface> {
    ACTIONS
        .iter()
        .copied()
        .find(|action| action.type_name() == type_name)
}

/// Every action type that r2r made for this build, whether room `msg` knows it or not: written by `build.rs` from the
/// same resource index and the same filter that r2r goes by.
static JSON_ACTIONS: &[&dyn ActionInterface] = include!(concat!(env!("OUT_DIR"), "/json_actions.rs"));

/// An action type for use in JSON.
pub(super) fn find_json(type_name: &str) -> Option<&'static dyn ActionInterface> {
    find(type_name).or_else(|| {
        JSON_ACTIONS
            .iter()
            .copied()
            .find(|action| action.type_name() == type_name)
    })
}

/// Makes a client for an action server. In JSON any action type of the build will do.
///
/// # Errors
/// What the middleware says, as text of a [`LinkError`].
pub(in crate::ros) fn open_action(
    node: &mut RosNode,
    name: &str,
    type_name: &str,
    server: ServerId,
    form: Form,
    inlet: Inlet,
) -> Result<Box<dyn ActionTransport>, LinkError> {
    let found = match form {
        Form::Plain => find(type_name),
        Form::Json => find_json(type_name),
    };
    found
        .ok_or_else(|| LinkError::UnknownInterface(type_name.to_owned()))?
        .open(node, name, server, form, inlet)
        .map_err(|error| LinkError::Refused(error.to_string()))
}
