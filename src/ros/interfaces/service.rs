//! Service types by name.

use std::marker::PhantomData;

use r2r::WrappedServiceTypeSupport;

use super::{checked, default_of, from_json, to_json, to_wire};
use crate::goal::{ServerId, Ticket};
use crate::msg::Service;
use crate::msg::service::services;
use crate::nav::{Form, LinkError, Part, Payload};
use crate::ros::convert::{Convert, ServiceType, ServiceWire};
use crate::ros::goal_tracker::InputSender;
use crate::ros::service_client::ServiceClient;
use crate::ros::{PendingRequests, RosError, RosNode};

/// The client side of one service. No method waits. Answers go to the inputs given when it was opened.
pub(in crate::ros) trait ServiceTransport: Send {
    /// Sends a request.
    fn call(&mut self, ticket: Ticket, payload: &Payload) -> Result<(), RosError>;
    /// Forgets a call: no answer is expected.
    fn forget(&mut self, ticket: Ticket);
    /// The unanswered requests.
    fn pending_requests(&self) -> PendingRequests;
    /// Whether the present server may answer a request.
    fn awaits_answers(&self) -> bool;
}

/// Converts between payloads and r2r's structs. A response has the form of its request: see
/// [`ActionCodec`](super::ActionCodec).
pub(in crate::ros) trait ServiceCodec: 'static {
    type Wire: ServiceWire;
    fn request(
        payload: &Payload,
    ) -> Result<(<Self::Wire as WrappedServiceTypeSupport>::Request, Form), RosError>;
    fn response(wire: <Self::Wire as WrappedServiceTypeSupport>::Response, form: Form) -> Payload;
}

/// A service in room `msg`.
struct Known<S>(PhantomData<S>);

impl<S: ServiceType> ServiceCodec for Known<S> {
    type Wire = S::Wire;

    fn request(
        payload: &Payload,
    ) -> Result<(<S::Wire as WrappedServiceTypeSupport>::Request, Form), RosError> {
        match payload.get::<S::Request>() {
            Some(request) => Ok((to_wire(request, "request")?, Form::Plain)),
            None => Ok((from_json(payload, "request")?, Form::Json)),
        }
    }

    fn response(wire: <S::Wire as WrappedServiceTypeSupport>::Response, form: Form) -> Payload {
        match form {
            Form::Plain => Payload::new(<S::Response as Convert>::from_wire(wire)),
            Form::Json => to_json(&wire),
        }
    }
}

/// Any other service.
struct Json<W>(PhantomData<W>);

impl<W: ServiceWire> ServiceCodec for Json<W> {
    type Wire = W;

    fn request(payload: &Payload) -> Result<(W::Request, Form), RosError> {
        Ok((from_json(payload, "request")?, Form::Json))
    }

    fn response(wire: W::Response, _form: Form) -> Payload {
        to_json(&wire)
    }
}

/// A service type as a trait object.
pub(super) trait ServiceInterface: Sync {
    fn type_name(&self) -> &'static str;
    fn open(
        &self,
        node: &mut RosNode,
        name: &str,
        server: ServerId,
        inputs: InputSender,
    ) -> Result<Box<dyn ServiceTransport>, RosError>;
    /// A message with default values in all fields.
    fn template(&self, part: Part) -> Option<serde_json::Value>;
    /// Checks that JSON is such a message.
    fn check(&self, part: Part, message: &serde_json::Value) -> Result<(), String>;
}

fn template<W: ServiceWire>(part: Part) -> Option<serde_json::Value> {
    match part {
        Part::Request => default_of::<W::Request>(),
        Part::Response => default_of::<W::Response>(),
        Part::Goal | Part::Result | Part::Feedback | Part::Message => None,
    }
}

fn check<W: ServiceWire>(part: Part, message: &serde_json::Value) -> Result<(), String> {
    match part {
        Part::Request => checked::<W::Request>(message).map(drop),
        Part::Response => checked::<W::Response>(message).map(drop),
        Part::Goal | Part::Result | Part::Feedback | Part::Message => Ok(()),
    }
}

/// A service type with its name and its codec.
struct Entry<C> {
    name: &'static str,
    codec: PhantomData<fn() -> C>,
}

impl<C: ServiceCodec> ServiceInterface for Entry<C> {
    fn type_name(&self) -> &'static str {
        self.name
    }

    fn open(
        &self,
        node: &mut RosNode,
        name: &str,
        server: ServerId,
        inputs: InputSender,
    ) -> Result<Box<dyn ServiceTransport>, RosError> {
        Ok(Box::new(ServiceClient::<C>::open(node, name, server, inputs)?))
    }

    fn template(&self, part: Part) -> Option<serde_json::Value> {
        template::<C::Wire>(part)
    }

    fn check(&self, part: Part, message: &serde_json::Value) -> Result<(), String> {
        check::<C::Wire>(part, message)
    }
}

macro_rules! registry {
    ($($file:ident: $service:ident,)*) => {
        &[$(&Entry::<Known<crate::msg::service::$service>> {
            name: <crate::msg::service::$service as Service>::TYPE,
            codec: PhantomData,
        }),*]
    };
}

/// Every service type of room `msg`.
static SERVICES: &[&dyn ServiceInterface] = services!(registry);

pub(super) fn find(type_name: &str) -> Option<&'static dyn ServiceInterface> {
    SERVICES
        .iter()
        .copied()
        .find(|service| service.type_name() == type_name)
}

/// Every service type that r2r generated for this build, in room `msg` or not. Written by `build.rs`.
static JSON_SERVICES: &[&dyn ServiceInterface] = include!(concat!(env!("OUT_DIR"), "/json_services.rs"));

/// A service type for use in JSON. It always uses the Rust type: JSON that does not fit is then an error before it is
/// sent.
pub(super) fn find_json(type_name: &str) -> Option<&'static dyn ServiceInterface> {
    find(type_name).or_else(|| {
        JSON_SERVICES
            .iter()
            .copied()
            .find(|service| service.type_name() == type_name)
    })
}

/// Creates a client for a service, with any service type of the build.
///
/// # Errors
/// The middleware's message, as a [`LinkError`].
pub(in crate::ros) fn open_service(
    node: &mut RosNode,
    name: &str,
    type_name: &str,
    server: ServerId,
    inputs: InputSender,
) -> Result<Box<dyn ServiceTransport>, LinkError> {
    find_json(type_name)
        .ok_or_else(|| LinkError::UnknownInterface(type_name.to_owned()))?
        .open(node, name, server, inputs)
        .map_err(|error| LinkError::Refused(error.to_string()))
}
