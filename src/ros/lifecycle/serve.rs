//! The ROS interface of the life cycle: five services and a topic.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use r2r::lifecycle_msgs::{msg, srv};
use r2r::{QosProfile, WrappedServiceTypeSupport};

use super::{LifecycleState, Machine, Transition, TransitionEdge, TransitionResult};
use crate::ros::Publisher;
use crate::ros::shortened::shortened;
use crate::ros::{Clock, RosError, RosHandle, RosNode, answers};
use crate::running_wait;
use crate::worker::{Refused, Worker};

/// The thread of the transitions. It exists while there are some.
const THREAD: &str = "lifecycle";

/// The maximum number of waiting transitions. Further ones fail at once.
const MAX_WAITING: usize = 100;

/// The maximum length of a label that is kept, in bytes: more than that of any transition. An error message quotes it.
const MAX_LABEL: usize = 64;

/// The node's actions in transitions. Called on the thread `lifecycle`, one transition after the other. They may be
/// slow: the node answers requests meanwhile.
pub trait LifecycleHandler: Send + 'static {
    /// Performs a transition. After an error [`LifecycleHandler::recover`] is called.
    fn change(&mut self, transition: Transition, from: LifecycleState) -> TransitionResult;

    /// Recovers from an incomplete transition. The result decides between unconfigured and finalized.
    fn recover(&mut self) -> TransitionResult {
        TransitionResult::Failure
    }
}

/// The life cycle of a node. Exists as long as the node.
#[derive(Debug)]
pub struct Lifecycle {
    handle: LifecycleHandle,
}

/// Access to the life cycle from any thread. Cheap to clone.
#[derive(Clone)]
pub struct LifecycleHandle {
    shared: Arc<Shared>,
    requests: Worker<Request>,
}

impl std::fmt::Debug for LifecycleHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LifecycleHandle({})", self.state().label())
    }
}

struct Shared {
    machine: Mutex<Machine>,
    clock: Clock,
    events: Mutex<Option<Publisher<msg::TransitionEvent>>>,
}

/// A requested transition, by number and label, and the receiver of its result.
struct Request {
    id: u8,
    label: String,
    done: Box<dyn FnOnce(bool) + Send>,
}

impl Request {
    fn new(id: u8, label: String, done: Box<dyn FnOnce(bool) + Send>) -> Self {
        // Before it waits: a client may send a label of any length.
        let label = shortened(label, MAX_LABEL);
        Self { id, label, done }
    }
}

impl Lifecycle {
    /// Serves the life cycle of the node: `~/change_state`, `~/get_state`, `~/get_available_states`,
    /// `~/get_available_transitions`, `~/get_transition_graph` and `~/transition_event`.
    ///
    /// # Errors
    /// [`RosError`].
    pub fn serve(ros: &RosHandle, clock: &Clock, handler: impl LifecycleHandler) -> Result<Self, RosError> {
        let shared = Arc::new(Shared {
            machine: Mutex::default(),
            clock: clock.clone(),
            events: Mutex::new(None),
        });
        let (machine, mut handler) = (Arc::clone(&shared), handler);
        let requests = Worker::new(
            THREAD,
            MAX_WAITING,
            ros.fail_on_panic(THREAD),
            move |request: Option<Request>| {
                if let Some(request) = request {
                    let went_well = machine.change(request.id, &request.label, &mut handler);
                    (request.done)(went_well);
                }
                None
            },
        );
        let handle = LifecycleHandle { shared, requests };
        let for_node = handle.clone();
        ros.with_node_blocking(Duration::from_secs(10), move |node| {
            for_node.put_on_the_wire(node)
        })??;
        Ok(Self { handle })
    }

    /// Access to the life cycle.
    pub fn handle(&self) -> &LifecycleHandle {
        &self.handle
    }
}

impl LifecycleHandle {
    /// The current state.
    pub fn state(&self) -> LifecycleState {
        self.shared.machine().state()
    }

    /// Requests a transition, like a client of the service, and waits for it. Must not be called from the handler or
    /// from a thread that must not wait.
    ///
    /// # Errors
    /// [`RosError::Timeout`] after `patience`, in which the process ran: the transition may still succeed.
    /// [`RosError::Down`].
    pub fn change(&self, transition: Transition, patience: Duration) -> Result<bool, RosError> {
        let (sender, receiver) = channel();
        let done = Box::new(move |went_well| {
            let _ = sender.send(went_well);
        });
        let request = Request::new(0, transition.label().to_owned(), done);
        if self.requests.put(request).is_err() {
            return Ok(false);
        }
        running_wait::receive(&receiver, patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => RosError::Timeout,
            RecvTimeoutError::Disconnected => RosError::Down,
        })
    }

    fn put_on_the_wire(self, node: &mut RosNode) -> Result<(), RosError> {
        let publisher = node.publisher("~/transition_event", QosProfile::default())?;
        *self.shared.events() = Some(publisher);
        let requests = self.requests.clone();
        node.serve::<srv::ChangeState::Service>(
            "~/change_state",
            QosProfile::services_default(),
            move |request, reply| {
                let wanted = request.transition;
                let done = Box::new(move |success| {
                    answers::answer(reply, srv::ChangeState::Response { success });
                });
                let request = Request::new(wanted.id, wanted.label, done);
                let request = match requests.put(request) {
                    Ok(()) => return,
                    Err(Refused::Full(request)) => {
                        tracing::warn!("transition rejected: {MAX_WAITING} transition requests already wait");
                        request
                    }
                    Err(Refused::NoThread(request, error)) => {
                        tracing::error!("transition rejected: thread `{THREAD}` not started: {error}");
                        request
                    }
                };
                (request.done)(false);
            },
        )?;
        self.answer::<srv::GetState::Service>(node, "~/get_state", |machine| srv::GetState::Response {
            current_state: state(machine.state()),
        })?;
        self.answer::<srv::GetAvailableStates::Service>(node, "~/get_available_states", |_| {
            srv::GetAvailableStates::Response {
                available_states: LifecycleState::ALL.into_iter().map(state).collect(),
            }
        })?;
        self.answer::<srv::GetAvailableTransitions::Service>(
            node,
            "~/get_available_transitions",
            |machine| srv::GetAvailableTransitions::Response {
                available_transitions: machine.available().map(description).collect(),
            },
        )?;
        self.answer::<srv::GetAvailableTransitions::Service>(node, "~/get_transition_graph", |_| {
            srv::GetAvailableTransitions::Response {
                available_transitions: Machine::graph().iter().map(description).collect(),
            }
        })
    }

    fn answer<S: WrappedServiceTypeSupport + 'static>(
        &self,
        node: &mut RosNode,
        name: &str,
        answer: fn(Machine) -> S::Response,
    ) -> Result<(), RosError>
    where
        S::Request: Send,
        S::Response: Send,
    {
        let shared = Arc::clone(&self.shared);
        node.serve::<S>(name, QosProfile::services_default(), move |_, reply| {
            let machine = *shared.machine();
            answers::answer(reply, answer(machine));
        })
    }
}

impl Shared {
    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn events(&self) -> MutexGuard<'_, Option<Publisher<msg::TransitionEvent>>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, id: u8, label: &str, handler: &mut impl LifecycleHandler) -> bool {
        let (transition, from, begun) = {
            let mut machine = self.machine();
            let from = machine.state();
            let begun = machine
                .find(id, label)
                .and_then(|transition| Ok((transition, machine.begin(transition)?)));
            match begun {
                Ok((transition, arrow)) => (transition, from, arrow),
                Err(error) => {
                    tracing::warn!("{error}");
                    return false;
                }
            }
        };
        self.publish(&begun);
        let verdict = handler.change(transition, from);
        self.end(verdict);
        if verdict == TransitionResult::Error {
            self.end(handler.recover());
        }
        verdict == TransitionResult::Success
    }

    fn end(&self, verdict: TransitionResult) {
        let arrow = self.machine().end(verdict);
        if let Some(arrow) = arrow {
            self.publish(&arrow);
        }
    }

    fn publish(&self, arrow: &TransitionEdge) {
        let description = description(arrow);
        let event = msg::TransitionEvent {
            timestamp: u64::try_from(self.clock.stamp().as_nanos()).unwrap_or(0),
            transition: description.transition,
            start_state: description.start_state,
            goal_state: description.goal_state,
        };
        if let Some(publisher) = &*self.events() {
            let _ = publisher.publish(&event);
        }
    }
}

fn state(state: LifecycleState) -> msg::State {
    msg::State {
        id: state as u8,
        label: state.label().to_owned(),
    }
}

fn description(arrow: &TransitionEdge) -> msg::TransitionDescription {
    msg::TransitionDescription {
        transition: msg::Transition {
            id: arrow.id,
            label: arrow.label.to_owned(),
        },
        start_state: state(arrow.start),
        goal_state: state(arrow.goal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_label_is_cut_before_it_waits_and_is_no_transition() {
        let label = format!("configure{}", "x".repeat(1 << 20));
        let request = Request::new(1, label.clone(), Box::new(|_| ()));
        assert_eq!(request.label, format!("{}…", &label[..MAX_LABEL]));
        assert!(Machine::default().find(request.id, &request.label).is_err());
    }
}
