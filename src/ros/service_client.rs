//! The client side of a service.

use std::time::Instant;

use r2r::WrappedServiceTypeSupport;

use super::goal_tracker::InputSender;
use super::interfaces::{ServiceCodec, ServiceTransport};
use super::{Caller, PendingRequests, RosError, RosNode};
use crate::goal::{ServerId, Ticket, WireEvent};
use crate::nav::Payload;

/// The client of one service.
pub(super) struct ServiceClient<C: ServiceCodec> {
    inputs: InputSender,
    caller: Caller<<C::Wire as WrappedServiceTypeSupport>::Response>,
}

impl<C: ServiceCodec> ServiceClient<C> {
    /// Creates the client, and sends an input when the server appears or disappears.
    pub(super) fn open(
        node: &mut RosNode,
        name: &str,
        server: ServerId,
        inputs: InputSender,
    ) -> Result<Self, RosError> {
        let mut caller = node.client::<C::Wire>(name)?;
        watch(node, &mut caller, server, &inputs);
        Ok(Self { inputs, caller })
    }
}

impl<C: ServiceCodec> ServiceTransport for ServiceClient<C> {
    fn call(&mut self, ticket: Ticket, payload: &Payload) -> Result<(), RosError> {
        self.caller.make_room(Instant::now())?;
        let inputs = self.inputs.clone();
        let (request, form) = C::request(payload)?;
        self.caller.call(ticket.0, &request, move |answer| {
            inputs.wire(WireEvent::Response {
                ticket,
                payload: C::response(answer, form),
            });
        })
    }

    fn forget(&mut self, ticket: Ticket) {
        self.caller.forget(ticket.0);
    }

    fn pending_requests(&self) -> PendingRequests {
        self.caller.pending_requests()
    }

    fn awaits_answers(&self) -> bool {
        self.caller.awaits_answers()
    }
}

fn watch<R: 'static>(node: &mut RosNode, caller: &mut Caller<R>, server: ServerId, inputs: &InputSender) {
    let (inputs, lives) = (inputs.clone(), caller.lives());
    node.watch(caller.take_probe(), move |present| {
        inputs.wire(if present {
            WireEvent::ServerBack { server }
        } else {
            lives.end();
            WireEvent::ServerGone { server }
        });
    });
}
