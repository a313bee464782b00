//! The action servers on the network: they pass requests of clients to the simulation, and its events to the clients.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use r2r::WrappedServiceTypeSupport;

use crate::bt::Time;
use crate::goal::GoalId;
use crate::msg::Action;
use crate::ros::convert::{ActionType, ServedAction};
use crate::ros::{
    ActionHandler, ActionServer, CancelDecision, Clock, Executor, GoalRequest, Ros, RosError, RosHandle,
    ServerGoal,
};
use crate::sim::behaviors::{BackingUp, DrivingOnHeading, Spinning, Waiting};
use crate::sim::controller::Follower;
use crate::sim::faults::{ActionPlan, GoalSet};
use crate::sim::plan_path::{PlanThroughPoses, PlanToPose};
use crate::sim::plan_route::Routing;
use crate::sim::server::{Event, Execution, GoalNumber, Server, TerminalStatus};
use crate::sim::simulation::{Events, Simulation};
use crate::sim::smoother::Smoothing;

use super::parameters::SharedSettings;
use super::robot::{Arrivals, Namespace};
use super::{NodeError, TIMEOUT};

/// Feedback messages per second of the fault `flood_goals`.
const FLOOD_RATE: f64 = 10_000.0;
/// Maximum number of these messages in one step, after a delay of the simulation.
const MAX_FEEDBACK_PER_STEP: f64 = 500.0;

/// A message from a client to a server.
enum ClientMessage<A: ServedAction> {
    Goal(GoalRequest<A>),
    Cancel(GoalId),
}

/// The numbers of accepted goals that have not ended, and of goals whose result is lost.
type Numbers = Arc<Mutex<BTreeMap<GoalId, GoalNumber>>>;

/// The handler of one server, on the node's thread.
struct GoalHandler<A: ServedAction> {
    messages: Sender<ClientMessage<A>>,
    numbers: Numbers,
    /// The current settings, not those of the last step: a cancel is answered at once, and a client that sets a
    /// parameter and then cancels expects the new value.
    settings: SharedSettings,
    server: &'static str,
    /// The server's name on the network, for the log.
    name: String,
    arrivals: Arrivals,
}

impl<A: ServedAction> GoalHandler<A> {
    fn forward(&self, message: ClientMessage<A>) {
        // At the end of the process there is no receiver. A goal is then refused by its drop.
        let _ = self.messages.send(message);
        self.arrivals.notify();
    }
}

impl<A: ServedAction> ActionHandler<A> for GoalHandler<A>
where
    GoalRequest<A>: Send,
{
    fn goal(&mut self, request: GoalRequest<A>) {
        self.forward(ClientMessage::Goal(request));
    }

    fn may_cancel(&mut self, goal: GoalId) -> CancelDecision {
        let number = lock(&self.numbers).get(&goal).copied();
        let faults = self.settings.action_faults(self.server);
        let refused = GoalSet::parse(&faults.refuse_cancel_goals).unwrap_or_default();
        if let Some(number) = number.filter(|number| refused.contains(number.0)) {
            tracing::debug!("{}: goal {}: cancel request rejected", self.name, number.0);
            CancelDecision::Reject
        } else {
            CancelDecision::Accept
        }
    }

    fn cancel(&mut self, goal: GoalId) {
        self.forward(ClientMessage::Cancel(goal));
    }

    fn may_answer(&mut self, goal: GoalId) -> bool {
        let number = lock(&self.numbers).get(&goal).copied();
        let faults = self.settings.action_faults(self.server);
        let lost = GoalSet::parse(&faults.lose_result_goals).unwrap_or_default();
        !number.is_some_and(|number| lost.contains(number.0))
    }
}

/// One action server on the network.
struct ActionPort<E: Execution<Action: ServedAction>> {
    messages: Receiver<ClientMessage<E::Action>>,
    message_sender: Sender<ClientMessage<E::Action>>,
    numbers: Numbers,
    settings: SharedSettings,
    arrivals: Arrivals,
    clock: Clock,
    pending_requests: BTreeMap<GoalNumber, GoalRequest<E::Action>>,
    /// Each goal with its fault plan at acceptance.
    goals: BTreeMap<GoalNumber, (ServerGoal<E::Action>, ActionPlan)>,
    /// Deliberately late answers, with their times.
    delayed_answers: Vec<(Time, Box<dyn FnOnce() + Send>)>,
    last_flood: Time,
    /// The server's name on the network.
    name: String,
    /// The namespace of `own_node`.
    namespace: String,
    /// A separate node, for a server that may vanish: an endpoint leaves the network only with its node.
    own_node: Option<Executor>,
}

impl<E: Execution<Action: ServedAction>> ActionPort<E>
where
    GoalRequest<E::Action>: Send,
    <<<E::Action as ActionType>::Wire as r2r::WrappedActionTypeSupport>::SendGoal as WrappedServiceTypeSupport>::Request:
        Send + Sync,
    <<<E::Action as ActionType>::Wire as r2r::WrappedActionTypeSupport>::GetResult as WrappedServiceTypeSupport>::Request:
        Send,
{
    /// Opens the server, if the robots have it.
    fn open(
        ros: &Ros,
        namespace: &Namespace,
        settings: &SharedSettings,
        arrivals: &Arrivals,
    ) -> Result<Option<Self>, NodeError> {
        if !settings.get().fleet.has_server(E::SERVER) {
            return Ok(None);
        }
        let (message_sender, messages) = channel();
        let mut port = Self {
            messages,
            message_sender,
            numbers: Arc::default(),
            settings: settings.clone(),
            arrivals: arrivals.clone(),
            clock: ros.clock().clone(),
            pending_requests: BTreeMap::new(),
            goals: BTreeMap::new(),
            delayed_answers: Vec::new(),
            last_flood: Time::ZERO,
            name: namespace.name(E::SERVER),
            namespace: namespace.full(ros).to_owned(),
            own_node: None,
        };
        if settings.action_faults(E::SERVER).vanish_goals.trim().is_empty() {
            port.serve(ros.handle())?;
        } else {
            port.start_own_node()?;
        }
        Ok(Some(port))
    }

    fn serve(&self, handle: &RosHandle) -> Result<(), RosError> {
        let goal_handler = GoalHandler {
            messages: self.message_sender.clone(),
            numbers: Arc::clone(&self.numbers),
            settings: self.settings.clone(),
            server: E::SERVER,
            name: self.name.clone(),
            arrivals: self.arrivals.clone(),
        };
        let (name, clock) = (self.name.clone(), self.clock.clone());
        handle.with_node_blocking(TIMEOUT, move |node| {
            ActionServer::<E::Action>::serve(
                node,
                &name,
                &clock,
                ActionServer::<E::Action>::RETENTION,
                goal_handler,
            )
        })??;
        Ok(())
    }

    fn start_own_node(&mut self) -> Result<(), RosError> {
        let (executor, _) = Executor::start(&format!("nav_sim_{}", E::SERVER), &self.namespace)?;
        self.serve(executor.handle())?;
        self.own_node = Some(executor);
        Ok(())
    }

    fn receive_messages(&mut self, server: &mut Server<E>, now: Time) {
        for (_, answer) in self.delayed_answers.extract_if(.., |(due, _)| *due <= now) {
            answer();
        }
        self.send_flood(now);
        while let Ok(message) = self.messages.try_recv() {
            match message {
                ClientMessage::Goal(request) => {
                    let number = server.receive(request.goal().as_ref().clone(), now);
                    tracing::debug!("{}: goal {} arrived", self.name, number.0);
                    self.pending_requests.insert(number, request);
                }
                ClientMessage::Cancel(goal) => {
                    let number = lock(&self.numbers).get(&goal).copied();
                    if let Some(number) = number {
                        tracing::debug!("{}: goal {}: cancel request accepted", self.name, number.0);
                        server.cancel(number, now);
                    }
                }
            }
        }
    }

    /// Sends the part of the 10,000 feedback messages per second that is due.
    fn send_flood(&mut self, now: Time) {
        let due = (now.since(self.last_flood).as_secs_f64() * FLOOD_RATE).min(MAX_FEEDBACK_PER_STEP) as usize;
        self.last_flood = now;
        for (number, (goal, plan)) in &self.goals {
            if plan.flood.contains(number.0) {
                let feedback = <E::Action as Action>::Feedback::default();
                for _ in 0..due {
                    let _ = goal.feedback(&feedback);
                }
            }
        }
    }

    /// The current faults: a client that sets a parameter and then sends a goal expects the new value.
    fn plan(&self) -> ActionPlan {
        // The value was checked when it was set.
        let plan = self.settings.action_faults(E::SERVER).plan();
        plan.unwrap_or_default()
    }

    fn apply_events(&mut self, events: &mut Vec<Event<E::Action>>, now: Time) {
        for event in events.drain(..) {
            match event {
                Event::Accepted(number) => self.accept(number, now),
                Event::Ignored(number) => {
                    tracing::debug!("{}: goal {} ignored", self.name, number.0);
                    if let Some(request) = self.pending_requests.remove(&number) {
                        request.ignore();
                    }
                }
                Event::Refused(number) => {
                    tracing::debug!("{}: goal {} refused", self.name, number.0);
                    if let Some(request) = self.pending_requests.remove(&number) {
                        request.reject();
                    }
                }
                Event::Feedback(number, feedback) => {
                    if let Some((goal, _)) = self.goals.get(&number) {
                        // It fails only when ROS is shut down, which the loop detects itself.
                        let _ = goal.feedback(&feedback);
                    }
                }
                Event::Ended(number, status, result) => self.end(number, status, result, now),
                Event::Vanished => self.vanish(),
                Event::Returned => {
                    tracing::info!("{} is back", self.name);
                    if let Err(error) = self.start_own_node() {
                        tracing::error!("{} not started again: {error}", self.name);
                    }
                }
            }
        }
    }

    fn accept(&mut self, number: GoalNumber, now: Time) {
        let Some(request) = self.pending_requests.remove(&number) else {
            return;
        };
        let id = request.id();
        // Stored before the client gets the answer, because it may cancel at once.
        lock(&self.numbers).insert(id, number);
        let plan = self.plan();
        let (goal, answer) = match request.take() {
            Ok(accepted) => accepted,
            Err(error) => return tracing::warn!("{}: goal {}: {error}", self.name, number.0),
        };
        tracing::debug!("{}: goal {} accepted", self.name, number.0);
        if plan.twice.contains(number.0) {
            answer.again().send();
        }
        if plan.late_answer.contains(number.0) {
            let due = now + plan.answer_delay;
            self.delayed_answers.push((due, Box::new(move || answer.send())));
        } else if !plan.mute.contains(number.0) {
            answer.send();
        }
        if let Err(error) = goal.execute() {
            tracing::warn!("{}: goal {}: {error}", self.name, number.0);
        }
        let feedback = <E::Action as Action>::Feedback::default();
        if plan.late_answer.contains(number.0) {
            let _ = goal.feedback(&feedback);
        }
        if plan.wrong_id.contains(number.0) {
            goal.publish_foreign_goals(&feedback);
        }
        self.goals.insert(number, (goal, plan));
    }

    fn end(
        &mut self,
        number: GoalNumber,
        status: TerminalStatus,
        result: <E::Action as Action>::Result,
        now: Time,
    ) {
        let Some((goal, plan)) = self.goals.remove(&number) else {
            return;
        };
        let code = E::Action::error_code(&result);
        let name = E::Action::code_name(code).unwrap_or("");
        tracing::debug!("{}: goal {} {status:?} {code} {name}", self.name, number.0);
        let ended = if plan.lose_result.contains(number.0) {
            goal.finish_without_result(status, result).map(|_| ())
        } else if plan.late_answer.contains(number.0) {
            let results = goal.finish_without_result(status, result);
            results.map(|results| {
                let due = now + plan.answer_delay;
                self.delayed_answers.push((due, Box::new(move || results.send())));
            })
        } else {
            goal.finish(status, result)
        };
        if let Err(error) = ended {
            tracing::warn!("{}: goal {}: {error}", self.name, number.0);
        }
        // Clients may still request a lost result.
        if !plan.lose_result.contains(number.0) {
            lock(&self.numbers).remove(&goal.id());
        }
    }

    /// Drops the node first: later drops then find no client to answer, which is the purpose of vanishing.
    fn vanish(&mut self) {
        tracing::info!("{} vanishes", self.name);
        self.own_node = None;
        self.goals.clear();
        self.delayed_answers.clear();
        self.pending_requests.clear();
        lock(&self.numbers).clear();
        while self.messages.try_recv().is_ok() {}
    }
}

fn lock(numbers: &Numbers) -> MutexGuard<'_, BTreeMap<GoalId, GoalNumber>> {
    numbers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One port per server; the field names are those of [`Simulation`] and [`Events`].
macro_rules! ports {
    ($($field:ident: $execution:ty,)*) => {
        /// The action servers of one robot; `None` for a server that is not open.
        pub(super) struct ActionPorts {
            $($field: Option<ActionPort<$execution>>,)*
        }

        impl ActionPorts {
            pub(super) fn open(
                ros: &Ros,
                namespace: &Namespace,
                settings: &SharedSettings,
                arrivals: &Arrivals,
            ) -> Result<Self, NodeError> {
                Ok(Self {
                    $($field: ActionPort::open(ros, namespace, settings, arrivals)?,)*
                })
            }

            /// Passes received messages to the servers.
            pub(super) fn receive_messages(&mut self, simulation: &mut Simulation) {
                let now = simulation.now();
                $(if let Some(port) = &mut self.$field {
                    port.receive_messages(&mut simulation.$field, now);
                })*
            }

            /// Sends the events to the clients, and empties `events`: a server that is not open has none.
            pub(super) fn apply_events(&mut self, events: &mut Events, now: Time) {
                $(if let Some(port) = &mut self.$field {
                    port.apply_events(&mut events.$field, now);
                })*
            }
        }
    };
}

ports! {
    compute_path_to_pose: PlanToPose,
    compute_path_through_poses: PlanThroughPoses,
    compute_route: Routing,
    smooth_path: Smoothing,
    follow_path: Follower,
    spin: Spinning,
    backup: BackingUp,
    drive_on_heading: DrivingOnHeading,
    wait: Waiting,
}
