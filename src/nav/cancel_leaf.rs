//! The skeleton of the nodes that cancel whatever an action server is doing, whoever asked for it.

use std::marker::PhantomData;

use super::endpoint::{Client, Endpoint, path_of, world};
use super::world::World;
use crate::bt::{Behavior, Context, HaltReason, Node, NodeKind, NodeStatus, Ports, Tick};
use crate::goal::{Outcome, Selection, Stamp, Ticket};
use crate::msg::Action;

/// What tells one cancel node from another.
pub trait CancelNode: Send + Sync + Sized + 'static {
    /// The action.
    type Action: Action;
    /// The ID in tree files.
    const ID: &'static str;
    /// Documentation.
    const DOC: &'static str;
    /// The server, unless the port `server_name` says otherwise.
    const SERVER: &'static str;
}

/// A cancel node as a behaviour: RUNNING until the server has answered, then SUCCESS, whatever the answer says, as in
/// Nav2. That nothing is executing any more is not known then.
#[derive(Debug)]
pub struct CancelLeaf<N> {
    endpoint: Endpoint,
    node: PhantomData<fn(N)>,
}

impl<N: CancelNode> Node for CancelLeaf<N> {
    const ID: &'static str = N::ID;
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = N::DOC;

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            endpoint: Endpoint::cancel(ports, N::Action::TYPE, N::SERVER),
            node: PhantomData,
        }
    }
}

impl<N: CancelNode> Behavior for CancelLeaf<N> {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let ticket = cx.memory().mark;
        if ticket == 0 {
            self.ask(cx)
        } else {
            Self::poll(cx, Ticket(ticket))
        }
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        let ticket = Ticket(std::mem::take(&mut cx.memory().mark));
        if let Some(world) = cx.resource::<World>() {
            world.halt(ticket, reason);
        }
    }

    fn attach(&self, cx: &mut Context<'_>) {
        let mut client = cx.take_state::<Client>();
        self.endpoint.attach(cx, &mut client);
        cx.put_state(client);
    }
}

impl<N: CancelNode> CancelLeaf<N> {
    fn ask(&self, cx: &mut Context<'_>) -> Tick {
        let mut client = cx.take_state::<Client>();
        let server = self.endpoint.server(cx, &mut client);
        cx.put_state(client);
        let path = path_of(cx);
        let world = world!(cx);
        let server = match server {
            Ok(server) => server,
            Err(fault) => {
                world.note(&path, fault);
                return Ok(NodeStatus::Failure);
            }
        };
        // Up to now, and not simply everything: a goal that this tree starts next, in the same tick, must not be
        // caught when the two requests overtake each other. Nav2 spares the last 10 ms, also what somebody else
        // started in them.
        let now = Stamp {
            nanoseconds: world.stamp().as_nanos(),
        };
        let defaults = world.settings.goal_options();
        let options = self.endpoint.options(cx, defaults);
        let ticket = world!(cx).cancel_server(server, &path, Selection::AcceptedUntil(now), options);
        cx.memory().mark = ticket.0;
        Ok(NodeStatus::Running)
    }

    fn poll(cx: &mut Context<'_>, ticket: Ticket) -> Tick {
        let world = world!(cx);
        if world
            .progress(ticket)
            .is_some_and(|progress| progress.outcome.is_none())
        {
            return Ok(NodeStatus::Running);
        }
        let outcome = world.finish(ticket);
        cx.memory().mark = 0;
        if matches!(outcome, Some(Outcome::CancelAnswered(_))) {
            return Ok(NodeStatus::Success);
        }
        let path = path_of(cx);
        world!(cx).note(&path, "the cancel request was not answered");
        Ok(NodeStatus::Failure)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::bt::Text;
    use crate::msg::Action;
    use crate::msg::action::{
        AssistedTeleop, BackUp, ComputeAndTrackRoute, DriveOnHeading, FollowObject, FollowPath, Spin, Wait,
    };
    use crate::nav::testing::{Bench, Plan};

    fn cancels<A: Action>(id: &str, server: &str) {
        let mut bench = Bench::new(&format!("<{id}/>"));
        bench.action::<A>(server, |_| Plan::endless());
        bench.foreign_goal(server, Plan::<A>::endless());
        bench.wait(15);
        assert_eq!(bench.active(server), 1);
        assert_eq!(bench.run(3), Success, "{id}");
        assert_eq!((bench.cancels(server), bench.active(server)), (1, 0), "{id}");
        assert_eq!(bench.type_of(server).as_deref(), Some(A::TYPE));
    }

    #[test]
    fn test_cancel_nodes_cancel_the_goals_of_other_clients() {
        cancels::<AssistedTeleop>("CancelAssistedTeleop", "assisted_teleop");
        cancels::<BackUp>("CancelBackUp", "backup");
        cancels::<ComputeAndTrackRoute>("CancelComputeAndTrackRoute", "compute_and_track_route");
        cancels::<FollowPath>("CancelControl", "follow_path");
        cancels::<DriveOnHeading>("CancelDriveOnHeading", "drive_on_heading");
        cancels::<FollowObject>("CancelFollowObject", "follow_object");
        cancels::<Spin>("CancelSpin", "spin");
        cancels::<Wait>("CancelWait", "wait");
    }

    #[test]
    fn a_leaf_whose_goal_a_node_of_its_own_tree_cancels_blames_no_other_client_alone() {
        let mut bench = Bench::new(
            "<ParallelAll max_failures=\"1\"><Spin error_msg=\"{why}\"/>\
             <Delay delay_msec=\"30\"><CancelSpin/></Delay></ParallelAll>",
        );
        bench.action::<Spin>("spin", |_| Plan::endless());
        assert_eq!(bench.run(10), Failure);
        assert_eq!(
            bench.get::<Text>("why").as_deref(),
            Some("the goal was cancelled by another client, or by a Cancel node of a tree")
        );
    }

    #[test]
    fn nothing_to_cancel_is_a_success_and_no_server_a_failure() {
        let mut bench = Bench::new("<CancelSpin server_timeout=\"50\"/>");
        assert_eq!(bench.run(10), Failure);
        bench.action::<Spin>("spin", |_| Plan::success());
        assert_eq!(bench.run(3), Success);
    }
}
