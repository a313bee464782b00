//! The navigator core: takes goals, ticks trees, returns results. It does not use ROS: the tick thread drives it, and
//! tests drive it with a virtual clock.

mod start;
mod stop;
mod ticks;
mod trees;

use std::sync::Arc;
use std::time::Duration;

use super::goal::{ClientGoal, NavigationId, NavigationResult, Request};
use super::goal_queue::GoalQueue;
use super::log::ChangeLog;
use super::options::Options;
use super::session::Session;
use super::{Heartbeat, NavigationRecorder, NavigatorKind, Snapshot};
use crate::bt::{Resource, Resources, Time, Tree, TreeDef};
use crate::job::JobRegistry;
use crate::msg::BehaviorTreeLog;
use crate::nav::{Form, LinkError, Note, Opened, TopicId, TopicSpec, World};

/// The state of the navigator.
enum NavigationState {
    Idle,
    /// A tree is ticked for a goal.
    Running(Session),
    /// A tree has ended or was halted. Goals or jobs that it started may still be stopping.
    Stopping {
        session: Session,
        /// The tree that was halted.
        tree: Option<Arc<TreeDef>>,
        /// The result for the client of the session.
        report: NavigationResult,
        /// The goal that starts when the session has stopped.
        next: Option<Request>,
        /// Goals that ended while they waited for this session, with their results. Their clients get the results
        /// together with the result of the session, because the robot may move until then.
        ended_goals: Vec<(Request, NavigationResult)>,
        /// The end of the wait. `None` until the turn of the thread that halted the tree is over, because a leaf may
        /// block that turn.
        deadline: Option<Time>,
    },
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
    /// What each tree has opened.
    opened: [Opened; 2],
    /// What the navigator has opened for itself.
    own: Opened,
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
    /// The kind and the tree of the last session, until the next one begins.
    ended: Option<(NavigatorKind, Arc<TreeDef>)>,
    log_topic: Option<TopicId>,
    heartbeat: Option<Heartbeat>,
    recorder: Option<NavigationRecorder>,
    on_rest: Option<OnRest>,
    is_at_rest: bool,
    /// Number of trees made so far. Each tree gets its own random seed.
    made: u64,
    /// The time for deadlines of servers and clients; see [`Navigator::set_steady`].
    steady: Time,
}

/// See [`Navigator::on_rest`].
type OnRest = Box<dyn Fn(bool) + Send>;

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
            opened: Default::default(),
            own: Opened::default(),
            current: NavigatorKind::ToPose,
            resources,
            jobs,
            queue: GoalQueue::default(),
            log: ChangeLog::default(),
            last_end: None,
            ended: None,
            log_topic: None,
            heartbeat: None,
            recorder: None,
            on_rest: None,
            is_at_rest: false,
            made: 0,
            steady: Time::ZERO,
        };
        navigator.log_topic = navigator.advertise_log().ok();
        // For the estimated remaining time in the feedback. Trees that read odometry share it.
        if let Some(Err(error)) = navigator.world().map(World::open_odometry) {
            tracing::error!("odom_topic: {error}: feedback has no estimated time remaining");
        }
        navigator.own = navigator.world().map(World::take_opened).unwrap_or_default();
        navigator
    }

    /// Makes trees report their current node, and registers the jobs of leaves, for a [`Watchdog`](super::Watchdog).
    pub fn be_watched(&mut self, heartbeat: Heartbeat, jobs: JobRegistry) {
        self.heartbeat = Some(heartbeat);
        self.resources.insert(jobs.clone());
        self.jobs = jobs;
    }

    /// Writes the navigations to an event stream. Called before the first tree is made. The link of the world must be a
    /// [`RecordedLink`](crate::record::RecordedLink) of the same stream.
    pub fn record(&mut self, recorder: NavigationRecorder) {
        self.recorder = Some(recorder);
    }

    /// Records the work of a tick, measured on the clock of this machine.
    pub fn record_tick(&self, took: Duration, missed: u64) {
        if let Some(recorder) = &self.recorder {
            recorder.ticked(took, missed);
        }
    }

    /// Calls a function with true when the navigator becomes idle, and with false when it no longer is. It must not wait.
    pub fn on_rest(&mut self, on_rest: impl Fn(bool) + Send + 'static) {
        self.on_rest = Some(Box::new(on_rest));
    }

    /// Tells a change of [`Navigator::is_idle`] to the function of [`Navigator::on_rest`].
    pub fn tell_rest(&mut self) {
        let is_at_rest = self.is_idle();
        if std::mem::replace(&mut self.is_at_rest, is_at_rest) != is_at_rest
            && let Some(on_rest) = &self.on_rest
        {
            on_rest(is_at_rest);
        }
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
        if let NavigationState::Stopping { deadline, .. } = &mut self.state {
            deadline.get_or_insert(steady + self.options.stop_timeout);
        }
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
            servers: self.opened[index].servers().collect(),
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

    /// The goal whose tree runs.
    pub fn running_goal(&self) -> Option<NavigationId> {
        match &self.state {
            NavigationState::Running(session) => Some(session.id()),
            _ => None,
        }
    }

    /// Whether a message is on its way that ends the run. A tick before it would start what is no longer wanted, after
    /// code of a leaf has blocked this thread.
    pub fn is_stop_requested(&self) -> bool {
        let waiting_cancel = || self.heartbeat.as_ref().and_then(Heartbeat::waiting_cancel);
        self.queue.is_halt_requested() || waiting_cancel().is_some()
    }

    /// Returns whether a goal waits for its start, which has a time limit.
    pub fn has_queued_goals(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Returns whether a goal is active or waits to be started.
    pub fn has_goals(&self) -> bool {
        self.has_queued_goals()
            || match &self.state {
                NavigationState::Idle => false,
                NavigationState::Running(_) => true,
                NavigationState::Stopping { next, .. } => next.is_some(),
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

    /// Sends the queued commands of a tick or of any other call.
    pub fn hand_over(&mut self) {
        if let Some(world) = self.world() {
            world.hand_over();
        }
    }

    /// Maximum sleep of the tick thread when no tick is due. With a long tick period, a client still gets its result
    /// soon after everything has stopped.
    pub fn poll_period(&self) -> Duration {
        self.options.period.min(MAX_POLL_PERIOD)
    }

    /// The options of the navigator.
    pub fn options(&self) -> &Options {
        &self.options
    }
}

/// Logs the notes of leaves.
fn log_notes(notes: Vec<Note>) {
    for note in notes {
        tracing::warn!("{}: {}", note.leaf, note.text);
    }
}

/// Maximum time between two polls of a navigator that waits for something.
const MAX_POLL_PERIOD: Duration = Duration::from_millis(10);

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
