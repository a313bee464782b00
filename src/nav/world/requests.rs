//! The requests of a tree: goals, calls and cancels, from their start to their outcome.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::World;
use super::goal_cancels::{CancelAnswer, GoalCancels};
use crate::bt::HaltReason;
use crate::goal::{Command, GoalOptions, Notice, Outcome, ServerId, Ticket};
use crate::nav::failure::LeafFailure;
use crate::nav::link::Payload;

/// The progress of a goal, a call or a cancel request.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The server accepted the goal.
    pub accepted: bool,
    /// The newest feedback that has not been read.
    pub feedback: Option<Payload>,
    /// The outcome.
    pub outcome: Option<Outcome<Payload>>,
    server: ServerId,
    /// The path and the registered ID of the leaf, if the navigation ends when another client cancels the goal.
    ends_navigation: Option<(Arc<str>, Arc<str>)>,
    /// The cancels of the goal that the leaf has not requested.
    pub(in crate::nav) cancels: GoalCancels,
    /// This is the request of a Cancel node.
    is_cancel: bool,
    /// The leaf was halted. The answer to the request of a Cancel node still counts.
    is_detached: bool,
    /// Number of requested updates of the goal.
    asked: u64,
    /// Number of updates that the ended goal includes.
    applied: u64,
    /// See [`World::set_requested_earlier`].
    is_requested_earlier: bool,
}

impl Progress {
    fn new(server: ServerId) -> Self {
        Self {
            accepted: false,
            feedback: None,
            outcome: None,
            server,
            ends_navigation: None,
            cancels: GoalCancels::default(),
            is_cancel: false,
            is_detached: false,
            asked: 0,
            applied: 0,
            is_requested_earlier: false,
        }
    }

    /// Whether the outcome is known, and with it who cancelled the goal if its server did, and whether its update may be sent.
    pub fn has_ended(&self) -> bool {
        let may_stop_update = || self.is_of_earlier_goal() && self.cancels.may_stop_update(self.asked);
        self.outcome.is_some() && !self.cancels.are_undecided() && !may_stop_update()
    }

    /// Whether the newest update of the ended goal may not be sent: another client or a Cancel node has stopped the robot.
    pub(in crate::nav) fn is_stopped(&self) -> bool {
        self.cancels.stop_update(self.asked)
    }

    /// Whether the outcome is the server's result of an earlier goal, which does not apply to the active one: that goal ended
    /// before an update of it was sent. A missing answer, a missing server, and a cancel from outside of the leaf apply to
    /// both.
    pub fn is_of_earlier_goal(&self) -> bool {
        let is_of_server = matches!(
            self.outcome,
            Some(Outcome::Succeeded(_) | Outcome::Aborted(_) | Outcome::Rejected)
        );
        is_of_server && self.applied < self.asked
    }
}

impl World {
    pub(super) fn ticket(&mut self, server: ServerId) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.waiting.insert(ticket, Progress::new(server));
        ticket
    }

    /// Requests a goal, which is sent at the end of the tick.
    pub fn start_goal(
        &mut self,
        server: ServerId,
        leaf: &Arc<str>,
        payload: Payload,
        options: GoalOptions,
    ) -> Ticket {
        let ticket = self.ticket(server);
        let now = self.now;
        self.unanswered.retain(|(_, until)| *until > now);
        if let Some(progress) = self.waiting.get_mut(&ticket)
            && self.unanswered.iter().any(|(of, _)| *of == server)
        {
            progress.cancels.unanswered();
        }
        let leaf = Arc::clone(leaf);
        self.outbox.request(Command::Start {
            ticket,
            server,
            leaf,
            payload,
            options,
        });
        ticket
    }

    /// Ends the navigation when another client cancels this goal: see [`World::take_canceled`]. `id` is the registered ID
    /// of the leaf's node type.
    pub fn end_navigation_on_cancel(&mut self, ticket: Ticket, leaf: &Arc<str>, id: &Arc<str>) {
        if let Some(progress) = self.waiting.get_mut(&ticket) {
            progress.ends_navigation = Some((Arc::clone(leaf), Arc::clone(id)));
        }
    }

    /// A leaf requested this goal in an earlier tick, as an update of a goal that has ended since then. So it ends with the
    /// goals of its server if a Cancel node ticks before the end of this tick.
    pub(in crate::nav) fn set_requested_earlier(&mut self, ticket: Ticket) {
        if let Some(progress) = self.waiting.get_mut(&ticket) {
            progress.is_requested_earlier = true;
        }
    }

    /// Replaces an active goal by a newer one on the same server. Within a tick, the last call counts.
    pub fn update_goal(&mut self, ticket: Ticket, payload: Payload) {
        if let Some(progress) = self.waiting.get_mut(&ticket) {
            progress.asked += 1;
        }
        self.outbox.request(Command::Update { ticket, payload });
    }

    /// Requests a service call, which is sent at the end of the tick.
    pub fn call(
        &mut self,
        server: ServerId,
        leaf: &Arc<str>,
        payload: Payload,
        options: GoalOptions,
    ) -> Ticket {
        let ticket = self.ticket(server);
        let leaf = Arc::clone(leaf);
        self.outbox.request(Command::Call {
            ticket,
            server,
            leaf,
            payload,
            options,
        });
        ticket
    }

    /// Requests the cancellation of all clients' goals on a server, as Nav2's `Cancel*` nodes do.
    pub fn cancel_server(&mut self, server: ServerId, leaf: &Arc<str>, options: GoalOptions) -> Ticket {
        let ticket = self.ticket(server);
        let mut earlier = Vec::new();
        // A goal of this tick is not cancelled: it is sent after the server has answered the request. Whether an earlier
        // one is accepted, or already stopped after a halt, is known to its server alone.
        for (goal, progress) in requests_in(&mut self.waiting, &mut self.without_leaf) {
            if progress.server != server {
                continue;
            }
            if !self.outbox.starts(goal) {
                // As the goals of this tick, its updates leave after the request.
                let updates = progress.asked - self.outbox.updates(goal);
                progress.cancels.requested(ticket, updates);
            } else if progress.is_requested_earlier {
                earlier.push(goal);
            }
        }
        if let Some(progress) = self.waiting.get_mut(&ticket) {
            progress.is_cancel = true;
        }
        let leaf = Arc::clone(leaf);
        self.outbox.cancel(Command::CancelServer {
            ticket,
            server,
            leaf,
            earlier,
            options,
        });
        ticket
    }

    /// The progress of a request at the start of this tick.
    pub fn progress(&mut self, ticket: Ticket) -> Option<&mut Progress> {
        self.waiting.get_mut(&ticket)
    }

    /// Takes the outcome of an ended request and removes the request. A cancel of its goal by another client still counts.
    pub fn finish(&mut self, ticket: Ticket) -> Option<Outcome<Payload>> {
        self.waiting.get(&ticket)?.outcome.as_ref()?;
        let mut progress = self.waiting.remove(&ticket)?;
        let outcome = progress.outcome.take();
        self.keep_without_leaf(ticket, progress);
        outcome
    }

    /// A leaf does not wait for its request any more. The notice of another client's cancel may be on its way.
    fn keep_without_leaf(&mut self, ticket: Ticket, progress: Progress) {
        if progress.ends_navigation.is_some() {
            self.without_leaf.truncate(MAX_WITHOUT_LEAF - 1);
            self.without_leaf.push_front((ticket, progress));
        }
    }

    /// Stops a request. Its cancel is sent first at the end of the tick, and no later message about it is delivered
    /// (G3, G4).
    pub fn halt(&mut self, ticket: Ticket, reason: HaltReason) {
        let Some(mut progress) = self.waiting.remove(&ticket) else {
            return;
        };
        // A request of the current tick has not left yet and is dropped.
        if self.outbox.remove_start(ticket) {
            self.settle_cancel(ticket, progress.server, &CancelAnswer::None);
        } else if progress.is_cancel && progress.outcome.is_none() {
            // A request that was sent may still cancel goals.
            progress.is_detached = true;
            self.waiting.insert(ticket, progress);
            self.push_halt(Command::Detach { ticket, reason });
        } else {
            self.outbox.remove_updates(ticket);
            self.keep_without_leaf(ticket, progress);
            self.push_halt(Command::Halt { ticket, reason });
        }
    }

    fn push_halt(&mut self, halt: Command<Payload>) {
        self.outbox.halt(halt, self.settings.halt_order);
    }

    /// Stops all requests of all leaves, for the owner of a tree that can no longer be halted leaf by leaf.
    pub fn halt_all(&mut self, reason: HaltReason) {
        let mut tickets: Vec<Ticket> = self
            .waiting
            .iter()
            .filter(|(_, progress)| !progress.has_ended())
            .map(|(ticket, _)| *ticket)
            .collect();
        tickets.sort_unstable();
        for ticket in tickets {
            self.halt(ticket, reason);
        }
        self.forget_detached();
        self.waiting.clear();
    }

    /// Forgets the requests of halted Cancel nodes: who cancelled a goal is decided without their answers. They may still
    /// cancel goals.
    pub(crate) fn forget_detached(&mut self) {
        let detached = self.waiting.extract_if(|_, progress| progress.is_detached);
        let detached: Vec<_> = detached
            .map(|(ticket, progress)| (ticket, progress.server))
            .collect();
        for (ticket, server) in detached {
            self.settle_cancel(ticket, server, &CancelAnswer::Missing);
        }
    }

    /// Takes the leaf whose goal another client cancelled, as its failure. Its navigation must end: a recovery or the
    /// next leaf must not drive a robot again that another client has stopped (guarantee G3). Goals that a Cancel node
    /// of the tree cancels do not count, and none counts with [`Settings::canceled_is_success`](crate::nav::Settings::canceled_is_success).
    pub fn take_canceled(&mut self) -> Option<LeafFailure> {
        self.canceled.take()
    }

    pub(super) fn take_notice(&mut self, notice: Notice<Payload>) {
        let ticket = notice.ticket();
        if notice.is_cancel() {
            self.unread_cancels.push(ticket);
        }
        let Some(progress) = self.waiting.get_mut(&ticket) else {
            self.take_notice_without_leaf(ticket, &notice);
            return;
        };
        if notice.is_cancel() {
            progress.cancels.seen();
        }
        match notice {
            Notice::Accepted { .. } => progress.accepted = true,
            Notice::Feedback { payload, .. } => progress.feedback = Some(payload),
            Notice::Canceling { .. } => {}
            Notice::Finished { updates, outcome, .. } => {
                let answer = progress.is_cancel.then(|| CancelAnswer::of(&outcome));
                let server = progress.server;
                progress.applied = updates;
                progress.outcome = Some(outcome);
                if progress.is_detached {
                    self.waiting.remove(&ticket);
                }
                if let Some(answer) = answer {
                    self.settle_cancel(ticket, server, &answer);
                }
            }
        }
        self.check_canceled(ticket);
    }

    /// Confirms the notices of cancels: from then on, goals of this tree are sent. Not before it is known who cancelled the
    /// goal: another client may have stopped the robot (guarantee G3).
    pub(super) fn confirm_cancels(&mut self) {
        let mut unread = std::mem::take(&mut self.unread_cancels);
        unread.retain(|ticket| {
            let progress = self.request(*ticket);
            let is_undecided = progress.is_some_and(|progress| progress.cancels.are_undecided());
            if !is_undecided {
                self.outbox.read_cancel(*ticket);
            }
            is_undecided
        });
        self.unread_cancels = unread;
    }

    /// The request of a Cancel node has no answer. It may still cancel the next goals on the server.
    fn cancel_is_unanswered(&mut self, server: ServerId) {
        let until = self.now + self.settings.goal_options().give_up_timeout;
        let now = self.now;
        self.unanswered
            .retain(|(of, until)| *of != server && *until > now);
        self.unanswered.push((server, until));
        for (_, progress) in requests_in(&mut self.waiting, &mut self.without_leaf) {
            if progress.server == server {
                progress.cancels.unanswered();
            }
        }
    }

    /// A notice for a request that was halted or had ended before it arrived. The leaf gets nothing (guarantee G4), but a
    /// cancel by another client still ends the navigation.
    fn take_notice_without_leaf(&mut self, ticket: Ticket, notice: &Notice<Payload>) {
        if let Some((_, progress)) = self.without_leaf.iter_mut().find(|(of, _)| *of == ticket) {
            if notice.is_cancel() {
                progress.cancels.seen();
            }
            self.check_canceled(ticket);
        }
    }

    /// The request of a Cancel node has ended: whether it cancels the goals of this tree on its server.
    fn settle_cancel(&mut self, request: Ticket, server: ServerId, answer: &CancelAnswer) {
        if matches!(answer, CancelAnswer::Missing) {
            self.cancel_is_unanswered(server);
        }
        let mut tickets = Vec::new();
        for (ticket, progress) in requests_in(&mut self.waiting, &mut self.without_leaf) {
            let has_ended = progress.outcome.is_some();
            if progress.cancels.answered(request, answer, ticket, has_ended) {
                tickets.push(ticket);
            }
        }
        for ticket in tickets {
            self.check_canceled(ticket);
        }
    }

    /// A request whose notices count, with or without a leaf that waits for it.
    fn request(&self, ticket: Ticket) -> Option<&Progress> {
        let without_leaf = || self.without_leaf.iter().find(|(of, _)| *of == ticket);
        self.waiting
            .get(&ticket)
            .or_else(|| without_leaf().map(|(_, progress)| progress))
    }

    fn check_canceled(&mut self, ticket: Ticket) {
        let Some(progress) = self.request(ticket) else {
            return;
        };
        if progress.cancels.are_by_another()
            && !self.settings.canceled_is_success
            && let Some((leaf, id)) = &progress.ends_navigation
        {
            self.canceled = Some(LeafFailure {
                leaf: Arc::clone(leaf),
                id: Arc::clone(id),
                code: 0,
                code_name: None,
                words: progress.cancels.words().to_owned(),
            });
        }
    }
}

/// The requests whose late notices count.
fn requests_in<'a>(
    waiting: &'a mut FxHashMap<Ticket, Progress>,
    without_leaf: &'a mut VecDeque<(Ticket, Progress)>,
) -> impl Iterator<Item = (Ticket, &'a mut Progress)> {
    let waiting = waiting.iter_mut().map(|(ticket, progress)| (*ticket, progress));
    waiting.chain(
        without_leaf
            .iter_mut()
            .map(|(ticket, progress)| (*ticket, progress)),
    )
}

/// The maximum number of requests without a leaf whose late notices count.
const MAX_WITHOUT_LEAF: usize = 64;

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::bt::builder::{NodeBuilder, forest, leaf, parallel, reactive_fallback, sequence, tree};
    use crate::bt::{HaltOrder, NodeStatus, Registry, Tree, compile};
    use crate::bt::{Resource, Time};
    use crate::goal::GoalId;
    use crate::job::{self, BoxFuture};
    use crate::msg::action::{BackUp, Spin, SpinResult};
    use crate::msg::{Stamp, TransformStamped};
    use crate::nav::Settings;
    use crate::nav::link::{
        EndpointKind, Event, Form, Link, LinkError, Opened, TopicId, TopicSpec, TransformError,
    };
    use crate::nav::testing::{Bench, Plan};

    /// The messages to the servers when `Spin` preempts `BackUp` under a reactive parent.
    fn preempt(halt_order: HaltOrder) -> Vec<String> {
        let settings = Settings {
            halt_order,
            ..Settings::default()
        };
        let tree = r#"<ReactiveFallback>
                        <Sequence><ScriptCondition code="go"/><Spin spin_dist="1.0"/></Sequence>
                        <BackUp backup_dist="1.0" backup_speed="0.1"/>
                      </ReactiveFallback>"#;
        let mut bench = Bench::with(tree, &crate::nav::registry(), settings);
        bench.action::<Spin>("spin", |_| Plan::endless());
        bench.action::<BackUp>("backup", |_| Plan::endless());
        bench.set("go", false);
        bench.letters(3);
        bench.set("go", true);
        bench.letters(3);
        assert_eq!((bench.active("backup"), bench.active("spin")), (0, 1));
        bench.order()
    }

    #[test]
    fn g2_the_preempted_goal_is_cancelled_before_the_new_one_is_sent() {
        let order = preempt(HaltOrder::BeforeStarts);
        assert_eq!(order, ["goal to backup", "cancel to backup", "goal to spin"]);
    }

    /// The messages from the tick thread, in order, the notices for its next tick, and the number of commands of each
    /// batch.
    #[derive(Clone, Default)]
    struct Order(
        Arc<Mutex<Vec<&'static str>>>,
        Arc<Mutex<Vec<Event>>>,
        Arc<Mutex<Vec<usize>>>,
    );

    impl Order {
        fn note(&self, what: &'static str) {
            self.0.lock().unwrap().push(what);
        }

        fn notify(&self, notice: Notice<Payload>) {
            self.1.lock().unwrap().push(Event::Notice(notice));
        }

        /// The end of a request without updates.
        fn finish(&self, ticket: Ticket, outcome: Outcome<Payload>) {
            self.notify(Notice::Finished {
                ticket,
                updates: 0,
                outcome,
            });
        }
    }

    impl Link for Order {
        fn open(&mut self, _: EndpointKind, _: &str, _: &str, _: Form) -> Result<ServerId, LinkError> {
            Ok(ServerId(0))
        }

        fn hear(&mut self, _: ServerId) {}

        fn subscribe(&mut self, _: &TopicSpec) -> Result<TopicId, LinkError> {
            Ok(TopicId(0))
        }

        fn advertise(&mut self, _: &TopicSpec) -> Result<TopicId, LinkError> {
            Ok(TopicId(0))
        }

        fn publish(&mut self, _: TopicId, _: Payload) {
            self.note("message");
        }

        fn submit(&mut self, commands: &mut Vec<Command<Payload>>) {
            self.2.lock().unwrap().push(commands.len());
            for command in commands.drain(..) {
                self.note(match command {
                    Command::Start { .. } => "goal",
                    Command::Halt { .. } => "cancel",
                    Command::CancelServer { .. } => "cancel of all",
                    _ => "other",
                });
            }
        }

        fn close_unused(&mut self, _: &Opened) {
            self.note("close");
        }

        fn hand_over(&mut self) {
            self.note("hand-over");
        }

        fn is_settled(&self, _: Ticket) -> bool {
            true
        }

        fn unsettled(&self, _: Ticket) -> Vec<String> {
            Vec::new()
        }

        fn receive(&mut self, into: &mut Vec<Event>) {
            into.append(&mut self.1.lock().unwrap());
        }

        fn transform(&self, _: &str, _: &str, _: Option<Stamp>) -> Result<TransformStamped, TransformError> {
            Err(TransformError::UnknownFrame("map".to_owned()))
        }

        fn stamp(&self, _: Time) -> Stamp {
            Stamp::ZERO
        }

        fn parameter(&self, _: &str) -> Option<String> {
            None
        }
    }

    /// What leaves when these leaves preempt `Spin`, in order. The tick in which they do returns `status`.
    fn sent_by(
        order: &Order,
        registry: &Registry,
        leaves: impl IntoIterator<Item = NodeBuilder>,
        status: NodeStatus,
    ) -> Vec<&'static str> {
        let go = leaf("ScriptCondition").port("code", "go");
        let root = reactive_fallback([
            sequence([go].into_iter().chain(leaves)),
            leaf("Spin").port("spin_dist", "1.0"),
        ]);
        let compiled = compile(&forest([tree("Main", root)]), "Main", registry).unwrap();
        let mut run = Tree::new(compiled.def);
        run.insert_resource(World::new(Box::new(order.clone()), Settings::default()));
        run.attach(Time::ZERO).unwrap();
        run.set("go", false).unwrap();
        assert_eq!(run.tick(Time::ZERO), Ok(NodeStatus::Running));
        run.set("go", true).unwrap();
        assert_eq!(run.tick(Time::ZERO), Ok(status));
        order.0.lock().unwrap().clone()
    }

    #[test]
    fn g2_the_cancel_of_a_preempted_goal_is_sent_before_a_job_is_started() {
        let order = Order::default();
        let mut registry = crate::nav::registry();
        let executor = {
            let order = order.clone();
            move |future: BoxFuture| {
                order.note("job");
                drop(future);
            }
        };
        job::register_function(&mut registry, "Urgent", executor, |_| std::future::pending()).unwrap();
        let sent = sent_by(&order, &registry, [leaf("Urgent")], NodeStatus::Running);
        assert_eq!(sent, ["goal", "cancel", "hand-over", "job"]);
    }

    #[test]
    fn g2_after_the_cancel_of_a_preempted_goal_messages_and_goals_leave_in_the_order_of_their_leaves() {
        let publish = || {
            leaf("RosPublish")
                .port("topic_name", "speed_limit")
                .port("message_type", "nav2_msgs/msg/SpeedLimit")
        };
        let back_up = leaf("BackUp")
            .port("backup_dist", "1.0")
            .port("backup_speed", "0.1");
        let sent = sent_by(
            &Order::default(),
            &crate::nav::registry(),
            [publish(), parallel([back_up, publish()])],
            NodeStatus::Running,
        );
        assert_eq!(sent, ["goal", "cancel", "message", "goal", "message"]);
    }

    #[test]
    fn the_old_order_sends_the_new_goal_first() {
        let order = preempt(HaltOrder::AsTicked);
        assert_eq!(order, ["goal to backup", "goal to spin", "cancel to backup"]);
    }

    /// Sends a goal on server 0 whose cancel by another client ends the navigation.
    fn start(world: &mut World) -> Ticket {
        let leaf = Arc::from("leaf");
        let goal = world.start_goal(ServerId(0), &leaf, Payload::new(()), GoalOptions::default());
        world.end_navigation_on_cancel(goal, &leaf, &leaf);
        world.end_tick(Time::ZERO);
        goal
    }

    /// Sends the request of a Cancel node to server 0.
    fn request_cancel(world: &mut World) -> Ticket {
        let request = world.cancel_server(ServerId(0), &Arc::from("leaf"), GoalOptions::default());
        world.end_tick(Time::ZERO);
        request
    }

    /// The server may answer before the next batch.
    #[test]
    fn g3_a_goal_that_a_cancel_node_stops_leaves_in_one_batch_with_its_request() {
        let released = ["cancel of all", "goal", "hand-over"];
        for (is_released, order) in [(true, &released[..]), (false, &released[..2])] {
            let link = Order::default();
            let mut world = World::new(Box::new(link.clone()), Settings::default());
            let goals = [(); 2].map(|()| {
                let leaf = Arc::from("leaf");
                world.start_goal(ServerId(0), &leaf, Payload::new(()), GoalOptions::default())
            });
            world.set_requested_earlier(goals[1]);
            world.cancel_server(ServerId(0), &Arc::from("leaf"), GoalOptions::default());
            if is_released {
                // A node that may block comes next.
                world.release_halts();
                assert_eq!(*link.0.lock().unwrap(), released);
            }
            world.end_tick(Time::ZERO);
            assert_eq!(*link.0.lock().unwrap(), [order, &["goal"]].concat());
            assert_eq!(*link.2.lock().unwrap(), [2, 1]);
        }
    }

    /// A message that a leaf publishes in its halt ends a batch.
    #[test]
    fn g3_a_goal_that_two_cancel_nodes_stop_leaves_in_one_batch_with_the_first_request() {
        let link = Order::default();
        let mut world = World::new(Box::new(link.clone()), Settings::default());
        let (leaf, server) = (Arc::from("leaf"), ServerId(0));
        let goal = world.start_goal(server, &leaf, Payload::new(()), GoalOptions::default());
        world.set_requested_earlier(goal);
        world.cancel_server(server, &leaf, GoalOptions::default());
        world.begin_halt();
        world.publish(TopicId(0), Payload::new(()));
        world.end_halt();
        world.cancel_server(server, &leaf, GoalOptions::default());
        world.end_tick(Time::ZERO);
        let sent = ["cancel of all", "goal", "message", "cancel of all"];
        assert_eq!(*link.0.lock().unwrap(), sent);
        assert_eq!(*link.2.lock().unwrap(), [2, 1]);
    }

    /// A goal that its server shows canceling before its acceptance has arrived, and the request of a Cancel node that
    /// may be halted before its answer. Returns the words of the failure that ends the navigation after the request has
    /// ended with an outcome.
    fn canceled_before_its_acceptance(
        is_halted: bool,
        outcome_for: impl Fn(Ticket) -> Outcome<Payload>,
    ) -> Option<String> {
        let link = Order::default();
        let mut world = World::new(Box::new(link.clone()), Settings::default());
        let goal = start(&mut world);
        let request = request_cancel(&mut world);
        if is_halted {
            world.halt(request, HaltReason::Preempted);
        }
        link.notify(Notice::Accepted {
            ticket: goal,
            goal: GoalId::ZERO,
        });
        link.notify(Notice::Canceling { ticket: goal });
        world.receive(Time::ZERO);
        assert!(
            world.take_canceled().is_none(),
            "the request may have cancelled it"
        );
        link.finish(request, outcome_for(goal));
        world.receive(Time::ZERO);
        world.take_canceled().map(|failure| failure.words)
    }

    #[test]
    fn g3_the_answer_to_a_cancel_node_tells_whether_it_or_another_client_cancelled_a_goal() {
        let another = Some("another client cancelled the goal".to_owned());
        for is_halted in [false, true] {
            let end =
                |outcome: fn(Ticket) -> Outcome<Payload>| canceled_before_its_acceptance(is_halted, outcome);
            let listed = |goal| Outcome::CancelAnswered(vec![None, Some(goal)]);
            assert_eq!(end(listed), None);
            assert_eq!(end(|_| Outcome::CancelAnswered(Vec::new())), another);
            let of_an_old_goal = |_| Outcome::CancelAnswered(vec![None]);
            assert_eq!(end(of_an_old_goal), another);
            assert_eq!(end(|_| Outcome::SendFailed), another);
            let unknown = end(|_| Outcome::ResponseTimeout).unwrap_or_default();
            assert!(unknown.contains("or a Cancel node"), "{unknown}");
        }
    }

    #[test]
    fn a_goal_after_a_cancel_node_without_an_answer_may_be_cancelled_by_it() {
        for is_halted in [false, true] {
            let link = Order::default();
            let mut world = World::new(Box::new(link.clone()), Settings::default());
            let (leaf, server) = (Arc::from("leaf"), ServerId(0));
            let request = world.cancel_server(server, &leaf, GoalOptions::default());
            world.end_tick(Time::ZERO);
            if is_halted {
                // After a halt of all leaves from outside, no answer comes.
                world.halt(request, HaltReason::GoalCanceled);
                world.begin_session(Time::ZERO);
            } else {
                link.finish(request, Outcome::ResponseTimeout);
                world.receive(Time::ZERO);
            }
            for (seconds, words) in [(1, "or a Cancel node"), (3_600, "another client cancelled")] {
                let now = Time::ZERO + std::time::Duration::from_secs(seconds);
                world.receive(now);
                let goal = world.start_goal(server, &leaf, Payload::new(()), GoalOptions::default());
                world.end_navigation_on_cancel(goal, &leaf, &leaf);
                world.end_tick(now);
                link.notify(Notice::Canceling { ticket: goal });
                world.receive(now);
                let failure = world.take_canceled().unwrap();
                assert!(failure.words.contains(words), "{}", failure.words);
                world.halt(goal, HaltReason::GoalCanceled);
            }
        }
    }

    #[test]
    fn g3_a_cancel_node_after_the_cancel_of_another_client_hides_nothing() {
        let link = Order::default();
        let mut world = World::new(Box::new(link.clone()), Settings::default());
        let goal = start(&mut world);
        let request = request_cancel(&mut world);
        link.notify(Notice::Canceling { ticket: goal });
        world.receive(Time::ZERO);
        assert!(world.take_canceled().is_none());
        request_cancel(&mut world);
        link.finish(request, Outcome::CancelAnswered(Vec::new()));
        world.receive(Time::ZERO);
        assert!(world.take_canceled().is_some());
    }

    #[test]
    fn g3_a_cancel_of_another_client_counts_after_the_leaf_has_got_its_end() {
        for outcome in [
            Outcome::ResultTimeout,
            Outcome::Rejected,
            Outcome::Succeeded(Payload::new(())),
        ] {
            let link = Order::default();
            let mut world = World::new(Box::new(link.clone()), Settings::default());
            let goal = start(&mut world);
            link.finish(goal, outcome);
            world.receive(Time::ZERO);
            assert!(world.finish(goal).is_some());
            assert!(world.take_canceled().is_none() && world.is_settled());
            link.notify(Notice::Canceling { ticket: goal });
            world.receive(Time::ZERO);
            assert!(world.take_canceled().is_some());
        }
    }

    #[test]
    fn a_goal_that_waits_for_a_cancel_node_without_an_answer_may_be_cancelled_by_it() {
        for is_halted in [false, true] {
            let link = Order::default();
            let mut world = World::new(Box::new(link.clone()), Settings::default());
            let request = request_cancel(&mut world);
            let goal = start(&mut world);
            if is_halted {
                world.halt(goal, HaltReason::Preempted);
            }
            link.finish(request, Outcome::ResponseTimeout);
            link.notify(Notice::Canceling { ticket: goal });
            world.receive(Time::ZERO);
            let failure = world.take_canceled().unwrap();
            assert!(failure.words.contains("or a Cancel node"), "{}", failure.words);
        }
    }

    #[test]
    fn what_a_leaf_released_is_closed_after_the_messages_of_the_tick() {
        let link = Order::default();
        let mut world = World::new(Box::new(link.clone()), Settings::default());
        let topic = world.advertise(&TopicSpec::of_trigger("a")).unwrap();
        world.publish(topic, Payload::new(()));
        world.release_topic(topic);
        world.end_tick(Time::ZERO);
        assert_eq!(*link.0.lock().unwrap(), ["message", "hand-over", "close"]);
    }

    #[test]
    fn the_request_of_a_halted_cancel_node_is_forgotten_with_its_session() {
        let mut world = World::new(Box::new(Order::default()), Settings::default());
        let leaf = Arc::from("leaf");
        let request = world.cancel_server(ServerId(0), &leaf, GoalOptions::default());
        world.end_tick(Time::ZERO);
        world.halt(request, HaltReason::GoalCanceled);
        assert!(world.waiting.contains_key(&request));
        // After a halt of all leaves from outside, no answer comes.
        world.begin_session(Time::ZERO);
        assert!(world.waiting.is_empty());
    }

    #[test]
    fn g3_a_leaf_does_not_end_before_it_is_known_who_cancelled_its_goal() {
        let another = "another client cancelled the goal";
        let end = |is_halted: bool, outcome: Outcome<Payload>| {
            let link = Order::default();
            let root = leaf("Spin").port("spin_dist", "1.0");
            let compiled = compile(&forest([tree("Main", root)]), "Main", &crate::nav::registry()).unwrap();
            let mut run = Tree::new(compiled.def);
            run.insert_resource(World::new(Box::new(link.clone()), Settings::default()));
            run.attach(Time::ZERO).unwrap();
            assert_eq!(run.tick(Time::ZERO), Ok(NodeStatus::Running));
            let world = run.resource::<World>().unwrap();
            let (goal, path) = (*world.waiting.keys().next().unwrap(), Arc::from("cancel"));
            let request = world.cancel_server(ServerId(0), &path, GoalOptions::default());
            world.end_tick(Time::ZERO);
            link.notify(Notice::Canceling { ticket: goal });
            link.finish(goal, Outcome::Canceled(Payload::new(SpinResult::default())));
            world.receive(Time::ZERO);
            assert!(world.take_canceled().is_none());
            if is_halted {
                run.halt(HaltReason::Preempted, Time::ZERO);
            } else {
                assert_eq!(run.tick(Time::ZERO), Ok(NodeStatus::Running));
            }
            link.finish(request, outcome);
            let world = run.resource::<World>().unwrap();
            world.receive(Time::ZERO);
            let canceled = world.take_canceled().map(|failure| failure.words);
            if !is_halted {
                assert_eq!(run.tick(Time::ZERO), Ok(NodeStatus::Failure));
            }
            canceled
        };
        for is_halted in [false, true] {
            let nothing = Outcome::CancelAnswered(Vec::new());
            assert_eq!(end(is_halted, nothing).as_deref(), Some(another));
            let unknown = end(is_halted, Outcome::ResponseTimeout).unwrap_or_default();
            assert!(unknown.contains("or a Cancel node"), "{unknown}");
            assert_eq!(end(is_halted, Outcome::CancelAnswered(vec![None])), None);
        }
    }
}
