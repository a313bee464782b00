//! Service types by name.

use std::marker::PhantomData;

use r2r::WrappedServiceTypeSupport;

use super::{from_json, to_json};
use crate::goal::{ServerId, Ticket};
use crate::msg::service::{
    ClearCostmapAroundPose, ClearCostmapAroundRobot, ClearCostmapExceptRegion, ClearEntireCostmap, Empty,
    IsPathValid, ManageLifecycleNodes, Toggle, Trigger,
};
use crate::nav::{Form, LinkError, Part, Payload};
use crate::ros::custodian_task::Inlet;
use crate::ros::mirror::{Mirror, ServiceType, ServiceWire};
use crate::ros::service_client::{JsonServiceClient, ServiceClient};
use crate::ros::{RosError, RosNode};

/// The client side of one service. Nothing waits; what comes back goes to the inlet it was opened with.
pub(in crate::ros) trait ServiceTransport: Send {
    /// Sends a request.
    fn call(&mut self, ticket: Ticket, payload: &Payload) -> Result<(), RosError>;
    /// Nothing more is expected for a call.
    fn forget(&mut self, ticket: Ticket);
}

/// How payloads become r2r's structs.
pub(in crate::ros) trait ServiceCodec: 'static {
    type Wire: ServiceWire;
    fn request(payload: &Payload) -> Result<<Self::Wire as WrappedServiceTypeSupport>::Request, RosError>;
    fn response(wire: <Self::Wire as WrappedServiceTypeSupport>::Response) -> Payload;
}

struct Plain<S>(PhantomData<S>);

impl<S: ServiceType> ServiceCodec for Plain<S> {
    type Wire = S::Wire;

    fn request(payload: &Payload) -> Result<<S::Wire as WrappedServiceTypeSupport>::Request, RosError> {
        payload
            .get::<S::Request>()
            .map(Mirror::to_wire)
            .ok_or(RosError::WrongPayload(S::TYPE))
    }

    fn response(wire: <S::Wire as WrappedServiceTypeSupport>::Response) -> Payload {
        Payload::new(<S::Response as Mirror>::from_wire(wire))
    }
}

struct Json<W>(PhantomData<W>);

impl<W: ServiceWire> ServiceCodec for Json<W> {
    type Wire = W;

    fn request(payload: &Payload) -> Result<W::Request, RosError> {
        from_json(payload, "request")
    }

    fn response(wire: W::Response) -> Payload {
        to_json(&wire)
    }
}

/// A service type, without its type.
pub(super) trait ServiceInterface: Sync {
    fn type_name(&self) -> &'static str;
    fn open(
        &self,
        node: &mut RosNode,
        name: &str,
        server: ServerId,
        form: Form,
        inlet: Inlet,
    ) -> Result<Box<dyn ServiceTransport>, RosError>;
}

struct Registered<S>(PhantomData<fn() -> S>);

impl<S: ServiceType> ServiceInterface for Registered<S> {
    fn type_name(&self) -> &'static str {
        S::TYPE
    }

    fn open(
        &self,
        node: &mut RosNode,
        name: &str,
        server: ServerId,
        form: Form,
        inlet: Inlet,
    ) -> Result<Box<dyn ServiceTransport>, RosError> {
        Ok(match form {
            Form::Plain => Box::new(ServiceClient::<Plain<S>>::open(node, name, server, inlet)?),
            Form::Json => Box::new(ServiceClient::<Json<S::Wire>>::open(node, name, server, inlet)?),
        })
    }
}

macro_rules! registry {
    ($($service:ident),* $(,)?) => {
        &[$(&Registered::<$service>(PhantomData)),*]
    };
}

/// Every service type that room `msg` has. One that is added there is added to `ros/mirror/service.rs` and here.
static SERVICES: &[&dyn ServiceInterface] = registry![
    ClearCostmapAroundPose,
    ClearCostmapAroundRobot,
    ClearCostmapExceptRegion,
    ClearEntireCostmap,
    Empty,
    IsPathValid,
    ManageLifecycleNodes,
    Toggle,
    Trigger,
];

pub(super) fn find(type_name: &str) -> Option<&'static dyn ServiceInterface> {
    SERVICES
        .iter()
        .copied()
        .find(|service| service.type_name() == type_name)
}

type Template = fn() -> Option<serde_json::Value>;

fn default_of<T: Default + serde::Serialize>() -> Option<serde_json::Value> {
    serde_json::to_value(T::default()).ok()
}

/// Request and response of every service type that r2r made for this build: written by `build.rs`.
static TEMPLATES: &[(&str, Template, Template)] = include!(concat!(env!("OUT_DIR"), "/json_services.rs"));

/// A request or response with every field at its default.
pub(super) fn template(part: Part, type_name: &str) -> Option<serde_json::Value> {
    let (_, request, response) = TEMPLATES.iter().find(|(name, ..)| *name == type_name)?;
    if part == Part::Request {
        request()
    } else {
        response()
    }
}

/// Makes a client for a service. In JSON any service type of the build will do.
///
/// # Errors
/// What the middleware says, as text of a [`LinkError`].
pub(in crate::ros) fn open_service(
    node: &mut RosNode,
    name: &str,
    type_name: &str,
    server: ServerId,
    form: Form,
    inlet: Inlet,
) -> Result<Box<dyn ServiceTransport>, LinkError> {
    match find(type_name) {
        Some(service) => service
            .open(node, name, server, form, inlet)
            .map_err(|error| LinkError::Refused(error.to_string())),
        None if form == Form::Json => JsonServiceClient::open(node, name, type_name, server, inlet)
            .map(|client| Box::new(client) as Box<dyn ServiceTransport>)
            .map_err(|error| LinkError::Refused(error.to_string())),
        None => Err(LinkError::UnknownInterface(type_name.to_owned())),
    }
}
