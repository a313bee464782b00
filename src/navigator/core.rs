//! The navigator core: takes goals, ticks trees, returns results. It does not use ROS: the tick thread drives it, and
//! tests drive it with a virtual clock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::global_frame::{Expressed, Unexpressed};
use super::goal::{ClientGoal, NavigationError, NavigationResult, Request};
use super::goal_log::{self, REPLACED};
use super::goal_queue::{GoalQueue, Place, Readiness, SHUT};
use super::log::ChangeLog;
use super::options::Options;
use super::session::Session;
use super::{Heartbeat, NavigatorKind, Robot, Snapshot, global_frame};
use crate::bt::{HaltReason, NodeStatus, Resource, Resources, Time, Tree, TreeDef, instance_seed};
use crate::goal::{GoalId, ServerId};
use crate::job::JobRegistry;
use crate::msg::BehaviorTreeLog;
use crate::nav::{Form, LeafFailure, LinkError, Payload, TopicId, TopicSpec, World};

/// The state of the navigator.
enum NavigationState {
    Idle,
    /// A tree is ticked for a goal.
    Running(Session),
    /// A tree has ended or was halted. Goals or jobs that it started may still be stopping.
    Stopping {
        session: Session,
        then: Then,
        /// The goal that starts when the session has stopped.
        next: Option<Request>,
        /// Goals that ended while they waited for this session, with their results. Their clients get the results
        /// together with the result of the session, because the robot may move until then.
        also: Vec<(Request, NavigationResult)>,
        deadline: Time,
    },
}

/// The next step of a session after all its goals and jobs have stopped.
enum Then {
    /// Send this result to the client.
    Tell(NavigationResult),
    /// Start the goal again with this tree.
    Resume(Arc<TreeDef>),
}

/// A goal does not start again with another tree after another client has stopped the robot.
fn then_unless_canceled(then: Then, canceled: Option<LeafFailure>) -> Then {
    match (then, canceled) {
        (Then::Resume(_), Some(failure)) => Then::Tell(NavigationResult::aborted(0, &failure.to_string())),
        (then, _) => then,
    }
}

/// Runs navigation goals, one at a time, for both navigate actions.
///
/// No call blocks. A goal is started only when everything it needs is available. Until then, the current goal
/// continues; if the new goal never becomes ready, the current goal continues to its end (guarantee G7). A preempted
/// goal is halted first. The next tree starts when the goals and jobs of the old tree have stopped, or after a
/// deadline.
pub struct Navigator {
    options: Options,
    state: NavigationState,
    /// The tree of each navigator. It is kept between goals with its blackboard and the state of its nodes, as in Nav2,
    /// except with [`Options::always_reload`].
    trees: [Option<Tree>; 2],
    /// The servers that each tree has opened.
    servers: [Vec<ServerId>; 2],
    /// The navigator of the current or last tree.
    current: NavigatorKind,
    /// The world, while no tree holds it.
    resources: Resources,
    /// The jobs of all trees.
    jobs: JobRegistry,
    /// The goals that have not started, but for the next one of a session that is stopping.
    queue: GoalQueue,
    log: ChangeLog,
    /// The result of the last navigation.
    last_end: Option<(NavigatorKind, NavigationResult)>,
    log_topic: Option<TopicId>,
    heartbeat: Option<Heartbeat>,
    /// Number of trees made so far. Each tree gets its own random seed.
    made: u64,
    /// The time for deadlines of servers and clients; see [`Navigator::set_steady`].
    steady: Time,
}

impl Navigator {
    /// Creates a navigator with a world.
    pub fn new(world: World, options: Options) -> Self {
        let jobs = JobRegistry::with_cancel_timeout(world.settings.cancel_timeout);
        let mut resources = Resources::default();
        resources.insert(world);
        resources.insert(jobs.clone());
        let mut navigator = Self {
            options,
            state: NavigationState::Idle,
            trees: [None, None],
            servers: [Vec::new(), Vec::new()],
            current: NavigatorKind::ToPose,
            resources,
            jobs,
            queue: GoalQueue::default(),
            log: ChangeLog::default(),
            last_end: None,
            log_topic: None,
            heartbeat: None,
            made: 0,
            steady: Time::ZERO,
        };
        navigator.log_topic = navigator.advertise_log().ok();
        // For the estimated remaining time in the feedback. Trees that read odometry share it.
        if let Some(Err(error)) = navigator.world().map(World::open_odometry) {
            tracing::error!("odom_topic: {error}: feedback has no estimated time remaining");
        }
        navigator
    }

    /// Makes trees report their current node, and registers the jobs of leaves, for a [`Watchdog`](super::Watchdog).
    pub fn be_watched(&mut self, heartbeat: Heartbeat, jobs: JobRegistry) {
        self.heartbeat = Some(heartbeat);
        self.resources.insert(jobs.clone());
        self.jobs = jobs;
    }

    /// Takes goals from a queue that other threads fill.
    pub fn share(&mut self, queue: GoalQueue) {
        self.queue = queue;
    }

    /// Sets the time of the clock that a simulation does not stop. Called before any other call with the time of the
    /// trees. Deadlines for stopping and for waiting goals use this time. So each client gets an answer in a paused
    /// simulation, and a fast simulation does not shorten the time of a server.
    pub fn set_steady(&mut self, steady: Time) {
        self.steady = steady;
    }

    /// Makes the tree for future goals, which opens its clients and topics. Goals of an earlier run on those servers
    /// are then found before the first goal (guarantee G3).
    pub fn prepare(&mut self, kind: NavigatorKind, def: &Arc<TreeDef>, now: Time) {
        if self.trees[kind.index()].is_some() {
            return;
        }
        match self.make_tree(kind, def, now) {
            Ok(made) => self.keep(kind, made),
            // Each goal that uses this tree reports the error again.
            Err(reason) => tracing::error!("{reason}"),
        }
    }

    fn keep(&mut self, kind: NavigatorKind, (tree, servers): (Tree, Vec<ServerId>)) {
        drop_tree(self.trees[kind.index()].replace(tree));
        self.servers[kind.index()] = servers;
    }

    /// A snapshot of the state, for displays.
    pub fn snapshot(&self) -> Snapshot {
        let index = self.current.index();
        Snapshot {
            kind: self.current,
            is_running: self.is_running(),
            is_stopping: self.is_stopping(),
            tree: self.trees[index]
                .as_ref()
                .map(|tree| Arc::clone(tree.definition())),
            servers: self.servers[index].clone(),
            last_end: self.last_end.clone(),
        }
    }

    fn advertise_log(&mut self) -> Result<TopicId, LinkError> {
        self.world().map_or(
            Err(LinkError::Refused(
                "the navigator has no resources yet".to_owned(),
            )),
            |world| {
                world.advertise(&TopicSpec {
                    name: "behavior_tree_log".into(),
                    type_name: BehaviorTreeLog::ROS_TYPE.into(),
                    depth: 10,
                    reliable: true,
                    transient_local: false,
                    form: Form::Plain,
                })
            },
        )
    }

    fn world(&mut self) -> Option<&mut World> {
        match &self.state {
            NavigationState::Running(session) => self.trees[session.kind().index()].as_mut()?.resource(),
            NavigationState::Idle | NavigationState::Stopping { .. } => self.resources.get(),
        }
    }

    /// Returns whether there is no tree to tick, no goal to wait for and no client to answer.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, NavigationState::Idle) && self.queue.is_empty()
    }

    /// Returns whether a goal is active or waits to be started.
    pub fn has_goals(&self) -> bool {
        !self.queue.is_empty()
            || match &self.state {
                NavigationState::Idle => false,
                NavigationState::Running(_) => true,
                NavigationState::Stopping { then, next, .. } => {
                    matches!(then, Then::Resume(_)) || next.is_some()
                }
            }
    }

    /// Returns whether a tree has ended and its goals or jobs have not stopped yet.
    pub fn is_stopping(&self) -> bool {
        matches!(self.state, NavigationState::Stopping { .. })
    }

    /// Returns whether a tree is running.
    pub fn is_running(&self) -> bool {
        matches!(self.state, NavigationState::Running(_))
    }

    /// The current or last tree of a navigator.
    pub fn tree(&self, kind: NavigatorKind) -> Option<&Tree> {
        self.trees[kind.index()].as_ref()
    }

    /// Takes a goal that was accepted.
    pub fn goal(&mut self, request: Request, now: Time) {
        let taken = match self.queue.admit() {
            Some(epoch) => self.queue.push(epoch, request),
            None => Err(request),
        };
        if let Err(request) = taken {
            request.refuse(NavigationError::None, SHUT);
        }
        self.settle_queue(now);
    }

    /// Cancels a goal. Its client gets the result when the goals and jobs of its tree have stopped.
    pub fn cancel(&mut self, goal: GoalId, now: Time) {
        if let Some(request) = self.queue.remove(goal) {
            request.cancel();
        }
        if let NavigationState::Stopping { next, also, .. } = &mut self.state
            && let Some(request) = next.take_if(|next| next.client.id() == goal)
        {
            also.push((request, NavigationResult::not_started()));
        }
        match &mut self.state {
            NavigationState::Running(session) if session.id() == goal => {
                self.stop(HaltReason::GoalCanceled, NavigationResult::canceled(""), now);
            }
            NavigationState::Stopping { session, then, .. } if session.id() == goal => {
                then.tell(NavigationResult::canceled(""));
            }
            _ => {}
        }
    }

    /// Ends all goals, because the node is deactivated or the process ends (guarantee G8).
    pub fn stop_all(&mut self, reason: HaltReason, now: Time) {
        self.stop_until(Place::MAX, reason, now);
    }

    /// Like [`Navigator::stop_all`], but goals that came to the queue after `newest` stay: the place that
    /// [`GoalQueue::halt_requested`] has returned.
    pub fn stop_until(&mut self, newest: Place, reason: HaltReason, now: Time) {
        self.queue.halt_handled();
        let report = NavigationResult::aborted(
            0,
            &match reason {
                HaltReason::Deactivated => DEACTIVATED.to_owned(),
                reason => format!("the navigator was stopped: {reason}"),
            },
        );
        self.end_all(newest, reason, |_| report.clone(), now);
    }

    /// Aborts all goals because of an error of this node.
    pub fn abort_all(&mut self, error: NavigationError, message: &str, now: Time) {
        let report = |kind| NavigationResult::aborted(error.code(kind), message);
        self.end_all(Place::MAX, HaltReason::TimedOut, report, now);
    }

    fn end_all(
        &mut self,
        newest: Place,
        reason: HaltReason,
        report: impl Fn(NavigatorKind) -> NavigationResult,
        now: Time,
    ) {
        for request in self.queue.drain(newest) {
            goal_log::finish(request.kind, request.client, report(request.kind));
        }
        match &mut self.state {
            NavigationState::Idle => {}
            NavigationState::Running(session) => {
                let report = report(session.kind());
                self.stop(reason, report, now);
            }
            NavigationState::Stopping {
                session,
                then,
                next,
                also,
                ..
            } => {
                then.tell(report(session.kind()));
                also.extend(next.take().map(|request| {
                    let report = report(request.kind);
                    (request, report)
                }));
            }
        }
    }

    /// Ends the run of the current tree. The watchdog has cancelled the goals of all its leaves, because the client of
    /// `goal` requested a cancel. The leaves would wait for them without end (guarantee G6).
    pub fn leaves_were_halted(&mut self, goal: GoalId, now: Time) {
        let NavigationState::Running(session) = &self.state else {
            return;
        };
        let report = if session.id() == goal {
            NavigationResult::canceled("")
        } else {
            NavigationResult::aborted(
                0,
                "the watchdog stopped its leaves, because the goal before it was cancelled",
            )
        };
        self.stop(HaltReason::GoalCanceled, report, now);
    }

    /// Ends the wait for a stopping session: goals and jobs that have not stopped by now are reported.
    pub fn wait_no_longer(&mut self) {
        if let NavigationState::Stopping { deadline, .. } = &mut self.state {
            *deadline = self.steady.min(*deadline);
        }
    }

    /// Halts the current tree and waits for its goals and jobs without blocking.
    fn stop(&mut self, reason: HaltReason, report: NavigationResult, now: Time) {
        self.stop_tree(reason, Then::Tell(report), now);
        self.poll(now);
    }

    /// Halts the current tree: its session is stopping.
    fn stop_tree(&mut self, reason: HaltReason, then: Then, now: Time) {
        match std::mem::replace(&mut self.state, NavigationState::Idle) {
            NavigationState::Running(session) => {
                // A leaf may block the thread while it is halted.
                let goal = session.id();
                if let Some(heartbeat) = &self.heartbeat {
                    heartbeat.cancel_requested(goal);
                }
                self.halt_tree(&session, reason, now);
                if let Some(heartbeat) = &self.heartbeat {
                    heartbeat.cancel_processed(goal);
                    heartbeat.clear_goal();
                }
                let canceled = self.resources.get::<World>().and_then(World::take_canceled);
                let then = then_unless_canceled(then, canceled);
                let deadline = self.steady + self.options.stop_timeout;
                self.state = NavigationState::Stopping {
                    session,
                    then,
                    next: None,
                    also: Vec::new(),
                    deadline,
                };
            }
            other => self.state = other,
        }
    }

    /// Replaces the tree of a navigator. If the old tree has an active goal, the new tree runs this goal from its root
    /// when the goals and jobs of the old tree have stopped.
    ///
    /// # Errors
    /// The reason why the new tree cannot be made. Then nothing has changed (guarantee G7).
    pub fn swap(&mut self, kind: NavigatorKind, def: &Arc<TreeDef>, now: Time) -> Result<(), String> {
        let index = kind.index();
        let same = |tree: &Tree| Arc::ptr_eq(tree.definition(), def);
        if self.trees[index].as_ref().is_some_and(same) {
            return Ok(());
        }
        let new = self.make_tree(kind, def, now)?;
        let old = self.trees[index]
            .as_ref()
            .map(|tree| Arc::clone(tree.definition()));
        match &mut self.state {
            NavigationState::Running(session) if session.kind() == kind => {
                self.stop_tree(HaltReason::TreeSwapped, Then::Resume(Arc::clone(def)), now);
            }
            NavigationState::Stopping {
                session,
                then: Then::Resume(with),
                ..
            } if session.kind() == kind => *with = Arc::clone(def),
            _ => {}
        }
        // A goal that waits for the old tree gets the new one. A goal with a tree of its own keeps it.
        if let Some(old) = &old {
            self.queue.swap(kind, old, def);
            if let NavigationState::Stopping {
                next: Some(request), ..
            } = &mut self.state
                && request.kind == kind
            {
                request.swap(old, def);
            }
        }
        self.keep(kind, new);
        Ok(())
    }

    /// Makes a tree, opens its clients and topics, and returns it with its servers.
    fn make_tree(
        &mut self,
        kind: NavigatorKind,
        def: &Arc<TreeDef>,
        now: Time,
    ) -> Result<(Tree, Vec<ServerId>), String> {
        let mut tree = Tree::new(Arc::clone(def));
        tree.set_seed(instance_seed(self.options.random_seed, self.made));
        self.made = self.made.wrapping_add(1);
        tree.set_observer(Some(self.log.observer()));
        tree.track_provenance([self.options.seeded_key(kind)]);
        if let Some(heartbeat) = &self.heartbeat {
            heartbeat.follow(tree.current_node());
        }
        // The running tree does not need the world between two ticks.
        let lender = match &self.state {
            NavigationState::Running(session) => self.trees[session.kind().index()].as_mut(),
            NavigationState::Idle | NavigationState::Stopping { .. } => None,
        };
        let resources = match lender {
            Some(lender) => lender.take_resources(),
            None => std::mem::take(&mut self.resources),
        };
        tree.put_resources(resources);
        if let Some(order) = tree.resource::<World>().map(|world| world.settings.halt_order) {
            tree.set_halt_order(order);
        }
        let attached = tree.attach(now).map_err(|error| error.to_string());
        for fault in tree
            .resource::<World>()
            .map(World::take_faults)
            .unwrap_or_default()
        {
            tracing::error!("{}: {fault}", fault.leaf);
        }
        let servers = tree
            .resource::<World>()
            .map(World::take_opened)
            .unwrap_or_default();
        let resources = tree.take_resources();
        match &self.state {
            NavigationState::Running(session) => {
                if let Some(lender) = self.trees[session.kind().index()].as_mut() {
                    lender.put_resources(resources);
                    if let Some(heartbeat) = &self.heartbeat {
                        heartbeat.follow(lender.current_node());
                    }
                }
            }
            NavigationState::Idle | NavigationState::Stopping { .. } => self.resources = resources,
        }
        match attached {
            Ok(()) => Ok((tree, servers)),
            Err(reason) => {
                drop_tree(Some(tree));
                Err(reason)
            }
        }
    }

    /// Halts the tree of a session and takes the world back from it.
    fn halt_tree(&mut self, session: &Session, reason: HaltReason, now: Time) {
        if let Some(tree) = &mut self.trees[session.kind().index()] {
            tree.halt(reason, now);
            let def = Arc::clone(tree.definition());
            let poisoned = tree.is_poisoned();
            self.resources = tree.take_resources();
            if poisoned {
                self.discard(session.kind(), reason, now);
            }
            self.publish_log(&def);
        }
    }

    /// Drops a tree in which a node panicked, because its nodes may be in an inconsistent state. The next goal gets a
    /// new tree. The GoalTracker stops all requests of the old one.
    fn discard(&mut self, kind: NavigatorKind, reason: HaltReason, now: Time) {
        if let Some(world) = self.resources.get::<World>() {
            world.halt_all(reason);
            world.end_tick(now);
        }
        drop_tree(self.trees[kind.index()].take());
    }

    /// Does all work besides the tick: goals that wait for a transform, and trees that are stopping. Called in each
    /// period while the navigator is not idle, and when a message has arrived.
    pub fn poll(&mut self, now: Time) {
        if !self.is_running() {
            self.resources.begin(now);
        }
        self.settle_queue(now);
        if let Some(next) = self.settle_session() {
            self.start(next, now);
        }
    }

    /// Ends a stopping session when all its goals and jobs have stopped, or at its deadline. Returns the next goal.
    fn settle_session(&mut self) -> Option<Request> {
        let NavigationState::Stopping { deadline, .. } = &self.state else {
            return None;
        };
        let overdue = self.steady >= *deadline;
        let settled = self.resources.get::<World>()?.is_settled() && self.jobs.is_settled();
        if !overdue && !settled {
            return None;
        }
        // The list may contain goals and jobs of an earlier session which are known to continue.
        let left = if self.options.stop_timeout.is_zero() {
            // Without a stop timeout, nothing is late.
            Vec::new()
        } else {
            [self.resources.get::<World>()?.unsettled(), self.jobs.give_up()].concat()
        };
        let (session, then, next, also) = match std::mem::replace(&mut self.state, NavigationState::Idle) {
            NavigationState::Stopping {
                session,
                then,
                next,
                also,
                ..
            } => (session, then, next, also),
            other => {
                self.state = other;
                return None;
            }
        };
        let canceled = self.resources.get::<World>().and_then(World::take_canceled);
        let next = match then_unless_canceled(then, canceled) {
            Then::Tell(report) => {
                let kind = session.kind();
                let report = report.with_left(kind, &left);
                self.last_end = Some((kind, report.clone()));
                goal_log::finish(kind, session.into_client(), report);
                next
            }
            Then::Resume(def) => Some(session.into_request(def)),
        };
        for (request, report) in also {
            let report = report.with_left(request.kind, &left);
            goal_log::finish(request.kind, request.client, report);
        }
        next
    }

    /// Starts the newest goal of the queue that is ready, if there is one.
    pub fn settle_queue(&mut self, now: Time) {
        if self.queue.is_empty() {
            return;
        }
        let current = self.current_or_next();
        let mut lookups = global_frame::LOOKUPS;
        let deadline = (self.steady + self.options.arrival_patience).max(self.options.discovered);
        let queue = self.queue.clone();
        let settled = queue.settle(self.steady, deadline, |request, expressed, is_first| {
            self.readiness(request, current.as_ref(), expressed, is_first, &mut lookups)
        });
        for (request, error, reason) in settled.refused {
            request.refuse(error, &reason);
        }
        // A command to a displaced goal, such as a pause, also applies to the goal that displaces it.
        let run_accepted = settled.displaced.iter().map(|request| request.run_accepted).min();
        for request in settled.displaced {
            goal_log::finish(
                request.kind,
                request.client,
                NavigationResult::aborted(0, REPLACED),
            );
        }
        if let Some(mut request) = settled.taken {
            request.run_accepted = request
                .run_accepted
                .min(run_accepted.unwrap_or(request.run_accepted));
            self.take_up(request, now);
        }
    }

    /// The navigation that runs, or that starts when the current session has stopped, with its tree.
    fn current_or_next(&self) -> Option<(NavigatorKind, Option<Arc<TreeDef>>)> {
        match &self.state {
            NavigationState::Idle => None,
            NavigationState::Running(session) => {
                let tree = self.trees[session.kind().index()].as_ref();
                Some((session.kind(), tree.map(Tree::definition).cloned()))
            }
            NavigationState::Stopping {
                session,
                then: Then::Resume(def),
                ..
            } => Some((session.kind(), Some(Arc::clone(def)))),
            NavigationState::Stopping { next, .. } => {
                let next = next.as_ref()?;
                Some((next.kind, next.tree.loaded().cloned()))
            }
        }
    }

    /// Returns whether a goal can start now, in place of the navigation that runs or is the next.
    fn readiness(
        &mut self,
        request: &mut Request,
        current: Option<&(NavigatorKind, Option<Arc<TreeDef>>)>,
        expressed: &mut Expressed,
        is_first: bool,
        lookups: &mut usize,
    ) -> Readiness {
        if let Some((kind, tree)) = current {
            if *kind != request.kind && !self.options.allow_navigator_preemption {
                let reason = "the other navigator has an active goal: cancel that goal first, or set \
                              allow_navigator_preemption";
                return Readiness::Hopeless(NavigationError::Unknown, reason.to_owned());
            }
            let is_same = match (tree, request.tree.loaded()) {
                (Some(tree), Some(wanted)) => Arc::ptr_eq(tree, wanted),
                _ => true,
            };
            if *kind == request.kind && !is_same && !self.options.allow_tree_preemption {
                return Readiness::Hopeless(NavigationError::Unknown, OTHER_TREE.to_owned());
            }
        }
        let Some(world) = self.world() else {
            return Readiness::NotYet("the navigator has no resources yet".to_owned());
        };
        if is_first && let Some(reason) = global_frame::unnamed(world, request) {
            return Readiness::Hopeless(NavigationError::TransformFailed, reason);
        }
        match global_frame::express(world, request, expressed, lookups) {
            Ok(()) => Readiness::Ready,
            Err(Unexpressed::Missing(reason)) => Readiness::NotYet(reason),
            Err(Unexpressed::Unfinished) => Readiness::Unfinished,
        }
    }

    /// Runs a goal: at once, in place of the current goal, or when the current goal has stopped.
    fn take_up(&mut self, mut request: Request, now: Time) {
        match &mut self.state {
            NavigationState::Idle => self.start(request, now),
            NavigationState::Running(session) => {
                let tree = self.trees[request.kind.index()].as_mut();
                let same = |tree: &Tree| matches!(request.tree.loaded(), Some(def) if Arc::ptr_eq(def, tree.definition()));
                match tree.filter(|tree| request.kind == session.kind() && same(tree)) {
                    Some(tree) => {
                        // As in Nav2: the tree is not halted, and its nodes read the new goal through their ports.
                        if let Some(world) = tree.resource::<World>() {
                            world.begin_navigation(request.accepted);
                            world.failures.forget();
                        }
                        let kind = request.kind;
                        let old = session.replace(request, now);
                        super::blackboard_io::goal(tree, &self.options, kind, session.poses());
                        tree.renew_sources();
                        let goal = session.id();
                        if let Some(heartbeat) = &self.heartbeat {
                            heartbeat.set_goal(goal);
                        }
                        goal_log::finish(kind, old, NavigationResult::aborted(0, REPLACED));
                        let robot = Robot::of(tree).pose;
                        let poses = &session.poses().0;
                        goal_log::began(kind, goal, robot.as_ref(), poses, tree.definition());
                    }
                    None => {
                        request.run_accepted = session.run_accepted();
                        let replaced = NavigationResult::aborted(0, REPLACED);
                        self.stop_tree(HaltReason::TreeSwapped, Then::Tell(replaced), now);
                        if let NavigationState::Stopping { next, .. } = &mut self.state {
                            *next = Some(request);
                        }
                        self.poll(now);
                    }
                }
            }
            NavigationState::Stopping {
                session, then, next, ..
            } => {
                if matches!(then, Then::Resume(_)) {
                    request.run_accepted = session.run_accepted();
                }
                then.tell(NavigationResult::aborted(0, REPLACED));
                if let Some(older) = next.take() {
                    request.run_accepted = older.run_accepted;
                    goal_log::finish(older.kind, older.client, NavigationResult::aborted(0, REPLACED));
                }
                *next = Some(request);
            }
        }
    }

    fn start(&mut self, request: Request, now: Time) {
        let Some(def) = request.tree.loaded().cloned() else {
            return;
        };
        let index = request.kind.index();
        let keeps = !self.options.always_reload
            && self.trees[index]
                .as_ref()
                .is_some_and(|tree| Arc::ptr_eq(tree.definition(), &def));
        if !keeps {
            match self.make_tree(request.kind, &def, now) {
                Ok(made) => self.keep(request.kind, made),
                Err(reason) => {
                    request.refuse(NavigationError::FailedToLoadBehaviorTree, &reason);
                    return;
                }
            }
        }
        let Some(tree) = &mut self.trees[index] else {
            return;
        };
        self.current = request.kind;
        if let Some(heartbeat) = &self.heartbeat {
            heartbeat.follow(tree.current_node());
            heartbeat.set_goal(request.client.id());
        }
        tree.put_resources(std::mem::take(&mut self.resources));
        if let Some(world) = tree.resource::<World>() {
            world.begin_session(request.run_accepted);
            world.begin_navigation(request.accepted);
        }
        let session = Session::new(request, now);
        super::blackboard_io::goal(tree, &self.options, session.kind(), session.poses());
        let robot = Robot::of(tree).pose;
        let poses = &session.poses().0;
        goal_log::began(session.kind(), session.id(), robot.as_ref(), poses, &def);
        self.state = NavigationState::Running(session);
    }

    /// Executes one tick. The schedule decides when.
    pub fn tick(&mut self, now: Time) {
        self.poll(now);
        self.hand_over();
        let NavigationState::Running(session) = &mut self.state else {
            return;
        };
        let kind = session.kind();
        let Some(tree) = &mut self.trees[kind.index()] else {
            return;
        };
        if let Some(world) = tree.resource::<World>() {
            world.receive(now);
            // Before the tick: the tree starts nothing.
            if let Some(failure) = world.take_canceled() {
                let report = NavigationResult::aborted(0, &failure.to_string());
                // The goals that would have replaced this one were accepted before the robot was stopped.
                for request in self.queue.drain_tree(kind, tree.definition()) {
                    goal_log::finish(request.kind, request.client, report.clone());
                }
                self.complete(HaltReason::GoalCanceled, report, now);
                return;
            }
        }
        let result = tree.tick(now);
        if let Some(world) = tree.resource::<World>() {
            for note in world.take_notes() {
                tracing::warn!("{}: {}", note.leaf, note.text);
            }
            // Servers with names that the tree computed at run time. The other servers were opened before.
            for server in world.take_opened() {
                let servers = &mut self.servers[kind.index()];
                if !servers.contains(&server) {
                    servers.push(server);
                }
            }
            for fault in world.take_faults() {
                tracing::error!("{}: {fault}", fault.leaf);
            }
        }
        let def = Arc::clone(tree.definition());
        match result {
            Ok(NodeStatus::Running | NodeStatus::Idle) => {
                if session.feedback_is_due(now, self.options.feedback_period) {
                    let robot = Robot::of(tree);
                    session.send_feedback(tree, &self.options, &robot, now);
                }
                self.publish_log(&def);
            }
            Ok(status @ (NodeStatus::Success | NodeStatus::Failure))
                if session.take_replacement() && !tree.is_current(status) =>
            {
                // As far as the tree can tell, this status belongs to the previous goal.
                tree.halt(HaltReason::ParentFinished, now);
                super::blackboard_io::goal(tree, &self.options, kind, session.poses());
                if let Some(world) = tree.resource::<World>() {
                    world.failures.forget();
                }
                self.publish_log(&def);
            }
            // A tree that is skipped as a whole has failed, as in Nav2. Another tick would skip it again and its client
            // would wait.
            Ok(status @ (NodeStatus::Success | NodeStatus::Failure | NodeStatus::Skipped)) => {
                let report = match status {
                    NodeStatus::Success => NavigationResult::succeeded(),
                    _ => match super::blackboard_io::error_of(tree, &self.options) {
                        (0, _) if status == NodeStatus::Skipped => NavigationResult::aborted(0, SKIPPED),
                        (code, message) => NavigationResult::aborted(code, &message),
                    },
                };
                self.complete(HaltReason::ParentFinished, report, now);
            }
            Err(error) => {
                tracing::error!("{error}");
                let code = NavigationError::Unknown.code(kind);
                let report = NavigationResult::aborted(code, &error.to_string());
                self.complete(HaltReason::TreeFailed, report, now);
            }
        }
    }

    /// Ends a session whose tree has ended. Its client gets the result at once, or when all remaining goals and jobs of
    /// the tree have stopped.
    fn complete(&mut self, reason: HaltReason, report: NavigationResult, now: Time) {
        self.stop_tree(reason, Then::Tell(report), now);
        if let NavigationState::Stopping { session, .. } = &self.state
            && let Some(tree) = &mut self.trees[session.kind().index()]
        {
            super::blackboard_io::clear_errors(tree, &self.options);
        }
        self.poll(now);
    }

    fn publish_log(&mut self, def: &TreeDef) {
        let Some(topic) = self.log_topic else { return };
        let idle_transitions = self.options.log_idle_transitions;
        let Some(world) = self.world() else { return };
        let stamp = world.stamp();
        if let Some(message) = self.log.take(def, stamp, idle_transitions)
            && let Some(world) = self.world()
        {
            world.publish(topic, Payload::new(message));
        }
    }

    /// Sends the queued commands of a tick or of any other call.
    pub fn hand_over(&mut self) {
        if let Some(world) = self.world() {
            world.hand_over();
        }
    }

    /// Maximum sleep of the tick thread when no tick is due. With a long tick period, a client still gets its result
    /// soon after everything has stopped.
    pub fn poll_period(&self) -> Duration {
        self.options.period.min(MOST_SELDOM)
    }

    /// The options of the navigator.
    pub fn options(&self) -> &Options {
        &self.options
    }
}

/// Drops a tree. A panic in the drop of a node does not end the tick thread.
fn drop_tree(tree: Option<Tree>) {
    if catch_unwind(AssertUnwindSafe(|| drop(tree))).is_err() {
        tracing::error!("a tree node panicked while its tree was dropped");
    }
}

impl Then {
    /// Sets the result for the client, unless it already has one: the goal is not started again.
    fn tell(&mut self, report: NavigationResult) {
        if matches!(self, Self::Resume(_)) {
            *self = Self::Tell(report);
        }
    }
}

/// Maximum time between two polls of a navigator that waits for something.
const MOST_SELDOM: Duration = Duration::from_millis(10);

/// Error message for a goal that is refused because of its tree.
const OTHER_TREE: &str =
    "the active goal has another tree: cancel that goal first, or set allow_tree_preemption";

/// Error message for a goal whose tree was skipped.
const SKIPPED: &str = "the tree returned SKIPPED: a precondition skips its root or all children of its root";

/// Error message for a goal that a lifecycle manager ended: by a pause, a reset, or when a server is gone.
const DEACTIVATED: &str = "the node was deactivated: activate it and send the goal again";

impl std::fmt::Debug for Navigator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match &self.state {
            NavigationState::Idle => "idle",
            NavigationState::Running(_) => "running",
            NavigationState::Stopping { .. } => "stopping",
        };
        f.debug_struct("Navigator")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}

/// Compile-time proof that the navigator can run on a separate thread.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<Navigator>();
    is_send::<Box<dyn ClientGoal>>();
};
