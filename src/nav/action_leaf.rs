//! The common code of all action clients: start, poll, update, halt, and the table of outcomes.

use std::marker::PhantomData;
use std::sync::Arc;

use super::action_node::{ActionNode, GoalOf, GoalOutcome, Refusal, ResultOf};
use super::endpoint::{Client, Endpoint, path_of, record_failure, world};
use super::link::Payload;
use super::world::World;
use crate::bt::{
    Behavior, Context, HaltReason, Node, NodeKind, NodeStatus, Output, Ports, Text, Thrown, Tick,
};
use crate::goal::{Outcome, ServerId, Ticket};
use crate::msg::Action;
use crate::msg::action::{GOAL_REJECTED, SEND_GOAL_FAILURE};

/// The behavior of an action client.
#[derive(Debug)]
pub struct ActionLeaf<N> {
    node: N,
    endpoint: Endpoint,
    error_code: Output<u16>,
    error_message: Output<Text>,
}

/// The state of one leaf. The ticket is in the node's [`Memory`](crate::bt::Memory), because it must survive a panic
/// during a tick: the following halt then finds the goal (guarantee G8).
struct GoalState<N> {
    client: Client,
    /// The active goal.
    sent: Option<Payload>,
    /// The previous goal. Its memory is reused for the next goal when no other owner is left.
    spent: Option<Payload>,
    version: u64,
    node: PhantomData<fn(N)>,
}

impl<N> Default for GoalState<N> {
    fn default() -> Self {
        Self {
            client: Client::default(),
            sent: None,
            spent: None,
            version: 0,
            node: PhantomData,
        }
    }
}

impl<N: ActionNode> GoalState<N> {
    /// Makes the message of the next goal, which becomes the active one.
    fn renew(&mut self, goal: GoalOf<N>) -> Payload {
        let before = self.sent.take();
        let payload = Payload::renewed(self.spent.take(), goal);
        self.sent = Some(payload.clone());
        self.spent = before;
        payload
    }

    /// Ends the active goal.
    fn retire(&mut self) {
        if let Some(sent) = self.sent.take() {
            self.spent = Some(sent);
        }
    }
}

impl<N: ActionNode> Node for ActionLeaf<N> {
    const ID: &'static str = N::ID;
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = N::DOC;

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = N::bind(ports);
        let endpoint = node.endpoint(ports).hearing(node.hears_feedback());
        Self {
            node,
            endpoint,
            error_code: ports
                .output("error_code_id")
                .doc("0, or an error code: the code of the action; 1 if the server rejected the goal; 2 if the \
                    goal could not be sent; the action's TIMEOUT code if the server did not answer.")
                .bind(),
            error_message: ports
                .output("error_msg")
                .doc("Error message; empty without an error.")
                .bind(),
        }
    }
}

impl<N: ActionNode> Behavior for ActionLeaf<N> {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        match cx.status() {
            NodeStatus::Running => self.poll(cx),
            NodeStatus::Idle | NodeStatus::Skipped => self.activate(cx),
            // A node that is ticked again without a reset, as by PipelineSequence, repeats its result and sends no new
            // goal.
            status @ (NodeStatus::Success | NodeStatus::Failure) => Ok(status),
        }
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        let ticket = Ticket(std::mem::take(&mut cx.memory().mark));
        if let Some(world) = cx.resource::<World>() {
            world.halt(ticket, reason);
        }
        cx.state::<GoalState<N>>().retire();
        // A halted node clears its error code.
        if self.report(cx, 0, "").is_ok() {
            self.node.halted(cx);
        }
    }

    fn attach(&self, cx: &mut Context<'_>) {
        let mut state = cx.take_state::<GoalState<N>>();
        self.endpoint.attach(cx, &mut state.client);
        cx.put_state(state);
        self.node.attached(cx);
    }

    fn rewind(&self, cx: &mut Context<'_>) {
        self.node.halted(cx);
    }
}

impl<N: ActionNode> ActionLeaf<N> {
    fn activate(&self, cx: &mut Context<'_>) -> Tick {
        self.node.activated(cx)?;
        let version = self.node.version(cx);
        let goal = match self.node.goal(cx) {
            Ok(goal) => goal,
            Err(Refusal::Thrown(thrown)) => return Err(thrown),
            Err(Refusal::Failure(why)) => return self.fail(cx, SEND_GOAL_FAILURE, &why),
        };
        let mut state = cx.take_state::<GoalState<N>>();
        let server = self.endpoint.server(cx, &mut state.client);
        let payload = state.renew(goal);
        state.version = version;
        cx.put_state(state);
        self.send(cx, server, payload)
    }

    fn send(&self, cx: &mut Context<'_>, server: Result<ServerId, String>, payload: Payload) -> Tick {
        let server = match server {
            Ok(server) => server,
            Err(fault) => return self.fail(cx, SEND_GOAL_FAILURE, &fault),
        };
        let path = path_of(cx);
        let defaults = world!(cx).settings.goal_options();
        let mut options = self.endpoint.options(cx, defaults)?;
        self.node.options(cx, &mut options)?;
        let ticket = world!(cx).start_goal(server, &path, payload, options);
        if N::CANCEL_ENDS_NAVIGATION {
            let id = Arc::clone(&cx.definition().node(cx.node()).id);
            world!(cx).end_navigation_on_cancel(ticket, &path, &id);
        }
        cx.memory().mark = ticket.0;
        Ok(NodeStatus::Running)
    }

    fn poll(&self, cx: &mut Context<'_>) -> Tick {
        let ticket = Ticket(cx.memory().mark);
        let world = world!(cx);
        let Some(progress) = world.progress(ticket) else {
            return self.fail(cx, N::unknown_code(), "the state of the goal was lost");
        };
        let (accepted, feedback) = (progress.accepted, progress.feedback.take());
        let (has_outcome, has_ended) = (progress.outcome.is_some(), progress.has_ended());
        if let Some(on_feedback) = N::ON_FEEDBACK
            && let Some(feedback) = feedback.as_ref().and_then(Payload::get)
        {
            on_feedback(&self.node, cx, feedback)?;
        }
        if has_ended {
            return self.finish(cx, ticket, accepted);
        }
        if has_outcome {
            return Ok(NodeStatus::Running);
        }
        if let Some(payload) = self.newer_goal(cx)? {
            world!(cx).update_goal(ticket, payload);
        }
        self.node.running(cx)?;
        Ok(NodeStatus::Running)
    }

    /// The goal of the newest inputs, if the active goal is outdated. It is the active one from now on.
    #[inline]
    fn newer_goal(&self, cx: &mut Context<'_>) -> Result<Option<Payload>, Thrown> {
        let state = cx.state::<GoalState<N>>();
        let version = state.version;
        // Shared rather than borrowed, because the node needs the context.
        if let Some(sent) = state.sent.clone()
            && let Some(goal) = sent.get::<GoalOf<N>>()
            && self.node.is_outdated(cx, goal, version)
        {
            return self.renew(cx, goal);
        }
        Ok(None)
    }

    #[cold]
    fn renew(&self, cx: &mut Context<'_>, sent: &GoalOf<N>) -> Result<Option<Payload>, Thrown> {
        let version = self.node.version(cx);
        let mut goal = match self.node.goal(cx) {
            Ok(goal) => goal,
            Err(Refusal::Thrown(thrown)) => return Err(thrown),
            Err(Refusal::Failure(why)) => {
                // The active goal continues. Its inputs are compared again when they are written again.
                cx.state::<GoalState<N>>().version = version;
                let path = path_of(cx);
                world!(cx).note(&path, why);
                return Ok(None);
            }
        };
        let is_nothing = self.node.is_nothing(&goal);
        let replaces = self.node.replaces(sent, &mut goal);
        if !is_nothing {
            cx.note_inputs_read();
        }
        let state = cx.state::<GoalState<N>>();
        state.version = version;
        Ok(replaces.then(|| state.renew(goal)))
    }

    /// Sends the active goal as a new goal, because the previous goal ended before the update was sent.
    #[cold]
    fn send_again(&self, cx: &mut Context<'_>, payload: Payload) -> Tick {
        let newer = self.newer_goal(cx)?;
        let is_requested_earlier = newer.is_none();
        let payload = newer.unwrap_or(payload);
        let mut state = cx.take_state::<GoalState<N>>();
        let server = self.endpoint.server(cx, &mut state.client);
        cx.put_state(state);
        let status = self.send(cx, server, payload)?;
        if is_requested_earlier {
            let ticket = Ticket(cx.memory().mark);
            world!(cx).set_requested_earlier(ticket);
        }
        Ok(status)
    }

    #[cold]
    fn finish(&self, cx: &mut Context<'_>, ticket: Ticket, accepted: bool) -> Tick {
        let world = world!(cx);
        let (is_of_earlier_goal, is_stopped, words_for_cancel) =
            world.progress(ticket).map_or((false, false, ""), |progress| {
                (
                    progress.is_of_earlier_goal(),
                    progress.is_stopped(),
                    progress.cancels.words(),
                )
            });
        let mut outcome = world.finish(ticket);
        cx.memory().mark = 0;
        if is_of_earlier_goal {
            if is_stopped {
                // No update drives a robot again that another client or a Cancel node has stopped. A failure stays one,
                // also with `canceled_is_success`.
                if let Some(Outcome::Succeeded(_)) = &outcome {
                    outcome = Some(Outcome::CanceledByAnother);
                }
            } else if let Some(payload) = cx.state::<GoalState<N>>().sent.clone() {
                return self.send_again(cx, payload);
            }
        }
        cx.state::<GoalState<N>>().retire();
        match &outcome {
            Some(Outcome::Succeeded(payload)) => self.succeeded(cx, payload),
            Some(Outcome::Aborted(payload)) => self.aborted(cx, payload),
            Some(Outcome::Canceled(payload)) => self.canceled(cx, payload.get(), words_for_cancel),
            Some(Outcome::CanceledByAnother) => self.canceled(cx, None, words_for_cancel),
            without_result => {
                let (code, message) = failure::<N>(without_result.as_ref(), accepted);
                self.fail(cx, code, message)
            }
        }
    }

    fn succeeded(&self, cx: &mut Context<'_>, payload: &Payload) -> Tick {
        let Some(result) = payload.get::<ResultOf<N>>() else {
            return self.fail(cx, N::unknown_code(), WRONG_RESULT);
        };
        self.report(cx, 0, "")?;
        self.node.finished(cx, &GoalOutcome::Succeeded(result))?;
        if let Err(why) = self.node.extract(cx, result)? {
            return self.fail(cx, N::unknown_code(), &why);
        }
        Ok(NodeStatus::Success)
    }

    fn aborted(&self, cx: &mut Context<'_>, payload: &Payload) -> Tick {
        let Some(result) = payload.get::<ResultOf<N>>() else {
            return self.fail(cx, N::unknown_code(), WRONG_RESULT);
        };
        let code = <N::Action as Action>::error_code(result);
        let words = <N::Action as Action>::error_message(result);
        self.report(cx, code, words)?;
        self.node.finished(cx, &GoalOutcome::Aborted(result))?;
        if let Err(why) = self.node.extract(cx, result)? {
            return self.fail(cx, N::unknown_code(), &why);
        }
        let status = self.node.status_of_abort(cx);
        if status == NodeStatus::Failure {
            self.record(cx, code, words);
        }
        Ok(status)
    }

    fn canceled(&self, cx: &mut Context<'_>, result: Option<&ResultOf<N>>, words: &str) -> Tick {
        let is_success = world!(cx).settings.canceled_is_success;
        if is_success {
            self.report(cx, 0, "")?;
        } else {
            self.report(cx, 0, words)?;
            self.record(cx, 0, words);
        }
        let ending = result.map_or(GoalOutcome::Failed, GoalOutcome::Canceled);
        self.node.finished(cx, &ending)?;
        Ok(if is_success {
            NodeStatus::Success
        } else {
            NodeStatus::Failure
        })
    }

    #[cold]
    fn fail(&self, cx: &mut Context<'_>, code: u16, message: &str) -> Tick {
        self.report(cx, code, message)?;
        let path = path_of(cx);
        world!(cx).note(&path, message);
        self.record(cx, code, message);
        self.node.finished(cx, &GoalOutcome::Failed)?;
        Ok(NodeStatus::Failure)
    }

    /// Records a failure for the result of the navigation.
    #[cold]
    fn record(&self, cx: &mut Context<'_>, code: u16, words: &str) {
        let code_name = <N::Action as Action>::code_name(code);
        record_failure(cx, self.error_code.slot(), code, code_name, words);
    }

    fn report(&self, cx: &mut Context<'_>, code: u16, message: &str) -> Result<(), Thrown> {
        self.error_code.set(cx, code)?;
        if self.error_message.slot().is_some() {
            // The conversion of an empty text would allocate; the default does not.
            let message = if message.is_empty() {
                Text::default()
            } else {
                message.into()
            };
            self.error_message.set(cx, message)?;
        }
        Ok(())
    }
}

const WRONG_RESULT: &str = "the result is not of the action's type";

/// The error code and message of a goal without a result.
fn failure<N: ActionNode>(outcome: Option<&Outcome<Payload>>, accepted: bool) -> (u16, &'static str) {
    match outcome {
        Some(Outcome::Rejected) => (GOAL_REJECTED, "the server rejected the goal"),
        Some(Outcome::SendFailed) => (SEND_GOAL_FAILURE, "the goal request could not be sent"),
        Some(Outcome::AcceptTimeout) => (
            N::timeout_code(),
            "the server did not answer the goal request in time",
        ),
        Some(Outcome::ResultTimeout) => (N::timeout_code(), "the goal took longer than allowed"),
        Some(Outcome::ResultLost) => (
            N::unknown_code(),
            "the server did not return the result of the goal",
        ),
        Some(Outcome::ServerGone) if accepted => (
            N::unknown_code(),
            "the server disappeared or was replaced while the goal was active",
        ),
        Some(Outcome::ServerGone) => (
            SEND_GOAL_FAILURE,
            "the server is not available, or was replaced before it answered",
        ),
        Some(Outcome::ShuttingDown) => (SEND_GOAL_FAILURE, "the node shuts down"),
        Some(Outcome::CanceledBeforeAcceptance) => (
            0,
            "a Cancel node cancelled the goal, which its server may not have had yet",
        ),
        _ => (N::unknown_code(), "the goal ended with an unexpected outcome"),
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Idle, Running, Success};
    use crate::msg::action::{ComputePathToPose, Spin, Wait};
    use crate::nav::testing::{Bench, Plan};

    const LEAF: &str = "<Spin server_timeout=\"20\" error_code_id=\"{code}\"/>";

    #[test]
    fn test_bt_action_node_accepted_in_time_then_too_late() {
        let mut bench = Bench::new(LEAF);
        bench.action::<Spin>("spin", |_| Plan::success().answer_after(2));
        assert_eq!(bench.run(10), Success);
        bench.halt();
        assert_eq!(bench.cancels("spin"), 0, "nothing was running");
        bench.action::<Spin>("spin", |_| Plan::endless().answer_after(100));
        assert_eq!(bench.letters(4), "RRFR", "the next activation is a new one");
        assert_eq!(bench.get::<u16>("code"), Some(Spin::TIMEOUT));
        bench.halt();
        bench.wait(500);
        assert_eq!(
            bench.active("spin"),
            0,
            "a goal that was accepted too late is cancelled"
        );
    }

    #[test]
    fn test_bt_action_node_times_out_in_the_tenth_period() {
        let mut bench = Bench::new("<Spin server_timeout=\"90\"/>");
        bench.action::<Spin>("spin", |_| Plan::success().answer_after(100));
        assert_eq!(bench.letters(10), "RRRRRRRRRF");
        bench.halt();
        bench.wait(1000);
        bench.action::<Spin>("spin", |_| Plan::success().answer_after(25));
        assert_eq!(bench.run(10), Success);
    }

    #[test]
    fn test_bt_action_node_halted_twice() {
        let mut bench = Bench::new("<Spin server_timeout=\"100\"/>").period(100);
        bench.action::<Spin>("spin", |_| Plan::endless());
        for cancels in 1..3 {
            assert_eq!(bench.run(5 + cancels), Running);
            bench.halt();
            assert_eq!(bench.status("Spin"), Idle);
            bench.wait(100);
            assert_eq!((bench.cancels("spin"), bench.active("spin")), (cancels, 0));
        }
    }

    #[test]
    fn test_bt_action_node_goal_rejected() {
        let mut bench = Bench::new(LEAF);
        bench.action::<Spin>("spin", |_| Plan::reject());
        assert_eq!(bench.run(10), Failure);
        assert_eq!(bench.get::<u16>("code"), Some(1));
        assert_eq!(bench.notes(), ["the server rejected the goal"]);
    }

    #[test]
    fn g3_a_goal_accepted_after_its_leaf_was_halted_is_cancelled() {
        let mut bench = Bench::new(LEAF);
        bench.action::<Spin>("spin", |_| Plan::endless().answer_after(15));
        assert_eq!(bench.tick(), Running);
        bench.halt();
        bench.wait(1000);
        assert_eq!((bench.goals::<Spin>("spin").len(), bench.active("spin")), (1, 0));
        assert!(
            bench
                .reports()
                .iter()
                .any(|report| report.contains("accepted after its leaf had ended"))
        );
    }

    #[test]
    fn g4_a_late_result_does_not_reach_the_next_activation() {
        let mut bench = Bench::new("<Wait error_code_id=\"{code}\"/>");
        bench.action::<Wait>("wait", |_| Plan::abort(99).after(50).stop_after(45));
        assert_eq!(bench.run(3), Running);
        bench.halt();
        bench.action::<Wait>("wait", |_| Plan::success().after(200));
        assert_eq!(bench.run(60), Success);
        assert_eq!(bench.get::<u16>("code"), Some(0));
    }

    #[test]
    fn g5_the_next_goal_waits_for_the_stopping_one() {
        let mut bench = Bench::new("<Wait/>");
        bench.action::<Wait>("wait", |_| Plan::endless().stop_after(100));
        bench.run(3);
        bench.halt();
        bench.action::<Wait>("wait", |_| Plan::success());
        assert_eq!(bench.run(5), Running);
        assert_eq!(bench.goals::<Wait>("wait").len(), 1, "not sent yet");
        assert_eq!(bench.run(20), Success);
        assert_eq!(bench.goals::<Wait>("wait").len(), 2);
    }

    #[test]
    fn a_completed_leaf_that_is_not_reset_repeats_its_result_without_a_new_goal() {
        // PipelineSequence ticks its first child again while the second runs.
        let mut bench = Bench::new("<PipelineSequence><Wait/><Spin/></PipelineSequence>");
        bench.action::<Wait>("wait", |_| Plan::success());
        bench.action::<Spin>("spin", |_| Plan::success().after(100));
        assert_eq!(bench.run(30), Success);
        assert_eq!(bench.goals::<Wait>("wait").len(), 1);
    }

    #[test]
    fn the_server_name_may_be_on_the_blackboard() {
        let mut bench = Bench::new("<Wait server_name=\"{server}\"/>");
        bench.action::<Wait>("other", |_| Plan::success());
        bench.set("server", crate::bt::Text::from("other"));
        assert_eq!(bench.run(10), Success);
        assert_eq!(bench.goals::<Wait>("other").len(), 1);
        assert_eq!(bench.type_of("other").as_deref(), Some("nav2_msgs/action/Wait"));
    }

    #[test]
    fn g8_a_text_with_a_zero_byte_fails_its_leaf_and_is_not_sent() {
        let leaf = "<ComputePathToPose goal=\"0;map;1;0;0;0;0;0;1\" planner_id=\"{planner}\" error_code_id=\"{code}\"/>";
        let mut bench = Bench::new(leaf);
        bench.action::<ComputePathToPose>("compute_path_to_pose", |_| Plan::success());
        bench.set("planner", crate::bt::Text::from("Grid\0Based"));
        assert_eq!(bench.run(3), Failure);
        assert_eq!(bench.get::<u16>("code"), Some(2));
        assert_eq!(
            bench.notes(),
            ["port `planner_id`: the text contains a zero byte, which a ROS string cannot hold; remove it"]
        );
        assert!(
            bench
                .goals::<ComputePathToPose>("compute_path_to_pose")
                .is_empty()
        );
    }

    #[test]
    fn a_server_that_cannot_be_opened_is_reported_at_load_and_fails() {
        let mut bench = Bench::new("<Wait server_name=\"no name\" error_code_id=\"{code}\"/>");
        assert_eq!(
            bench.faults(),
            ["test.xml:1:67: `no name` is not a valid ROS name"]
        );
        assert_eq!(bench.tick(), Failure);
        assert_eq!(bench.get::<u16>("code"), Some(2));
    }
}
