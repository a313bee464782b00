//! The common code of nodes that cancel all goals of an action server.

use std::marker::PhantomData;

use super::endpoint::{Client, Endpoint, path_of, world};
use super::world::World;
use crate::bt::{Behavior, Context, HaltReason, Node, NodeKind, NodeStatus, Ports, Tick};
use crate::goal::{Outcome, Ticket};
use crate::msg::Action;

/// The specific part of a cancel node.
pub trait CancelNode: Send + Sync + Sized + 'static {
    /// The action.
    type Action: Action;
    /// The ID in tree files.
    const ID: &'static str;
    /// Documentation.
    const DOC: &'static str;
    /// The default server, overridden by the port `server_name`.
    const SERVER: &'static str;
}

/// The behavior of a cancel node: RUNNING until the server has answered, then SUCCESS, whatever the answer is, as in
/// Nav2. Goals may still be executing at that time.
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
        let defaults = world.settings.goal_options();
        let options = self.endpoint.options(cx, defaults)?;
        let ticket = world!(cx).cancel_server(server, &path, options);
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
        let words = match outcome {
            Some(Outcome::CancelAnswered(_)) => return Ok(NodeStatus::Success),
            Some(Outcome::SendFailed) => {
                "the cancel request was not sent: the server is absent, or cannot be reached"
            }
            _ => "the server did not answer the cancel request",
        };
        let path = path_of(cx);
        world!(cx).note(&path, words);
        Ok(NodeStatus::Failure)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::bt::NodeStatus::{Failure, Running, Success};
    use crate::bt::Text;
    use crate::msg::Action;
    use crate::msg::action::{
        AssistedTeleop, BackUp, ComputeAndTrackRoute, DriveOnHeading, FollowObject, FollowPath, Spin, Wait,
    };
    use crate::nav::Settings;
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
    fn g3_goals_of_a_server_whose_clock_is_ahead_are_cancelled_too_and_goals_of_the_same_tick_are_not() {
        for tree in ["<Spin/><CancelSpin/>", "<CancelSpin/><Spin/>"] {
            let mut bench = Bench::new(&format!("<ParallelAll>{tree}</ParallelAll>"));
            bench.set_server_clock_ahead(Duration::from_secs(3_600));
            bench.action::<Spin>("spin", |_| Plan::success());
            bench.foreign_goal("spin", Plan::<Spin>::endless());
            bench.wait(15);
            assert_eq!(bench.active("spin"), 1);
            assert_eq!(bench.run(10), Success, "{tree}");
            assert_eq!((bench.cancels("spin"), bench.active("spin")), (1, 0), "{tree}");
        }
    }

    #[test]
    fn a_goal_cancelled_by_a_node_of_its_own_tree_names_the_cause() {
        let mut bench = Bench::new(
            "<ParallelAll max_failures=\"1\"><Spin error_msg=\"{why}\"/>\
             <Delay delay_msec=\"30\"><CancelSpin/></Delay></ParallelAll>",
        );
        bench.action::<Spin>("spin", |_| Plan::endless());
        assert_eq!(bench.run(10), Failure);
        assert_eq!(
            bench.get::<Text>("why").as_deref(),
            Some("a Cancel node cancelled the goal")
        );
    }

    #[test]
    fn g3_a_goal_that_its_server_accepts_after_a_cancel_node_of_its_own_tree_does_not_execute() {
        for canceled_is_success in [false, true] {
            let settings = Settings {
                canceled_is_success,
                ..Settings::default()
            };
            let mut bench = Bench::with(
                "<ParallelAll max_failures=\"1\"><Spin error_msg=\"{why}\"/>\
                 <Delay delay_msec=\"30\"><CancelSpin/></Delay></ParallelAll>",
                &crate::nav::registry(),
                settings,
            );
            bench.action::<Spin>("spin", |_| Plan::endless().answer_after(100));
            assert_eq!(bench.run(15), Failure, "it has not done its work");
            assert_eq!(
                bench.get::<Text>("why").as_deref(),
                Some("a Cancel node cancelled the goal, which its server may not have had yet")
            );
            bench.wait(200);
            assert_eq!(bench.active("spin"), 0);
        }
    }

    #[test]
    fn no_goal_is_a_success_and_no_server_is_a_failure() {
        let mut bench = Bench::new("<CancelSpin server_timeout=\"50\"/>");
        assert_eq!(bench.run(10), Failure);
        bench.action::<Spin>("spin", |_| Plan::success());
        assert_eq!(bench.run(3), Success);
    }

    #[test]
    fn g4_a_request_that_is_halted_before_its_server_is_there_is_not_sent() {
        for is_halted in [false, true] {
            let mut bench = Bench::new("<CancelSpin server_timeout=\"500\"/>");
            assert_eq!(bench.run(3), Running);
            if is_halted {
                bench.halt();
            }
            bench.action::<Spin>("spin", |_| Plan::endless());
            bench.wait(100);
            assert_eq!(bench.cancels("spin"), usize::from(!is_halted));
        }
    }
}
