//! The node: composition, start, and shutdown with its exit code.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::client::WireGoal;
use super::goal::{NavigationId, Request, RequestedTree};
use super::goal_queue::SHUT;
use super::handler::Handler;
use super::node_lifecycle::NodeLifecycle;
use super::parameters::Parameters;
use super::signals::Signals;
use super::stalled_threads::StalledThreads;
use super::{
    Heartbeat, Navigator, NavigatorKind, NodeHandles, TickClock, TickThread, Unacknowledged, Watchdog,
    load_trees,
};
use crate::bt::{HaltReason, Registry, Time};
use crate::job::JobRegistry;
use crate::msg::PoseStamped;
use crate::msg::action::{NavigateThroughPoses, NavigateToPose, NavigateToPoseGoal};
use crate::nav::World;
use crate::ros::guardian::Guardian;
use crate::ros::lifecycle::{LifecycleState, Transition};
use crate::ros::{
    ActionServer, Bond, Clock, DryRun, Endpoints, GoalTrackerHandle, GoalTrackerThread, Lifecycle, Ros,
    RosError, arguments, exit_within, guardian, memory, middleware,
};

/// Time for the destruction of the remaining parts at the end of the process.
const TEARDOWN: Duration = Duration::from_secs(3);
/// Time limit for calls to the node's thread at start.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Time limits of the shutdown.
#[derive(Clone, Copy, Debug)]
struct ShutdownTimeouts {
    /// The total: less than the five seconds after which `ros2 launch` escalates, and less than the three that a user
    /// waits without doubt.
    all: Duration,
    /// The part of it for the tree. After it, only the GoalTracker handles the goals of the tree.
    tree: Duration,
    /// The part of that for the goals and jobs of the tree. It is shorter, because the tick thread then sends the
    /// result, and it knows the goals that did not stop.
    stop: Duration,
}

impl ShutdownTimeouts {
    const REGULAR: Self = Self::of(2000, 1500, 1300);
    /// After a failed thread. If this thread receives from the servers, a longer wait has no use.
    const FAULT: Self = Self::of(1000, 700, 500);

    const fn of(all: u64, tree: u64, stop: u64) -> Self {
        Self {
            all: Duration::from_millis(all),
            tree: Duration::from_millis(tree),
            stop: Duration::from_millis(stop),
        }
    }
}

/// The reason why the node could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An error of ROS or of an entity.
    #[error(transparent)]
    Ros(#[from] RosError),
    /// An invalid parameter value.
    #[error("{0}")]
    Parameter(String),
    /// A thread could not be created.
    #[error("thread not started: {0}")]
    Thread(#[from] std::io::Error),
}

impl TickClock for Clock {
    fn now(&self) -> Time {
        Clock::now(self)
    }

    fn now_and_due_steps(&self, start: Time, period: Duration) -> (Time, Option<u64>) {
        Clock::now_and_due_steps(self, start, period)
    }

    fn steady(&self) -> Time {
        Clock::steady(self)
    }

    fn has_started(&self) -> bool {
        Clock::has_started(self)
    }

    fn wall_time_until(&self, due: Time) -> Duration {
        // The speed of a simulation is not known in advance. Its clock wakes the thread when it advances.
        const SIMULATED: Duration = Duration::from_millis(2);
        if self.is_simulated() {
            SIMULATED
        } else {
            due.since(self.now())
        }
    }
}

/// The default name of the node, overridden by the command line.
const NAME: &str = "bt_navigator";

/// The served navigate actions.
struct Servers {
    to_pose: Option<ActionServer<NavigateToPose>>,
    through_poses: Option<ActionServer<NavigateThroughPoses>>,
}

/// Starts the diagnostics of the node with the given period.
type Diagnose = fn(&NodeHandles, Duration) -> Result<(), RosError>;

/// The setup of the process before its first thread. Keep it while the node runs.
#[derive(Debug)]
pub struct Prepared {
    guardian: io::Result<Guardian>,
    profile: Option<middleware::Profile>,
}

/// Prepares the process for a node, before any thread is started, including the thread of the log.
pub fn prepare() -> Prepared {
    guardian::cancel_if_told();
    arguments::keep_for(NAME);
    // The guardian is forked while the process is small, and before the environment changes.
    let guardian = Guardian::start();
    memory::share_heaps();
    Prepared {
        guardian,
        profile: middleware::set_up(),
    }
}

/// Runs the node `bt_navigator` until a signal ends it. Trees may use the nodes of `registry`. `diagnose` is called
/// after the start of the tick thread, unless diagnostics are disabled.
pub fn run(prepared: Prepared, registry: Registry, diagnose: Diagnose) -> ExitCode {
    // First the signal handlers: a process that finds the node on the graph may send a signal.
    let started = Signals::new()
        .map_err(StartError::Thread)
        .and_then(|signals| Ok((Node::start(registry, diagnose, prepared.guardian)?, signals)));
    // The first node has read it.
    drop(prepared.profile);
    match started {
        Ok((node, signals)) => node.run(signals),
        Err(error) => {
            tracing::error!("{error}");
            eprintln!("navtree: {error}");
            ExitCode::from(1)
        }
    }
}

/// The fields are dropped in this order: action servers, ticks, GoalTracker, ROS node. `from_ticks` may come first,
/// because the tick thread has a handle of its own.
struct Node {
    from_ticks: GoalTrackerHandle,
    servers: Option<Servers>,
    watchdog: Watchdog,
    ticks: TickThread,
    jobs: JobRegistry,
    lifecycle: Lifecycle,
    goal_tracker: GoalTrackerThread,
    ros: Ros,
    /// Notified when a thread of the node has ended.
    thread_exit: Arc<Notify>,
    guardian: Option<Guardian>,
}

impl Node {
    fn start(
        registry: Registry,
        diagnose: Diagnose,
        guardian: io::Result<Guardian>,
    ) -> Result<Self, StartError> {
        let ros = Ros::start(NAME, "")?;
        let thread_exit = Arc::new(Notify::new());
        let tell = {
            let thread_exit = Arc::clone(&thread_exit);
            move || thread_exit.notify_one()
        };
        ros.handle().on_thread_exit(tell.clone());
        // Called at the end of a thread that cannot report its end itself.
        let on_panic_exit = |thread: &'static str| {
            let ros = ros.handle().clone();
            move || {
                if std::thread::panicking() {
                    ros.fail(&format!("thread `{thread}` panicked"));
                }
            }
        };
        let parameters = Parameters::declare(ros.parameters(), registry)
            .map_err(|error| StartError::Parameter(error.to_string()))?;
        ros.serve_parameters()?;
        ros.listen_to_transforms()?;
        let goal_tracker = GoalTrackerThread::start(
            ros.handle(),
            ros.clock(),
            &parameters.robot_id,
            parameters.goal_options,
        )?;
        let guardian = Self::keep_guardian(
            guardian,
            parameters.guardian,
            &ros.handle().full_name(),
            &goal_tracker,
        );
        let from_ticks = goal_tracker.handle().with_outbox();
        let endpoints = Endpoints::new(&from_ticks, ros.transforms(), ros.parameters(), parameters.adopt);
        let stage = endpoints.clone();
        parameters
            .library
            .dry_run_on(move || Box::new(DryRun::on(&stage)));
        let link = endpoints.link(parameters.settings.transform_age_limit.unwrap_or(Duration::MAX));
        let (settings, options) = (parameters.settings.clone(), parameters.options.clone());
        let (library, clock) = (Arc::clone(&parameters.library), ros.clock().clone());
        let (heartbeat, jobs) = (
            Heartbeat::new(),
            JobRegistry::with_cancel_timeout(settings.cancel_timeout),
        );
        let watchdog = {
            let report = |text| tracing::error!("watchdog: {text}");
            let (stopping, watched) = (goal_tracker.handle().clone(), goal_tracker.handle().clone());
            let stop = move || stopping.halt_all(HaltReason::GoalCanceled);
            let mut stalled = StalledThreads::default();
            let (ros, is_guarded) = (ros.handle().clone(), guardian.is_some());
            let check = move || stalled.check(&ros, &watched, is_guarded);
            Watchdog::start(
                heartbeat.clone(),
                jobs.clone(),
                parameters.watchdog_timeout,
                report,
                stop,
                check,
                on_panic_exit("watchdog"),
            )?
        };
        let watched = heartbeat.clone();
        let seen = heartbeat.clone();
        let entered = jobs.clone();
        let ticks = TickThread::start(
            move |_| {
                let mut navigator = Navigator::new(World::new(Box::new(link), settings), options);
                navigator.be_watched(watched, entered);
                for kind in NavigatorKind::ALL {
                    // Without a default tree there is nothing to prepare, and goals get an error.
                    if let Ok(def) = library.for_goal(kind, "") {
                        navigator.prepare(kind, &def, clock.now());
                    }
                }
                navigator
            },
            Arc::new(ros.clock().clone()),
            heartbeat,
            tell,
        )?;
        if !parameters.diagnostics_period.is_zero() {
            let node_handles = NodeHandles {
                ros: ros.handle().clone(),
                clock: ros.clock().clone(),
                goal_tracker: goal_tracker.handle().clone(),
                ticks: ticks.handle().clone(),
                heartbeat: seen,
                library: Arc::clone(&parameters.library),
            };
            diagnose(&node_handles, parameters.diagnostics_period)?;
        }
        // Goals are refused until the node is active.
        ticks.handle().shut();
        load_trees(
            Arc::clone(&parameters.library),
            ticks.handle().clone(),
            on_panic_exit("trees"),
        )?;
        let bond = (!parameters.bond_period.is_zero())
            .then(|| {
                let (period, breaks) = (parameters.bond_period, parameters.bond_breaks);
                Bond::prepare(ros.handle(), ros.clock(), period, breaks)
            })
            .transpose()?;
        let life = NodeLifecycle {
            parameters: ros.parameters().clone(),
            library: Arc::clone(&parameters.library),
            navigator: ticks.handle().clone(),
            goal_tracker: goal_tracker.handle().clone(),
            endpoints,
            earlier_goals: None,
            jobs: jobs.clone(),
            bond,
        };
        let lifecycle = Lifecycle::serve(ros.handle(), ros.clock(), life)?;
        if parameters.autostart {
            for transition in [Transition::Configure, Transition::Activate] {
                // The handler has logged the reason. The user can fix it and configure the node.
                if !lifecycle.handle().change(transition, TIMEOUT)? {
                    break;
                }
            }
        }
        let mut node = Self {
            from_ticks,
            servers: None,
            watchdog,
            ticks,
            jobs,
            lifecycle,
            goal_tracker,
            ros,
            thread_exit,
            guardian,
        };
        // First active, then visible: a client that sees the actions may use them.
        node.servers = Some(node.serve(&parameters)?);
        Ok(node)
    }

    /// Connects the guardian with the GoalTracker, or dismisses it if it is not wanted.
    fn keep_guardian(
        guardian: io::Result<Guardian>,
        is_wanted: bool,
        node: &str,
        goal_tracker: &GoalTrackerThread,
    ) -> Option<Guardian> {
        let guarded = guardian.and_then(|guardian| {
            if !is_wanted {
                guardian.dismiss();
                return Ok(None);
            }
            let goals = guardian.goals(node)?;
            goal_tracker.handle().guard(goals);
            Ok(Some(guardian))
        });
        guarded.unwrap_or_else(|error| {
            tracing::warn!("no guardian: if this process is killed, its goals are not cancelled: {error}");
            None
        })
    }

    fn serve(&self, parameters: &Parameters) -> Result<Servers, StartError> {
        let clock = self.ros.clock().clone();
        let retention = parameters.result_retention;
        // The tick thread sends the feedback and the result of a goal.
        let sender = &self.from_ticks;
        let max_poses = parameters.settings.max_goal_poses;
        let to_pose = Handler::<NavigateToPose>::new(self.ticks.handle(), sender, max_poses);
        let through_poses = Handler::<NavigateThroughPoses>::new(self.ticks.handle(), sender, max_poses);
        let [to, through] =
            NavigatorKind::ALL.map(|kind| parameters.navigators.contains(&kind).then(|| kind.action()));
        let servers =
            self.ros
                .handle()
                .with_node_blocking(TIMEOUT, move |node| -> Result<_, RosError> {
                    Ok(Servers {
                        to_pose: to
                            .map(|name| ActionServer::serve(node, name, &clock, retention, to_pose))
                            .transpose()?,
                        through_poses: through
                            .map(|name| ActionServer::serve(node, name, &clock, retention, through_poses))
                            .transpose()?,
                    })
                })??;
        if let Some(to_pose) = &servers.to_pose {
            self.listen_for_goals(parameters, to_pose)?;
        }
        Ok(servers)
    }

    /// Makes a goal of each pose on the goal topic, as RViz sends them.
    fn listen_for_goals(
        &self,
        parameters: &Parameters,
        server: &ActionServer<NavigateToPose>,
    ) -> Result<(), StartError> {
        let (navigator, sender, server) = (
            self.ticks.handle().clone(),
            self.from_ticks.clone(),
            server.clone(),
        );
        let mut ids = self.ros.handle().goal_ids(&parameters.robot_id, "/goal_topic");
        let topic = parameters.goal_topic.clone();
        self.ros.handle().with_node_blocking(TIMEOUT, move |node| {
            node.subscribe_topic::<PoseStamped>(&topic, move |pose| {
                let Some(permit) = navigator.admit() else {
                    tracing::warn!("goal from the topic dropped: the node is not active");
                    return;
                };
                let wanted = NavigateToPoseGoal {
                    pose: pose.clone(),
                    behavior_tree: String::new(),
                };
                let goal = match server.begin(ids.next_id(), wanted) {
                    Ok(goal) => goal,
                    Err(error) => return tracing::error!("goal from the topic dropped: {error}"),
                };
                let (listed, sender) = (goal.clone(), sender.clone());
                let accepted = sender.clock().steady();
                permit.submit(Request {
                    kind: NavigatorKind::ToPose,
                    poses: vec![pose],
                    tree: RequestedTree::Named(String::new()),
                    accepted,
                    run_accepted: accepted,
                    client: Box::new(WireGoal { goal, sender }),
                });
                // Topics have a separate thread: a cancel of all listed goals may come before the goal is in the queue.
                if listed.is_canceling() {
                    let (kind, goal) = (NavigatorKind::ToPose, listed.id());
                    navigator.cancel(NavigationId { kind, goal });
                }
            })
        })??;
        Ok(())
    }

    /// Waits for the end, and shuts down in order (guarantee G8).
    fn run(mut self, signals: Signals) -> ExitCode {
        let fault = self.wait(signals);
        let started = Instant::now();
        let (timeouts, code) = match &fault {
            None => (ShutdownTimeouts::REGULAR, 0),
            Some(_) => (ShutdownTimeouts::FAULT, 1),
        };
        // First of all, because the following calls may wait for a lock held by a thread that stalls in the middleware.
        exit_within(timeouts.all + TEARDOWN, code);
        // Before the transition: its halt has a longer limit, and it may wait for another transition.
        self.ticks.handle().shut();
        let reason = HaltReason::ShuttingDown;
        let halted = self.ticks.handle().halt_within(reason, timeouts.stop);
        // The transition of a lifecycle manager, if none has requested it, with our own time limit.
        let lifecycle = self.lifecycle.handle();
        if lifecycle.state() != LifecycleState::Finalized
            && lifecycle.change(Transition::ShutDown, timeouts.tree).is_err()
        {
            tracing::error!("the transition `shutdown` did not end in time");
        }
        let left = timeouts.all.saturating_sub(started.elapsed());
        self.goal_tracker.handle().shut_down(left);
        // The jobs of a tree that is blocked by a leaf are not cancelled yet.
        self.jobs.cancel_all();
        let goal_tracker = self.goal_tracker.handle();
        // When the GoalTracker has processed the shutdown, all earlier messages through it have left.
        let is_over =
            || goal_tracker.is_settled(|_| false) && goal_tracker.view().idle && self.jobs.is_empty();
        while started.elapsed() < timeouts.all && !is_over() {
            std::thread::sleep(Duration::from_millis(2));
        }
        for job in self.jobs.give_up() {
            tracing::error!("job still running when the process ends: {job}");
        }
        // The tick thread has answered its clients. Goals that are just being accepted, and goals of a tree that is
        // blocked by a leaf, must not wait for it.
        let reason = match halted.try_wait() {
            Ok(()) => SHUT,
            Err(Unacknowledged::NotYet) => "the node shut down while a leaf blocked the tick thread",
            Err(Unacknowledged::Never) => "the node shut down after its tick thread had ended",
        };
        if let Some(servers) = &self.servers {
            if let Some(server) = &servers.to_pose {
                server.abort_active(reason);
            }
            if let Some(server) = &servers.through_poses {
                server.abort_active(reason);
            }
        }
        drop(self.watchdog);
        // The guardian is not dismissed. It ends with this process; if a goal did not stop, the guardian first cancels
        // it again.
        if let Some(fault) = fault {
            tracing::error!("{fault}");
        }
        ExitCode::from(code)
    }

    /// Waits for a signal or the failure of a thread. Returns the fault of a failed thread.
    fn wait(&mut self, signals: Signals) -> Option<String> {
        let (runtime, mut end, mut child) = signals.split();
        runtime.block_on(async {
            loop {
                let restart = self.guardian.as_mut().and_then(|guardian| {
                    guardian.look();
                    guardian.restart_at()
                });
                tokio::select! {
                    () = end() => return None,
                    // Checked above.
                    _ = child.recv() => {}
                    () = sleep_until(restart), if restart.is_some() => {
                        if let Some(guardian) = &mut self.guardian {
                            guardian.restart();
                        }
                    }
                    () = self.thread_exit.notified() => {
                        if let Some(Err(fault)) = self.ros.handle().thread_exit() {
                            return Some(fault);
                        }
                        if self.ticks.is_finished() {
                            return Some("the tick thread has ended".to_owned());
                        }
                    }
                }
            }
        })
    }
}

async fn sleep_until(time: Option<Instant>) {
    if let Some(time) = time {
        tokio::time::sleep_until(time.into()).await;
    }
}
