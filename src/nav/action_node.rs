//! The specific part of an action client: its goal, its outputs and its policies.

use super::endpoint::Endpoint;
use crate::bt::{Context, NodeStatus, Ports, Thrown};
use crate::goal::GoalOptions;
use crate::msg::Action;

/// The result type of a node's action.
pub type ResultOf<N> = <<N as ActionNode>::Action as Action>::Result;
/// The goal type of a node's action.
pub type GoalOf<N> = <<N as ActionNode>::Action as Action>::Goal;
/// The feedback type of a node's action.
pub type FeedbackOf<N> = <<N as ActionNode>::Action as Action>::Feedback;

/// The end of a goal, for a node's outputs.
#[derive(Debug)]
pub enum GoalOutcome<'r, R> {
    /// The goal succeeded.
    Succeeded(&'r R),
    /// The server aborted the goal.
    Aborted(&'r R),
    /// Another node or client cancelled the goal.
    Canceled(&'r R),
    /// There is no result: the goal was not accepted, not answered, or its result was lost.
    Failed,
}

/// The reason why there is no goal.
#[derive(Debug)]
pub enum Refusal {
    /// The tree fails.
    Thrown(Thrown),
    /// The node fails with this message.
    Failure(String),
}

impl From<Thrown> for Refusal {
    fn from(thrown: Thrown) -> Self {
        Self::Thrown(thrown)
    }
}

/// Handles feedback. Called in the tick after its arrival, with the newest feedback.
pub type OnFeedback<N> = fn(&N, &mut Context<'_>, &FeedbackOf<N>) -> Result<(), Thrown>;

/// The specific part of an action client.
pub trait ActionNode: Send + Sync + Sized + 'static {
    /// The action.
    type Action: Action;
    /// The ID in tree files.
    const ID: &'static str;
    /// Documentation.
    const DOC: &'static str;
    /// The default server, overridden by the port `server_name`.
    const SERVER: &'static str;
    /// The feedback handler. Without it, the leaf does not subscribe to feedback.
    const ON_FEEDBACK: Option<OnFeedback<Self>> = None;
    /// Whether the navigation ends when another client cancels the goal: true if the robot may move for the goal or as
    /// a consequence of it.
    const CANCEL_ENDS_NAVIGATION: bool = true;

    /// Declares the node's own ports. The common code declares the shared ones.
    fn bind(ports: &mut Ports<'_>) -> Self;

    /// The ports for the server name and the timeouts.
    fn endpoint(&self, ports: &mut Ports<'_>) -> Endpoint {
        Endpoint::action(ports, Self::Action::TYPE, Self::SERVER)
    }

    /// The tree has its world: checks that are possible before the first tick.
    fn attached(&self, _cx: &mut Context<'_>) {}

    /// Adds timeouts and policies to those of the shared ports.
    ///
    /// # Errors
    /// [`Thrown`].
    fn options(&self, _cx: &mut Context<'_>, _options: &mut GoalOptions) -> Result<(), Thrown> {
        Ok(())
    }

    /// Makes the goal of an activation from the ports.
    ///
    /// # Errors
    /// [`Refusal`].
    fn goal(&self, cx: &mut Context<'_>) -> Result<GoalOf<Self>, Refusal>;

    /// Called once per activation, before the goal is made. Recoveries are counted here.
    ///
    /// # Errors
    /// [`Thrown`].
    fn activated(&self, _cx: &mut Context<'_>) -> Result<(), Thrown> {
        Ok(())
    }

    /// A number that changes when the inputs change: the write count of a large input.
    fn version(&self, _cx: &Context<'_>) -> u64 {
        0
    }

    /// Whether the inputs should be compared with the active goal. Called in every tick, so it must be cheap. `sent` is
    /// the active goal, `version` that of its inputs.
    fn is_outdated(&self, _cx: &Context<'_>, _sent: &GoalOf<Self>, _version: u64) -> bool {
        false
    }

    /// Whether to replace the active goal by `new`, made from the current inputs. May copy parts of the active goal
    /// into `new`.
    fn replaces(&self, sent: &GoalOf<Self>, new: &mut GoalOf<Self>) -> bool {
        *sent != *new
    }

    /// Whether the inputs contain no task, so the active goal continues. The active goal then does not count as made
    /// from these inputs, even if another input replaces it.
    fn is_nothing(&self, _new: &GoalOf<Self>) -> bool {
        false
    }

    /// Whether this node needs feedback. False if none of its ports uses feedback.
    fn hears_feedback(&self) -> bool {
        Self::ON_FEEDBACK.is_some()
    }

    /// Called in every tick with an active goal, after feedback: writes outputs that do not come from the server.
    ///
    /// # Errors
    /// [`Thrown`].
    fn running(&self, _cx: &mut Context<'_>) -> Result<(), Thrown> {
        Ok(())
    }

    /// Writes the outputs of an activation that has ended. The common code writes the error code and the message.
    ///
    /// # Errors
    /// [`Thrown`].
    fn finished(
        &self,
        _cx: &mut Context<'_>,
        _ending: &GoalOutcome<'_, ResultOf<Self>>,
    ) -> Result<(), Thrown> {
        Ok(())
    }

    /// Writes outputs that may not fit their keys. `Err` contains the reason, and the node fails.
    ///
    /// # Errors
    /// [`Thrown`].
    fn extract(&self, _cx: &mut Context<'_>, _result: &ResultOf<Self>) -> Result<Result<(), String>, Thrown> {
        Ok(Ok(()))
    }

    /// The code for errors without their own code. Wait has none on Jazzy; 740 is the code of Nav2's main branch.
    fn unknown_code() -> u16 {
        code_named::<Self>(&["UNKNOWN"]).unwrap_or(740)
    }

    /// The code for a server that is too slow: UNKNOWN if Jazzy has none for the action; 741, the code of main, for
    /// Wait.
    fn timeout_code() -> u16 {
        code_named::<Self>(&["TIMEOUT", "CONTROLLER_TIMED_OUT", "UNKNOWN"]).unwrap_or(741)
    }

    /// The status of an aborted goal.
    fn status_of_abort(&self, _cx: &Context<'_>) -> NodeStatus {
        NodeStatus::Failure
    }

    /// The node was halted with an active goal, or the run has ended: clears outputs.
    fn halted(&self, _cx: &mut Context<'_>) {}
}

fn code_named<N: ActionNode>(names: &[&str]) -> Option<u16> {
    names.iter().find_map(|wanted| {
        <N::Action as Action>::ERROR_CODES
            .iter()
            .find(|(_, name)| name == wanted)
            .map(|(code, _)| *code)
    })
}
