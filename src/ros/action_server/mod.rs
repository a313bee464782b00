//! The server side of an action: three services and two topics, over the goal table of room `goal`.
//!
//! r2r's own action server is not used: it keeps every goal forever, uses a whole core from ten seconds after the first
//! goal has ended, and reads freed memory when a client requests an old goal.

mod goal_request;
mod server_goal;

pub use goal_request::{Acceptance, GoalRequest};
pub use server_goal::{Results, ServerGoal};

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use r2r::{QosProfile, WrappedActionTypeSupport, WrappedServiceTypeSupport, action_msgs};
use server_goal::GoalInner;

use super::action_client::uuid;
use super::checked::{Checked, CheckedService};
use super::convert::{ActionType, Convert, ServedAction};
use super::{Clock, Publisher, Reply, RosError, RosNode, answers};
use crate::goal::{
    GoalId, GoalStatus, GoalTable, ResultAnswer, Selection, Stamp, TableError, TerminalStatus,
};

type SendGoal<A> = CheckedService<<<A as ActionType>::Wire as WrappedActionTypeSupport>::SendGoal>;
type GetResult<A> = <<A as ActionType>::Wire as WrappedActionTypeSupport>::GetResult;
type ResultRequest<A> = <GetResult<A> as WrappedServiceTypeSupport>::Request;
type FeedbackMessage<A> = <<A as ActionType>::Wire as WrappedActionTypeSupport>::FeedbackMessage;
type CancelGoal = action_msgs::srv::CancelGoal::Service;

/// The decisions of the owner of an action server. Every method is called on the node's thread and must not wait. A
/// slow decision can be made elsewhere, with the [`GoalRequest`].
pub trait ActionHandler<A: ServedAction>: Send + 'static {
    /// A client requests a goal. Accept it, now or later and from any thread, or drop it, which rejects it.
    fn goal(&mut self, request: GoalRequest<A>);

    /// A client requests a cancel of a goal that has not ended and is not canceling. Must not use any goal of the
    /// server: its table is locked, because one request may select several goals. Accepts by default.
    fn may_cancel(&mut self, _goal: GoalId) -> CancelDecision {
        CancelDecision::Accept
    }

    /// A cancel was accepted and answered, and the goal's status is CANCELING. End the goal as soon as it has stopped. Its
    /// status is published afterwards.
    fn cancel(&mut self, goal: GoalId);

    /// Whether to answer a request for a goal's result. For simulated faults.
    fn may_answer(&mut self, _goal: GoalId) -> bool {
        true
    }
}

/// The answer to a cancel request, for one goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CancelDecision {
    /// The goal is canceling from now on.
    Accept,
    /// The goal continues.
    Reject,
    /// The request is never answered. For simulated faults.
    Ignore,
}

/// An action server with the answers of `rcl_action`: cancel of an ended goal 3, of an unknown one 2, the result of an
/// unknown one status 0. Cheap to clone; it exists as long as its node.
pub struct ActionServer<A: ServedAction> {
    shared: Arc<Shared<A>>,
}

impl<A: ServedAction> Clone for ActionServer<A> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<A: ServedAction> std::fmt::Debug for ActionServer<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ActionServer")
            .field("type", &A::TYPE)
            .finish_non_exhaustive()
    }
}

struct Shared<A: ServedAction> {
    clock: Clock,
    table: Mutex<GoalTable<A::Result, Reply<GetResult<A>>>>,
    feedback: Mutex<Publisher<FeedbackMessage<A>>>,
    status: Mutex<Publisher<action_msgs::msg::GoalStatusArray>>,
    /// Whether the last list was not published, so it must be published again.
    is_status_due: AtomicBool,
}

impl<A: ServedAction> ActionServer<A> {
    /// How long results are kept by default. Ten seconds is rcl's default since Jazzy.
    pub const RETENTION: Duration = Duration::from_secs(10);

    /// Serves an action under a name. `retention`: how long a result is kept after the end of its goal.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub fn serve(
        node: &mut RosNode,
        name: &str,
        clock: &Clock,
        retention: Duration,
        handler: impl ActionHandler<A>,
    ) -> Result<Self, RosError> {
        let name = node.action_name(name);
        let feedback = node.publisher(&format!("{name}/_action/feedback"), QosProfile::default())?;
        let status = node.publisher(
            &format!("{name}/_action/status"),
            QosProfile::default().keep_last(1).transient_local(),
        )?;
        let shared = Arc::new(Shared {
            clock: clock.clone(),
            table: Mutex::new(GoalTable::new(retention)),
            feedback: Mutex::new(feedback),
            status: Mutex::new(status),
            is_status_due: AtomicBool::new(false),
        });
        let handler = Arc::new(Mutex::new(handler));

        let (server, decider) = (Arc::clone(&shared), Arc::clone(&handler));
        node.serve::<SendGoal<A>>(
            &format!("{name}/_action/send_goal"),
            many_at_once(),
            move |request, reply| {
                let Checked { message, fault } = request;
                let (id, goal) = A::Wire::destructure_goal_request_msg(message);
                let mut request = GoalRequest {
                    id: GoalId::from_slice(&id.uuid).unwrap_or_default(),
                    goal: Arc::new(A::Goal::from_wire(goal)),
                    fault,
                    server: Arc::clone(&server),
                    reply: Some(reply),
                };
                if server.table().status(request.id) == GoalStatus::Unknown {
                    lock(&decider).goal(request);
                } else {
                    request.answer(false, Stamp::ZERO);
                }
            },
        )?;
        let (server, decider) = (Arc::clone(&shared), Arc::clone(&handler));
        node.serve::<CancelGoal>(
            &format!("{name}/_action/cancel_goal"),
            many_at_once(),
            move |request, reply| server.cancel(&request, reply, &mut *lock(&decider)),
        )?;
        let server = Arc::clone(&shared);
        node.serve::<GetResult<A>>(
            &format!("{name}/_action/get_result"),
            many_at_once(),
            move |request, reply| server.result(request, reply, &mut *lock(&handler)),
        )?;
        let server = Arc::downgrade(&shared);
        node.every(Duration::from_secs(1), move || {
            let Some(server) = server.upgrade() else { return };
            let expired = server.table().expire(server.clock.steady());
            if expired || server.is_status_due.load(Ordering::Relaxed) {
                server.publish_status();
            }
        });
        shared.publish_status();
        Ok(Self { shared })
    }

    /// Accepts a goal without a client, and starts its execution. It is listed, can be cancelled and has feedback like
    /// any other goal. It is removed as soon as all clients can have seen its end, because no client requests its
    /// result.
    ///
    /// # Errors
    /// [`TableError::Duplicate`], [`TableError::TooMany`]; [`TableError::Over`] if the goal has already ended.
    pub fn begin(&self, id: GoalId, goal: A::Goal) -> Result<ServerGoal<A>, TableError> {
        let (goal, _) = self.shared.accept(id, Arc::new(goal))?;
        self.shared.table().keep_for(id, Self::RETENTION);
        goal.execute()?;
        Ok(goal)
    }

    /// Goals that have not ended, oldest first.
    pub fn active(&self) -> Vec<GoalId> {
        self.shared.table().active()
    }

    /// Aborts all goals that have not ended. For the case that the threads that execute the goals cannot be reached.
    pub fn abort_active(&self, result: impl Fn() -> A::Result) {
        for goal in self.active() {
            // If the goal has ended meanwhile, it has its result.
            let _ = self.shared.finish(goal, TerminalStatus::Aborted, result());
        }
    }
}

impl<A: ServedAction> Shared<A> {
    fn table(&self) -> MutexGuard<'_, GoalTable<A::Result, Reply<GetResult<A>>>> {
        lock(&self.table)
    }

    /// Accepts a goal. Also returns its time of acceptance, by the table's clock.
    fn accept(
        self: &Arc<Self>,
        id: GoalId,
        goal: Arc<A::Goal>,
    ) -> Result<(ServerGoal<A>, Stamp), TableError> {
        let now = self.clock.stamp();
        let stamp = Stamp::from_parts(now.sec, now.nanosec);
        self.table().accept(id, stamp)?;
        let server = Arc::clone(self);
        let inner = Arc::new(GoalInner {
            id,
            goal,
            server,
            is_left_open: AtomicBool::new(false),
        });
        Ok((ServerGoal { inner }, stamp))
    }

    fn publish_status(&self) {
        self.publish_status_with(&[]);
    }

    /// Publishes the status of the table's goals and of others.
    fn publish_status_with(&self, others: &[(GoalId, GoalStatus)]) {
        // Read under the publisher's lock, so an older list never follows a newer one.
        let status = lock(&self.status);
        let status_list = self
            .table()
            .statuses()
            .into_iter()
            .chain(others.iter().map(|(goal, status)| (*goal, Stamp::ZERO, *status)))
            .map(|(goal, stamp, status)| action_msgs::msg::GoalStatus {
                goal_info: info(goal, stamp),
                status: status as i8,
            })
            .collect();
        let published = status.publish(&action_msgs::msg::GoalStatusArray { status_list });
        self.is_status_due.store(published.is_err(), Ordering::Relaxed);
    }

    fn cancel(
        &self,
        request: &action_msgs::srv::CancelGoal::Request,
        reply: Reply<CancelGoal>,
        handler: &mut impl ActionHandler<A>,
    ) {
        let wanted = &request.goal_info;
        let Some(goal) = GoalId::from_slice(&wanted.goal_id.uuid) else {
            return;
        };
        let selection = Selection::from_wire(goal, Stamp::from_wire(wanted.stamp.clone()));
        let mut ignored = false;
        let answer = self
            .table()
            .cancel(selection, |goal| match handler.may_cancel(goal) {
                CancelDecision::Accept => true,
                CancelDecision::Reject => false,
                CancelDecision::Ignore => {
                    ignored = true;
                    false
                }
            });
        if !ignored {
            let response = action_msgs::srv::CancelGoal::Response {
                return_code: answer.code as i8,
                goals_canceling: answer
                    .canceling
                    .iter()
                    .map(|(goal, stamp)| info(*goal, *stamp))
                    .collect(),
            };
            answers::answer(reply, response);
        }
        if answer.canceling.is_empty() {
            return;
        }
        // The status comes last: the robot drives until the goal is cancelled, and does not wait for a message.
        for (goal, _) in answer.canceling {
            handler.cancel(goal);
        }
        self.publish_status();
    }

    fn result(
        &self,
        request: ResultRequest<A>,
        reply: Reply<GetResult<A>>,
        handler: &mut impl ActionHandler<A>,
    ) {
        let id = A::Wire::destructure_result_request_msg(request);
        let Some(goal) = GoalId::from_slice(&id.uuid) else {
            return;
        };
        if !handler.may_answer(goal) {
            return;
        }
        let mut table = self.table();
        let unknown = |waiter| (waiter, GoalStatus::Unknown, A::Result::default().to_wire());
        let (waiter, status, result) = match table.result(goal, reply) {
            ResultAnswer::Later => return,
            ResultAnswer::Ready { waiter, end, result } => (waiter, end.status(), result.to_wire()),
            ResultAnswer::Unknown { waiter } => unknown(waiter),
        };
        drop(table);
        answers::answer(waiter, A::Wire::make_result_response_msg(status as i8, result));
    }
}

/// Quality of service with room for a burst of requests. If more arrive than the depth before the node's thread takes
/// them, the middleware drops the oldest without notice: of a hundred clients with one goal each, 46 waited forever with
/// the default of ten. The memory is allocated when requests arrive, not before.
fn many_at_once() -> QosProfile {
    QosProfile::services_default().keep_last(1000)
}

fn info(goal: GoalId, stamp: Stamp) -> action_msgs::msg::GoalInfo {
    action_msgs::msg::GoalInfo {
        goal_id: uuid(goal),
        stamp: stamp.to_wire(),
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<A: ServedAction> Shared<A> {
    fn abort(&self, goal: GoalId, message: &str) -> Result<(), TableError> {
        let unknown = A::ERROR_CODES.iter().find(|(_, name)| *name == "UNKNOWN");
        let code = unknown.map_or(0, |(code, _)| *code);
        self.finish(goal, TerminalStatus::Aborted, A::failure(code, message))
    }

    fn finish(&self, goal: GoalId, end: TerminalStatus, result: A::Result) -> Result<(), TableError> {
        self.end(goal, end, result)?.send();
        self.publish_status();
        Ok(())
    }

    fn end(&self, goal: GoalId, end: TerminalStatus, result: A::Result) -> Result<Results<A>, TableError> {
        let wire = result.to_wire();
        let waiters = self.table().finish(goal, end, result, self.clock.steady())?;
        Ok(Results {
            waiters,
            end,
            result: wire,
        })
    }
}
