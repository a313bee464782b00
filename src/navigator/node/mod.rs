//! The node: its parts and its start.

mod checks;
mod earlier_run;
mod process;
mod recordings;
mod servers;
mod shutdown;
mod unanswered_clients;

use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::node_lifecycle::NodeLifecycle;
use super::parameters::{MonitorSettings, Parameters};
use super::signals::Signals;
use super::{
    Heartbeat, Navigator, NavigatorKind, NodeHandles, SharedTrees, TickClock, TickThread, TreeLibrary,
    Watchdog, load_trees,
};
use crate::bt::{HaltReason, Registry, Time};
use crate::job::JobRegistry;
use crate::nav::World;
use crate::ros::announcements::Announcements;
use crate::ros::guardian::{GoalLists, Guardian};
use crate::ros::lifecycle::Transition;
use crate::ros::{
    Bond, Clock, DryRun, Endpoints, GoalTrackerHandle, GoalTrackerThread, Lifecycle, Robots, Ros, RosError,
    guardian, memory, middleware,
};
use checks::Checks;
use earlier_run::EarlierRun;
use recordings::Recorder;
use servers::Servers;
pub(crate) use unanswered_clients::{UnansweredClients, unanswered};

/// Time limit for calls to the node's thread at start.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The reason why the node could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An error of ROS or of an entity.
    #[error(transparent)]
    Ros(#[from] RosError),
    /// An invalid parameter value.
    #[error("{0}")]
    Parameter(String),
    /// A panic.
    #[error("the start has panicked: {0}")]
    Panic(String),
    /// A thread could not be created.
    #[error("thread not started: {0}")]
    Thread(#[from] std::io::Error),
    /// The process ends.
    #[error("the process ends")]
    Ending,
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
        // The speed of a simulation is not known in advance.
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

/// Starts what shows the node: with the period of the diagnostics, and the settings of the web page.
/// They end when the result is dropped.
type StartMonitors =
    Box<dyn Fn(&NodeHandles, Duration, &MonitorSettings) -> Result<Box<dyn Send>, StartError> + Send + Sync>;

/// The setup of the process before its first thread. Keep it while the node runs.
#[derive(Debug)]
pub struct Prepared {
    guardian: io::Result<Guardian>,
    profile: Option<middleware::Profile>,
    announcements: Option<Announcements>,
}

/// Prepares the process for a node, before any thread is started, including the thread of the log.
pub fn prepare() -> Prepared {
    guardian::cancel_if_told();
    // The guardian is forked while the process is small, and before the environment changes.
    let guardian = Guardian::start();
    memory::share_heaps();
    let (profile, announcements) = Announcements::set_up();
    Prepared {
        guardian,
        profile,
        announcements,
    }
}

/// Runs the node `bt_navigator` until a signal ends it: one for each robot. `robots`: their names; empty: those of the
/// parameter `robots`, or one robot without a name. Trees may use the nodes of `registry`. `monitors` is called after the
/// start of each tick thread.
pub fn run(prepared: Prepared, robots: &[String], registry: Registry, monitors: StartMonitors) -> ExitCode {
    // First the signal handlers: a process that finds the node on the graph may send a signal.
    let signals = Signals::new().map_err(StartError::Thread);
    let started = signals.and_then(|signals| Ok((signals, Robots::of_process(NAME, robots)?)));
    match started {
        Ok((signals, robots)) => {
            let Prepared {
                guardian,
                profile,
                announcements,
            } = prepared;
            let guardian = guardian.inspect_err(warn_about_guardian).ok();
            let setup = Setup {
                trees: (robots.count() > 1).then(SharedTrees::default),
                robots,
                registry,
                monitors,
                goal_lists: guardian.as_ref().map(Guardian::lists),
                wake: Arc::default(),
                is_ending: AtomicBool::new(false),
            };
            process::run(signals, setup, guardian, profile, announcements)
        }
        Err(error) => {
            tracing::error!("{error}");
            eprintln!("navtree: {error}");
            ExitCode::from(1)
        }
    }
}

fn warn_about_guardian(error: &io::Error) {
    tracing::warn!("no guardian: if this process is killed, its goals are not cancelled: {error}");
}

/// What the robots of the process have in common.
struct Setup {
    robots: Robots,
    registry: Registry,
    monitors: StartMonitors,
    /// `None` for one robot.
    trees: Option<SharedTrees>,
    /// `None` without a guardian.
    goal_lists: Option<GoalLists>,
    /// Wakes the main thread.
    wake: Arc<Notify>,
    /// A signal has come: no robot is started any more.
    is_ending: AtomicBool,
}

impl Setup {
    fn check(&self) -> Result<(), StartError> {
        if self.is_ending.load(Ordering::Acquire) {
            return Err(StartError::Ending);
        }
        Ok(())
    }
}

/// The node of one robot. The fields are dropped in this order: action servers, ticks, GoalTracker, ROS node.
/// `from_ticks` may come first, because the tick thread has a handle of its own.
struct Node {
    _monitors: Box<dyn Send>,
    from_ticks: GoalTrackerHandle,
    servers: Option<Arc<Servers>>,
    clients: UnansweredClients,
    ticks: TickThread,
    /// Ends after the ticks, so that it gets all records.
    recorder: Option<Recorder>,
    jobs: JobRegistry,
    lifecycle: Lifecycle,
    goal_tracker: GoalTrackerThread,
    ros: Ros,
    /// Alive as long as the tick thread.
    ticks_alive: Weak<()>,
    _unlink: Unlink,
}

/// Takes the endpoints from the trees when it is dropped. The endpoints own the parameters and the goals, whose listeners own
/// the trees: the memory of each ended robot would stay.
struct Unlink(Arc<TreeLibrary>);

impl Drop for Unlink {
    fn drop(&mut self) {
        self.0.set_dry_run_link(|| Box::new(DryRun::default()));
    }
}

impl Node {
    /// Starts the node of the robot with this number.
    fn start(setup: &Setup, robot: usize) -> Result<(Self, Checks), StartError> {
        setup.check()?;
        let ros = Ros::start_robot(NAME, &setup.robots, robot)?;
        let wake = Arc::clone(&setup.wake);
        let notify_exit = move || wake.notify_one();
        ros.handle().on_thread_exit(notify_exit.clone());
        let mut parameters =
            Parameters::declare(ros.parameters(), setup.registry.clone(), setup.trees.as_ref())
                .map_err(|error| StartError::Parameter(error.to_string()))?;
        let unlink = Unlink(Arc::clone(&parameters.library));
        parameters.monitor.shift_ports(robot);
        setup.check()?;
        ros.serve_parameters()?;
        ros.listen_to_transforms()?;
        let goal_tracker = GoalTrackerThread::start(
            ros.handle(),
            ros.clock(),
            &parameters.robot_id,
            parameters.goal_options,
        )?;
        let is_guarded = parameters.guardian && guard(setup, robot, &ros, &goal_tracker);
        let from_ticks = goal_tracker.handle().with_outbox();
        let endpoints = Endpoints::new(&from_ticks, ros.transforms(), ros.parameters(), parameters.adopt);
        let heartbeat = Heartbeat::new();
        let jobs = JobRegistry::with_cancel_timeout(parameters.settings.cancel_timeout);
        let wake = Arc::clone(&setup.wake);
        let recorder = Recorder::start(&parameters, setup.robots.count() > 1, move || wake.notify_one());
        if let Some(recorder) = &recorder {
            recorder.take_log_of(ros.handle());
        }
        let checks = Checks::new(
            ros.clock().clone(),
            ros.handle().clone(),
            goal_tracker.handle().clone(),
            is_guarded,
            watchdog(&goal_tracker, &heartbeat, &jobs, parameters.watchdog_timeout),
            recorder.as_ref().map(Recorder::flight_recorder),
        );
        setup.check()?;
        let alive = Arc::new(());
        let ticks_alive = Arc::downgrade(&alive);
        let on_ticks_end = move || {
            drop(alive);
            notify_exit();
        };
        let (wake, resting) = (Arc::clone(&setup.wake), ros.handle().clone());
        let on_rest = move |is_at_rest| {
            resting.set_at_rest(is_at_rest);
            if !is_at_rest {
                // The watchdog looks at an idle tick thread less often.
                wake.notify_one();
            }
        };
        let ticks = start_ticks(
            &ros,
            &parameters,
            &endpoints,
            (&heartbeat, &jobs),
            recorder.as_ref(),
            (on_rest, on_ticks_end),
        )?;
        // A navigation that stops ends when its goals have stopped.
        let on_goals_changed = ticks.handle().clone();
        goal_tracker
            .handle()
            .on_goals_changed(move || on_goals_changed.event());
        let node_handles = NodeHandles {
            ros: ros.handle().clone(),
            clock: ros.clock().clone(),
            goal_tracker: goal_tracker.handle().clone(),
            ticks: ticks.handle().clone(),
            heartbeat,
            jobs: jobs.clone(),
            library: Arc::clone(&parameters.library),
            records: recorder.as_ref().map(Recorder::records),
        };
        let monitors = (setup.monitors)(&node_handles, parameters.diagnostics_period, &parameters.monitor)?;
        let clients = UnansweredClients::new(goal_tracker.handle(), &jobs);
        let lifecycle = serve_lifecycle(&ros, &parameters, &node_handles, endpoints, clients.clone())?;
        let mut node = Self {
            _monitors: monitors,
            from_ticks,
            servers: None,
            clients,
            ticks,
            recorder,
            jobs,
            lifecycle,
            goal_tracker,
            ros,
            ticks_alive,
            _unlink: unlink,
        };
        setup.check()?;
        // First active, then visible: a client that sees the actions may use them.
        let servers = Arc::new(node.serve(&parameters)?);
        node.clients.are_served_by(&servers);
        node.servers = Some(servers);
        if let Some(recorder) = &node.recorder {
            recorder.serve(&node.ros)?;
        }
        Ok((node, checks))
    }

    /// What may go on after the end of this run.
    fn earlier_run(&self) -> EarlierRun {
        EarlierRun::new(self.jobs.clone(), Weak::clone(&self.ticks_alive))
    }
}

/// Maintains the guardian's list of the goals of a robot. Returns whether there is a guardian.
fn guard(setup: &Setup, robot: usize, ros: &Ros, goal_tracker: &GoalTrackerThread) -> bool {
    let Some(lists) = &setup.goal_lists else {
        return false;
    };
    let list = lists.list(robot, &ros.handle().full_name());
    let list = list.inspect_err(warn_about_guardian).ok();
    let is_guarded = list.is_some();
    if let Some(list) = list {
        goal_tracker.handle().guard(list);
    }
    is_guarded
}

fn watchdog(
    goal_tracker: &GoalTrackerThread,
    heartbeat: &Heartbeat,
    jobs: &JobRegistry,
    limit: Duration,
) -> Watchdog {
    let canceller = goal_tracker.handle().clone();
    Watchdog::new(
        heartbeat.clone(),
        jobs.clone(),
        limit,
        |text| tracing::error!("watchdog: {text}"),
        move || canceller.halt_all(HaltReason::GoalCanceled),
    )
}

/// Starts the tick thread with the default trees. `on_rest`: see [`Navigator::on_rest`]; `on_end` is called at its end.
fn start_ticks(
    ros: &Ros,
    parameters: &Parameters,
    endpoints: &Endpoints,
    (heartbeat, jobs): (&Heartbeat, &JobRegistry),
    recorder: Option<&Recorder>,
    (on_rest, on_end): (impl Fn(bool) + Send + 'static, impl FnOnce() + Send + 'static),
) -> Result<TickThread, StartError> {
    let dry_run_endpoints = endpoints.clone();
    parameters
        .library
        .set_dry_run_link(move || Box::new(DryRun::on(&dry_run_endpoints)));
    let link = endpoints.link(parameters.settings.transform_age_limit.unwrap_or(Duration::MAX));
    let (settings, options) = (parameters.settings.clone(), parameters.options.clone());
    let (library, clock) = (Arc::clone(&parameters.library), ros.clock().clone());
    let (watched, registered) = (heartbeat.clone(), jobs.clone());
    let events = link.events();
    let (link, recorder) = Recorder::attach(recorder, Box::new(link));
    let ticks = TickThread::start(
        move |handle| {
            let mut registered = registered;
            if options.tick_on_event {
                let (on_event, on_job_end) = (handle.clone(), handle.clone());
                events.set_listener(move || on_event.event());
                registered = registered.with_end_listener(Arc::new(move || on_job_end.event()));
            }
            let mut navigator = Navigator::new(World::new(link, settings), options);
            if let Some(recorder) = recorder {
                navigator.record(recorder);
            }
            navigator.be_watched(watched, registered);
            navigator.on_rest(on_rest);
            for kind in NavigatorKind::ALL {
                // Without a default tree there is nothing to prepare, and goals get an error.
                if let Ok(def) = library.for_goal(kind, "") {
                    navigator.prepare(kind, &def, clock.now());
                }
            }
            navigator
        },
        Arc::new(ros.clock().clone()),
        heartbeat.clone(),
        on_end,
    )?;
    Ok(ticks)
}

/// Serves the lifecycle and starts to load trees; activates the node if a parameter says so.
fn serve_lifecycle(
    ros: &Ros,
    parameters: &Parameters,
    handles: &NodeHandles,
    endpoints: Endpoints,
    clients: UnansweredClients,
) -> Result<Lifecycle, StartError> {
    // Goals are refused until the node is active.
    handles.ticks.shut();
    load_trees(
        Arc::clone(&parameters.library),
        handles.ticks.clone(),
        ros.handle().fail_on_panic("trees"),
    );
    let life = NodeLifecycle {
        parameters: ros.parameters().clone(),
        library: Arc::clone(&parameters.library),
        navigator: handles.ticks.clone(),
        goal_tracker: handles.goal_tracker.clone(),
        endpoints,
        earlier_goals: None,
        jobs: handles.jobs.clone(),
        clients,
        unfinished_halt: None,
        bond: prepare_bond(ros, parameters)?,
    };
    let lifecycle = Lifecycle::serve(ros.handle(), ros.clock(), life)?;
    if parameters.autostart {
        autostart(&lifecycle)?;
    }
    Ok(lifecycle)
}

/// Configures and activates the node.
fn autostart(lifecycle: &Lifecycle) -> Result<(), StartError> {
    for transition in [Transition::Configure, Transition::Activate] {
        // The handler has logged the reason. The user can fix it and configure the node.
        if !lifecycle.handle().change(transition, TIMEOUT)? {
            break;
        }
    }
    Ok(())
}

/// The bond with the lifecycle manager; `None` if its period is zero.
fn prepare_bond(ros: &Ros, parameters: &Parameters) -> Result<Option<Bond>, StartError> {
    if parameters.bond_period.is_zero() {
        return Ok(None);
    }
    let (period, breaks) = (parameters.bond_period, parameters.bond_breaks);
    let bond = Bond::prepare(ros.handle(), ros.clock(), period, breaks)?;
    Ok(Some(bond))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trees_of_an_ended_node_own_no_part_of_it() {
        let library = Arc::new(TreeLibrary::new(Registry::new(), Vec::new(), false, || {
            Box::new(DryRun::default())
        }));
        let unlink = Unlink(Arc::clone(&library));
        let owned = Arc::downgrade(&library);
        let of_endpoints = Arc::clone(&library);
        library.set_dry_run_link(move || {
            let _ = &of_endpoints;
            Box::new(DryRun::default())
        });
        drop((library, unlink));
        assert!(owned.upgrade().is_none());
    }
}
