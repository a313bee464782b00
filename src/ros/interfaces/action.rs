//! Action types by name.

use std::marker::PhantomData;

use r2r::WrappedActionTypeSupport;

use super::{checked, default_of, from_json, to_json, to_wire};
use crate::goal::{CancelTag, GoalId, Selection, ServerId};
use crate::msg::Action;
use crate::msg::action::actions;
use crate::nav::{Form, LinkError, Part, Payload};
use crate::ros::action_client::ActionClient;
use crate::ros::convert::{ActionType, ActionWire, Convert};
use crate::ros::goal_tracker::InputSender;
use crate::ros::spin::Task;
use crate::ros::{PendingRequests, RosError, RosNode};

/// The client side of one action server. No method waits. Answers go to the inputs given when it was opened.
pub(in crate::ros) trait ActionTransport: Send {
    /// The task that subscribes the node to the feedback of goals sent from here. Run it once, and only if a leaf needs
    /// feedback: a controller sends it at 20 Hz or more, and unused feedback took a fifth of the node's processor time.
    fn hear_feedback(&self) -> Task;
    /// Sends a goal request.
    fn send_goal(&mut self, goal: GoalId, payload: &Payload) -> Result<(), RosError>;
    /// Sends a cancel request.
    fn cancel(&mut self, tag: CancelTag, selection: Selection) -> Result<(), RosError>;
    /// Requests a result.
    fn request_result(&mut self, goal: GoalId) -> Result<(), RosError>;
    /// Forgets a goal: no more answers are expected.
    fn forget(&mut self, goal: GoalId);
    /// The unanswered requests.
    fn pending_requests(&self) -> PendingRequests;
    /// Whether an answer may come that matters: to a goal request, however old, or to another request to the present
    /// server.
    fn awaits_answers(&self) -> bool;
}

/// Converts between payloads and r2r's structs. Answers for a goal have the form of that goal, so leaves of both forms
/// share one client: for the GoalTracker they are leaves of one server (guarantee G5).
pub(in crate::ros) trait ActionCodec: 'static {
    type Wire: ActionWire;
    fn goal(payload: &Payload) -> Result<(<Self::Wire as WrappedActionTypeSupport>::Goal, Form), RosError>;
    fn result(wire: <Self::Wire as WrappedActionTypeSupport>::Result, form: Form) -> Payload;
    fn feedback(wire: <Self::Wire as WrappedActionTypeSupport>::Feedback, form: Form) -> Payload;
}

/// An action in room `msg`.
struct Known<A>(PhantomData<A>);

impl<A: ActionType> ActionCodec for Known<A> {
    type Wire = A::Wire;

    fn goal(payload: &Payload) -> Result<(<A::Wire as WrappedActionTypeSupport>::Goal, Form), RosError> {
        match payload.get::<A::Goal>() {
            Some(goal) => Ok((to_wire(goal, "goal")?, Form::Plain)),
            None => Ok((from_json(payload, "goal")?, Form::Json)),
        }
    }

    fn result(wire: <A::Wire as WrappedActionTypeSupport>::Result, form: Form) -> Payload {
        match form {
            Form::Plain => Payload::new(<A::Result as Convert>::from_wire(wire)),
            Form::Json => to_json(&wire),
        }
    }

    fn feedback(wire: <A::Wire as WrappedActionTypeSupport>::Feedback, form: Form) -> Payload {
        match form {
            Form::Plain => Payload::new(<A::Feedback as Convert>::from_wire(wire)),
            Form::Json => to_json(&wire),
        }
    }
}

/// Any other action.
struct Json<W>(PhantomData<W>);

impl<W: ActionWire> ActionCodec for Json<W> {
    type Wire = W;

    fn goal(payload: &Payload) -> Result<(W::Goal, Form), RosError> {
        Ok((from_json(payload, "goal")?, Form::Json))
    }

    fn result(wire: W::Result, _form: Form) -> Payload {
        to_json(&wire)
    }

    fn feedback(wire: W::Feedback, _form: Form) -> Payload {
        to_json(&wire)
    }
}

/// An action type as a trait object.
pub(super) trait ActionInterface: Sync {
    fn type_name(&self) -> &'static str;
    fn open(
        &self,
        node: &mut RosNode,
        name: &str,
        server: ServerId,
        inputs: InputSender,
    ) -> Result<Box<dyn ActionTransport>, RosError>;
    /// A message with default values in all fields.
    fn template(&self, part: Part) -> Option<serde_json::Value>;
    /// Checks that JSON is such a message.
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

/// An action type with its name and its codec.
struct Entry<C> {
    name: &'static str,
    codec: PhantomData<fn() -> C>,
}

impl<C: ActionCodec> ActionInterface for Entry<C> {
    fn type_name(&self) -> &'static str {
        self.name
    }

    fn open(
        &self,
        node: &mut RosNode,
        name: &str,
        server: ServerId,
        inputs: InputSender,
    ) -> Result<Box<dyn ActionTransport>, RosError> {
        Ok(Box::new(ActionClient::<C>::open(node, name, server, inputs)?))
    }

    fn template(&self, part: Part) -> Option<serde_json::Value> {
        template::<C::Wire>(part)
    }

    fn check(&self, part: Part, message: &serde_json::Value) -> Result<(), String> {
        check::<C::Wire>(part, message)
    }
}

macro_rules! registry {
    ($($file:ident: $action:ident,)*) => {
        &[$(&Entry::<Known<crate::msg::action::$action>> {
            name: <crate::msg::action::$action as Action>::TYPE,
            codec: PhantomData,
        }),*]
    };
}

/// Every action type of room `msg`.
static ACTIONS: &[&dyn ActionInterface] = actions!(registry);

pub(super) fn find(type_name: &str) -> Option<&'static dyn ActionInterface> {
    ACTIONS
        .iter()
        .copied()
        .find(|action| action.type_name() == type_name)
}

/// Every action type that r2r generated for this build, in room `msg` or not. Written by `build.rs` from r2r's resource
/// index and with r2r's filter.
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

/// Creates a client for an action server, with any action type of the build.
///
/// # Errors
/// The middleware's message, as a [`LinkError`].
pub(in crate::ros) fn open_action(
    node: &mut RosNode,
    name: &str,
    type_name: &str,
    server: ServerId,
    inputs: InputSender,
) -> Result<Box<dyn ActionTransport>, LinkError> {
    find_json(type_name)
        .ok_or_else(|| LinkError::UnknownInterface(type_name.to_owned()))?
        .open(node, name, server, inputs)
        .map_err(|error| LinkError::Refused(error.to_string()))
}
