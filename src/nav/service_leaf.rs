//! The skeleton of every service client: ask, wait for the answer without waiting, read it.

use super::endpoint::{Client, Endpoint, path_of, record_failure, world};
use super::link::Payload;
use super::world::World;
use crate::bt::{
    Behavior, Context, HaltReason, Node, NodeEffects, NodeKind, NodeStatus, Ports, Thrown, Tick,
};
use crate::goal::{Outcome, Ticket};
use crate::msg::Service;

/// The request type of a node's service.
pub type RequestOf<N> = <<N as ServiceNode>::Service as Service>::Request;
/// The response type of a node's service.
pub type ResponseOf<N> = <<N as ServiceNode>::Service as Service>::Response;

/// What tells one service client from another.
pub trait ServiceNode: Send + Sync + Sized + 'static {
    /// The service.
    type Service: Service;
    /// The ID in tree files.
    const ID: &'static str;
    /// Whether the server does something with the request, rather than only answers; see [`Behavior::acts`].
    const ACTS: bool = false;
    /// What palettes call it.
    const KIND: NodeKind = NodeKind::Action;
    /// Documentation.
    const DOC: &'static str;
    /// The service, unless the port `service_name` says otherwise; empty where that port is required.
    const SERVER: &'static str = "";

    /// Declares the node's own ports; those that all service clients share are declared by the skeleton.
    fn bind(ports: &mut Ports<'_>) -> Self;

    /// The ports that name the service and say how patient to be with it.
    fn endpoint(&self, ports: &mut Ports<'_>) -> Endpoint {
        Endpoint::service(ports, Self::Service::TYPE, Self::SERVER)
    }

    /// The tree has got its world: what can be checked before the first tick.
    fn attached(&self, _cx: &mut Context<'_>) {}

    /// The request, from the ports; `Err(status)` where there is nothing to ask.
    ///
    /// # Errors
    /// [`Thrown`].
    fn request(&self, cx: &mut Context<'_>) -> Result<Result<RequestOf<Self>, NodeStatus>, Thrown>;

    /// Whether the inputs have changed so that the answer is of no use: then the node asks again.
    ///
    /// # Errors
    /// [`Thrown`].
    fn is_outdated(&self, _cx: &mut Context<'_>, _request: &RequestOf<Self>) -> Result<bool, Thrown> {
        Ok(false)
    }

    /// What an answer means; where a node says nothing else, that there is one is the success. It is about what was asked,
    /// and not about what the ports say by now.
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

    /// There was no answer: outputs to write before the failure.
    ///
    /// # Errors
    /// [`Thrown`].
    fn unanswered(&self, _cx: &mut Context<'_>) -> Result<(), Thrown> {
        Ok(())
    }
}

/// A service client as a behaviour.
///
/// A node that is ticked again after it has finished asks again, as Nav2's does: not the stored
/// status tells, but whether a request is open. Its ticket is the node's [`Memory`](crate::bt::Memory) mark.
#[derive(Debug)]
pub struct ServiceLeaf<N> {
    node: N,
    endpoint: Endpoint,
}

/// The state of one leaf.
#[derive(Default)]
struct State {
    client: Client,
    /// The request that is open.
    asked: Option<Payload>,
}

impl<N: ServiceNode> Node for ServiceLeaf<N> {
    const ID: &'static str = N::ID;
    const KIND: NodeKind = N::KIND;
    const DOC: &'static str = N::DOC;

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = N::bind(ports);
        let endpoint = node.endpoint(ports);
        Self { node, endpoint }
    }
}

impl<N: ServiceNode> Behavior for ServiceLeaf<N> {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let ticket = cx.memory().mark;
        if ticket == 0 {
            self.ask(cx)
        } else {
            self.poll(cx, Ticket(ticket))
        }
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        let ticket = Ticket(std::mem::take(&mut cx.memory().mark));
        if let Some(world) = cx.resource::<World>() {
            world.halt(ticket, reason);
        }
        cx.state::<State>().asked = None;
    }

    fn attach(&self, cx: &mut Context<'_>) {
        let mut state = cx.take_state::<State>();
        self.endpoint.attach(cx, &mut state.client);
        cx.put_state(state);
        self.node.attached(cx);
    }

    fn acts(&self) -> bool {
        N::ACTS
    }

    /// The answer may come before what was asked for begins.
    fn sees_end(&self) -> bool {
        false
    }

    /// An action whatever it is called: the answer takes its time.
    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::of(NodeKind::Action, &[])
    }
}

impl<N: ServiceNode> ServiceLeaf<N> {
    fn ask(&self, cx: &mut Context<'_>) -> Tick {
        let request = match self.node.request(cx)? {
            Ok(request) => request,
            Err(status) => return Ok(status),
        };
        let mut state = cx.take_state::<State>();
        let server = self.endpoint.server(cx, &mut state.client);
        cx.put_state(state);
        let path = path_of(cx);
        let server = match server {
            Ok(server) => server,
            Err(fault) => return self.fail(cx, &fault),
        };
        let defaults = world!(cx).settings.goal_options();
        let options = self.endpoint.options(cx, defaults);
        let request = Payload::new(request);
        let ticket = world!(cx).call(server, &path, request.clone(), options);
        cx.memory().mark = ticket.0;
        cx.state::<State>().asked = Some(request);
        Ok(NodeStatus::Running)
    }

    fn poll(&self, cx: &mut Context<'_>, ticket: Ticket) -> Tick {
        let world = world!(cx);
        let Some(progress) = world.progress(ticket) else {
            cx.memory().mark = 0;
            return self.fail(cx, "the request was forgotten");
        };
        if progress.outcome.is_none() {
            return Ok(NodeStatus::Running);
        }
        let outcome = world.finish(ticket);
        cx.memory().mark = 0;
        let asked = cx.state::<State>().asked.take();
        let request = asked.as_ref().and_then(Payload::get::<RequestOf<N>>);
        match outcome {
            Some(Outcome::Response(payload)) => match (request, payload.get::<ResponseOf<N>>()) {
                (Some(request), Some(_)) if self.node.is_outdated(cx, request)? => {
                    let status = self.ask(cx);
                    cx.note_inputs_read();
                    status
                }
                (Some(request), Some(response)) => self.node.answered(cx, request, response),
                _ => self.fail(cx, "the response is not of the service's type"),
            },
            Some(Outcome::ResponseTimeout) => self.fail(cx, "the service did not answer in time"),
            Some(Outcome::ServerGone) => self.fail(cx, "the service is not there"),
            Some(Outcome::SendFailed) => self.fail(cx, "the request could not be sent"),
            Some(Outcome::ShuttingDown) => self.fail(cx, "the node shuts down"),
            _ => self.fail(cx, "the request ended in a way that no request ends"),
        }
    }

    #[cold]
    fn fail(&self, cx: &mut Context<'_>, message: &str) -> Tick {
        let path = path_of(cx);
        world!(cx).note(&path, message);
        record_failure(cx, None, 0, None, message);
        self.node.unanswered(cx)?;
        Ok(NodeStatus::Failure)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Running, Success};
    use crate::msg::action::Spin;
    use crate::msg::service::Empty;
    use crate::nav::testing::{Bench, Plan};

    const LEAF: &str = "<ReinitializeGlobalLocalization service_name=\"reinit\" server_timeout=\"50\"/>";

    #[test]
    fn no_answer_in_time_is_a_failure_and_a_late_one_is_dropped() {
        let mut bench = Bench::new(LEAF);
        bench.service::<Empty>("reinit", |_| None);
        assert_eq!(bench.letters(6), "RRRRRF");
        assert_eq!(bench.notes(), ["the service did not answer in time"]);
    }

    #[test]
    fn an_absent_service_is_a_failure() {
        let mut bench = Bench::new(LEAF);
        assert_eq!(bench.run(10), Failure);
        assert_eq!(bench.notes(), ["the service is not there"]);
        bench.service::<Empty>("reinit", |_| Some(Default::default()));
        assert_eq!(bench.run(10), Success);
    }

    #[test]
    fn a_halted_call_does_not_answer_the_next_one() {
        let mut bench = Bench::new(LEAF);
        bench.service::<Empty>("reinit", |_| None);
        assert_eq!(bench.tick(), Running);
        bench.halt();
        bench.service::<Empty>("reinit", |_| Some(Default::default()));
        assert_eq!(bench.run(10), Success);
        assert_eq!(bench.requests::<Empty>("reinit").len(), 2);
    }

    #[test]
    fn a_finished_leaf_that_is_not_reset_asks_again() {
        // PipelineSequence ticks its first child again while the second runs.
        let mut bench = Bench::new(&format!("<PipelineSequence>{LEAF}<Spin/></PipelineSequence>"));
        bench.service::<Empty>("reinit", |_| Some(Default::default()));
        bench.action::<Spin>("spin", |_| Plan::success().after(60));
        assert_eq!(bench.run(30), Success);
        assert!(bench.requests::<Empty>("reinit").len() > 2);
    }
}
