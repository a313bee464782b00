//! The specific part of a service client: its request and its outputs.

use super::endpoint::Endpoint;
use crate::bt::{Context, NodeKind, NodeStatus, Ports, Thrown, Tick};
use crate::msg::Service;

/// The request type of a node's service.
pub type RequestOf<N> = <<N as ServiceNode>::Service as Service>::Request;
/// The response type of a node's service.
pub type ResponseOf<N> = <<N as ServiceNode>::Service as Service>::Response;

/// The specific part of a service client.
pub trait ServiceNode: Send + Sync + Sized + 'static {
    /// The service.
    type Service: Service;
    /// The ID in tree files.
    const ID: &'static str;
    /// Whether the request has effects on the server; see [`Behavior::acts`](crate::bt::Behavior::acts).
    const ACTS: bool = false;
    /// The node kind for palettes.
    const KIND: NodeKind = NodeKind::Action;
    /// Documentation.
    const DOC: &'static str;
    /// The default service, overridden by the port `service_name`. Empty if that port is required.
    const SERVER: &'static str = "";

    /// Declares the node's own ports. The common code declares the shared ones.
    fn bind(ports: &mut Ports<'_>) -> Self;

    /// The ports for the service name and the timeouts.
    fn endpoint(&self, ports: &mut Ports<'_>) -> Endpoint {
        Endpoint::service(ports, Self::Service::TYPE, Self::SERVER)
    }

    /// The tree has its world: checks that are possible before the first tick.
    fn attached(&self, _cx: &mut Context<'_>) {}

    /// Makes the request from the ports. `Err(status)` if there is nothing to request.
    ///
    /// # Errors
    /// [`Thrown`].
    fn request(&self, cx: &mut Context<'_>) -> Result<Result<RequestOf<Self>, NodeStatus>, Thrown>;

    /// Whether the inputs have changed and make the response useless. The node then sends another request.
    ///
    /// # Errors
    /// [`Thrown`].
    fn is_outdated(&self, _cx: &mut Context<'_>, _request: &RequestOf<Self>) -> Result<bool, Thrown> {
        Ok(false)
    }

    /// Handles the response. By default, any response is a success. `request` is the request that was sent; the ports
    /// may have changed.
    ///
    /// # Errors
    /// [`Thrown`].
    fn answered(
        &self,
        _cx: &mut Context<'_>,
        _request: &RequestOf<Self>,
        _response: &ResponseOf<Self>,
    ) -> Tick {
        Ok(NodeStatus::Success)
    }

    /// Writes outputs before a failure without response.
    ///
    /// # Errors
    /// [`Thrown`].
    fn unanswered(&self, _cx: &mut Context<'_>) -> Result<(), Thrown> {
        Ok(())
    }
}
