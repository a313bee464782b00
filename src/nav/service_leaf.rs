//! The common code of all service clients: send the request, poll for the response, read it.

use super::endpoint::{Client, Endpoint, path_of, record_failure, world};
use super::link::Payload;
use super::service_node::{RequestOf, ResponseOf, ServiceNode};
use super::world::World;
use crate::bt::{Behavior, Context, HaltReason, Node, NodeEffects, NodeKind, NodeStatus, Ports, Tick};
use crate::goal::{Outcome, Ticket};

/// The behavior of a service client.
///
/// A completed node that is ticked again sends a new request, as in Nav2: an open request decides, not the stored
/// status. The ticket is the mark of the node's [`Memory`](crate::bt::Memory).
#[derive(Debug)]
pub struct ServiceLeaf<N> {
    node: N,
    endpoint: Endpoint,
}

/// The state of one leaf.
#[derive(Default)]
struct CallState {
    client: Client,
    /// The open request.
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
            cx.memory().count = 0;
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
        cx.state::<CallState>().asked = None;
    }

    fn attach(&self, cx: &mut Context<'_>) {
        let mut state = cx.take_state::<CallState>();
        self.endpoint.attach(cx, &mut state.client);
        cx.put_state(state);
        self.node.attached(cx);
    }

    fn acts(&self) -> bool {
        N::ACTS
    }

    /// The response may arrive before the requested operation begins.
    fn sees_end(&self) -> bool {
        false
    }

    /// Always an action, independent of its kind: the response takes time.
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
        let mut state = cx.take_state::<CallState>();
        let server = self.endpoint.server(cx, &mut state.client);
        cx.put_state(state);
        let path = path_of(cx);
        let server = match server {
            Ok(server) => server,
            Err(fault) => return self.fail(cx, &fault),
        };
        let defaults = world!(cx).settings.goal_options();
        let options = self.endpoint.options(cx, defaults)?;
        let request = Payload::new(request);
        let ticket = world!(cx).call(server, &path, request.clone(), options);
        cx.memory().mark = ticket.0;
        cx.state::<CallState>().asked = Some(request);
        Ok(NodeStatus::Running)
    }

    fn poll(&self, cx: &mut Context<'_>, ticket: Ticket) -> Tick {
        let world = world!(cx);
        let Some(progress) = world.progress(ticket) else {
            cx.memory().mark = 0;
            return self.fail(cx, "the state of the request was lost");
        };
        if progress.outcome.is_none() {
            return Ok(NodeStatus::Running);
        }
        let outcome = world.finish(ticket);
        cx.memory().mark = 0;
        let asked = cx.state::<CallState>().asked.take();
        let request = asked.as_ref().and_then(Payload::get::<RequestOf<N>>);
        match outcome {
            Some(Outcome::Response(payload)) => match (request, payload.get::<ResponseOf<N>>()) {
                (Some(request), Some(_)) if self.node.is_outdated(cx, request)? => {
                    cx.memory().count += 1;
                    if cx.memory().count >= MAX_OUTDATED {
                        return self.fail(cx, "the inputs change faster than the service answers");
                    }
                    let status = self.ask(cx);
                    cx.note_inputs_read();
                    status
                }
                (Some(request), Some(response)) => self.node.answered(cx, request, response),
                _ => self.fail(cx, "the response is not of the service's type"),
            },
            Some(Outcome::ResponseTimeout) => self.fail(cx, "the service did not answer in time"),
            Some(Outcome::ServerGone) => self.fail(cx, "the service is not available"),
            Some(Outcome::SendFailed) => self.fail(cx, "the request could not be sent"),
            Some(Outcome::ShuttingDown) => self.fail(cx, "the node shuts down"),
            _ => self.fail(cx, "the request ended with an unexpected outcome"),
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

/// The number of outdated responses in a row at which a leaf fails: it must not stay RUNNING without end (guarantee G6).
const MAX_OUTDATED: u32 = 10;

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Running, Success};
    use crate::msg::action::Spin;
    use crate::msg::service::Empty;
    use crate::nav::testing::{Bench, Plan};

    const LEAF: &str = "<ReinitializeGlobalLocalization service_name=\"reinit\" server_timeout=\"50\"/>";

    #[test]
    fn a_missing_response_is_a_failure_and_a_late_one_is_dropped() {
        let mut bench = Bench::new(LEAF);
        bench.service::<Empty>("reinit", |_| None);
        assert_eq!(bench.letters(6), "RRRRRF");
        assert_eq!(bench.notes(), ["the service did not answer in time"]);
    }

    #[test]
    fn an_absent_service_is_a_failure() {
        let mut bench = Bench::new(LEAF);
        assert_eq!(bench.run(10), Failure);
        assert_eq!(bench.notes(), ["the service is not available"]);
        bench.service::<Empty>("reinit", |_| Some(Default::default()));
        assert_eq!(bench.run(10), Success);
    }

    #[test]
    fn the_response_of_a_halted_call_does_not_reach_the_next_one() {
        let mut bench = Bench::new(LEAF);
        bench.service::<Empty>("reinit", |_| None);
        assert_eq!(bench.tick(), Running);
        bench.halt();
        bench.service::<Empty>("reinit", |_| Some(Default::default()));
        assert_eq!(bench.run(10), Success);
        assert_eq!(bench.requests::<Empty>("reinit").len(), 2);
    }

    #[test]
    fn a_completed_leaf_that_is_not_reset_sends_a_new_request() {
        // PipelineSequence ticks its first child again while the second runs.
        let mut bench = Bench::new(&format!("<PipelineSequence>{LEAF}<Spin/></PipelineSequence>"));
        bench.service::<Empty>("reinit", |_| Some(Default::default()));
        bench.action::<Spin>("spin", |_| Plan::success().after(60));
        assert_eq!(bench.run(30), Success);
        assert!(bench.requests::<Empty>("reinit").len() > 2);
    }
}
