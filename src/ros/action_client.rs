//! The client side of an action: three services and two topics.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use r2r::unique_identifier_msgs::msg::UUID;
use r2r::{QosProfile, WrappedActionTypeSupport, WrappedServiceTypeSupport, action_msgs};
use rustc_hash::FxHashMap;

use super::convert::Convert;
use super::goal_tracker::{Input, InputSender};
use super::interfaces::ActionTransport;
use super::node::Group;
use super::spin::Task;
use super::{Caller, Lives, PendingRequests, RosError, RosNode};
use crate::goal::{CancelCode, CancelTag, GoalId, GoalStatus, Selection, ServerId, WireEvent};
use crate::nav::{Form, Payload};

use super::interfaces::ActionCodec;

type SendGoal<C> = <<C as ActionCodec>::Wire as WrappedActionTypeSupport>::SendGoal;
type GetResult<C> = <<C as ActionCodec>::Wire as WrappedActionTypeSupport>::GetResult;
type Response<S> = <S as WrappedServiceTypeSupport>::Response;

/// The wire id of a goal. In r2r it is a vector, and r2r panics on any length but 16, so it is made only here.
pub(super) fn uuid(goal: GoalId) -> UUID {
    UUID {
        uuid: goal.0.to_vec(),
    }
}

/// The maximum number of open result requests for one goal. The result of a goal that executes for hours is requested
/// every few seconds, and the server answers all requests when the goal ends.
const QUESTIONS_KEPT: usize = 8;

/// The key of a goal's pending calls.
fn key(goal: GoalId) -> u64 {
    let [.., a, b, c, d, e, f, g, h] = goal.0;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// The client of one action server. It makes no decisions: it sends the given requests and forwards all incoming
/// messages, including repeated and late ones. The GoalTracker handles those.
pub(super) struct ActionClient<C: ActionCodec> {
    server: ServerId,
    name: Arc<str>,
    inputs: InputSender,
    send_goal: Caller<Response<SendGoal<C>>>,
    get_result: Caller<Response<GetResult<C>>>,
    cancel_goal: Caller<action_msgs::srv::CancelGoal::Response>,
    /// The goals of this client, and the form of results and feedback for their leaves. The feedback of all clients'
    /// goals is on one topic, at any rate; feedback of other clients' goals is not converted.
    ours: Arc<Mutex<FxHashMap<GoalId, Form>>>,
}

impl<C: ActionCodec> ActionClient<C> {
    /// Creates three clients, subscribes to the status of goals, and sends an input when the server appears or
    /// disappears.
    pub(super) fn open(
        node: &mut RosNode,
        name: &str,
        server: ServerId,
        inputs: InputSender,
    ) -> Result<Self, RosError> {
        let name = &node.action_name(name);
        let to = inputs.clone();
        node.subscribe::<action_msgs::msg::GoalStatusArray>(
            &format!("{name}/_action/status"),
            // A server may publish several lists before this node takes the first one, and each may be the only one that
            // shows a status. Servers keep one.
            QosProfile::default().keep_last(10).transient_local(),
            move |message| {
                let goals = message
                    .status_list
                    .into_iter()
                    .filter_map(|entry| {
                        let goal = GoalId::from_slice(&entry.goal_info.goal_id.uuid)?;
                        Some((goal, GoalStatus::from_wire(entry.status)))
                    })
                    .collect();
                to.wire(WireEvent::Status { server, goals });
            },
        )?;
        let ours: Arc<Mutex<FxHashMap<GoalId, Form>>> = Arc::default();
        let (busy, to) = (Arc::clone(&ours), inputs.clone());
        node.watch_publishers(
            &format!("{name}/_action/status"),
            move || !lock(&busy).is_empty(),
            move || to.send(Input::Task(Box::new(RosNode::check_servers_soon))),
        );
        let mut send_goal = node.client::<SendGoal<C>>(&format!("{name}/_action/send_goal"))?;
        let mut get_result = node.client::<GetResult<C>>(&format!("{name}/_action/get_result"))?;
        let mut cancel_goal =
            node.client::<action_msgs::srv::CancelGoal::Service>(&format!("{name}/_action/cancel_goal"))?;
        let probes = [
            send_goal.take_probe(),
            get_result.take_probe(),
            cancel_goal.take_probe(),
        ];
        let lives = [send_goal.lives(), get_result.lives(), cancel_goal.lives()];
        let to = inputs.clone();
        node.watch(probes.into_iter().flatten(), move |present| {
            to.wire(if present {
                WireEvent::ServerBack { server }
            } else {
                lives.iter().for_each(Lives::end);
                WireEvent::ServerGone { server }
            });
        });
        Ok(Self {
            server,
            name: name.as_str().into(),
            inputs,
            send_goal,
            get_result,
            cancel_goal,
            ours,
        })
    }
}

fn lock(goals: &Mutex<FxHashMap<GoalId, Form>>) -> MutexGuard<'_, FxHashMap<GoalId, Form>> {
    goals.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<C: ActionCodec> ActionTransport for ActionClient<C> {
    fn hear_feedback(&self) -> Task {
        let server = self.server;
        let (name, to, ours) = (
            Arc::clone(&self.name),
            self.inputs.clone(),
            Arc::clone(&self.ours),
        );
        let callback = move |message| {
            let (id, feedback) = C::Wire::destructure_feedback_msg(message);
            let Some(goal) = GoalId::from_slice(&id.uuid) else {
                return;
            };
            let form = lock(&ours).get(&goal).copied();
            if let Some(form) = form {
                let payload = C::feedback(feedback, form);
                to.wire(WireEvent::Feedback { goal, payload });
            }
        };
        Box::new(move |node| {
            let made = node.create_in(Group(server.0), |node| {
                node.subscribe::<<C::Wire as WrappedActionTypeSupport>::FeedbackMessage>(
                    &format!("{name}/_action/feedback"),
                    QosProfile::default(),
                    callback,
                )
            });
            // The leaves run without feedback.
            if let Err(error) = made {
                tracing::error!("{name}: {error}");
            }
        })
    }

    fn send_goal(&mut self, goal: GoalId, payload: &Payload) -> Result<(), RosError> {
        // The GoalTracker's deadlines bound the later requests of a goal: cancels and result requests.
        let now = Instant::now();
        self.send_goal.make_room(now)?;
        self.get_result.make_room(now)?;
        self.cancel_goal.make_room(now)?;
        let (message, form) = C::goal(payload)?;
        let request = C::Wire::make_goal_request_msg(uuid(goal), message);
        lock(&self.ours).insert(goal, form);
        let (inputs, server) = (self.inputs.clone(), self.server);
        self.send_goal.call(key(goal), &request, move |answer| {
            let (accepted, _) = C::Wire::destructure_goal_response_msg(answer);
            inputs.wire(if accepted {
                WireEvent::Accepted { server, goal }
            } else {
                WireEvent::Rejected { goal }
            });
        })
    }

    fn cancel(&mut self, tag: CancelTag, selection: Selection) -> Result<(), RosError> {
        let request = cancel_request(selection);
        let key = match tag {
            CancelTag::Goal { goal, .. } => key(goal),
            CancelTag::Leaf(ticket) => {
                // The GoalTracker's deadlines bound cancels of single goals; a tree may send these cancels in every
                // tick.
                self.cancel_goal.make_room(Instant::now())?;
                ticket.0
            }
        };
        let inputs = self.inputs.clone();
        let service = format!("{}/_action/cancel_goal", self.name);
        self.cancel_goal.call(key, &request, move |answer| {
            let code = cancel_code(selection, &answer);
            let canceling = answer.goals_canceling.iter();
            let canceling = canceling
                .filter_map(|info| GoalId::from_slice(&info.goal_id.uuid))
                .collect();
            let is_denied = code == CancelCode::UnknownGoal && matches!(tag, CancelTag::Goal { .. });
            if !is_denied {
                return inputs.wire(WireEvent::CancelAnswered { tag, code, canceling });
            }
            inputs.ask_whether_alone(service, move |inputs, is_alone| {
                let code = if is_alone { code } else { CancelCode::UnknownToOne };
                inputs.wire(WireEvent::CancelAnswered { tag, code, canceling });
            });
        })
    }

    fn request_result(&mut self, goal: GoalId) -> Result<(), RosError> {
        // A repeated request: the server answers each of them, and one answer is enough. The earlier requests stay
        // open, because the answer may take longer than the time between two requests.
        self.get_result.forget_but(QUESTIONS_KEPT - 1, key(goal));
        let request = C::Wire::make_result_request_msg(uuid(goal));
        let inputs = self.inputs.clone();
        let service = format!("{}/_action/get_result", self.name);
        // No leaf reads the result of a goal that was found and not sent.
        let form = lock(&self.ours).get(&goal).copied().unwrap_or_default();
        self.get_result.call(key(goal), &request, move |answer| {
            let (status, result) = C::Wire::destructure_result_response_msg(answer);
            if let Some(end) = GoalStatus::from_wire(status).end() {
                let payload = C::result(result, form);
                return inputs.wire(WireEvent::Result { goal, end, payload });
            }
            inputs.ask_whether_alone(service, move |inputs, is_alone| {
                if is_alone {
                    inputs.wire(WireEvent::ResultUnknown { goal });
                }
            });
        })
    }

    fn forget(&mut self, goal: GoalId) {
        lock(&self.ours).remove(&goal);
        self.get_result.forget(key(goal));
        self.cancel_goal.forget(key(goal));
        // The goal request stays open: if the goal is accepted later, it must be cancelled, however late that is.
    }

    fn pending_requests(&self) -> PendingRequests {
        let mut pending_requests = self.send_goal.pending_requests();
        pending_requests += self.get_result.pending_requests();
        pending_requests += self.cancel_goal.pending_requests();
        pending_requests
    }

    fn awaits_answers(&self) -> bool {
        self.send_goal.pending_requests().unanswered > 0
            || self.get_result.awaits_answers()
            || self.cancel_goal.awaits_answers()
    }
}

/// The request that cancels the selected goals of a server.
pub(super) fn cancel_request(selection: Selection) -> action_msgs::srv::CancelGoal::Request {
    let (goal, stamp) = selection.to_wire();
    action_msgs::srv::CancelGoal::Request {
        goal_info: action_msgs::msg::GoalInfo {
            goal_id: uuid(goal),
            stamp: stamp.to_wire(),
        },
    }
}

/// The code of a cancel answer. rcl's servers answer with zero and an empty list if they accepted nothing.
pub(super) fn cancel_code(
    selection: Selection,
    answer: &action_msgs::srv::CancelGoal::Response,
) -> CancelCode {
    let code = CancelCode::from_wire(answer.return_code);
    let missing = |goal: GoalId| {
        !answer
            .goals_canceling
            .iter()
            .any(|info| info.goal_id.uuid == goal.0)
    };
    match selection {
        Selection::Goal(goal) if code == CancelCode::None && missing(goal) => CancelCode::Rejected,
        _ => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::Stamp;

    #[test]
    fn a_cancel_that_cancels_no_goal_is_rejected() {
        let goal = GoalId([7; 16]);
        let empty = action_msgs::srv::CancelGoal::Response {
            return_code: 0,
            goals_canceling: Vec::new(),
        };
        assert_eq!(cancel_code(Selection::Goal(goal), &empty), CancelCode::Rejected);
        assert_eq!(cancel_code(Selection::All, &empty), CancelCode::None);
        let named = action_msgs::srv::CancelGoal::Response {
            return_code: 0,
            goals_canceling: vec![action_msgs::msg::GoalInfo {
                goal_id: uuid(goal),
                stamp: Stamp::ZERO.to_wire(),
            }],
        };
        assert_eq!(cancel_code(Selection::Goal(goal), &named), CancelCode::None);
        let over = action_msgs::srv::CancelGoal::Response {
            return_code: 3,
            goals_canceling: Vec::new(),
        };
        assert_eq!(
            cancel_code(Selection::Goal(goal), &over),
            CancelCode::GoalTerminated
        );
    }
}
